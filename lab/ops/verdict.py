"""Three oracles, one verdict a case.

The remote device's results are known by digest. Where the digest is that of the host library's own native run, the results are
its results, bit for bit (transparency), and what the judge said of those on the host (mean square error against another build of
the CPU backend, goldens) holds for them, too. Where it is not, the results are fetched and judged themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lab.bundle.outcome import Blame, CaseResult, Finding, FindingKind, Outcome
from lab.ggml.registry import Device
from lab.ops.agent_rows import LOST, AgentRow
from lab.ops.catalog import case_named
from lab.ops.native import Judged
from lab.ops.result import COMPUTED

BROKEN_COUNT = (
    "ggml-cpu 0.27 counts elements beyond the tensor when COUNT_EQUAL has more than two dimensions: it depends on what lies there"
)


@dataclass(frozen=True, slots=True)
class Excuse:
    """A case that may fail an oracle, and why. ``library`` is the registry of the host library that does it.

    ``SUPPORT`` among the oracles: the remote device may refuse what the library computes, though not the reverse.
    """

    case: str
    library: str
    oracles: tuple[str, ...]
    reason: str


EXCUSED = "excused"
TRANSPARENCY, GOLDEN, ERROR, SUPPORT = "transparency", "golden", "NMSE", "support"
EXCUSES = tuple(
    Excuse(case, library, oracles, BROKEN_COUNT)
    for case in ("COUNT_EQUAL()", "COUNT_EQUAL(values=1)")
    # Others are only compared with it.
    for library, oracles in (
        ("CPU", (TRANSPARENCY, GOLDEN, ERROR, SUPPORT)),
        *((name, (ERROR,)) for name in ("CUDA", "ROCm", "Vulkan")),
    )
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known when a case is judged.

    Args:
        library: registry of the host library, such as ``CPU``.
        native: rows of its native run.
        remote: rows of the remote device.
        judged: of the native run's results.
        fetched: of remote results that were fetched, because their digest was another.
        again: rows of the remote device when it computed those again.
    """

    library: str
    native: Mapping[str, AgentRow]
    remote: Mapping[str, AgentRow]
    judged: Mapping[str, Judged]
    fetched: Mapping[str, Judged]
    again: Mapping[str, AgentRow] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Support:
    """A line of the truth table: what the library says natively and what the remote device says; None: it was not heard."""

    case: str
    native: bool | None
    remote: bool | None

    @property
    def agree(self) -> bool:
        """Whether both say the same."""
        return self.native is self.remote


def to_fetch(native: Mapping[str, AgentRow], remote: Mapping[str, AgentRow]) -> tuple[str, ...]:
    """Cases whose remote results are others than the native ones and so are wanted whole."""
    computed = (row for row in remote.values() if row.outcome == COMPUTED)
    return tuple(row.case for row in computed if row.case not in native or native[row.case].digest != row.digest)


def truth_table(native: Mapping[str, AgentRow], remote: Mapping[str, AgentRow]) -> tuple[Support, ...]:
    """Every case that either side told, in the order of the native run."""
    names = list(dict.fromkeys((*native, *remote)))
    return tuple(Support(name, *(rows[name].supported if name in rows else None for rows in (native, remote))) for name in names)


def results(cases: Iterable[str], evidence: Evidence) -> tuple[CaseResult, ...]:
    """The verdict on every case that the remote device told."""
    return tuple(result_of(evidence.remote[case], evidence) for case in cases if case in evidence.remote)


def findings(cases: Sequence[str], evidence: Evidence) -> tuple[Finding, ...]:
    """What is wrong besides the failed cases themselves: cases without a row, and support that one side alone claims."""
    found = []
    missing = [case for case in cases if case not in evidence.remote]
    if missing:
        text = f"{len(missing)} of {len(cases)} cases have no result, the first is {missing[0]}"
        found.append(Finding(FindingKind.MISSING_CASE, Blame.PRODUCT, text, missing[0]))
    lost = [line for line in truth_table(evidence.native, evidence.remote) if line.native is not None and line.remote is not None]
    for line in lost:
        if not line.agree and _excused_refusal(line.case, evidence.library, native=line.native) is None:
            text = f"{line.case}: the host library {_says(line.native)} it, the remote device {_says(line.remote)} it"
            found.append(Finding(FindingKind.LOST_SUPPORT, Blame.PRODUCT, text, line.case))
    return tuple(found)


def _says(supported: bool | None) -> str:
    return "computes" if supported else "refuses"


def refused_reference(native: Device, remote: Device, remote_registry: str) -> tuple[Finding, ...]:
    """Why the comparison would prove nothing: the reference is the remote device, or the remote device is none."""
    if remote.registry != remote_registry:
        text = f"cases were computed by {remote.name!r} of registry {remote.registry}, not {remote_registry}"
        return (Finding(FindingKind.NO_SUCH_DEVICE, Blame.PRODUCT, text),)
    if native.registry == remote_registry:
        text = f"the reference {native.name!r} is of registry {native.registry}, which is the remote device's own"
        return (Finding(FindingKind.WRONG_REFERENCE, Blame.LAB, text),)
    return ()


def settled(row: AgentRow, native: AgentRow | None) -> bool:
    """Whether the verdict needs nothing but the reference: nothing was computed, or the bits are its own."""
    return row.outcome != COMPUTED or (native is not None and native.digest == row.digest)


def result_of(row: AgentRow, evidence: Evidence) -> CaseResult:
    """The verdict on one case."""
    case = case_named(row.case)
    params = row.case[len(case.op) + 1 : -1]
    outcome, message = _verdict(row, evidence)
    return CaseResult(row.case, case.op, params, outcome, message, row.duration_ns / 1e6, row.digest)


def _verdict(row: AgentRow, evidence: Evidence) -> tuple[Outcome, str]:
    native = evidence.native.get(row.case)
    if row.outcome == LOST:
        return row.lost_as, row.text
    if native is None or native.supported is None:
        return Outcome.ERROR, f"the host library itself did not get through it natively: {native.text if native else 'no row'}"
    if row.supported is None:
        return Outcome.FAIL, f"the remote device failed: {row.text}"
    if native.supported is not row.supported:
        excuse = _excused_refusal(row.case, evidence.library, native=native.supported)
        if excuse is not None:
            return Outcome.UNSUPPORTED, f"{EXCUSED} ({SUPPORT}): {excuse.reason}"
        return Outcome.FAIL, f"the host library {_says(native.supported)} it, the remote device {_says(row.supported)} it"
    return _of_results(row, native, evidence) if row.supported else (Outcome.UNSUPPORTED, "")


def _of_results(row: AgentRow, native: AgentRow, evidence: Evidence) -> tuple[Outcome, str]:
    """The verdict on what both sides computed. Bits that are the library's own say nothing of whether it is right."""
    same = native.digest == row.digest
    said = (evidence.judged if same else evidence.fetched).get(row.case)
    complaints = [] if same else [(TRANSPARENCY, _other_bits(row, native, evidence.again.get(row.case)))]
    if said is None:
        complaints.append((ERROR, "its results were not judged"))
    else:
        complaints += [(GOLDEN, f"golden: {said.golden}")] if said.golden_ok is False else []
        complaints += [(ERROR, f"against another build of the CPU backend: {said.against}")] if said.against_ok is False else []
    if said is not None and not complaints and said.against_ok is None and said.golden_ok is None:
        return Outcome.ERROR, f"nothing to compare with but the host library itself: {said.golden or 'no golden'}"
    return _excused(row.case, evidence.library, complaints)


def _other_bits(row: AgentRow, native: AgentRow, again: AgentRow | None) -> str:
    told = f"other bits than the host library's own ({row.digest} for {native.digest})"
    if again is None:
        return told
    second = {row.digest: "the same wrong bits", native.digest: "right"}.get(again.digest, "other wrong bits")
    return f"{told}; run again: {second}"


def _excuse_of(case: str, library: str) -> Excuse | None:
    return next((one for one in EXCUSES if one.case == case and one.library == library), None)


def _excused_refusal(case: str, library: str, *, native: bool | None) -> Excuse | None:
    """The excuse for a remote device that refuses what the library computes, where there is one."""
    excuse = _excuse_of(case, library)
    return excuse if native and excuse is not None and SUPPORT in excuse.oracles else None


def _excused(case: str, library: str, complaints: Sequence[tuple[str, str]]) -> tuple[Outcome, str]:
    """The verdict on complaints, of which those with an excuse are only told."""
    excuse = _excuse_of(case, library)
    serious = [text for oracle, text in complaints if excuse is None or oracle not in excuse.oracles]
    if serious:
        return Outcome.FAIL, "; ".join(serious)
    if complaints and excuse is not None:
        return Outcome.PASS, f"{EXCUSED} ({', '.join(oracle for oracle, _ in complaints)}): {excuse.reason}"
    return Outcome.PASS, ""
