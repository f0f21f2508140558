"""What is expected of cases of test-backend-ops, in a guest that is played."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.bundle.outcome import FindingKind
from lab.scenario.expectations import expectations_path
from tests.scenario.test_upstream import KILLED, SCENARIO, Program, Running


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return Running(tmp_path)


def expectation(folder: Path, kind: str) -> None:
    known = expectations_path(folder / "sweep.toml", "sweep")
    known.parent.mkdir()
    words = {"fail": "", "flaky": "max_rate = 0.9\nretries = 2\nmin_runs = 3\n"}[kind]
    known.write_text(f'[[expect]]\ncase = "upstream-test/ADD(n=1)"\nkind = "{kind}"\nreason = "known"\nlink = "l"\n{words}')


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
