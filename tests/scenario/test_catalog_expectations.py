"""Expectations of catalog cases: the check leaves out what is to be skipped, and runs again what is flaky."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from lab.bundle import Bundle, read_bundle
from lab.scenario.expectations import expectations_path
from lab.scenario.listener import SilentListener
from lab.scenario.plan import Choice, planned
from lab.scenario.runner import run
from tests.scenario.fakes import FakePlatform, Script
from tests.scenario.test_catalog_check import CASES, SCENARIO, FakeHost, agent, said

ENTRY = '[[expect]]\ncase = "catalog/SUB()"\nreason = "known"\nlink = "l"\n'


def ran(script: Script, folder: Path, expectations: str) -> Bundle:
    path = folder / "small.toml"
    path.write_text(SCENARIO)
    known = expectations_path(path, "small")
    known.parent.mkdir()
    known.write_text(expectations)
    platform = FakePlatform(script, folder).platform()
    return read_bundle(run(planned([path], Choice()), Choice(), folder / "runs", SilentListener(), platform).folder)


def wrong_times(times: int) -> tuple[Script, Counter[str]]:
    """SUB is wrong the first ``times`` times."""
    told: Counter[str] = Counter()

    def rows(case: str) -> str:
        told[case] += 1
        return said(case, digest="other") if case == "SUB()" and told[case] <= times else said(case)

    return Script(agent=agent(rows), host=FakeHost()), told


def test_flaky_case_is_run_again_alone(tmp_path: Path) -> None:
    script, _ = wrong_times(1)
    bundle = ran(script, tmp_path, ENTRY + 'kind = "flaky"\nmax_rate = 0.9\n')
    assert [one.text for one in bundle.findings] == []
    assert (bundle.run.exit, bundle.run.variants[0].cases.flaky, bundle.run.variants[0].cases.ok) == (0, 1, 3)
    rows = [(one.case, one.outcome, one.attempt) for one in bundle.cases]
    assert [row for row in rows if row[0] == "SUB()"] == [("SUB()", "fail", 1), ("SUB()", "pass", 2)]
    assert len(rows) == len(CASES) + 1
    assert len(bundle.support) == len(CASES), "the truth table has each case once"


def test_flaky_case_that_never_passes_is_a_failure(tmp_path: Path) -> None:
    script, _ = wrong_times(1000)
    bundle = ran(script, tmp_path, ENTRY + 'kind = "flaky"\nmax_rate = 0.9\nretries = 2\n')
    assert bundle.run.exit == 1
    assert "catalog/SUB() failed in all of 3 runs" in "\n".join(one.text for one in bundle.findings)


def test_flaky_case_of_which_a_further_run_tells_nothing_is_told(tmp_path: Path) -> None:
    told: Counter[str] = Counter()

    def rows(case: str) -> str:
        told[case] += case == "SUB()"
        wrong = said(case, digest="other") if told[case] else said(case)
        return wrong if told[case] < 3 else ""  # its results were fetched by the second

    bundle = ran(Script(agent=agent(rows), host=FakeHost()), tmp_path, ENTRY + 'kind = "flaky"\nmax_rate = 0.9\n')
    assert bundle.run.exit == 1
    text = "flaky cases ran again, not all of them have a result; the first of them is SUB()"
    assert text in [one.text for one in bundle.findings]


def test_skipped_case_is_left_out(tmp_path: Path) -> None:
    script, told = wrong_times(0)
    bundle = ran(script, tmp_path, ENTRY + 'kind = "skip"\n')
    assert [one.text for one in bundle.findings] == []
    assert (bundle.run.exit, bundle.run.variants[0].cases.skipped, bundle.run.variants[0].cases.ok) == (0, 1, 3)
    assert "SUB()" not in told


def test_expected_failure_of_the_catalog_is_no_finding(tmp_path: Path) -> None:
    script, _ = wrong_times(1000)
    bundle = ran(script, tmp_path, ENTRY + 'kind = "fail"\n')
    assert [one.text for one in bundle.findings] == []
    assert (bundle.run.exit, bundle.run.variants[0].cases.expected) == (0, 1)
