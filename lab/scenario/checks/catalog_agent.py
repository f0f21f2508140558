"""The program in the guest that computes the catalog's cases: started, watched, and asked again for results with other bits.

What ended a start of it is found out while its traces are there: silence is a hang, a signal a crash in the guest, a device that
computes nothing any more a crash on the host when its worker is gone.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.bundle.outcome import Blame, Finding, FindingKind, Outcome
from lab.deadline import Deadline
from lab.errors import CommandFailed, GuestError, GuestLost, LabError, WaitTimeout
from lab.ops.agent_rows import AgentFailed, AgentRow, AgentStream, Cut, all_rows, in_order
from lab.ops.native import Files
from lab.ops.remote import GuestAgent
from lab.ops.session import Fetched, Host, Reference, fetched_where_bits_differ
from lab.ops.upstream import REGISTRY
from lab.ops.verdict import refused_reference
from lab.scenario.checks.catalog import CatalogRun
from lab.scenario.checks.catalog_cost import cost_findings
from lab.scenario.checks.ops import SIGNALLED, Eyes, prove_libraries
from lab.scenario.checks.state import Fact, tell
from lab.scenario.checks.watch import Watch, watched
from lab.scenario.ended import time_over
from lab.scenario.evidence import crash_blame, crash_outcome
from lab.scenario.shipment import GUEST_FOLDER
from lab.scenario.stage import Stage
from lab.temporary import temporary_folder

LOG = "catalog.log"
KILL_S = 10.0
REFERENCE_S = 300.0


def run_named(stage: Stage, run: CatalogRun, cases: Sequence[str], host: Host, *, eyes: Eyes, deadline: Deadline) -> None:
    """Run named cases of a run that has ended once more. A failed one may be expected; one that is lost or refused is a finding.

    Raises what ``run_catalog`` does.
    """
    again = CatalogRun(run.check, in_order(list(cases)), run.device, run.writer)
    run_catalog(stage, again, host, eyes, deadline)
    for finding in again.findings_again():
        run.writer.finding(finding)
    if not again.refusals and (again.ending is not None or again.missing()):
        why = f"{again.ending.outcome}: {again.ending.why}" if again.ending is not None else "not all of them have a result"
        blame = again.blame or (again.ending.outcome.blame if again.ending is not None else None) or Blame.LAB
        text = f"flaky cases ran again, {why}; the first of them is {cases[0]}"
        run.writer.add(Finding(FindingKind.INTERRUPTED, blame, text, cases[0]))


class DeviceRefused(LabError):
    """What the program found to compute on would prove nothing."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        self.findings = findings
        super().__init__("; ".join(finding.text for finding in findings))


def run_catalog(stage: Stage, run: CatalogRun, host: Host, eyes: Eyes, deadline: Deadline) -> None:
    """Run it; whatever ends it is in ``run.ending`` and raises nothing here, but for an interruption of the lab itself.

    Raises:
        LabError: there is no reference to compare with.
    """
    try:
        run.reference = reference = host.reference(run.cases, deadline.narrowed(REFERENCE_S))
    except LabError:
        run.ending = Cut(Outcome.ERROR, "there was nothing to compare with")
        raise
    with open(stage.logs / LOG, "a", encoding="utf-8") as log:
        starts = Starts(stage, run, reference, eyes, log.write, deadline.narrowed(run.check.deadline_s))
        try:
            starts.run(host)
            if run.check.cost is not None:
                run.costs = tuple(cost_findings(run, run.check.cost, starts))
            run.ending = None
        except DeviceRefused as refused:
            run.refusals = refused.findings
        except GuestLost as lost:
            run.lost_with_guest(Cut(crash_outcome(lost.reason), lost.reason), crash_blame(lost.reason, stage.accel))
        except WaitTimeout:
            if deadline.expired:
                run.ending = Cut(Outcome.ERROR, time_over(stage.variant.scenario))
            else:
                run.lost_with_guest(Cut(Outcome.HANG, f"the check's {run.check.deadline_s:.0f} s were over"))
        except AgentFailed as error:
            run.ending = Cut(starts.cut.outcome if starts.cut else Outcome.ERROR, error.message)
        except LabError as error:
            run.ending = Cut(Outcome.ERROR, error.message)
        finally:
            run.tell_rest(Fetched())


@dataclass(slots=True)
class Starts:
    """Starts of the program. ``cut`` is what ended the last that was cut off."""

    stage: Stage
    checked: CatalogRun
    reference: Reference
    eyes: Eyes
    log: Callable[[str], int]
    deadline: Deadline
    cut: Cut | None = None
    proved: bool = False
    _stream: AgentStream = field(default_factory=AgentStream)
    _before: frozenset[int] = frozenset()
    _workers: frozenset[int] = frozenset()
    _watch: Watch | None = None
    _lost: Cut | None = None
    _held: bool = False
    _seen: bool = False

    def run(self, host: Host) -> None:
        """Every case, then those again whose results have to be fetched."""
        run = self.checked
        variables = self.stage.guest_variables
        agent = GuestAgent(self.stage.guest.ssh, GUEST_FOLDER, run.device, run.check.seed, variables, self._row, self._line)
        agent.ship(self.deadline, host.parcel(self.deadline))
        self.proved = run.timed
        began = time.monotonic()
        rows = all_rows(run.cases, lambda cases, batch: self._attempt(agent, cases, batch), on_unexplained=self._unexplained)
        run.seconds = time.monotonic() - began
        if run.timed:
            # looking at what the program computes with takes time of its own: it gets a start of its own
            self.proved = False
            stream = self.alone(run.cases[:1], lambda _row: None)
            if not stream.ended:
                self._cut_off(stream, f"it happened when {run.cases[0]} was run once more, alone", run.cases[0])
        for row in rows:
            if row.case not in run.rows:
                run.take(row)
        run.tell_rest(self._fetched(agent, host))
        if not self.proved:
            text = "no start of the program, with its worker, lived long enough to prove which libraries computed"
            run.unexplained.append(Finding(FindingKind.WRONG_LIBRARY, Blame.LAB, text))

    def _attempt(self, agent: GuestAgent, cases: Sequence[str], batch: int) -> AgentStream:
        """One start, to its end whatever that is; a start that was cut off says why. How the program ends is looked at, too."""
        with self._watched():
            self._held = not self.proved
            stream = agent.attempt(cases, batch, self.deadline, hold=self._held)
            if not stream.ended:
                stream.cut = self.cut = self._cause(stream)
            self._look_behind_end(stream)
        return stream

    def alone(self, cases: Sequence[str], on_row: Callable[[AgentRow], None]) -> AgentStream:
        """Run cases once more, each alone. ``on_row`` is told every row as it comes."""

        def row(one: AgentRow) -> None:
            self._sign()
            on_row(one)

        variables, seed = self.stage.guest_variables, self.checked.check.seed
        agent = GuestAgent(self.stage.guest.ssh, GUEST_FOLDER, self.checked.device, seed, variables, row, self._line)
        return self._attempt(agent, cases, 1)

    @property
    def workers(self) -> frozenset[int]:
        """Processes on the host that serve the start that is running."""
        return self._workers

    def _fetched(self, agent: GuestAgent, host: Host) -> Fetched:
        """Results with other bits. A device that does not get through them again leaves them unjudged, which fails them."""
        run = self.checked

        def fetch(cases: Sequence[str], folder: Path) -> Files:
            with self._watched():
                files = agent.fetched(cases, folder, self.deadline)
                self._look_behind_end(self._stream)
                return files

        try:
            with temporary_folder("fetched") as folder:
                return fetched_where_bits_differ(host, self.reference, run.rows, lambda cases: fetch(cases, folder), self.deadline)
        except (GuestLost, WaitTimeout):
            raise
        except LabError as error:
            run.unexplained.append(Finding(FindingKind.INTERRUPTED, Blame.PRODUCT, error.message))
            return Fetched()

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Watch a start: no sign of life for a case's time ends it."""
        self._stream, self._lost, self._workers, self._held, self._seen = AgentStream(), None, frozenset(), False, False
        self._before = frozenset(self.stage.guest.worker_pids())
        with watched(self.checked.check.case_deadline_s, self._kill) as self._watch:
            yield

    def _line(self, line: str, stream: AgentStream) -> None:
        """A line of the program has come."""
        self._stream = stream
        self.log(line if line.endswith("\n") else f"{line}\n")
        if stream.device is not None and not self._seen:
            self._seen = True
            self._workers = frozenset(self.stage.guest.worker_pids()) - self._before
            if not self.proved:
                self._prove(stream)
            self._sign()
        if stream.lost and self._lost is None:
            self._lost = self._loss(stream)
        if stream.ended and self._held:
            self._held = False
            self.stage.guest.ssh.execute(f"kill -TERM {stream.pid}", Deadline.after(KILL_S))

    def _row(self, row: AgentRow) -> None:
        """A case has its row."""
        self._sign()
        self.checked.take(row)
        self.eyes.on_row()

    def _sign(self) -> None:
        if self._watch is not None:
            self._watch.sign()

    def _prove(self, stream: AgentStream) -> None:
        """What computes, what it is compared with, and the libraries mapped. Raises ``DeviceRefused``.

        A program that dies while it is looked at proves nothing, nor does one whose worker has died, nor one in a guest that is too
        busy to look: the next one is looked at.
        """
        writer, device, native = self.checked.writer, stream.device, self.reference.device
        if device is None or stream.pid is None:
            return
        tell(
            Fact("registry of the device that computed", REGISTRY, device.registry, FindingKind.NO_SUCH_DEVICE, Blame.PRODUCT),
            writer,
        )
        other = f"not {REGISTRY}"
        seen = native.registry if native.registry == REGISTRY else other
        tell(Fact("registry of the native reference", other, seen, FindingKind.WRONG_REFERENCE), writer)
        if refusals := refused_reference(native, device, REGISTRY):
            raise DeviceRefused(refusals)
        with contextlib.suppress(CommandFailed, WaitTimeout):
            self.proved = prove_libraries(self.stage, self.eyes.observe(stream.pid), writer)

    def _loss(self, stream: AgentStream) -> Cut:
        """What became of the host's side of a device that is lost, while the program still lives."""
        running = frozenset(self.stage.guest.worker_pids())
        gone = sorted(self._workers - running)
        if gone:
            return Cut(Outcome.HOST_CRASH, f"worker {', '.join(map(str, gone))} is gone; {stream.lost}")
        listed = self.stage.listing.observed
        if not self._workers and not running - self._before and listed is not None and listed.workers:
            # programs are served by workers here, and this one is by none: it ended before the busy lab had looked for it
            return Cut(Outcome.HOST_CRASH, f"the worker is gone, which nobody has seen; {stream.lost}")
        worker = "the worker is alive" if self._workers else "no worker was seen when the program had begun"
        return Cut(Outcome.FAIL, f"{worker}; {stream.lost}")

    def _cause(self, stream: AgentStream) -> Cut:
        """What ended a start, before its end or behind it."""
        remark = f"; it said: {stream.remarks[-1]}" if stream.remarks else ""
        status = stream.exit_status or 0
        if self._watch is not None and self._watch.silent:
            return Cut(Outcome.HANG, f"no result came for {self.checked.check.case_deadline_s:.0f} s")
        if self._lost is not None:
            return self._lost
        if status > SIGNALLED:
            return Cut(Outcome.GUEST_CRASH, f"the program was ended by signal {status - SIGNALLED}{remark}")
        when = "behind its last line" if stream.ended else "before its end"
        return Cut(Outcome.ERROR, f"the program ended with status {status} {when}{remark}")

    def _look_behind_end(self, stream: AgentStream) -> None:
        """A program that has told its end only gives back what it has, and ends with status 0; that a library can crash or hang in.

        It is told once: other starts of the program end like that, too.
        """
        told = any(finding.kind is FindingKind.PROGRAM_FAILED for finding in self.checked.unexplained)
        if told or not stream.ended or not stream.exit_status:
            return
        cut = self._cause(stream)
        hung = f"the program did not end for {self.checked.check.case_deadline_s:.0f} s, and was killed"
        text = f"every case had its row, and then: {hung if cut.outcome is Outcome.HANG else cut.why}"
        self.checked.unexplained.append(Finding(FindingKind.PROGRAM_FAILED, Blame.PRODUCT, text))

    def _unexplained(self, stream: AgentStream, cases: Sequence[str]) -> None:
        """A start was cut off, and the cases that it may have been got through one by one; with none, each had its row."""
        if cases:
            where = f"it happened in one of {len(cases)} cases from {cases[0]} on, and not again one by one"
        else:
            where = "every case of that start had its row by then"
        self._cut_off(stream, where, cases[0] if cases else None)

    def _cut_off(self, stream: AgentStream, where: str, case: str | None) -> None:
        cut = stream.cut or Cut(Outcome.ERROR, stream.why)
        text = f"{cut.outcome}: {cut.why}; {where}"
        self.checked.unexplained.append(Finding(FindingKind.INTERRUPTED, cut.outcome.blame or Blame.LAB, text, case))

    def _kill(self) -> None:
        """End the program: nothing has come of it for too long."""
        if (pid := self._stream.pid or self._stream.started) is not None:
            with contextlib.suppress(GuestError):
                self.stage.guest.ssh.execute(f"kill -KILL {pid}", Deadline.after(KILL_S))
