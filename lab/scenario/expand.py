"""Matrix and named variants → variants, and which of them one boot can serve."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lab.errors import ConfigError, ConfigProblem
from lab.scenario.choices import mistaken_choices
from lab.scenario.expectations import Expectations
from lab.scenario.faults import Fault
from lab.scenario.file import MATRIX, complete_tables, laid_over, overridden, validated
from lab.scenario.matrix import Axes, axis_path, combinations, flattened
from lab.scenario.model import AxisValue, Scenario
from lab.scenario.model_bench import BenchCheck
from lab.scenario.model_checks import FaultCheck
from lab.scenario.model_upstream import has_host_reference
from lab.scenario.source import VARIANTS, Source, within

NOTHING_EXPECTED = Expectations()
ONLY_VARIANT = "default"
NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._-]+")
"""Ids name folders, of the bundle and of the guest, and stand in commands."""
LONGEST_ID = 200
CHOSEN_PER_PROGRAM = frozenset({"capset", "data_path", "environment"})
"""Settings of ``[guest]`` that a guest program's environment decides: variants that differ only in these share a boot."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One point of a scenario's matrix: a scenario whose own matrix is empty, and an id that reads like words."""

    id: str
    scenario: Scenario
    axes: tuple[tuple[str, AxisValue], ...] = ()
    expectations: Expectations = NOTHING_EXPECTED

    @property
    def boot_key(self) -> str:
        """Equal for variants that one boot can serve.

        Whatever one of them needs of the machine, another's fault may be the lack of: of the APIR capset, or of the machine itself.
        """
        faults = {check.fault for check in self.scenario.checks if isinstance(check, FaultCheck)}
        of_capset = has_host_reference(self.scenario.checks) or Fault.NO_APIR_CAPSET in faults
        per_program = CHOSEN_PER_PROGRAM - ({"capset"} if of_capset else set())
        guest = self.scenario.guest.model_dump(mode="json", exclude=set(per_program))
        rest = self.scenario.model_dump_json(include={"host", "implementation", "timeout_s", "requires"})
        # QEMU's workers see what was bound for them when it started, a benchmark's second host library among it
        seconds = [check.host_library for check in self.scenario.checks if isinstance(check, BenchCheck)]
        return f"{sorted(guest.items())} {rest} {list(filter(None, seconds))} {self.must_not_start}"

    @property
    def must_not_start(self) -> bool:
        """Whether QEMU must refuse this variant's machine."""
        checks = self.scenario.checks
        return all(isinstance(check, FaultCheck) and not check.fault.expectation.starts for check in checks)


def expand(source: Source) -> tuple[Variant, ...]:
    """All variants of a checked file, in its order. Raises ``ConfigError`` with what is wrong with any of them."""
    tables = complete_tables(source.tables)
    plain = {key: value for key, value in tables.items() if key not in {MATRIX, VARIANTS}}
    variants: list[Variant] = []
    problems: dict[ConfigProblem, None] = {}
    every = itertools.product(enumerate(tables.get(VARIANTS) or ({},)), combinations(tables.get(MATRIX)))
    for (number, named), point in every:
        here = laid_over(plain, {key: value for key, value in named.items() if key != "name"})
        for axis, value in point:
            here = overridden(here, axis_path(axis) or axis, value)
        words = "-".join(filter(None, (named.get("name"), variant_id(point) if point else "")))
        try:
            scenario = validated(replace(source, tables=here, settings=()))
            variants.append(Variant(words or ONLY_VARIANT, scenario, point))
            mistaken = [_where_chosen(one, number, named, point) for one in mistaken_choices(scenario)]
            problems |= dict.fromkeys(source.in_order(mistaken))
        except ConfigError as error:
            problems |= dict.fromkeys(error.problems)
    if problems:
        raise ConfigError(source.path, tuple(problems))
    problems = dict.fromkeys((*_long_ids(variants), *_equal_names(tables.get(VARIANTS) or ())))
    problems = problems or dict.fromkeys(_equal_ids(variants))
    if problems:
        raise ConfigError(source.path, source.in_order(tuple(problems)))
    return tuple(variants)


def _where_chosen(problem: ConfigProblem, number: int, named: Mapping[str, Any], point: Axes) -> ConfigProblem:
    """The problem of a variant at the key of the matrix or of ``[[variants]]`` that has the say, if one of them has."""
    for axis, _ in point:
        if axis_path(axis) == problem.key:
            return replace(problem, key=f"{MATRIX}.{axis}")
    has_own = any(within(problem.key, key) for key, _ in flattened(named))
    return replace(problem, key=f"{VARIANTS}[{number}].{problem.key}") if has_own else problem


def variant_id(point: Axes) -> str:
    """Words of the values, joined: ``apir-copied``. Numbers and truths take their axis along: ``cpus-4``."""
    return "-".join(_word(axis, value) for axis, value in point) or ONLY_VARIANT


def chosen(variants: Iterable[Variant], ids: Sequence[str], matches: Callable[[str], bool], path: Path) -> tuple[Variant, ...]:
    """Variants named by ``--variant`` (all if none are) for which ``-k`` holds of ``scenario/variant``.

    Raises:
        ConfigError: for an id that no variant has.
    """
    variants = tuple(variants)
    known = [variant.id for variant in variants]
    unknown = [
        ConfigProblem("--variant", f"there is no variant {name!r}", f"one of {', '.join(known)}")
        for name in ids
        if name not in known
    ]
    if unknown:
        raise ConfigError(path, unknown)
    wanted = [variant for variant in variants if not ids or variant.id in ids]
    return tuple(variant for variant in wanted if matches(f"{variant.scenario.name}/{variant.id}"))


def boots(variants: Iterable[Variant]) -> tuple[tuple[Variant, ...], ...]:
    """The variants grouped by boot, in their order."""
    groups: dict[str, list[Variant]] = {}
    for variant in variants:
        groups.setdefault(variant.boot_key, []).append(variant)
    return tuple(tuple(group) for group in groups.values())


def _word(axis: str, value: AxisValue) -> str:
    leaf = axis.rpartition(".")[2].replace("_", "-")
    if not isinstance(value, str):
        return f"{leaf}-{str(value).lower()}"
    said = NOT_IN_IDS.sub("-", Path(value).stem.removeprefix("lib") if "/" in value else value)
    return f"{leaf}-{said}" if said in {".", ".."} else said


def _long_ids(variants: Sequence[Variant]) -> Iterator[ConfigProblem]:
    longest = max((variant.id for variant in variants), key=len)
    if len(longest) > LONGEST_ID:
        text = f"a variant's id, which names folders, would have more than {LONGEST_ID} characters: {longest[:LONGEST_ID]}…"
        yield ConfigProblem("matrix", text, "use [[variants]] with names and settings")


def _equal_names(named: Sequence[Mapping[str, Any]]) -> Iterator[ConfigProblem]:
    names = [one.get("name") for one in named]
    for number, name in enumerate(names):
        if name in names[:number]:
            yield ConfigProblem(f"{VARIANTS}[{number}].name", "is the name of another variant, too", "give each a name of its own")


def _equal_ids(variants: Sequence[Variant]) -> Iterator[ConfigProblem]:
    ids = [variant.id for variant in variants]
    repeated = sorted({name for name in ids if ids.count(name) > 1})
    if repeated:
        yield ConfigProblem("matrix", f"several variants would be called {', '.join(repeated)}", "give the axes distinct values")
