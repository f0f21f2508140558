"""Types of words on the command line."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

import typer

from lab.visible import is_utf8


def given_path(word: str) -> Path:
    """A path. What is empty, as an unset variable of a shell is, would be the folder that one happens to be in.

    Raises:
        typer.BadParameter: it is empty, or leads through a folder whose name no bundle could hold.
    """
    if not str(word):
        raise typer.BadParameter("an empty path; is a variable unset?")
    with contextlib.suppress(OSError):  # the folder that one is in may be gone
        if not is_utf8(whole := str(Path(word).absolute())):
            raise typer.BadParameter(f"{whole!r} is no text in UTF-8")
    return Path(word)


def finite(number: float | None) -> float | None:
    """A number that a figure can be more than, which ``inf`` and ``nan`` are not; ``nan`` is within all bounds of click's.

    Raises:
        typer.BadParameter: it is not finite.
    """
    if number is not None and not math.isfinite(number):
        raise typer.BadParameter(f"{number} is no finite number")
    return number
