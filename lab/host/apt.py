"""The host's own apt: where its Debian mirror is, and installing the few packages the lab needs.

No mirror's name stands in this project. It is taken from the host's apt configuration (one-line and deb822 files), or
from ``VIRTGPU_LAB_MIRROR``; a host with neither, such as an Ubuntu without Debian sources, is told so. Vendors' archives may have
Debian's suites and components: where apt has an archive's lists, it is asked whose they are.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from lab.deadline import Deadline
from lab.errors import ConfigError, ConfigProblem, HostError, LabError
from lab.host.progress import Progress
from lab.process import check, finish

MIRROR_VARIABLE = "VIRTGPU_LAB_MIRROR"
APT_FOLDER = Path("/etc/apt")
DEBIAN_SUITES = frozenset(
    ("stable", "testing", "unstable", "sid", "oldstable", "bullseye", "bookworm", "trixie", "forky", "duke"),
)
BESIDE = re.compile(r"-(updates|proposed-updates|backports|backports-sloppy)$")
"""What a mirror has beside a release; security updates and debug symbols lie elsewhere."""
OF_DEBIAN = frozenset((("Debian", "Debian"), ("Debian Backports", "Debian Backports")))
"""Origin and label of what a mirror has."""
ARCHIVES = ("apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(REPO_URI)", "Created-By: Packages")
URI = re.compile(r"[a-z][a-z+]*:/")
FETCHABLE = ("http://", "https://", "file:")
INSTALL_S = 600.0
PROBE_S = 20.0


@dataclass(frozen=True, slots=True)
class HostPackage:
    """A Debian package the lab needs on the host, and the file by which its presence is seen."""

    name: str
    witness: str
    ordinary_user_only: bool = False
    to_build_only: bool = False

    def installed(self) -> bool:
        """Whether its witness (a program in PATH or an absolute path) is there."""
        if self.witness.startswith("/"):
            return Path(self.witness).exists()
        return shutil.which(self.witness, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin") is not None


NEEDED = (
    HostPackage("mmdebstrap", "mmdebstrap", to_build_only=True),
    HostPackage("bubblewrap", "bwrap"),
    HostPackage("debian-archive-keyring", "/usr/share/keyrings/debian-archive-keyring.gpg", to_build_only=True),
    HostPackage("util-linux", "setpriv"),
    HostPackage("uidmap", "newuidmap", ordinary_user_only=True),
)


def missing_packages(*, for_users: bool = False, to_build: bool = True) -> tuple[str, ...]:
    """Names of the needed packages that are not installed.

    Args:
        for_users: with those that ordinary users need, even if we are none.
        to_build: with those that roots and images are built with, and that nothing needs where the cache has both.
    """
    users = for_users or os.geteuid() != 0
    needed = (each for each in NEEDED if (users or not each.ordinary_user_only) and (to_build or not each.to_build_only))
    return tuple(package.name for package in needed if not package.installed())


def ensure_packages(progress: Progress, deadline: Deadline, *, for_users: bool = False, to_build: bool = True) -> None:
    """Install what is missing, as root or with passwordless sudo.

    Args:
        progress: told what is installed.
        deadline: for all of it.
        for_users: with what ordinary users need, even if we are none.
        to_build: with what roots and images are built with.

    Raises:
        HostError: packages are missing and we may not install them; the hint is the one command to run.
        BuildError: apt failed.
    """
    missing = missing_packages(for_users=for_users, to_build=to_build)
    if not missing:
        return
    command = f"apt-get install --no-install-recommends {' '.join(missing)}"
    prefix = _root_prefix()
    if prefix is None or shutil.which("apt-get") is None:
        raise HostError("packages", f"not installed: {', '.join(missing)}", hint=f"run as root: {command}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with progress.step(f"installing Debian packages: {' '.join(missing)}"):
        limit = deadline.narrowed(INSTALL_S)
        finish((*prefix, "apt-get", "update", "-q"), deadline=limit, env=env)
        install = (*prefix, "apt-get", "install", "-y", "-q", "--no-install-recommends", *missing)
        check(install, what="installing Debian packages", deadline=limit, env=env)
    left = missing_packages(for_users=for_users, to_build=to_build)
    if left:
        raise HostError("packages", f"still not there after installing: {', '.join(left)}", hint=f"run as root: {command}")


def _root_prefix() -> tuple[str, ...] | None:
    if os.geteuid() == 0:
        return ()
    if shutil.which("sudo") and finish(("sudo", "-n", "true"), deadline=Deadline.after(PROBE_S)).exit_status == 0:
        return ("sudo", "-n")
    return None


def debian_mirror(apt_folder: Path = APT_FOLDER, *, archives: Callable[[], str] | None = None) -> str:
    """The URI of a Debian mirror: one that apt knows as Debian's, else one whose path names Debian, else any that it may be.

    Args:
        apt_folder: apt's configuration.
        archives: answers as ``listed_archives``, which is asked where the folder is apt's own.

    Raises:
        ConfigError: neither the variable nor apt's configuration names one, or what the variable has is none.
    """
    override = os.environ.get(MIRROR_VARIABLE)
    if override and not URI.match(override):
        hint = f"set {MIRROR_VARIABLE} to that of one, as http://mirror.example/debian or file:/srv/debian"
        raise ConfigError(MIRROR_VARIABLE, [ConfigProblem("", f"{override!r} is no URI of a mirror", hint)])
    if override:
        return override.rstrip("/")
    ask = archives or (listed_archives if apt_folder == APT_FOLDER else str)
    candidates = dict(_candidates(apt_folder))
    known = _debians(ask()) if candidates else {}

    def unlikely(source: str) -> tuple[bool, bool, bool]:
        path = urlsplit(candidates[source]).path.split("/")
        return not known.get(source, False), path[-1] != "debian", "debian" not in path

    mirrors = [source for source in candidates if known.get(source, True)]
    if mirrors:
        return candidates[min(mirrors, key=unlikely)]
    raise ConfigError(
        apt_folder,
        [ConfigProblem("", "no Debian mirror in apt's sources", f"set {MIRROR_VARIABLE} to the URI of one, ending in /debian")],
    )


def _candidates(apt_folder: Path) -> Iterator[tuple[str, str]]:
    """The sources with a Debian suite: as they stand there, and the URI they are fetched from."""
    for source, suite, components in _sources(apt_folder):
        if BESIDE.sub("", suite) in DEBIAN_SUITES and "main" in components:
            found = _fetchable(source)
            if found:
                yield source.rstrip("/"), found


def listed_archives() -> str:
    """What apt answers to ``ARCHIVES``: a line for each archive whose lists it has; nothing where it has no answer."""
    try:
        done = finish(ARCHIVES, deadline=Deadline.after(PROBE_S))
    except LabError:
        return ""
    return done.output if done.exit_status == 0 else ""


def _debians(listed: str) -> dict[str, bool]:
    """For the archives in apt's answer, whether anything in them is of a Debian mirror."""
    known: dict[str, bool] = {}
    for line in listed.splitlines():
        origin, _, rest = line.partition("|")
        label, _, uri = rest.partition("|")
        source = uri.rstrip("/")
        known[source] = known.get(source, False) or (origin, label) in OF_DEBIAN
    return known


def _fetchable(uri: str) -> str | None:
    if uri.startswith("mirror+file:"):
        listed = _text(Path(uri.removeprefix("mirror+file:").replace("//", "/", 1))).split()
        return next((line.rstrip("/") for line in listed if line.startswith(FETCHABLE)), None)
    return uri.rstrip("/") if uri.startswith(FETCHABLE) else None


def _sources(apt_folder: Path) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Every (URI, suite, components) of apt's source files; unreadable files are passed over."""
    lists = [apt_folder / "sources.list", *sorted((apt_folder / "sources.list.d").glob("*.list"))]
    for path in lists:
        yield from one_line_sources(_text(path))
    for path in sorted((apt_folder / "sources.list.d").glob("*.sources")):
        yield from deb822_sources(_text(path))


def _text(path: Path) -> str:
    """What a file says; nothing where it is not there, or not this user's to read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def one_line_sources(text: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Parse ``deb [options] URI SUITE COMPONENT…`` lines."""
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if not words or words[0] != "deb":
            continue
        words = words[1:]
        if words and words[0].startswith("["):
            while words and not words.pop(0).endswith("]"):
                pass
        if len(words) >= 3:  # noqa: PLR2004 - URI, suite and at least one component
            yield words[0], words[1], tuple(words[2:])


def deb822_sources(text: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Parse ``Key: value`` stanzas; a disabled one is passed over."""
    for stanza in text.split("\n\n"):
        fields: dict[str, str] = {}
        key = ""
        for line in stanza.splitlines():
            if line.startswith("#"):
                continue
            if line[:1].isspace() and key:
                fields[key] += " " + line.strip()
            elif ":" in line:
                key, _, value = line.partition(":")
                key = key.strip().lower()
                fields[key] = value.strip()
        if fields.get("enabled", "yes").lower() in ("no", "false", "0") or "deb" not in fields.get("types", "deb").split():
            continue
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                yield uri, suite, tuple(fields.get("components", "").split())


def proxy_options() -> tuple[str, ...]:
    """Apt's own proxy settings, as ``Name "value";`` words for another apt."""
    if shutil.which("apt-config") is None:
        return ()
    dump = finish(("apt-config", "dump", "--format", '%F "%v";%n', "Acquire"), deadline=Deadline.after(PROBE_S)).output
    return tuple(_proxies(dump.splitlines()))


def _proxies(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        name = line.split(" ")[0].lower()
        if any("proxy" in part for part in name.split("::")) and '""' not in line:
            yield line
