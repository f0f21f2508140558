"""Expectations, thresholds and ``-j``, in real guests: a library that lies in a known way, beside another boot that has to pass."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from lab.bundle import Bundle, read_bundle
from lab.deadline import Deadline
from lab.process import finish

pytestmark = pytest.mark.scenario

RUN_S = 400.0
LAB = (sys.executable, "-c", "from lab.cli import main; main()")
SIZES = "type=f32,ne=[10,5,4,3],nr=[{},1,1,1],nf=1,perm1=0,src_overlap=0"
ONE, TWO = SIZES.format(1), SIZES.format(2)
SCALED = "SCALE(type=f32,ne=[10,10,10,10],scale=2.000000,bias=0.000000,inplace=0)"
KNOWN = r"""
name = "known"
timeout_s = 300

[host]
ggml_library = "liar"
environment = { GGML_LIAR = "wrong:op=SUB; wrong:op=MUL,nth=2,once=/tmp/told; wrong:op=ADD,nth=1; deny:op=SCALE" }

[thresholds]
boot_s = 0.5
call_p50_us = 0.5

[[checks]]
kind = "ops"
ops = ["ADD", "SUB", "MUL", "DIV", "SCALE"]
patterns = ['type=f32,ne=\[10,5,4,3\],nr=\[[12],1,1,1\],nf=1,perm1=0', 'type=f32,ne=\[10,10,10,10\],scale=2']
thresholds = { cases_per_s = 10000 }
"""
OTHER = """
name = "other"
timeout_s = 300

[[checks]]
kind = "state"
"""
ENTRY = """
[[expect]]
case = "ops/{case}"
kind = "{kind}"
reason = "it is so"
link = "https://example.org/1"
"""
EXPECTED = (
    ("SUB(*", "fail"),
    ("DIV(*nr=[1,1,1,1],*", "fail"),
    ("NOTHING(*", "fail"),
    ("MUL(*", 'flaky"\nmax_rate = 0.9\nretries = 2 #"'),
    ("ADD(*", 'flaky"\nmax_rate = 0.3\nretries = 1 #"'),
)
SUPPORTED = (SCALED, f"SUB({ONE})", "SUB(type=f64)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("expectations")
    (folder / "expectations").mkdir()
    (folder / "known.toml").write_text(KNOWN)
    (folder / "other.toml").write_text(OTHER)
    entries = "".join(ENTRY.format(case=case, kind=kind) for case, kind in EXPECTED)
    (folder / "expectations" / "known.toml").write_text(f'{entries}\n[[supported]]\ncases = "known.txt"\n')
    (folder / "expectations" / "known.txt").write_text("".join(f"ops/{case}\n" for case in SUPPORTED))
    return folder


@pytest.fixture(scope="module")
def bundle(folder: Path) -> Bundle:
    files = (str(folder / "known.toml"), str(folder / "other.toml"))
    done = finish((*LAB, "run", *files, "-j", "2", "--out", str(folder / "runs"), "--json"), deadline=Deadline.after(RUN_S))
    assert done.exit_status == 1, done.output
    answer = json.loads(done.output.splitlines()[-1])
    assert {one["name"]: one["status"] for one in answer["scenarios"]} == {"known": "failed", "other": "passed"}, done.output
    assert next(one["expected"] for one in answer["scenarios"] if one["name"] == "known") == {
        "expected": 2,
        "flaky": 1,
        "skipped": 0,
    }
    return read_bundle(Path(answer["dir"]))


def test_every_way_to_be_otherwise_than_expected_is_a_finding_and_nothing_else_is(bundle: Bundle) -> None:
    said = {(row.check, row.finding): row.text for row in bundle.findings}
    assert said.keys() == {
        ("expectations", "unexpected pass"),
        ("expectations", "case failed"),
        ("expectations", "too flaky"),
        ("expectations", "unused expectation"),
        ("expectations", "lost support"),
        ("expectations", "missing case"),
        ("ops", "lost support"),
        ("ops", "too slow"),
        ("thresholds", "too slow"),
    }
    assert said["expectations", "unexpected pass"].startswith(f"ops/DIV({ONE}) passes, and is expected to fail")
    assert said["expectations", "case failed"].startswith(f"ops/ADD({ONE}) failed in all of 2 runs")
    assert "2 of 3 runs of ops/ADD(* failed, at most 30% are expected to" in said["expectations", "too flaky"]
    assert "no case fits the expectation ops/NOTHING(*" in said["expectations", "unused expectation"]
    assert f"the first is ops/{SCALED}" in said["expectations", "lost support"]
    assert SCALED in said["ops", "lost support"]
    assert "the first is ops/SUB(type=f64)" in said["expectations", "missing case"]
    slow = [row.text for row in bundle.findings if row.finding == "too slow"]
    assert [text.split()[0] for text in sorted(slow)] == [slow[0].split()[0], "50", "the"]
    assert "at least 10000 are required" in slow[0]


def test_flaky_case_was_run_again_and_both_ends_are_kept(bundle: Bundle) -> None:
    assert [row.outcome for row in bundle.cases if row.case == f"MUL({TWO})"] == ["fail", "pass"]
    assert [row.outcome for row in bundle.cases if row.case == f"ADD({ONE})"] == ["fail", "fail"]
    assert [row.outcome for row in bundle.cases if row.case == f"DIV({ONE})"] == ["pass"]


def test_boots_at_the_same_time_have_logs_of_their_own(bundle: Bundle) -> None:
    for name in ("known", "other"):
        assert (bundle.folder / "logs" / name / "default" / "serial.log").stat().st_size > 0


def test_update_proposes_what_the_run_suggests(bundle: Bundle, folder: Path) -> None:
    done = finish((*LAB, "expectations", "update", str(bundle.folder)), deadline=Deadline.after(60))
    assert done.exit_status == 0, done.output
    removed = [line for line in done.output.splitlines() if line.startswith("-case")]
    assert removed == [f'-case = "ops/{EXPECTED[1][0]}"', f'-case = "ops/{EXPECTED[2][0]}"']
    assert f"-ops/{SCALED}" in done.output
    assert f"+ops/MUL({ONE})" in done.output
    assert (folder / "expectations" / "known.txt").read_text().split() == [f"ops/{case}" for case in SUPPORTED]
