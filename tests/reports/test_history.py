from __future__ import annotations

import numpy as np
import pytest

from reports.compare import Verdict
from reports.history import Series, series_of, shifts
from reports.measures import Sort
from tests.reports.runs import measure, run_of, runs_of

FLAT = [10.0, 10.1, 9.9, 10.0, 10.2, 9.8]


def one_series(values: list[float], sort: Sort = Sort.TIME, *, more_is_better: bool = False) -> Series:
    (series,) = series_of(runs_of("a", values, sort, more_is_better=more_is_better))
    return series


def test_runs_are_put_in_order_of_their_start() -> None:
    runs = runs_of("a", [1.0, 2.0, 3.0])
    (series,) = series_of([runs[2], runs[0], runs[1]])
    assert series.values == [1.0, 2.0, 3.0]
    assert [point.commit for point in series.points] == [f"commit of 2026-01-0{day}" for day in (1, 2, 3)]


def test_machines_have_series_of_their_own_for_times_and_one_for_counts() -> None:
    runs = [
        run_of(measure("a", 1), measure("n", 5, Sort.COUNT), machine=machine, started=started)
        for machine, started in (("x", "1"), ("y", "2"), ("x", "3"))
    ]
    assert [(one.name, one.machine, len(one.points)) for one in series_of(runs)] == [
        ("s/v/a", "x", 2),
        ("s/v/n", "", 3),
        ("s/v/a", "y", 1),
    ]


def test_a_step_is_found_where_it_is() -> None:
    (shift,) = shifts(one_series([*FLAT, *(value * 1.3 for value in FLAT)]))
    assert (shift.at.started, shift.before, shift.after) == ("2026-01-07", 10.0, pytest.approx(13.0))
    assert shift.change == pytest.approx(0.3)
    assert shift.verdict is Verdict.REGRESSED
    assert shift.p < 0.001


def test_there_and_back_are_two_changes() -> None:
    found = shifts(one_series([*FLAT, *(value / 2 for value in FLAT), *FLAT]))
    assert [(shift.at.started[-2:], shift.verdict) for shift in found] == [("07", Verdict.IMPROVED), ("13", Verdict.REGRESSED)]
    assert [(shift.before, shift.after) for shift in found] == [(10.0, 5.0), (5.0, 10.0)]


def test_more_of_a_rate_is_better_and_a_floor_is_the_machine_s() -> None:
    values = [*FLAT, *(value * 1.3 for value in FLAT)]
    assert [shift.verdict for shift in shifts(one_series(values, more_is_better=True))] == [Verdict.IMPROVED]
    assert [shift.verdict for shift in shifts(one_series(values, Sort.FLOOR))] == [Verdict.MACHINE]


@pytest.mark.parametrize(
    "values",
    [
        [],
        FLAT,
        [10.0] * 12,
        [*FLAT, 30.0, *FLAT],  # one run, by itself
        [*FLAT, 30.0, 30.0],  # two of them are not enough
        [*FLAT, *(value * 1.04 for value in FLAT)],
    ],
    ids=["none", "noise", "all the same", "an outlier", "two runs", "less than a twentieth"],
)
def test_what_is_no_change(values: list[float]) -> None:
    series = one_series(values) if values else Series("a", "", Sort.TIME, more_is_better=False, points=())
    assert shifts(series) == ()


def test_a_count_that_was_constant_has_changed_with_the_third_run() -> None:
    assert shifts(one_series([10.0, 10.0, 10.0, 20.0, 20.0], Sort.COUNT)) == ()
    (shift,) = shifts(one_series([10.0, 10.0, 10.0, 20.0, 20.0, 20.0], Sort.COUNT))
    assert (shift.p, shift.change) == (0, 1.0)
    (shift,) = shifts(one_series([0.0, 0.0, 0.0, 2.0, 2.0, 2.0], Sort.COUNT))
    assert shift.change is None


def test_a_hundred_series_of_noise_hardly_ever_change() -> None:
    values = np.exp(np.random.default_rng(1).normal(0, 0.1, (100, 25)))
    assert sum(bool(shifts(one_series([float(value) for value in row]))) for row in values) <= 1
