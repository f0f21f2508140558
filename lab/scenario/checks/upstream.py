"""``test-backend-ops`` in any mode: batches of cases, each in a process of its own, several at once, none of them run twice.

A process that crashes, hangs or loses its worker costs the case that it was at, which is told in its class; another process
goes on behind it. A run that was cut off is taken up where it was: what has a result keeps it.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from lab.bundle.outcome import Blame, CaseResult, Finding, FindingKind
from lab.bundle.writer import CheckWriter, Measure
from lab.deadline import Deadline
from lab.errors import CommandFailed, GuestError, GuestLost, WaitTimeout
from lab.host.native import CASE_LISTER
from lab.ops.upstream import CPU_DEVICE, NAME_PREFIX, guest_command, refused_devices, remote_device
from lab.ops.upstream_cases import Batch, Listed, ListedCase, Mode, batches, chosen_cases, listed_cases, mode_argv
from lab.ops.upstream_judge import TOLD, Sweep, findings_again, findings_of
from lab.ops.upstream_stream import BatchStream
from lab.scenario.checks.ops import explained, prove_libraries
from lab.scenario.checks.state import tell
from lab.scenario.checks.upstream_cut import Cut, cut_of
from lab.scenario.checks.upstream_onlooker import Onlooker
from lab.scenario.checks.upstream_reference import (
    graphs_of_reference,
    program_variables,
    reference_facts,
    reference_of,
    ship_reference,
    unused_reference,
    without_reference,
)
from lab.scenario.checks.watch import Watch, watched
from lab.scenario.evidence import crash_blame, crash_outcome
from lab.scenario.expected_cases import left_out, run_again, skip
from lab.scenario.model_checks import Check
from lab.scenario.model_upstream import UpstreamCheck
from lab.scenario.shipment import GUEST_FOLDER
from lab.scenario.stage import Stage

LISTER = f"{GUEST_FOLDER}/{CASE_LISTER}"
LISTING_S = 300.0
KILL_S = 10.0
NEVER_STARTED = 3
"""So many processes in a row that end before their first case end the check: nothing will come of another one."""


@dataclass(slots=True)
class UpstreamRun:
    """A run of the check as far as it got. May be used from several threads.

    Attributes:
        listed: every case of the program in that mode.
        wanted: those that the check chose.
        queue: batches that no process has taken yet.
        proven: how many processes had the libraries of the scenario mapped, or others, which is a finding.
        stillborn: what is told of the processes that have ended before their first case since one has come to it.
        explained: how many ends of processes that rows do not explain are written down.
    """

    check: UpstreamCheck
    device: str
    listed: tuple[ListedCase, ...]
    wanted: tuple[ListedCase, ...]
    writer: CheckWriter
    sweep: Sweep
    queue: deque[Batch] = field(default_factory=deque)
    running: list[BatchStream] = field(default_factory=list)
    processes: int = 0
    proven: int = 0
    cuts: int = 0
    stillborn: list[str] = field(default_factory=list)
    explained: int = 0
    stopped: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)

    def plan(self) -> None:
        """Cut what has no result into batches."""
        left = {one.case for one in self.wanted} - set(self.sweep.results)
        self.queue = deque(batches(self.listed, left, self.check.batch))

    def take(self) -> tuple[int, BatchStream] | None:
        """The number of a process and the stream for it, which has the next batch; None when there is none or all is to stop."""
        with self.lock:
            if self.stopped or not self.queue:
                return None
            self.processes += 1
            known, batch = self.sweep.results.keys(), self.queue.popleft()
            stream = BatchStream(self.check.mode, self.device, batch, known, self.result, reference=self.reference)
            self.running.append(stream)
            return self.processes, stream

    def result(self, result: CaseResult, measure: Measure | None = None) -> None:
        """A case has ended."""
        with self.lock:
            self.sweep.add(result)
            self.writer.case(result)
            if measure is not None:
                self.writer.measure(result, measure)

    def ended(self, stream: BatchStream, status: int) -> None:
        """A process ended by itself: its status has to go with its rows."""
        with self.lock:
            self.sweep.take(stream.foreign, stream.surplus)
            if status != (1 if stream.failed else 0):
                said = " / ".join(stream.remarks[-2:])
                self._unexplained(f"test-backend-ops ended with status {status}, which its rows do not explain: {said}")

    def _unexplained(self, text: str) -> None:
        """Write down how a process ended; what is a few of many already waits for the end of the run.

        At once: whoever goes on with a run that is cut off has to know what speaks against the results so far.
        """
        if self.explained < TOLD:
            self.explained += 1
            self.writer.finding(Finding(FindingKind.PROGRAM_FAILED, Blame.PRODUCT, text))
        else:
            self.sweep.unexplained.append(text)

    def cut(self, stream: BatchStream, cut: Cut) -> None:
        """A process ended early: the case that it was at is lost, the others go to another process."""
        with self.lock:
            self.sweep.take(stream.foreign, stream.surplus)
            self.cuts += 1
            if stream.started:
                self.stillborn.clear()
            case = stream.running()
            if cut.outcome is not None and stream.started and case is not None:
                self.result(CaseResult(case.case, case.op, case.params, cut.outcome, cut.why))
            elif cut.outcome is not None and stream.started:
                self._unexplained(f"every case had its result, and then: {cut.why}")
            elif not stream.started:
                self.stillborn.append(f"a process ended before its first case: {cut.why}")
                if cut.outcome is not None and not self.stopped:
                    # its cases go to another process, so no row will have it
                    self.sweep.unexplained.append(self.stillborn[-1])
            left = [one.case for one in stream.batch.cases if one.case not in self.sweep.results]
            self.queue.extendleft(reversed(batches(self.listed, left, self.check.batch)))
            if self.cuts > self.check.restarts:
                self.stop(f"{self.cuts} processes ended early, {self.check.restarts} may; the last one: {cut.why}")
            elif len(self.stillborn) >= NEVER_STARTED and not self.stopped:
                self.stop(f"{len(self.stillborn)} processes in a row ended before their first case; the last one: {cut.why}")
                # that tells of them, and speaks against none of the results
                self.sweep.unexplained[:] = [text for text in self.sweep.unexplained if text not in self.stillborn]

    def stop(self, why: str, blame: Blame = Blame.PRODUCT) -> None:
        """Start no further process. The first reason is told."""
        with self.lock:
            if not self.stopped:
                self.stopped = True
                self.sweep.stopped, self.sweep.blame = why, blame

    def tell(self, onlooker: Onlooker) -> None:
        """A result has come; one thread at a time tells of it."""
        with self.lock:
            onlooker.count(len(self.sweep.results), len(self.wanted), self.sweep.bad)
            onlooker.stream()

    @property
    def reference(self) -> str:
        """Name of what is compared with; one on the host is a remote device, too."""
        return f"{NAME_PREFIX}{CPU_DEVICE}" if self.check.reference == "host" else CPU_DEVICE

    @property
    def new(self) -> int:
        """How many results are of this run, and not of an earlier one."""
        return len(self.sweep.results) - self.sweep.kept

    @property
    def computes(self) -> bool:
        """Whether tensors travel."""
        return self.check.mode is not Mode.SUPPORT

    def prove(self, stage: Stage, onlooker: Onlooker, pid: int) -> None:
        """Look at what a process has mapped.

        One that is through with its cases already is not to be seen any more; in a guest that is too busy to look it goes on.
        """
        try:
            observed = onlooker.observe(pid)
        except (CommandFailed, WaitTimeout):
            return
        files = reference_of(stage, self.check)
        self.proven += prove_libraries(stage, observed if files is None else without_reference(observed, files), self.writer)
        if files is not None:
            shipped = stage.ingredients.shipment
            for fact in reference_facts(observed, files, shipped.wrapped_library or shipped.ggml_library):
                tell(fact, self.writer)

    def tell_findings(self, *, again: bool = False) -> None:
        """Write down everything wrong with it. ``again``: its cases were run before."""
        if self.new and not self.proven:
            text = f"none of {self.processes} processes could be looked at while it had a worker: nobody knows what computed"
            self.writer.finding(Finding(FindingKind.WRONG_LIBRARY, Blame.LAB, text))
        whole = findings_of(self.sweep, self.wanted, self.check.mode, ops=self.check.ops, min_cases=self.check.min_cases)
        for finding in findings_again(self.sweep, self.wanted) if again else whole:
            self.writer.finding(finding)


def check_name(check: Check, before: Sequence[UpstreamCheck]) -> str:
    """``upstream-test``, with a number behind it for another one of the same mode: kept results and expectations go by it.

    The name of any other check is its kind.
    """
    if not isinstance(check, UpstreamCheck):
        return check.kind
    same = sum(one.mode is check.mode for one in before)
    return f"{check.kind}-{check.mode}" + (f" {same + 1}" if same else "")


def sweep(
    stage: Stage,
    check: UpstreamCheck,
    writer: CheckWriter,
    onlooker: Onlooker,
    deadline: Deadline,
    *,
    kept: Sequence[CaseResult],
    runs: list[UpstreamRun],
) -> None:
    """Run all of a check's cases that have no result yet, and flaky ones again.

    ``kept`` are results of an earlier run that this one goes on with; the run is in ``runs`` before its first process starts.
    """
    writer.keep(kept)
    run = prepared_upstream(stage, check, writer, kept, deadline)
    if run is None:
        return
    runs.append(run)
    files = reference_of(stage, check)
    computed = graphs_of_reference(stage.boot_logs)
    if files is not None:
        ship_reference(stage, files)
    run_upstream(stage, run, onlooker, deadline)
    unused = unused_reference(stage.boot_logs, computed) if files is not None and run.new else None
    if unused is not None:
        writer.finding(unused)

    def again(cases: Sequence[str], _attempt: int) -> None:
        wanted = tuple(one for one in run.wanted if one.case in set(cases))
        extra = UpstreamRun(check, run.device, run.listed, wanted, writer, Sweep())
        extra.plan()
        run_upstream(stage, extra, onlooker, deadline)
        run.cuts += extra.cuts
        run.stopped = run.stopped or extra.stopped
        extra.tell_findings(again=True)

    if not run.stopped:
        run_again(writer, again)


def prepared_upstream(
    stage: Stage, check: UpstreamCheck, writer: CheckWriter, kept: Sequence[CaseResult], deadline: Deadline
) -> UpstreamRun | None:
    """Everything there is before a process starts; None, with the findings written, when it would prove nothing."""
    refusals = refused_devices(stage.listing.devices)
    device = remote_device(stage.listing.devices)
    for finding in refusals:
        writer.finding(explained(finding, stage))
    if refusals or device is None:
        return None
    listed = upstream_cases(stage, check.mode, device.name, deadline)
    chosen = chosen_cases(listed, check.ops, check.patterns)
    skipped = frozenset(left_out(writer, [one.case for one in chosen]))
    for case in sorted(skipped):
        skip(writer, case)
    wanted = tuple(one for one in chosen if one.case not in skipped)
    if not wanted:
        what = ", ".join(check.ops) or "every operation"
        writer.finding(Finding(FindingKind.NO_CASES, Blame.LAB, f"test-backend-ops {check.mode} has no such case of {what}"))
        return None
    run = UpstreamRun(check, device.name, listed, wanted, writer, Sweep.of(kept))
    run.plan()
    return run


def upstream_cases(stage: Stage, mode: Mode, device: str, deadline: Deadline) -> tuple[ListedCase, ...]:
    """Every case of a mode, and what the host's own library says of each.

    Natively in the host root when its ggml is the guest's (a second), else in the guest and of the remote device.
    """
    native = Listed(mode, device.removeprefix(NAME_PREFIX))
    listed = stage.platform.native_listing(native, stage.host_variables, stage.ingredients, deadline)
    if listed is not None:
        return listed
    stage.guest.ssh.put(stage.ingredients.case_lister, LISTER)
    lines: list[str] = []
    command = guest_command(Listed(mode, device).argv(), {**stage.guest_variables, "LD_PRELOAD": LISTER})
    status = stage.guest.ssh.stream(command, lines.append, deadline.narrowed(LISTING_S))
    return listed_cases(mode, lines, status)


def run_upstream(stage: Stage, run: UpstreamRun, onlooker: Onlooker, deadline: Deadline) -> None:
    """Run what has no result yet. What ends processes, guest or time is in ``run`` and raises nothing.

    Raises:
        KeyboardInterrupt: the lab is to end; the processes were killed.
    """
    limit = deadline.narrowed(run.check.deadline_s)
    shards = min(run.check.shards, len(run.queue)) or 1
    with ThreadPoolExecutor(shards) as pool:
        working = [pool.submit(_shard, stage, run, onlooker, limit) for _ in range(shards)]
        try:
            for one in working:
                one.result()
        except BaseException:
            run.stop("the lab was interrupted", Blame.LAB)
            for stream in tuple(run.running):
                _kill(stage, stream.pid)
            wait(working)
            raise


def _shard(stage: Stage, run: UpstreamRun, onlooker: Onlooker, deadline: Deadline) -> None:
    """One process after the other until nothing is left."""
    while (taken := run.take()) is not None:
        number, stream = taken
        log = stage.logs / f"test-backend-ops-{run.check.mode}-{number}.log"
        try:
            _process(stage, run, stream, Writing(onlooker, log), deadline)
        except WaitTimeout as error:
            _kill(stage, stream.pid)
            if deadline.expired:
                run.stop(f"the check's time was over: {run.check.deadline_s:.0f} s, or the scenario's", Blame.LAB)
            else:
                run.cut(stream, Cut(None, str(error).splitlines()[0]))
        except GuestLost as lost:
            _lose_guest(run, stream, lost.reason, crash_blame(lost.reason, stage.accel))
        finally:
            run.running.remove(stream)


def _lose_guest(run: UpstreamRun, stream: BatchStream, reason: str, blame: Blame) -> None:
    """Nothing can be run any more. A guest that somebody took away leaves the case for a resumed run."""
    run.stop(reason, blame)
    run.cut(stream, Cut(crash_outcome(reason) if blame is Blame.PRODUCT else None, reason))


@dataclass(frozen=True, slots=True)
class Writing:
    """Where what one process says goes."""

    onlooker: Onlooker
    path: Path


def _process(stage: Stage, run: UpstreamRun, stream: BatchStream, writing: Writing, deadline: Deadline) -> None:
    """Run one batch. Raises ``WaitTimeout`` at the deadline and ``GuestLost``."""
    argv = mode_argv(run.check.mode, run.device, stream.batch.arguments())
    with open(writing.path, "a", encoding="utf-8") as log:

        def on_line(line: str, watch: Watch) -> None:
            log.write(line if line.endswith("\n") else f"{line}\n")
            log.flush()
            before, was_started = len(stream.results), stream.started
            stream.feed(line)
            if stream.started and not was_started and stream.pid is not None:
                run.prove(stage, writing.onlooker, stream.pid)
                watch.sign()
            if len(stream.results) > before:
                watch.sign()
                run.tell(writing.onlooker)
            if stream.lost:
                _kill(stage, stream.pid)

        with watched(run.check.case_deadline_s, lambda: _kill(stage, stream.pid)) as watch:
            command = guest_command(argv, program_variables(stage, reference_of(stage, run.check)))
            status = stage.guest.ssh.stream(command, lambda line: on_line(line, watch), deadline)
    if run.stopped:
        return
    cut = cut_of(run.check, stream, status, silent=watch.silent)
    if cut is None:
        run.ended(stream, status)
    else:
        run.cut(stream, cut)


def _kill(stage: Stage, pid: int | None) -> None:
    if pid is not None:
        with contextlib.suppress(GuestError):
            stage.guest.ssh.execute(f"kill -KILL {pid}", Deadline.after(KILL_S))
