"""What a run will do: scenario files, their variants, and which boots serve them. Decided before anything is started."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from lab.errors import ConfigError, ConfigProblem
from lab.scenario.expand import Variant, boots, chosen, expand
from lab.scenario.expectations import expectations_path, load_expectations
from lab.scenario.file import validated
from lab.scenario.keyword import keyword_matcher
from lab.scenario.model import Scenario
from lab.scenario.narrowed import lost, narrowed, of_upstream
from lab.scenario.source import Source, read_source

RUN_BY = "kind catalog takes ids of lab ops --case, kind ops those of test-backend-ops"
CHECKING = ("checks", "add_checks", "defaults", "variants")
"""Keys of settings that may change what is checked: then a case that is not there is no finding."""


@dataclass(frozen=True, slots=True)
class PlannedScenario:
    """One scenario file and the variants of it that were chosen."""

    source: Source
    scenario: Scenario
    variants: tuple[Variant, ...]

    @property
    def sha256(self) -> str:
        """Of the file."""
        return self.source.layers[-1].sha256

    @property
    def path(self) -> Path:
        """The file."""
        return self.source.path

    @property
    def boots(self) -> tuple[tuple[Variant, ...], ...]:
        """The variants, grouped by the boot that serves them."""
        return boots(self.variants)


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user asked for: overriding settings, an expression of ``-k``, variant ids and the only cases to run.

    ``command`` is the one of ``lab`` that was asked, ``options`` are those that only it has.
    """

    settings: tuple[str, ...] = ()
    keyword: str = ""
    variants: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    command: Literal["run", "bench"] = "run"
    options: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The options of the command that say the same."""
        settings = (word for setting in self.settings for word in ("--set", setting))
        variants = (word for variant in self.variants for word in ("--variant", variant))
        cases = (word for case in self.cases for word in ("--case", case))
        return (*self.options, *settings, *(("-k", self.keyword) if self.keyword else ()), *variants, *cases)


def planned(paths: Sequence[Path], choice: Choice) -> tuple[PlannedScenario, ...]:
    """Read all files and choose the variants.

    Raises:
        ConfigError: a file is wrong, or nothing at all was chosen.
    """
    matches = keyword_matcher(choice.keyword)
    plan = []
    any_matches = False
    lacking = list(dict.fromkeys(choice.cases))
    for path in scenario_files(paths):
        source = read_source(path, choice.settings)
        scenario = validated(source)
        expectations = load_expectations(expectations_path(path, scenario.name))
        whole = not choice.cases and not any(setting.words[0] in CHECKING for setting in source.settings)
        every = [replace(variant, expectations=replace(expectations, whole=whole)) for variant in expand(source)]
        variants = chosen(every, choice.variants, matches, path)
        any_matches = any_matches or bool(variants)
        if choice.cases:
            lacking = [text for text in lacking if all(text in lost(one.scenario, choice.cases) for one in variants)]
            variants = with_cases(variants, choice.cases)
        if variants:
            plan.append(PlannedScenario(source, scenario, variants))
    if not plan:
        hint = f"no check runs the cases: {RUN_BY}" if any_matches else f"-k {choice.keyword!r} matches none of scenario/variant"
        problem = ConfigProblem("", "no variant is left to run", hint)
        raise ConfigError(", ".join(map(str, paths)), [problem])
    if lacking:
        problems = [ConfigProblem("--case", f"no check runs {text}", RUN_BY) for text in lacking]
        raise ConfigError(", ".join(map(str, paths)), problems)
    _refuse_equal_names(plan)
    return tuple(plan)


def with_cases(variants: Sequence[Variant], cases: Sequence[str]) -> tuple[Variant, ...]:
    """The variants with checks of these cases only; those that have none are left out."""
    made = ((variant, narrowed(variant.scenario, tuple(dict.fromkeys(cases)))) for variant in variants)
    return tuple(
        replace(
            variant,
            scenario=scenario,
            expectations=replace(variant.expectations, named=of_upstream(variant.scenario, cases)),
        )
        for variant, scenario in made
        if scenario is not None
    )


def scenario_files(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The files, and those in the folders, each once, whatever it is called. Raises ``ConfigError`` for an empty folder."""
    files: dict[str, Path] = {}
    for path in paths:
        try:
            found = sorted(one for one in path.iterdir() if one.match("*.toml")) if path.is_dir() else [path]
        except OSError as error:
            raise ConfigError(path, [ConfigProblem("", f"this folder cannot be read: {error.strerror}")]) from error
        if not found:
            raise ConfigError(path, [ConfigProblem("", "there are no scenario files (*.toml) in this folder")])
        for one in found:
            files.setdefault(os.path.realpath(one), one)
    return tuple(files.values())


def _refuse_equal_names(plan: Sequence[PlannedScenario]) -> None:
    names = [entry.scenario.name for entry in plan]
    for entry in plan:
        if names.count(entry.scenario.name) > 1:
            text = f"several files of this run are named {entry.scenario.name!r}"
            raise ConfigError(entry.path, [ConfigProblem("name", text, "a run needs a name of its own for each")])
