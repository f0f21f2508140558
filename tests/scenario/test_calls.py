"""Call records that a guest gives: names, sizes and contents are its word, and it may not mean well."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.bundle.rows import CallRow
from lab.deadline import Deadline, poll
from lab.errors import CommandFailed, CopyFailed, GuestError, GuestLost, WaitTimeout
from lab.metrics.calls import Joined, JoinedCall
from lab.scenario import calls
from lab.scenario.calls import calls_record, fetched_logs
from tests.scenario.call_files import Made, write_calls
from tests.scenario.fakes import HEADER_LINE, SCENARIO, TEXTS, FakeShell, Script, row
from tests.scenario.small_runs import Running, texts


class Shell:
    """Lists these names, and gives these bytes, or a file of call records, for each."""

    def __init__(self, names: tuple[str, ...], contents: Mapping[str, bytes]) -> None:
        self.names, self.contents = names, contents
        self.bounds: list[int] = []

    def execute(self, command: str, _deadline: Deadline) -> tuple[int, str]:
        assert command == "ls '/run/calls of it'"
        return 0, "".join(f"{name}\n" for name in self.names)

    def get(self, remote: str, local: Path, deadline: Deadline, *, most_bytes: int) -> str:
        self.bounds.append(most_bytes)
        name = remote.removeprefix("/run/calls of it/")
        if name == "stalled.calls":
            poll("a file that never comes", lambda: None, deadline)
        if name == "sparse.calls":
            raise GuestError("it is too large")
        write_calls(local, 0, Made(7, 4, 9), 1)
        if name in self.contents:
            local.write_bytes(self.contents[name])
        return ""


def fetched(folder: Path, *names: str, **contents: bytes) -> tuple[list[str], list[str], list[str], Shell]:
    shell = Shell((*names, *(f"{name}.calls" for name in contents)), {f"{name}.calls": raw for name, raw in contents.items()})
    guest: Any = SimpleNamespace(ssh=shell)
    folder.mkdir(parents=True)
    logs, wrong, late = fetched_logs(guest, "/run/calls of it", folder)
    return [log.path.name for log in logs], wrong, late, shell


@pytest.mark.parametrize(
    "name", ["../outside.calls", "../../../../outside.calls", "{}/outside.calls", ".hidden.calls", "a b.calls"]
)
def test_only_a_bare_name_of_a_call_record_file_is_fetched(tmp_path: Path, name: str) -> None:
    logs, wrong, late, _ = fetched(tmp_path / "logs" / "guest-calls", "guest-7-1.calls", name.format(tmp_path))
    assert logs == ["guest-7-1.calls"]
    assert wrong == [f"the guest has 1 files that are no call records by their names, the first is {name.format(tmp_path)!r}"]
    assert not late
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["guest-7-1.calls"]


def test_file_that_cannot_be_read_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    logs, wrong, late, _ = fetched(tmp_path / "guest-calls", "sparse.calls", "guest-7-1.calls", short=b"1234")
    assert logs == ["guest-7-1.calls"]
    assert [text.partition(": ")[0] for text in wrong] == [
        "call records sparse.calls of the guest",
        "call records short.calls of the guest",
    ]
    assert "it is too large" in wrong[0]
    assert "4 bytes are too few" in wrong[1]
    assert not late


def test_files_have_a_bound_together(tmp_path: Path) -> None:
    *_, shell = fetched(tmp_path / "guest-calls", "guest-7-1.calls", "guest-7-2.calls")
    first, second = shell.bounds
    assert first - second == (tmp_path / "guest-calls" / "guest-7-1.calls").stat().st_size


def test_files_have_one_deadline_together_and_what_came_before_it_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "FETCH_ALL_S", 0.2)
    names = ("guest-7-1.calls", "stalled.calls", *(f"third-{number}.calls" for number in range(500)))
    logs, wrong, late, shell = fetched(tmp_path / "guest-calls", *names)
    assert (logs, wrong) == (["guest-7-1.calls"], [])
    assert len(shell.bounds) == 2
    stalled, rest = late
    assert stalled.startswith("call records stalled.calls of the guest: ")
    assert rest == "500 of 502 call records of the guest are left there, from third-0.calls on: what comes in 0 s is fetched"


def test_more_files_than_are_fetched_are_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "FETCHED_FILES", 3)
    names = [f"guest-7-{number}.calls" for number in range(7)]
    logs, wrong, late, shell = fetched(tmp_path / "one" / "guest-calls", *names)
    assert logs == names[:3]
    assert len(shell.bounds) == 3
    assert wrong == ["4 of 7 call records of the guest are left there, from guest-7-3.calls on: at most 3 are fetched"]
    assert not late
    logs, wrong, late, _ = fetched(tmp_path / "other" / "guest-calls", *names[:3])
    assert (logs, wrong, late) == (names[:3], [], [])


@pytest.mark.parametrize("error", [
    pytest.param(GuestError("the guest command says more than 16777216 bytes: ls"), id="endless"),
    pytest.param(WaitTimeout("the guest command: ls", 60.0), id="stalled"),
    pytest.param(GuestLost("QEMU ended"), id="lost"),
])  # fmt: skip
def test_names_that_cannot_be_listed_are_told_but_of_a_lost_guest(tmp_path: Path, error: GuestError) -> None:
    class Unlisted(Shell):
        def execute(self, command: str, _deadline: Deadline) -> tuple[int, str]:
            assert command.startswith("ls ")
            raise error

    guest: Any = SimpleNamespace(ssh=Unlisted((), {}))
    logs, wrong, late = fetched_logs(guest, "/run/calls of it", tmp_path)
    assert logs == []
    told = [] if isinstance(error, GuestLost) else [f"the guest's call records in /run/calls of it cannot be listed: {error}"]
    assert (wrong, late) == (([], told) if isinstance(error, WaitTimeout) else (told, []))


NOT_COME = [
    pytest.param(WaitTimeout("a file copied out of the guest", 60.0), id="too slow"),
    pytest.param(CommandFailed("sha256sum < x", 137, ""), id="no hash"),
    pytest.param(CopyFailed("copying a file to or from the guest failed: OSError(28)"), id="no room"),
]


@pytest.mark.parametrize("error", NOT_COME)
@pytest.mark.parametrize("failing", [False, True])
def test_records_that_do_not_come_over_are_the_labs_and_nothing_is_said_of_calls_that_lack(
    running: Running, monkeypatch: pytest.MonkeyPatch, error: GuestError, *, failing: bool
) -> None:
    def get(*_: object, **__: object) -> str:
        raise error

    monkeypatch.setattr(FakeShell, "get", get)
    last = row(TEXTS[2], error="test failed" if failing else "")
    script = Script(ops=(HEADER_LINE, *map(row, TEXTS[:2]), last), ops_status=int(failing), ring=4)
    bundle = running(script, SCENARIO + '\n[guest.environment]\nGGML_VIRTGPU_RING = "auto"\n', variants=("venus",))
    found = [line for line in texts(bundle).splitlines() if "case failed" not in line and "too few" not in line]
    assert found == [f"calls differ [lab] call records guest-7-101.calls of the guest: {error}"]
    assert bundle.run.exit == (1 if failing else 2), "never 0: the proof lacks"


def test_part_of_a_variants_records_is_not_held_against_its_limits(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched, come = FakeShell.get, list[str]()

    def get(shell: FakeShell, remote: str, *rest: object, **more: object) -> object:
        if come:
            raise WaitTimeout("a file copied out of the guest", 60.0)
        come.append(remote)
        return fetched(shell, remote, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(FakeShell, "get", get)
    bundle = running(
        Script(listing_records=3, listing_served=True), SCENARIO + "\n[thresholds]\ncall_p50_us = 0.001\n", variants=("venus",)
    )
    assert len(come) == 1
    assert "too slow" not in texts(bundle)
    (variant,) = bundle.run.variants
    assert (variant.calls.count, variant.calls.commands) == (0, ())
    assert {row.side for row in bundle.calls} == {"host"}
    assert bundle.run.exit == 2


def test_names_that_do_not_come_in_time_are_the_labs(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    executed = FakeShell.execute

    def execute(shell: FakeShell, command: str, deadline: Deadline) -> tuple[int, str]:
        if command.startswith("ls "):
            raise WaitTimeout(f"the guest command: {command}", 60.0)
        return executed(shell, command, deadline)

    monkeypatch.setattr(FakeShell, "execute", execute)
    bundle = running(Script(), variants=("venus",))
    (told,) = texts(bundle).splitlines()
    assert told.startswith("calls differ [lab] the guest's call records in ")
    assert bundle.run.exit == 2


def test_summary_tells_the_largest_call_of_a_command_and_the_replies_that_tell_times() -> None:
    def call(command: str, out: int, back: int, *, told: bool) -> JoinedCall:
        return JoinedCall(1, 1, None, 4, 0, command, 1, 1000, 0, None, None, 4, out, back, told)

    calls = (call("x", 344, 9000, told=True), call("x", 5000, 4, told=False), call("y", 20, 4, told=True))
    record = calls_record(Joined(calls, (), 3, 3))
    assert record.timed == 2
    assert [(one.command, one.most_bytes) for one in record.commands] == [("x", 9000), ("y", 20)]


def test_each_call_of_a_worker_is_streamed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "STREAM_EVERY_S", 0.0)
    rows: list[CallRow] = []
    bundle: Any = SimpleNamespace(call=lambda row, **_: rows.append(row), flush_calls=lambda: None)
    collector = calls.CallCollector(bundle, ("ops", "venus"), tmp_path, tmp_path / "guest-calls")
    for count in (2, 2, 5):
        write_calls(tmp_path / "host-1.calls", 1, Made(7, 4, 9), count)
        collector.stream()
    assert [row.seq for row in rows] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("names", "sides"),
    [(None, ["host"] * 5), ((), ["host"] * 5), (("guest-7-1.calls",), ["host"] * 2 + ["both"])],
    ids=["lost", "silent", "recording"],
)
def test_what_cannot_be_joined_is_appended_to_its_last_call(
    tmp_path: Path, names: tuple[str, ...] | None, sides: list[str]
) -> None:
    rows: list[CallRow] = []
    bundle: Any = SimpleNamespace(call=lambda row, **_: rows.append(row), flush_calls=lambda: None)
    others = frozenset({"guest"})
    collector = calls.CallCollector(bundle, ("ops", "venus"), tmp_path, tmp_path / "guest-calls", others)
    for count in (2, 5):
        write_calls(tmp_path / "host-1.calls", 1, Made(7, 4, 9), count)
        collector.stream()
    guest: Any = None if names is None else SimpleNamespace(ssh=Shell(names, {}))
    collector.joined(guest, "/run/calls of it")
    assert [row.side for row in rows] == sides
    assert [row.seq for row in rows if row.side == "host"] == list(range(sides.count("host")))


@pytest.mark.parametrize(("unanswered", "told"), [(2, 2), (100, 100), (5000, 101)])
def test_of_many_unanswered_calls_the_last_finding_has_the_rest(unanswered: int, told: int) -> None:
    lost = JoinedCall(1, 9, 3, 4, 7, "x", 1, 1000, 0, None, None, calls.UNANSWERED, 0, 0)
    found = list(calls.losses(Joined((lost,) * unanswered, (), unanswered, 0)))
    assert len(found) == told
    assert found[0].text == "hang: the worker of context 3 never answered x (call 7 of guest pid 9)"
    assert ("4900 more calls were never answered" in found[-1].text) == (unanswered == 5000)
