from __future__ import annotations

import threading
from collections.abc import Callable

from lab.bundle.schema import Status
from lab.deadline import Deadline, poll
from lab.ops.upstream import ExpectedCases, RowStream
from lab.scenario.checks.ops import OpsRun, overlap
from lab.scenario.model_checks import OpsCheck
from tests.scenario.fakes import HEADER_LINE, SCENARIO, TEXTS, Script, row
from tests.scenario.small_runs import Running, texts, variant

TWO = SCENARIO.replace("min_cases = 3", "min_cases = 3\nprocesses = 2\njobs = 2")


def meeting() -> Callable[[], None]:
    """A step at which both processes wait for each other."""
    return threading.Barrier(2, timeout=10).wait


def test_two_processes_at_once_are_two_runs_of_the_same_cases(running: Running) -> None:
    script = Script(ops=(HEADER_LINE, row(TEXTS[0]), meeting(), *(row(text) for text in TEXTS[1:])))
    bundle = running(script, TWO, variants=("venus",))
    assert texts(bundle) == ""
    assert bundle.run.exit == 0
    assert [(case.check, case.case) for case in sorted(bundle.cases, key=lambda case: case.check)] == [
        (check, text) for check in ("ops", "ops 2") for text in TEXTS
    ]
    assert (variant(bundle).cases.ok, variant(bundle).expected_cases, variant(bundle).calls.count) == (3, 3, 10)
    assert any(fact.name == "processes that computed at the same time" and fact.seen == "2" for fact in bundle.facts)


def test_processes_that_ran_one_after_the_other_do_not_pass(running: Running) -> None:
    waiting = threading.Event()
    turns = iter((lambda: waiting.wait(10), waiting.is_set))

    def wait_but_for_the_last() -> None:
        next(turns)()

    script = Script(ops=(wait_but_for_the_last, HEADER_LINE, *(row(text) for text in TEXTS), waiting.set))
    bundle = running(script, TWO, variants=("venus",))
    assert "processes that computed at the same time: expected 2, seen not all" in texts(bundle)
    assert bundle.run.exit == 2


def test_interruption_of_two_processes_ends_both(running: Running) -> None:
    script = Script()

    def interrupt() -> None:
        raise KeyboardInterrupt

    def wait_for_the_kill() -> None:
        poll("the kill", lambda: "kill -KILL 7" in script.killed, Deadline.after(10))

    turns = iter((interrupt, wait_for_the_kill))

    def take_turns() -> None:
        next(turns)()

    script.ops = (HEADER_LINE, row(TEXTS[0]), meeting(), take_turns)
    bundle = running(script, TWO, variants=("venus",))
    assert bundle.run.status is Status.INTERRUPTED
    assert {case.case for case in bundle.cases} == {TEXTS[0]}
    assert "program failed" not in texts(bundle)
    assert script.torn_down == 1


def test_case_that_failed_in_one_of_two_processes_counts_as_failed(running: Running) -> None:
    rows = iter((row(TEXTS[2], error="test failed"), row(TEXTS[2])))
    script = Script(ops=(HEADER_LINE, meeting(), *(row(text) for text in TEXTS[:2])), ops_status=1)
    script.last_row = lambda: next(rows)
    bundle = running(script, TWO, variants=("venus",))
    assert bundle.run.exit == 1
    assert (variant(bundle).cases.ok, variant(bundle).cases.fail) == (2, 1)


def test_process_without_a_row_computed_at_no_time() -> None:
    def ran(*rows: float) -> OpsRun:
        run = OpsRun(OpsCheck(kind="ops", ops=("ADD",)), ExpectedCases(()), RowStream("x", lambda _result: None))
        run.rows_from, run.rows_until = (rows[0], rows[-1]) if rows else (None, None)
        return run

    assert overlap((ran(1.0, 3.0), ran(2.0, 4.0))).ok
    for one, other in ((ran(1.0, 3.0), ran()), (ran(1.0, 3.0), ran(3.0, 4.0)), (ran(), ran())):
        assert not overlap((one, other)).ok
