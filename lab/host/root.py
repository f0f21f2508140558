"""Host roots: a folder with the QEMU, virglrenderer, Mesa, ggml and compilers of a chosen Debian, and how to enter it.

The distribution of the machine is mostly too old (Venus and blobs need QEMU 9.2 with virglrenderer 1.0), so QEMU runs from a
tree of our own, entered with bwrap: the tree's /usr and /etc read-only, an empty /tmp, /run and /var, the host's /dev, /sys
and network, a GPU driver that must be the host's own (``driver``), and exactly those paths bound that the caller names.
Works alike as root and as an ordinary user.
Everything that runs inside shares a process namespace whose first process is bwrap's: when it ends, all of it ends.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.deadline import Deadline
from lab.errors import ConfigError, ConfigProblem
from lab.host.apt import ensure_packages
from lab.host.debian import Order, bootstrapped, unpack_hook
from lab.host.driver import INSIDE as DRIVER_FOLDER
from lab.host.driver import gpu_driver
from lab.host.lock import Drift, Packages, dpkg_packages, drift, read_lock
from lab.host.progress import Progress
from lab.host.recipe import RecipeFile, named_recipe
from lab.host.rights import MACHINE, NAMESPACES, require, sandbox, user_rights
from lab.host.store import content_key, held, read_facts, stored
from lab.host.unpacked import unpack

RECIPE = "host-root"
KIND = "host-roots"
BUILD_S = 1200.0
LAYOUT = 2  # raise it when what this module makes of a recipe changes
FACTS = "facts.json"
TREE = "root"
LIBRARY_PATH = "LD_LIBRARY_PATH"
LIBRARIES = Path("/run/host-libraries")
"""Libraries of the machine that the root has not: its loader looks there first."""
TREES = ("usr", "etc", "bin", "sbin", "lib", "lib64")
"""What the root has itself at the top; nothing of the machine can be bound within."""
SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Bind:
    """A path of the host that is seen inside, under the same name unless ``inside`` says another."""

    path: Path
    writable: bool = False
    inside: Path | None = None


@dataclass(frozen=True, slots=True)
class HostRoot:
    """A complete host root. ``key`` changes with every package version in it."""

    path: Path
    key: str
    packages: Packages
    drift: tuple[Drift, ...]

    def version(self, package: str) -> str | None:
        """The installed version of a package."""
        return dict(self.packages).get(package)

    def enter(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        binds: Sequence[Bind] = (),
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> tuple[str, ...]:
        """The command line that runs ``argv`` inside.

        ``env`` is the whole environment but for PATH, which is the root's own unless given. It is set by bwrap for the
        program alone, so that an ``LD_PRELOAD`` in it does not reach bwrap.

        Raises:
            ConfigError: a path cannot be seen inside by its name.
        """
        self._require_places(binds)
        driver = gpu_driver()
        variables = {"PATH": SEARCH, "LC_ALL": "C.UTF-8", **(env or {})}
        led = [os.fspath(LIBRARIES)] if any(bind.inside and bind.inside.parent == LIBRARIES for bind in binds) else []
        led += [os.fspath(DRIVER_FOLDER)] if driver.files else []
        if led:
            variables[LIBRARY_PATH] = _led(variables.get(LIBRARY_PATH, ""), *led)
        return (
            "bwrap", *NAMESPACES,
            *self._tree_words(),
            *MACHINE, "--dir", "/run/user", "--dir", "/var/tmp",
            *_bind_words(Bind(path, inside=DRIVER_FOLDER / name) for name, path in driver.files),
            *_bind_words(binds),
            "--clearenv", *(word for name, value in sorted(variables.items()) for word in ("--setenv", name, value)),
            *(() if cwd is None else ("--chdir", os.fspath(cwd))),
            "--", *(os.fspath(word) for word in argv),
        )  # fmt: skip

    def _require_places(self, binds: Iterable[Bind]) -> None:
        """Within the root's own trees there are those places alone that it has: nobody makes another one there."""
        for bind in binds:
            inside = bind.inside or bind.path
            if inside.parts[1:2] and (top := inside.parts[1]) in TREES and not (self.path / inside.relative_to("/")).exists():
                text = f"lies in /{top}, which the host root has of its own: it cannot be seen in there"
                raise ConfigError(
                    bind.path, [ConfigProblem("", text, "take a folder elsewhere, such as below /home, /opt or /srv")]
                )

    def _tree_words(self) -> tuple[str, ...]:
        """The tree on an empty root, so that mount points of binds can be made in it."""
        words: list[str] = []
        for name in TREES:
            if name in {"usr", "etc"}:
                words += ["--ro-bind", os.fspath(self.path / name), f"/{name}"]
            else:
                words += ["--symlink", f"usr/{name}", f"/{name}"]
        return tuple(words)


def led_from(own: str) -> frozenset[str]:
    """What ``enter`` may make of a LD_LIBRARY_PATH, by what is bound: the same, or that with folders of its own behind it."""
    libraries, driver = os.fspath(LIBRARIES), os.fspath(DRIVER_FOLDER)
    return frozenset({own, *(_led(own, *folders) for folders in ((libraries,), (driver,), (libraries, driver)))})


def _led(own: str, *folders: str) -> str:
    return ":".join(filter(None, (own, *folders)))


def _bind_words(binds: Iterable[Bind]) -> tuple[str, ...]:
    """Outer folders first: bound later, one would hide those within."""
    words: list[str] = []
    for bind in sorted(binds, key=lambda bind: len((bind.inside or bind.path).parts)):
        option = "--bind" if bind.writable else "--ro-bind"
        words += [option, os.fspath(bind.path), os.fspath(bind.inside or bind.path)]
    return tuple(words)


def host_root(progress: Progress, deadline: Deadline, *, refresh: bool = False) -> HostRoot:
    """The host root of ``images/host-root.toml``: from the cache, else built (with missing Debian packages installed).

    Args:
        progress: told every step, and a drift from the lock.
        deadline: for all of it.
        refresh: build it anew from what the mirror has today.

    Raises:
        HostError: Debian packages are missing and may not be installed, or this user may not make or enter a root.
        ConfigError: the recipe is wrong or no mirror is known.
        BuildError: mmdebstrap failed.
    """
    file = named_recipe(RECIPE, "host-root")
    key = _key(file)
    ensure_packages(progress, deadline, to_build=refresh or not (paths.cache() / KIND / key).is_dir())
    require(sandbox())

    def build(folder: Path) -> None:
        require(user_rights())
        with progress.step("building the host root"):
            _build(file, folder, progress, deadline.narrowed(BUILD_S))

    entry = stored(paths.cache() / KIND, key, build, progress, deadline, again=refresh)
    root = _loaded(entry, file)
    tell_drift(file, root.drift, progress)
    return root


def cached_host_root() -> HostRoot | None:
    """The host root if the cache has it; nothing is built or installed."""
    file = named_recipe(RECIPE, "host-root")
    entry = paths.cache() / KIND / _key(file)
    return _loaded(held(entry), file) if entry.is_dir() else None


def _key(file: RecipeFile) -> str:
    return content_key(LAYOUT, file.recipe.model_dump(mode="json"))


def _build(file: RecipeFile, folder: Path, progress: Progress, deadline: Deadline) -> None:
    tree = folder / TREE
    tree.mkdir()
    order = Order.of(file.recipe, hooks=(unpack_hook(tree),))
    bootstrapped(order, log=folder / "build.log", progress=progress, deadline=deadline)
    packages = dpkg_packages((tree / "var/lib/dpkg/status").read_text(encoding="utf-8"))
    unpacked = unpack(file.recipe, tree, progress, deadline)
    (folder / FACTS).write_text(json.dumps({"packages": sorted((*packages, *unpacked))}), encoding="utf-8")


def _loaded(entry: Path, file: RecipeFile) -> HostRoot:
    facts = read_facts(entry / FACTS)
    packages = tuple((name, version) for name, version in facts["packages"])
    return HostRoot(entry / TREE, content_key(entry.name, packages), packages, drift(read_lock(file.lock), packages))


def tell_drift(file: RecipeFile, found: tuple[Drift, ...], progress: Progress) -> None:
    """Note what differs from the lock, package by package."""
    if found:
        names = "\n".join(f"  {item}" for item in found)
        progress.note(f"warning: {len(found)} packages of {file.recipe.name} are not as {file.lock.name} has them\n{names}")
