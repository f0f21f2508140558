"""Expectations of catalog cases: the check leaves out what is to be skipped, and runs again what is flaky."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from lab.bundle import Bundle, read_bundle
from lab.deadline import Deadline, poll
from lab.scenario.expectations import expectations_path
from lab.scenario.listener import SilentListener
from lab.scenario.plan import Choice, planned
from lab.scenario.runner import run
from tests.scenario.fakes import FakePlatform, Script
from tests.scenario.test_catalog_check import CASES, SCENARIO, FakeHost, Step, agent, said, texts

ENTRY = '[[expect]]\ncase = "catalog/SUB()"\nreason = "known"\nlink = "l"\n'


def ran(script: Script, folder: Path, expectations: str, text: str = SCENARIO) -> Bundle:
    path = folder / "small.toml"
    path.write_text(text)
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


@pytest.mark.parametrize(("together", "status"), [({"MUL()", "SUB()"}, 0), ({"MUL()", "ADD()"}, 1)], ids=["with it", "without it"])
def test_flaky_case_may_fail_those_that_it_is_computed_with(tmp_path: Path, together: set[str], status: int) -> None:
    rows = agent(lambda case: said(case, text="2 cases together: no memory") if case in together else said(case))
    bundle = ran(Script(agent=rows, host=FakeHost()), tmp_path, ENTRY + 'kind = "flaky"\nmax_rate = 0.9\n')
    assert (bundle.run.exit, "cases together: no memory" in texts(bundle)) == (status, bool(status))


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


@pytest.mark.parametrize(("ends", "status", "why"), [
    ("guest crash", 139, "the program was ended by signal 11"), ("hang", 137, "no result came for 0 s"),
])  # fmt: skip
def test_flaky_case_may_not_be_lost_when_it_is_run_again(tmp_path: Path, ends: str, status: int, why: str) -> None:
    script, told = wrong_times(2)  # its results were fetched by the second
    script.agent_status, honest = status, script.agent

    def wait() -> None:
        before = len(script.killed)
        poll("a SIGKILL", lambda: len(script.killed) > before, Deadline.after(10))

    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        assert honest is not None
        dies = agent(killers=["SUB()"], death=[wait] if ends == "hang" else [])
        yield from (dies if told["SUB()"] == 2 else honest)(cases, command)

    script.agent = steps
    text = SCENARIO.replace("case_deadline_s = 5", "case_deadline_s = 0.5") if ends == "hang" else SCENARIO
    bundle = ran(script, tmp_path, ENTRY + 'kind = "flaky"\nmax_rate = 0.9\nretries = 1\n', text)
    assert [(one.outcome, one.attempt) for one in bundle.cases if one.expected] == [("fail", 1), (ends, 2)]
    assert bundle.run.exit == 1
    assert f"interrupted [product] {ends}: SUB(): {why}" in texts(bundle)


def test_flaky_case_may_not_be_refused_when_it_is_run_again(tmp_path: Path) -> None:
    told: Counter[str] = Counter()

    def rows(case: str) -> str:
        told[case] += 1
        wrong = {"digest": "other"} if told[case] <= 2 else {"outcome": "unsupported", "digest": ""}
        return said(case, **wrong) if case == "SUB()" and told[case] <= 3 else said(case)

    bundle = ran(Script(agent=agent(rows), host=FakeHost()), tmp_path, ENTRY + 'kind = "flaky"\nmax_rate = 0.9\nretries = 2\n')
    assert [(one.outcome, one.attempt) for one in bundle.cases if one.expected] == [("fail", 1), ("fail", 2), ("pass", 3)]
    assert [(one.finding, one.case) for one in bundle.findings] == [("lost support", "SUB()")]


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
