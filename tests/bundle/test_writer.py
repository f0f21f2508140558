"""Rows as a check writes them: all that is known of them, on disk at once, and counted in the light of what was expected."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from lab.bundle.expected import Expected, ExpectedEnd, column_of
from lab.bundle.outcome import Blame, CaseResult, Finding, FindingKind, Outcome
from lab.bundle.rows import CallRow, Supported
from lab.bundle.schema import SPEED, SUPPORT
from lab.bundle.writer import CheckWriter, _no_link, new_bundle, run_id


def expecting(end: ExpectedEnd, case: str = "A()") -> Expected:
    return Expected(1, end, "known", "link", case, lambda _check, one: one == case)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_row_is_on_disk_with_all_that_is_known_of_it_when_it_is_told(tmp_path: Path) -> None:
    call = CallRow("s", "v", "host", 1, 0, "c", 1, 2, 0, 0, 0, 4, 1, 1)
    with new_bundle(tmp_path, "x") as bundle:
        writer = CheckWriter(bundle, "s", "v", "ops 2", [expecting(ExpectedEnd.FLAKY)])
        writer.attempt = 2
        writer.case(CaseResult("A()", "A", "p", Outcome.FAIL, "no", 1.5, "d1"))
        (row,) = rows(bundle.folder / "results.jsonl")
        assert row.items() >= {
            "check": "ops 2", "case": "A()", "op": "A", "params": "p", "outcome": "fail", "message": "no", "since_previous_ms": 1.5,
            "digest": "d1", "expected": "flaky", "reason": "known", "link": "link", "attempt": 2,
        }.items()  # fmt: skip
        bundle.call(call, flush=False)
        bundle.flush_calls()
        bundle.call(call)
        assert len(rows(bundle.folder / "calls.jsonl")) == 2


def test_expected_failure_is_no_finding_and_all_else_of_its_case_is(tmp_path: Path) -> None:
    told = [
        Finding(FindingKind.CASE_FAILED, Blame.PRODUCT, "expected", "A()"),
        Finding(FindingKind.FAULT_MISHANDLED, Blame.PRODUCT, "expected", "A()"),
        Finding(FindingKind.MEMORY_GROWTH, Blame.PRODUCT, "it leaks", "A()"),
        Finding(FindingKind.CASE_FAILED, Blame.PRODUCT, "another case", "B()"),
        Finding(FindingKind.CASE_FAILED, Blame.PRODUCT, "no case"),
    ]
    with new_bundle(tmp_path, "x") as bundle:
        writer = CheckWriter(bundle, "s", "v", "ops", [expecting(ExpectedEnd.FAIL)])
        for one in told:
            writer.finding(one)
        writer.add(told[0])
        assert writer.findings == [*told[2:], told[0]]
        assert [row["text"] for row in rows(bundle.folder / "results.jsonl")] == [one.text for one in writer.findings]


def test_truth_table_and_speeds_are_lines_under_their_names(tmp_path: Path) -> None:
    with new_bundle(tmp_path, "x") as bundle:
        writer = CheckWriter(bundle, "s", "v", "catalog")
        writer.support("A()", "A", Supported.YES, Supported.YES)
        writer.support("B()", "B", Supported.YES, Supported.NO)
        writer.speed("lab.ops", 9, 2.0, 8.126)
        assert (bundle.folder / SUPPORT).read_text().splitlines()[1:] == ["s,v,A(),A,yes,yes,yes", "s,v,B(),B,yes,no,no"]
        assert (bundle.folder / SPEED).read_text().splitlines()[1:] == ["s,v,lab.ops,9,2.0,4.5,8.13"]


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("text")
    (tmp_path / "link").symlink_to("precious")
    with pytest.raises(OSError, match="symbolic links"):
        open(tmp_path / "link", "w", encoding="utf-8", opener=_no_link).close()
    assert (tmp_path / "precious").read_text() == "text"


def test_a_runs_name_is_the_time_in_utc() -> None:
    moment = datetime(2026, 1, 31, 1, 15, tzinfo=timezone(timedelta(hours=-5)))
    assert run_id("smoke", moment) == "2026-01-31T06-15-00Z-smoke"


@pytest.mark.parametrize(
    ("end", "ends", "column"),
    [
        (ExpectedEnd.FAIL, {Outcome.FAIL}, "expected"),
        (ExpectedEnd.FAIL, {Outcome.FAIL, Outcome.PASS}, "fail"),
        (ExpectedEnd.FAIL, {Outcome.PASS}, "ok"),
        (ExpectedEnd.FAIL, {Outcome.FAIL, Outcome.HANG}, "error"),
        (ExpectedEnd.FLAKY, {Outcome.FAIL, Outcome.PASS}, "flaky"),
        (ExpectedEnd.FLAKY, {Outcome.FAIL}, "fail"),
        (ExpectedEnd.FLAKY, {Outcome.FAIL, Outcome.PASS, Outcome.HOST_CRASH}, "error"),
        (ExpectedEnd.SKIP, {Outcome.PASS}, "skipped"),
    ],
)
def test_case_is_counted_by_what_was_expected_unless_it_ended_otherwise(end: ExpectedEnd, ends: set[Outcome], column: str) -> None:
    assert column_of(ends, expecting(end)) == column
