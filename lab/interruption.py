"""Ctrl-C, SIGTERM and a terminal that goes away: one mechanism for all, for the command line and the pytest plugin.

The first signal raises ``KeyboardInterrupt`` in the main thread, so every context on the way out tears down what it holds.
Further ones are told off until that is done: a teardown that is itself interrupted would leave things behind. So would a signal
between the start of a thread or a process and the moment in which its end is somebody's duty: there it is ``postponed``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
OUTPUTS = (1, 2)
STOPPING = b"already stopping: taking down what was started\n"


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Handle the signals so for as long as the context lasts; one that is ignored (``nohup``) stays so. Main thread only."""
    stopping = False

    def on_signal(number: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        if number == signal.SIGHUP:
            silence_lost_outputs()
        if stopping:
            # past its buffer, which the main thread may be writing at this moment; there may be none, and none with a descriptor
            with contextlib.suppress(OSError, ValueError, AttributeError):
                os.write(sys.stderr.fileno(), STOPPING)
            return
        stopping = True
        raise KeyboardInterrupt(signal.Signals(number).name)

    handled = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN or number != signal.SIGHUP]
    with _handled(handled, on_signal):
        yield


@contextlib.contextmanager
def deadly() -> Iterator[None]:
    """Ctrl-C ends the program at once and without a word, as SIGTERM does, unless it is ignored.

    For the time in which nothing is begun: an exception would come out of a module that is being read, or what that makes of it.
    """
    before = signal.getsignal(signal.SIGINT)
    if before != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def ignored_until_the_end() -> None:
    """For a program whose answer is out: while its interpreter ends, which takes a while, a signal could only change its status."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def _handled(numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle these signals so; one that comes between two of them being set or given back leaves none as it should not be."""
    with contextlib.ExitStack() as stack:
        for number in numbers:
            stack.callback(signal.signal, number, signal.getsignal(number))
            signal.signal(number, handler)
        yield


@contextlib.contextmanager
def postponed() -> Iterator[None]:
    """A signal that comes meanwhile is handled when the context ends, whoever handles it.

    For the few lines that start something and register its end. Only the main thread has to be kept from signals; an ignored one
    stays ignored, for children inherit that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handled = [number for number in SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    try:
        with _handled(handled, lambda number, _: came.append(number)):
            yield
    finally:
        if came:
            signal.raise_signal(came[0])


def silence_lost_outputs() -> None:
    """What is still said on a terminal that hangs up goes nowhere, where it would be an error in the middle of a teardown."""
    for descriptor in OUTPUTS:
        if is_terminal(descriptor):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)


def is_terminal(descriptor: int) -> bool:
    """Whether it leads to a terminal, which may have hung up."""
    try:
        os.tcgetpgrp(descriptor)
    except OSError as error:
        return error.errno == errno.EIO
    return True
