"""How long work tells what it is doing, without knowing who listens.

The command line implements ``Progress`` as a live display; ``LineProgress`` writes plain lines and ``SilentProgress``
nothing.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol, TextIO

from lab.visible import visible


class Progress(Protocol):
    """Listener of steps (which nest) and notes."""

    def step(self, name: str) -> AbstractContextManager[None]:
        """A piece of work that lasts as long as the context."""

    def note(self, text: str) -> None:
        """Something worth telling within the current step, such as a package drift or a cache hit."""


class SilentProgress:
    """Tells nobody."""

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:  # noqa: ARG002 - the interface's argument
        """Do nothing."""
        yield

    def note(self, text: str) -> None:
        """Do nothing."""


class LineProgress:
    """One plain line per begin, end and note: for logs and CI."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._depth = 0

    def _line(self, text: str) -> None:
        print("  " * self._depth + visible(text), file=self._stream or sys.stderr, flush=True)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Print the begin and, with its duration, the end; a failed step says so."""
        started = time.monotonic()
        self._line(f"{name} …")
        self._depth += 1
        try:
            yield
        except BaseException:
            self._depth -= 1
            self._line(f"{name}: failed after {time.monotonic() - started:.1f} s")
            raise
        self._depth -= 1
        self._line(f"{name}: {time.monotonic() - started:.1f} s")

    def note(self, text: str) -> None:
        """Print the text."""
        for line in text.splitlines():
            self._line(f"· {line}")
