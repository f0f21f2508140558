"""Running scenarios: every variant in a booted guest, every row on disk as it happens, every end with a class.

A boot that ends before all of its variants were served (a crash) is followed by another one for the rest. One of which no guest
comes is not, but for the emulator's own defect, and then once (``Runner.is_tried_again``).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.bundle.outcome import FindingKind
from lab.bundle.schema import BootRecord, PackagesRecord, RunRecord, Status
from lab.bundle.writer import BundleWriter, CheckWriter, new_bundle
from lab.deadline import Deadline
from lab.errors import ConfigError, ConfigProblem, GuestLost, HostError, LabError, LaunchError
from lab.qemu.command import Display, display_environment
from lab.scenario.book import RunBook, ended_record
from lab.scenario.booted_variant import BootedVariant
from lab.scenario.boots_at_once import RunningGuests, at_once
from lab.scenario.calls import FOLDER, TRACES
from lab.scenario.checks.fault import judged_refusal, tell
from lab.scenario.ended import finding_of, status_of
from lab.scenario.environment import REFERENCE_CALLS, host_environment, recorded
from lab.scenario.evidence import is_stale_code, set_aside, share_logs
from lab.scenario.expand import Variant
from lab.scenario.expected_cases import counts_of
from lab.scenario.guest_programs import ship_programs
from lab.scenario.lies import FILE as LIES_FILE
from lab.scenario.lies import LiesFile, laid_lies, lies_are_told
from lab.scenario.listener import RunListener
from lab.scenario.model import Capset
from lab.scenario.model_checks import FaultCheck
from lab.scenario.model_upstream import has_host_reference
from lab.scenario.plan import Choice, PlannedScenario
from lab.scenario.platform import BootPlan, Guest, Ingredients, Platform
from lab.scenario.requirements import Decision, HostAbilities, decided, together
from lab.scenario.resume import EarlierRun
from lab.scenario.shipment import GUEST_FOLDER
from lab.scenario.switches import Switches, laid, switched
from lab.scenario.variant_run import VariantRun

SETUP_S = 3600.0
SHIP_S = 60.0


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """A run that is over: where its bundle is and what ``run.json`` says."""

    folder: Path
    record: RunRecord


def run(
    plan: Sequence[PlannedScenario],
    choice: Choice,
    out: Path,
    listener: RunListener,
    platform: Platform,
    *,
    earlier: EarlierRun | None = None,
    jobs: int = 1,
) -> RunOutcome:
    """Run everything planned and leave a bundle below ``out``, whatever happens. With ``earlier`` go on with that run.

    ``jobs`` boots run at the same time, each with logs of its own; the listener must bear to be told by several threads then.

    An interruption (Ctrl-C, SIGTERM) ends the run in order: what was started is torn down, the bundle is closed with the
    results so far, and the outcome's status says ``interrupted``. A mistake of the lab's own, which is none of its errors, leaves
    a bundle that says so, and is raised.
    """
    with new_bundle(out.resolve(), run_name(plan)) as bundle:
        book = RunBook(bundle, plan, choice, earlier.history if earlier else ())
        cut_off: Status | None = None
        try:
            Runner(bundle, book, listener, platform, alone=len(plan) == 1, earlier=earlier, jobs=jobs).run(plan)
        except KeyboardInterrupt:
            cut_off = Status.INTERRUPTED
        except BaseException:
            cut_off = Status.ERROR
            raise
        finally:
            record = book.close(plan, cut_off)
        return RunOutcome(bundle.folder, record)


@dataclass(frozen=True, slots=True)
class ReadyBoot:
    """Variants that one boot can serve, and what it is made of."""

    variants: tuple[Variant, ...]
    ingredients: Ingredients
    decision: Decision


def run_name(plan: Sequence[PlannedScenario]) -> str:
    """What a run of these scenarios is called."""
    return plan[0].scenario.name if len(plan) == 1 else f"{len(plan)}-scenarios"


@dataclass(slots=True)
class Runner:
    """The way of a run. ``alone``: there is one scenario only, so logs need no folder for it."""

    bundle: BundleWriter
    book: RunBook
    listener: RunListener
    platform: Platform
    alone: bool
    hosts: dict[str, HostAbilities] = field(default_factory=dict)
    earlier: EarlierRun | None = None
    jobs: int = 1
    guests: RunningGuests = field(default_factory=RunningGuests)
    again: set[Path] = field(default_factory=set)
    """Log folders of boots that are, or were, tried a second time."""

    def run(self, plan: Sequence[PlannedScenario]) -> None:
        """Run all scenarios, one boot after the other or as many at once as there are jobs.

        Where an earlier run is gone on with, its results for all of them are in the bundle before the first boot.
        """
        made = filter(None, (self.set_up(group) for entry in plan for group in entry.boots))
        ready = iter(tuple(made)) if self.earlier else made
        if self.jobs > 1:
            at_once(ready, self.jobs, self.group, self.guests)
            return
        for one in ready:
            self.group(one)

    def set_up(self, variants: Sequence[Variant]) -> ReadyBoot | None:
        """What one boot for these variants is made of; None, and it is in the book, where that cannot be.

        Always in the main thread, which alone is told of an interruption: a set-up may build for minutes.
        """
        scenario = variants[0].scenario
        try:
            with self.listener.step(f"setting up {scenario.name}"):
                ingredients = self.platform.prepare(scenario, self.listener, Deadline.after(SETUP_S))
                self.know_built(ingredients)
                decision = decided(scenario, self.abilities(ingredients))
        except HostError as error:
            self.skip(variants, str(error))
            return None
        except LabError as error:
            self.give_up(variants, error)
            return None
        if decision.unmet:
            self.skip(variants, decision.unmet)
            return None
        return ReadyBoot(self.resumed(variants, ingredients, decision), ingredients, decision)

    def group(self, ready: ReadyBoot) -> None:
        """Run the variants that one boot can serve."""
        left = ready.variants
        while left and not self.guests.stopping:
            left = self.boot(left, ready.ingredients, ready.decision)

    def resumed(self, variants: Sequence[Variant], ingredients: Ingredients, decision: Decision) -> tuple[Variant, ...]:
        """The variants that can be run: all, unless an earlier run is to be gone on with that was made of something else."""
        left = []
        for variant in variants:
            place = (variant.scenario.name, variant.id)
            differences = self.earlier.differences(variant, ingredients, decision) if self.earlier else ()
            if differences:
                problems = [ConfigProblem(variant.id, difference) for difference in differences]
                self.give_up((variant,), ConfigError("--resume", problems))
                continue
            if self.earlier:
                kept = self.earlier.carry(variant, ingredients, decision, self.bundle)
                self.book.kept(variant, kept, self.earlier.boot_of(place))
            left.append(variant)
        return tuple(left)

    def know_built(self, ingredients: Ingredients) -> None:
        """Write down what the boot is made of."""
        for role, name, made in (
            ("host root", "host-root", ingredients.root),
            ("guest image", ingredients.image.name, ingredients.image),
        ):
            drift = tuple(map(str, made.drift))
            self.book.built(PackagesRecord(role=role, name=name, key=made.key, packages=made.packages, drift=drift))

    def abilities(self, ingredients: Ingredients) -> HostAbilities:
        """What this host can do; probed once in a run for each image, whose kernel KVM is tried with, and after the set-up.

        The bundle has what was probed with the first image, and what another one's answer is the opposite of.
        """
        image = ingredients.image.name
        if image not in self.hosts:
            with self.listener.step("looking at what this host can do"):
                self.hosts[image] = self.platform.abilities(ingredients.root, image)
            self.book.know_capabilities(together(tuple(self.hosts.values())))
        return self.hosts[image]

    def boot(self, variants: tuple[Variant, ...], ingredients: Ingredients, decision: Decision) -> tuple[Variant, ...]:
        """Boot once and serve as many variants as the guest lives for. Returns those that are left."""
        plan = boot_plan(variants, ingredients, decision, self.logs(variants[0]))
        number = self.book.boot(boot_record(variants, plan))
        started = time.monotonic()
        served: list[VariantRun] = []
        try:
            with contextlib.ExitStack() as stack:
                stack.enter_context(laid_out(plan))
                with self.listener.step(f"booting a guest for {', '.join(one.id for one in variants)}"):
                    guest = stack.enter_context(self.platform.boot(plan))
                    stack.enter_context(self.guests.holding(guest))
                    self.book.boot(booted_record(boot_record(variants, plan), guest), number)
                    ship(guest, ingredients, plan.deadline)
                for variant in variants:
                    begun = time.monotonic() if served else started
                    served.append(VariantRun(self.booted(variant, plan, guest, number, begun)))
                    self.serve(served[-1])
                    if not guest.alive():
                        break
        except LabError as error:
            if self.guests.stopping:
                return ()
            if self.is_tried_again(plan, number, error):
                return variants
            if not served and isinstance(error, LaunchError) and all(one.must_not_start for one in variants):
                self.refused(variants, error)
            else:
                self.broken(variants, served, error, plan.accel)
            return variants[len(served) :] if served else ()
        except Exception as error:
            if not (served and served[-1].findings()):
                self.broken(variants, served, error, plan.accel)
            raise
        finally:
            # those behind the served ones get another boot; where none was served there is none, or its logs have other names
            self.share(plan.logs, variants[1 : len(served) or None])
        return variants[len(served) :]

    def is_tried_again(self, plan: BootPlan, number: int, error: LabError) -> bool:
        """Whether an error ended a boot that is worth a second one: no guest had come of it as yet, by the emulator's own defect.

        Nothing of what is tested runs in the guest by then. That it happened is in the book, and told; the logs get other names.
        """
        record = self.book.record.boots[number]
        if not isinstance(error, GuestLost) or not is_stale_code(error.reason, plan.accel):
            return False
        if record.boot_s is not None or plan.logs in self.again:
            return False
        self.again.add(plan.logs)
        set_aside(plan.logs)
        self.book.boot(record.model_copy(update={"lost": error.reason}), number)
        self.listener.note(f"warning: the emulator lost the guest while it booted, which is tried once more: {error.reason}")
        return True

    def share(self, logs: Path, variants: Sequence[Variant]) -> None:
        """Give the logs of a boot to further variants of it; where that cannot be it is told."""
        for problem in share_logs(logs, [self.logs(variant) for variant in variants]):
            self.listener.note(problem)

    def serve(self, variant: VariantRun) -> None:
        """Run one variant; its record is in the book even when the run is interrupted."""
        self.book.variant(variant.record(Status.RUNNING))
        try:
            variant.run()
        finally:
            self.book.variant(variant.record())

    def broken(self, variants: Sequence[Variant], served: Sequence[VariantRun], error: Exception, accel: str) -> None:
        """The machine did not start, or did not go down as it should."""
        if not served:
            self.give_up(variants, error, accel)
        elif served[-1].here.guest.alive() or not served[-1].findings():
            served[-1].add(replace(finding_of(error, accel), kind=FindingKind.WRONG_STATE))
            self.book.variant(served[-1].record())

    def refused(self, variants: Sequence[Variant], error: LaunchError) -> None:
        """A machine that must not start did not: judge what QEMU said."""
        for variant in variants:
            writer = CheckWriter(self.bundle, variant.scenario.name, variant.id, "fault")
            for check in variant.scenario.checks:
                if isinstance(check, FaultCheck):
                    tell(check.fault, judged_refusal(check.fault, error), writer)
            status = status_of(writer.findings)
            record = ended_record(variant, status, writer.findings[0].text if writer.findings else "")
            self.book.variant(record.model_copy(update={"cases": counts_of([writer])}))

    def booted(self, variant: Variant, plan: BootPlan, guest: Guest, number: int, begun: float) -> BootedVariant:
        """The variant in its guest. The boot's time is the first variant's."""
        first = plan.logs == self.logs(variant)
        return BootedVariant(
            variant, guest, plan, self.platform, self.bundle, self.listener, self.logs(variant), number,
            guest.boot_s if first else 0.0, begun, self.earlier, self.guests,
        )  # fmt: skip

    def logs(self, variant: Variant) -> Path:
        """The folder for a variant's logs."""
        return self.bundle.logs(variant.id) if self.alone else self.bundle.logs(variant.scenario.name, variant.id)

    def skip(self, variants: Sequence[Variant], reason: str) -> None:
        """This host cannot run them."""
        for variant in variants:
            self.listener.note(f"skipped {variant.scenario.name}/{variant.id}: {reason}")
            self.book.variant(ended_record(variant, Status.SKIPPED, reason))

    def give_up(self, variants: Sequence[Variant], error: Exception, accel: str = "") -> None:
        """Nothing of them could be run: by the lab's fault, the configuration's, or QEMU's that ended by itself.

        ``accel`` is what ran their guest, where it came to a boot.
        """
        finding = replace(finding_of(error, accel), kind=FindingKind.NOT_STARTED)
        for variant in variants:
            writer = CheckWriter(self.bundle, variant.scenario.name, variant.id, "lab")
            writer.finding(finding)
            self.book.variant(ended_record(variant, status_of(writer.findings), finding.text))


def boot_plan(variants: Sequence[Variant], ingredients: Ingredients, decision: Decision, logs: Path) -> BootPlan:
    """The machine for variants that share a boot. The first of them owns the logs."""
    scenario = variants[0].scenario
    variables = host_environment(
        scenario,
        ingredients.shipment,
        logs,
        advertise=has_host_reference(scenario.checks) or any(variant.scenario.guest.capset is Capset.APIR for variant in variants),
        software_vulkan=decision.software_vulkan,
        vulkan_manifest=decision.vulkan_manifest,
        display=dict(display_environment(Display(decision.display))),
    )
    switches = Switches.of(variables, logs) if any(switched(variant.scenario) for variant in variants) else None
    variables |= switches.variables if switches else {}
    lies = LiesFile(logs / LIES_FILE) if any(lies_are_told(variant.scenario) for variant in variants) else None
    variables |= lies.variables if lies else {}
    return BootPlan(
        scenario=scenario,
        ingredients=ingredients,
        accel=decision.accel,
        display=decision.display,
        render_node=decision.render_node,
        variables=tuple(sorted(variables.items())),
        logs=logs,
        deadline=Deadline.after(scenario.timeout_s),
        switches=switches,
        lies=lies,
    )


@contextlib.contextmanager
def laid_out(plan: BootPlan) -> Iterator[None]:
    """What the machine's variables name is there: folders for records, library paths that change, the liar's file."""
    for folder in (FOLDER, TRACES) if plan.scenario.host.trace else (FOLDER,):
        (plan.logs / folder).mkdir(exist_ok=True)
    if has_host_reference(plan.scenario.checks):
        (plan.logs / REFERENCE_CALLS).mkdir(exist_ok=True)
    with laid(plan.switches), laid_lies(plan.lies):
        yield


def ship(guest: Guest, ingredients: Ingredients, deadline: Deadline) -> None:
    """Put the guest library and our programs into the guest."""
    guest.ssh.execute(f"mkdir -p {GUEST_FOLDER}", deadline)
    library = ingredients.shipment.guest_library
    guest.ssh.put(library.path, library.inside)
    ship_programs(guest)


def boot_record(variants: Sequence[Variant], plan: BootPlan) -> BootRecord:
    """A machine that is about to start."""
    return BootRecord(
        variants=tuple(variant.id for variant in variants),
        environment=recorded(dict(plan.variables)),
        accel=plan.accel,
        payloads=tuple(payload.record for payload in plan.ingredients.shipment.payloads),
    )


def booted_record(record: BootRecord, guest: Guest) -> BootRecord:
    """The same when it answers."""
    update = {
        "argv": guest.argv,
        "boot_s": round(guest.boot_s, 3),
        "capsets": guest.capsets,
        "kernel": guest.ssh.execute("uname -r", Deadline.after(SHIP_S))[1].strip(),
    }
    return record.model_copy(update=update)
