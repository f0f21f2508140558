"""Several boots at the same time (``lab run -j``): threads that each have a guest of their own, and how all of them are stopped."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from lab.errors import GuestError, GuestLost
from lab.process import Children
from lab.scenario.platform import Guest

T = TypeVar("T")
MOST_JOBS = 64


@dataclass(slots=True)
class RunningGuests:
    """The guests of this moment, and all other children of the threads that boot them.

    An interruption reaches the main thread alone: what the others wait for is their guest, one that boots as yet, or a program of
    the host's.
    """

    stopping: bool = False
    children: Children = field(default_factory=Children)
    _guests: list[Guest] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def holding(self, guest: Guest) -> Iterator[None]:
        """The guest is one of them for as long as the context lasts. Raises ``GuestLost`` when all is to end."""
        with self._lock:
            if self.stopping:
                raise GuestLost("the run was interrupted while it booted")
            self._guests.append(guest)
        try:
            yield
        finally:
            with self._lock:
                self._guests.remove(guest)

    def stop(self) -> None:
        """End all of them; whoever uses one is told that it is lost, whoever waits for a child sees its end."""
        with self._lock:
            self.stopping = True
            for guest in self._guests:
                with contextlib.suppress(GuestError, OSError):
                    guest.kill(guest.qemu_pid)
        self.children.end()


def at_once(groups: Iterable[T], jobs: int, work: Callable[[T], None], guests: RunningGuests) -> None:
    """Work on all groups, ``jobs`` at a time. Raises what one of them raises, when all have ended.

    The groups come one after the other in this thread, while work on those before them is under way.
    """

    def begin(group: T) -> None:
        with guests.children.started_here():
            work(group)

    running: list[Future[None]] = []
    with ThreadPoolExecutor(jobs, thread_name_prefix="boot") as pool:
        try:
            running.extend(pool.submit(begin, group) for group in groups)
            for one in running:
                one.result()
        except BaseException:
            for one in running:
                one.cancel()
            guests.stop()
            raise
