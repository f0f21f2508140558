"""What the catalog's cases cost on the remote device: time beside the native run's, and memory left behind in the worker.

Every run of a case that is measured has to have its right result, too: a device may be wrong, or refuse, the second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from lab.bundle.outcome import Blame, Finding, FindingKind, Outcome
from lab.metrics.memory import MemoryLog, private_kib
from lab.ops.agent_rows import AgentRow, AgentStream
from lab.ops.cost import leaking_cases, slow_cases
from lab.ops.result import COMPUTED
from lab.ops.session import Fetched, evidence
from lab.ops.verdict import result_of
from lab.scenario.checks.catalog import CatalogRun
from lab.scenario.model_catalog import Cost


class Alone(Protocol):
    """Runs cases one by one, and knows which processes on the host serve them."""

    @property
    def workers(self) -> frozenset[int]:
        """Process ids of those that serve what runs now."""

    def alone(self, cases: Sequence[str], on_row: Callable[[AgentRow], None]) -> AgentStream:
        """Run cases, each alone, and tell every row as it comes."""


def cost_findings(run: CatalogRun, cost: Cost, program: Alone) -> Iterator[Finding]:
    """Cases that are slow, leave memory behind or have another result now; those that had no right one are passed over."""
    right = [case for case in run.cases if case in run.results and run.results[case].outcome is Outcome.PASS]
    memory, quickest, wrong = MemoryLog(), dict[str, AgentRow](), dict[str, str]()

    def on_row(row: AgentRow) -> None:
        memory.take(row.case, worker_kib(program.workers))
        if row.case in right and run.reference is not None:
            result = result_of(row, evidence(run.reference, {row.case: row}, Fetched()))
            if result.outcome.blame is not None:
                wrong.setdefault(row.case, result.message)
        known = quickest.get(row.case)
        if row.outcome == COMPUTED and (known is None or row.duration_ns < known.duration_ns):
            quickest[row.case] = row

    stream = program.alone([case for case in right for _ in range(cost.runs)], on_row)
    native = {} if run.reference is None else run.reference.rows
    yield from slow_cases(native, quickest, at_most_times=cost.times_native, or_ms=cost.or_ms)
    yield from leaking_cases(memory, at_most_kib=cost.worker_kib, process="host's worker")
    for case, why in wrong.items():
        text = f"{case}: right at first, and not when what it costs was measured: {why}"
        yield Finding(FindingKind.CASE_FAILED, Blame.PRODUCT, text, case)
    if not stream.ended or set(quickest) | set(wrong) != set(right):
        left = next((case for case in right if case not in quickest and case not in wrong), None)
        why = stream.why or "its rows are not complete"
        yield Finding(FindingKind.INTERRUPTED, Blame.PRODUCT, f"measuring what cases cost did not come to its end: {why}", left)
    elif len(memory.growth()) != len(right):
        yield Finding(FindingKind.INTERRUPTED, Blame.LAB, "the memory of the host's worker could not be measured")


def worker_kib(workers: frozenset[int]) -> int | None:
    """What the processes have to themselves; None without any."""
    known = [kib for kib in map(private_kib, workers) if kib is not None]
    return sum(known) if known else None
