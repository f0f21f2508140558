"""Where bundles are, and the logs in them."""

from __future__ import annotations

import re
from pathlib import Path

from lab.bundle.schema import LOGS, RUN, VariantRecord

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-")


def bundles(folder: Path) -> tuple[Path, ...]:
    """All bundles in a folder, the oldest first: their names begin with their time. Those that somebody named come before them."""
    found = (path.parent for path in folder.glob(f"*/{RUN}"))
    return tuple(sorted(found, key=lambda bundle: (TIME.match(bundle.name) is not None, bundle.name)))


def bundles_at(path: Path) -> tuple[Path, ...]:
    """The bundle that a path is, else all that are in the folder that it is."""
    return (path,) if (path / RUN).exists() else bundles(path)


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
