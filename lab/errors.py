"""Every error the lab raises, drawn once.

::

    LabError
     ├─ ConfigError    the user's file or option is wrong            exit 2
     ├─ HostError      this host cannot do it                        exit 3
     ├─ BuildError     an image or native payload did not build      exit 2
     ├─ GuestError     the guest, its machine or a command in it     exit 2
     │   ├─ LaunchError        QEMU did not start
     │   ├─ GuestLost          the guest went away: QEMU ended, kernel panic, connection lost
     │   ├─ CommandFailed      a command in the guest ended with a status other than 0
     │   ├─ CopyFailed         a file did not come over, whatever is in it
     │   ├─ WaitTimeout        something awaited did not come in time
     │   └─ AbnormalShutdown   the guest did not go down the way it was asked to
     └─ RemotingError  the protocol between guest and host went wrong
         ├─ WireError          bytes that do not decode
         └─ RemoteFailed       the other side answered with a failure

Errors carry data; the text is derived from it. A ``hint`` says what the reader can do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class LabError(Exception):
    """Root of all errors of the lab. ``exit_status`` is what ``lab`` ends with when this reaches the top."""

    exit_status = 2
    hint: str | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  hint: {self.hint}"


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One thing wrong in a file: where (``key`` is a path such as ``guest.memory_mib``), what, and what to do.

    ``file`` is the one it stands in, where that is not the one that was asked for.
    """

    key: str
    message: str
    hint: str | None = None
    line: int | None = None
    file: str = ""

    def __str__(self) -> str:
        place = f"{self.key}: " if self.key else ""
        line = f"line {self.line}: " if self.line is not None else ""
        file = f"{self.file}: " if self.file else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{file}{line}{place}{self.message}{hint}"


class ConfigError(LabError):
    """The user's file, option or variable is wrong. Holds all problems of one file together."""

    def __init__(self, path: Path | str, problems: Sequence[ConfigProblem], *, hint: str | None = None) -> None:
        self.path = path
        self.problems = tuple(problems)
        lines = "".join(f"\n  {problem}" for problem in self.problems)
        super().__init__(f"{path}:{lines}" if len(self.problems) != 1 else f"{path}: {self.problems[0]}", hint=hint)


class HostError(LabError):
    """This host lacks a capability. ``capability`` is its name in ``lab doctor``, ``probed`` how that was found out."""

    exit_status = 3

    def __init__(self, capability: str, probed: str, *, hint: str | None = None) -> None:
        self.capability = capability
        self.probed = probed
        super().__init__(f"this host has no {capability}: {probed}", hint=hint)


class BuildError(LabError):
    """A host root, image or native payload did not build. Carries the command and the end of its output."""

    def __init__(self, what: str, *, argv: Sequence[str] = (), output: str = "", hint: str | None = None) -> None:
        self.what = what
        self.argv = tuple(argv)
        self.output_tail = output
        command = f"\n  command: {' '.join(self.argv)}" if self.argv else ""
        super().__init__(f"{what}{command}{indented_tail(output)}", hint=hint)


class GuestError(LabError):
    """Something went wrong with a guest or the machine it runs in."""


class LaunchError(GuestError):
    """QEMU did not start. Carries the command line, the exit status (None: still running) and the log's tail."""

    def __init__(self, argv: Sequence[str], exit_status: int | None, log_tail: str, *, hint: str | None = None) -> None:
        self.argv = tuple(argv)
        self.qemu_exit_status = exit_status
        self.log_tail = log_tail
        super().__init__(
            f"QEMU did not start (exit status {exit_status})\n  command: {' '.join(self.argv)}{indented_tail(log_tail)}",
            hint=hint,
        )


class GuestLost(GuestError):
    """The guest went away while it was needed. Carries the tail of its serial console."""

    def __init__(self, reason: str, serial_tail: str = "", *, hint: str | None = None) -> None:
        self.reason = reason
        self.serial_tail = serial_tail
        super().__init__(f"the guest was lost: {reason}{indented_tail(serial_tail)}", hint=hint)


class CommandFailed(GuestError):
    """A command in the guest ended with a status other than 0."""

    def __init__(self, command: str, exit_status: int, output: str) -> None:
        self.command = command
        self.command_status = exit_status
        self.output = output
        super().__init__(f"the guest command ended with status {exit_status}: {command}{indented_tail(output)}")


class CopyFailed(GuestError):
    """A file was not copied to or from the guest, which says nothing of what is in it."""


class WaitTimeout(GuestError):
    """Something awaited did not come. ``last_seen`` tells what was there instead."""

    def __init__(self, what: str, waited_s: float, last_seen: str = "", *, hint: str | None = None) -> None:
        self.what = what
        self.waited_s = waited_s
        self.last_seen = last_seen
        seen = indented_tail(last_seen, title="last seen")
        super().__init__(f"waited {waited_s:.1f} s in vain for {what}{seen}", hint=hint)


class AbnormalShutdown(GuestError):
    """The guest had to be ended the hard way, or something of it survived."""


class RemotingError(LabError):
    """The protocol between guest and host went wrong."""


class WireError(RemotingError):
    """Bytes that do not decode. ``offset`` is where, in bytes from the start of the message."""

    def __init__(self, what: str, offset: int) -> None:
        self.what = what
        self.offset = offset
        super().__init__(f"{what} at byte {offset}")


class RemoteFailed(RemotingError):
    """The other side answered a command with a failure."""

    def __init__(self, kind: str, command: str, text: str) -> None:
        self.kind = kind
        self.command = command
        self.text = text
        super().__init__(f"{command} failed ({kind}): {text}")


def indented_tail(text: str, *, title: str = "output", lines: int = 25) -> str:
    """The last ``lines`` lines of ``text``, indented under a title; empty for empty text."""
    tail = text.rstrip().splitlines()[-lines:]
    if not tail:
        return ""
    return f"\n  {title}:" + "".join(f"\n    {line}" for line in tail)
