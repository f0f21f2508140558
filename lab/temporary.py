"""Temporary folders and files that no end of the lab leaves behind, SIGKILL and power loss included.

A file has no name at all, so nothing is left of it. A folder goes with its context; what a killed lab could not remove is gone
at the next folder that any lab makes, because a living lab holds a lock on each of its own and a dead one holds none. They lie in
the cache, not in the system's temporary folder, where nobody would look for them again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from lab import paths

KIND = "temporary"


@contextlib.contextmanager
def nameless_file() -> Iterator[Path]:
    """A path that leads to a file without a name, in this process and for as long as the context lasts."""
    with tempfile.TemporaryFile() as file:
        yield Path(f"/proc/self/fd/{file.fileno()}")


@contextlib.contextmanager
def temporary_folder(purpose: str, *, place: Path | None = None, remove: Callable[[Path], None] | None = None) -> Iterator[Path]:
    """A folder that only we can read and that goes with the context.

    Args:
        purpose: a word for whoever finds it.
        place: a folder that is not the lab's own, for what must be reachable by others; in the cache if None.
        remove: how such a folder is removed; as usual if None.
    """
    home = paths.cache() / KIND
    home.mkdir(mode=0o700, exist_ok=True)
    prefix = (
        f"virtgpu-lab-{hashlib.sha256(os.fsencode(home)).hexdigest()[:12]}-" if place else ""
    )  # of this cache, whose lock it is
    gone = remove or (lambda folder: shutil.rmtree(folder, ignore_errors=True))
    for left in (place or home).glob(f"{prefix}*"):
        _remove_abandoned(left, home, gone)
    with contextlib.ExitStack() as stack:
        with _held(home):  # nobody looks for abandoned folders between the making and the lock
            folder = Path(tempfile.mkdtemp(prefix=f"{prefix}{purpose}-", dir=place or home))
            stack.enter_context(_held(folder))
            stack.callback(gone, folder)
        yield folder


def _remove_abandoned(folder: Path, home: Path, gone: Callable[[Path], None]) -> None:
    """Remove a folder of this user that no living lab holds."""
    with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
        if folder.lstat().st_uid != os.geteuid():
            return
        with _held(home):
            stack.enter_context(_held(folder, wait=False))
        gone(folder)


@contextlib.contextmanager
def _held(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold the lock of a folder. Raises ``OSError`` when another one has it, unless it is waited for, or when it is no folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(descriptor)
