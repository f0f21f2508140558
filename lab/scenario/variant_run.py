"""One variant in its booted guest: its checks, its calls, its verdict.

The verdict is made of findings. Those that blame the product make a variant *failed*, those that blame the lab *error*; only
one with results and without findings *passed*. The end is written down whatever it is.
"""

from __future__ import annotations

import contextlib
import shlex
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lab.bundle.expected import Expected
from lab.bundle.outcome import Blame, CaseResult, Finding, FindingKind
from lab.bundle.schema import CallsRecord, DeviceRecord, Status, VariantRecord
from lab.bundle.writer import CheckWriter
from lab.deadline import Deadline
from lab.errors import CommandFailed, GuestError, LabError, WaitTimeout
from lab.metrics.calls import Joined
from lab.ops.upstream import RowStream, reference_device, remote_device
from lab.scenario import calls
from lab.scenario.booted_variant import BootedVariant
from lab.scenario.calls import CallCollector, Work
from lab.scenario.checks import bench, catalog, catalog_agent, fault, lie, llama, ops, speed, state, upstream, way
from lab.scenario.checks.upstream_onlooker import Onlooker
from lab.scenario.ended import ListingFailed, checks_ended, status_of
from lab.scenario.environment import guest_environment
from lab.scenario.expectations import Situation
from lab.scenario.expected_cases import counts_of, ends_of, findings_of, run_again, unheard_of
from lab.scenario.guest_programs import Listing, Observation, listed_devices, observation
from lab.scenario.mapped import device_record, mapped_records
from lab.scenario.model_bench import BenchCheck
from lab.scenario.model_catalog import CatalogCheck, SpeedCheck
from lab.scenario.model_checks import Check, FaultCheck, LieCheck, OpsCheck, StateCheck
from lab.scenario.model_llama import LlamaCheck
from lab.scenario.model_upstream import UpstreamCheck
from lab.scenario.shipment import GUEST_LIBRARY
from lab.scenario.situation import situation_of
from lab.scenario.stage import Stage
from lab.scenario.thresholds import Measured, check_findings, variant_findings

DMESG_S = 20.0
BREAKING = (FaultCheck, LieCheck)
"""Checks that do something to the contexts of their own programs."""


@dataclass(slots=True)
class VariantRun:
    """A run of a variant, as far as it got."""

    here: BootedVariant
    listing: Listing | None = None
    observed: Observation | None = None
    ops_runs: list[tuple[ops.OpsRun, CheckWriter]] = field(default_factory=list)
    ops_s: float = 0.0
    catalog_runs: list[catalog.CatalogRun] = field(default_factory=list)
    upstream_runs: list[upstream.UpstreamRun] = field(default_factory=list)
    llama_runs: list[llama.LlamaRun] = field(default_factory=list)
    writers: list[CheckWriter] = field(default_factory=list)
    expected: tuple[Expected, ...] = ()
    situation: Situation | None = None
    measured: list[Measured] = field(default_factory=list)
    facts: int = 0
    interrupted: bool = False
    calls: CallsRecord = field(default_factory=CallsRecord)

    def run(self) -> None:
        """Run every check of the variant and write down what is wrong.

        Raises:
            KeyboardInterrupt, or what is no error of the lab's tree; what there is was written down, and is not passed.
        """
        here, built_in = self.here, self.here.plan.ingredients.shipment.built_in
        others = way.sides_of_others(here.variant.scenario, built_in=built_in)
        collector = CallCollector(here.bundle, here.place, here.plan.logs / calls.FOLDER, here.logs / calls.FETCHED, others)
        with self.here.listener.step(f"checking {'/'.join(self.here.place)}"):
            try:
                with self._not_passed():
                    self._check(collector)
            finally:
                with self._not_passed():
                    self._conclude(collector)

    @contextlib.contextmanager
    def _not_passed(self) -> Iterator[None]:
        """What does not come to its end here is not passed, whatever ended it."""
        try:
            yield
        except KeyboardInterrupt:
            self.interrupted = True
            raise
        except LabError as error:
            self.add(checks_ended(error, self.here.plan))
        except BaseException as error:
            self.add(checks_ended(error, self.here.plan))
            raise

    def _check(self, collector: CallCollector) -> None:
        """The registry first, since everything else builds on it, then the checks in the file's order."""
        here = self.here
        scenario, deadline = here.variant.scenario, here.plan.deadline
        deadline.require("the variant's turn")
        making = shlex.join(("mkdir", "-p", *((here.broken_calls,) if self._breaks else ()), here.guest_calls))
        status, output = here.guest.ssh.execute(making, deadline)
        if status != 0:
            raise CommandFailed(making, status, output)
        variables, broken = (guest_environment(scenario, GUEST_LIBRARY, folder) for folder in (here.guest_calls, here.broken_calls))
        with collector.apart() if self._all_broken else contextlib.nullcontext():
            self.listing = self._listing(broken if self._all_broken else variables)
        collector.listing_ended()
        self.situation = situation_of(here.variant, here.plan.ingredients, here.plan.accel, remote_device(self.listing.devices))
        self.expected = here.variant.expectations.there(self.situation)
        stage = Stage(
            here.variant, here.platform, here.guest, here.plan.ingredients, dict(here.plan.variables), variables, self.listing,
            here.logs, here.plan.logs, here.plan.accel, here.plan.switches, here.plan.lies,
        )  # fmt: skip
        for check in scenario.checks:
            before, begun, writer = collector.sessions(), time.monotonic(), self._writer(self._name_of(check))
            if isinstance(check, BREAKING):
                with collector.apart():
                    self._run_check(replace(stage, guest_variables=broken), check, writer, collector)
            else:
                self._run_check(stage, check, writer, collector)
            sessions = collector.sessions() - before
            self.measured.append(Measured(writer, check.thresholds, time.monotonic() - begun, sessions))

    def _run_check(self, stage: Stage, check: Check, writer: CheckWriter, collector: CallCollector) -> None:
        here, deadline = self.here, self.here.plan.deadline
        if isinstance(check, OpsCheck):
            self._ops(stage, check, writer, collector)
        elif isinstance(check, UpstreamCheck):
            self._upstream(stage, check, writer, collector)
        elif isinstance(check, FaultCheck):
            with here.listener.step(check.summary):
                fault.check_fault(stage, check, writer, deadline)
        elif isinstance(check, CatalogCheck):
            self._catalog(stage, check, writer, collector)
        elif isinstance(check, LieCheck):
            with here.listener.step(check.summary):
                eyes = ops.Eyes(self._observe, collector.stream)
                lie.check_lie(stage, check, writer, lie.Witness(here.bundle, *here.place, check.kind), eyes=eyes, deadline=deadline)
        elif isinstance(check, SpeedCheck):
            self._speed(stage, check, writer, collector)
        elif isinstance(check, StateCheck):
            with here.listener.step("state of guest and host"):
                self.facts += state.check_state(stage, writer, deadline.narrowed(check.deadline_s))
        elif isinstance(check, BenchCheck):
            with here.listener.step(check.summary), collector.left_out():
                self.facts += bench.check_bench(stage, check, writer, deadline, here.listener.note)
        elif isinstance(check, LlamaCheck):
            self._llama(stage, check, writer, collector)
        else:
            raise LabError(f"nothing here runs a check of kind {check.kind}")

    def _listing(self, variables: dict[str, str]) -> Listing:
        """The registry of ggml in the guest. A program that dies or hangs on loading our library is the product's failure."""
        try:
            return listed_devices(self.here.guest, variables, self._observe, self.here.plan.deadline)
        except (CommandFailed, WaitTimeout) as error:
            raise ListingFailed(str(error)) from error

    def _ops(self, stage: Stage, check: OpsCheck, writer: CheckWriter, collector: CallCollector) -> None:
        deadline = self.here.plan.deadline
        run = ops.prepared(stage, check, writer, deadline)
        if run is None:
            return
        runs = [(run, writer), *(self._another(run, number) for number in range(2, check.processes + 1))]
        self.ops_runs += runs
        looking = threading.Lock()

        def on_row() -> None:
            with looking:
                results = [result for one, _ in runs for result in one.stream.results]
                bad = sum(result.outcome.blame is not None for result in results)
                self.here.listener.cases(len(results), len(run.expected) * len(runs), bad)
                collector.stream()

        with self.here.listener.step(f"{check.program} on {run.stream.device}"):
            eyes = ops.Eyes(self._observe, on_row)
            began = time.monotonic()
            ops.run_programs(stage, runs, eyes, deadline)
            self.ops_s = time.monotonic() - began
            if not any(one.ending.cut_off for one, _ in runs):
                run_again(writer, lambda cases, _: ops.run_named(stage, run, writer, cases, eyes=eyes, deadline=deadline))

    def _speed(self, stage: Stage, check: SpeedCheck, writer: CheckWriter, collector: CallCollector) -> None:
        """The engine on the cases of the last run of ``test-backend-ops``, and both speeds."""
        upstream = [run for run, _ in self.ops_runs if run.number == 1]
        cases = speed.counterparts(upstream[-1].expected if upstream else ())
        run = self._catalog(stage, check.catalog(cases), writer, collector, timed=True) if cases else None
        speed.judge(check, upstream[-1] if upstream else None, self.ops_s, run, writer)

    def _catalog(
        self, stage: Stage, check: CatalogCheck, writer: CheckWriter, collector: CallCollector, *, timed: bool = False
    ) -> catalog.CatalogRun | None:
        run = catalog.prepared(stage, check, writer)
        if run is None:
            return None
        run.timed = timed
        self.catalog_runs.append(run)
        host = self.here.platform.reference(catalog.wished_reference(stage, check), stage.ingredients, self.here.plan.deadline)

        def on_row() -> None:
            bad = sum(result.outcome.blame is not None for result in run.results.values())
            self.here.listener.cases(len(run.rows), len(run.cases), bad)
            collector.stream()

        with self.here.listener.step(f"{len(run.cases)} cases of the catalog on {run.device}"):
            eyes, deadline = ops.Eyes(self._observe, on_row), self.here.plan.deadline
            catalog_agent.run_catalog(stage, run, host, eyes, deadline)
            if not run.cut_off:
                run_again(writer, lambda cases, _: catalog_agent.run_named(stage, run, cases, host, eyes=eyes, deadline=deadline))
        return run

    def _name_of(self, check: Check) -> str:
        return upstream.check_name(check, [run.check for run in self.upstream_runs])

    def _upstream(self, stage: Stage, check: UpstreamCheck, writer: CheckWriter, collector: CallCollector) -> None:
        here = self.here
        kept = here.earlier.kept(here.place, self._name_of(check)) if here.earlier else ()
        onlooker = Onlooker(self._observe, here.listener.cases, collector.stream)
        with here.listener.step(check.summary):
            upstream.sweep(stage, check, writer, onlooker, here.plan.deadline, kept=kept, runs=self.upstream_runs)

    def _llama(self, stage: Stage, check: LlamaCheck, writer: CheckWriter, collector: CallCollector) -> None:
        run = llama.prepared(stage, check, writer, self.here.plan.deadline)
        if run is not None:
            self.llama_runs.append(run)
            with self.here.listener.step(check.summary):
                run.run(collector)

    def _another(self, run: ops.OpsRun, number: int) -> tuple[ops.OpsRun, CheckWriter]:
        """A further process with the same cases: its rows are those of a check of its own."""
        writer = self._writer(f"{run.check.kind} {number}")
        return ops.OpsRun(run.check, run.cases, RowStream(run.stream.device, writer.case), number, refused=run.refused), writer

    def _observe(self, pid: int) -> Observation:
        """The processes of this moment, of which the last ones are kept."""
        here = self.here
        self.observed = observation(here.guest, here.platform.process, pid, here.plan.deadline)
        return self.observed

    def _conclude(self, collector: CallCollector) -> None:
        """Calls of both sides, the case that was running when it all ended, and what is wrong with each check."""
        self.interrupted = self.interrupted or (self.here.guests is not None and self.here.guests.stopping)
        guest = self.here.guest if self.here.guest.alive() else None
        if guest is not None:
            with contextlib.suppress(GuestError):
                self.here.guest.collect_dmesg(self.here.logs / "dmesg.log", Deadline.after(DMESG_S))
        joined = everything = collector.joined(guest, self.here.guest_calls)
        if self._breaks:
            everything = calls.together(joined, collector.joined(guest, self.here.broken_calls, apart=True))
        alive = guest is not None and self.here.guest.alive()  # of one that is lost meanwhile some records came over, or none
        self.calls = calls.calls_record(everything)
        self._judge_ops(collector.last_call(), tuple(calls.losses(joined)))
        for sweep in self.upstream_runs:
            sweep.tell_findings()
        stopped = any(run.cut_off for run in self.catalog_runs) or any(run.stopped for run in self.upstream_runs)
        cut_off = stopped or any(run.ending.cut_off is not None for run, _ in self.ops_runs)
        lost_processes = any(run.cuts for run in self.upstream_runs)
        if alive and not cut_off and not lost_processes and not self.interrupted:
            # a call that was under way when the program was ended is counted and not recorded: no finding of its own
            writer, recorded = self._writer("calls"), self.here.variant.scenario.call_records
            if recorded and self._tensors_travelled() and not joined.unproven and not joined.lacking:
                scenario, built_in = self.here.variant.scenario, self.here.plan.ingredients.shipment.built_in
                capsets = collector.capsets() or tuple(call.capset for call in joined.calls)
                for fact in way.way_facts(scenario, capsets, calls.proof_of(joined), built_in=built_in):
                    state.tell(fact, writer)
            for finding in calls.findings_of(joined, self._computed() if recorded else Work(), collector.listing):
                writer.finding(finding)
            facts = self.facts + sum(run.facts for run in self.llama_runs)
            if not facts and not self._results() and not self.findings():
                writer.finding(Finding(FindingKind.NO_CASES, Blame.LAB, "nothing was checked"))
        if alive and not cut_off and not self.interrupted:
            self._judge_expected()
            self._judge_durations(everything)

    def _judge_durations(self, joined: Joined) -> None:
        """What is slower than the thresholds of the scenario and of its checks allow."""
        judged = () if joined.lacking else joined.calls  # durations of some of the calls are not the variant's
        for measured in self.measured:
            for finding in check_findings(measured, judged):
                measured.writer.add(finding)
        limits, wall_s = self.here.variant.scenario.thresholds, time.monotonic() - self.here.started
        writer = self._writer("thresholds")
        for finding in variant_findings(limits, self.here.boot_s, wall_s, judged):
            writer.add(finding)

    def _judge_expected(self) -> None:
        """What is otherwise than the scenario's expectations have it."""
        known, writer = self.here.variant.expectations, self._writer("expectations")
        if self.situation is not None:
            ends = ends_of(self.writers)
            wrong = findings_of(ends, self.expected, known.supported(self.situation), whole=known.whole)
            for finding in (*wrong, *unheard_of(ends, known.named)):
                writer.add(finding)

    def _judge_ops(self, last_call: str, losses: tuple[Finding, ...]) -> None:
        """What is wrong with the runs of ops, and what lost workers did to them."""
        loss = losses[0].text.partition(": ")[2] if losses else ""
        for run, writer in self.ops_runs:
            case = run.lost_case(loss)
            if case is not None:
                writer.case(case)
            for finding in run.findings(last_call, loss):
                writer.finding(finding)
        for checked in self.catalog_runs:
            for finding in checked.findings(last_call):
                checked.writer.finding(finding)
        if losses:
            writer = self._writer("calls")
            for finding in losses:
                writer.finding(finding)

    def _writer(self, check: str) -> CheckWriter:
        writer = CheckWriter(self.here.bundle, *self.here.place, check, self.expected)
        self.writers.append(writer)
        return writer

    def _results(self) -> list[CaseResult]:
        return [result for writer in self.writers for result in writer.results]

    def _computed(self) -> Work:
        """What there must be calls for: results of this run and of checks that break nothing."""
        broken = {check.kind for check in self.here.variant.scenario.checks if isinstance(check, BREAKING)}
        asking = {run.writer.check for run in self.upstream_runs if not run.computes}
        own = [writer for writer in self.writers if writer.check not in broken]
        one_by_one = {writer.check for _, writer in self.ops_runs} | {run.writer.check for run in self.upstream_runs}
        return calls.work_of(own, asking, sum(run.computed for run in self.llama_runs), one_by_one)

    def findings(self) -> list[Finding]:
        """Everything found wrong so far."""
        return [finding for writer in self.writers for finding in writer.findings]

    @property
    def _breaks(self) -> bool:
        """Whether a check breaks something."""
        return any(isinstance(check, BREAKING) for check in self.here.variant.scenario.checks)

    @property
    def _all_broken(self) -> bool:
        """Whether every check does: then the machine itself may be what is broken."""
        return all(isinstance(check, BREAKING) for check in self.here.variant.scenario.checks)

    def _tensors_travelled(self) -> bool:
        """Whether anything was computed that needs buffers."""
        swept = any(run.new for run in self.upstream_runs if run.computes)
        modelled = any(run.computed for run in self.llama_runs)
        return (
            swept or modelled or any(run.stream.results for run, _ in self.ops_runs) or any(run.rows for run in self.catalog_runs)
        )

    def add(self, finding: Finding) -> None:
        """Something is wrong that shows only after the checks."""
        self._writer("lab").finding(finding)

    def record(self, status: Status | None = None) -> VariantRecord:
        """How the variant stands, for ``run.json``; judged by its findings unless a status is given."""
        here, devices = self.here, self.listing.devices if self.listing else ()
        findings = self.findings()
        return VariantRecord(
            name=here.place[0],
            variant=here.place[1],
            status=status or (Status.INTERRUPTED if self.interrupted else status_of(findings)),
            cases=counts_of(self.writers),
            device=device_record(remote_device(devices)),
            reference=self._reference(),
            accel=here.plan.accel,
            capset=here.variant.scenario.guest.capset,
            boot_s=round(here.boot_s, 3),
            wall_s=round(time.monotonic() - here.started, 3),
            calls=self.calls,
            settings=here.variant.scenario.model_dump_json(),
            boot=here.boot,
            mapped=tuple(mapped_records(self.observed)) if self.observed else (),
            expected_cases=self._expected() or None,
            reason=findings[0].text if findings else "",
            logs=str(here.logs.relative_to(here.bundle.folder)),
        )

    def _reference(self) -> DeviceRecord | None:
        """What results were compared with: the guest's own CPU, or the library that ran natively where it alone was."""
        files = self.here.plan.ingredients.shipment.reference
        if files is not None and self.upstream_runs and not self.ops_runs:
            return DeviceRecord(registry="CPU", name="CPU", type="CPU", description=files.computing.inside, side="host")
        natives = [run.reference.device for run in self.catalog_runs if run.reference is not None]
        if natives and not self.ops_runs and (record := device_record(natives[0])) is not None:
            return record.model_copy(update={"side": "host"})
        return device_record(reference_device(self.listing.devices if self.listing else ()))

    def _expected(self) -> int:
        """How many cases there must be: as many as are counted where each has its result."""
        cases = {(writer.check, case) for run, writer in self.ops_runs for case in run.expected}
        cases |= {(run.writer.check, case) for run in self.catalog_runs for case in run.cases}
        cases |= {(run.writer.check, one.case) for run in self.upstream_runs for one in run.wanted}
        return len(cases)
