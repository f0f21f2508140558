"""Rows of a bundle's files.

``results.jsonl`` holds ``CaseRow``, ``PerfRow``, ``FactRow`` and ``FindingRow``, told apart by ``kind``; ``calls.jsonl`` holds
``CallRow``. They are appended one by one. Results are flushed one by one too, so a run that was cut off keeps all of them but, at
worst, the line that was being written. Calls are flushed at most once a second while the run goes on, and when both sides are
joined.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

MOST_NS = 1 << 63
"""Durations that are told have fewer nanoseconds; whoever tells of more has not measured them."""


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A judged case. ``at_s`` counts from the start of the run that measured it (``run``, where that is not the bundle's own).

    ``digest`` is of every bit of its results where it is known. ``outcome`` is what came of it, whatever was expected;
    ``expected``, ``reason`` and ``link`` are of the expectation for it, empty for none. ``attempt`` is above 1 when a flaky case
    was run again.
    """

    scenario: str
    variant: str
    check: str
    case: str
    op: str
    params: str
    outcome: str
    message: str
    since_previous_ms: float
    at_s: float
    run: str = ""
    kind: Literal["case"] = "case"
    digest: str = ""
    expected: str = ""
    reason: str = ""
    link: str = ""
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class PerfRow:
    """What the ``perf`` mode of ``test-backend-ops`` measured of a case, in the program's own units.

    It repeats an operation up to 8192 times in one graph: the cost of a remote call is spread over all of them.
    """

    scenario: str
    variant: str
    check: str
    case: str
    op: str
    params: str
    time_us: float
    runs: int
    flops: float
    bandwidth_gb_s: float
    memory_kib: int
    at_s: float
    run: str = ""
    kind: Literal["perf"] = "perf"


@dataclass(frozen=True, slots=True)
class FactRow:
    """Something asserted of guest or host: what it had to be and what it was.

    ``enforced``: the run is held to it. ``run``: that saw it, where not the bundle's own.
    """

    scenario: str
    variant: str
    check: str
    name: str
    expected: str
    seen: str
    ok: bool
    at_s: float
    enforced: bool = True
    run: str = ""
    kind: Literal["fact"] = "fact"


@dataclass(frozen=True, slots=True)
class FindingRow:
    """Something wrong; see ``outcome.FindingKind``."""

    scenario: str
    variant: str
    check: str
    finding: str
    blame: str
    text: str
    case: str | None
    at_s: float
    kind: Literal["finding"] = "finding"


@dataclass(frozen=True, slots=True)
class CallRow:
    """One remote call, durations in nanoseconds.

    ``side`` is ``host`` for a row written while the run was going on, from the worker's record alone, and ``both`` for one
    written afterwards, joined with the guest's. Where a variant has rows of ``both``, those are all of its calls.
    """

    scenario: str
    variant: str
    side: str
    session: int
    seq: int
    command: str
    start_ns: int
    duration_ns: int
    encode_ns: int | None
    host_queue_ns: int | None
    host_compute_ns: int | None
    status: int
    bytes_out: int
    bytes_in: int


class Supported(StrEnum):
    """What a side says of a case when it is asked whether it computes it."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "not heard"


@dataclass(frozen=True, slots=True)
class SupportRow:
    """A line of the truth table: what the host library says natively, what the remote device says, and whether they agree."""

    scenario: str
    variant: str
    case: str
    op: str
    native: str
    remote: str
    agree: bool


@dataclass(frozen=True, slots=True)
class SpeedRow:
    """A program's way through a set of cases in the guest, from its start to its end; ``ratio`` is to the first of the set."""

    scenario: str
    variant: str
    program: str
    cases: int
    seconds: float
    cases_per_s: float
    ratio: float


ResultRow = CaseRow | PerfRow | FactRow | FindingRow
