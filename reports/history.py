"""Figures over many runs, and where they changed for good.

Only what stands in ``run.json`` and a benchmark's record is read. A change is where the runs since the last one fall into two,
between which Student's t-test sees a difference, and whose medians lie apart by as much as a comparison asks for. The p is
corrected for all places that are tried: a series of noise shows a change with a probability below ``ALPHA``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reports.compare import LEAST, Verdict, probability
from reports.measures import Measured, Sort

ALPHA = 0.001
LEAST_BOUNDS = 2
TINY = 1e-24
"""Below this there is no scatter, but what summing up has left."""
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
    """Where a series changed: from the point of ``index`` on. ``before`` and ``after`` are medians of the parts beside it."""

    series: Series
    index: int
    before: float
    after: float
    p: float

    @property
    def at(self) -> Point:
        """The first run behind it."""
        return self.series.points[self.index]

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
            key = (one.name, "" if one.sort is Sort.COUNT else run.machines.get(one.place, ""))
            kinds[key] = one.sort, one.more_is_better
            found.setdefault(key, []).append(Point(run.run.run, run.run.started, run.run.commit, one.value))
    return tuple(Series(*key, *kinds[key], tuple(points)) for key, points in found.items())


def shifts(series: Series, least: float = LEAST) -> tuple[Shift, ...]:
    """Where a series changed by ``least`` at least, the oldest first."""
    values = series.values
    bounds = [0, *_splits(values, least), len(values)]
    while len(bounds) > LEAST_BOUNDS:
        triples = list(zip(bounds, bounds[1:], bounds[2:], strict=False))
        doubtful = max(triples, key=lambda one: _doubt(values, one[0], one[1], one[2], least))
        if _doubt(values, *doubtful, least=least) < ALPHA:
            return tuple(_shift(series, *one) for one in triples)
        bounds.remove(doubtful[1])  # what came later speaks against it
    return ()


def _shift(series: Series, start: int, at: int, end: int) -> Shift:
    values = series.values
    before, after = float(np.median(values[start:at])), float(np.median(values[at:end]))
    return Shift(series, at, before, after, _doubt(values, start, at, end))


def _splits(values: Sequence[float], least: float) -> Iterator[int]:
    """Where the runs since the last change fall into two. Each further run is a new look: so what goes and comes back is seen.

    Where the likeliest place has too few runs on a side, the one next to it is no change in its stead.
    """
    start = 0
    for end in range(2 * LEAST_SIDE, len(values) + 1):
        if end - start >= 2 * LEAST_SIDE:
            at = start + _likeliest(values[start:end])
            if LEAST_SIDE <= at - start <= end - start - LEAST_SIDE and _doubt(values, start, at, end, least) < ALPHA:
                start = at
                yield at


def _likeliest(values: Sequence[float]) -> int:
    """The split with the largest t: of both sides' means, in units of what they scatter by."""
    logs = np.log(values) if min(values) > 0 else np.asarray(values, float)
    sums, squares = np.cumsum(logs - logs.mean()), np.cumsum((logs - logs.mean()) ** 2)
    before = np.arange(1, len(values))
    after, first = len(values) - before, sums[before - 1]
    scatter = squares[-1] - first**2 / before - first**2 / after  # the sums of both sides are each other's opposite
    t = np.abs(first) * np.sqrt(1 / before + 1 / after) / np.sqrt(np.maximum(scatter, TINY))
    return int(before[np.argmax(t)])


def _doubt(values: Sequence[float], start: int, at: int, end: int, least: float = 0.0) -> float:
    """The p of a change, times how many places of how many stretches were looked at; 1 where the medians lie too near."""
    before, after = values[start:at], values[at:end]
    low, high = float(np.median(before)), float(np.median(after))
    if low == high or abs(high - low) < least * abs(low):
        return 1.0
    looks = (len(values) - 2 * LEAST_SIDE + 1) ** 2
    return min(1.0, (probability(before, after) or 0.0) * looks)
