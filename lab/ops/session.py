"""From cases to evidence: natively with two libraries, judged; then on a remote device, and fetched where bits differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lab.bundle.outcome import Outcome
from lab.deadline import Deadline
from lab.ops.agent_rows import AgentRow, Attempt, all_rows
from lab.ops.native import Computed, Files, Judged, NativeRun
from lab.ops.verdict import Evidence, to_fetch


@dataclass(frozen=True, slots=True)
class Reference:
    """What cases must be: computed by the host library itself, and by another build of the CPU backend, and judged."""

    run: NativeRun
    own: Computed
    other: Computed
    judged: Mapping[str, Judged]


def reference_of(
    run: NativeRun, libraries: tuple[str, str], cases: Sequence[str], threads: int | None, deadline: Deadline
) -> Reference:
    """Compute and judge the reference.

    Args:
        run: where and with which seed.
        libraries: the one that the remote device reaches, and a CPU backend of another build.
        cases: ids.
        threads: that the remote device's library computes with; None for one that knows no threads.
        deadline: for all of it.
    """
    own = run.compute(libraries[0], cases, "own", deadline, threads=threads)
    other = run.compute(libraries[1], cases, "other", deadline, threads=1)
    return Reference(run, own, other, run.judge(own.files, deadline, other.files))


def evidence_of(
    cases: Sequence[str],
    reference: Reference,
    attempt: Attempt,
    fetch: Callable[[Sequence[str]], Files],
    deadline: Deadline,
    *,
    lost_as: Outcome = Outcome.GUEST_CRASH,
) -> Evidence:
    """Run cases on the remote device and gather all that a verdict needs.

    Args:
        cases: ids.
        reference: what they must be.
        attempt: runs the agent in the guest once.
        fetch: runs cases there again and brings their results.
        deadline: for all of it.
        lost_as: what a case is that ended the agent.

    Raises:
        LabError: the agent did not start, or lost too many cases.
    """
    remote: dict[str, AgentRow] = {row.case: row for row in all_rows(cases, attempt)}
    wanted = to_fetch(reference.own.rows, remote)
    fetched = reference.run.judge(fetch(wanted), deadline, reference.other.files) if wanted else {}
    library = reference.own.device.registry
    return Evidence(library, reference.own.rows, remote, reference.judged, fetched, lost_as)
