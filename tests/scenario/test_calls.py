"""Call records that a guest gives: names, sizes and contents are its word, and it may not mean well."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.deadline import Deadline
from lab.errors import GuestError
from lab.metrics.calls import Joined, JoinedCall
from lab.scenario.calls import calls_record, fetched_logs
from tests.scenario.call_files import Made, write_calls


class Shell:
    """Lists these names, and gives these bytes, or a file of call records, for each."""

    def __init__(self, names: tuple[str, ...], contents: Mapping[str, bytes]) -> None:
        self.names, self.contents = names, contents
        self.bounds: list[int] = []

    def execute(self, command: str, _deadline: Deadline) -> tuple[int, str]:
        assert command == "ls '/run/calls of it'"
        return 0, "".join(f"{name}\n" for name in self.names)

    def get(self, remote: str, local: Path, _deadline: Deadline | None = None, *, most_bytes: int) -> str:
        self.bounds.append(most_bytes)
        name = remote.removeprefix("/run/calls of it/")
        if name == "sparse.calls":
            raise GuestError("it is too large")
        write_calls(local, 0, Made(7, 4, 9), 1)
        if name in self.contents:
            local.write_bytes(self.contents[name])
        return ""


def fetched(folder: Path, *names: str, **contents: bytes) -> tuple[list[str], list[str], Shell]:
    shell = Shell((*names, *(f"{name}.calls" for name in contents)), {f"{name}.calls": raw for name, raw in contents.items()})
    guest: Any = SimpleNamespace(ssh=shell)
    folder.mkdir(parents=True)
    logs, wrong = fetched_logs(guest, "/run/calls of it", folder)
    return [log.path.name for log in logs], wrong, shell


@pytest.mark.parametrize(
    "name", ["../outside.calls", "../../../../outside.calls", "{}/outside.calls", ".hidden.calls", "a b.calls"]
)
def test_only_a_bare_name_of_a_call_record_file_is_fetched(tmp_path: Path, name: str) -> None:
    logs, wrong, _ = fetched(tmp_path / "logs" / "guest-calls", "guest-7-1.calls", name.format(tmp_path))
    assert logs == ["guest-7-1.calls"]
    assert wrong == [f"the guest has 1 files that are no call records by their names, the first is {name.format(tmp_path)!r}"]
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["guest-7-1.calls"]


def test_file_that_cannot_be_read_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    logs, wrong, _ = fetched(tmp_path / "guest-calls", "sparse.calls", "guest-7-1.calls", short=b"1234")
    assert logs == ["guest-7-1.calls"]
    assert [text.partition(": ")[0] for text in wrong] == [
        "call records sparse.calls of the guest",
        "call records short.calls of the guest",
    ]
    assert "it is too large" in wrong[0]
    assert "4 bytes are too few" in wrong[1]


def test_files_have_a_bound_together(tmp_path: Path) -> None:
    _, _, shell = fetched(tmp_path / "guest-calls", "guest-7-1.calls", "guest-7-2.calls")
    first, second = shell.bounds
    assert first - second == (tmp_path / "guest-calls" / "guest-7-1.calls").stat().st_size


def test_summary_tells_the_largest_call_of_a_command_and_the_replies_that_tell_times() -> None:
    def call(command: str, out: int, back: int, *, told: bool) -> JoinedCall:
        return JoinedCall(1, 1, None, 4, 0, command, 1, 1000, 0, None, None, 4, out, back, told)

    calls = (call("x", 344, 9000, told=True), call("x", 5000, 4, told=False), call("y", 20, 4, told=True))
    record = calls_record(Joined(calls, (), 3, 3))
    assert record.timed == 2
    assert [(one.command, one.most_bytes) for one in record.commands] == [("x", 9000), ("y", 20)]
