"""The page of a run that has ended."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.scenario.listener import RunListener
from reports import rendered_report


def written_page(folder: Path, progress: RunListener, answer: dict[str, Any], line: Mapping[str, Any]) -> Path:
    """Write the page of a run, and give back where it is.

    Where that ends the command, which is interrupted or finds no room, the run is not lost with it: a note names its folder, and
    ``answer`` gets all of the ``line`` of JSON that it would have ended with.
    """
    try:
        with progress.step("writing the report"):
            return rendered_report(folder)
    except BaseException:
        answer.update(line)
        progress.note(f"the run is in {folder}, without its page: lab report {folder} writes it")
        raise
