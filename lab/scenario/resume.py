"""Going on with a run that was cut off: what of its bundle is kept, and whether this run may go on with it at all.

Rows are appended one by one, so whatever cut the run off (SIGKILL, a power loss) they are there but for the line that was being
written; that one is read over. Kept are the results of checks of kind ``upstream``; the other checks are short and run again.
A case that the lab itself lost is run again, too. The new bundle gets the kept rows, each with the name of the run that measured
it, so it is whole by itself and can be resumed in its turn; the old one stays as it is.

Calls and mapped libraries are judged by the run that saw them. So what speaks against results without being in their rows, such as
a wrong library, is a reason not to keep them, and so is a lack of proof which libraries they were computed by, or of a remote call
that computed any, where calls were recorded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lab.bundle.outcome import Blame, CaseResult, FindingKind, Outcome
from lab.bundle.reader import Bundle, read_bundle
from lab.bundle.rows import CaseRow, FactRow, FindingRow
from lab.bundle.schema import BootRecord, ResumedRecord, Status, VariantRecord
from lab.bundle.writer import BundleWriter
from lab.errors import ConfigError, ConfigProblem
from lab.ops.upstream_cases import Mode
from lab.scenario.calls import COMPUTING
from lab.scenario.checks.state import MAPPED
from lab.scenario.checks.way import sides_of_others
from lab.scenario.environment import CPU, LAVAPIPE, overlaid, vulkan_variables
from lab.scenario.expand import Variant
from lab.scenario.model_upstream import SETTINGS_OF_THE_WAY, UpstreamCheck
from lab.scenario.plan import PlannedScenario
from lab.scenario.platform import Ingredients
from lab.scenario.requirements import Decision
from lab.scenario.situation import situation_of

NOT_COMPARED = frozenset({"timeout_s", "description"})
CHECKS = "checks"
NOT_KEPT = frozenset({Outcome.ERROR, Outcome.SKIPPED})
UPSTREAM = "upstream-"
"""How the names of the checks begin whose results are kept."""
ASKING = f"{UPSTREAM}{Mode.SUPPORT}"
"""The check of which no case is computed; another one has a number behind it."""
COMPUTED = frozenset({Outcome.PASS, Outcome.FAIL})
LAB_CHECK = "lab"
"""What findings of the machine itself are under."""
LOST = frozenset({Outcome.GUEST_CRASH, Outcome.HOST_CRASH, Outcome.HANG})
AGAINST_RESULTS = frozenset(
    {
        FindingKind.NO_SUCH_DEVICE,
        FindingKind.WRONG_REFERENCE,
        FindingKind.WRONG_LIBRARY,
        FindingKind.WRONG_STATE,
        FindingKind.WRONG_DATA_PATH,
        FindingKind.WRONG_COMMAND_PATH,
        FindingKind.WRONG_CAPSET,
        FindingKind.NO_CALLS,
        FindingKind.CALLS_DIFFER,
        FindingKind.PROGRAM_FAILED,
        FindingKind.SURPLUS_CASE,
        FindingKind.WORKER_LOST,
        FindingKind.TOO_SLOW,
    }
)
"""What is wrong with results and is not in their rows: a run that kept them would find it no second time."""


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """The bundle of a run that was cut off."""

    bundle: Bundle

    @property
    def history(self) -> tuple[ResumedRecord, ...]:
        """All runs that a resuming one goes on with, the first one first. Nothing of them is kept so far."""
        record = self.bundle.run
        this = ResumedRecord(run=record.run, started=record.started, ended=record.ended, status=record.status)
        return (*(one.model_copy(update={"kept": 0}) for one in record.resumed), this)

    def kept(self, place: tuple[str, str], check: str) -> tuple[CaseResult, ...]:
        """Results of one check of a variant."""
        return tuple(result_of(row) for row in self._cases() if (row.scenario, row.variant, row.check) == (*place, check))

    def carry(self, variant: Variant, ingredients: Ingredients, decision: Decision, bundle: BundleWriter) -> Mapping[str, int]:
        """Write the kept rows of a variant into another bundle; how many results there are of each run that measured them.

        What is expected of their cases is what the run that goes on expects.
        """
        place = (variant.scenario.name, variant.id)
        now = self._expected_now(variant, ingredients, decision)
        kept, runs = set(), Counter[str]()
        for row in self._cases():
            if (row.scenario, row.variant) == place:
                kept.add((row.check, row.case))
                runs[row.run or self.bundle.run.run] += 1
                bundle.result(replace(now(row), run=row.run or self.bundle.run.run))
        for measured in self.bundle.perf:
            if (measured.scenario, measured.variant) == place and (measured.check, measured.case) in kept:
                bundle.result(replace(measured, run=measured.run or self.bundle.run.run))
        for fact in self._proofs(place, {check for check, _ in kept}):
            bundle.result(replace(fact, run=fact.run or self.bundle.run.run))
        return runs

    def _expected_now(self, variant: Variant, ingredients: Ingredients, decision: Decision) -> Callable[[CaseRow], CaseRow]:
        """What makes a row one of which this run's expectations are told.

        A run that was killed has not written down its device: where a condition asks for that, rows stay as they are.
        """
        record = next(
            (one for one in self.bundle.run.variants if (one.name, one.variant) == (variant.scenario.name, variant.id)), None
        )
        device, known = record.device if record else None, variant.expectations
        if device is None and any(one.when.registry or one.when.device for one in known.file.expect):
            return lambda row: row
        entries = known.there(situation_of(variant, ingredients, decision.accel, device))

        def now(row: CaseRow) -> CaseRow:
            one = next((entry for entry in entries if entry.matches(row.check.partition(" ")[0], row.case)), None)
            return replace(row, expected=one.end if one else "", reason=one.reason if one else "", link=one.link if one else "")

        return now

    def differences(self, variant: Variant, ingredients: Ingredients, decision: Decision) -> tuple[str, ...]:
        """Why a run of this variant, made of these ingredients and in this way, cannot go on with it."""
        place = (variant.scenario.name, variant.id)
        record = next((one for one in self.bundle.run.variants if (one.name, one.variant) == place), None)
        if record is None and self._not_begun(place):
            return ()
        if record is None or not record.settings:
            return ("it has no such variant",)
        other = (
            *_settings(record, variant),
            *self._payloads(record, ingredients),
            *self._built(ingredients),
            *self._machine(record, variant, decision),
        )
        return (
            *other,
            *self._against(place),
            *self._unproven(place),
            *self._uncalled(place, variant, built_in=ingredients.shipment.built_in),
        )

    def _not_begun(self, place: tuple[str, str]) -> bool:
        """Whether a run that was killed had not come to a variant of its scenario: it has no record of that one, and no results."""
        run = self.bundle.run
        there = run.status is Status.RUNNING and any(one.name == place[0] for one in run.scenarios)
        return there and not any((row.scenario, row.variant) == place for row in self.bundle.cases)

    def _cases(self) -> Iterator[CaseRow]:
        """The first row of every case of a check that can be resumed, but for those that the lab lost."""
        seen: set[tuple[str, str, str, str]] = set()
        for row in self.bundle.cases:
            key = (row.scenario, row.variant, row.check, row.case)
            if row.check.startswith(UPSTREAM) and row.outcome not in NOT_KEPT and key not in seen:
                seen.add(key)
                yield row

    def _against(self, place: tuple[str, str]) -> Iterator[str]:
        """What the run found that is against the results themselves."""
        lost = any((row.scenario, row.variant) == place and row.outcome in LOST for row in self.bundle.cases)
        for row in self.bundle.findings:
            if (row.scenario, row.variant) == place and row.finding in AGAINST_RESULTS and not _beside(row, lost=lost):
                yield f"it found {row.finding!r}, so its results are not kept, run it without --resume: {row.text}"

    def _unproven(self, place: tuple[str, str]) -> Iterator[str]:
        """Checks of which no process was seen with the right libraries."""
        for check in sorted({row.check for row in self._cases() if (row.scenario, row.variant) == place}):
            if not any(fact.ok and fact.name.startswith(MAPPED) for fact in self._proofs(place, {check})):
                yield f"nobody looked at the libraries that {check} ran with, run it without --resume"

    def _uncalled(self, place: tuple[str, str], variant: Variant, *, built_in: bool) -> Iterator[str]:
        """Results that the run itself computed, as it says, without a recorded call that computes a graph.

        A host of others may record none, and the guest's records come at the end alone: a run that came there was judged by them.
        """
        if "host" in sides_of_others(variant.scenario, built_in=built_in):
            return
        computed = any(
            not row.run and row.outcome in COMPUTED and row.check.split(" ")[0] != ASKING
            for row in self._cases()
            if (row.scenario, row.variant) == place
        )
        if computed and variant.scenario.call_records:
            calls = (row for row in self.bundle.calls if (row.scenario, row.variant) == place)
            if not any(row.command in COMPUTING for row in calls):
                yield "it recorded no remote call that computes a graph, so its results are not kept, run it without --resume"

    def _proofs(self, place: tuple[str, str], checks: Collection[str]) -> Iterator[FactRow]:
        """What was asserted while the checks of a variant ran."""
        return (fact for fact in self.bundle.facts if (fact.scenario, fact.variant) == place and fact.check in checks)

    def boot_of(self, place: tuple[str, str]) -> BootRecord | None:
        """What the results of a variant were computed with, as far as it is known."""
        record = next((one for one in self.bundle.run.variants if (one.name, one.variant) == place), None)
        boots = self.bundle.run.boots
        if record is None or record.boot is None or not 0 <= record.boot < len(boots):
            return record.kept if record else None
        return boots[record.boot]

    def _payloads(self, record: VariantRecord, ingredients: Ingredients) -> Iterator[str]:
        """Native files that are other ones now, by their build ids (their hashes, where a file has none)."""
        boot = self.boot_of((record.name, record.variant))
        known = boot.payloads if boot else ()
        if not known and any(row.scenario == record.name and row.variant == record.variant for row in self._cases()):
            yield "it does not tell which libraries it ran with"
        for before in known:
            now = next((one.record for one in ingredients.shipment.payloads if one.role == before.role), None)
            then, there = before.build_id or before.sha256, (now.build_id or now.sha256) if now else "none"
            if then != there:
                yield f"the {before.role} was {then}, here it is {there}"

    def _built(self, ingredients: Ingredients) -> Iterator[str]:
        """Host root and image."""
        for role, key in (("host root", ingredients.root.key), ("guest image", ingredients.image.key)):
            known = [one.key for one in self.bundle.run.built if one.role == role]
            if known and key not in known:
                yield f"the {role} was {', '.join(known)}, here it is {key}"

    def _machine(self, record: VariantRecord, variant: Variant, decision: Decision) -> Iterator[str]:
        """Accelerator, and what chooses a Vulkan device: another driver's results are not this one's."""
        boot, host = self.boot_of((record.name, record.variant)), variant.scenario.host
        accel = record.accel or (boot.accel if boot else "")
        if accel and accel != decision.accel:
            yield f"the accelerator was {accel}, here it is {decision.accel}"
        if host.ggml_library == CPU or boot is None:
            return
        chosen = vulkan_variables(host.ggml_library, decision.vulkan_manifest, software=decision.software_vulkan)
        before, now = dict(boot.environment), overlaid(chosen, host.environment)
        for name in LAVAPIPE:
            if before.get(name) != now.get(name):
                yield f"{name} was {before.get(name)!r}, here it is {now.get(name)!r}"


def earlier_run(folder: Path, plan: Sequence[PlannedScenario]) -> EarlierRun:
    """The run to go on with.

    Raises:
        ConfigError: the folder is no bundle, or nothing of the plan can be resumed.
    """
    bundle = read_bundle(folder)
    checks = [check for entry in plan for variant in entry.variants for check in variant.scenario.checks]
    if not any(isinstance(check, UpstreamCheck) for check in checks):
        problem = ConfigProblem(
            "--resume", "no check of this run can be resumed", "checks of kind upstream can; leave --resume out"
        )
        raise ConfigError(folder, [problem])
    return EarlierRun(bundle)


def result_of(row: CaseRow) -> CaseResult:
    """A row as the result it was."""
    return CaseResult(row.case, row.op, row.params, Outcome(row.outcome), row.message, row.since_previous_ms)


def _beside(row: FindingRow, *, lost: bool) -> bool:
    """Whether a finding is none against kept results: they have it themselves, or the lab's machine did not go down by itself."""
    if row.finding == FindingKind.WORKER_LOST:
        return lost
    return (row.finding, row.check, row.blame) == (FindingKind.WRONG_STATE, LAB_CHECK, Blame.LAB)


def _settings(record: VariantRecord, variant: Variant) -> Iterator[str]:
    """Settings that decide what is run and on what."""
    now = dict(_flat(_compared(json.loads(variant.scenario.model_dump_json()))))
    try:
        before = dict(_flat(_compared(json.loads(record.settings))))
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        yield f"its settings cannot be read: {error}"
        return
    for key in sorted({*before, *now}):
        if before.get(key) != now.get(key):
            yield f"{key} was {before.get(key)!r}, here it is {now.get(key)!r}"


def _compared(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without those that change nothing of a result."""
    checks = [{key: value for key, value in check.items() if key not in SETTINGS_OF_THE_WAY} for check in settings.get(CHECKS, ())]
    return {**{key: value for key, value in settings.items() if key not in NOT_COMPARED}, CHECKS: checks}


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of a JSON value by their key path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _flat(inner, f"{path}[{index}]")
    else:
        yield path, value
