"""Standard output and error: words that nobody gets change no verdict, and no write of them ends a command half-way."""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from lab.cli.answer import SURROUNDINGS, tell_error
from lab.errors import LabError
from lab.interruption import ignored_until_the_end


class KeptOutput(io.FileIO):
    """A file that takes whatever is written: ``error`` is the first that the system had, unless its reader went away."""

    error: OSError | None = None

    def write(self, data: Any, /) -> int:
        """Write what the system takes, when it does; what it refuses is lost."""
        try:
            while (written := super().write(data)) is None:  # others may have asked that nobody waits for this pipe or terminal
                select.select((), (self,), ())
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.error = self.error or error
            return memoryview(data).nbytes
        return written


SIZES = ("COLUMNS", "LINES")
"""Variables that name a terminal's size."""


def forget_no_size() -> None:
    """Pass over a terminal's size of nothing, as some surroundings export it: rich would believe it, and show not a word."""
    for name in SIZES:
        value = os.environ.get(name, "")
        if value.isdecimal() and not int(value):
            del os.environ[name]


STANDARD = (0, 1, 2)
"""Descriptors that every program has, unless its caller closed them."""


@contextlib.contextmanager
def kept_output() -> Iterator[None]:
    """Standard output and error for the program's whole life.

    A reader that goes away (``| head``) is no error, nor is an output that was closed (``>&-``). Where the answer cannot be
    written for another reason, the command still runs to its end; then that is told, and the status is the lab's. What is said
    on standard error is no answer: it is lost. Characters that the output's encoding lacks become ``?``.

    Raises:
        SystemExit: with that status.
    """
    _occupy_closed()
    given = [stream or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w") for stream in (sys.stdout, sys.stderr)]
    raw, told = (KeptOutput(stream.fileno(), "w", closefd=False) for stream in given)
    sys.stdout = _text_file(raw, given[0], "replace")
    sys.stderr = _text_file(told, given[1], "backslashreplace")
    try:
        yield
    except SystemExit:
        sys.stdout.flush()
        ignored_until_the_end()
        if raw.error is None:
            raise
        hint = SURROUNDINGS.get(raw.error.errno or 0)
        tell_error(LabError(f"standard output: {raw.error.strerror}", hint=hint))
        sys.exit(LabError.exit_status)


def _occupy_closed() -> None:
    """A file of a run gets no number of an output that was closed: what others say there would be written into it."""
    for descriptor in STANDARD:
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _text_file(raw: KeptOutput, given: TextIO, errors: str) -> TextIO:
    """A text file over the raw one that is otherwise like the one that was given."""
    return io.TextIOWrapper(io.BufferedWriter(raw), given.encoding, errors, line_buffering=bool(given.line_buffering))
