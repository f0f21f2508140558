from __future__ import annotations

import contextlib
import os
import resource
import select
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lab.cli.shell import LEFT, Leaving, guest_shell, relay, shell_line, told_status, written
from lab.deadline import Deadline
from lab.errors import GuestError, GuestLost
from lab.paths import SCENARIOS
from lab.scenario.environment import BACKEND_LIBRARY, COMPONENT_LOG, GGML_LIBRARY, HOST_CALL_LOG, HOST_LIBRARY_LOG, LIES
from lab.scenario.plan import Choice, planned
from lab.scenario.platform import BootPlan
from tests.scenario.fakes import FakePlatform, FakeShell, Script


@pytest.mark.parametrize(("command", "status"), [('test "$NAME" = "a b"', 0), ("exit 3", 3), ("kill -KILL $$", 128 + 9)])
def test_status_of_a_command_is_its_own_and_tells_of_a_signal(command: str, status: int) -> None:
    done = subprocess.run(["sh", "-c", shell_line({"NAME": "a b"}, command)], capture_output=True, check=False)
    assert done.returncode == status


def channel(*waits: bool, status: int = 0) -> Any:
    """A channel whose program has ended, or has not, at each look."""
    looks = iter(waits)
    return SimpleNamespace(status_event=SimpleNamespace(wait=lambda _s: next(looks)), recv_exit_status=lambda: status)


def guest(*, alive: bool = True) -> Any:
    machine = SimpleNamespace(lost=lambda: None if alive else "kernel panic: of fright")
    return SimpleNamespace(alive=lambda: alive, machine=machine, serial_tail=lambda: "its last words")


def test_shell_that_ended_without_a_status_is_no_success() -> None:
    assert told_status(channel(True, status=3), guest()) == 3
    with pytest.raises(GuestError, match="shell ended without an exit status"):
        told_status(channel(True, status=-1), guest())
    with pytest.raises(GuestLost, match="the guest was lost: kernel panic: of fright\n  output:\n    its last words"):
        told_status(channel(True, status=-1), guest(alive=False))


def test_a_program_that_says_nothing_more_is_waited_for_while_the_guest_lives() -> None:
    assert told_status(channel(False, False, True, status=4), guest()) == 4
    with pytest.raises(GuestLost, match="kernel panic: of fright"):
        told_status(channel(False, True), guest(alive=False))


class Shell(FakeShell):
    """A shell in which every command succeeds."""

    def succeed(self, command: str) -> str:
        """What it said."""
        assert command
        return ""


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("smoke", {HOST_CALL_LOG}),
        ("bench", {BACKEND_LIBRARY, GGML_LIBRARY}),
        ("faults", {BACKEND_LIBRARY, GGML_LIBRARY}),
        ("liar", {LIES}),
    ],
)
def test_what_qemus_variables_name_is_there_when_the_guest_boots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, named: set[str]
) -> None:
    there: dict[str, bool] = {}

    @contextlib.contextmanager
    def boot(plan: BootPlan, logs: Path, _deadline: Deadline) -> Iterator[object]:
        for variable, value in plan.variables:
            path = Path(value.removeprefix("@"))
            if path.is_relative_to(logs):
                there[variable] = path.is_symlink() or path.exists()
        yield SimpleNamespace(ssh=Shell(Script(), plan, tmp_path))

    monkeypatch.setattr("lab.cli.shell.real_platform", lambda: FakePlatform(Script(), tmp_path).platform())
    monkeypatch.setattr("lab.cli.shell.boot_spec", lambda plan: plan)
    monkeypatch.setattr("lab.cli.shell.booted_guest", boot)
    monkeypatch.setattr("lab.cli.shell.attached", lambda *_: 0)
    assert guest_shell(planned([SCENARIOS / f"{name}.toml"], Choice())[0].variants[0], "true") == 0
    assert named <= {variable for variable, is_there in there.items() if is_there}
    assert {variable for variable, is_there in there.items() if not is_there} == {COMPONENT_LOG, HOST_LIBRARY_LOG}


def test_a_reader_that_goes_away_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb", buffering=0) as gone:
        monkeypatch.setattr("sys.stdout", gone)
        assert written(b"read")
        os.close(reader)
        assert not written(b"not read")


def test_output_that_has_no_room_is_not_lost_unsaid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open(tmp_path / "output", "wb", buffering=0) as file:
        monkeypatch.setattr("sys.stdout", file)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))  # of what is more, the system writes the first part and says so
        try:
            with pytest.raises(OSError, match="too large"):
                written(b"more than there is room for")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_output_that_takes_no_more_for_now_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    data, read = bytes(1 << 20), 0
    with os.fdopen(writer, "wb", buffering=0) as full, os.fdopen(reader, "rb", buffering=0) as end, ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr("sys.stdout", full)
        done = pool.submit(written, data)
        with contextlib.suppress(TimeoutError):
            assert done.exception(0.3) is None  # by then nothing more fits in
        while read < len(data) and select.select((end,), (), (), 5)[0]:
            read += len(end.read(1 << 16))
        assert done.result(5)
    assert read == len(data)


class Program:
    """A channel to a program: so many times it says something before it takes what was typed, and it may end before that."""

    def __init__(self, before: int, *, ends: bool) -> None:
        self.left, self.ends, self.taken, self.is_shut = before, ends, b"", False
        self.said, self._says = os.pipe()
        os.write(self._says, b"!")

    def fileno(self) -> int:
        """There is always something to hear."""
        return self.said

    def recv(self, most: int) -> bytes:
        """What it says; nothing when it has ended."""
        self.left -= 1
        return b"said"[:most] if self.left >= 0 or not (self.ends or self.taken) else b""

    def send_ready(self) -> bool:
        """Whether it takes something."""
        return self.ends or self.left <= 0

    def send(self, data: bytes) -> int:
        """It takes a byte at a time."""
        assert not self.is_shut, "what is typed would never arrive"
        if self.ends:
            raise OSError("Socket is closed")
        self.taken += data[:1]
        return 1

    def sendall(self, data: bytes) -> None:
        """As paramiko does it: without an end while nothing is taken."""
        assert self.send_ready(), "this would wait for ever"
        self.send(data)

    def set_combine_stderr(self, combine: bool) -> None:
        """Both are one."""
        assert combine

    def shutdown_write(self) -> None:
        """Nothing more will be typed."""
        self.is_shut = True

    def close(self) -> None:
        """It is over."""
        os.close(self.said)
        os.close(self._says)


@contextlib.contextmanager
def typing(folder: Path, keys: bytes) -> Iterator[Any]:
    """Standard input with these keys, and the guest; what is said is in the folder."""
    (folder / "typed").write_bytes(keys)
    with (
        open(folder / "typed", "rb", buffering=0) as typed,
        open(folder / "output", "wb", buffering=0) as output,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("sys.stdin", typed)
        patch.setattr("sys.stdout", output)
        yield guest()


WINDOW = cast(Any, SimpleNamespace(tell=lambda _channel: None))


@pytest.mark.parametrize("window", [None, WINDOW], ids=["from a file", "at a terminal"])
@pytest.mark.parametrize(("ends", "taken"), [(False, b"typed"), (True, b"")], ids=["it says much first", "it ends"])
def test_a_program_need_not_take_what_is_typed(tmp_path: Path, ends: bool, taken: bytes, window: Any) -> None:
    with typing(tmp_path, b"typed") as here, contextlib.closing(Program(before=5, ends=ends)) as program:
        assert relay(cast(Any, program), here, window) is None
    assert program.taken == taken
    assert (tmp_path / "output").read_bytes() == b"said" * 5


def test_leaving_is_heard_behind_what_the_guest_does_not_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.cli.shell.CHUNK_BYTES", 4)
    with typing(tmp_path, b"pasted\r~.") as here, contextlib.closing(Program(before=50, ends=False)) as program:
        assert relay(cast(Any, program), here, WINDOW) == LEFT
    assert program.taken == b""


@pytest.mark.parametrize("window", [None, WINDOW], ids=["from a file", "at a terminal"])
def test_no_more_is_read_than_there_is_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: Any) -> None:
    monkeypatch.setattr("lab.cli.shell.CHUNK_BYTES", 1)
    monkeypatch.setattr("lab.cli.shell.ROOM_BYTES", 3)
    reads: list[int] = []
    with typing(tmp_path, b"typed") as here, contextlib.closing(Program(before=20, ends=False)) as program:
        monkeypatch.setattr(program, "send_ready", lambda: bool(reads.append(os.lseek(sys.stdin.fileno(), 0, os.SEEK_CUR))))
        monkeypatch.setattr(program, "recv", lambda _most: b"" if len(reads) == 20 else b"!")
        assert relay(cast(Any, program), here, window) is None
    assert max(reads) == (1 if window is None else 3)


@pytest.mark.parametrize(
    ("typed", "passed", "leaves"),
    [
        (b"~.", b"", True),
        (b"a\r~.", b"a\r", True),
        (b"a\n~.", b"a\n", True),
        (b"\r~\r~.", b"\r~\r", True),
        (b"a~.", b"a~.", False),
        (b"~~.", b"~.", False),
        (b"~a~.", b"~a~.", False),
        (b"~\x03b", b"~\x03b", False),
        (b"ls ~/.ssh\r", b"ls ~/.ssh\r", False),
    ],
)
def test_a_tilde_and_a_dot_on_a_line_of_their_own_leave(typed: bytes, passed: bytes, leaves: bool) -> None:
    at_once, one_by_one = Leaving(), Leaving()
    assert (at_once.passed(typed), at_once.is_asked) == (passed, leaves)
    assert (b"".join(one_by_one.passed(bytes([key])) for key in typed), one_by_one.is_asked) == (passed, leaves)
    assert Leaving(at_terminal=False).passed(typed) == typed
