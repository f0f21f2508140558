"""The matrix of a scenario file: axes, and combinations that are taken out or put in, as the matrices of CI systems have them.

First the product of all axes. ``exclude`` takes out the combinations that have all the values of an entry. An entry of
``include`` whose values contradict none of a combination's is added to that combination, and to every such one; an entry that
fits none is a combination of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from lab.errors import ConfigProblem
from lab.scenario.model import Guest, Host, Implementation, Matrix
from lab.scenario.problem import meant, value_problem

Axes = tuple[tuple[str, Any], ...]
"""A combination: axes, as the file calls them, with their values."""
INCLUDE, EXCLUDE = "include", "exclude"
SETTINGS: Mapping[str, type[BaseModel]] = {"host": Host, "guest": Guest, "implementation": Implementation}
NOT_FOR_A_MATRIX = frozenset({"environment"})


def axis_path(axis: str) -> str | None:
    """Key path that a matrix key stands for: itself if dotted, else the one setting with that last word; None if none."""
    paths = [f"{table}.{key}" for table, model in SETTINGS.items() for key in model.model_fields if key not in NOT_FOR_A_MATRIX]
    if axis in paths:
        return axis
    matching = [path for path in paths if path.partition(".")[2] == axis]
    return matching[0] if len(matching) == 1 else None


def axis_names() -> list[str]:
    """Names that an axis can have: the last word of a setting where that is enough."""
    settings = [(f"{table}.{key}", key) for table, model in SETTINGS.items() for key in model.model_fields]
    return sorted(key if axis_path(key) else path for path, key in settings if axis_path(path))


def flattened(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of nested tables as (dotted path, value)."""
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def flat_matrix(matrix: Any) -> Any:
    """The matrix with one key per axis, also where the file writes ``guest.cpus`` as a table in a table."""
    if not isinstance(matrix, Mapping):
        return matrix
    flat = dict(flattened({key: value for key, value in matrix.items() if key not in {INCLUDE, EXCLUDE}}))
    for key in (INCLUDE, EXCLUDE):
        if key in matrix:
            entries = matrix[key]
            flat[key] = [dict(flattened(one)) if isinstance(one, Mapping) else one for one in _list(entries)]
            if not isinstance(entries, list):
                flat[key] = entries
    return flat


def combinations(matrix: Any) -> tuple[Axes, ...]:
    """All combinations of a checked matrix, in the file's order; one without axes where there is no matrix."""
    flat = flat_matrix(matrix) or {}
    axes = {key: values for key, values in flat.items() if key not in {INCLUDE, EXCLUDE}}
    entries = [tuple(entry.items()) for entry in flat.get(INCLUDE, ())]
    products = [tuple(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    originals = [point for point in products if not any(_holds(point, entry) for entry in flat.get(EXCLUDE, ()))]
    if not axes and entries:
        originals = []
    extended = [dict(point) for point in originals]
    alone = []
    for entry in entries:
        fitting = [number for number, point in enumerate(originals) if _fits(point, entry)]
        for number in fitting:
            extended[number] |= {key: value for key, value in entry if _path(key) not in map(_path, axes)}
        if not fitting:
            alone.append(entry)
    return (*(tuple(point.items()) for point in extended), *alone)


def matrix_problems(matrix: Any, context: Mapping[str, Any]) -> Iterator[ConfigProblem]:
    """Each axis must name a setting, each value be right for it, and no entry be without effect."""
    flat = flat_matrix(matrix)
    if not isinstance(flat, Mapping):
        return
    axes = {key: values for key, values in flat.items() if key not in {INCLUDE, EXCLUDE} and isinstance(values, list)}
    before = list(_axes_problems(axes, context))
    yield from before
    yield from _include_problems(_tables(flat.get(INCLUDE)), context)
    wrong = list(_exclude_problems(axes, _tables(flat.get(EXCLUDE))))
    yield from wrong
    if flat and not before and not wrong and _is_well_formed(flat) and not combinations(flat):
        yield ConfigProblem("matrix", "no combination is left", "every one is excluded")


def _is_well_formed(flat: Mapping[str, Any]) -> bool:
    try:
        Matrix.model_validate(flat)
    except ValidationError:
        return False
    return True


def _axes_problems(axes: Mapping[str, list[Any]], context: Mapping[str, Any]) -> Iterator[ConfigProblem]:
    for axis, values in axes.items():
        if axis_path(axis) is None:
            yield ConfigProblem(f"matrix.{axis}", "no setting of this name", meant(axis, axis_names()))
            continue
        for index, value in enumerate(values):
            yield from _wrong_value(f"matrix.{axis}[{index}]", axis, value, context)


def _include_problems(entries: Sequence[tuple[int, Mapping[str, Any]]], context: Mapping[str, Any]) -> Iterator[ConfigProblem]:
    for number, entry in entries:
        place = f"matrix.{INCLUDE}[{number}]"
        if not entry:
            yield ConfigProblem(place, "is empty", 'name axes with their values, as in { capset = "apir", cpus = 4 }')
        for axis, value in entry.items():
            if axis_path(axis) is None:
                yield ConfigProblem(f"{place}.{axis}", "no setting of this name", meant(axis, axis_names()))
            else:
                yield from _wrong_value(f"{place}.{axis}", axis, value, context)


def _exclude_problems(axes: Mapping[str, list[Any]], entries: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[ConfigProblem]:
    values = {_path(axis): choices for axis, choices in axes.items()}
    for number, entry in entries:
        place = f"matrix.{EXCLUDE}[{number}]"
        if not entry:
            yield ConfigProblem(place, "is empty and would exclude everything", "name axes with their values")
        for axis, value in entry.items():
            if _path(axis) not in values:
                yield ConfigProblem(f"{place}.{axis}", "is no axis of this matrix", meant(axis, list(axes)))
            elif value not in values[_path(axis)]:
                choices = ", ".join(map(str, values[_path(axis)]))
                yield ConfigProblem(
                    f"{place}.{axis}", f"{value!r} is no value of that axis: nothing is excluded", f"one of {choices}"
                )


def _wrong_value(place: str, axis: str, value: Any, context: Mapping[str, Any]) -> Iterator[ConfigProblem]:
    table, _, key = (axis_path(axis) or "").partition(".")
    problem = value_problem(SETTINGS[table], key, value, context)
    if problem is not None:
        yield ConfigProblem(place, problem.message, problem.hint)


def _holds(point: Axes, entry: Mapping[str, Any]) -> bool:
    """Whether a combination has all values of an entry."""
    values = {_path(axis): value for axis, value in point}
    return all(_path(axis) in values and values[_path(axis)] == value for axis, value in entry.items())


def _fits(point: Axes, entry: Axes) -> bool:
    """Whether an entry contradicts no value of a combination."""
    values = {_path(axis): value for axis, value in point}
    return all(values.get(_path(axis), value) == value for axis, value in entry)


def _path(axis: str) -> str:
    return axis_path(axis) or axis


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _tables(entries: Any) -> list[tuple[int, Mapping[str, Any]]]:
    return [(number, one) for number, one in enumerate(_list(entries)) if isinstance(one, Mapping)]
