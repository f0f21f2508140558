"""Programs that compute the catalog, and crash or hang when every case has its row: a library that is taken down has ended them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from lab.bundle import Bundle, read_bundle
from lab.deadline import Deadline, poll
from lab.scenario.listener import SilentListener
from lab.scenario.plan import Choice, planned
from lab.scenario.runner import run
from tests.scenario.fakes import HEADER_LINE, FakePlatform, Script, row
from tests.scenario.test_catalog_check import CASES, END, SCENARIO, FakeHost, Running, Step, agent, outcomes, said, texts
from tests.scenario.test_catalog_check import running as running  # noqa: PLC0414 - a fixture
from tests.scenario.test_catalog_expectations import ENTRY, ran, wrong_times
from tests.scenario.test_speed import TEXTS

COST = SCENARIO + "[checks.cost]\n"
SPEED = 'name = "small"\n[[checks]]\nkind = "ops"\nops = ["SCALE"]\n[[checks]]\nkind = "speed"\nat_least = 0.001\n'
CRASHED = "program failed [product] every case had its row, and then: the program was ended by signal 11"


def test_a_crash_behind_the_end_fails(running: Running) -> None:
    bundle = running(Script(agent=agent(), agent_end_status=139))
    assert outcomes(bundle) == dict.fromkeys(CASES, "pass")
    assert (bundle.run.exit, texts(bundle)) == (1, CRASHED)


def test_crashes_behind_the_ends_of_several_starts_are_told_once(running: Running) -> None:
    starts: list[str] = []

    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        starts.append(command)
        yield from agent(killers=("ADD()", "MUL()") if "ADD()" in cases else ())(cases, command)

    bundle = running(Script(agent=steps, agent_status=139, agent_end_status=139), COST)
    assert outcomes(bundle) == {**dict.fromkeys(CASES, "pass"), "ADD()": "guest crash"}
    assert len(starts) == 4
    assert [row.text for row in bundle.findings if row.finding == "program failed"] == [CRASHED.partition("] ")[2]]


def test_a_status_behind_the_end_is_the_products(running: Running) -> None:
    bundle = running(Script(agent=agent(), agent_end_status=3))
    assert bundle.run.exit == 1
    assert texts(bundle) == (
        "program failed [product] every case had its row, and then: the program ended with status 3 behind its last line"
    )


def test_a_hang_behind_the_end_is_ended_and_fails(running: Running) -> None:
    script = Script(agent_end_status=137)

    def wait() -> None:
        poll("a SIGKILL", lambda: "kill -KILL 7" in script.killed, Deadline.after(10))

    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        yield from agent()(cases, command)
        yield wait

    script.agent = steps
    bundle = running(script, SCENARIO.replace("case_deadline_s = 5", "case_deadline_s = 0.5"))
    assert outcomes(bundle) == dict.fromkeys(CASES, "pass")
    assert bundle.run.exit == 1
    assert texts(bundle) == (
        "program failed [product] every case had its row, and then: the program did not end for 0 s, and was killed"
    )


def test_a_crash_between_the_last_row_and_the_end_fails(running: Running) -> None:
    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        yield from (step for step in agent()(cases, command) if step != END)

    bundle = running(Script(agent=steps, agent_status=139))
    assert outcomes(bundle) == dict.fromkeys(CASES, "pass")
    assert bundle.run.exit == 1
    assert texts(bundle) == (
        "interrupted [product] guest crash: the program was ended by signal 11; every case of that start had its row by then"
    )


def test_a_crash_behind_the_end_of_a_start_that_fetches_results_fails(running: Running) -> None:
    script = Script()

    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        script.agent_end_status = 139 if "--values" in command else 0
        yield from agent(lambda case: said(case, digest="other") if case == "SUB()" else said(case))(cases, command)

    script.agent = steps
    assert CRASHED in texts(running(script))


def test_a_crash_behind_the_end_while_costs_are_measured_fails(running: Running) -> None:
    script, starts = Script(), []

    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        starts.append(command)
        script.agent_end_status = 0 if len(starts) == 1 else 139
        yield from agent()(cases, command)

    script.agent = steps
    assert CRASHED in texts(running(script, COST))
    assert len(starts) == 2


@pytest.mark.parametrize(("ends", "told"), [(True, CRASHED), (False, "every case of that start had its row by then")])
def test_a_crash_when_a_flaky_case_runs_again_fails(tmp_path: Path, ends: bool, told: str) -> None:
    script, _ = wrong_times(1)
    script.agent_status = script.agent_end_status = 139
    honest, starts = script.agent, []

    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        assert honest is not None
        starts.append(command)
        again = len(starts) > 2
        script.agent_end_status = 139 if again else 0
        yield from (step for step in honest(cases, command) if ends or not again or step != END)

    script.agent = steps
    bundle = ran(script, tmp_path, ENTRY + 'kind = "flaky"\nmax_rate = 0.9\n')
    assert len(starts) == 3
    assert bundle.run.exit == 1
    assert told in texts(bundle)


def timed(folder: Path, script: Script) -> Bundle:
    """A check of kind ``speed``."""
    path = folder / "small.toml"
    path.write_text(SPEED)
    script.ops, script.expected, script.host = (HEADER_LINE, *(row(text) for text in TEXTS)), TEXTS, FakeHost()
    platform = FakePlatform(script, folder).platform()
    return read_bundle(run(planned([path], Choice()), Choice(), folder / "runs", SilentListener(), platform).folder)


def test_a_crash_behind_the_end_of_a_start_that_is_timed_fails(tmp_path: Path) -> None:
    bundle = timed(tmp_path, Script(agent=agent(), agent_end_status=139))
    assert bundle.run.exit == 1
    assert CRASHED in texts(bundle)


@pytest.mark.parametrize("rows", [0, 1])
def test_a_start_that_is_only_looked_at_fails_when_it_is_cut_off(tmp_path: Path, rows: int) -> None:
    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        lines = list(agent()(cases, command))
        yield from lines[: 1 + rows] if "--hold" in command else lines

    bundle = timed(tmp_path, Script(agent=steps, agent_status=139))
    assert bundle.run.exit == 1
    assert "interrupted [product] guest crash: the program was ended by signal 11; it happened when SCALE(" in texts(bundle)
