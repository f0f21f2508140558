"""What came of a variant's cases against what was expected of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lab.bundle.expected import Expected, ExpectedEnd, counted
from lab.bundle.outcome import Blame, CaseResult, Finding, FindingKind, Outcome
from lab.bundle.schema import CaseCounts
from lab.bundle.writer import CheckWriter
from lab.ops.upstream import op_of

JUDGED = frozenset({Outcome.PASS, Outcome.FAIL})
Again = Callable[[Sequence[str], int], None]
"""What a check offers that can run named cases once more: it writes their results, as the attempt of that number."""
Ends = Mapping[tuple[str, str], Sequence[Outcome]]
"""All ends of every case, by check and case."""


def run_again(writer: CheckWriter, again: Again) -> None:
    """Run flaky cases again, as their entries ask for: until a failed one passes, and until there are runs enough for a rate."""
    attempt, due = 2, due_cases(writer, 2)
    while due:
        before = len(writer.results)
        writer.attempt = attempt
        try:
            again(due, attempt)
        finally:
            writer.attempt = 1
        if len(writer.results) == before:
            return
        attempt += 1
        due = due_cases(writer, attempt)


def due_cases(writer: CheckWriter, attempt: int) -> tuple[str, ...]:
    """Cases of flaky entries that are to be run for the ``attempt``-th time."""
    ends = ends_of([writer])
    runs = Counter[int]()
    flaky: dict[str, Expected] = {}
    for (_, case), outcomes in ends.items():
        expected = writer.expected_of(case)
        if expected is not None and expected.end is ExpectedEnd.FLAKY and JUDGED & set(outcomes):
            flaky[case] = expected
            runs[expected.number] += sum(outcome in JUDGED for outcome in outcomes)
    return tuple(
        case
        for case, expected in flaky.items()
        if (Outcome.PASS not in ends[writer.check, case] and attempt <= expected.retries + 1)
        or runs[expected.number] < expected.min_runs
    )


def ends_of(writers: Iterable[CheckWriter]) -> dict[tuple[str, str], list[Outcome]]:
    """How every case ended, each time that it was run."""
    ends: dict[tuple[str, str], list[Outcome]] = {}
    for writer in writers:
        for result in writer.results:
            ends.setdefault((writer.check, result.case), []).append(Outcome(result.outcome))
    return ends


def counts_of(writers: Sequence[CheckWriter]) -> CaseCounts:
    """A variant's cases by how they ended. What a check's further processes, and further runs, say of a case is of the same one."""
    known = {(writer.check, case): expected for writer in writers for case, expected in writer.expected.items()}
    return counted(ends_of(writers), known)


def findings_of(ends: Ends, entries: Sequence[Expected], supported: Sequence[str], *, whole: bool) -> Iterator[Finding]:
    """What is otherwise than expected. ``whole``: everything that the file asks for was run, so what is not there is missing."""
    about: dict[int, list[tuple[str, Sequence[Outcome]]]] = {entry.number: [] for entry in entries}
    for (check, case), outcomes in ends.items():
        entry = next((one for one in entries if one.matches(check, case)), None)
        if entry is not None:
            about[entry.number].append((f"{check}/{case}", outcomes))
            yield from _of_case(f"{check}/{case}", case, outcomes, entry)
    for entry in entries:
        if entry.end is ExpectedEnd.FLAKY:
            yield from _too_flaky(entry, about[entry.number])
        if whole and not about[entry.number]:
            text = f"no case fits the expectation {entry.pattern} ({entry.end}): {entry.words}"
            yield Finding(FindingKind.UNUSED_EXPECTATION, Blame.PRODUCT, text)
    yield from _lost({f"{check}/{case}": outcomes for (check, case), outcomes in ends.items()}, supported, whole=whole)


def unheard_of(ends: Ends, named: Sequence[str]) -> Iterator[Finding]:
    """Cases that were named and did not run: there are none of that text."""
    heard = {case for _, case in ends}
    missing = [case for case in named if case not in heard]
    if missing:
        text = f"{len(missing)} of {len(named)} cases that were named did not run, the first is {missing[0]}"
        yield Finding(FindingKind.MISSING_CASE, Blame.LAB, text, missing[0])


def _of_case(name: str, case: str, outcomes: Sequence[Outcome], entry: Expected) -> Iterator[Finding]:
    """A case of which something is expected."""
    ends = set(outcomes)
    if entry.end is ExpectedEnd.SKIP:
        return
    if ends == {Outcome.UNSUPPORTED}:
        text = f"{name} is unsupported, and is expected to be computed ({entry.end}): {entry.words}"
        yield Finding(FindingKind.LOST_SUPPORT, Blame.PRODUCT, text, case)
    elif entry.end is ExpectedEnd.FAIL and Outcome.PASS in ends:
        text = f"{name} passes, and is expected to fail: {entry.words}"
        yield Finding(FindingKind.UNEXPECTED_PASS, Blame.PRODUCT, text, case)
    elif entry.end is ExpectedEnd.FLAKY and Outcome.FAIL in ends and Outcome.PASS not in ends:
        text = f"{name} failed in all of {len(outcomes)} runs, and is expected to be flaky: {entry.words}"
        yield Finding(FindingKind.CASE_FAILED, Blame.PRODUCT, text, case)


def _too_flaky(entry: Expected, cases: Sequence[tuple[str, Sequence[Outcome]]]) -> Iterator[Finding]:
    """A rate above its bound."""
    ends = [outcome for _, outcomes in cases for outcome in outcomes if outcome in JUDGED]
    failed = ends.count(Outcome.FAIL)
    if len(ends) >= entry.min_runs and failed > entry.max_rate * len(ends):
        worst = next(name for name, outcomes in cases if Outcome.FAIL in outcomes)
        text = (
            f"{failed} of {len(ends)} runs of {entry.pattern} failed, at most {100 * entry.max_rate:.4g}% are expected to, "
            f"{worst} among them: {entry.words}"
        )
        yield Finding(FindingKind.TOO_FLAKY, Blame.PRODUCT, text, worst.partition("/")[2])


def _lost(ends: Mapping[str, Sequence[Outcome]], supported: Sequence[str], *, whole: bool) -> Iterator[Finding]:
    """Cases that must be there and be supported."""
    lost = [name for name in supported if Outcome.UNSUPPORTED in ends.get(name, ())]
    missing = [name for name in supported if name not in ends]
    if lost:
        text = f"{len(lost)} of {len(supported)} cases that were supported are not, the first is {lost[0]}"
        yield Finding(FindingKind.LOST_SUPPORT, Blame.PRODUCT, text, lost[0].partition("/")[2])
    if missing and whole:
        text = f"{len(missing)} of {len(supported)} cases that were supported did not run, the first is {missing[0]}"
        yield Finding(FindingKind.MISSING_CASE, Blame.PRODUCT, text, missing[0].partition("/")[2])


def left_out(writer: CheckWriter, cases: Sequence[str]) -> tuple[str, ...]:
    """Those of the cases that are expected to be skipped."""
    return tuple(case for case in cases if (one := writer.expected_of(case)) is not None and one.end is ExpectedEnd.SKIP)


def skip(writer: CheckWriter, case: str) -> None:
    """Write down that a case was left out."""
    expected = writer.expected_of(case)
    params = case.partition("(")[2].rpartition(")")[0]
    writer.case(CaseResult(case, op_of(case), params, Outcome.SKIPPED, expected.words if expected else ""))
