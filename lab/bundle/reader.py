"""Reading a bundle in whatever state the run left it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter

from lab.bundle.outcome import Outcome
from lab.bundle.rows import CallRow, CaseRow, FactRow, FindingRow, PerfRow, SupportRow
from lab.bundle.schema import CALLS, RESULTS, RUN, SCHEMA, SUPPORT, RunRecord
from lab.errors import ConfigError, ConfigProblem

Placed = TypeVar("Placed", CaseRow, FactRow, FindingRow, CallRow, SupportRow)
Row = CaseRow | PerfRow | FactRow | FindingRow | CallRow
KINDS: Mapping[str, type[Row]] = {"case": CaseRow, "perf": PerfRow, "fact": FactRow, "finding": FindingRow}
READERS: Mapping[type[Row], TypeAdapter[Any]] = {kind: TypeAdapter(kind) for kind in (*KINDS.values(), CallRow)}
WHOLE = {kind: tuple(one.name for one in fields(kind) if str(one.type).startswith("int")) for kind in READERS}
"""Keys of whole numbers."""
NUMBERS = range(-(1 << 63), 1 << 64)
"""Whole numbers that a row may have: what is counted or timed stays far within, a session is any unsigned one of 64 bits."""
ESCAPED = "\\u"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle read whole. ``cut_lines`` counts lines that are no rows, such as one being written when the run was cut off."""

    folder: Path
    run: RunRecord
    cases: tuple[CaseRow, ...]
    facts: tuple[FactRow, ...]
    findings: tuple[FindingRow, ...]
    calls: tuple[CallRow, ...]
    cut_lines: int
    support: tuple[SupportRow, ...] = ()
    perf: tuple[PerfRow, ...] = ()


def told_calls(rows: Sequence[CallRow]) -> tuple[CallRow, ...]:
    """Of a variant's calls the joined ones, or those of the host alone where none were joined."""
    return tuple(row for row in rows if row.side == "both") or tuple(rows)


def by_variant(rows: Iterable[Placed]) -> Mapping[tuple[str, str], Sequence[Placed]]:
    """Rows by scenario and variant: they are gone through once, however many variants there are."""
    found: dict[tuple[str, str], list[Placed]] = {}
    for row in rows:
        found.setdefault((row.scenario, row.variant), []).append(row)
    return found


def read_bundle(folder: Path) -> Bundle:
    """Read a bundle.

    Raises:
        ConfigError: it is none, or one of a schema that this lab does not read, or has something else in a file's place.
    """
    run = read_run(folder)
    rows, cut_results = _rows(folder / RESULTS, KINDS)
    calls, cut_calls = _rows(folder / CALLS, {"": CallRow})
    support, cut_support = _support(folder / SUPPORT)
    return Bundle(
        folder,
        run,
        tuple(row for row in rows if isinstance(row, CaseRow)),
        tuple(row for row in rows if isinstance(row, FactRow)),
        tuple(row for row in rows if isinstance(row, FindingRow)),
        tuple(row for row in calls if isinstance(row, CallRow)),
        cut_results + cut_calls + cut_support,
        support,
        tuple(row for row in rows if isinstance(row, PerfRow)),
    )


def read_cases(folder: Path) -> tuple[CaseRow, ...]:
    """The cases of a bundle alone. Raises ``ConfigError``: something else is in their file's place."""
    return tuple(row for row in _rows(folder / RESULTS, KINDS)[0] if isinstance(row, CaseRow))


def read_calls(folder: Path) -> tuple[CallRow, ...]:
    """The calls of a bundle alone. Raises ``ConfigError``: something else is in their file's place."""
    return tuple(row for row in _rows(folder / CALLS, {"": CallRow})[0] if isinstance(row, CallRow))


def read_run(folder: Path) -> RunRecord:
    """What stands in a bundle's ``run.json`` alone. Raises ``ConfigError`` as ``read_bundle`` does."""
    try:
        if not _is_there(folder / RUN):
            raise ConfigError(folder, [ConfigProblem("", f"is no run bundle: it has no {RUN}")])
        record = RunRecord.model_validate_json((folder / RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(folder / RUN, [ConfigProblem("", f"cannot be read: {error}")]) from error
    if record.schema_version > SCHEMA:
        text = f"is of schema {record.schema_version}; this lab reads up to {SCHEMA}"
        raise ConfigError(folder / RUN, [ConfigProblem("schema_version", text, "use the lab that wrote it")])
    return record


def _rows(path: Path, kinds: Mapping[str, type[Row]]) -> tuple[list[Row], int]:
    """All rows of the kinds, and how many lines are none. Rows of a kind that a later lab wrote are passed over."""
    rows: list[Row] = []
    cut = 0
    for line in _lines(path):
        try:
            values = _values(line)
            if not isinstance(values, dict):
                cut += 1
            elif (kind := kinds.get(str(values.get("kind", "")))) is not None:
                rows.append(_typed(kind, values))
        except (ValueError, RecursionError):
            cut += 1
    return rows, cut


def _is_there(path: Path) -> bool:
    """Whether there is such a file. Raises ``ConfigError`` for what is none: a pipe or a device may have no end."""
    if path.exists() and not path.is_file():
        raise ConfigError(path, [ConfigProblem("", "is no file")])
    return path.exists()


def _lines(path: Path) -> Iterator[str]:
    if _is_there(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            yield from (line for line in file if line.strip())


def _values(line: str) -> Any:
    """What a line of JSON holds. Raises ``ValueError`` for what nobody wrote: half a surrogate pair, or a number beyond 64 bits."""
    values = json.loads(line, parse_int=_number)
    if ESCAPED in line:
        json.dumps(values, ensure_ascii=False).encode()
    return values


def _number(text: str) -> int:
    number = int(text)
    if number not in NUMBERS:
        raise ValueError(f"a number of more than 64 bits: {text[:30]}")
    return number


def _support(path: Path) -> tuple[tuple[SupportRow, ...], int]:
    """The truth table as far as it is one, and 1 where it is not to its end; a line that was being written is left out."""
    names = [field.name for field in fields(SupportRow)]
    words = {"yes": True, "no": False}
    rows: list[SupportRow] = []
    try:
        for line in csv.DictReader(_lines(path)):
            if all(line.get(name) for name in names) and line["agree"] in words:
                values: dict[str, Any] = {name: line[name] for name in names}
                rows.append(SupportRow(**{**values, "agree": words[line["agree"]]}))
    except csv.Error:
        return tuple(rows), 1
    return tuple(rows), 0


def _typed(kind: type[Row], values: dict[str, Any]) -> Row:
    """A row as its dataclass; keys that a later lab wrote are passed over. Raises ``ValueError`` for one that does not fit."""
    if any(isinstance(values.get(name), str) for name in WHOLE[kind]):
        raise ValueError("a number that is written as a text, of whatever length")
    row: Row = READERS[kind].validate_python(values)
    if isinstance(row, CaseRow):
        Outcome(row.outcome)  # a later lab may have more of them
    return row
