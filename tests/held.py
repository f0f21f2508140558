"""Whether a process uses an entry of the cache, as another one sees it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def is_held(entry: Path) -> bool:
    """Whether its folder cannot be had alone."""
    descriptor = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
