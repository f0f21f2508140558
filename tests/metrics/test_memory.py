"""What is left behind by each run of a case is told apart from what anything costs once."""

from __future__ import annotations

import mmap
import os

from lab.bundle.outcome import FindingKind
from lab.metrics.memory import MemoryLog, private_kib
from lab.ops.agent_rows import AgentRow
from lab.ops.cost import leaking_cases, slow_cases
from lab.ops.result import COMPUTED, UNSUPPORTED

MS = 1_000_000
HELD_KIB = 64 << 10


def log_of(**runs: tuple[int, ...]) -> MemoryLog:
    log = MemoryLog()
    for case, samples in runs.items():
        for kib in samples:
            log.take(case, kib)
    return log


def test_private_memory_grows_with_what_is_written() -> None:
    before = private_kib("self")
    # a mapping of its own: what malloc gives may have been the process's before
    with mmap.mmap(-1, HELD_KIB << 10, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as held:
        held.write(b"\1" * len(held))
        after = private_kib(os.getpid())
    assert before is not None
    assert after is not None
    assert HELD_KIB / 2 < after - before < HELD_KIB * 2


def test_process_that_has_ended_has_no_memory() -> None:
    assert private_kib(2**22 + 1) is None
    log = log_of(a=(1, 2, 3))
    log.take("a", None)
    assert log.growth() == {"a": 1.0}


def test_growth_is_that_of_every_run_but_the_first() -> None:
    log = log_of(warm=(500, 900, 900, 900), leaks=(900, 1900, 2900), few=(1, 2))
    assert log.growth() == {"warm": 400 / 3, "leaks": 1000.0}
    (finding,) = leaking_cases(log, at_most_kib=200, process="worker 7")
    assert (finding.kind, finding.case) == (FindingKind.MEMORY_GROWTH, "leaks")
    assert finding.text == "leaks: every run of it left 1000 KiB in the worker 7; allowed are 200"
    (little,) = leaking_cases(log_of(a=(0, 200, 401)), at_most_kib=200, process="worker")
    assert "left 200.5 KiB in the worker; allowed are 200" in little.text


def rows(**durations_ms: float) -> dict[str, AgentRow]:
    return {case: AgentRow(case, COMPUTED, duration_ns=int(ms * MS)) for case, ms in durations_ms.items()}


def test_slow_is_what_is_beyond_both_bounds() -> None:
    native = rows(quick=0.01, heavy=40, slow=1, unheard=1)
    remote = {**rows(quick=90, heavy=900, slow=101, new=9000), "unheard": AgentRow("unheard", UNSUPPORTED, duration_ns=MS * 900)}
    (finding,) = slow_cases(native, remote, at_most_times=50, or_ms=100)
    assert (finding.kind, finding.case) == (FindingKind.TOO_SLOW, "slow")
    assert finding.text.startswith("slow: 101.0 ms on the remote device, 1.000 ms natively; allowed are 100 ms")
    (little,) = slow_cases(rows(a=1), rows(a=100.04), at_most_times=50, or_ms=100)
    assert little.text.startswith("a: 100.04 ms on the remote device, ")
