"""The oracles tried on the liar: another check runs while the host's ggml library lies, and must report exactly what it lied about.

Its results and findings are evidence here and no verdict on anything: they go into this check's own case, and the rows of a
catalog's truth table go nowhere.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.bundle.outcome import Blame, CaseResult, Finding, FindingKind, Outcome
from lab.bundle.rows import Supported
from lab.bundle.writer import CheckWriter
from lab.deadline import Deadline
from lab.errors import GuestError, LabError
from lab.ops.upstream import op_of
from lab.scenario.checks import catalog, catalog_agent, ops
from lab.scenario.environment import COMPONENT_LOG
from lab.scenario.guest_programs import Observation
from lab.scenario.model_catalog import CatalogCheck
from lab.scenario.model_checks import Caught, LieCheck, OpsCheck
from lab.scenario.platform import Guest
from lab.scenario.shipment import GUEST_LIBRARY
from lab.scenario.stage import Stage
from lab.threads import beside

TOLD = "ggml-liar: lies about "
"""How the liar begins the line in which it says that it lies."""
UNSEEN = "not looked at"
HANGS = ": hang"
LOOK_S = 0.2
KILL_S = 10.0
REMOTE_PROGRAMS = f"$(grep -l {Path(GUEST_LIBRARY).name} /proc/[0-9]*/maps 2>/dev/null | cut -d/ -f3)"
"""Processes of the guest that have the guest library mapped."""


class Witness(CheckWriter):
    """Keeps the results and findings of a check, and writes down nothing but its facts."""

    def case(self, result: CaseResult) -> None:
        """A case has ended."""
        self.results.append(result)

    def support(self, case: str, op: str, native: Supported, remote: Supported) -> None:
        """What a liar says of its support is not the product's."""

    def finding(self, finding: Finding) -> None:
        """Something is wrong."""
        self.findings.append(finding)


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that a verdict is made of: results by case, findings, and what the liar said of itself."""

    results: Mapping[str, CaseResult]
    findings: Sequence[Finding]
    said: Sequence[str]

    def of(self, case: str) -> tuple[Finding, ...]:
        """Findings that name a case."""
        return tuple(finding for finding in self.findings if finding.case == case)


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that was asked of the check."""

    name: str
    expected: str
    seen: str
    ok: bool


def check_lie(stage: Stage, check: LieCheck, writer: CheckWriter, witness: Witness, *, eyes: ops.Eyes, deadline: Deadline) -> None:
    """Have the liar lie, run the check that must catch it, and write down whether it did.

    Args:
        stage: where.
        check: what is asked for.
        writer: gets the verdict.
        witness: gets what the check that is tried would have written.
        eyes: who looks on.
        deadline: for all of it.
    """
    if stage.lies is None:
        raise LabError("this boot has no liar")
    log = Path(stage.host_variables[COMPONENT_LOG])
    before = len(lines_of(log))
    limit = deadline.narrowed(check.deadline_s)
    with stage.lies.told(check.lies), dying_programs(check, stage.guest, log, eyes) as watching:
        if isinstance(check.judge, CatalogCheck):
            findings = by_catalog(stage, check.judge, witness, watching, limit)
        else:
            findings = by_upstream(stage, check.judge, witness, watching, limit)
    results = {result.case: result for result in witness.results}
    tell(check, tuple(judged(check, Seen(results, findings, lines_of(log)[before:]))), writer)


@contextlib.contextmanager
def dying_programs(check: LieCheck, guest: Guest, log: Path, eyes: ops.Eyes) -> Iterator[ops.Eyes]:
    """Send the check's signal to the guest's program each time that the liar says it hangs, for as long as the context lasts.

    The eyes that come of it tell when a program was looked at: none dies before it is known what it computes with.
    """
    if check.guest_signal is None:
        yield eyes
        return
    over, looked_at, hung = threading.Event(), threading.Event(), hangs(log)

    def observe(pid: int) -> Observation:
        try:
            return eyes.observe(pid)
        finally:
            looked_at.set()

    def watch() -> None:
        nonlocal hung
        while not over.wait(LOOK_S):
            before, hung = hung, hangs(log) if looked_at.is_set() else hung
            if hung > before:
                with contextlib.suppress(GuestError):
                    guest.ssh.execute(f"kill -{check.guest_signal} {REMOTE_PROGRAMS}", Deadline.after(KILL_S))

    with beside(watch, "dying programs", over.set):
        yield ops.Eyes(observe, eyes.on_row)


def hangs(log: Path) -> int:
    """How often the liar has said so far that it hangs."""
    return sum(TOLD in line and HANGS in line for line in lines_of(log))


def by_catalog(stage: Stage, check: CatalogCheck, witness: Witness, eyes: ops.Eyes, deadline: Deadline) -> list[Finding]:
    """Everything that the lab's own engine finds."""
    run = catalog.prepared(stage, check, witness)
    if run is None:
        return witness.findings
    host = stage.platform.reference(catalog.wished_reference(stage, check), stage.ingredients, deadline)
    catalog_agent.run_catalog(stage, run, host, eyes, deadline)
    return [*witness.findings, *run.findings(UNSEEN)]


def by_upstream(stage: Stage, check: OpsCheck, witness: Witness, eyes: ops.Eyes, deadline: Deadline) -> list[Finding]:
    """Everything that is found with ``test-backend-ops``."""
    run = ops.prepared(stage, check, witness, deadline)
    if run is None:
        return witness.findings
    ops.run_program(stage, run, witness, eyes, deadline)
    lost = run.lost_case()
    if lost is not None:
        witness.case(lost)
    return [*witness.findings, *run.findings(UNSEEN)]


def lines_of(log: Path) -> list[str]:
    """The lines of a log; none when it is not there."""
    return log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []


def judged(check: LieCheck, seen: Seen) -> Iterator[Point]:
    """The verdict, point by point."""
    yield from told_points(check.told, seen.said)
    for caught in check.caught:
        yield from caught_points(caught, seen)
    names = {caught.case for caught in check.caught}
    others = [result for case, result in seen.results.items() if case not in names]
    wrong = [f"{one.case}: {one.outcome}: {one.message}" for one in others if one.outcome.blame is not None]
    passed = sum(one.outcome is Outcome.PASS for one in others)
    ok = not wrong and (passed > 0 or bool(names))
    yield Point("all other cases", "right", " / ".join(wrong[:3]) or f"{passed} right", ok)
    findings = [finding.text for finding in seen.findings if finding.case not in names]
    yield Point("findings on anything else", "none", " / ".join(findings[:3]) or "none", not findings)


def told_points(wanted: Sequence[str], said: Sequence[str]) -> Iterator[Point]:
    """Whether the liar did what it was told: each lie was told once at least, and none when it was to be honest."""
    told = [line.partition(TOLD)[2] for line in said if TOLD in line]
    if not wanted:
        yield Point("lies told", "none", " / ".join(told) or "none", not told)
    for lie in wanted:
        line = next((line for line in told if line.endswith(f": {lie}")), None)
        yield Point(f"lie {lie}", "was told", line or "was not told", line is not None)


def caught_points(caught: Caught, seen: Seen) -> Iterator[Point]:
    """What is reported of one case."""
    result, findings = seen.results.get(caught.case), seen.of(caught.case)
    outcome = "no result" if result is None else str(result.outcome)
    yield Point(caught.case, str(caught.outcome), outcome, outcome == caught.outcome)
    texts = [*([] if result is None else [result.message]), *(finding.text for finding in findings)]
    if caught.says:
        said = next((text for text in texts if re.search(caught.says, text)), None)
        yield Point(f"what is said of {caught.case}", caught.says, said or " / ".join(texts) or "nothing", said is not None)
    if caught.finding is not None:
        kinds = [finding.kind for finding in findings]
        yield Point(f"finding on {caught.case}", caught.finding, ", ".join(kinds) or "none", caught.finding in kinds)


def tell(check: LieCheck, points: Sequence[Point], writer: CheckWriter) -> None:
    """Write the points down as facts, the wrong ones as findings, and the whole as one case.

    A lie that is believed is the lab's mistake: the liar is no product under test.
    """
    name = f"LIE({check.lies})"
    for point in points:
        writer.fact(f"{check.lies}: {point.name}", point.expected, point.seen, ok=point.ok)
    wrong = [f"{point.name}: expected {point.expected}, seen {point.seen}" for point in points if not point.ok]
    for text in wrong:
        writer.finding(Finding(FindingKind.LIE_BELIEVED, Blame.LAB, f"{name}: {text}", name))
    message = "; ".join(wrong or (f"{point.name}: {point.seen}" for point in points))
    writer.case(CaseResult(name, op_of(name), check.lies, Outcome.ERROR if wrong else Outcome.PASS, message))
