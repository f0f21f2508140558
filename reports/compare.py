"""One run, or several, held against others: what came out worse, and what is no more than these runs' own noise.

Several runs a side are the honest way: whole runs differ more from each other than the calls of one. Then a figure has changed
when Student's t-test on the logarithms of the runs' figures says so (``ALPHA``, after Benjamini and Hochberg for as many figures
as there are) and the medians lie apart by ``least``. With fewer than ``LEAST_RUNS`` in all there is no such test: the parts of both
sides must lie apart as a whole, and the medians of times by ``LEAST_OF_SINGLE``.

Times, counts and floors are corrected each among their own: a build that sends other bytes has hundreds of counts that are
certain to have changed, and beside these a few times of noise would count for little.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from lab.bundle.outcome import Outcome
from reports.measures import CASES, Measure, Measured, Sort, names_of

ALPHA = 0.01
LEAST = 0.05
LEAST_OF_SINGLE = 0.25
LEAST_RUNS = 4
"""Of both sides together; with fewer of them there is hardly a test."""


class Verdict(StrEnum):
    """What came of a figure."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"
    MISSING = "missing"
    """NEW does not have it."""
    ADDED = "added"
    """BASE does not have it."""
    MACHINE = "machine"
    """It hangs on the machine, which is another one, or is itself what changed: nothing is said of the product."""


@dataclass(frozen=True, slots=True)
class Change:
    """A figure of both sides, the median of their runs.

    ``change`` is relative, 0.1 for a tenth more; None where there is none, or nothing to divide by. ``p`` is None where no test
    was made. ``cases``: those that were ok in BASE and are not in NEW.
    """

    name: str
    base: float | None
    new: float | None
    change: float | None
    p: float | None
    verdict: Verdict
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All changes, and what one has to know to read them."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...]

    @property
    def regressed(self) -> bool:
        """Whether anything came out worse."""
        return any(one.verdict is Verdict.REGRESSED for one in self.changes)

    def of(self, verdict: Verdict) -> tuple[Change, ...]:
        """Those of a verdict."""
        return tuple(one for one in self.changes if one.verdict is verdict)


def untested(base: Sequence[Measured], new: Sequence[Measured]) -> frozenset[str]:
    """Times that too few runs of both sides have for a test: for these it counts how far the parts of a run lie apart."""
    before, after = (
        Counter(name for run in runs for name, one in run.measures.items() if one.sort is Sort.TIME) for runs in (base, new)
    )
    return frozenset(name for name in before if name in after and before[name] + after[name] < LEAST_RUNS)


def compared(base: Sequence[Measured], new: Sequence[Measured], least: float | None = None) -> Comparison:
    """Hold the runs of NEW against those of BASE, one at least each.

    Args:
        base: the runs that were good.
        new: those that are in question.
        least: relative change below which a figure counts as the same; when None, by whether there is a test.
    """
    names = [name for name in names_of((*base, *new)) if not name.endswith(f"/{CASES}")]  # which are known one by one
    sorts = {name: one.sort for run in (*base, *new) for name, one in run.measures.items()}
    changes = tuple(_change(name, base, new) for name in names)
    judged = tuple(_judged(change, base, new, least) for change in _with_corrected_p(changes, sorts))
    return Comparison((*_cases(base, new), *judged), tuple(dict.fromkeys(_notes(base, new))))


def _change(name: str, base: Sequence[Measured], new: Sequence[Measured]) -> Change:
    """The figure of both sides with its p, no verdict yet."""
    before, after = (_values(name, runs) for runs in (base, new))
    olds, news = ([one.value for one in side] for side in (before, after))
    old, now = (float(np.median(side)) if side else None for side in (olds, news))
    verdict = Verdict.ADDED if old is None else Verdict.MISSING if now is None else Verdict.UNCHANGED
    change = (now - old) / abs(old) if old and now is not None else None
    return Change(name, old, now, change, probability(olds, news) if old is not None and now is not None else None, verdict)


def _values(name: str, runs: Sequence[Measured]) -> list[Measure]:
    return [run.measures[name] for run in runs if name in run.measures]


def probability(base: Sequence[float], new: Sequence[float]) -> float | None:
    """How likely such a difference is where there is none, by Student's t-test on logarithms; None for too few runs.

    Logarithms that are all the same on both sides have no spread to test with: 1 where they are equal, else 0.
    """
    if not base or not new or len(base) + len(new) < LEAST_RUNS:
        return None
    sides = [np.log(side) if min(*base, *new) > 0 else np.asarray(side, float) for side in (base, new)]
    if not any(np.ptp(side) for side in sides):
        return float(sides[0][0] == sides[1][0])
    from scipy import stats  # noqa: PLC0415 - takes a second, which other commands need not wait

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # one of the sides may be all the same, to the last bit
        return float(stats.ttest_ind(*sides, equal_var=True).pvalue)


def _with_corrected_p(changes: Sequence[Change], sorts: Mapping[str, Sort]) -> Iterator[Change]:
    """The same with each p corrected for how many there are of its sort (false discovery rate).

    A p of 0 or 1 is that of figures without any scatter: it is certain, and no matter of how many were looked at.
    """
    corrected: dict[str, float] = {}
    for sort in Sort:
        tested = {one.name: one.p for one in changes if one.p is not None and 0 < one.p < 1 and sorts[one.name] is sort}
        if tested:
            from scipy import stats  # noqa: PLC0415 - as above

            found = stats.false_discovery_control(list(tested.values()))
            corrected.update(zip(tested, (float(p) for p in found), strict=True))
    for one in changes:
        yield replace(one, p=corrected.get(one.name, one.p))


def _judged(change: Change, base: Sequence[Measured], new: Sequence[Measured], least: float | None) -> Change:
    if change.verdict is not Verdict.UNCHANGED or change.base is None or change.new is None:
        return change
    before, after = (_values(change.name, runs) for runs in (base, new))
    sort = before[0].sort
    bound = least if least is not None else LEAST if change.p is not None or sort is Sort.COUNT else LEAST_OF_SINGLE
    apart = change.new != change.base and (change.change is None or abs(change.change) >= bound)
    certain = change.p < ALPHA if change.p is not None else _lie_apart(before, after)
    if not apart or not certain:
        return change
    if sort is Sort.FLOOR or (sort is Sort.TIME and len(machines((*base, *new), before[0].place)) > 1):
        return replace(change, verdict=Verdict.MACHINE)
    better = (change.new > change.base) == before[0].more_is_better
    return replace(change, verdict=Verdict.IMPROVED if better else Verdict.REGRESSED)


def _lie_apart(base: Sequence[Measure], new: Sequence[Measure]) -> bool:
    """Whether no part of any run of one side reaches those of the other."""
    return max(one.most for one in base) < min(one.least for one in new) or max(one.most for one in new) < min(
        one.least for one in base
    )


def machines(runs: Sequence[Measured], place: str) -> tuple[str, ...]:
    """The kinds of machine that a variant ran on."""
    return tuple(dict.fromkeys(run.machines[place] for run in runs if place in run.machines))


def _cases(base: Sequence[Measured], new: Sequence[Measured]) -> Iterator[Change]:
    """A line for each variant that has cases.

    Worse is a case that was ok in every run of BASE that has it, and in any of NEW is not, or is not there. Better is one that
    was not, and is ok in all of NEW.
    """
    for place in dict.fromkeys(place for run in (*base, *new) for place in run.ends):
        named = {case for run in (*base, *new) for where, case in run.named if where == place}
        before, after = (
            [{case: end for case, end in run.ends[place].items() if case not in named} for run in runs if place in run.ends]
            for runs in (base, new)
        )
        known = {case for ends in before for case in ends}
        good = {case for case in known if all(ends.get(case, Outcome.PASS) is Outcome.PASS for ends in before)}
        still = {case for ends in after for case in ends if all(one.get(case) is Outcome.PASS for one in after)}
        name, old, now = f"{place}/{CASES}", float(len(good)), float(len(still))
        if not known and not still:
            continue
        if not before:
            yield Change(name, None, now, None, None, Verdict.ADDED)
        elif not after:
            yield Change(name, old, None, None, None, Verdict.MISSING)
        else:
            lost = tuple(sorted(good - still))
            verdict = Verdict.REGRESSED if lost else Verdict.IMPROVED if (still & known) - good else Verdict.UNCHANGED
            yield Change(name, old, now, (now - old) / old if old else None, None, verdict, lost)


def _notes(base: Sequence[Measured], new: Sequence[Measured]) -> Iterator[str]:
    if len(base) + len(new) < LEAST_RUNS:
        few = f"fewer than {LEAST_RUNS} runs in all: how far runs of one and the same lie apart is not known"
        yield f"{few}, and there are false alarms, of benchmarks above all; folders of several runs tell more than this"
    for run in (*base, *new):
        for place, status in run.cut.items():
            yield f"{run.folder.name}: {place} did not come to its end ({status}); nothing of it is compared"
    ran, known = ({place for run in runs for place in (*run.machines, *run.cut)} for runs in (new, base))
    for place in sorted(known ^ ran):
        yield f"{place} is in no run of {'NEW' if place in known else 'BASE'}"
    for place in dict.fromkeys(place for run in base for place in run.machines):
        kinds = machines((*base, *new), place)
        if len(kinds) > 1:
            yield f"{place} ran on different machines ({'; '.join(kinds)}): its times are not judged"
