"""What right results must not cost: far more time than the same case takes natively, and memory that is never given back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lab.bundle.outcome import Blame, Finding, FindingKind
from lab.figure import beside
from lab.metrics.memory import MemoryLog
from lab.ops.agent_rows import AgentRow
from lab.ops.result import COMPUTED

NS_PER_MS = 1e6


def slow_cases(
    native: Mapping[str, AgentRow], remote: Mapping[str, AgentRow], *, at_most_times: float, or_ms: float
) -> Iterator[Finding]:
    """Cases that took the remote device longer than ``or_ms``, and longer than ``at_most_times`` what they take natively.

    The time of cases that travelled together is shared among them, so a slow one is found for certain only when each ran alone.
    """
    for case, row in remote.items():
        own = native.get(case)
        if own is None or {row.outcome, own.outcome} != {COMPUTED}:
            continue
        took_ms, native_ms = row.duration_ns / NS_PER_MS, own.duration_ns / NS_PER_MS
        most_ms = max(or_ms, at_most_times * native_ms)
        if took_ms > most_ms:
            text = (
                f"{case}: {beside(took_ms, most_ms, '{:.1f}'.format)} ms on the remote device, {native_ms:.3f} ms natively; "
                f"allowed are {or_ms:g} ms, or {at_most_times:g} times as long as natively"
            )
            yield Finding(FindingKind.TOO_SLOW, Blame.PRODUCT, text, case)


def leaking_cases(log: MemoryLog, *, at_most_kib: float, process: str) -> Iterator[Finding]:
    """Cases of which every run left more than ``at_most_kib`` in the memory of a process."""
    for case, kib in log.growth().items():
        if kib > at_most_kib:
            left = beside(kib, at_most_kib, "{:.0f}".format)
            text = f"{case}: every run of it left {left} KiB in the {process}; allowed are {at_most_kib:g}"
            yield Finding(FindingKind.MEMORY_GROWTH, Blame.PRODUCT, text, case)
