"""What a bundle's files hold.

``run.json`` is one ``RunRecord``, replaced as a whole whenever it changes. What is appended row by row: ``lab.bundle.rows``.

``SCHEMA`` rises when a reader of the version before would go wrong; new keys with a default do not raise it.
"""

from __future__ import annotations

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
    """A bound that a measured figure is held against; ``met`` is None when it was not measured, or not for long enough.

    ``out_of_reach``: not met, and by what it cannot do without, measured in the same run, no guest library could have.
    """

    label: str
    expected: str
    seen: float | None = None
    seen_text: str = ""
    bound: float | None = None
    met: bool | None = None
    out_of_reach: bool = False


class PayloadRecord(Record):
    """A native file that was shipped or loaded."""

    role: str
    path: str
    sha256: str
    build_id: str | None


RATE_SPREAD = "_spread"
"""Rates of a benchmark's answer are numbers: how repetitions are spread has a key of its own, the rate's with this behind it."""


class BenchRecord(Record):
    """What a benchmark measured: the line of ``lab bench --json``, the targets, and how busy the machine was.

    ``libraries`` are those of a second implementation; ours are among the boot's payloads.
    """

    answer: dict[str, Any]
    targets: tuple[TargetRecord, ...] = ()
    tokens: tuple[dict[str, Any], ...] = ()
    load_before: float = 0.0
    load_after: float = 0.0
    cores: int = 1
    wall_s: float = 0.0
    warnings: tuple[str, ...] = ()
    libraries: tuple[PayloadRecord, ...] = ()


class DeviceRecord(Record):
    """A device of ggml's registry in the guest, or on the host where a library ran natively."""

    registry: str
    name: str
    type: str
    description: str = ""
    index: int = 0
    side: Literal["guest", "host"] = "guest"


class CaseCounts(Record):
    """Distinct cases by how they ended, each counted once. What two checks compute under one id is two cases.

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
    """Durations of one remote command as the guest saw them, in microseconds.

    ``most_bytes``: of the largest, data included, request or reply.
    """

    command: str
    count: int
    failed: int
    p50_us: float
    p90_us: float
    p99_us: float
    max_us: float
    most_bytes: int = 0


class CallsRecord(Record):
    """All remote calls of a variant: what both sides counted, and durations by command.

    ``timed``: in how many replies the host told its times (extension timing).
    """

    count: int = 0
    timed: int = 0
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


class BootRecord(Record):
    """One started machine. ``lost``: why no guest came of it, where that was the emulator's own defect."""

    variants: tuple[str, ...]
    argv: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    accel: str = ""
    boot_s: float | None = None
    capsets: tuple[int, ...] = ()
    kernel: str = ""
    payloads: tuple[PayloadRecord, ...] = ()
    lost: str = ""


class VariantRecord(Record):
    """One variant and what came of it. The first keys are those of ``lab run --json``.

    ``kept``: what results of an earlier run were computed with, where no boot of this one has served the variant.
    """

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
    kept: BootRecord | None = None


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
    """A file that belongs to a scenario: one that it extends, its expectations, a list of supported cases."""

    path: str
    sha256: str


class ScenarioRecord(Record):
    """A scenario file of the run, with the options that were applied to it.

    ``copy_path`` is within the bundle: what came of the file and those it extends (``bases``), with absolute paths. Beside it is
    a copy of the ``expectations`` and of their ``lists`` of supported cases.
    """

    name: str
    description: str = ""
    path: str
    sha256: str
    copy_path: str
    expectations: FileRecord | None = None
    lists: tuple[FileRecord, ...] = ()
    bases: tuple[FileRecord, ...] = ()


class HostRecord(Record):
    """The machine that ran it."""

    kernel: str = ""
    distribution: str = ""
    processor: str = ""
    cores: int = 0
    memory_mib: int = 0


class ResumedRecord(Record):
    """An earlier run that this one goes on with: when it ran and how many results of it are among this one's."""

    run: str
    started: str
    ended: str | None = None
    status: Status
    kept: int = 0


class RunRecord(Record):
    """``run.json``: everything one has to know to trust, compare and repeat the run.

    ``command`` is the one of ``lab`` that made it, ``options`` are those of that command that decide what is run.
    """

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
    command: Literal["run", "bench"] = "run"
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
