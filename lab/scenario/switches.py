"""Library paths that change while a machine runs.

QEMU's environment cannot be changed, but what its paths lead to can: a boot with such checks is given paths of symbolic links,
which a check sets anew for every fault. The host library and ggml's are opened by the worker of each new context, so one boot
serves every fault of theirs, and both libraries of a benchmark that compares two.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.scenario.environment import BACKEND_LIBRARY, GGML_LIBRARY
from lab.scenario.model import Scenario
from lab.scenario.model_bench import BenchCheck
from lab.scenario.model_checks import FaultCheck

FOLDER = "switches"
SWITCHED = {"host": BACKEND_LIBRARY, "ggml": GGML_LIBRARY}
"""Names of the links, and the variables that hold the paths."""


def switched(scenario: Scenario) -> bool:
    """Whether a check of the scenario changes what the paths lead to."""
    return any(
        isinstance(check, BenchCheck) or (isinstance(check, FaultCheck) and check.fault.expectation.libraries is not None)
        for check in scenario.checks
    )


@dataclass(frozen=True, slots=True)
class Switches:
    """The links in their folder, and what each leads to when nothing is wrong."""

    folder: Path
    healthy: Mapping[str, str]

    @classmethod
    def of(cls, variables: Mapping[str, str], logs: Path) -> Switches:
        """Links for the library paths among QEMU's variables."""
        return cls(logs / FOLDER, {name: variables[variable] for name, variable in SWITCHED.items() if variable in variables})

    @property
    def variables(self) -> dict[str, str]:
        """QEMU's variables that name the links."""
        return {SWITCHED[name]: str(self.folder / name) for name in self.healthy}

    @contextlib.contextmanager
    def set_to(self, targets: Mapping[str, str | None]) -> Iterator[None]:
        """For as long as the context lasts the named links lead elsewhere, or (None) are not there."""
        for name, target in targets.items():
            self._point(name, target)
        try:
            yield
        finally:
            for name in targets:
                self._point(name, self.healthy[name])

    def _point(self, name: str, target: str | None) -> None:
        link = self.folder / name
        link.unlink(missing_ok=True)
        if target is not None:
            link.symlink_to(target)


@contextlib.contextmanager
def laid(switches: Switches | None) -> Iterator[None]:
    """The links are there, leading to the right files; gone at the end, for a bundle holds no links out of itself."""
    if switches is None:
        yield
        return
    switches.folder.mkdir(parents=True)
    try:
        with switches.set_to(switches.healthy):
            yield
    finally:
        for name in switches.healthy:
            (switches.folder / name).unlink(missing_ok=True)
        switches.folder.rmdir()
