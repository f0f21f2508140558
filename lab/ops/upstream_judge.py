"""What is wrong with a sweep of ``test-backend-ops`` over its batches: everything but what single processes say of themselves.

``support`` and ``perf`` always exit with 0, "0 of 0 passed" passes, and so does a device that supports nothing: so rows are
counted against the list of cases, and what is unsupported against what the host's own library said when they were listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from lab.bundle.outcome import Blame, CaseResult, Finding, FindingKind, Outcome
from lab.ops.upstream_cases import ListedCase, Mode

TOLD = 3
"""So many things of a kind are told in a finding's text; the rows have all."""


@dataclass(slots=True)
class Sweep:
    """What came of all processes.

    Attributes:
        results: by case; those that an earlier run had first.
        kept: how many are of an earlier run.
        bad: how many failed or were lost.
        unexplained: ends of processes that rows do not explain, in a sentence each.
        stopped: why no further process was started, and ``blame`` whose fault that is.
    """

    results: dict[str, CaseResult] = field(default_factory=dict)
    kept: int = 0
    foreign: list[str] = field(default_factory=list)
    surplus: list[str] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)
    stopped: str = ""
    blame: Blame = Blame.LAB

    bad: int = 0

    @classmethod
    def of(cls, kept: Sequence[CaseResult]) -> Sweep:
        """A sweep that goes on with results of an earlier run."""
        sweep = cls(kept=len(kept))
        for result in kept:
            sweep.add(result)
        return sweep

    def add(self, result: CaseResult) -> None:
        """A case has its result."""
        self.results[result.case] = result
        self.bad += result.outcome.blame is not None

    def take(self, foreign: Sequence[str], surplus: Sequence[str]) -> None:
        """Rows of one process that should not be there."""
        self.foreign += foreign
        self.surplus += surplus


def findings_of(sweep: Sweep, wanted: Sequence[ListedCase], mode: Mode, *, ops: Sequence[str], min_cases: int) -> Iterator[Finding]:
    """Everything wrong, in the order of its weight."""
    yield from _gaps(sweep, wanted)
    yield from _strangers(sweep)
    results = [sweep.results[one.case] for one in wanted if one.case in sweep.results]
    yield from _breadth(results, wanted, ops, stopped=bool(sweep.stopped))
    if not sweep.stopped and results:
        yield from _too_few(results, mode, min_cases)
    yield from _support(results, wanted, mode)
    yield from bad_cases(results)


def findings_again(sweep: Sweep, wanted: Sequence[ListedCase]) -> Iterator[Finding]:
    """Everything wrong with a further run of some cases: what is supported and how many there are was judged before."""
    yield from _gaps(sweep, wanted)
    yield from _strangers(sweep)
    yield from bad_cases(sweep.results.values())


def _gaps(sweep: Sweep, wanted: Sequence[ListedCase]) -> Iterator[Finding]:
    """Cases without a result, and what stopped it all."""
    missing = [one.case for one in wanted if one.case not in sweep.results]
    if sweep.stopped:
        where = f"{len(missing)} of {len(wanted)} cases have no result" + (f", the first is {missing[0]}" if missing else "")
        yield Finding(FindingKind.INTERRUPTED, sweep.blame, f"{sweep.stopped}; {where}", missing[0] if missing else None)
    elif missing:
        text = f"{len(missing)} of {len(wanted)} expected cases have no result, the first is {missing[0]}"
        yield Finding(FindingKind.MISSING_CASE, Blame.PRODUCT, text, missing[0])


def _strangers(sweep: Sweep) -> Iterator[Finding]:
    """Rows that are none of this sweep's, and processes that ended as their rows do not explain."""
    if sweep.foreign:
        text = f"{len(sweep.foreign)} rows are of another device, the first of {sweep.foreign[0]!r}"
        yield Finding(FindingKind.NO_SUCH_DEVICE, Blame.PRODUCT, text)
    if sweep.surplus:
        text = f"{len(sweep.surplus)} cases were not expected, the first is {sweep.surplus[0]}"
        yield Finding(FindingKind.SURPLUS_CASE, Blame.LAB, text, sweep.surplus[0])
    for text in sweep.unexplained[:TOLD]:
        yield Finding(FindingKind.PROGRAM_FAILED, Blame.PRODUCT, text)
    if left := sweep.unexplained[TOLD:]:
        yield Finding(FindingKind.PROGRAM_FAILED, Blame.PRODUCT, f"{len(left)} more of the kind, the last: {left[-1]}")


def _breadth(
    results: Sequence[CaseResult], wanted: Sequence[ListedCase], ops: Sequence[str], *, stopped: bool
) -> Iterator[Finding]:
    """Nothing was run, nothing of it is supported, or an operation has no case."""
    if not results:
        if not stopped:
            yield Finding(FindingKind.NO_CASES, Blame.PRODUCT, "test-backend-ops ran none of the cases")
        return
    if all(result.outcome is Outcome.UNSUPPORTED for result in results):
        yield Finding(FindingKind.ALL_UNSUPPORTED, Blame.PRODUCT, f"all of {len(results)} cases are unsupported")
    listed = {one.op for one in wanted}
    for op in ops:
        if op not in listed:
            yield Finding(FindingKind.OP_WITHOUT_CASES, Blame.LAB, f"no case of {op} was chosen; the patterns leave none of it")


def _too_few(results: Sequence[CaseResult], mode: Mode, min_cases: int) -> Iterator[Finding]:
    """Fewer cases than asked for, without the refused ones, which are answers only where nothing but support is asked about."""
    computed = sum(result.outcome is not Outcome.UNSUPPORTED for result in results)
    told, what = (len(results), "ran") if mode is Mode.SUPPORT else (computed, "were computed")
    if told < min_cases:
        yield Finding(FindingKind.TOO_FEW_CASES, Blame.PRODUCT, f"{told} cases {what}, at least {min_cases} were asked for")


def _support(results: Sequence[CaseResult], wanted: Sequence[ListedCase], mode: Mode) -> Iterator[Finding]:
    """Cases that the remote device refuses and the host's own library does not, and the other way round.

    ``grad`` has reasons of its own to pass over a case (large tensors, no parameters, a type, a refused gradient), and the list
    is of the operation's support alone.
    """
    native = {one.case: one.supported for one in wanted}
    refused = [one.case for one in results if one.refused and native[one.case] and mode is not Mode.GRAD]
    if refused:
        text = f"{len(refused)} cases that the host's own library supports are unsupported: {', '.join(refused[:TOLD])}"
        yield Finding(FindingKind.LOST_SUPPORT, Blame.PRODUCT, text, refused[0])
    answered = [one for one in results if one.outcome in {Outcome.PASS, Outcome.FAIL, Outcome.UNSUPPORTED}]
    claimed = [one.case for one in answered if not one.refused and not native[one.case]]
    if claimed:
        text = f"{len(claimed)} cases that the host's own library does not support are claimed: {', '.join(claimed[:TOLD])}"
        yield Finding(FindingKind.CLAIMED_SUPPORT, Blame.PRODUCT, text, claimed[0])


def bad_cases(results: Iterable[CaseResult]) -> Iterator[Finding]:
    """One finding for every case that failed or was lost. No expectation covers a lost one."""
    for result in results:
        if result.outcome is Outcome.FAIL:
            yield Finding(FindingKind.CASE_FAILED, Blame.PRODUCT, f"{result.case}: {result.message}", result.case)
        elif result.outcome.blame is not None:
            text = f"{result.case}: {result.outcome}: {result.message}"
            yield Finding(FindingKind.INTERRUPTED, result.outcome.blame, text, result.case)
