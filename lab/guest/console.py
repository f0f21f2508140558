"""The guest's serial console: read all the time, logged with times, watched for readiness and for the kernel's death.

pexpect cuts the stream into lines; a thread of ours reads until the other end closes, which is when QEMU is gone. Whoever
waits is woken at once by readiness, by a panic or oops, or by that end.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import pexpect
from pexpect.socket_pexpect import SocketSpawn

from lab.deadline import Deadline
from lab.errors import GuestLost, WaitTimeout
from lab.threads import beside

READY = re.compile(
    r"^LAB-READY release=(?P<release>\S*) capsets=(?P<capsets>(?:\d{1,6}(?:,\d{1,6})*)?) render=(?P<render>\S*)"
    r" cpus=(?P<cpus>\d{1,6}) uptime=(?P<uptime_s>\d{1,9}\.\d\d)$"
)
TROUBLE = re.compile(r"^LAB-TROUBLE (?P<text>.*)$")
PANIC = re.compile(r"Kernel panic - not syncing(: .*)?")
OOPS = re.compile(
    r"\b(?:Oops: |BUG: (?!soft lockup)|general protection fault|kernel BUG at |Unable to handle kernel|int3: \d{4} \[#)"
)
LINE_BYTES = 16384
LONG = re.compile(rb"\A[^\n]{%d}" % LINE_BYTES)
"""The beginning of a line that is too long: it is taken for a line, for a guest need not ever end one."""
UNREADABLE = "the serial console cannot be read on"
"""How the reason of a loss begins that is the lab's own."""
TAIL_LINES = 60
TRACE_S = 2.0  # how long the trace after an oops may take until the panic that follows it
LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Ready:
    """What the guest says of itself when sshd listens.

    ``cpus``: the processors that it uses. ``uptime_s``: how long it has run by its own clock, in seconds.
    """

    release: str
    capsets: tuple[int, ...]
    render_nodes: tuple[str, ...]
    cpus: int
    uptime_s: float


def parsed_ready(line: str) -> Ready | None:
    """The readiness marker in a line, if it is one."""
    found = READY.match(line)
    if found is None:
        return None
    capsets = tuple(int(word) for word in found["capsets"].split(",") if word)
    nodes = tuple(word for word in found["render"].split(",") if word)
    return Ready(found["release"], capsets, nodes, int(found["cpus"]), float(found["uptime_s"]))


def kernel_death(line: str) -> str | None:
    """What a line says of the kernel's end: a panic or an oops, else None."""
    panic = PANIC.search(line)
    if panic:
        return f"kernel panic{panic[1] or ''}"
    return f"kernel oops: {line.strip()}" if OOPS.search(line) else None


class Console:
    """A serial console being read. Made by ``watched_console`` only."""

    def __init__(self, stream: socket.socket, log: TextIO, on_loss: Callable[[], None]) -> None:
        self._spawn = SocketSpawn(stream, timeout=LOOK_S)
        self._log = log
        self._on_loss = on_loss
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self._troubles: list[str] = []
        self._ready: Ready | None = None
        self._dying: tuple[str, float] | None = None
        self._lost: str | None = None
        self._started = time.monotonic()

    def run(self) -> None:
        """Read until the other end closes. What else ends it loses the guest, too: nobody would hear of its end any more."""
        try:
            self._read()
        except Exception as error:  # noqa: BLE001 - whoever waits for the guest is told
            self._lose(f"{UNREADABLE}: {type(error).__name__}: {error}")

    def _read(self) -> None:
        while True:
            try:
                end = self._spawn.expect([rb"\n", pexpect.EOF, pexpect.TIMEOUT, LONG])
            except OSError:
                end = 1
            if end == 0:
                self._line(_text(self._spawn.before))
            elif end == 3:  # noqa: PLR2004 - LONG's place
                self._line(_text(self._spawn.after))
            elif end == 1:
                if last := _text(self._spawn.before):
                    self._line(last)
                self._lose(self._dying[0] if self._dying else "the serial console was closed, so QEMU has ended")
                return
            if self._dying and time.monotonic() > self._dying[1]:
                self._lose(self._dying[0])

    def _line(self, line: str) -> None:
        self._log.write(f"[{time.monotonic() - self._started:9.3f}] {line}\n")
        self._log.flush()
        death = kernel_death(line)
        trouble = TROUBLE.match(line)
        with self._changed:
            self._lines = [*self._lines[-TAIL_LINES:], line]
            if trouble:
                self._troubles.append(trouble["text"])
            self._ready = self._ready or parsed_ready(line)
            if death and self._dying is None:
                self._dying = (death, time.monotonic() + TRACE_S)
            self._changed.notify_all()
        if death and PANIC.search(line) and self._dying:
            self._lose(self._dying[0])

    def _lose(self, reason: str) -> None:
        with self._changed:
            if self._lost is not None:
                return
            self._lost = reason
            self._changed.notify_all()
        self._on_loss()

    @property
    def lost(self) -> str | None:
        """Why the guest is gone, or None while it is there."""
        return self._lost

    @property
    def troubles(self) -> tuple[str, ...]:
        """What the guest's init complained of."""
        return tuple(self._troubles)

    def tail(self) -> str:
        """The last lines."""
        with self._changed:
            return "\n".join(self._lines)

    def wait_ready(self, deadline: Deadline) -> Ready:
        """Wait for the readiness marker.

        Raises:
            GuestLost: the kernel or QEMU ended first.
            WaitTimeout: neither happened in time.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._lost, deadline.remaining_s)
            if self._lost is not None:
                raise GuestLost(self._lost, "\n".join(self._lines))
            if self._ready is None:
                raise WaitTimeout("the guest's readiness marker", deadline.elapsed_s, "\n".join(self._lines))
            return self._ready


def _text(data: object) -> str:
    """What pexpect read, without the carriage returns at its end; bytes from the guest need not be text."""
    return data.decode(errors="replace").rstrip("\r") if isinstance(data, bytes) else ""


@contextlib.contextmanager
def watched_console(stream: socket.socket, log: Path, on_loss: Callable[[], None]) -> Iterator[Console]:
    """Read the console in a thread until the context ends (which closes the stream).

    Args:
        stream: our end of the socket that QEMU has as the serial port.
        log: file that gets every line with the seconds since now.
        on_loss: called once, from the reading thread, when the guest is gone.
    """
    with open(log, "w", encoding="utf-8") as file:
        console = Console(stream, file, on_loss)
        with contextlib.closing(stream), beside(console.run, "serial console", lambda: _hang_up(stream)):
            yield console


def _hang_up(stream: socket.socket) -> None:
    with contextlib.suppress(OSError):
        stream.shutdown(socket.SHUT_RDWR)
