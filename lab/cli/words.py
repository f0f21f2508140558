"""Types of words on the command line."""

from __future__ import annotations

from pathlib import Path

import typer


def given_path(word: str) -> Path:
    """A path. What is empty, as an unset variable of a shell is, would be the folder that one happens to be in.

    Raises:
        typer.BadParameter: it is empty.
    """
    if not str(word):
        raise typer.BadParameter("an empty path; is a variable unset?")
    return Path(word)
