"""Cases of the lab's catalog on the remote device, judged by three oracles: see ``lab.ops.verdict``.

The reference is computed on the host, by the very library that the cases reach over the wire. In the guest one program computes
case after case, many at a time, and tells a digest of each; a verdict that needs no more is written down at once, results with
other bits are fetched and judged at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lab.bundle.expected import ExpectedEnd
from lab.bundle.outcome import Blame, CaseResult, Finding, FindingKind, Outcome
from lab.bundle.rows import Supported
from lab.bundle.writer import CheckWriter
from lab.host.allowance import processor_count
from lab.ops.agent_rows import LOST, AgentRow, Cut, in_order
from lab.ops.case import Case
from lab.ops.catalog import all_cases, case_named, drawn_share
from lab.ops.result import COMPUTED
from lab.ops.session import Fetched, Reference, evidence
from lab.ops.upstream import op_of, refused_devices, remote_device
from lab.ops.verdict import findings, result_of, settled, truth_table
from lab.scenario.checks.ops import explained
from lab.scenario.environment import GGML_THREADS, LIAR_LIBRARY, LIES, VULKAN, vulkan_here, vulkan_variables_of
from lab.scenario.expected_cases import left_out, skip
from lab.scenario.model_catalog import OWN, CatalogCheck
from lab.scenario.platform import ReferenceWish
from lab.scenario.stage import Stage

INTERRUPTED = Cut(Outcome.ERROR, "the lab was interrupted")
"""How every run has ended that was not told another end."""


@dataclass(slots=True)
class CatalogRun:
    """A run of the check as far as it got: what is judged when the calls have been collected, too.

    Args:
        check: what is asked for.
        cases: ids, in the order in which they are computed.
        device: name of the remote device.
        writer: gets every verdict as soon as it is known.
        seconds: from the program's first start to its last end.
        blame: whose fault the ending is, where its outcome alone does not tell.
        ended_by: the case that the ending was laid upon.
        timed: that the seconds are what is wanted: what the program computes with is looked at afterwards, in a start of its own.
    """

    check: CatalogCheck
    cases: tuple[str, ...]
    device: str
    writer: CheckWriter
    reference: Reference | None = None
    rows: dict[str, AgentRow] = field(default_factory=dict)
    results: dict[str, CaseResult] = field(default_factory=dict)
    unexplained: list[Finding] = field(default_factory=list)
    costs: tuple[Finding, ...] = ()
    refusals: tuple[Finding, ...] = ()
    ending: Cut | None = INTERRUPTED
    blame: Blame | None = None
    ended_by: str | None = None
    seconds: float = 0.0
    timed: bool = False

    def take(self, row: AgentRow) -> None:
        """A row has come. Its verdict is written down, unless its results have to be fetched first."""
        assert self.reference is not None, "rows come after the reference"  # noqa: S101 - the order of our own calls
        self.rows[row.case] = row
        if settled(row, self.reference.rows.get(row.case)):
            self._tell(row, Fetched())

    def tell_rest(self, fetched: Fetched) -> None:
        """Write down what had to wait for results to be fetched, with or without them."""
        for case, row in self.rows.items():
            if case not in self.results:
                self._tell(row, fetched)

    def _tell(self, row: AgentRow, fetched: Fetched) -> None:
        assert self.reference is not None, "rows come after the reference"  # noqa: S101 - the order of our own calls
        native = {row.case: self.reference.rows[row.case]} if row.case in self.reference.rows else {}
        known = evidence(self.reference, {row.case: row}, fetched)
        self.results[row.case] = result_of(row, known)
        self.writer.case(self.results[row.case])
        for line in truth_table(native, {row.case: row}):
            self.writer.support(line.case, op_of(line.case), said(line.native), said(line.remote))

    @property
    def cut_off(self) -> bool:
        """Whether a program was ended before its end: what it had sent by then may not have been recorded."""
        return self.ending is not None or bool(self.unexplained) or any(row.outcome == LOST for row in self.rows.values())

    def missing(self) -> tuple[str, ...]:
        """Cases without a verdict."""
        return tuple(case for case in self.cases if case not in self.results)

    def lost_with_guest(self, ending: Cut, blame: Blame | None = None) -> None:
        """The guest is gone, or its time: the case that was next has that end."""
        self.ending, self.blame = ending, blame
        for case in self.missing()[:1]:
            params = case.partition("(")[2].rpartition(")")[0]
            self.ended_by = case
            self.results[case] = CaseResult(case, op_of(case), params, ending.outcome, ending.why)
            self.writer.case(self.results[case])

    def findings(self, last_call: str) -> Iterator[Finding]:
        """Everything wrong with it."""
        if not self.refusals:
            yield from self._ending(last_call)
        yield from self.findings_again()

    def findings_again(self) -> Iterator[Finding]:
        """Everything wrong with a further run of some cases: how many there are was judged before."""
        yield from self.refusals
        if self.refusals:
            return
        yield from self.unexplained
        yield from self._failed_together()
        yield from self.costs
        support = self._lost_support()
        yield from support.values()
        for result in self.results.values():
            blame = result.outcome.blame
            if result.case == self.ended_by and self.blame is not None:
                blame = self.blame
            if blame is not None and result.case not in support:
                kind = FindingKind.CASE_FAILED if result.outcome is Outcome.FAIL else FindingKind.INTERRUPTED
                word = "" if result.outcome is Outcome.FAIL else f"{result.outcome}: "
                yield Finding(kind, blame, f"{word}{result.case}: {result.message}", result.case)

    def _failed_together(self) -> Iterator[Finding]:
        """Batches that failed although each of their cases was computed alone.

        Unless the library did so natively, too, or one of them is expected to fail now and then.
        """
        native = {} if self.reference is None else self.reference.rows
        together: dict[str, list[str]] = {}
        for row in self.rows.values():
            own = native.get(row.case)
            if row.outcome == COMPUTED and row.text and not (own is not None and own.text):
                together.setdefault(row.text, []).append(row.case)
        for text, cases in together.items():
            if not any(self._is_flaky(case) for case in cases):
                told = f"the remote device failed with cases from {cases[0]} on, and computed each alone: {text}"
                yield Finding(FindingKind.PROGRAM_FAILED, Blame.PRODUCT, told, cases[0])

    def _is_flaky(self, case: str) -> bool:
        """Whether a case is expected to fail now and then."""
        entry = self.writer.expected_of(case)
        return entry is not None and entry.end is ExpectedEnd.FLAKY

    def _ending(self, last_call: str) -> Iterator[Finding]:
        """A run that was cut off, or one that proves less than was asked for."""
        if self.ending is not None:
            blame = self.blame or self.ending.outcome.blame or Blame.LAB
            left = self.missing()
            where = f"the first case without a result is {left[0]}" if left else "every case had its result"
            text = f"{self.ending.outcome}: {self.ending.why}; {where}; the last call record is {last_call}"
            yield Finding(FindingKind.INTERRUPTED, blame, text, left[0] if left else None)
            return
        if left := self.missing():
            text = f"{len(left)} of {len(self.cases)} cases have no result, the first is {left[0]}"
            yield Finding(FindingKind.MISSING_CASE, Blame.PRODUCT, text, left[0])
        if all(result.outcome is Outcome.UNSUPPORTED for result in self.results.values()):
            yield Finding(FindingKind.ALL_UNSUPPORTED, Blame.PRODUCT, f"all of {len(self.results)} cases are unsupported")
        computed = sum(result.outcome is not Outcome.UNSUPPORTED for result in self.results.values())
        if computed < self.check.min_cases:
            text = f"{computed} cases were computed, at least {self.check.min_cases} were asked for"
            yield Finding(FindingKind.TOO_FEW_CASES, Blame.PRODUCT, text)

    def _lost_support(self) -> dict[str, Finding]:
        """Support that one side alone claims, by case."""
        if self.reference is None:
            return {}
        told = findings((), evidence(self.reference, self.rows, Fetched()))
        return {found.case: found for found in told if found.case is not None}


def wished_reference(stage: Stage, check: CatalogCheck) -> ReferenceWish:
    """What the check's results must be equal to.

    The host's own library gets its variables natively, too, another one those alone that it finds its device by.
    """
    scenario, variables = stage.variant.scenario, stage.host_variables
    own = check.reference == OWN
    library = scenario.host.ggml_library if own else check.reference
    environment = vulkan_here(VULKAN, stage.ingredients.root) if library == VULKAN and not own else {}
    environment |= vulkan_variables_of(variables)
    if own:
        environment |= {name: variables[name] for name in (LIES, LIAR_LIBRARY) if name in variables}
        environment |= {name: value for name, value in scenario.host.environment.items() if isinstance(value, str)}
    threads = int(variables.get(GGML_THREADS) or processor_count())
    return ReferenceWish(library, own, check.seed, threads, tuple(sorted(environment.items())))


def said(supported: bool | None) -> Supported:
    """What a side says of a case, as ``support.csv`` has it."""
    return Supported.UNKNOWN if supported is None else Supported.YES if supported else Supported.NO


def chosen_cases(check: CatalogCheck) -> tuple[Case, ...]:
    """The cases of a check, in the catalog's order."""
    if check.cases:
        return tuple(case_named(text) for text in check.cases)
    wanted = [case for case in all_cases() if not check.ops or case.op in check.ops]
    wanted = [case for case in wanted if not check.include or _found(check.include, case.id)]
    wanted = [case for case in wanted if not _found(check.exclude, case.id)]
    return drawn_share(wanted, check.seed, check.share)


def _found(patterns: Sequence[str], text: str) -> bool:
    return any(re.search(pattern, text) for pattern in patterns)


def prepared(stage: Stage, check: CatalogCheck, writer: CheckWriter) -> CatalogRun | None:
    """Everything there is before a program starts; None, with the findings written, when it would prove nothing."""
    device = remote_device(stage.listing.devices)
    if device is None:
        for finding in refused_devices(stage.listing.devices):
            writer.finding(explained(finding, stage))
        return None
    every = in_order([case.id for case in chosen_cases(check)])
    gone = set(left_out(writer, every))
    for case in sorted(gone):
        skip(writer, case)
    cases = tuple(case for case in every if case not in gone)
    check = check.model_copy(update={"min_cases": max(1, check.min_cases - len(gone))})
    lacking = sorted(set(check.ops) - {op_of(case) for case in every})
    for op in lacking:
        writer.finding(
            Finding(FindingKind.OP_WITHOUT_CASES, Blame.LAB, f"no case of {op} was chosen; lab ops tells the operations")
        )
    if not cases:
        writer.finding(Finding(FindingKind.NO_CASES, Blame.LAB, "the check leaves no case of the catalog"))
        return None
    return CatalogRun(check, cases, device.name, writer)
