"""How much memory a process has to itself, and what of it each of several runs of a case left behind."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROLLUP = "smaps_rollup"


def private_kib(pid: int | str) -> int | None:
    """KiB of memory that only this process has (``self`` for the caller's own); None when it has ended."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/{ROLLUP}").read_text(encoding="ascii").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
    return None


@dataclass(slots=True)
class MemoryLog:
    """What a process had after each run of a case, in the order of the runs."""

    samples: list[tuple[str, int]] = field(default_factory=list)

    def take(self, case: str, kib: int | None) -> None:
        """A run of a case is over; a process that has ended left nothing to measure."""
        if kib is not None:
            self.samples.append((case, kib))

    def growth(self) -> Mapping[str, float]:
        """KiB that each run of a case left behind, on average, by case.

        The runs of a case must follow each other. What the first left is not counted: it is what anything costs once, and a
        sample that came late still holds something of the case before. A case with fewer than three samples is left out.
        """
        runs: dict[str, list[int]] = {}
        for case, kib in self.samples:
            runs.setdefault(case, []).append(kib)
        return {case: _slope(samples) for case, samples in runs.items() if len(samples) > 2}  # noqa: PLR2004


def _slope(samples: Sequence[int]) -> float:
    return (samples[-1] - samples[0]) / (len(samples) - 1)
