"""Scenario file → ``Scenario``, or every problem of the file at once, each with its file, line, key path and a hint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lab.errors import ConfigError, ConfigProblem
from lab.host.recipe import recipe_names
from lab.scenario.lines import key_path
from lab.scenario.matrix import INCLUDE, axis_path, flat_matrix, flattened, matrix_problems
from lab.scenario.model import Defaults, Scenario, ScenarioFile
from lab.scenario.model_checks import CHECK_KINDS
from lab.scenario.problem import meant, problems_of, value_problem
from lab.scenario.setting import Setting, Tables
from lab.scenario.source import ADD_CHECKS, CHECKS, DEFAULTS, EXTENDS, LAYERED, VARIANTS, Source, read_source, within
from lab.visible import is_utf8

MATRIX, NAME = "matrix", "name"
MERGED = ("thresholds", "cost")
"""Tables of checks that merge with those of their defaults; what a lie's judge may say depends on its kind, which is its own."""
READER_KEYS = (EXTENDS, DEFAULTS, ADD_CHECKS)
"""Keys that say how the file is to be read, and are no part of the scenario."""


def load(path: Path, settings: Sequence[str] = ()) -> Scenario:
    """Read a scenario file; ``settings`` are ``key=value`` words that override it before it is checked.

    Raises:
        ConfigError: with all problems of the file and the settings together.
    """
    return validated(read_source(path, settings))


def validated(source: Source) -> Scenario:
    """The checked scenario, its matrix values and defaults included. Raises ``ConfigError`` with all problems."""
    context = {"folder": source.folder, "images": image_names()}
    of_defaults = tuple(_default_problems(source.tables.get(DEFAULTS), context))
    problems = [*of_defaults, *_overridden_settings(source), *_unusable_texts(source.tables)]
    if ADD_CHECKS in source.tables:
        problems.append(ConfigProblem(ADD_CHECKS, "input should be a list of tables", "[[add_checks]], once for each check"))
    tables = complete_tables(source.tables)
    told = _laid_under(tables, source.tables) if of_defaults else frozenset()
    scenario = None
    try:
        scenario = Scenario.model_validate(tables, context=context)
    except ValidationError as error:
        problems += [_where_written(problem, tables) for problem in problems_of(error, ScenarioFile) if problem.key not in told]
    problems += matrix_problems(source.tables.get(MATRIX), context)
    if problems or scenario is None:
        raise ConfigError(source.path, source.in_order(problems))
    return scenario


def image_names() -> frozenset[str]:
    """Names of the guest images that have a recipe."""
    return frozenset(recipe_names("guest"))


def complete_tables(tables: Mapping[str, Any]) -> Tables:
    """The tables of the scenario itself, with ``[defaults]`` laid under them and the matrix one key per axis."""
    complete = without_reader_keys(tables)
    defaults = _table(tables.get(DEFAULTS))
    for name in LAYERED:
        if name in defaults:
            complete[name] = laid_over(_table(defaults[name]), complete.get(name, {}))
    of_checks = _table(defaults.get(CHECKS))
    complete[CHECKS] = with_defaults(complete.get(CHECKS, []), of_checks)
    if isinstance(complete.get(VARIANTS), list):
        complete[VARIANTS] = [
            {**variant, CHECKS: with_defaults(variant[CHECKS], of_checks)}
            if isinstance(variant, Mapping) and CHECKS in variant
            else variant
            for variant in complete[VARIANTS]
        ]
    return complete


def without_reader_keys(tables: Mapping[str, Any]) -> Tables:
    """The tables without what only says how to read them."""
    own = {key: value for key, value in tables.items() if key not in READER_KEYS}
    return own | ({MATRIX: flat_matrix(own[MATRIX])} if MATRIX in own else {})


def with_defaults(checks: Any, defaults: Mapping[str, Any]) -> Any:
    """Checks with the parameters that are said once for their kind; of the ``MERGED`` tables with those they do not say."""
    if not isinstance(checks, list):
        return checks
    return [
        _with_default(check, _table(defaults.get(str(check.get("kind"))))) if isinstance(check, Mapping) else check
        for check in checks
    ]


def _with_default(check: Mapping[str, Any], default: Mapping[str, Any]) -> Tables:
    both = [name for name in MERGED if isinstance(default.get(name), Mapping) and isinstance(check.get(name), Mapping)]
    return {**default, **check, **{name: {**default[name], **check[name]} for name in both}}


def overridden(tables: Tables, path: str, value: Any) -> Tables:
    """A copy of the tables with the value at a dotted path of two words."""
    table, _, key = path.partition(".")
    inner = tables.get(table)
    return {**tables, table: {**(inner if isinstance(inner, dict) else {}), key: value}}


def laid_over(tables: Mapping[str, Any], over: Any) -> Any:
    """The tables with others laid over them, key by key; lists are replaced as a whole."""
    if not isinstance(over, Mapping):
        return over
    merged = dict(tables)
    for key, value in over.items():
        before = merged.get(key)
        merged[key] = laid_over(before, value) if isinstance(before, Mapping) else value
    return merged


def _default_problems(defaults: Any, context: Mapping[str, Any]) -> Iterator[ConfigProblem]:
    """What is wrong in ``[defaults]``, where it stands there."""
    if defaults is None:
        return
    try:
        Defaults.model_validate(defaults, context=dict(context))
    except ValidationError as error:
        yield from problems_of(error, Defaults, (DEFAULTS,))
    kinds = defaults.get(CHECKS) if isinstance(defaults, Mapping) else None
    for kind, parameters in kinds.items() if isinstance(kinds, Mapping) else ():
        place = f"{DEFAULTS}.{CHECKS}.{kind}"
        model = CHECK_KINDS.get(kind)
        if model is None:
            yield ConfigProblem(place, "no such kind of check", meant(kind, list(CHECK_KINDS)))
            continue
        for key, value in parameters.items() if isinstance(parameters, Mapping) else ():
            problem = value_problem(model, key, value, context)
            if problem is not None:
                yield replace(problem, key=f"{place}.{problem.key}")


def _laid_under(complete: Tables, tables: Tables) -> frozenset[str]:
    """Key paths that the complete tables have from ``[defaults]`` alone: what is wrong there is told where it is written."""
    return frozenset(_key_paths(complete)) - frozenset(_key_paths(without_reader_keys(tables)))


def _key_paths(value: Any, words: tuple[str | int, ...] = ()) -> Iterator[str]:
    """Of all that there is in tables and lists."""
    yield key_path(words)
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _key_paths(inner, (*words, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _key_paths(inner, (*words, number))


def _table(value: Any) -> Mapping[str, Any]:
    """The value, if it is a table; else an empty one."""
    return value if isinstance(value, Mapping) else {}


def _unusable_texts(value: Any, words: tuple[str | int, ...] = ()) -> Iterator[ConfigProblem]:
    """Texts that can be no part of a path, a command or a variable, wherever they stand."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _unusable_texts(inner, (*words, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _unusable_texts(inner, (*words, number))
    elif isinstance(value, str) and "\0" in value:
        yield ConfigProblem(key_path(words), "has the character NUL")
    elif isinstance(value, str) and not is_utf8(value):
        yield ConfigProblem(key_path(words), "has bytes that are no text in UTF-8")


def _overridden_settings(source: Source) -> Iterator[ConfigProblem]:
    """Settings of the command line that would change nothing, since a matrix or a named variant has its own value."""
    matrix = _table(flat_matrix(source.tables.get(MATRIX)))
    axes = {path: axis for axis in matrix if (path := axis_path(axis))}
    added, named = (
        list(map(_table, one)) if isinstance(one, list) else [] for one in (matrix.get(INCLUDE), source.tables.get(VARIANTS))
    )
    # the file's own checks are those of variants that have none
    not_laid_over = {NAME} if all(CHECKS in variant for variant in named) else {NAME, CHECKS}

    def of_variants(path: str) -> list[str]:
        return [f"{VARIANTS}[{number}].{path}" for number in range(len(named))]

    for setting in source.settings:
        for path, axis in axes.items():
            if _overridden_part(setting, [path, *of_variants(path)]):
                hint = f"choose with --variant, or --set 'matrix.{axis}=[…]'"
                yield ConfigProblem(setting.key, "is an axis of the matrix, whose values come after this one", hint)
        for number, entry in enumerate(added):
            for axis in entry:
                if (path := axis_path(axis)) and path not in axes and _overridden_part(setting, [path, *of_variants(path)]):
                    hint = f"--set '{MATRIX}.{INCLUDE}[{number}].{axis}=…' changes that one"
                    yield ConfigProblem(setting.key, f"{MATRIX}.{INCLUDE}[{number}] has its own value of this", hint)
        for number, variant in enumerate(named):
            if part := _overridden_part(setting, [key for key, _ in flattened(variant) if key not in not_laid_over]):
                hint = f"--set '{VARIANTS}[{number}].{part}=…' changes that one"
                yield ConfigProblem(setting.key, f"variant {variant.get(NAME)!r} has its own value of this", hint)


def _overridden_part(setting: Setting, own: Sequence[str]) -> str:
    """What of a setting, or around it as a list is around its items, has a value of its own; empty for nothing."""
    pairs = ((part, key) for part in _parts(setting) for key in own if within(part, key) or within(key, part))
    return next((max(pair, key=len) for pair in pairs), "")


def _parts(setting: Setting) -> list[str]:
    """Key paths of what a setting sets: of each value in a table, also in the tables of a whole list of variants."""
    key, value = setting.key, setting.value
    tables = (
        {key: value}
        if key != VARIANTS
        else {f"{key}[{number}]": one for number, one in enumerate(value if isinstance(value, list) else ())}
    )
    return [
        part
        for at, one in tables.items()
        for part in ([f"{at}.{inner}" for inner, _ in flattened(one)] if isinstance(one, Mapping) else [at])
    ]


def _where_written(problem: ConfigProblem, tables: Mapping[str, Any]) -> ConfigProblem:
    """The problem at the key that the file has, where a text stands for a whole table."""
    at: Any = tables
    path = ""
    for word in problem.key.split("."):
        if not isinstance(at, Mapping):
            return replace(problem, key=path) if isinstance(at, str) else problem
        path = f"{path}.{word}" if path else word
        at = at.get(word)
    return problem
