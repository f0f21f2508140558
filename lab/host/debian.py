"""Debian trees by mmdebstrap, as root or as an ordinary user: packages in, one tar file out, or what a hook takes from it.

An ordinary user's tree is made in a user namespace with the user's subordinate ids, which need not be able to enter the
user's home: it is made in a folder below /var/tmp, which is gone afterwards. The tar has the owners right in both cases.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from lab.deadline import Deadline, poll
from lab.errors import BuildError
from lab.host.apt import debian_mirror, proxy_options
from lab.host.progress import Progress
from lab.host.recipe import Debian, Recipe
from lab.host.rights import own_namespace
from lab.host.store import remove_tree
from lab.process import Child, spawn
from lab.temporary import temporary_folder

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
WORK = Path("/var/tmp")
WORK_PURPOSE = "tree"
CLEANUP_S = 30.0
WATCH_S = 0.5
MILESTONE = "I: "
TOLD = frozenset(("downloading", "extracting", "installing", "cleaning", "creating", "success"))
PREFERENCES = "lab-preferences"

# a hook comes before mmdebstrap's own cleaning, so what that would remove is left out by name
LEFT_OUT = (
    "./dev/*", "./run/*", "./tmp/*", "./var/log/*", "./var/cache/apt/*", "./var/lib/apt/lists/*", "./var/cache/ldconfig/aux-cache",
    "./etc/machine-id", "./var/lib/dbus/machine-id", "./etc/apt/apt.conf.d/00mmdebstrap", "./usr/sbin/policy-rc.d",
)  # fmt: skip
UNPACK = """\
tar --create --one-file-system --directory="$1" "${@:3}" . |
    tar --extract --directory="$2" --no-same-owner --no-same-permissions"""

# ggml 1.0 has it in a folder of its own
ONE_PLACE = """\
cd "$1"
for there in usr/libexec/*/ggml/1/test-backend-ops; do
    [ ! -e "$there" ] || ln -s 1/test-backend-ops "${there%1/test-backend-ops}test-backend-ops"
done"""

APT_OPTIONS = (
    # a mirror's index may be past its date, and reproducing an old lock may need just that
    'Acquire::Check-Valid-Until "false";',
    'APT::Install-Recommends "false";',
    'Acquire::Retries "3";',
    'Acquire::Languages "none";',
)


@dataclass(frozen=True, slots=True)
class Order:
    """What mmdebstrap is to make: a tree of ``packages`` and what they need, from the suites of ``debian``.

    Without packages the tree is empty, for a hook that fetches something by apt and installs nothing.
    ``exclude`` are path patterns that dpkg leaves out, ``hooks`` are customize hooks, whose ``$1`` is the tree, and ``name``
    is for messages.
    """

    name: str
    debian: Debian
    packages: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()

    @classmethod
    def of(cls, recipe: Recipe, hooks: tuple[str, ...] = ()) -> Order:
        """The recipe's packages; its kernel is not among them."""
        return cls(recipe.name, recipe.debian, recipe.packages, recipe.exclude, (ONE_PLACE, *hooks))


def bootstrapped(order: Order, *, tar: Path | None = None, log: Path, progress: Progress, deadline: Deadline) -> None:
    """Make the tree.

    Args:
        order: what is in it.
        tar: file to write it to; None where a hook has taken from it what is wanted.
        log: everything mmdebstrap and apt say.
        progress: told mmdebstrap's own milestones.
        deadline: for all of it.

    Raises:
        BuildError: with the end of the log.
        ConfigError: no mirror is known.
    """
    with temporary_folder(WORK_PURPOSE, place=WORK, remove=remove_tree) as work:
        work.chmod(0o755)
        preferences = work / PREFERENCES
        preferences.write_text(apt_preferences(order.debian), encoding="utf-8")
        argv = mmdebstrap_argv(order, debian_mirror(), preferences, tar, options=(*APT_OPTIONS, *proxy_options()))
        env = {**os.environ, "TMPDIR": os.fspath(work), "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        with spawn(argv, log=log, env=env, terminate_s=CLEANUP_S) as child:
            _watched(child, progress, deadline)
            if child.exit_status() != 0:
                shown = tuple(word.splitlines()[0] + " …" if "\n" in word else word for word in argv)
                raise BuildError(f"mmdebstrap failed for {order.name}", argv=shown, output=child.log_tail())


def mmdebstrap_argv(order: Order, mirror: str, preferences: Path, tar: Path | None, *, options: tuple[str, ...]) -> tuple[str, ...]:
    """The command line; pure but for asking whether we are root."""
    suites = (order.debian.suite, *order.debian.also)
    # apt takes the packages of file: from where they are, which is not in the tree: mmdebstrap refuses that
    source = re.sub("^file:", "copy:", mirror)
    components = " ".join(order.debian.components)
    return (
        *own_namespace(),
        "mmdebstrap",
        "--mode=root",
        f"--variant={'minbase' if order.packages else 'custom'}",
        f"--format={'null' if tar is None else 'tar'}",
        "--architectures=amd64",
        f"--keyring={KEYRING}",
        *(f"--aptopt={option}" for option in options),
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in order.exclude),
        f'--setup-hook=mkdir -p "$1/etc/apt/preferences.d" && cp {preferences} "$1/etc/apt/preferences.d/lab"',
        *(f"--customize-hook={hook}" for hook in order.hooks),
        *((f"--include={','.join(order.packages)}",) if order.packages else ()),
        order.debian.suite,
        "-" if tar is None else os.fspath(tar),
        *(f"deb {source} {suite} {components}" for suite in suites),
    )


def apt_preferences(debian: Debian) -> str:
    """The text of an apt preferences file for the pins."""
    return "\n".join(
        f"Package: {' '.join(pin.packages)}\nPin: release n={pin.suite}\nPin-Priority: {pin.priority}\n" for pin in debian.pin
    )


def _watched(child: Child, progress: Progress, deadline: Deadline) -> None:
    """Wait for the end and pass the milestones on."""
    with open(child.log, encoding="utf-8", errors="replace") as log:

        def ended() -> bool:
            over = child.exit_status() is not None
            for line in log:
                milestone = line.removeprefix(MILESTONE).strip()
                if line.startswith(MILESTONE) and milestone.split()[0] in TOLD:
                    progress.note(milestone)
            return over

        poll("mmdebstrap", ended, deadline, interval_s=WATCH_S, last_seen=child.log_tail)


def unpack_hook(folder: Path) -> str:
    """A customize hook that unpacks the tree as our own files into ``folder``: no owners, no devices, no set-user-id bits."""
    words = (os.fspath(folder), *(f"--exclude={path}" for path in LEFT_OUT))
    return f'{shlex.join(("bash", "-o", "pipefail", "-c", UNPACK, "unpack"))} "$1" {shlex.join(words)}'


def copy_out_hook(paths: tuple[str, ...], folder: Path) -> str:
    """A customize hook that copies paths of the tree, with what is below them, into ``folder``."""
    return shlex.join(("copy-out", *paths, os.fspath(folder)))
