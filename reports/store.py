"""Where bundles are."""

from __future__ import annotations

from pathlib import Path

from lab.bundle.schema import RUN


def bundles(folder: Path) -> tuple[Path, ...]:
    """All bundles in a folder, the oldest first: their names begin with their time."""
    return tuple(sorted(path.parent for path in folder.glob(f"*/{RUN}")))


def newest_bundle(folder: Path) -> Path | None:
    """The bundle made last, None when there is none."""
    found = bundles(folder)
    return found[-1] if found else None
