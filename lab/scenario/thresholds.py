"""What took too long, by the thresholds of a scenario and of its checks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lab.bundle.outcome import Blame, Finding, FindingKind, Outcome
from lab.bundle.writer import CheckWriter
from lab.figure import beside
from lab.metrics.calls import JoinedCall
from lab.scenario.model import Thresholds
from lab.scenario.section import CheckThresholds

COMPUTED = frozenset({Outcome.PASS, Outcome.FAIL, Outcome.UNSUPPORTED})
HUNDRED = 100


@dataclass(frozen=True, slots=True)
class Measured:
    """A check that has ended: how long it took, and the sessions of the contexts whose calls are its own."""

    writer: CheckWriter
    thresholds: CheckThresholds
    wall_s: float
    sessions: frozenset[int]

    @property
    def cases_per_s(self) -> float:
        """Cases that were computed, by the second."""
        return sum(result.outcome in COMPUTED for result in self.writer.results) / self.wall_s


def check_findings(measured: Measured, calls: Sequence[JoinedCall]) -> Iterator[Finding]:
    """What is too slow about a check; ``calls`` are those of the whole variant."""
    limits = measured.thresholds
    yield from over("it took {} s", measured.wall_s, limits.wall_s, "s")
    # Where an earlier run's results are kept there is no such rate: they took none of this time, and what is left may be little.
    if limits.cases_per_s is not None and not measured.writer.kept and measured.cases_per_s < limits.cases_per_s:
        seen = beside(measured.cases_per_s, limits.cases_per_s, "{:.2f}".format)
        text = f"{seen} cases a second, at least {limits.cases_per_s:g} are required"
        yield Finding(FindingKind.TOO_SLOW, Blame.PRODUCT, text)
    own = [call for call in calls if call.session in measured.sessions]
    yield from call_findings(own, limits.call_p50_us, limits.call_p99_us)


def variant_findings(limits: Thresholds, boot_s: float, wall_s: float, calls: Sequence[JoinedCall]) -> Iterator[Finding]:
    """What is too slow about a variant. ``boot_s`` is 0 for one that another one's boot served."""
    yield from over("the boot took {} s", boot_s, limits.boot_s, "s")
    yield from over("the variant took {} s", wall_s, limits.wall_s, "s")
    yield from call_findings(calls, limits.call_p50_us, limits.call_p99_us)


def call_findings(calls: Sequence[JoinedCall], p50_us: float | None, p99_us: float | None) -> Iterator[Finding]:
    """What is too slow about remote calls. Thresholds without any call to hold against them are the configuration's fault."""
    limits = [(percent, limit) for percent, limit in ((50, p50_us), (99, p99_us)) if limit is not None]
    if limits and not calls:
        yield Finding(FindingKind.NO_CALLS, Blame.LAB, "there are no remote calls to hold the thresholds against")
        return
    for percent, limit in limits:
        seen_us = float(np.percentile([call.duration_ns for call in calls], percent, method="inverted_cdf")) / 1000
        yield from over(f"{percent} of {HUNDRED} of {len(calls)} remote calls took up to {{}} µs", seen_us, limit, "µs")


def over(words: str, seen: float, limit: float | None, unit: str) -> Iterator[Finding]:
    """A finding when a figure is above its limit."""
    if limit is not None and not seen <= limit and not math.isclose(seen, limit):
        text = f"{words.format(beside(seen, limit, '{:.1f}'.format))}, at most {limit:g} {unit} are allowed"
        yield Finding(FindingKind.TOO_SLOW, Blame.PRODUCT, text)
