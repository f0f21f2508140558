"""A watch on something that must show signs of life."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from lab.threads import beside


class Watch:
    """Tells a thread of its own apart from the watched work; ``sign`` is called at every sign of life."""

    def __init__(self, limit_s: float, on_silence: Callable[[], None]) -> None:
        self._limit_s = limit_s
        self._on_silence = on_silence
        self._event = threading.Condition()
        self._signs = 0
        self._over = False
        self.silent = False

    def sign(self) -> None:
        """The watched work has shown that it lives."""
        with self._event:
            self._signs += 1
            self._event.notify_all()

    def end(self) -> None:
        """Nothing more is to be watched."""
        with self._event:
            self._over = True
            self._event.notify_all()

    def run(self) -> None:
        """Wait for silence; call ``on_silence`` once when there is."""
        while True:
            with self._event:
                before = self._signs
                changed = self._event.wait_for(lambda: self._over or self._signs != before, self._limit_s)  # noqa: B023
                if self._over:
                    return
                self.silent = not changed
            if self.silent:
                self._on_silence()
                return


@contextlib.contextmanager
def watched(limit_s: float, on_silence: Callable[[], None]) -> Iterator[Watch]:
    """Watch for as long as the context lasts: after ``limit_s`` without a sign, ``on_silence`` is called in another thread."""
    watch = Watch(limit_s, on_silence)
    with beside(watch.run, "watch", watch.end):
        yield watch
