"""Writing a bundle as the run goes on. Whatever ends the run, what was written so far is valid."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from lab.bundle.expected import Expected
from lab.bundle.outcome import CaseResult, Finding, FindingKind
from lab.bundle.rows import CallRow, CaseRow, FactRow, FindingRow, PerfRow, ResultRow, SpeedRow, Supported, SupportRow
from lab.bundle.schema import CALLS, LOGS, RESULTS, RUN, SCENARIOS, SPEED, SUPPORT, RunRecord


class Measure(NamedTuple):
    """What ``PerfRow`` holds of a measurement, in its order."""

    time_us: float
    runs: int
    flops: float
    bandwidth_gb_s: float
    memory_kib: int


def run_id(name: str, moment: datetime) -> str:
    """Name of a run's folder: ``2026-01-31T06-15-00Z-smoke`` (no colons: they are awkward in paths and URLs)."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H-%M-%SZ}-{name}"


@contextlib.contextmanager
def new_bundle(parent: Path, name: str) -> Iterator[BundleWriter]:
    """A folder of its own below ``parent`` for as long as the context lasts, with its row files open.

    Raises:
        OSError: among others, of a full disk, which does not know what was written: the folder's name is added.
    """
    parent.mkdir(parents=True, exist_ok=True)
    run, folder = _new_folder(parent, name)
    (folder / LOGS).mkdir()
    (folder / SCENARIOS).mkdir()
    with (
        _named(folder),  # around the files: what they still hold is written when they are closed
        open(folder / RESULTS, "a", encoding="utf-8") as results,
        open(folder / CALLS, "a", encoding="utf-8") as calls,
    ):
        yield BundleWriter(run, folder, results, calls)


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """An error of a full disk, which does not know what was written, gets this name."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or os.fspath(path)
        raise


def _new_folder(parent: Path, name: str) -> tuple[str, Path]:
    """Two runs within one second get different folders."""
    moment = datetime.now(UTC)
    run = run_id(name, moment)
    for number in range(2, 1000):
        try:
            (parent / run).mkdir()
        except FileExistsError:
            run = f"{run_id(name, moment)}-{number}"
        else:
            break
    return run, parent / run


class BundleWriter:
    """The open bundle. Rows may come from several threads; each is on disk when the call returns, but for calls not yet flushed."""

    def __init__(self, run: str, folder: Path, results: TextIO, calls: TextIO) -> None:
        self.run = run
        self.folder = folder
        self._results = results
        self._calls = calls
        self._lock = threading.Lock()
        self._started = time.monotonic()

    @property
    def at_s(self) -> float:
        """Seconds since the bundle was opened."""
        return round(time.monotonic() - self._started, 3)

    def logs(self, *names: str) -> Path:
        """The folder for logs of a variant, made if it is not there."""
        folder = self.folder.joinpath(LOGS, *names)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def describe(self, record: RunRecord) -> None:
        """Replace ``run.json``, as a whole or not at all."""
        write_whole(self.folder / RUN, record.model_dump_json(indent=1) + "\n")

    def result(self, row: ResultRow) -> None:
        """Append one row to the results."""
        self._append(self._results, row)

    def call(self, row: CallRow, *, flush: bool = True) -> None:
        """Append one row to the calls. Many at once are flushed with the last of them."""
        self._append(self._calls, row, flush=flush)

    def support(self, row: SupportRow) -> None:
        """Append one line to the truth table, which is there as soon as it has one."""
        self._line(SUPPORT, SupportRow, (*astuple(row)[:-1], "yes" if row.agree else "no"))

    def speed(self, row: SpeedRow) -> None:
        """Append one line to the speeds of programs."""
        self._line(SPEED, SpeedRow, astuple(row))

    def _line(self, name: str, kind: type[SupportRow | SpeedRow], values: Sequence[Any]) -> None:
        with self._lock, open(self.folder / name, "a", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            if not file.tell():
                lines.writerow(field.name for field in fields(kind))
            lines.writerow(values)

    def flush_calls(self) -> None:
        """Bring the calls appended so far to disk."""
        with self._lock:
            self._calls.flush()

    def _append(self, file: TextIO, row: Any, *, flush: bool = True) -> None:
        line = json.dumps(asdict(row), ensure_ascii=False, separators=(",", ":"))
        with self._lock:
            file.write(f"{line}\n")
            if flush:
                file.flush()


FAILED_CASES = frozenset({FindingKind.CASE_FAILED, FindingKind.FAULT_MISHANDLED})
"""Findings that say what the result of their case says already."""


class CheckWriter:
    """Rows of one check of one variant: knows where they belong and keeps the findings and results for the verdict.

    Args:
        expectations: entries that hold here; the first that fits a case is the one for it. A failure that was expected is written
            down as it is, and is no finding.
    """

    def __init__(
        self, bundle: BundleWriter, scenario: str, variant: str, check: str, expectations: Sequence[Expected] = ()
    ) -> None:
        self._bundle = bundle
        self._place = (scenario, variant, check)
        self._expectations = tuple(expectations)
        self.check = check.partition(" ")[0]
        self.findings: list[Finding] = []
        self.results: list[CaseResult] = []
        self.kept = 0  # so many of them are of an earlier run
        self.expected: dict[str, Expected] = {}
        self.attempt = 1

    def expected_of(self, case: str) -> Expected | None:
        """The expectation for a case."""
        if case not in self.expected:
            found = next((one for one in self._expectations if one.matches(self.check, case)), None)
            if found is None:
                return None
            self.expected[case] = found
        return self.expected[case]

    def case(self, result: CaseResult) -> None:
        """A case has ended."""
        self.results.append(result)
        expected = self.expected_of(result.case)
        row = CaseRow(
            *self._place,
            result.case,
            result.op,
            result.params,
            result.outcome,
            result.message,
            result.since_previous_ms,
            self._bundle.at_s,
            digest=result.digest,
            expected=expected.end if expected else "",
            reason=expected.reason if expected else "",
            link=expected.link if expected else "",
            attempt=self.attempt,
        )
        self._bundle.result(row)

    def keep(self, results: Iterable[CaseResult]) -> None:
        """Results of an earlier run, whose rows are in the bundle already."""
        before = len(self.results)
        self.results += results
        self.kept += len(self.results) - before

    def measure(self, result: CaseResult, measured: Measure) -> None:
        """What was measured of a case."""
        row = PerfRow(
            *self._place,
            result.case,
            result.op,
            result.params,
            measured.time_us,
            measured.runs,
            measured.flops,
            measured.bandwidth_gb_s,
            measured.memory_kib,
            self._bundle.at_s,
        )
        self._bundle.result(row)

    def fact(self, name: str, expected: str, seen: str, *, ok: bool, enforced: bool = True) -> bool:
        """Something was looked at; returns ``ok``."""
        self._bundle.result(FactRow(*self._place, name, expected, seen, ok, self._bundle.at_s, enforced=enforced))
        return ok

    def support(self, case: str, op: str, native: Supported, remote: Supported) -> None:
        """Both sides have said whether they compute a case; a further run of it says it no second time."""
        if self.attempt > 1:
            return
        scenario, variant, _ = self._place
        self._bundle.support(SupportRow(scenario, variant, case, op, native, remote, native is remote))

    def speed(self, program: str, cases: int, seconds: float, ratio: float) -> None:
        """A program got through its cases."""
        if self.attempt > 1:
            return
        scenario, variant, _ = self._place
        rate = round(cases / seconds, 2)
        self._bundle.speed(SpeedRow(scenario, variant, program, cases, round(seconds, 3), rate, round(ratio, 2)))

    def finding(self, finding: Finding) -> None:
        """Something is wrong, unless it is the failure of a case that was expected."""
        if finding.kind in FAILED_CASES and finding.case is not None and self.expected_of(finding.case) is not None:
            return
        self.add(finding)

    def add(self, finding: Finding) -> None:
        """Something is wrong, whatever was expected."""
        self.findings.append(finding)
        row = FindingRow(*self._place, finding.kind, finding.blame, finding.text, finding.case, self._bundle.at_s)
        self._bundle.result(row)


def _no_link(path: str, flags: int) -> int:
    """Open a file itself: a bundle that others made may have a link in its place, to any file of whoever reads it."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old or the new content, never a part, whoever else writes it at the same time.

    What a link leads to is not written to.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.new")
    temporary.unlink(missing_ok=True)
    try:
        with _named(path), open(temporary, "w", encoding="utf-8", opener=_no_link) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename == os.fspath(temporary):
            error.filename = os.fspath(path)  # the other name tells nobody anything
        temporary.unlink(missing_ok=True)
        raise
