"""A guest's system: Debian's packages as one root image, without a kernel, which ``lab.image.kernel`` has.

It is made of a recipe's packages alone, so guests that differ in nothing but their kernel share it, and the minute and more
that it takes is spent once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.deadline import Deadline
from lab.host.apt import ensure_packages
from lab.host.debian import Order, bootstrapped, copy_out_hook
from lab.host.lock import Packages, dpkg_packages
from lab.host.progress import Progress
from lab.host.recipe import Recipe
from lab.host.rights import require, user_rights
from lab.host.root import Bind, host_root
from lab.host.store import content_key, read_facts, stored
from lab.process import check

LAYOUT = 1  # raise it when what this module makes of a recipe changes
SYSTEMS = "guest-systems"
BUILD_S = 900.0
EROFS_S = 300.0
FACTS = "facts.json"
ROOT = "root.erofs"
BUSYBOX = "busybox"
STATUS = "status"


@dataclass(frozen=True, slots=True)
class GuestSystem:
    """A system of the cache, shared read-only."""

    path: Path
    key: str
    packages: Packages

    @property
    def rootfs(self) -> Path:
        """The root file system, an EROFS image."""
        return self.path / ROOT

    @property
    def busybox(self) -> Path:
        """Its static busybox."""
        return self.path / BUSYBOX


def guest_system(recipe: Recipe, progress: Progress, deadline: Deadline, *, refresh: bool) -> GuestSystem:
    """The system of a guest's recipe: from the cache, else built.

    Raises:
        HostError, BuildError: as ``host_root``, whose tools build it.
    """

    def build(folder: Path) -> None:
        ensure_packages(progress, deadline)
        require(user_rights())
        with progress.step(f"building the system of {recipe.name}"):
            _build(recipe, folder, progress, deadline)

    return _loaded(stored(paths.cache() / SYSTEMS, _key(recipe), build, progress, deadline, again=refresh))


def cached_guest_system(recipe: Recipe) -> GuestSystem | None:
    """The system if the cache has it; nothing is built."""
    entry = paths.cache() / SYSTEMS / _key(recipe)
    return _loaded(entry) if entry.is_dir() else None


def _key(recipe: Recipe) -> str:
    return content_key(LAYOUT, recipe.model_dump(mode="json", include={"debian", "packages", "exclude"}))


def _loaded(entry: Path) -> GuestSystem:
    facts = read_facts(entry / FACTS)
    packages = tuple((name, version) for name, version in facts["packages"])
    return GuestSystem(entry, content_key(entry.name, packages), packages)


def _build(recipe: Recipe, folder: Path, progress: Progress, deadline: Deadline) -> None:
    tar, log, status = folder / "root.tar", folder / "build.log", folder / STATUS
    order = Order.of(recipe, hooks=(copy_out_hook(("/usr/bin/busybox", "/var/lib/dpkg/status"), folder),))
    bootstrapped(order, tar=tar, log=log, progress=progress, deadline=deadline.narrowed(BUILD_S))
    root = host_root(progress, deadline)  # not before it is needed: it may be under way beside us
    with progress.step("making its root image"):
        argv = root.enter(("mkfs.erofs", "--quiet", "--tar=f", folder / ROOT, tar), binds=(Bind(folder, writable=True),))
        check(argv, what="mkfs.erofs", deadline=deadline.narrowed(EROFS_S), log=log)
    tar.unlink()
    facts = {"packages": dpkg_packages(status.read_text(encoding="utf-8"))}
    (folder / FACTS).write_text(json.dumps(facts), encoding="utf-8")
    status.unlink()
