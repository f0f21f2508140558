"""Ctrl-C and SIGTERM: one mechanism for both, for the command line and the pytest plugin.

The first signal raises ``KeyboardInterrupt`` in the main thread, so every context on the way out tears down what it holds.
Further ones are told off until that is done: a teardown that is itself interrupted would leave things behind.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Handle both signals so for as long as the context lasts. Main thread only."""
    stopping = False

    def on_signal(number: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        if stopping:
            sys.stderr.write("already stopping: taking down what was started\n")
            return
        stopping = True
        raise KeyboardInterrupt(signal.Signals(number).name)

    before = {number: signal.signal(number, on_signal) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
