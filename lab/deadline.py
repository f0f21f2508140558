"""Deadlines, handed down, and the one place that waits by looking again.

A ``Deadline`` is made once at the top ("this scenario has 300 s") and passed to everything below, which may narrow it
but never widens it. ``poll`` is the only loop in the lab that sleeps, but for programs in the guest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from lab.errors import WaitTimeout

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time (of ``time.monotonic``) by which something must have happened."""

    started: float
    ends: float

    @classmethod
    def after(cls, timeout_s: float) -> Deadline:
        """A deadline ``timeout_s`` seconds from now."""
        now = time.monotonic()
        return cls(now, now + timeout_s)

    def narrowed(self, timeout_s: float) -> Deadline:
        """The earlier of this deadline and one ``timeout_s`` seconds from now."""
        now = time.monotonic()
        return Deadline(now, min(self.ends, now + timeout_s))

    @property
    def remaining_s(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.ends - time.monotonic())

    @property
    def elapsed_s(self) -> float:
        """Seconds since it was made."""
        return time.monotonic() - self.started

    @property
    def expired(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self.ends

    def require(self, what: str, last_seen: str = "") -> None:
        """Raise ``WaitTimeout`` for ``what`` if the time is over."""
        if self.expired:
            raise WaitTimeout(what, self.elapsed_s, last_seen)


def poll(
    what: str,
    predicate: Callable[[], T | None],
    deadline: Deadline,
    *,
    interval_s: float = 0.05,
    last_seen: Callable[[], str] = lambda: "",
) -> T:
    """Call ``predicate`` until it returns something true, and return that.

    After the deadline it is asked once more, so that a slow machine is not blamed for our own sleeping.

    Raises:
        WaitTimeout: with ``last_seen()``, what was there instead.
    """
    while True:
        expired = deadline.expired
        answer = predicate()
        if answer:
            return answer
        if expired:
            raise WaitTimeout(what, deadline.elapsed_s, last_seen())
        time.sleep(min(interval_s, max(deadline.remaining_s, 0.001)))
