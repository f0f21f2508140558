"""What a run would start: the command lines, the environments, the plan. None of it is started, and nothing is built.

What the host can do is probed, for the command lines hang on it: as by ``lab doctor`` with a QEMU, and a kernel where there is KVM.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from lab.bundle.schema import LOGS
from lab.deadline import Deadline
from lab.errors import ConfigError, ConfigProblem
from lab.host.progress import SilentProgress
from lab.qemu.boot import launch_plan
from lab.scenario.environment import guest_environment
from lab.scenario.expand import Variant
from lab.scenario.machine import boot_spec, real_platform
from lab.scenario.model import Scenario
from lab.scenario.plan import PlannedScenario
from lab.scenario.requirements import decided
from lab.scenario.runner import boot_plan, run_name
from lab.scenario.section import Section
from lab.scenario.shipment import GUEST_FOLDER, GUEST_LIBRARY

DRY_S = 300.0
RUN_STAND_IN = "RUN"


@dataclass(frozen=True, slots=True)
class ShownVariant:
    """A variant as it would be checked; ``held_against`` says what besides its checks judges it."""

    name: str
    variant: str
    guest_environment: tuple[tuple[str, str], ...]
    checks: tuple[str, ...]
    held_against: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownBoot:
    """A machine as it would be started. ``unmet`` says why it would not."""

    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    variants: tuple[ShownVariant, ...]
    unmet: str = ""


class NothingBuilt(SilentProgress):
    """Refuses every step: whatever has to be built first keeps the command lines unknown."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    def step(self, name: str) -> NoReturn:
        """Refuse it. Raises ``ConfigError``."""
        text = f"{name} comes first, and a dry run builds nothing"
        hint = f"run `lab setup --image {self._scenario.guest.image}`, then the command lines are known"
        raise ConfigError(self._scenario.name, [ConfigProblem("--dry-run", text, hint)])


def dry_run(plan: Sequence[PlannedScenario], out: Path) -> tuple[ShownBoot, ...]:
    """Everything the run would start.

    Raises:
        ConfigError: root, image or payloads are not built yet, so the command lines are not known.
    """
    bundle = out.resolve() / f"{RUN_STAND_IN}-{run_name(plan)}"
    places = {entry.scenario.name: (LOGS, entry.scenario.name) if len(plan) > 1 else (LOGS,) for entry in plan}
    boots = [group for entry in plan for group in entry.boots]
    return tuple(_shown_boot(group, bundle.joinpath(*places[group[0].scenario.name], group[0].id)) for group in boots)


def _shown_boot(group: Sequence[Variant], logs: Path) -> ShownBoot:
    scenario = group[0].scenario
    platform = real_platform()
    ingredients = platform.prepare(scenario, NothingBuilt(scenario), Deadline.after(DRY_S))
    decision = decided(scenario, platform.abilities(ingredients.root, ingredients.image.name))
    boot = boot_plan(group, ingredients, decision, logs)
    launch = launch_plan(boot_spec(boot), logs)
    return ShownBoot(launch.argv, launch.environment, tuple(_shown_variant(variant) for variant in group), decision.unmet)


def _shown_variant(variant: Variant) -> ShownVariant:
    scenario = variant.scenario
    environment = guest_environment(scenario, GUEST_LIBRARY, f"{GUEST_FOLDER}/calls/{variant.id}")
    checks = tuple(check.summary for check in scenario.checks)
    return ShownVariant(scenario.name, variant.id, tuple(sorted(environment.items())), checks, tuple(_held_against(variant)))


def _held_against(variant: Variant) -> Iterator[str]:
    """Capabilities, thresholds and expectations."""
    scenario, known = variant.scenario, variant.expectations
    if scenario.requires:
        yield f"requires {', '.join(scenario.requires)}"
    limits: list[tuple[str, Section]] = [("", scenario.thresholds)]
    limits += [(f" of check {number} ({check.kind})", check.thresholds) for number, check in enumerate(scenario.checks)]
    for of, thresholds in limits:
        if said := thresholds.model_dump(exclude_none=True):
            yield f"thresholds{of}: {', '.join(f'{name} {value:g}' for name, value in said.items())}"
    if known.file.expect or known.file.supported:
        yield f"{known.path}: {len(known.file.expect)} expectations, {len(known.file.supported)} lists of supported cases"
