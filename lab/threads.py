"""Threads that work beside us for as long as a context lasts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from lab.interruption import postponed


@contextlib.contextmanager
def beside(work: Callable[[], object], name: str, end: Callable[[], object]) -> Iterator[threading.Thread]:
    """Run ``work`` in a thread; when the context ends, ``end`` tells it so, and it is waited for.

    No interruption comes between its start and that duty: a thread that nobody ends keeps the whole program from ending.
    """
    with contextlib.ExitStack() as stack:
        with postponed():
            thread = threading.Thread(target=work, name=name)
            thread.start()
            stack.callback(thread.join)
            stack.callback(end)
        yield thread
