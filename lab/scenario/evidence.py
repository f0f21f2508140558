"""What is kept of a run besides its rows: logs for every variant, and words for what ended a machine."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

from lab.bundle.outcome import Blame, Outcome
from lab.guest.console import UNREADABLE
from lab.qemu.command import Accel
from lab.scenario.environment import COMPONENT_LOG_FILE, HOST_LIBRARY_LOG_FILE

OF_THE_BOOT = ("serial.log", "qemu.log", "qmp.log", COMPONENT_LOG_FILE, HOST_LIBRARY_LOG_FILE)
"""What the machine and its processes on the host write, whichever variant is being served."""
BREAKPOINT = "int3: 0000 [#"
PASSED_ON = 128
SENT_FROM_OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals that a program does not raise against itself: somebody, or the kernel short of memory, ended it."""


def share_logs(boot: Path, others: Sequence[Path]) -> list[str]:
    """Give the logs of a boot to the other variants that it served: each variant's folder has all of its boot.

    What a variant's own checks wrote stays its own, though it lies beside them. Nothing may be given to a variant that is booted
    again: that boot's logs have the same names, and would be written into these.

    Returns what could not be given and why, which is no reason to end a run.
    """
    problems = []
    for other in others:
        for log in (boot / name for name in OF_THE_BOOT):
            target = other / log.name
            if log.is_file() and not target.exists():
                try:
                    _give(log, target)
                except OSError as error:
                    problems.append(f"{log.name} is not among the logs of {other.name}: {error}")
    return problems


def set_aside(boot: Path) -> None:
    """Give the logs of a boot other names (``serial-lost.log``): those of the next one will be where they were."""
    for log in (boot / name for name in OF_THE_BOOT):
        if log.exists():
            log.rename(log.with_stem(f"{log.stem}-lost"))


def _give(log: Path, target: Path) -> None:
    """A hard link, or a copy where the file system makes none."""
    try:
        os.link(log, target)
    except OSError:
        shutil.copyfile(log, target)


def crash_blame(reason: str, accel: str) -> Blame:
    """Whose fault it is that the guest is gone: the lab's surroundings when a signal from outside ended QEMU, else the product's.

    The lab's also where it could not listen to the guest any more, and where the emulator ran code that was no longer there.

    ``reason`` holds an exit status, negative for a signal, or above 128 where a program around QEMU passed it on.
    """
    match = re.search(r"exit status (-?\d+)", reason)
    status = int(match[1]) if match else 0
    number = -status if status < 0 else status - PASSED_ON
    of_the_lab = number in SENT_FROM_OUTSIDE or reason.startswith(UNREADABLE) or is_stale_code(reason, accel)
    return Blame.LAB if of_the_lab else Blame.PRODUCT


def is_stale_code(reason: str, accel: str) -> bool:
    """Whether the guest's kernel tripped over a breakpoint of its own that it had taken out again (``lab.qemu.command``).

    QEMU's emulator alone runs on what it translated of one: with KVM a breakpoint that a kernel dies of is there.
    """
    return accel == Accel.TCG and BREAKPOINT in reason


def crash_outcome(reason: str) -> Outcome:
    """Which side died: the guest when its kernel did, the host when QEMU ended by itself."""
    return Outcome.HOST_CRASH if reason.startswith("QEMU") else Outcome.GUEST_CRASH
