"""Commands and files in the guest, all over one SSH connection (a second key exchange would cost an emulated guest a second).

Every command carries a mark in its environment, so that one that outlives its deadline is found and killed in the guest with
all it started. When the guest is lost the connection is closed at once, and whoever waits gets ``GuestLost``.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import shlex
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import paramiko
from paramiko.packet import Packetizer

from lab.deadline import Deadline, poll
from lab.errors import CommandFailed, CopyFailed, GuestError, GuestLost, WaitTimeout
from lab.guest.keys import BootKeys
from lab.threads import beside

USER = "root"
MARK = "VIRTGPU_LAB_COMMAND"
COMMAND_S = 60.0
KILL_S = 20.0
CONNECT_S = 10.0
CHUNK_BYTES = 32768
BLOCK_BYTES = 1 << 20
KEPT_BYTES = 16 << 20
"""So much a guest may say as an output that is kept whole: more is no answer to anything that is asked. A line is cut there."""
HANDED_BYTES = 64 << 20
"""So much of a command's lines is handed on; what it says beyond that is read and left out, until it ends or is ended."""
FILE_BYTES = 1 << 30
"""The largest file that is fetched where nothing else is said."""
PREFETCHED = 64
"""Requests for pieces of a file that are on their way at once."""
LOOK_S = 0.5
REASON_S = 2.0
# A connection that is cut because the guest is gone is told as GuestLost; paramiko's traceback of it says nothing more.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class Outcome(NamedTuple):
    """Exit status (-1: the shell itself was killed) and standard output and error together."""

    status: int
    output: str


class Separate(NamedTuple):
    """Exit status, standard output and standard error."""

    status: int
    stdout: bytes
    stderr: bytes


class Liveness(Protocol):
    """What the connection asks of the machine below it."""

    def lost(self) -> str | None:
        """Why the guest is gone, or None."""

    def serial_tail(self) -> str:
        """The last lines of the serial console."""


class GuestShell:
    """An open connection. Made by ``connected_shell`` only; may be used from several threads."""

    def __init__(self, transport: paramiko.Transport, machine: Liveness) -> None:
        self._transport = transport
        self._machine = machine
        self._count = 0
        self._counting = threading.Lock()

    def execute(self, command: str, deadline: Deadline | None = None) -> Outcome:
        """Run a shell command and return its status and output; a status other than 0 is no error.

        Raises:
            WaitTimeout: it ran past the deadline (60 s if none is given); it was killed in the guest.
            GuestLost: the guest went away.
            GuestError: it says more than is kept.
        """
        lines: list[str] = []
        kept = 0

        def keep(line: str) -> None:
            nonlocal kept
            kept += len(line)
            _require_bounded(kept, command)
            lines.append(line)

        status = self.stream(command, keep, deadline)
        return Outcome(status, "".join(lines))

    def succeed(self, command: str, deadline: Deadline | None = None) -> str:
        """Run a shell command, expect status 0, return its output. Raises ``CommandFailed`` and what ``execute`` does."""
        outcome = self.execute(command, deadline)
        if outcome.status != 0:
            raise CommandFailed(command, outcome.status, outcome.output)
        return outcome.output

    def stream(self, command: str, on_line: Callable[[str], None], deadline: Deadline | None = None) -> int:
        """Run a shell command, hand each line (with its end) to ``on_line`` as it comes, return the exit status.

        A command that says more than is handed on is no error: one that never ends is a hang, as any that says nothing.
        """
        rest, left = b"", HANDED_BYTES
        with self._running(command, deadline, merged=True) as (channel, limit, mark):
            while data := self._received(channel, command, limit, mark, rest):
                if left <= 0:
                    continue
                *lines, rest = (rest + data).split(b"\n")
                left -= len(data)
                if len(rest) > KEPT_BYTES or left <= 0:
                    lines, rest = [*lines, rest], b""
                for line in lines:
                    on_line(line.decode(errors="replace") + "\n")
                if left <= 0:
                    on_line(f"more than {HANDED_BYTES} bytes were said: the rest is left out\n")
            if rest:
                on_line(rest.decode(errors="replace"))
            return self._status(channel, command, limit)

    def separate(self, command: str, deadline: Deadline | None = None) -> Separate:
        """Run a shell command and return standard output and error apart, as bytes."""
        out, err = bytearray(), bytearray()
        with (
            self._running(command, deadline, merged=False) as (channel, limit, mark),
            beside(lambda: err.extend(_drained_stderr(channel)), "standard error", channel.close),
        ):
            while data := self._received(channel, command, limit, mark, out):
                out += data
                _require_bounded(len(out), command)
            status = self._status(channel, command, limit)
        return Separate(status, bytes(out), bytes(err))

    def put(self, local: Path, remote: str, deadline: Deadline | None = None, *, mode: int | None = None) -> str:
        """Copy a file into the guest and prove by its SHA-256, which is returned, that it arrived whole."""
        limit = deadline or Deadline.after(COMMAND_S)
        with self._files(limit) as sftp, open(local, "rb") as file:
            sftp.putfo(file, remote, callback=lambda *_: limit.require("a file copied into the guest"), confirm=False)
            sftp.chmod(remote, local.stat().st_mode & 0o777 if mode is None else mode)
        return self._same(local, remote, limit)

    def get(self, remote: str, local: Path, deadline: Deadline | None = None, *, most_bytes: int = FILE_BYTES) -> str:
        """Copy a file out of the guest and prove by its SHA-256, which is returned, that it arrived whole.

        Raises:
            GuestError: it is no file, has more than ``most_bytes``, which is seen before its first byte is asked for, or is
                another one here.
            CopyFailed, CommandFailed, WaitTimeout, GuestLost: it did not come over.
        """
        limit = deadline or Deadline.after(COMMAND_S)
        with self._files(limit) as sftp:
            try:
                found = sftp.stat(remote)
            except FileNotFoundError as error:
                raise GuestError(f"the guest's {remote} is not there, or leads nowhere") from error
            if not stat.S_ISREG(found.st_mode or 0):
                raise GuestError(f"the guest's {remote} is no file")
            left = found.st_size or 0
            if left > most_bytes:
                raise GuestError(f"the guest's {remote} has {left} bytes, at most {most_bytes} are fetched")
            with sftp.open(remote, "rb") as theirs, open(local, "wb") as ours:
                theirs.prefetch(left, PREFETCHED)
                while left and (data := theirs.read(min(left, CHUNK_BYTES))):
                    limit.require("a file copied out of the guest")
                    left -= ours.write(data)
        return self._same(local, remote, limit)

    def _same(self, local: Path, remote: str, deadline: Deadline) -> str:
        ours = sha256(local)
        theirs = next(iter(self.succeed(f"sha256sum < {shlex.quote(remote)}", deadline).split()), "none")
        if ours != theirs:
            raise GuestError(f"{local} and the guest's {remote} differ: SHA-256 {ours} here, {theirs} there")
        return ours

    @contextlib.contextmanager
    def _files(self, deadline: Deadline) -> Iterator[paramiko.SFTPClient]:
        try:
            channel = self._transport.open_session(timeout=deadline.remaining_s)
            channel.settimeout(deadline.remaining_s)
            with closed_at(deadline, channel):
                channel.invoke_subsystem("sftp")
            with contextlib.closing(paramiko.SFTPClient(channel)) as sftp:
                yield sftp
        # SFTPError: an answer that is none; UnicodeDecodeError: one with words that are no text
        except (OSError, paramiko.SSHException, paramiko.SFTPError, EOFError, UnicodeDecodeError) as error:
            if not self._transport.is_active():
                raise self._loss("the SSH connection broke while a file was copied") from error
            deadline.require("a file copied to or from the guest")
            raise CopyFailed(f"copying a file to or from the guest failed: {error!r}") from error

    @contextlib.contextmanager
    def _running(
        self, command: str, deadline: Deadline | None, *, merged: bool
    ) -> Iterator[tuple[paramiko.Channel, Deadline, str]]:
        limit = deadline or Deadline.after(COMMAND_S)
        with self._counting:
            self._count += 1
            mark = f"{MARK}={self._count}"
        try:
            channel = self._transport.open_session(timeout=max(limit.remaining_s, 0.001))
        except (paramiko.SSHException, EOFError) as error:
            limit.require(f"a channel for: {command}")
            raise self._loss(f"no channel could be opened: {error!r}") from error
        with contextlib.closing(channel):
            channel.set_combine_stderr(merged)
            channel.settimeout(LOOK_S)
            try:
                # the last line keeps the shell from making way for the command, whose death by a signal would have no status then
                with closed_at(limit, channel):
                    channel.exec_command(f"export {mark}\n{command}\nexit $?")
            except (paramiko.SSHException, EOFError) as error:
                limit.require(f"the guest's answer to being asked for: {command}")
                raise self._loss(f"the connection broke: {error!r}") from error
            yield channel, limit, mark

    def _received(self, channel: paramiko.Channel, command: str, limit: Deadline, mark: str, before: bytes | bytearray) -> bytes:
        """The next bytes; empty at the end. Wakes every half second to look at the guest; whoever talks is held to the deadline.

        What has no mark is not killed then: that is done by a command, too, and would go on for ever in a guest that ends none.
        """
        while True:
            data: bytes | None = None
            with contextlib.suppress(TimeoutError):
                data = channel.recv(CHUNK_BYTES)
            if not data:
                self._raise_if_lost()
            if data != b"" and limit.expired:
                if mark:
                    self._kill_marked(mark)
                raise WaitTimeout(f"the guest command: {command}", limit.elapsed_s, before.decode(errors="replace"))
            if data is not None:
                return data

    def _status(self, channel: paramiko.Channel, command: str, limit: Deadline) -> int:
        poll(f"the exit status of: {command}", lambda: channel.exit_status_ready() or self._machine.lost(), limit, interval_s=0.005)
        self._raise_if_lost()
        status = channel.recv_exit_status()
        if status < 0 and not self._transport.is_active():
            raise self._loss("the SSH connection broke")
        return status

    def _kill_marked(self, mark: str) -> None:
        """Kill what carries the mark; a guest that does not even do that is left to whoever gets the timeout."""
        script = f"for p in /proc/[0-9]*; do grep -qzx {mark} $p/environ 2>/dev/null && kill -9 ${{p#/proc/}}; done; true"
        running = self._running(script, Deadline.after(KILL_S), merged=True)
        with contextlib.suppress(GuestError), running as (channel, limit, _):
            while self._received(channel, script, limit, "", b""):
                pass

    def _loss(self, symptom: str) -> GuestLost:
        """The error for a broken connection: why the guest is gone, which may be known a moment later, else the symptom."""
        with contextlib.suppress(WaitTimeout):
            poll("the reason of the loss", self._machine.lost, Deadline.after(REASON_S))
        return GuestLost(self._machine.lost() or symptom, self._machine.serial_tail())

    def _raise_if_lost(self) -> None:
        reason = self._machine.lost()
        if reason is not None:
            raise GuestLost(reason, self._machine.serial_tail())


@contextlib.contextmanager
def closed_at(limit: Deadline, channel: paramiko.Channel) -> Iterator[None]:
    """Close the channel at the deadline. By itself paramiko waits without end for a guest to answer what is asked of a channel."""
    answered, late = threading.Event(), threading.Event()

    def close() -> None:
        if not answered.wait(limit.remaining_s):
            late.set()
            channel.close()

    with beside(close, "the answer's deadline", answered.set):
        yield
    if late.is_set():
        raise paramiko.SSHException("the channel was closed at its deadline")


def _drained_stderr(channel: paramiko.Channel) -> bytes:
    data = bytearray()
    while True:
        try:
            piece = channel.recv_stderr(CHUNK_BYTES)
        except TimeoutError:
            if channel.closed:
                return bytes(data)
            continue
        if not piece:
            return bytes(data)
        data += piece[: KEPT_BYTES - len(data)]


def _require_bounded(kept: int, command: str) -> None:
    """Raise ``GuestError`` where more would have to be kept than is sensible; the command ends when it writes on."""
    if kept > KEPT_BYTES:
        raise GuestError(f"the guest command says more than {KEPT_BYTES} bytes: {command}")


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def connected_shell(
    port: int, keys: BootKeys, machine: Liveness, deadline: Deadline
) -> Iterator[tuple[GuestShell, paramiko.Transport]]:
    """Connect to the guest's sshd on a local port.

    Raises:
        GuestLost: the guest went away meanwhile, or it has another host key than the one it was given.
        WaitTimeout: no connection came about in time.
    """
    problem = ""

    def attempt() -> paramiko.Transport | None:
        nonlocal problem
        reason = machine.lost()
        if reason is not None:
            raise GuestLost(reason, machine.serial_tail())
        try:
            return _transport(port, keys, deadline)
        except paramiko.BadHostKeyException:
            raise GuestLost("it answers with a host key that is not the one it was given", machine.serial_tail()) from None
        except (paramiko.SSHException, OSError, EOFError) as error:
            problem = repr(error)
            return None

    transport = poll("an SSH connection to the guest", attempt, deadline, last_seen=lambda: f"{problem}\n{machine.serial_tail()}")
    try:
        yield GuestShell(transport, machine), transport
    finally:
        transport.close()
        transport.join(CONNECT_S)


class Unhurried(Packetizer):
    """Gives a key exchange no time of paramiko's own (15 s), the thread of which would outlast an attempt that has failed."""

    def start_handshake(self, timeout: float) -> None:
        """Nothing begins: whoever waits for the key exchange has a deadline."""


def _transport(port: int, keys: BootKeys, deadline: Deadline) -> paramiko.Transport:
    """A connection to whoever listens. One that is begun has all the time there is: a slow guest would be at each of several."""
    link = socket.create_connection(("127.0.0.1", port), timeout=CONNECT_S)
    try:
        transport = paramiko.Transport(link, packetizer_class=Unhurried)
    except BaseException:
        link.close()
        raise
    try:
        transport.banner_timeout = deadline.remaining_s
        transport.set_keepalive(0)
        transport.start_client(timeout=deadline.remaining_s)
        _require_host_key(transport, keys)
        transport.auth_timeout = deadline.remaining_s
        transport.auth_publickey(USER, keys.client_key)
    except BaseException:
        transport.close()
        raise
    return transport


def _require_host_key(transport: paramiko.Transport, keys: BootKeys) -> None:
    offered = transport.get_remote_server_key()
    if offered.asbytes() != keys.host_key.asbytes():
        raise paramiko.BadHostKeyException("127.0.0.1", offered, keys.host_key)
