"""What the liar is told while a machine runs: a file that it reads for every new context, so one boot serves many lies."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.bundle.writer import write_whole
from lab.scenario.environment import LIES
from lab.scenario.model import Scenario
from lab.scenario.model_checks import LieCheck
from lab.scenario.section import HONEST

FILE = "lies"


def lies_are_told(scenario: Scenario) -> bool:
    """Whether a check of the scenario tells the liar what to lie about."""
    return any(isinstance(check, LieCheck) for check in scenario.checks)


@dataclass(frozen=True, slots=True)
class LiesFile:
    """The file, which lies in the boot's log folder. Honest but for the time of a lie."""

    path: Path

    @property
    def variables(self) -> dict[str, str]:
        """QEMU's variable that names it to the liar."""
        return {LIES: f"@{self.path}"}

    @contextlib.contextmanager
    def told(self, lies: str) -> Iterator[None]:
        """For as long as the context lasts every new context of the guest is lied to."""
        write_whole(self.path, f"{lies}\n")
        try:
            yield
        finally:
            write_whole(self.path, f"{HONEST}\n")


@contextlib.contextmanager
def laid_lies(lies: LiesFile | None) -> Iterator[None]:
    """The file is there, and honest."""
    if lies is None:
        yield
        return
    try:
        with lies.told(HONEST):
            yield
    finally:
        lies.path.unlink(missing_ok=True)
