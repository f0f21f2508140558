"""The command line. ``app`` has the commands, ``display`` shows progress, ``answer`` what a command leaves on the terminal.

``output`` is what that is written to, ``words`` are types of words that are given, ``page`` writes the page of a run.
"""

from __future__ import annotations

import gc

from lab.interruption import deadly

__all__ = ["main"]


def main() -> None:
    """The program ``lab``."""
    with deadly():
        gc.disable()  # there is no garbage in what is read, and looking for it is a tenth of the time
        from lab.cli import app  # noqa: PLC0415 - reading all of it takes a second

        gc.freeze()
        gc.enable()
    app.main()
