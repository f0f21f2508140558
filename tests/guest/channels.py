"""Channels that are no SSH, and a guest's shell over them."""

from __future__ import annotations

import threading
import time

import paramiko

from lab.guest.ssh import GuestShell

EVERY_S = 0.02


class Channel:
    """A command that says ``word`` again and again, for at most ten seconds, unless it is the one that kills it."""

    def __init__(self, word: bytes) -> None:
        self._word = word
        self._ends = time.monotonic() + (10 if word else 0)

    def exec_command(self, command: str) -> None:
        if "kill -9" in command:
            self._ends = 0.0

    def recv(self, _size: int) -> bytes:
        time.sleep(EVERY_S)
        return self._word if time.monotonic() < self._ends else b""

    def recv_stderr(self, _size: int) -> bytes:
        return b""

    def recv_exit_status(self) -> int:
        return 0

    def exit_status_ready(self) -> bool:
        return True

    def close(self) -> None: ...

    def set_combine_stderr(self, _merged: bool) -> None: ...

    def invoke_subsystem(self, _name: str) -> None: ...

    def settimeout(self, _timeout_s: float) -> None: ...


class Transport:
    """Gives such channels."""

    def __init__(self, word: bytes) -> None:
        self._word = word

    def open_session(self, timeout: float) -> Channel:
        assert timeout > 0
        return Channel(self._word)

    def is_active(self) -> bool:
        return True


class Unheard(Channel):
    """A channel that the guest has opened, and then answers nothing that is asked of it, for at most ten seconds."""

    def __init__(self) -> None:
        super().__init__(b"")
        self._closed = threading.Event()

    def exec_command(self, _command: str) -> None:
        self._closed.wait(10)
        raise paramiko.SSHException("Channel closed.")

    def invoke_subsystem(self, name: str) -> None:
        self.exec_command(name)

    def close(self) -> None:
        self._closed.set()


class Silent(Channel):
    """A command that says nothing, for at most ten seconds."""

    def recv(self, size: int) -> bytes:
        if super().recv(size):
            raise TimeoutError
        return b""


class Alive:
    """A machine that is never lost."""

    def lost(self) -> None: ...

    def serial_tail(self) -> str:
        return ""


def shell(word: bytes) -> GuestShell:
    return GuestShell(Transport(word), Alive())  # type: ignore[arg-type]
