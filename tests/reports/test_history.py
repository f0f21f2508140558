from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reports.compare import Verdict, probability
from reports.history import Series, series_of, shifts
from reports.measures import Sort
from tests.reports.runs import measure, run_of, runs_of

FLAT = [10.0, 10.1, 9.9, 10.0, 10.2, 9.8]
TIGHT = [10.0, 10.01, 9.99, 10.0, 10.02, 9.98]
EARLY = [10.0, 10.01, 9.99, 11.0, 11.01, 10.99]


def one_series(values: list[float], sort: Sort = Sort.TIME, *, more_is_better: bool = False) -> Series:
    (series,) = series_of(runs_of("a", values, sort, more_is_better=more_is_better))
    return series


def test_runs_are_put_in_order_of_their_start() -> None:
    runs = runs_of("a", [1.0, 2.0, 3.0])
    (series,) = series_of([runs[2], runs[0], runs[1]])
    assert series.values == [1.0, 2.0, 3.0]
    assert [point.commit for point in series.points] == [f"commit of 2026-01-0{day}" for day in (1, 2, 3)]
    named = [
        replace(run, run=run.run.model_copy(update={"started": "", "run": name})) for run, name in zip(runs, "bca", strict=True)
    ]
    assert series_of(named)[0].values == [3.0, 1.0, 2.0], "of one moment by their names"


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


def test_p_is_corrected_for_all_places_that_are_tried() -> None:
    """Stretches of a whole series, and places in each of them: 7 of 12 runs, 13 of 18, squared."""
    half = [value / 2 for value in FLAT]
    (shift,) = shifts(one_series([*FLAT, *half]))
    assert shift.p == pytest.approx(49 * (probability(FLAT, half) or 0))
    assert [one.p for one in shifts(one_series([*FLAT, *half, *FLAT]))] == [pytest.approx(shift.p / 49 * 169)] * 2


@pytest.mark.parametrize(
    ("values", "at"),
    [
        ([*FLAT, *(value * 1.3 for value in FLAT[:3])], 6),
        ([10.4, 14.2, 10.6, 7.8, 5.0, 4.3, 4.2, 5.1, 4.9, 5.1, 5.3, 5.5, 4.8, 4.9, 6.4, 4.0, 6.0, 5.0], 4),
        ([9.7, 9.6, 9.9, 9.5, 9.9, 11.5, 15.5, 14.8, 14.6, 14.6, 13.3], 6),
        ([10.5, 9.5, 10.4, 9.3, 10.2, 9.6, 8.2, 5.8, 6.0, 7.1, 7.1, 7.5, 7.1, 6.5, 7.7, 7.3, 6.5, 5.7, 7.5, 6.4, 6.5, 6.8, 7.1], 6),
        ([10.0, 10.01, 9.99, 10.02] * 2 + [10.4, 10.41, 10.39, 10.42] * 2 + [10.8, 10.81, 10.79, 10.82] * 2, 8),
        ([*EARLY, 9.0, 12.0, 10.2, 11.5, 9.2, 12.1, 9.4, 11.7, 9.1, 9.5, 30.0, 33.0, 27.0, 31.5, 28.5, 30.3], 16),
        ([20.0] * 3 + [21.0] * 3, 3),
        ([1000.0] * 40 + [1200.0] * 10, 40),
        (FLAT * 6 + [13.0] * 3, 36),
    ],
    ids=[
        "the third run",
        "logarithms",
        "both sides scatter",
        "sides of many and few",
        "steps",
        "an early one goes",
        "a twentieth",
        "behind many that are the same",
        "behind many",
    ],
)
def test_a_change_is_where_the_sides_differ_most_by_what_they_scatter(values: list[float], at: int) -> None:
    series = one_series(values)
    assert [shift.index for shift in shifts(series)] == [at]


def test_what_counts_as_a_change_can_be_said() -> None:
    series = one_series([*TIGHT, *(value * 1.03 for value in TIGHT)])
    assert shifts(series) == shifts(series, 0.031) == ()
    (shift,) = shifts(series, 0.029)
    assert (shift.at.started, shift.p < 0.001) == ("2026-01-07", True)


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
        [*FLAT * 5, 30.0, 30.0],
        [30.0, 30.0, *FLAT * 5],
        [*TIGHT, *(value * 1.04 for value in TIGHT)],
        [*TIGHT, *(value * 0.951 for value in TIGHT)],
        [*FLAT, *(value * 1.06 for value in FLAT)],
        [*EARLY, 9.0, 12.0, 10.2, 11.5, 9.2, 12.1, 9.4, 11.7, 9.1],
        [10.0, 10.01, 9.99, 10.6, 10.61, 10.59, *(value * 1.04 for value in TIGHT)],
        [*[0.0] * 60, *[7.0, 0.0, 0.0, 7.0, 0.0] * 4],
    ],
    ids=[
        "none",
        "noise",
        "all the same",
        "an outlier",
        "two runs",
        "two runs behind many",
        "two runs before many",
        "less than a twentieth more",
        "less than a twentieth less",
        "too little for that many places",
        "later runs scatter",
        "later runs lie nearer",
        "the same medians",
    ],
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
