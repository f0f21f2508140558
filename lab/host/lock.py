"""Lock files: the version of every package that an image had when its lock was written.

Debian's mirrors keep one version of a package, so a lock cannot force versions; it makes a change visible. What differs is
a ``Drift``, told at every use and recorded in the run's provenance, until the lock is written anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.errors import ConfigError, ConfigProblem
from lab.visible import visible

HEADER = "# Versions of all packages of this image, written by `lab setup --update-lock`.\n"
Packages = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Drift:
    """One package that is not as locked; an absent version is None."""

    package: str
    locked: str | None
    installed: str | None

    def __str__(self) -> str:
        return f"{self.package}: locked {self.locked or 'not at all'}, installed {self.installed or 'not at all'}"


def dpkg_packages(status: str) -> Packages:
    """Name and version of every installed package in the text of a dpkg status file, sorted by name."""
    return tuple(sorted(_installed(status)))


def _installed(status: str) -> Iterator[tuple[str, str]]:
    for stanza in status.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line and not line[0].isspace())
        if fields.get("Status", "").endswith(" installed"):
            yield fields["Package"], fields["Version"]


def read_lock(path: Path) -> Packages:
    """The locked packages; none when there is no such file.

    Raises:
        ConfigError: with every line that is not a package and its version, such as those a merge has left.
    """
    locked, problems = _read(path)
    if problems:
        raise ConfigError(path, problems)
    return locked


def _read(path: Path) -> tuple[Packages, list[ConfigProblem]]:
    """The packages, and what is wrong with other lines."""
    if not path.is_file():
        return (), []
    locked, problems = [], []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        match line.split():
            case []:
                pass
            case [first, *_] if first.startswith("#"):
                pass
            case [name, version]:
                locked.append((name, version))
            case _:
                image = "" if path.stem == "host-root" else f" --image {path.stem}"
                hint = f"a package and its version are expected: `lab setup --update-lock{image}` writes the file anew"
                problems.append(ConfigProblem(f"line {number}", f"is {visible(line)!r}", hint))
    return tuple(sorted(locked)), problems


def mend_lock(path: Path) -> None:
    """Leave away the lines of a lock that are none, which end whatever asks what differs from it: it is written anew anyway."""
    locked, problems = _read(path)
    if problems:
        write_lock(path, locked)


def write_lock(path: Path, packages: Packages) -> None:
    """Write the lock anew."""
    path.write_text(HEADER + "".join(f"{name} {version}\n" for name, version in sorted(packages)), encoding="utf-8")


def drift(locked: Packages, installed: Packages) -> tuple[Drift, ...]:
    """What differs, sorted by package."""
    before, now = dict(locked), dict(installed)
    names = sorted(before.keys() | now.keys())
    return tuple(Drift(name, before.get(name), now.get(name)) for name in names if before.get(name) != now.get(name))
