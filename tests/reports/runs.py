"""Small runs for comparisons: in figures, and as bundles by the real writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.bundle.outcome import Outcome
from lab.bundle.rows import CallRow, CaseRow
from lab.bundle.schema import (
    BENCH,
    BenchRecord,
    CallsRecord,
    CaseCounts,
    CommandRecord,
    HostRecord,
    RunRecord,
    Status,
    VariantRecord,
)
from lab.bundle.writer import new_bundle
from reports.measures import Measure, Measured, Sort

PLACE = "s/v"


def measure(name: str, value: float, sort: Sort = Sort.TIME, wander: float = 0.0, *, more_is_better: bool = False) -> Measure:
    return Measure(f"{PLACE}/{name}", sort, value, value * (1 - wander), value * (1 + wander), more_is_better)


def run_of(
    *measures: Measure,
    cases: Mapping[str, Outcome] | None = None,
    machine: str = "a machine",
    cut: Mapping[str, Status] | None = None,
    started: str = "",
) -> Measured:
    record = RunRecord(run=f"run of {started}", name="s", status=Status.PASSED, started=started, commit=f"commit of {started}")
    ends = {} if cases is None else {PLACE: dict(cases)}
    return Measured(Path("a-run"), record, {one.name: one for one in measures}, ends, {PLACE: machine}, cut or {})


def runs_of(name: str, values: Sequence[float], sort: Sort = Sort.TIME, *, more_is_better: bool = False) -> list[Measured]:
    """A run for each value, one after the other."""
    return [
        run_of(measure(name, value, sort, more_is_better=more_is_better), started=f"2026-01-{day:02}")
        for day, value in enumerate(values, 1)
    ]


def write_run(
    parent: Path,
    durations_us: Sequence[float] = (),
    cases: Sequence[tuple[str, Outcome, str]] = (),
    status: Status = Status.PASSED,
    bench: BenchRecord | None = None,
    *,
    command: str = "graph_run",
    processor: str = "a processor",
    name: str = "s",
) -> Path:
    """A bundle of one variant. ``cases``: a case, how it ended, and what its expectation is (empty for none)."""
    with new_bundle(parent, name) as bundle:
        for case, outcome, expected in cases:
            bundle.result(CaseRow("s", "v", "ops", case, "ADD", "", outcome, "", 1.0, 0.0, expected=expected))
        for number, us in enumerate(durations_us):
            bundle.call(CallRow("s", "v", "both", 1, number, command, number, round(1000 * us), 1, 2, 3, 4, 8, 8))
        logs = bundle.folder / "logs" / "v"
        if bench is not None:
            logs.mkdir(parents=True)
            (logs / BENCH).write_text(bench.model_dump_json(), encoding="utf-8")
        ordered = sorted(durations_us)
        commands = (
            CommandRecord(
                command=command,
                count=len(ordered),
                failed=0,
                p50_us=ordered[len(ordered) // 2] if ordered else 0,
                p90_us=0,
                p99_us=0,
                max_us=0,
            ),
        )
        calls = CallsRecord(count=len(ordered), commands=commands if ordered else ())
        ok = sum(outcome is Outcome.PASS for _, outcome, _ in cases)
        counts = CaseCounts(ok=ok, fail=len(cases) - ok)
        variant = VariantRecord(name="s", variant="v", status=status, accel="tcg", cases=counts, calls=calls, logs="logs/v")
        host = HostRecord(processor=processor, cores=2)
        run = RunRecord(run=bundle.folder.name, name=name, status=status, started="2026-01-01T00:00:00Z", commit="0123456789abcdef")
        bundle.describe(run.model_copy(update={"variants": (variant,), "host": host}))
        return bundle.folder
