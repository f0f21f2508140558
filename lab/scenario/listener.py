"""Who wants to know how a run goes: ``lab.host.progress.Progress``, and the counting of cases besides."""

from __future__ import annotations

from typing import Protocol

from lab.host.progress import LineProgress, Progress, SilentProgress


class RunListener(Progress, Protocol):
    """Listener of steps, notes and counted cases."""

    def cases(self, done: int, expected: int, failed: int) -> None:
        """So many of the expected cases have a result, so many of them a bad one."""


class SilentListener(SilentProgress):
    """Tells nobody."""

    def cases(self, done: int, expected: int, failed: int) -> None:
        """Do nothing."""


class LineListener(LineProgress):
    """Plain lines: every hundredth case (of many every fiftieth part), every failure and the last."""

    EVERY = 100
    PARTS = 50

    def __init__(self) -> None:
        super().__init__()
        self._failed = 0

    def cases(self, done: int, expected: int, failed: int) -> None:
        """Print the count now and then."""
        if done % max(self.EVERY, expected // self.PARTS) == 0 or done == expected or failed != self._failed:
            self.note(f"{done} of {expected} cases, {failed} failed")
        self._failed = failed
