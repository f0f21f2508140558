"""One process of ``test-backend-ops`` with its batch of cases: lines become results, and what has none is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from lab.bundle.outcome import REFERENCE_REFUSES, CaseResult, Outcome
from lab.bundle.writer import Measure
from lab.ops.said import LONGEST_LINE, note, pid_in, remark
from lab.ops.upstream import CPU_DEVICE, OP_TAG, OccurrenceCounter, Teller, teller_of
from lab.ops.upstream_cases import Batch, ListedCase, Mode
from lab.ops.upstream_rows import ModeRow, RowReader, row_reader

HEADERS = ('"backend_name"', "CREATE TABLE", "Testing ")
"""How the first line begins that comes when all backends are loaded, in each format."""
DEVICE_LOST = "device lost: "
"""What our guest library says once its worker is gone; every later case would fail, or be told as unsupported."""

OnResult = Callable[[CaseResult, Measure | None], None]


@dataclass(slots=True)
class BatchStream:
    """A process's output as it comes.

    Args:
        device: name that every row must carry, unless the reference alone refuses its case.
        batch: the cases that the process was told to run.
        known: ids of those that have a result already: the program runs them again where a text repeats.
        on_result: called with each new result at once.
        clock: monotonic seconds.
        reference: name of what ``test`` compares with; no other mode asks it.
    """

    mode: Mode
    device: str
    batch: Batch
    known: Collection[str]
    on_result: OnResult
    clock: Callable[[], float] = time.monotonic
    reference: str = CPU_DEVICE
    pid: int | None = None
    started: bool = False
    lost: str = ""
    results: dict[str, CaseResult] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    surplus: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    failed: bool = False
    _counter: OccurrenceCounter = field(default_factory=OccurrenceCounter)
    _read: RowReader = field(init=False)
    _ids: frozenset[str] = field(init=False)
    _last: float | None = None

    def __post_init__(self) -> None:
        self._read = row_reader(self.mode)
        self._ids = frozenset(one.case for one in self.batch.cases)

    def feed(self, line: str) -> None:
        """Take one line. Once the device is lost no row says anything about its case any more."""
        row = self._read(line) if len(line) <= LONGEST_LINE else None
        if row is None:
            self._note(line)
        elif not self.lost:
            self._take(row)

    def running(self) -> ListedCase | None:
        """The first case of the batch that has no result: the one that was running, if the process ended early."""
        return next((one for one in self.batch.cases if one.case not in self.results and one.case not in self.known), None)

    def left(self) -> tuple[str, ...]:
        """Ids of the cases without a result."""
        return tuple(one.case for one in self.batch.cases if one.case not in self.results and one.case not in self.known)

    def _take(self, row: ModeRow) -> None:
        now = self.clock()
        since, self._last = 0.0 if self._last is None else now - self._last, now
        reference = self.reference if self.mode is Mode.TEST else self.device
        teller = teller_of(row.backend, row.outcome, self.device, reference)
        if teller is Teller.OTHER:
            self.foreign.append(row.backend)
            return
        self.failed = self.failed or row.outcome is Outcome.FAIL
        case = self._counter.case_id(row.text)
        if case not in self._ids:
            self.surplus.append(case)
        elif case not in self.known and case not in self.results:
            message = REFERENCE_REFUSES if teller is Teller.REFERENCE else self._message(row)
            result = CaseResult(case, row.op, row.params, row.outcome, message, round(since * 1000, 3))
            self.results[case] = result
            self.on_result(result, row.measure)

    def _message(self, row: ModeRow) -> str:
        """What was said about a case; an error number in front of its row may be another thread's."""
        tag = OP_TAG.match(row.before)
        own = row.before if tag is None or tag["op"] == row.op else ""
        own = "" if own == REFERENCE_REFUSES else own  # whatever a library prints in front of a row
        return " ".join(part for part in (own, row.message) if part)

    def _note(self, line: str) -> None:
        if self.pid is None and (pid := pid_in(line)) is not None:
            self.pid = pid
        elif line.startswith(HEADERS):
            self.started, self._last = True, self.clock()
        elif DEVICE_LOST in line and not self.lost:
            self.lost = remark(line.partition(DEVICE_LOST)[2])
        if line.strip():
            note(self.remarks, line)
