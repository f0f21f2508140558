"""What a bundle's files hold.

``run.json`` is one ``RunRecord``, replaced as a whole whenever it changes. ``results.jsonl`` holds ``CaseRow``, ``PerfRow``,
``FactRow`` and ``FindingRow``, told apart by ``kind``; ``calls.jsonl`` holds ``CallRow``. Rows are appended and flushed one by
one, so a run that was cut off keeps all of them but, at worst, the line that was being written.

``SCHEMA`` rises when a reader of the version before would go wrong; new keys with a default do not raise it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

SCHEMA = 1
RUN = "run.json"
RESULTS = "results.jsonl"
CALLS = "calls.jsonl"
SUPPORT = "support.csv"
SPEED = "speed.csv"
JUNIT = "junit.xml"
PAGE = "index.html"
SUMMARY = "summary.md"
REPRODUCE = "reproduce.sh"
LOGS = "logs"
SCENARIOS = "scenario"
BENCH = "bench.json"
"""A ``BenchRecord``, in the log folder of a variant that was measured."""


class Status(StrEnum):
    """How a variant, or a whole run, stands."""

    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"


class Record(BaseModel):
    """A part of ``run.json``. Keys that a later lab wrote are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class TargetRecord(Record):
    """A bound that a measured figure is held against; ``met`` is None when it was not measured."""

    label: str
    expected: str
    seen: float | None = None
    seen_text: str = ""
    bound: float | None = None
    met: bool | None = None


class BenchRecord(Record):
    """What a benchmark measured: the line of ``lab bench --json``, the targets, and how busy the machine was."""

    answer: dict[str, Any]
    targets: tuple[TargetRecord, ...] = ()
    tokens: tuple[dict[str, Any], ...] = ()
    load_before: float = 0.0
    load_after: float = 0.0
    cores: int = 1
    wall_s: float = 0.0
    warnings: tuple[str, ...] = ()


class DeviceRecord(Record):
    """A device of ggml's registry in the guest, or on the host where a library ran natively."""

    registry: str
    name: str
    type: str
    description: str = ""
    index: int = 0
    side: Literal["guest", "host"] = "guest"


class CaseCounts(Record):
    """Distinct cases by how they ended, each counted once.

    ``error``: crashed, hung, or lost by the lab; ``expected``: failed, as an expectation says; ``flaky``: failed and passed, as an
    expectation says; ``skipped``: not run, or not judged, as an expectation says.
    """

    ok: int = 0
    fail: int = 0
    unsupported: int = 0
    error: int = 0
    expected: int = 0
    flaky: int = 0
    skipped: int = 0


class CommandRecord(Record):
    """Durations of one remote command as the guest saw them, in microseconds."""

    command: str
    count: int
    failed: int
    p50_us: float
    p90_us: float
    p99_us: float
    max_us: float


class CallsRecord(Record):
    """All remote calls of a variant: what both sides counted, and durations by command."""

    count: int = 0
    p50_us: float | None = None
    p99_us: float | None = None
    guest_counted: int = 0
    host_counted: int = 0
    commands: tuple[CommandRecord, ...] = ()


class MappedRecord(Record):
    """A library of ours, or under test, as found mapped in a process."""

    process: str
    path: str
    build_id: str | None


class PayloadRecord(Record):
    """A native file that was shipped or loaded."""

    role: str
    path: str
    sha256: str
    build_id: str | None


class BootRecord(Record):
    """One started machine."""

    variants: tuple[str, ...]
    argv: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    accel: str = ""
    boot_s: float | None = None
    capsets: tuple[int, ...] = ()
    kernel: str = ""
    payloads: tuple[PayloadRecord, ...] = ()


class VariantRecord(Record):
    """One variant and what came of it. The first keys are those of ``lab run --json``."""

    name: str
    variant: str
    status: Status
    cases: CaseCounts = CaseCounts()
    device: DeviceRecord | None = None
    reference: DeviceRecord | None = None
    accel: str | None = None
    capset: str | None = None
    boot_s: float = 0.0
    wall_s: float = 0.0
    calls: CallsRecord = CallsRecord()
    settings: str = ""
    boot: int | None = None
    mapped: tuple[MappedRecord, ...] = ()
    expected_cases: int | None = None
    reason: str = ""
    logs: str = ""


class CapabilityRecord(Record):
    """A capability of the host as probed."""

    name: str
    ok: bool
    probed: str
    hint: str | None = None


class PackagesRecord(Record):
    """A host root or guest image: its cache key, the packages it is made of, and what differs from its lock."""

    role: str
    name: str
    key: str
    packages: tuple[tuple[str, str], ...] = ()
    drift: tuple[str, ...] = ()


class FileRecord(Record):
    """A file that a scenario file extends."""

    path: str
    sha256: str


class ScenarioRecord(Record):
    """A scenario file of the run, with the options that were applied to it.

    ``copy_path`` is within the bundle: the file as it is, or what came of it and those it extends (``bases``).
    """

    name: str
    description: str = ""
    path: str
    sha256: str
    copy_path: str
    expectations: FileRecord | None = None
    bases: tuple[FileRecord, ...] = ()


class HostRecord(Record):
    """The machine that ran it."""

    kernel: str = ""
    distribution: str = ""
    processor: str = ""
    cores: int = 0
    memory_mib: int = 0


class ResumedRecord(Record):
    """A run that was cut off and that this one goes on with: when it ran and how many results of it were kept."""

    run: str
    started: str
    ended: str | None = None
    status: Status
    kept: int = 0


class RunRecord(Record):
    """``run.json``: everything one has to know to trust, compare and repeat the run."""

    schema_version: int = SCHEMA
    run: str
    name: str
    status: Status
    exit: int | None = None
    started: str
    ended: str | None = None
    wall_s: float | None = None
    lab_version: str = ""
    commit: str = ""
    python: str = ""
    argv: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    host: HostRecord = HostRecord()
    capabilities: tuple[CapabilityRecord, ...] = ()
    scenarios: tuple[ScenarioRecord, ...] = ()
    built: tuple[PackagesRecord, ...] = ()
    boots: tuple[BootRecord, ...] = ()
    variants: tuple[VariantRecord, ...] = ()
    resumed: tuple[ResumedRecord, ...] = ()
    """The runs that this one goes on with, the first one first."""
    problem: str = ""


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
    """Something asserted of guest or host: what it had to be and what it was."""

    scenario: str
    variant: str
    check: str
    name: str
    expected: str
    seen: str
    ok: bool
    at_s: float
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
