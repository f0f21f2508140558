from __future__ import annotations

from dataclasses import replace

import pytest

from lab.bundle.outcome import Outcome
from lab.bundle.rows import CallRow, CaseRow
from reports.statistics import BINS, LogAxis, durations, op_outcomes, succeeded, time_parts


def call(
    duration_us: float, *, command: str = "c", status: int = 4, encode: int | None = 1000, queue: int = 2000, compute: int = 3000
) -> CallRow:
    return CallRow("s", "v", "both", 1, 0, command, 0, int(duration_us * 1000), encode, queue, compute, status, 10, 20)


def case(op: str, outcome: Outcome, params: str = "", check: str = "ops") -> CaseRow:
    return CaseRow("s", "v", check, f"{op}({params})", op, params, outcome, "", 0.0, 0.0)


def test_axis_spans_whole_decades_around_all_values() -> None:
    axis = LogAxis.over((15.0, 2500.0))
    assert axis.decades == (10.0, 100.0, 1000.0, 10000.0)
    assert [axis.place(value) for value in (1.0, 10.0, 100.0, 1e9)] == pytest.approx([0.0, 0.0, 1 / 3, 1.0])


@pytest.mark.parametrize(("most_us", "labels"), [(1e6, 7), (1e7, 4), (60e6, 5), (1e16, 6)])
def test_labels_of_an_axis_have_room(most_us: float, labels: int) -> None:
    axis = LogAxis.over((1.0, most_us))
    assert len(axis.labels) == labels
    assert set(axis.labels) <= set(axis.decades)


def test_axis_of_nothing_and_of_one_value_has_a_decade() -> None:
    assert len(LogAxis.over(()).decades) == 2
    assert len(LogAxis.over((100.0,)).decades) == 2


def test_durations_are_summed_up_by_command() -> None:
    calls = [*(call(float(value)) for value in range(1, 101)), call(50_000.0, command="slow", status=5)]
    slow, quick = durations(calls, LogAxis.over((1.0, 50_000.0)))
    assert (slow.command, slow.count, slow.failed) == ("slow", 1, 1)
    assert (quick.count, quick.p50_us, quick.max_us, quick.min_us) == (100, 50.0, 100.0, 1.0)
    assert (quick.p90_us, quick.p99_us) == (90.0, 99.0)
    assert len(quick.shape) == BINS
    assert max(quick.shape) == 1.0
    assert (quick.bytes_out, quick.bytes_in) == (1000, 2000)


def test_parts_add_up_to_the_mean_of_typical_calls() -> None:
    calls = [call(100.0) for _ in range(99)] + [call(1_000_000.0)]
    (part,) = time_parts(calls)
    assert part.total_us == pytest.approx(100.0)
    assert (part.encode_us, part.queue_us, part.compute_us, part.transport_us) == pytest.approx((1.0, 2.0, 3.0, 94.0))


def test_parts_of_few_calls_and_of_unjoined_ones() -> None:
    assert time_parts([call(100.0), call(200.0)])[0].total_us == pytest.approx(150.0)
    assert time_parts([call(100.0, encode=None)]) == ()


def test_outcomes_are_counted_by_op_and_the_worst_decides() -> None:
    ends = (Outcome.PASS, Outcome.FAIL, Outcome.UNSUPPORTED)
    cases = [*(case("ADD", end, f"n={number}") for number, end in enumerate(ends)), case("MUL", Outcome.PASS)]
    ops = op_outcomes(cases)
    assert list(ops) == ["ADD", "MUL"]
    assert (ops["ADD"].total, ops["ADD"].of(Outcome.PASS), ops["ADD"].worst) == (3, 1, Outcome.FAIL)
    assert ops["MUL"].worst is Outcome.PASS


@pytest.mark.parametrize("worse", [Outcome.UNSUPPORTED, Outcome.SKIPPED, Outcome.ERROR, Outcome.HANG, Outcome.HOST_CRASH])
def test_an_operation_looks_no_better_than_any_of_its_cases(worse: Outcome) -> None:
    assert op_outcomes([case("ADD", Outcome.PASS, "n=1"), case("ADD", worse, "n=2")])["ADD"].worst is worse
    both = op_outcomes([case("ADD", Outcome.UNSUPPORTED, "n=1"), case("ADD", worse, "n=2")])["ADD"].worst
    assert both is (Outcome.UNSUPPORTED if worse is Outcome.SKIPPED else worse)
    failed = op_outcomes([case("ADD", Outcome.FAIL, "n=1"), case("ADD", worse, "n=2")])["ADD"].worst
    assert failed is (worse if worse in {Outcome.HANG, Outcome.HOST_CRASH} else Outcome.FAIL)


@pytest.mark.parametrize("ends", [(Outcome.PASS, Outcome.FAIL), (Outcome.FAIL, Outcome.PASS)])
def test_case_that_ran_several_times_is_one_by_its_worst_end(ends: tuple[Outcome, Outcome]) -> None:
    ops = op_outcomes(
        [case("ADD", ends[0]), case("ADD", ends[1], check="ops 2"), case("ADD", Outcome.PASS, check="upstream-test 2")]
    )
    assert ops["ADD"].counts == ((Outcome.FAIL, 1), (Outcome.PASS, 1))


FAIL, PASS, SKIPPED, CRASH = Outcome.FAIL, Outcome.PASS, Outcome.SKIPPED, Outcome.HOST_CRASH


@pytest.mark.parametrize(
    ("word", "ends", "expected"),
    [
        ("fail", (FAIL,), True),
        ("fail", (FAIL, PASS), False),
        ("fail", (PASS,), False),
        ("fail", (CRASH,), False),
        ("flaky", (FAIL, PASS), True),
        ("flaky", (FAIL, FAIL), False),
        ("flaky", (FAIL, PASS, CRASH), False),
        ("skip", (SKIPPED,), True),
        ("", (FAIL,), False),
        ("", (SKIPPED,), False),
    ],
)
def test_cases_that_end_as_expected_are_no_alarm(word: str, ends: tuple[Outcome, ...], *, expected: bool) -> None:
    told = replace(case("ADD", PASS), expected=word)
    ops = op_outcomes([case("ADD", PASS, "another"), *(replace(told, outcome=end, attempt=n + 1) for n, end in enumerate(ends))])
    assert ops["ADD"].total == 2
    assert ops["ADD"].expected == expected
    assert ops["ADD"].alarming is (not expected and set(ends) != {PASS})


@pytest.mark.parametrize(
    ("command", "status", "ok"),
    [
        ("handshake", 0xAB1E, True),
        ("load_library", 0, True),
        ("load_library", 4, False),
        ("x", 4, True),
        ("x", -1, False),
        ("negotiate", 0, True),
    ],
)
def test_success_is_the_commands_own(command: str, status: int, ok: bool) -> None:
    assert succeeded(call(1.0, command=command, status=status)) is ok
