"""Ops computed on the remote device by ``test-backend-ops`` in the guest, compared with the guest's own CPU backend."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from lab.bundle.outcome import Blame, CaseResult, Finding, FindingKind, Outcome
from lab.bundle.writer import CheckWriter
from lab.deadline import Deadline
from lab.errors import CommandFailed, GuestError, GuestLost, WaitTimeout
from lab.ggml.registry import Device
from lab.ops.upstream import (
    CPU_DEVICE,
    NAME_PREFIX,
    Ending,
    ExpectedCases,
    RowStream,
    expected_cases,
    first_harmed,
    first_without_result,
    guest_command,
    judge,
    judge_process,
    lost_support,
    op_of,
    program_argv,
    refused_devices,
    remote_device,
)
from lab.ops.upstream_cases import Listed, Mode
from lab.scenario.checks.state import Fact, mapped_facts, missing_variables, said_at_loading, tell
from lab.scenario.checks.watch import Watch, watched
from lab.scenario.ended import time_over
from lab.scenario.evidence import crash_blame, crash_outcome
from lab.scenario.expected_cases import left_out, skip
from lab.scenario.guest_programs import Observation
from lab.scenario.model_checks import OpsCheck
from lab.scenario.stage import Stage

LOG = "test-backend-ops{}.log"
KILL_S = 10.0
INTERRUPTED = Ending(None, Outcome.ERROR, "the lab was interrupted")
"""How every run has ended that was not told another end."""
SIGNALLED = 128
HEADER_START = '"backend_name"'


@dataclass(slots=True)
class OpsRun:
    """A run of the program as far as it got: what is judged when the calls have been collected, too."""

    check: OpsCheck
    cases: ExpectedCases
    stream: RowStream
    number: int = 1
    ending: Ending = INTERRUPTED
    rows_from: float | None = None
    rows_until: float | None = None
    proven: bool = False
    """Whether the libraries of the running program were looked at."""
    refused: frozenset[str] | None = None
    """Cases that the host's own library refuses natively; None where it was not asked."""

    @property
    def log(self) -> str:
        """Name of the file that gets its output."""
        return LOG.format("" if self.number == 1 else f"-{self.number}")

    def sign(self) -> None:
        """A row has come."""
        self.rows_until = time.monotonic()
        self.rows_from = self.rows_from or self.rows_until

    @property
    def expected(self) -> tuple[str, ...]:
        """Ids of the expected cases, in their order."""
        return self.cases.ids

    def findings(self, last_call: str, loss: str = "") -> tuple[Finding, ...]:
        """Everything wrong with it; an interruption names the last remote call, too. ``loss``: what a worker was lost by."""
        judged = judge(self.stream, self.ending, self.expected, selection=self.check.selection, min_cases=self.check.min_cases)
        told = (
            replace(finding, text=f"{finding.text}; the last call record is {last_call}")
            if finding.kind is FindingKind.INTERRUPTED
            else finding
            for finding in judged
        )
        return (*self.unproven(), *self.lost_support(loss), *self.claimed_support(), *told)

    def unproven(self) -> tuple[Finding, ...]:
        """That it has results, and nobody knows of which libraries."""
        if not self.stream.results or self.proven:
            return ()
        text = (
            f"{len(self.stream.results)} cases have results, but the program was not looked at while it had a worker: "
            "nobody knows which libraries computed"
        )
        return (Finding(FindingKind.WRONG_LIBRARY, Blame.LAB, text),)

    def lost_support(self, loss: str) -> Iterator[Finding]:
        """Cases that the remote device refuses and the host's own library does not.

        Behind the loss of a worker a program may well tell failures as a mere lack of support: where the library was not asked,
        what a CPU supports is held against it then.
        """
        refused = self.cases.unsupported if self.refused is None and loss else self.refused
        results = self.stream.results
        lost = [] if refused is None else [one.case for one in results if lost_support(one, refused)]
        if lost:
            whose, since = "a CPU" if self.refused is None else "the host's own library", f" since {loss}" if loss else ""
            text = f"{len(lost)} cases that {whose} supports are unsupported{since}, the first is {lost[0]}"
            yield Finding(FindingKind.LOST_SUPPORT, Blame.PRODUCT, text, lost[0])

    def claimed_support(self) -> Iterator[Finding]:
        """Cases that were not compared, because the reference refuses them, and that the host's own library refuses, too."""
        uncompared = [one for one in self.stream.results if one.outcome is Outcome.UNSUPPORTED and not one.refused]
        claimed = [one.case for one in uncompared if self.refused is not None and one.case in self.refused]
        if claimed:
            text = f"{len(claimed)} cases that the host's own library does not support are claimed, the first is {claimed[0]}"
            yield Finding(FindingKind.CLAIMED_SUPPORT, Blame.PRODUCT, text, claimed[0])

    def lost_case(self, loss: str = "") -> CaseResult | None:
        """The case that was running when a worker was lost, or when a crash or hang ended it all."""
        harmed = first_harmed(self.stream.results, self.cases) if loss else None
        if harmed is not None:
            return replace(harmed, outcome=Outcome.HOST_CRASH, message=f"{loss}; {harmed.message or 'told as unsupported'}")
        case = first_without_result(self.stream.results, self.expected)
        if self.ending.cut_off is None or self.ending.cut_off is Outcome.ERROR or case is None:
            return None
        params = params_of(case)
        if loss:
            return CaseResult(case, op_of(case), params, Outcome.HOST_CRASH, f"{loss}; {self.ending.why}")
        return CaseResult(case, op_of(case), params, self.ending.cut_off, self.ending.why)


def prepared(stage: Stage, check: OpsCheck, writer: CheckWriter, deadline: Deadline) -> OpsRun | None:
    """Everything there is before the program starts; None, with the findings written, when it would prove nothing."""
    refusals = refused_devices(stage.listing.devices)
    device = remote_device(stage.listing.devices)
    for finding in refusals:
        writer.finding(explained(finding, stage))
    if refusals or device is None:
        return None
    native = stage.platform.native_cases(check.selection, stage.ingredients, deadline)
    refused = native_refusals(stage, device, native, deadline)
    check, expected = without_skipped(check, native or guest_cases(stage, check, deadline), writer)
    if not expected.ids:
        text = f"the patterns leave no case of {', '.join(check.ops)}"
        writer.finding(Finding(FindingKind.NO_CASES, Blame.LAB, text))
        return None
    return OpsRun(check, expected, RowStream(device.name, writer.case), refused=refused)


def without_skipped(check: OpsCheck, cases: ExpectedCases, writer: CheckWriter) -> tuple[OpsCheck, ExpectedCases]:
    """The check and its cases without those that are expected to be skipped.

    The program's one pattern is for the parameters of all operations, so a case stays whose parameters another one has that is
    not to be skipped: it is run, and not counted as passed.
    """
    unwanted = set(left_out(writer, cases.ids))
    kept = {params_of(case) for case in cases.ids if case not in unwanted}
    gone = dict.fromkeys(case for case in cases.ids if case in unwanted and params_of(case) not in kept)
    if not gone:
        return check, cases
    for case in gone:
        skip(writer, case)
    never = f"(?!(?:{'|'.join(re.escape(params) for params in sorted({params_of(case) for case in gone}))})$)"
    patterns = (f"{never}(?:{'|'.join(check.patterns) or '.*'})",)
    left = tuple(case for case in cases.ids if case not in gone)
    still = set(map(op_of, left))
    ops = tuple(op for op in check.ops if op in still)
    narrowed = {"patterns": patterns, "ops": ops, "min_cases": max(1, check.min_cases - len(gone))}
    return check.model_copy(update=narrowed), ExpectedCases(left, cases.unsupported)


def params_of(case: str) -> str:
    """The parameters in a case id."""
    return case.partition("(")[2].rpartition(")")[0]


def run_named(stage: Stage, run: OpsRun, writer: CheckWriter, cases: Sequence[str], *, eyes: Eyes, deadline: Deadline) -> None:
    """Run named cases once more, in one process; results of others that the program cannot keep apart are passed over."""

    def on_result(result: CaseResult) -> None:
        if result.case in cases:
            writer.case(result)

    narrowed = {
        "ops": tuple(dict.fromkeys(map(op_of, cases))),
        "patterns": tuple(f"{re.escape(params)}$" for params in sorted({params_of(case) for case in cases})),
        "jobs": 1,
    }
    again = OpsRun(run.check.model_copy(update=narrowed), ExpectedCases(tuple(cases)), RowStream(run.stream.device, on_result))
    run_program(stage, again, writer, eyes, deadline)
    for finding in (*again.unproven(), *judge_process(again.stream, again.ending, again.expected)):
        writer.add(replace(finding, text=f"while flaky cases ran again: {finding.text}"))


def explained(finding: Finding, stage: Stage) -> Finding:
    """The finding with what is known of its cause: variables that the run does not set, and what loader and library have said."""
    missing = missing_variables(stage)
    text = finding.text
    if said := said_at_loading(stage):
        text += f"; {said}"
    if missing:
        text += f"; QEMU's environment lacks {', '.join(missing)}, without which there can be no remote device"
    return Finding(finding.kind, Blame.LAB if missing else finding.blame, text, finding.case)


@dataclass(frozen=True, slots=True)
class Eyes:
    """Who looks on: ``observe`` the processes when the program has loaded its backends, ``on_row`` at every result."""

    observe: Callable[[int], Observation]
    on_row: Callable[[], None]


def guest_cases(stage: Stage, check: OpsCheck, deadline: Deadline) -> ExpectedCases:
    """The cases that the selection stands for, from a ``test`` run of the program on the guest's CPU device (some 20 s).

    A second natively, in the host root, where that has the same ggml as the guest.
    """
    lines: list[str] = []
    status = stage.guest.ssh.stream(guest_command(program_argv(CPU_DEVICE, check.selection), {}), lines.append, deadline)
    return expected_cases(lines, status)


def native_refusals(stage: Stage, device: Device, native: ExpectedCases | None, deadline: Deadline) -> frozenset[str] | None:
    """Cases that the library behind the device refuses by itself; None where it cannot be asked.

    ggml-cpu's builds of the host root refuse alike, and ``native`` has their answer. A CPU library from elsewhere is not asked: the
    program would list the host root's own beside it, under the same name.
    """
    shipped, name = stage.ingredients.shipment, device.name.removeprefix(NAME_PREFIX)
    if name == CPU_DEVICE:
        computing = shipped.wrapped_library or shipped.ggml_library
        return native.unsupported if native is not None and not computing.of_machine else None
    listed = stage.platform.native_listing(Listed(Mode.TEST, name), stage.host_variables, stage.ingredients, deadline)
    return None if listed is None else frozenset(one.case for one in listed if not one.supported)


def run_programs(stage: Stage, runs: Sequence[tuple[OpsRun, CheckWriter]], eyes: Eyes, deadline: Deadline) -> None:
    """Run them all at the same time, and prove that they were. Raises what ``run_program`` does."""
    if len(runs) == 1:
        run_program(stage, *runs[0], eyes, deadline)
        return
    with ThreadPoolExecutor(len(runs)) as pool:
        running = [pool.submit(run_program, stage, run, writer, eyes, deadline) for run, writer in runs]
        try:
            for one in running:
                one.result()
        except BaseException:
            for run, _ in runs:
                with contextlib.suppress(GuestError):
                    _kill(stage, run.stream.pid)
            wait(running)
            for run, _ in runs:
                run.ending = INTERRUPTED
            raise
    tell(overlap([run for run, _ in runs]), runs[0][1])


def overlap(runs: Sequence[OpsRun]) -> Fact:
    """Whether there was a moment at which every run was between its first and its last row."""
    spans = [(run.rows_from, run.rows_until) for run in runs if run.rows_from is not None and run.rows_until is not None]
    together = len(spans) == len(runs) and max(start for start, _ in spans) < min(end for _, end in spans)
    return Fact("processes that computed at the same time", str(len(runs)), str(len(runs)) if together else "not all")


def run_program(stage: Stage, run: OpsRun, writer: CheckWriter, eyes: Eyes, deadline: Deadline) -> None:
    """Run it; whatever ends it is in ``run.ending`` and raises nothing here, but for an interruption of the lab itself."""
    with open(stage.logs / run.log, "a", encoding="utf-8") as log:

        def on_line(line: str, watch: Watch) -> None:
            log.write(line if line.endswith("\n") else f"{line}\n")
            log.flush()
            before = len(run.stream.results)
            run.stream.feed(line)
            if line.startswith(HEADER_START) and run.stream.pid is not None:
                with contextlib.suppress(CommandFailed, WaitTimeout):  # it has died, or the guest is too busy to look
                    run.proven = prove_libraries(stage, eyes.observe(run.stream.pid), writer)
                watch.sign()
            if len(run.stream.results) > before:
                watch.sign()
                run.sign()
                eyes.on_row()

        run.ending = _ending(stage, run, on_line, deadline)


def prove_libraries(stage: Stage, observed: Observation, writer: CheckWriter) -> bool:
    """The libraries mapped in the running program, QEMU and worker must be those of the scenario.

    Looked at when the header has come: then the backends are loaded and the cases not yet built, seconds before the first row.
    Returns whether there was a worker to look at. A moment without one proves nothing: the program outlives the worker that
    served it, by however long it takes to notice.
    """
    if not observed.workers:
        return False
    for fact in mapped_facts(observed, stage.ingredients.shipment):
        tell(fact, writer)
    return True


def _ending(stage: Stage, run: OpsRun, on_line: Callable[[str, Watch], None], deadline: Deadline) -> Ending:
    """Run ``test-backend-ops`` to its end, whatever that is."""

    def on_silence() -> None:
        with contextlib.suppress(GuestError):
            _kill(stage, run.stream.pid)

    command = guest_command(program_argv(run.stream.device, run.check.selection, run.check.jobs), stage.guest_variables)
    with watched(run.check.case_deadline_s, on_silence) as watch:
        try:
            limit = deadline.narrowed(run.check.deadline_s)
            status = stage.guest.ssh.stream(command, lambda line: on_line(line, watch), limit)
        except WaitTimeout:
            over = deadline.expired
            on_silence()
            if over:
                return Ending(None, Outcome.ERROR, time_over(stage.variant.scenario))
            return Ending(None, Outcome.HANG, f"the check's {run.check.deadline_s:.0f} s were over")
        except GuestLost as lost:
            return Ending(None, crash_outcome(lost.reason), lost.reason, crash_blame(lost.reason, stage.accel))
    if watch.silent:
        return Ending(None, Outcome.HANG, f"no result came for {run.check.case_deadline_s:.0f} s")
    return ended(status, run.stream.remarks)


def ended(status: int, remarks: Sequence[str]) -> Ending:
    """How a program ended that was not cut off from outside. A status above 128 is a signal."""
    if status <= SIGNALLED:
        return Ending(status)
    said = f"; it said: {remarks[-1]}" if remarks else ""
    return Ending(status, Outcome.GUEST_CRASH, f"test-backend-ops was ended by signal {status - SIGNALLED}{said}")


def _kill(stage: Stage, pid: int | None) -> None:
    if pid is not None:
        stage.guest.ssh.execute(f"kill -KILL {pid}", Deadline.after(KILL_S))
