"""Packages of a host root that are unpacked and not installed: what they depend on is not what the root has.

Debian's suites move one by one: the headers of a library may be gone from the suite that the library itself comes from, and
another suite may have them for a library that this one's C library cannot load.
"""

from __future__ import annotations

from pathlib import Path

from lab.deadline import Deadline
from lab.errors import BuildError
from lab.host.debian import Order, bootstrapped, copy_out_hook
from lab.host.lock import Packages
from lab.host.progress import Progress
from lab.host.recipe import Debian, Recipe, Unpacked

FETCH_S = 300.0
FOLDER = "usr"
"""What is taken: all else of a package is for whoever installs it."""
VERSION = "lab-version"
# run by sh with an empty tree in $1, as mmdebstrap's hooks are
FETCH = f"""\
set -eu
APT_CONFIG="$MMDEBSTRAP_APT_CONFIG"
export APT_CONFIG
mkdir "$1/lab"
cd "$1/lab"
apt-get download -q "$WANTED"
dpkg-deb -x *.deb files
dpkg-deb -f *.deb Version > {VERSION}"""


def unpack(recipe: Recipe, tree: Path, progress: Progress, deadline: Deadline) -> Packages:
    """Unpack ``recipe.unpacked`` over the tree of a root.

    Args:
        recipe: whose packages these are.
        tree: where its ``usr`` is.
        progress: told each of them.
        deadline: for all.

    Returns:
        Their names and versions.

    Raises:
        BuildError: none of the suites has one in the version that is wanted, or it has nothing below ``/usr``.
        ConfigError: no mirror is known.
    """
    return tuple((wanted.package, _version(recipe, wanted, tree, progress, deadline)) for wanted in recipe.unpacked)


def _version(recipe: Recipe, wanted: Unpacked, tree: Path, progress: Progress, deadline: Deadline) -> str:
    debian = Debian(suite=wanted.suites[0], also=wanted.suites[1:], components=recipe.debian.components)
    name = f"{wanted.package}={wanted.version}"
    hooks = (
        f"WANTED='{name}'\n{FETCH}",
        copy_out_hook((f"/lab/files/{FOLDER}",), tree),
        copy_out_hook((f"/lab/{VERSION}",), tree.parent),
    )
    with progress.step(f"unpacking {name} of {' or '.join(wanted.suites)}"):
        log = tree.parent / f"{wanted.package}.log"
        try:
            bootstrapped(
                Order(f"{recipe.name}'s {name}", debian, hooks=hooks),
                log=log,
                progress=progress,
                deadline=deadline.narrowed(FETCH_S),
            )
        except BuildError as error:
            if f"for '{wanted.package}' was not found" in error.output_tail:
                error.hint = f"the recipe's [[unpacked]] is to name a version that one of {', '.join(wanted.suites)} has"
            raise
    told = tree.parent / VERSION
    version = told.read_text(encoding="utf-8").strip()
    told.unlink()
    return version
