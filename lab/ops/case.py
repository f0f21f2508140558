"""A case: an operation with its types, sizes, layouts and parameters, and the text that names it.

The text is the id: ``ADD(type=f16,a=10x5x4x3,b=10x1x4x3,layout=slice)``. Parameters stand in their family's order and those
with the default value are left out, so a family may gain a parameter and no id changes. ``parsed`` turns the id back into the
case; the seed is no part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lab.errors import LabError

if TYPE_CHECKING:
    from lab.ops.build import Builder, Value

Parameter = int | float | str | tuple[int, ...]
Parameters = Mapping[str, Any]
Row = Mapping[str, Parameter]

ROUNDS = "rounds"
TRANSFER = "transfer"
GENERAL: dict[str, Parameter] = {ROUNDS: 1, TRANSFER: 0}
"""Parameters that every family has.

``rounds``: how often the same graph runs, each time with new data. ``transfer``: the data go to and from the device in
two pieces of that many bytes (twenty of up to 1 KiB) and a rest, alone and not with other cases' (0: as the engine likes).
"""


class BadCaseId(LabError):
    """A text that names no case of the catalog's families."""

    def __init__(self, text: str, why: str) -> None:
        self.text = text
        super().__init__(f"{text!r} is no case: {why}", hint="lab ops lists the operations; an id is OP(parameter=value,…)")


@dataclass(frozen=True, slots=True)
class Family:
    """Operations that are built alike.

    Args:
        ops: their names, as ``test-backend-ops --show-coverage`` writes them.
        defaults: every parameter with its default, which tells its type, too.
        build: makes the operation of a case and returns its results.
        rows: the parameters of the catalog's cases of one operation.
    """

    ops: tuple[str, ...]
    defaults: Row
    build: Callable[[Builder, str, Parameters], Value | tuple[Value, ...]]
    rows: Callable[[str], Iterable[Row]]


@dataclass(frozen=True, slots=True)
class Case:
    """One case. ``chosen`` holds the parameters that differ from the family's defaults, in the family's order.

    ``id`` is the readable name from which ``parsed`` makes the case again. Made by ``case_of``.
    """

    family: Family
    op: str
    chosen: tuple[tuple[str, Parameter], ...]
    id: str

    @property
    def travels(self) -> tuple[int, int]:
        """Rounds and transfer: cases in which both are equal may share a graph."""
        chosen = {name: value for name, value in self.chosen if name in GENERAL}
        rounds, transfer = (chosen.get(name, GENERAL[name]) for name in (ROUNDS, TRANSFER))
        return int(str(rounds)), int(str(transfer))

    @property
    def parameters(self) -> Parameters:
        """All parameters, with defaults."""
        return {**GENERAL, **self.family.defaults, **dict(self.chosen)}


def case_of(family: Family, op: str, row: Row) -> Case:
    """The case of a family with these parameters. Raises ``BadCaseId`` for one that the family does not have."""
    defaults = {**family.defaults, **GENERAL}
    if unknown := set(row) - set(defaults):
        raise BadCaseId(op, f"it has no parameter {', '.join(sorted(unknown))}")
    chosen = tuple((name, row[name]) for name, default in defaults.items() if name in row and row[name] != default)
    return Case(family, op, chosen, f"{op}({','.join(f'{name}={written(value)}' for name, value in chosen)})")


def parsed(text: str, families: Mapping[str, Family]) -> Case:
    """The case of an id. ``families`` maps operations to theirs. Raises ``BadCaseId``."""
    op, bracket, rest = text.partition("(")
    if op not in families:
        raise BadCaseId(text, f"no operation {op!r}")
    if not bracket or not rest.endswith(")"):
        raise BadCaseId(text, "the parameters are not in brackets")
    family = families[op]
    defaults = {**family.defaults, **GENERAL}
    row: dict[str, Parameter] = {}
    for word in filter(None, rest[:-1].split(",")):
        name, _, value = word.partition("=")
        if name not in defaults or name in row:
            raise BadCaseId(text, f"parameter {name!r} is unknown or stands twice")
        row[name] = _read(text, value, defaults[name])
    case = case_of(family, op, row)
    if min(case.travels[0] - 1, case.travels[1]) < 0:
        raise BadCaseId(text, f"{ROUNDS} is 1 or more, {TRANSFER} 0 or more")
    if case.id != text:
        raise BadCaseId(text, f"it is written {case.id}")
    return case


def written(value: Parameter) -> str:
    """A parameter as it stands in an id."""
    if isinstance(value, tuple):
        return "x".join(map(str, value))
    return repr(value) if isinstance(value, float) else str(value)


def _read(text: str, value: str, default: Parameter) -> Parameter:
    try:
        if isinstance(default, tuple):
            return tuple(int(size) for size in value.split("x"))
        return type(default)(value)
    except ValueError as error:
        raise BadCaseId(text, f"{value!r} is not like {default!r}") from error
