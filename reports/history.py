"""Figures over many runs, and where they changed for good.

Only what stands in ``run.json`` and a benchmark's record is read. A change is where a series falls into two, in which Student's
t-test sees a difference: the split with the smallest p, times the number of splits that were tried, below ``ALPHA``, and medians
that lie apart by as much as a comparison asks for. Both parts are then looked at in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reports.compare import LEAST, Verdict, probability
from reports.measures import Measured, Sort

ALPHA = 0.001
LEAST_SIDE = 3
"""Runs on each side of a change: one that goes by itself is none."""


@dataclass(frozen=True, slots=True)
class Point:
    """A figure of one run."""

    run: str
    started: str
    commit: str
    value: float


@dataclass(frozen=True, slots=True)
class Series:
    """A figure of all runs on machines of a kind, the oldest first; ``machine`` is empty for what is the same on all of them."""

    name: str
    machine: str
    sort: Sort
    more_is_better: bool
    points: tuple[Point, ...]

    @property
    def values(self) -> list[float]:
        """The figures alone."""
        return [point.value for point in self.points]


@dataclass(frozen=True, slots=True)
class Shift:
    """Where a series changed: ``at`` is the first run behind it, ``before`` and ``after`` are medians of the parts beside it."""

    series: Series
    at: Point
    before: float
    after: float
    p: float

    @property
    def change(self) -> float | None:
        """Relative; None where it was 0 before."""
        return (self.after - self.before) / abs(self.before) if self.before else None

    @property
    def verdict(self) -> Verdict:
        """Better or worse, or the machine's own."""
        if self.series.sort is Sort.FLOOR:
            return Verdict.MACHINE
        return Verdict.IMPROVED if (self.after > self.before) == self.series.more_is_better else Verdict.REGRESSED


def series_of(runs: Sequence[Measured]) -> tuple[Series, ...]:
    """All figures of the runs as series."""
    found: dict[tuple[str, str], list[Point]] = {}
    kinds: dict[tuple[str, str], tuple[Sort, bool]] = {}
    for run in sorted(runs, key=lambda one: (one.run.started, one.run.run)):
        for one in run.measures.values():
            key = (one.name, "" if one.sort is Sort.COUNT else run.machines[one.place])
            kinds[key] = one.sort, one.more_is_better
            found.setdefault(key, []).append(Point(run.run.run, run.run.started, run.run.commit, one.value))
    return tuple(Series(*key, *kinds[key], tuple(points)) for key, points in found.items())


def shifts(series: Series, least: float = LEAST) -> tuple[Shift, ...]:
    """Where a series changed by ``least`` at least, the oldest first."""
    bounds = [0, *_splits(series.values, 0, least), len(series.points)]
    return tuple(_shift(series, *bounds[index : index + 3]) for index in range(len(bounds) - 2))


def _shift(series: Series, start: int, at: int, end: int) -> Shift:
    values = series.values
    before, after = values[start:at], values[at:end]
    p = (probability(before, after) or 0.0) * len(_candidates(end - start))
    return Shift(series, series.points[at], float(np.median(before)), float(np.median(after)), min(1.0, p))


def _candidates(count: int) -> range:
    return range(LEAST_SIDE, count - LEAST_SIDE + 1)


def _splits(values: Sequence[float], offset: int, least: float) -> Iterator[int]:
    tried = _candidates(len(values))
    if not tried:
        return
    p, at = min((probability(values[:split], values[split:]) or 0.0, split) for split in tried)
    before, after = float(np.median(values[:at])), float(np.median(values[at:]))
    if p * len(tried) < ALPHA and after != before and abs(after - before) >= least * abs(before):
        yield from _splits(values[:at], offset, least)
        yield offset + at
        yield from _splits(values[at:], offset + at, least)
