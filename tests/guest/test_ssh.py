"""The guest's shell over a channel that is no SSH: what a guest says at will ends, in time and in length."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.deadline import Deadline
from lab.errors import CommandFailed, GuestError, GuestLost, WaitTimeout
from lab.guest import ssh
from lab.guest.keys import boot_keys
from lab.guest.ssh import GuestShell, connected_shell
from tests.guest.channels import Alive, Channel, Silent, Transport, Unheard, shell


@pytest.mark.parametrize(
    "run",
    [
        lambda talker, deadline: talker.stream("yes", lambda _line: None, deadline),
        lambda talker, deadline: talker.execute("yes", deadline),
        lambda talker, deadline: talker.separate("yes", deadline),
    ],
    ids=["stream", "execute", "separate"],
)
def test_command_that_keeps_talking_ends_with_its_deadline(run: Callable[[GuestShell, Deadline], Any]) -> None:
    began = time.monotonic()
    with pytest.raises(WaitTimeout, match="the guest command: yes"):
        run(shell(b"line\n"), Deadline.after(0.2))
    assert time.monotonic() - began < 3


def test_command_that_says_nothing_ends_with_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Transport, "open_session", lambda _self, **_timeout: Silent(b"none of it comes"))
    with pytest.raises(WaitTimeout, match="the guest command: sleep"):
        shell(b"").execute("sleep", Deadline.after(0.2))


def test_command_that_says_nothing_ends_with_its_guest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Transport, "open_session", lambda _self, **_timeout: Silent(b"none of it comes"))
    monkeypatch.setattr(Alive, "lost", lambda _self: "kernel panic")
    with pytest.raises(GuestLost, match="kernel panic"):
        shell(b"").execute("sleep", Deadline.after(0.2))


@pytest.mark.parametrize("program", ["dash", "bash"])
def test_death_by_a_signal_has_a_status_whichever_shell_the_guest_has(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(Channel, "exec_command", lambda _self, command: asked.append(command))
    shell(b"").execute("sh -c 'kill -9 $$'")
    assert subprocess.run([program, "-c", *asked], check=False).returncode == 128 + 9


def test_command_that_is_killed_takes_no_other_one_along(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(Channel, "exec_command", lambda _self, command: asked.append(command))
    monkeypatch.setattr(ssh, "KILL_S", 0.2)
    monkeypatch.setattr(ssh, "MARK", f"LAB_TEST_OF_{os.getpid()}")
    talker = shell(b"line\n")
    for _ in range(2):
        with pytest.raises(WaitTimeout):
            talker.execute("yes", Deadline.after(0.1))
    first, kill, second, _ = (command.splitlines() for command in asked)
    mark = first[0].removeprefix("export ")
    assert mark != second[0].removeprefix("export ")
    with contextlib.ExitStack() as stack:
        programs = [
            stack.enter_context(subprocess.Popen(("sleep", "60"), env=dict([value.split("=", 1)]))) for value in (mark, f"{mark}0")
        ]
        try:
            subprocess.run(("sh", "-c", kill[1]), check=True)
            assert programs[0].wait(10) == -9
            assert programs[1].poll() is None
        finally:
            programs[1].kill()


def test_status_other_than_0_is_an_error_for_who_expects_success(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [b"", b"no such file\n"]
    monkeypatch.setattr(Channel, "recv", lambda *_: said.pop())
    monkeypatch.setattr(Channel, "recv_exit_status", lambda _self: 1)
    with pytest.raises(CommandFailed, match="status 1: ls /none\n") as failed:
        shell(b"").succeed("ls /none")
    assert failed.value.output == "no such file\n"


def test_standard_error_is_apart_only_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    merged: list[bool] = []
    monkeypatch.setattr(Channel, "set_combine_stderr", lambda _self, value: merged.append(value))
    shell(b"").execute("true")
    shell(b"").separate("true")
    assert merged == [True, False]


def test_reason_of_a_broken_connection_may_be_known_a_moment_later(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = [None, None, "kernel panic"]
    monkeypatch.setattr(Alive, "lost", lambda _self: reasons.pop(0) if len(reasons) > 1 else reasons[0])
    monkeypatch.setattr(Transport, "is_active", lambda _self: False)
    monkeypatch.setattr(Channel, "recv_exit_status", lambda _self: -1)
    with pytest.raises(GuestLost, match="kernel panic"):
        shell(b"").execute("true")


def test_last_line_needs_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [b"", b"ne\nrest", b"li"]
    monkeypatch.setattr(Channel, "recv", lambda *_: said.pop())
    assert shell(b"").execute("printf") == (0, "line\nrest")


def test_command_whose_connection_broke_has_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "REASON_S", 0.0)
    monkeypatch.setattr(Channel, "recv_exit_status", lambda _self: -1)
    assert shell(b"").execute("true").status == -1
    monkeypatch.setattr(Transport, "is_active", lambda _self: False)
    with pytest.raises(GuestLost, match="the SSH connection broke"):
        shell(b"").execute("true")


def test_guest_that_does_not_even_kill_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(Channel, "exec_command", lambda _self, command: asked.append(command))
    monkeypatch.setattr(ssh, "KILL_S", 0.2)
    with pytest.raises(WaitTimeout, match="the guest command: yes"):
        shell(b"line\n").execute("yes", Deadline.after(0.2))
    assert ["kill -9" in command for command in asked] == [False, True]


@pytest.mark.parametrize(
    "run",
    [
        lambda shell, deadline, _file: shell.execute("true", deadline),
        lambda shell, deadline, _file: shell.separate("true", deadline),
        lambda shell, deadline, file: shell.put(file, "/x", deadline),
        lambda shell, deadline, file: shell.get("/x", file, deadline),
    ],
    ids=["execute", "separate", "put", "get"],
)
def test_guest_that_opens_a_channel_and_answers_no_more_is_waited_for_until_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[[GuestShell, Deadline, Path], Any]
) -> None:
    monkeypatch.setattr(Transport, "open_session", lambda _self, **_timeout: Unheard())
    (tmp_path / "file").touch()
    began = time.monotonic()
    with pytest.raises(WaitTimeout):
        run(shell(b""), Deadline.after(0.2), tmp_path / "file")
    assert time.monotonic() - began < 3


def test_channel_that_was_closed_at_its_deadline_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(Unheard):
        def exec_command(self, _command: str) -> None:
            self._closed.wait(10)

    monkeypatch.setattr(Transport, "open_session", lambda _self, **_timeout: Closed())
    with pytest.raises(WaitTimeout, match="the guest's answer to being asked for: true"):
        shell(b"").execute("true", Deadline.after(0.2))


@pytest.mark.parametrize("word", [b"no end ", b"line\n" * 10], ids=["a line", "lines"])
@pytest.mark.parametrize(
    "run",
    [
        lambda talker: talker.execute("yes", Deadline.after(5)),
        lambda talker: talker.separate("yes", Deadline.after(5)),
    ],
    ids=["execute", "separate"],
)
def test_what_is_kept_of_a_guest_has_a_bound(
    word: bytes, run: Callable[[GuestShell], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lab.guest.ssh.KEPT_BYTES", 100)
    with pytest.raises(GuestError, match="says more than 100 bytes"):
        run(shell(word))


def test_standard_error_is_kept_up_to_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.guest.ssh.KEPT_BYTES", 100)
    said = [b"", *[b"error " * 10] * 5]
    monkeypatch.setattr(Channel, "recv_stderr", lambda *_: said.pop())
    monkeypatch.setattr(Channel, "recv", lambda *_: b"")
    assert shell(b"").separate("yes").stderr == (b"error " * 20)[:100]


@pytest.mark.parametrize("word", [b"no end ", b"line\n" * 2], ids=["a line", "lines"])
def test_command_that_never_ends_is_a_hang_however_much_it_says(word: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.guest.ssh.KEPT_BYTES", 20)
    monkeypatch.setattr("lab.guest.ssh.HANDED_BYTES", 50)
    lines: list[str] = []
    with pytest.raises(WaitTimeout, match="the guest command: yes"):
        shell(word).stream("yes", lines.append, Deadline.after(0.5))
    *said, last = lines
    assert last == "more than 50 bytes were said: the rest is left out\n"
    assert 50 <= sum(map(len, said)) < 50 + len(word) + len(said)
    assert all(line.endswith("\n") and len(line) <= 20 + len(word) + 1 for line in said)


def test_lines_that_are_handed_on_are_not_counted_as_one_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.guest.ssh.KEPT_BYTES", 100)
    lines: list[str] = []
    with pytest.raises(WaitTimeout):
        shell(b"line\n" * 10).stream("yes", lines.append, Deadline.after(0.3))
    assert sum(map(len, lines)) > 100
    assert set(lines) == {"line\n"}


def test_guest_with_another_host_key_is_shown_no_key_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    with boot_keys() as keys, boot_keys() as others:
        other = SimpleNamespace(get_remote_server_key=lambda: others.host_key, auth_publickey=lambda name, _key: shown.append(name))
        for step in ("set_keepalive", "start_client", "close", "join"):
            setattr(other, step, lambda *_, **__: None)
        monkeypatch.setattr("socket.create_connection", lambda *_, **__: None)
        monkeypatch.setattr("paramiko.Transport", lambda _link, **_: other)
        reached = connected_shell(22, keys, Alive(), Deadline.after(5))
        with pytest.raises(GuestLost, match="a host key that is not the one it was given"), reached:
            pytest.fail("it was let in")
    assert not shown
