"""The truth table: written line by line, read back whatever cut it off, and shown with its differences."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from lab.bundle import read_bundle
from lab.bundle.outcome import CaseResult, Outcome
from lab.bundle.rows import Supported, SupportRow
from lab.bundle.schema import SPEED, SUPPORT, RunRecord, Status, VariantRecord
from lab.bundle.writer import CheckWriter, new_bundle
from reports.render import rendered_report
from reports.support import support_view

YES, NO, UNKNOWN = Supported.YES, Supported.NO, Supported.UNKNOWN
PAIRS = (("ADD()", YES, YES), ("ADD(type=f16)", YES, NO), ("MUL()", NO, NO), ("SUB()", UNKNOWN, YES))


def folder_with_support(parent: Path) -> Path:
    with new_bundle(parent, "told") as bundle:
        writer = CheckWriter(bundle, "ops", "venus", "catalog")
        for case, native, remote in PAIRS:
            writer.support(case, case.partition("(")[0], native, remote)
        writer.case(CaseResult("COUNT_EQUAL()", "COUNT_EQUAL", "", Outcome.PASS, "excused (golden): <because>", digest="ab"))
        writer.speed("lab.ops", 368, 8.0, 5.5)
        started = datetime.now(UTC).isoformat()
        variant = VariantRecord(name="ops", variant="venus", status=Status.PASSED)
        bundle.describe(RunRecord(run="told", name="ops", status=Status.PASSED, started=started, variants=(variant,)))
        return bundle.folder


@pytest.mark.parametrize("line", ["ops,venus,NEG(),NEG,ye", "ops,venus,NEG(),NEG,yes,yes,", "ops,venus,NEG(),NEG,yes,yes,ye"])
def test_lines_are_read_back_without_one_that_was_cut_off(tmp_path: Path, line: str) -> None:
    folder = folder_with_support(tmp_path)
    with open(folder / SUPPORT, "a", encoding="utf-8") as file:
        file.write(line)
    rows = read_bundle(folder).support
    assert [(row.case, row.native, row.remote, row.agree) for row in rows] == [
        (case, native, remote, native is remote) for case, native, remote in PAIRS
    ]
    assert (folder / SUPPORT).read_text(encoding="utf-8").splitlines()[0] == "scenario,variant,case,op,native,remote,agree"
    assert (folder / SPEED).read_text(encoding="utf-8").splitlines()[1] == "ops,venus,lab.ops,368,8.0,46.0,5.5"


def test_counts_tell_agreement_and_every_difference(tmp_path: Path) -> None:
    view = support_view(read_bundle(folder_with_support(tmp_path)).support)
    assert (view.cases, view.both, view.neither, view.unheard) == (4, 1, 1, 1)
    assert [row.case for row in view.differences] == ["ADD(type=f16)", "SUB()"]
    assert [(one.op, one.cases, one.native, one.remote, one.differ) for one in view.ops] == [
        ("ADD", 2, 2, 1, 1),
        ("MUL", 1, 0, 0, 0),
        ("SUB", 1, 0, 1, 1),
    ]


def test_nothing_told_counts_nothing() -> None:
    assert support_view(()).cases == 0
    assert support_view((SupportRow("s", "v", "A()", "A", YES, YES, agree=True),)).differences == ()


def test_the_page_shows_differences_and_exceptions(tmp_path: Path) -> None:
    folder = folder_with_support(tmp_path)
    page = rendered_report(folder).read_text(encoding="utf-8")
    assert "Differences of venus" in page
    assert "ADD(type=f16)</th><td>yes</td><td>no</td>" in page
    assert "excused (golden): &lt;because&gt;" in page
    (folder / SUPPORT).unlink()
    assert "Differences of" not in rendered_report(folder).read_text(encoding="utf-8")
