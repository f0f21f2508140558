"""Where bundles are, and the logs in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from lab.bundle.schema import LOGS, RUN, VariantRecord

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-")


def bundles(folder: Path) -> tuple[Path, ...]:
    """All bundles in a folder, the oldest first: their names begin with their time. Those that somebody named come before them."""
    found = (path.parent for path in folder.glob(f"*/{RUN}"))
    return tuple(sorted(found, key=lambda bundle: (TIME.match(bundle.name) is not None, bundle.name)))


@dataclass(frozen=True, slots=True)
class Found:
    """Bundles at a place. ``closed``: folders that this user may not look into, which may be some."""

    bundles: tuple[Path, ...] = ()
    closed: tuple[Path, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of those that nobody has seen."""
        return tuple(f"left out: {folder} may not be looked into" for folder in self.closed)


def bundles_at(path: Path) -> Found:
    """The bundle that a path is, else all that are in the folder that it is."""
    if _is_closed(path):
        return Found(closed=(path,))
    if (path / RUN).exists():
        return Found((path,))
    try:
        inside = sorted(path.iterdir())
    except PermissionError:
        return Found(closed=(path,))
    except OSError:
        return Found()
    return Found(bundles(path), tuple(filter(_is_closed, inside)))


def _is_closed(folder: Path) -> bool:
    try:
        (folder / RUN).stat()
    except OSError as error:
        return isinstance(error, PermissionError)
    return False


def newest_bundle(folder: Path) -> Path | None:
    """The bundle made last, None when there is none."""
    found = bundles(folder)
    return found[-1] if found else None


def logs_folder(folder: Path, record: VariantRecord) -> Path | None:
    """The folder with a variant's logs; None where there is none, or none within the bundle."""
    logs = folder / (record.logs or f"{LOGS}/{record.variant}")
    try:
        return logs if logs.resolve().is_relative_to(folder.resolve()) and logs.is_dir() else None
    except (OSError, ValueError):
        return None
