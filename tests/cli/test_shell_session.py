"""``lab shell`` against an SSH server of this process: what a guest may answer, and what becomes of the terminal."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import paramiko
import pytest

from lab.cli.shell import LEFT, attached, raw_terminal
from lab.errors import GuestError, GuestLost, WaitTimeout
from lab.guest.keys import BootKeys, boot_keys
from lab.threads import beside

FOREVER_S = 10.0
"""Longer than any of these tests takes."""
Program = Callable[[paramiko.Channel], int]
"""What a command does; its exit status."""


class Server(paramiko.ServerInterface):
    """A guest's sshd, that refuses what is named, and does not answer at all what is named with a ``?``."""

    def __init__(self, keys: BootKeys, program: Program, *refused: str) -> None:
        self.keys, self.program, self.refused = keys, program, refused
        self.key = keys.host_key
        self.asked: list[tuple[object, ...]] = []
        self.resized, self.over = threading.Event(), threading.Event()
        self.programs: list[threading.Thread] = []

    def serve(self, listener: socket.socket) -> None:
        """One connection after the other, until nobody listens any more."""
        with contextlib.suppress(OSError):
            while True:
                link, _ = listener.accept()
                if "connection" in self.refused:
                    link.close()
                    continue
                with contextlib.closing(paramiko.Transport(link)) as transport:
                    transport.add_server_key(self.key)
                    with contextlib.suppress(paramiko.SSHException, EOFError):
                        transport.start_server(server=self)
                        transport.join()

    def answered(self, name: str, *words: object) -> bool:
        """Whether it does what it is asked for."""
        self.asked.append((name, *words))
        if f"{name}?" in self.refused:
            self.over.wait(FOREVER_S)
        return not {name, f"{name}?"} & set(self.refused)

    def check_auth_publickey(self, _user: str, key: paramiko.PKey) -> int:
        is_ours = self.answered("key") and key.asbytes() == self.keys.client_key.asbytes()
        return paramiko.AUTH_SUCCESSFUL if is_ours else paramiko.AUTH_FAILED

    def check_channel_request(self, _kind: str, _number: int) -> int:
        return paramiko.OPEN_SUCCEEDED if self.answered("session") else paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_pty_request(self, _channel: paramiko.Channel, term: bytes, width: int, height: int, *_: Any) -> bool:
        return self.answered("pty", term.decode(), width, height)

    def check_channel_window_change_request(self, _channel: paramiko.Channel, width: int, height: int, *_: Any) -> bool:
        self.asked.append(("window", width, height))
        self.resized.set()
        return True

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        if not self.answered("exec", command.decode()):
            return False
        self.programs.append(threading.Thread(target=self.run, args=(channel,)))
        self.programs[-1].start()
        return True

    def run(self, channel: paramiko.Channel) -> None:
        """The program, from its begin to its end, of which nobody hears who has gone."""
        with contextlib.suppress(OSError, paramiko.SSHException, EOFError), contextlib.closing(channel):
            channel.send_exit_status(self.program(channel))


@contextlib.contextmanager
def serving(program: Program, *refused: str) -> Iterator[tuple[Any, Server]]:
    """A guest with such a server, and the server."""
    with boot_keys() as keys, socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(keys, program, *refused)
        machine = SimpleNamespace(lost=lambda: None, serial_tail=lambda: "the console's last line")

        def end() -> None:
            server.over.set()
            listener.shutdown(socket.SHUT_RDWR)
            for one in server.programs:
                one.join(FOREVER_S)

        with beside(lambda: server.serve(listener), "sshd", end):
            yield SimpleNamespace(port=listener.getsockname()[1], keys=keys, machine=machine, alive=lambda: True), server


@contextlib.contextmanager
def sat_at(typed: IO[bytes], said: IO[bytes]) -> Iterator[None]:
    """Standard input and output of our own; made in the test itself, before which pytest puts its own in place."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", typed)
        patch.setattr("sys.stdout", said)
        patch.setenv("TERM", "a-terminal")
        yield


@contextlib.contextmanager
def no_terminal(output: Path) -> Iterator[None]:
    """Nothing is typed, and what is said is in a file."""
    with open(os.devnull, "rb") as typed, open(output, "wb", buffering=0) as said, sat_at(typed, said):
        yield


@contextlib.contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """A terminal of 100 columns and 30 lines: the end of whoever sits at it, and ours."""
    user, ours = os.openpty()
    termios.tcsetwinsize(ours, (30, 100))
    with open(ours, "rb", buffering=0) as typed, open(os.dup(ours), "wb", buffering=0) as said, sat_at(typed, said):
        yield user, ours
    with contextlib.suppress(OSError):
        os.close(user)


def says(channel: paramiko.Channel) -> int:
    assert channel.recv(1) == b""  # nothing is typed; and by then the guest has answered that it runs this
    channel.sendall(b"said")
    channel.sendall_stderr(b", and complained")
    return 3


def test_a_command_s_words_and_status_arrive(tmp_path: Path) -> None:
    with serving(says) as (guest, server), no_terminal(tmp_path / "output"):
        assert attached(guest, "a command") == 3
    assert (tmp_path / "output").read_bytes() == b"said, and complained"
    assert server.asked == [("key",), ("session",), ("exec", "a command")]


@pytest.mark.parametrize("refused", ["session", "exec", "exec?"])
def test_a_guest_that_gives_no_shell_is_told(monkeypatch: pytest.MonkeyPatch, refused: str) -> None:
    if refused == "exec?":  # the others are answered; and this bounds the connection, too
        monkeypatch.setattr("lab.cli.shell.CONNECT_S", 3.0)
    began = time.monotonic()
    with serving(says, refused) as (guest, _):
        with pytest.raises(GuestError, match="no shell in the guest: "):
            attached(guest, "a command")
        assert time.monotonic() - began < FOREVER_S, "before it answers after all"


@pytest.mark.parametrize("refused", ["connection", "key"])
def test_a_guest_that_takes_no_second_connection_is_told(monkeypatch: pytest.MonkeyPatch, refused: str) -> None:
    monkeypatch.setattr("lab.cli.shell.CONNECT_S", 1.0)
    with serving(says, refused) as (guest, _), pytest.raises(WaitTimeout, match="an SSH connection to the guest") as told:
        attached(guest, "a command")
    assert "the console's last line" in str(told.value)


def test_no_command_goes_to_another_machine_on_the_guest_s_port() -> None:
    with serving(says) as (guest, server), boot_keys() as others:
        server.key = others.host_key
        with pytest.raises(GuestLost, match="host key that is not the one"):
            attached(guest, "a command")
    assert server.asked == []


def flags(terminal: int) -> int:
    """Whether keys are echoed, end lines, and raise signals."""
    flag: int = termios.tcgetattr(terminal)[3]
    return flag & (termios.ECHO | termios.ICANON | termios.ISIG)


def test_a_terminal_is_the_program_s_own_and_comes_back_as_it_was() -> None:
    handler, seen = signal.getsignal(signal.SIGWINCH), []

    def program(channel: paramiko.Channel) -> int:
        seen.append(flags(ours))
        os.write(user, b"\x03")  # Ctrl-C, which is the program's to understand
        seen.append(ord(channel.recv(1)))
        termios.tcsetwinsize(ours, (40, 120))
        os.kill(os.getpid(), signal.SIGWINCH)
        assert server.resized.wait(FOREVER_S)
        return 0

    with serving(program) as (guest, server), terminal() as (user, ours):
        before = flags(ours)
        assert attached(guest, "a command") == 0
        assert flags(ours) == before != 0
    assert seen == [0, 3]
    assert server.asked[2:] == [("pty", "a-terminal", 100, 30), ("exec", "a command"), ("window", 120, 40)]
    assert signal.getsignal(signal.SIGWINCH) == handler


def test_a_terminal_comes_back_as_it_was_where_there_is_no_shell() -> None:
    handler = signal.getsignal(signal.SIGWINCH)
    with serving(says, "pty") as (guest, _), terminal() as (_, ours):
        before = flags(ours)
        with pytest.raises(GuestError, match="no shell in the guest: "):
            attached(guest, "a command")
        assert flags(ours) == before != 0
    assert signal.getsignal(signal.SIGWINCH) == handler


def test_a_terminal_that_hangs_up_is_left_alone() -> None:
    with terminal() as (user, _), raw_terminal() as is_one:
        os.close(user)
    assert is_one


def test_who_sits_at_the_terminal_can_leave_a_guest_that_hangs() -> None:
    def program(_channel: paramiko.Channel) -> int:
        os.write(user, b"~.")
        server.over.wait(FOREVER_S)
        return 0

    with serving(program) as (guest, server), terminal() as (user, ours):
        before = flags(ours)
        assert attached(guest, "a command") == LEFT == 129
        assert flags(ours) == before
