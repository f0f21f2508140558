"""What is expected of cases of test-backend-ops, in a guest that is played."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.bundle import Bundle, read_bundle
from lab.bundle.junit import junit_xml
from lab.bundle.outcome import FindingKind
from lab.scenario.expectations import expectations_path
from tests.scenario.fakes import HEADER_LINE, Script, row
from tests.scenario.upstream_runs import CASES, KILLED, SCENARIO, Program, Running, killed_lab


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return Running(tmp_path)


def expectation(folder: Path, kind: str, min_runs: int = 3, when: str = "") -> None:
    known = expectations_path(folder / "sweep.toml", "sweep")
    known.parent.mkdir(exist_ok=True)
    words = {"fail": "", "flaky": f"max_rate = 0.9\nretries = 2\nmin_runs = {min_runs}\n"}[kind]
    known.write_text(f'[[expect]]\ncase = "upstream-test/ADD(n=1)"\nkind = "{kind}"\nreason = "known"\nlink = "l"\n{words}{when}')


@pytest.mark.parametrize("kind", ["fail", "flaky"])
def test_a_case_that_may_fail_may_not_crash(running: Running, kind: str) -> None:
    expectation(running.folder, kind)
    bundle = running(Program({"ADD(n=1)": lambda: KILLED}))
    assert (bundle.run.exit, bundle.run.variants[0].cases.error) == (1, 1)
    assert [(row.finding, row.case) for row in bundle.findings] == [(FindingKind.INTERRUPTED, "ADD(n=1)")]


def test_a_flaky_case_may_not_crash_when_it_is_run_again(running: Running) -> None:
    class Later(Program):
        def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
            if self.ran["ADD(n=1)"] == 1:
                self.at["ADD(n=1)"] = lambda: KILLED
            return super().__call__(command, on_line)

    expectation(running.folder, "flaky")
    bundle = running(Later(), text=SCENARIO.replace("shards = 2", "shards = 1"))
    assert [(row.outcome, row.attempt) for row in bundle.cases if row.expected] == [
        ("pass", 1),
        ("guest crash", 2),
        ("pass", 3),
        ("pass", 4),
    ]
    assert bundle.run.exit == 1
    assert [(row.finding, row.case) for row in bundle.findings] == [(FindingKind.INTERRUPTED, "ADD(n=1)")]


FAILS_FIRST = SCENARIO.replace("shards = 2", "shards = 1")


class Again(Program):
    """Fails the flaky case; what the next program does with it is ``second``."""

    def __init__(self, second: Callable[[Callable[[str], None]], int]) -> None:
        super().__init__()
        self.second = second

    def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
        if self.processes >= 3:
            self.processes += 1
            on_line("pid 7\n")
            return self.second(on_line)

        before = self.ran["ADD(n=1)"]
        super().__call__(command, lambda line: on_line(row("ADD(n=1)", error="test failed") if line == row("ADD(n=1)") else line))
        return self.ran["ADD(n=1)"] - before


def passing(status: int, *further: str) -> Callable[[Callable[[str], None]], int]:
    def second(on_line: Callable[[str], None]) -> int:
        for line in (HEADER_LINE, row("ADD(n=1)"), *further):
            on_line(line)
        return status

    return second


@pytest.mark.parametrize(
    ("second", "kind"),
    [
        (passing(77), FindingKind.PROGRAM_FAILED),
        (passing(0, row("ADD(n=1)", device="CPU")), FindingKind.NO_SUCH_DEVICE),
        (passing(0, row("MUL(n=9)")), FindingKind.SURPLUS_CASE),
    ],
)
def test_a_pass_on_a_further_run_with_which_something_is_wrong_is_none(
    running: Running, second: Callable[[Callable[[str], None]], int], kind: FindingKind
) -> None:
    expectation(running.folder, "flaky", min_runs=2)
    bundle = running(Again(second), text=FAILS_FIRST)
    assert [(row.outcome, row.attempt) for row in bundle.cases if row.expected] == [("fail", 1), ("pass", 2)]
    assert [row.finding for row in bundle.findings] == [kind]


def test_a_further_run_that_is_stopped_is_a_finding(running: Running) -> None:
    expectation(running.folder, "flaky", min_runs=2)
    bundle = running(Again(lambda _: 128 + 6), text=FAILS_FIRST)
    assert "processes in a row ended before their first case" in bundle.findings[0].text


def test_a_further_run_that_nobody_looked_at_proves_nothing(running: Running) -> None:
    script = Script()

    def unseen(on_line: Callable[[str], None]) -> int:
        script.through = True
        return passing(0)(on_line)

    expectation(running.folder, "flaky", min_runs=2)
    bundle = running(Again(unseen), text=FAILS_FIRST, script=script)
    assert [(row.finding, row.blame) for row in bundle.findings] == [(FindingKind.WRONG_LIBRARY, "lab")]


TWO_MODES = f"""\
{FAILS_FIRST}
[[checks]]
kind = "upstream"
mode = "support"
"""


class Failing(Program):
    """``ADD(n=1)`` fails where it is computed, and is supported."""

    def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
        before = self.ran["ADD(n=1)"]
        if " support " in command:
            return super().__call__(command, on_line)
        super().__call__(command, lambda line: on_line(row("ADD(n=1)", error="test failed") if line == row("ADD(n=1)") else line))
        return self.ran["ADD(n=1)"] - before


def test_what_two_modes_say_of_one_case_is_counted_as_two(running: Running) -> None:
    expectation(running.folder, "fail")
    bundle = running(Failing(), text=TWO_MODES)
    record = bundle.run.variants[0]
    assert (bundle.run.exit, bundle.findings) == (0, ())
    assert (record.cases.ok, record.cases.fail, record.cases.expected) == (2 * len(CASES) - 1, 0, 1)
    assert record.expected_cases == 2 * len(CASES) == sum(record.cases.model_dump().values())


def told(bundle: Bundle) -> list[tuple[str, str, str]]:
    return [(row.outcome, row.expected, row.reason) for row in bundle.cases if row.case == "ADD(n=1)"]


@pytest.mark.parametrize("cut", [True, False], ids=["killed", "ended"])
def test_what_is_expected_of_kept_results_is_what_the_run_that_goes_on_expects(running: Running, *, cut: bool) -> None:
    first = running(Failing(), text=FAILS_FIRST)
    assert told(first) == [("fail", "", "")]
    expectation(running.folder, "fail", when='when = { host_ggml = ">=0.27", accel = "tcg" }\n')
    second = running(Failing(), text=FAILS_FIRST, earlier=killed_lab(first, 5) if cut else first)
    assert (told(second), second.run.exit) == ([("fail", "fail", "known")], 0)
    assert "<failure" not in junit_xml(second), "the verdict and what is told of cases agree"
    expectation(running.folder, "fail", when='when = { accel = "kvm" }\n')
    third = running(Failing(), text=FAILS_FIRST, earlier=second)
    assert (told(third), third.run.exit) == ([("fail", "", "")], 1)


@pytest.mark.parametrize("known", [True, False])
def test_kept_results_of_a_device_that_nobody_wrote_down_stay_as_they_were(running: Running, *, known: bool) -> None:
    first = running(Failing(), text=FAILS_FIRST)
    expectation(running.folder, "fail", when='when = { registry = "ggml-virtgpu" }\n')
    second = running(Failing(), text=FAILS_FIRST, earlier=first)
    assert told(second) == [("fail", "fail", "known")]
    if not known:
        path = second.folder / "run.json"
        record = json.loads(path.read_text())
        record["variants"][0]["device"] = None
        path.write_text(json.dumps(record))
        second = read_bundle(second.folder)
    assert told(running(Failing(), text=FAILS_FIRST, earlier=second)) == [("fail", "fail", "known")]
