"""Reading a bundle in whatever state the run left it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from lab.bundle.rows import CallRow, CaseRow, FactRow, FindingRow, PerfRow, SupportRow
from lab.bundle.schema import CALLS, RESULTS, RUN, SCHEMA, SUPPORT, RunRecord
from lab.errors import ConfigError, ConfigProblem

R = TypeVar("R", CaseRow, PerfRow, FactRow, FindingRow, CallRow)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle read whole. ``cut_lines`` counts lines that were being written when the run was cut off."""

    folder: Path
    run: RunRecord
    cases: tuple[CaseRow, ...]
    facts: tuple[FactRow, ...]
    findings: tuple[FindingRow, ...]
    calls: tuple[CallRow, ...]
    cut_lines: int
    support: tuple[SupportRow, ...] = ()
    perf: tuple[PerfRow, ...] = ()

    def calls_of(self, scenario: str, variant: str) -> tuple[CallRow, ...]:
        """Calls of a variant: the joined ones, or those of the host alone where the run ended before they were joined."""
        rows = [row for row in self.calls if (row.scenario, row.variant) == (scenario, variant)]
        joined = tuple(row for row in rows if row.side == "both")
        return joined or tuple(rows)


def read_bundle(folder: Path) -> Bundle:
    """Read a bundle.

    Raises:
        ConfigError: it is none, or one of a schema that this lab does not read.
    """
    run = _run_record(folder)
    rows, cut_results = _rows(folder / RESULTS)
    calls, cut_calls = _rows(folder / CALLS)
    return Bundle(
        folder,
        run,
        tuple(_typed(CaseRow, row) for row in rows if row.get("kind") == "case"),
        tuple(_typed(FactRow, row) for row in rows if row.get("kind") == "fact"),
        tuple(_typed(FindingRow, row) for row in rows if row.get("kind") == "finding"),
        tuple(_typed(CallRow, row) for row in calls),
        cut_results + cut_calls,
        tuple(_support(folder / SUPPORT)),
        tuple(_typed(PerfRow, row) for row in rows if row.get("kind") == "perf"),
    )


def _run_record(folder: Path) -> RunRecord:
    try:
        record = RunRecord.model_validate_json((folder / RUN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(folder, [ConfigProblem("", f"is no run bundle: it has no {RUN}")]) from None
    except (OSError, ValidationError) as error:
        raise ConfigError(folder / RUN, [ConfigProblem("", f"cannot be read: {error}")]) from error
    if record.schema_version > SCHEMA:
        text = f"is of schema {record.schema_version}; this lab reads up to {SCHEMA}"
        raise ConfigError(folder / RUN, [ConfigProblem("schema_version", text, "use the lab that wrote it")])
    return record


def _rows(path: Path) -> tuple[list[dict[str, Any]], int]:
    """All complete rows, and how many lines were not."""
    rows, cut = [], 0
    for line in _lines(path):
        try:
            row = json.loads(line)
        except ValueError:
            cut += 1
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows, cut


def _lines(path: Path) -> Iterator[str]:
    if path.exists():
        with open(path, encoding="utf-8", errors="replace") as file:
            yield from (line for line in file if line.strip())


def _support(path: Path) -> Iterator[SupportRow]:
    """The truth table; a last line that was being written is left out."""
    names = [field.name for field in fields(SupportRow)]
    for line in csv.DictReader(_lines(path)):
        if all(line.get(name) for name in names):
            values: dict[str, Any] = {name: line[name] for name in names}
            yield SupportRow(**{**values, "agree": line["agree"] == "yes"})


def _typed(kind: type[R], row: dict[str, Any]) -> R:
    """A row as its dataclass; keys that a later lab wrote are passed over."""
    known = {field.name for field in fields(kind)}
    return kind(**{key: value for key, value in row.items() if key in known})
