"""``lab shell``: a booted scenario to look around in."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Mapping

import paramiko

from lab.cli.display import progress_display
from lab.deadline import Deadline
from lab.errors import GuestError, GuestLost, HostError
from lab.guest.ssh import closed_at, connected_shell
from lab.qemu.machine import Guest, booted_guest
from lab.scenario.environment import guest_environment
from lab.scenario.expand import Variant
from lab.scenario.machine import boot_spec, real_platform
from lab.scenario.requirements import decided
from lab.scenario.runner import SETUP_S, boot_plan, laid_out, ship
from lab.scenario.shipment import GUEST_FOLDER, GUEST_LIBRARY
from lab.temporary import temporary_folder

CONNECT_S = 60.0
LOOK_S = 0.5
AGAIN_S = 0.02
"""How soon a guest that takes no more is asked again."""
CHUNK_BYTES = 32768
ROOM_BYTES = 16 << 20
"""How much of what is typed at a terminal is kept until the guest takes it: beyond it the terminal waits, and ``~.`` with it."""
UNREAD = 128 + signal.SIGPIPE
"""Exit status where whoever read the output is gone: what a program in a pipe ends with."""
LEFT = 128 + signal.SIGHUP
"""Exit status where whoever sat at the terminal left before the command's end: what a program ends with then."""


def guest_shell(variant: Variant, command: str) -> int:
    """Boot the variant's guest and hand the terminal over to a shell in it; its exit status.

    Raises:
        HostError: this host cannot run the scenario.
        GuestError: the guest did not come up, or went away.
    """
    platform = real_platform()
    with contextlib.ExitStack() as stack:
        logs = stack.enter_context(temporary_folder("shell"))
        with progress_display() as progress:
            ingredients = platform.prepare(variant.scenario, progress, Deadline.after(SETUP_S))
            decision = decided(variant.scenario, platform.abilities(ingredients.root, ingredients.image.name))
            for lack in decision.missing:
                raise HostError(lack.name, lack.probed, hint=lack.hint)
            plan = boot_plan([variant], ingredients, decision, logs)
            stack.enter_context(laid_out(plan))
            with progress.step("booting the guest"):
                guest = stack.enter_context(booted_guest(boot_spec(plan), logs, plan.deadline))
                ship(guest, ingredients, plan.deadline)
                calls = f"{GUEST_FOLDER}/calls"
                guest.ssh.succeed(f"mkdir -p {calls}")
        variables = guest_environment(variant.scenario, GUEST_LIBRARY, calls)
        return attached(guest, shell_line(variables, command))


def shell_line(variables: Mapping[str, str], command: str) -> str:
    """The guest's shell line for a command, or for a shell where there is none.

    The outer shell stays, so that a death by signal n arrives as status 128 + n: SSH itself tells no number for it.
    """
    words = [f"{name}={value}" for name, value in sorted(variables.items())]
    program = ("sh", "-c", command) if command else ("sh", "-i")
    return f"cd {GUEST_FOLDER}; {shlex.join(('env', *words, *program))}; exit $?"


def attached(guest: Guest, command: str) -> int:
    """Run a command in the guest with our terminal as its own."""
    with contextlib.ExitStack() as stack:
        channel = stack.enter_context(_session(guest))
        window = stack.enter_context(_window()) if stack.enter_context(raw_terminal()) else None
        size = window.size() if window is not None else None
        with _no_shell(), closed_at(Deadline.after(CONNECT_S), channel):
            if size is not None:
                channel.get_pty(os.environ.get("TERM", "dumb"), *size)
            channel.exec_command(command)
        early = relay(channel, guest, window)
        return told_status(channel, guest) if early is None else early


def told_status(channel: paramiko.Channel, guest: Guest) -> int:
    """The exit status of a command that says nothing more, when it has ended.

    Raises:
        GuestError: the guest is gone, or SSH told none: a signal ended the outer shell.
    """
    while not channel.status_event.wait(LOOK_S):
        _require_alive(guest)
    status = channel.recv_exit_status()
    if status < 0:
        _require_alive(guest)
        raise GuestError("the guest's shell ended without an exit status")
    return status


def _require_alive(guest: Guest) -> None:
    if not guest.alive():
        raise GuestLost(guest.machine.lost() or "it ended while its shell was open", guest.serial_tail())


class Window:
    """The terminal's size, and whether the guest is yet to be told of another one.

    It is not told within the signal: what that interrupts may be in the middle of a message of its own.
    """

    def __init__(self) -> None:
        self.is_told = True

    def changed(self, *_: object) -> None:
        """What SIGWINCH does."""
        self.is_told = False

    @staticmethod
    def size() -> tuple[int, int]:
        """Columns and lines."""
        size = os.get_terminal_size(sys.stdout.fileno())
        return size.columns, size.lines

    def tell(self, channel: paramiko.Channel) -> None:
        """Tell the guest what has changed; a program that has just ended need not know it."""
        if not self.is_told:
            self.is_told = True
            with contextlib.suppress(OSError, paramiko.SSHException, EOFError):
                channel.resize_pty(*self.size())


class Leaving:
    """Looks for ``~.`` at the begin of a line of what is typed at a terminal, as ssh does: a guest that hangs ends no shell.

    ``~~`` there is one ``~`` for the guest. Nothing is looked for in what comes from anywhere else.
    """

    def __init__(self, *, at_terminal: bool = True) -> None:
        self.is_asked = False
        self._at_terminal = self._at_begin = at_terminal
        self._is_held = False

    def passed(self, typed: bytes) -> bytes:
        """What of it is for the guest."""
        if not self._at_terminal:
            return typed
        kept = bytearray()
        for key in typed.decode("latin-1"):
            if self._at_begin and key == "~" and not self._is_held:
                self._is_held = True
                continue
            if self._is_held and key == ".":
                self.is_asked = True
                break
            kept += f"{'~' if self._is_held and key != '~' else ''}{key}".encode("latin-1")
            self._is_held, self._at_begin = False, key in "\r\n"
        return bytes(kept)


@contextlib.contextmanager
def _window() -> Iterator[Window]:
    window = Window()
    previous = signal.signal(signal.SIGWINCH, window.changed)
    try:
        yield window
    finally:
        signal.signal(signal.SIGWINCH, previous)


def relay(channel: paramiko.Channel, guest: Guest, window: Window | None = None) -> int | None:
    """Carry bytes both ways until the command has ended; the exit status where that is not waited for.

    ``window`` is that of a terminal at which somebody sits.

    A program need not take what is typed before somebody takes what it says: no way waits for the other.
    """
    channel.set_combine_stderr(True)
    typed_at = sys.stdin.fileno() if sys.stdin else None  # none where the lab was started without one
    typed, leaving = bytearray(), Leaving(at_terminal=window is not None)
    room = 1 if window is None else ROOM_BYTES  # from a pipe or file no more is taken than the guest takes
    while True:
        if typed_at is None and not typed:
            channel.shutdown_write()  # which does nothing the second time
        sources: list[int | paramiko.Channel] = [channel, *([] if typed_at is None or len(typed) >= room else [typed_at])]
        ready, _, _ = select.select(sources, [], [], AGAIN_S if typed else LOOK_S)
        _require_alive(guest)
        if window is not None:
            window.tell(channel)
        if channel in ready:
            data = channel.recv(CHUNK_BYTES)
            if not data:
                return None
            if not written(data):
                return UNREAD
        if typed_at is not None and typed_at in ready:
            more = os.read(typed_at, CHUNK_BYTES)
            if not more:
                typed_at = None
            typed += leaving.passed(more)
            if leaving.is_asked:
                return LEFT
        send(channel, typed)


def send(channel: paramiko.Channel, typed: bytearray) -> None:
    """Send as much as the guest takes now, and leave the rest: nothing where the program has ended, and takes none."""
    try:
        while typed and channel.send_ready():
            del typed[: channel.send(bytes(typed[:CHUNK_BYTES]))]
    except OSError:
        typed.clear()


def written(data: bytes) -> bool:
    """Hand bytes on, all of them, to whoever reads; False where nobody does any more."""
    to = sys.stdout.fileno()
    try:
        while data:
            select.select((), (to,), ())  # others may have asked that nobody waits for this pipe or terminal
            data = data[os.write(to, data) :]
    except BrokenPipeError:
        return False
    return True


@contextlib.contextmanager
def _session(guest: Guest) -> Iterator[paramiko.Channel]:
    """A channel on a connection for the terminal alone: the first one goes on watching the guest."""
    limit = Deadline.after(CONNECT_S)
    with connected_shell(guest.port, guest.keys, guest.machine, limit) as (_, transport):
        with _no_shell():
            channel = transport.open_session(timeout=max(limit.remaining_s, 1.0))
        with contextlib.closing(channel):
            yield channel


@contextlib.contextmanager
def _no_shell() -> Iterator[None]:
    """Say what it means that the guest refuses, or does not answer in time."""
    try:
        yield
    except (OSError, paramiko.SSHException, EOFError) as error:
        raise GuestError(f"no shell in the guest: {error!r}") from error


@contextlib.contextmanager
def raw_terminal() -> Iterator[bool]:
    """Every key goes to the guest while the context lasts, Ctrl-C included; False where there is no terminal."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        yield False
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin.fileno())
        yield True
    finally:
        with contextlib.suppress(termios.error):  # it has hung up
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
