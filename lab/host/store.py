"""The content-addressed cache: folders that are either complete or not there.

An entry is built in ``<kind>/<key>.building-<random>`` and renamed to ``<kind>/<key>`` when it is done and on the disk, so
whatever has its final name is whole, also after a power loss. Builders of one key take turns by a lock file; whoever holds the
lock may remove what a killed builder left. Entries are never changed afterwards; ``stored(…, again=True)`` replaces one by
renaming. Whoever uses an entry does so by its name, and holds a shared lock on its folder (``held``) until it ends: whoever
would replace it waits for that.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lab.deadline import Deadline, poll
from lab.errors import BuildError, WaitTimeout
from lab.host.progress import Progress
from lab.process import check, finish

LOCK_POLL_S = 0.2
REMOVE_S = 120.0
# for all that the file system has not written yet, also of others
FLUSH_S = 600.0
KEY_LENGTH = 20


def content_key(*parts: object) -> str:
    """A short hash of values that JSON can hold; equal values give equal keys."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def files_key(root: Path, paths: tuple[Path, ...]) -> str:
    """A short hash over the names (relative to ``root``) and bytes of files."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(root)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:KEY_LENGTH]


def read_facts(file: Path) -> Any:
    """What an entry's file of JSON says.

    Raises:
        BuildError: it is not there or no JSON, as where a disk has lost what was on it.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError) as error:
        raise BuildError(f"{file} cannot be read: {error}", hint=f"remove {file.parent}: it is built again") from error


_HELD: dict[tuple[int, int], int] = {}
"""Descriptors of the folders that this process uses, by what they are on disk."""


def held(entry: Path) -> Path:
    """The entry, which stays what it is under its name as long as this process lives, or until it lets go."""
    with contextlib.suppress(OSError):  # a file system without locks, or nothing there: then nobody can be told
        while not _hold(entry):
            pass
    return entry


def _hold(entry: Path) -> bool:
    """Hold the folder that has the entry's name; False where another one has it by then."""
    with contextlib.ExitStack() as stack:
        descriptor = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
        stack.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_SH)  # it comes in a moment: nobody has the folder alone but to rename it
        identity = _identity(os.fstat(descriptor))
        if identity != _identity(entry.stat()):
            return False
        if _HELD.setdefault(identity, descriptor) == descriptor:
            stack.pop_all()
        return True


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def let_go(entry: Path) -> None:
    """Hold the entry no longer, for this process does not use it any more."""
    with contextlib.suppress(FileNotFoundError):
        descriptor = _HELD.pop(_identity(entry.stat()), None)
        if descriptor is not None:
            os.close(descriptor)


@contextlib.contextmanager
def _unused(entry: Path, progress: Progress, deadline: Deadline) -> Iterator[None]:
    """The entry, if there is one, is used by no other process, and by none that comes before the context ends.

    Raises:
        BuildError: one still used it when the time was over.
    """
    with contextlib.ExitStack() as stack:
        try:
            descriptor = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, descriptor)
            free = _free(entry, descriptor)
        except OSError:  # as in ``held``
            free = True
        if not free:
            progress.note(f"a run that is under way uses {entry}: waiting for its end")
            _wait_free(entry, descriptor, deadline)
        yield


def _free(entry: Path, descriptor: int) -> bool:
    """Whether nobody else uses the entry; then it is ours alone, as long as its descriptor is open."""
    let_go(entry)
    return _try_lock(descriptor)


def _wait_free(entry: Path, descriptor: int, deadline: Deadline) -> None:
    try:
        poll(f"the end of what uses {entry}", lambda: _free(entry, descriptor), deadline, interval_s=LOCK_POLL_S)
    except WaitTimeout as error:
        text = f"{entry} cannot be replaced: a run that is under way still uses it"
        raise BuildError(text, hint="wait for that run's end, or end it, then try again") from error


@contextlib.contextmanager
def turn(lock: Path, progress: Progress, deadline: Deadline) -> Iterator[None]:
    """Hold the lock file exclusively; another process's turn is waited for.

    Raises:
        WaitTimeout: the other one did not finish in time.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with open(lock, "a", encoding="ascii") as file:
        if not _try_lock(file.fileno()):
            progress.note(f"another run is building {lock.stem}: waiting for it")
            poll(f"the lock {lock}", lambda: _try_lock(file.fileno()), deadline, interval_s=LOCK_POLL_S)
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def stored(
    folder: Path,
    key: str,
    build: Callable[[Path], None],
    progress: Progress,
    deadline: Deadline,
    *,
    again: bool = False,
    lasting: bool = True,
) -> Path:
    """The folder of an entry, built now if it is not there.

    Args:
        folder: the kind's folder in the cache.
        key: the entry's content key.
        build: fills the empty folder it is given; whatever it raises leaves no entry (and no rubbish).
        progress: told when another process's build is waited for, or the end of those that use what is to be replaced.
        deadline: for waiting and for nothing else; ``build`` has its own.
        again: build although the entry is there, and replace it when no other process uses it.
        lasting: it has to be whole after a power loss, too; one that whoever reads it makes again need not be.

    Raises:
        WaitTimeout: another process did not finish its build in time.
        BuildError: what is to be replaced was used all the time, or the disk did not take what was built.
    """
    entry = folder / key
    if entry.is_dir() and not again:
        with contextlib.suppress(OSError):  # the cache may be one to read alone
            _remove_abandoned(folder)
        return held(entry)
    if again:
        let_go(entry)  # whoever has the turn may be waiting for us
    with turn(folder / f"{key}.lock", progress, deadline):
        if entry.is_dir() and not again:
            return held(entry)
        _remove_left(folder, key)
        _remove_abandoned(folder)
        building = Path(tempfile.mkdtemp(prefix=f"{key}.building-", dir=folder))
        building.chmod(0o755)
        try:
            build(building)
            if lasting:
                check(("sync", "--file-system", building), what=f"writing {entry} to the disk", deadline=Deadline.after(FLUSH_S))
            with _unused(entry, progress, deadline):
                if entry.is_dir():
                    entry.rename(Path(tempfile.mkdtemp(prefix=f"{key}.building-", dir=folder)) / "old")
                building.rename(entry)
        finally:
            _remove_left(folder, key)
    return held(entry)


def _remove_left(folder: Path, key: str) -> None:
    for left in folder.glob(f"{key}.building-*"):
        remove_tree(left)


def _remove_abandoned(folder: Path) -> None:
    """Remove what killed builders of other keys left: nobody may build those again, once their recipes have changed."""
    for left in folder.glob("*.building-*"):
        with open(folder / f"{left.name.partition('.')[0]}.lock", "a", encoding="ascii") as lock:
            if _try_lock(lock.fileno()):
                remove_tree(left)


def remove_tree(path: Path) -> None:
    """Remove a folder, also one whose files belong to this user's subordinate ids."""
    shutil.rmtree(path, ignore_errors=True)
    if path.exists() and os.geteuid() != 0:
        finish(("unshare", "--map-root-user", "--map-auto", "rm", "-rf", "--", path), deadline=Deadline.after(REMOVE_S))
