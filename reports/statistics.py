"""Figures of calls and cases: counts, quantiles, distributions. Values in, values out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from lab.bundle.expected import ExpectedEnd
from lab.bundle.outcome import Outcome
from lab.bundle.rows import CallRow, CaseRow

BINS = 96
MOST_LABELS = 7
MIDDLE = (10.0, 90.0)
"""The mean of a part of the calls' time is taken over the calls between these percentiles of the whole duration."""
WORST_FIRST = (
    Outcome.HOST_CRASH,
    Outcome.GUEST_CRASH,
    Outcome.HANG,
    Outcome.FAIL,
    Outcome.ERROR,
    Outcome.UNSUPPORTED,
    Outcome.SKIPPED,
    Outcome.PASS,
)
"""Outcomes, the one first that decides for a case that ran several times, and for an operation with many cases."""


@dataclass(frozen=True, slots=True)
class OpOutcomes:
    """Cases of one operation in one variant, counted by outcome.

    ``expected``: those of them that failed, or were skipped, as an expectation says.
    """

    op: str
    counts: tuple[tuple[Outcome, int], ...]
    expected: int = 0

    @property
    def total(self) -> int:
        """All cases."""
        return sum(count for _, count in self.counts)

    def of(self, outcome: Outcome) -> int:
        """Cases that ended so."""
        return dict(self.counts).get(outcome, 0)

    @property
    def worst(self) -> Outcome:
        """The outcome that decides how the operation looks."""
        return next((outcome for outcome in WORST_FIRST if self.of(outcome)), Outcome.PASS)

    @property
    def alarming(self) -> bool:
        """Whether there are more of those that somebody has to look at than were expected."""
        return sum(count for outcome, count in self.counts if outcome.blame or outcome is Outcome.SKIPPED) > self.expected


@dataclass(frozen=True, slots=True)
class Durations:
    """Durations of one command in microseconds: quantiles, and the shape of their distribution.

    ``shape`` has the share of calls (largest = 1) in each of ``BINS`` bins of equal width on the plot's logarithmic axis.
    """

    command: str
    count: int
    failed: int
    min_us: float
    p50_us: float
    p90_us: float
    p99_us: float
    max_us: float
    total_ms: float
    bytes_out: int
    bytes_in: int
    shape: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TimeParts:
    """Where the time of a command's typical calls goes, as means in microseconds, which add up to the mean duration."""

    command: str
    encode_us: float
    transport_us: float
    queue_us: float
    compute_us: float

    @property
    def total_us(self) -> float:
        """The mean duration of those calls."""
        return self.encode_us + self.transport_us + self.queue_us + self.compute_us


@dataclass(frozen=True, slots=True)
class LogAxis:
    """A logarithmic axis from one power of ten to another, in microseconds."""

    low: int
    high: int

    @classmethod
    def over(cls, values_us: Sequence[float]) -> LogAxis:
        """The axis that holds all values, at least one decade."""
        positive = [value for value in values_us if value > 0] or [1.0]
        low = int(np.floor(np.log10(min(positive))))
        return cls(low, max(low + 1, int(np.ceil(np.log10(max(positive))))))

    def place(self, value_us: float) -> float:
        """Where a value lies, 0 to 1."""
        exponent = np.log10(max(value_us, 10.0**self.low))
        return float(min(1.0, (exponent - self.low) / (self.high - self.low)))

    @property
    def decades(self) -> tuple[float, ...]:
        """Values of the grid lines."""
        return tuple(10.0**exponent for exponent in range(self.low, self.high + 1))

    @property
    def labels(self) -> tuple[float, ...]:
        """Those of them that are told: as many as have room beside each other on a phone."""
        return self.decades[:: -(-len(self.decades) // MOST_LABELS)]


def kind_of(check: str) -> str:
    """A check's name without the number of a further process, or of another check of the kind."""
    return check.partition(" ")[0]


def op_outcomes(cases: Iterable[CaseRow]) -> dict[str, OpOutcomes]:
    """Outcomes by operation, in the order in which operations appeared. A case counts once, however often it ran, by its worst."""
    ends: dict[tuple[str, str, str], set[Outcome]] = defaultdict(set)
    words: dict[tuple[str, str, str], str] = {}
    for case in cases:
        place = (case.op, kind_of(case.check), case.case)
        ends[place].add(Outcome(case.outcome))
        words[place] = case.expected or words.get(place, "")
    counters: dict[str, Counter[Outcome]] = defaultdict(Counter)
    expected: Counter[str] = Counter()
    for place, outcomes in ends.items():
        counters[place[0]][min(outcomes, key=WORST_FIRST.index)] += 1
        expected[place[0]] += as_expected(outcomes, words[place])
    return {op: OpOutcomes(op, tuple(counter.items()), expected[op]) for op, counter in counters.items()}


def as_expected(outcomes: AbstractSet[Outcome], expected: str) -> bool:
    """Whether a case by all of its ends came out worse than a pass, and as its expectation says."""
    match expected:
        case ExpectedEnd.FAIL:
            return outcomes == {Outcome.FAIL}
        case ExpectedEnd.FLAKY:
            return outcomes == {Outcome.FAIL, Outcome.PASS}
        case ExpectedEnd.SKIP:
            return outcomes == {Outcome.SKIPPED}
        case _:
            return False


def durations(calls: Sequence[CallRow], axis: LogAxis) -> tuple[Durations, ...]:
    """Figures by command, the one that took most time in all first."""
    groups: dict[str, list[CallRow]] = defaultdict(list)
    for call in calls:
        groups[call.command].append(call)
    found = (_durations(command, group, axis) for command, group in groups.items())
    return tuple(sorted(found, key=lambda one: -one.total_ms))


def _durations(command: str, calls: Sequence[CallRow], axis: LogAxis) -> Durations:
    times = np.array([call.duration_ns for call in calls]) / 1000.0
    p50, p90, p99 = (float(value) for value in np.percentile(times, (50, 90, 99), method="inverted_cdf"))
    places = np.array([axis.place(float(value)) for value in times])
    heights, _ = np.histogram(places, bins=BINS, range=(0.0, 1.0))
    highest = heights.max()
    return Durations(
        command=command,
        count=len(calls),
        failed=sum(not succeeded(call) for call in calls),
        min_us=float(times.min()),
        p50_us=p50,
        p90_us=p90,
        p99_us=p99,
        max_us=float(times.max()),
        total_ms=float(times.sum()) / 1000.0,
        bytes_out=sum(call.bytes_out for call in calls),
        bytes_in=sum(call.bytes_in for call in calls),
        shape=tuple(float(height) / highest for height in heights),
    )


def time_parts(calls: Sequence[CallRow]) -> tuple[TimeParts, ...]:
    """Where the time goes, by command; commands without a joined host record are left out."""
    groups: dict[str, list[CallRow]] = defaultdict(list)
    for call in calls:
        if None not in {call.encode_ns, call.host_queue_ns, call.host_compute_ns}:
            groups[call.command].append(call)
    parts = (_parts(command, group) for command, group in groups.items())
    return tuple(sorted(parts, key=lambda part: -part.total_us))


def _parts(command: str, calls: Sequence[CallRow]) -> TimeParts:
    table = np.array([(c.duration_ns, c.encode_ns, c.host_queue_ns, c.host_compute_ns) for c in calls], dtype=float) / 1000.0
    low, high = np.percentile(table[:, 0], MIDDLE)
    typical = (table[:, 0] >= low) & (table[:, 0] <= high)
    middle = table[typical] if typical.any() else table
    whole, encode, queue, compute = (float(value) for value in middle.mean(axis=0))
    return TimeParts(command, encode, max(0.0, whole - encode - queue - compute), queue, compute)


def succeeded(call: CallRow) -> bool:
    """Whether the call's status is its command's own "ok" (protocol 0.2)."""
    wanted = {"handshake": 0xAB1E, "load_library": 0}.get(call.command, 4)
    return call.status == wanted or call.command == "negotiate"
