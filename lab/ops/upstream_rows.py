"""What ``test-backend-ops`` prints in each of its modes and formats, line by line.

csv (``test``, ``support``) and sql (``perf``) have a line for a case that has ended. The console (``grad``) has two for most:
``ADD(…): OK`` says that the case has begun and nothing more, ``ADD(…): not supported [ADD]`` or ``SUM(…): OK`` how it ended (the
sum over the output is what gradients are taken of). A failed one has a third, and one whose output is no float only the last.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass

from lab.bundle.outcome import Outcome
from lab.bundle.writer import Measure

CSV_ROW = re.compile(r'^(?P<before>.*?)(?P<row>"(?:[^"]|"")*"(?:,"(?:[^"]|"")*"){6})\s*$')
SQL_ROW = re.compile(
    r"^(?P<before>.*?)INSERT INTO test_backend_ops \((?P<names>[^)]*)\) "
    r"VALUES \((?P<values>'(?:[^']|'')*'(?:, '(?:[^']|'')*')*)\);\s*$"
)
SQL_VALUE = re.compile(r"'((?:[^']|'')*)'")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CONSOLE_ROW = re.compile(
    r"^  (?P<op>[A-Z0-9_]+)\((?P<params>.*?)\): (?P<said>.*?)\b(?P<status>OK|FAIL|not supported|skipping large tensors for speed)"
    r"(?P<why>(?: \[.*\])?)\s*$"
)
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


def csv_row(line: str) -> ModeRow | None:
    """A row of ``--output csv``."""
    match = CSV_ROW.match(line)
    if match is None:
        return None
    backend, op, params, mode, supported, error, _registry = next(csv.reader([match["row"]]))
    if mode not in {"test", "support"}:
        return None
    outcome = outcome_of(supported=supported == "1", passed=True, error=error)
    said = "" if outcome is not Outcome.FAIL else error
    return ModeRow(op, params, outcome, said, backend, match["before"].strip())


def sql_row(line: str) -> ModeRow | None:
    """A row of ``--output sql``, with what was measured where it passed."""
    match = SQL_ROW.match(line)
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
        return ModeRow(cell["op_name"], cell["op_params"], outcome, said, cell["backend_name"], match["before"].strip(), measure)
    except (KeyError, ValueError):
        return None


def measured(cell: dict[str, str]) -> Measure:
    """The numbers of a row. Raises ``KeyError`` or ``ValueError`` where there are none."""
    return Measure(
        float(cell["time_us"]),
        int(cell["n_runs"]),
        float(cell["flops"]),
        float(cell["bandwidth_gb_s"]),
        int(cell["memory_kb"]),
    )


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
        match = CONSOLE_ROW.match(plain)
        if match is None:
            return None
        begun, self._begun = self._begun, None
        if begun is None and match["status"] == "OK":
            self._begun = match["op"], match["params"]
        if begun is None and match["status"] in {"OK", "FAIL"}:
            return None
        op = begun[0] if begun is not None else match["op"]
        outcome = {"OK": Outcome.PASS, "FAIL": Outcome.FAIL}.get(match["status"], Outcome.UNSUPPORTED)
        said = "" if outcome is Outcome.PASS else f"{match['said']}{match['status']}{match['why']}"
        return ModeRow(op, match["params"], outcome, said, self.backend)
