"""What ``test-backend-ops`` prints in each of its modes and formats, line by line.

csv (``test``, ``support``) and sql (``perf``) have a line for a case that has ended. The console (``grad``) has two for most:
``ADD(…): OK`` says that the case has begun and nothing more, ``ADD(…): not supported [ADD]`` or ``SUM(…): OK`` how it ended (the
sum over the output is what gradients are taken of). A failed one has a third, and one whose output is no float only the last.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from lab.bundle.outcome import Outcome
from lab.bundle.writer import Measure

CSV_FIELD = r'"(?:[^"]|"")*+"'
CSV_ROW_REVERSED = re.compile(rf'\s*(?P<row>(?:{CSV_FIELD},){{6}}"(?:[^"]|"")*")')
"""A row from its end, where it is known to stop; a field in quotes is one in either direction."""
INSERT = "INSERT INTO test_backend_ops "
SQL_ROW = re.compile(r"\((?P<names>[^)]*)\) VALUES \((?P<values>'(?:[^']|'')*+'(?:, '(?:[^']|'')*+')*)\);\s*")
SQL_VALUE = re.compile(r"'((?:[^']|'')*)'")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CONSOLE_CASE = re.compile(r"  (?P<op>[A-Z0-9_]+)\(")
CONSOLE_STATUS = re.compile(r"\b(?:OK|FAIL|not supported|skipping large tensors for speed)(?P<why> \[)?")
BACKEND = re.compile(r"^Backend \d+/\d+: (?P<name>.*)$")
UNSUPPORTED = {"not supported", "no"}
SUPPORTED = {"", "yes"}


@dataclass(frozen=True, slots=True)
class ModeRow:
    """One printed row. ``backend`` is empty where the format does not tell it; ``before`` stood in front of it."""

    op: str
    params: str
    outcome: Outcome
    message: str = ""
    backend: str = ""
    before: str = ""
    measure: Measure | None = None

    @property
    def text(self) -> str:
        """The case as the program itself writes it: ``OP(params)``."""
        return f"{self.op}({self.params})"


RowReader = Callable[[str], ModeRow | None]


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """A line of the console about a case: what it says, and the status in it."""

    op: str
    params: str
    said: str
    status: str


def row_reader(mode: str) -> RowReader:
    """What reads the lines of one process in a mode; it gives None for any line that ends no case."""
    if mode == "grad":
        return ConsoleReader()
    return sql_row if mode == "perf" else csv_row


def outcome_of(*, supported: bool, passed: bool, error: str) -> Outcome:
    """What a row says. A combination that was never seen is a failure, not a pass."""
    if supported and passed and error in SUPPORTED:
        return Outcome.PASS
    return Outcome.UNSUPPORTED if not supported and error in UNSUPPORTED else Outcome.FAIL


def csv_fields(line: str) -> tuple[str, list[str]] | None:
    """What stands before a row of ``--output csv`` in a line, and its seven fields. Takes time in proportion to the length."""
    match = CSV_ROW_REVERSED.match(line[::-1])
    if match is None:
        return None
    fields = [field[1:-1].replace('""', '"') for field in re.findall(CSV_FIELD, match["row"][::-1])]
    return line[: len(line) - match.end()].strip(), fields


def csv_row(line: str) -> ModeRow | None:
    """A row of ``--output csv``."""
    found = csv_fields(line)
    if found is None:
        return None
    before, (backend, op, params, mode, supported, error, _registry) = found
    if mode not in {"test", "support"}:
        return None
    outcome = outcome_of(supported=supported == "1", passed=True, error=error)
    said = "" if outcome is not Outcome.FAIL else error
    return ModeRow(op, params, outcome, said, backend, before)


def sql_row(line: str) -> ModeRow | None:
    """A row of ``--output sql``, with what was measured where it passed."""
    before, _, statement = line.partition(INSERT)
    match = SQL_ROW.fullmatch(statement)
    if match is None:
        return None
    values = [value.replace("''", "'") for value in SQL_VALUE.findall(match["values"])]
    names = match["names"].split(", ")
    if len(names) != len(values):
        return None
    cell = dict(zip(names, values, strict=True))
    try:
        supported, passed = cell["supported"] == "1", cell["passed"] == "1"
        outcome = outcome_of(supported=supported, passed=passed or not supported, error=cell["error_message"])
        measure = measured(cell) if outcome is Outcome.PASS and cell["test_mode"] == "perf" else None
        said = cell["error_message"] if outcome is Outcome.FAIL else ""
        return ModeRow(cell["op_name"], cell["op_params"], outcome, said, cell["backend_name"], before.strip(), measure)
    except (KeyError, ValueError):
        return None


def measured(cell: dict[str, str]) -> Measure:
    """The numbers of a row. Raises ``KeyError`` or ``ValueError`` where there are none; a time that nothing took is none."""
    time_us, flops, bandwidth_gb_s = (float(cell[key]) for key in ("time_us", "flops", "bandwidth_gb_s"))
    if time_us <= 0 or not all(map(math.isfinite, (time_us, flops, bandwidth_gb_s))):
        raise ValueError("no measurement")
    return Measure(time_us, int(cell["n_runs"]), flops, bandwidth_gb_s, int(cell["memory_kb"]))


@dataclass(slots=True)
class ConsoleReader:
    """Reads the console of ``grad``, which tells of a case in several lines; ``backend`` is the device of the rows to come."""

    backend: str = ""
    _begun: tuple[str, str] | None = None

    def __call__(self, line: str) -> ModeRow | None:
        """The row that this line completes, if it does."""
        plain = COLOUR.sub("", line).rstrip()
        if (device := BACKEND.match(plain)) is not None:
            self.backend = device["name"]
        told = console_line(plain)
        if told is None:
            return None
        begun, self._begun = self._begun, None
        if begun is None and told.status == "OK":
            self._begun = told.op, told.params
        if begun is None and told.status in {"OK", "FAIL"}:
            return None
        op = begun[0] if begun is not None else told.op
        outcome = {"OK": Outcome.PASS, "FAIL": Outcome.FAIL}.get(told.status, Outcome.UNSUPPORTED)
        return ModeRow(op, told.params, outcome, "" if outcome is Outcome.PASS else told.said, self.backend)


def console_line(line: str) -> ConsoleLine | None:
    """What a line without colours says of a case: ``OP(params): …STATUS`` with ``[why]`` behind it, or without."""
    case = CONSOLE_CASE.match(line)
    if case is None:
        return None
    params, colon, said = line[case.end() :].partition("): ")
    for status in CONSOLE_STATUS.finditer(said) if colon else ():
        if said.endswith("]") if status["why"] else status.end() == len(said):
            return ConsoleLine(case["op"], params, said, status[0].removesuffix(" ["))
    return None
