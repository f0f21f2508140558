from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from lab.bundle.outcome import Outcome
from lab.bundle.schema import Status
from reports.compare import Change, Comparison, Verdict, compared, probability, untested
from reports.measures import Measure, Measured, Sort
from tests.reports.runs import measure, run_of, runs_of

OK = Outcome.PASS


def only(found: Comparison) -> Change:
    (change,) = found.changes
    return change


def test_a_run_beside_itself_has_not_changed() -> None:
    run = run_of(measure("graph_run.p50_us", 10.0), measure("calls.count", 5, Sort.COUNT), cases={"a": OK})
    found = compared([run], [run])
    assert {one.verdict for one in found.changes} == {Verdict.UNCHANGED}
    assert len(found.changes) == 3
    assert not found.regressed


@pytest.mark.parametrize(
    ("new", "wander", "verdict"),
    [
        (13.0, 0.1, Verdict.REGRESSED),
        (7.0, 0.1, Verdict.IMPROVED),
        (12.0, 0.01, Verdict.UNCHANGED),  # apart, and less than a quarter
        (12.5, 0.01, Verdict.REGRESSED),  # by a quarter
        (13.0, 0.2, Verdict.UNCHANGED),  # by more, and parts of both reach each other
        (30.0, 0.5, Verdict.UNCHANGED),  # they touch
    ],
)
def test_single_runs_differ_where_they_lie_apart_as_a_whole(new: float, wander: float, verdict: Verdict) -> None:
    change = only(compared([run_of(measure("a", 10.0, wander=wander))], [run_of(measure("a", new, wander=wander))]))
    assert change.verdict is verdict
    assert change.p is None
    assert change.change == pytest.approx((new - 10) / 10)


@pytest.mark.parametrize(
    ("base", "new"), [((10.0, 18.0), (20.0,)), ((20.0,), (10.0, 18.0)), ((10.0,), (12.0, 30.0)), ((12.0, 30.0), (10.0,))]
)
def test_every_run_has_to_lie_apart_from_all_of_the_other_side(base: tuple[float, ...], new: tuple[float, ...]) -> None:
    sides = [[run_of(measure("a", value, wander=0.15)) for value in values] for values in (base, new)]
    assert only(compared(*sides)).verdict is Verdict.UNCHANGED


def test_more_of_a_rate_is_better() -> None:
    base, new = ([run_of(measure("a", rate, more_is_better=True))] for rate in (0.5, 1.0))
    assert (only(compared(base, new)).verdict, only(compared(base, new)).change) == (Verdict.IMPROVED, 1)
    assert only(compared(new, base)).verdict is Verdict.REGRESSED
    assert compared(new, base).regressed


@pytest.mark.parametrize(
    ("new", "verdict"),
    [
        ([11.0, 11.2, 10.9, 11.1], Verdict.REGRESSED),
        ([9.0, 9.1, 8.9, 9.2], Verdict.IMPROVED),
        ([10.5, 10.6, 10.7, 10.6], Verdict.REGRESSED),
        ([10.2, 11.3, 10.9, 10.6], Verdict.UNCHANGED),  # with a probability of 0.02
        ([10.3, 11.2, 10.9, 10.6], Verdict.REGRESSED),  # of 0.008
        ([10.4, 10.3, 10.5, 10.4], Verdict.UNCHANGED),  # certain, and less than a twentieth
        ([8.0, 20.0, 10.5, 14.0], Verdict.UNCHANGED),  # by more, and nobody knows
    ],
)
def test_several_runs_are_tested(new: list[float], verdict: Verdict) -> None:
    change = only(compared(runs_of("a", [10.0, 10.1, 9.9, 10.0]), runs_of("a", new)))
    assert change.verdict is verdict
    assert change.p is not None
    assert change.base == 10.0


def test_what_counts_as_the_same_can_be_said() -> None:
    base, new = runs_of("a", [10.0, 10.1, 9.9, 10.0]), runs_of("a", [11.0, 11.2, 10.9, 11.1])
    assert only(compared(base, new, least=0.2)).verdict is Verdict.UNCHANGED
    base, new = [run_of(measure("a", 10.0))], [run_of(measure("a", 10.1))]
    assert only(compared(base, new, least=0.009)).verdict is Verdict.REGRESSED
    assert only(compared(base, new, least=0)).verdict is Verdict.REGRESSED
    assert only(compared(base, new, least=0.02)).verdict is Verdict.UNCHANGED


def test_probability_is_of_logarithms_and_of_figures_where_there_are_none() -> None:
    assert probability([1.0], [2.0]) is None
    assert probability([], [1.0, 2.0, 3.0, 4.0]) is probability([1.0, 2.0, 3.0, 4.0], []) is None
    assert probability([1.0, 1.0], [2.0]) is None
    assert probability([3.0, 3.0], [3.0, 3.0]) == 1
    assert probability([3.0, 3.0], [4.0, 4.0]) == 0
    nearly = math.nextafter(3.0, 4.0)
    assert probability([3.0, nearly], [nearly, 3.0]) == 1, "their logarithms are the same"
    assert probability([3.0, 3.0], [4.0, 5.0]) == pytest.approx(0.0700, abs=1e-4)  # one side is all the same, of which scipy warns
    assert probability([1.0, 10.0], [100.0, 1000.0]) == pytest.approx(0.1056, abs=1e-4)
    assert probability([0.0, 1.0], [2.0, 3.0]) == pytest.approx(0.1056, abs=1e-4)


def test_one_new_run_is_tested_against_many() -> None:
    many = runs_of("a", [10.0, 10.2, 9.9, 10.1, 10.0, 9.8])
    assert only(compared(many, runs_of("a", [12.0]))).verdict is Verdict.REGRESSED
    assert only(compared(many, runs_of("a", [10.3]))).verdict is Verdict.UNCHANGED


def test_a_figure_is_the_median_of_its_runs() -> None:
    change = only(compared(runs_of("a", [10.0, 10.0, 10.0, 50.0]), runs_of("a", [20.0, 20.0, 20.0, 1.0])))
    assert (change.base, change.new, change.change) == (10, 20, 1)


def test_p_is_corrected_for_the_figures_of_its_sort_that_scatter() -> None:
    """By Benjamini and Hochberg: the less of two is doubled, of equal ones it stays."""
    own, noisy, still = [10.0, 10.1, 9.9, 10.0, 10.1, 10.3, 10.2, 10.0], [10.0, 10.1, 9.9, 10.0, 10.1, 9.8, 10.0, 10.2], [5.0] * 8

    def beside(values: Sequence[float] | None = None, sort: Sort = Sort.TIME, *, in_new: bool = True) -> list[float | None]:
        """The p of another figure, and of the one that is looked at."""
        runs = []
        for index, value in enumerate(own):
            other = [measure("b", values[index], sort)] if values is not None and (in_new or index < 4) else []
            runs.append(run_of(*other, measure("own", value)))
        return [one.p for one in compared(runs[:4], runs[4:]).changes]

    (p,) = beside()
    assert p == pytest.approx(0.097, abs=1e-3)
    other, corrected = beside(noisy)
    assert other is not None
    assert (0.2 < other < 1, corrected) == (True, pytest.approx(2 * p))
    assert beside(own) == [pytest.approx(p), pytest.approx(p)]
    assert beside(noisy, in_new=False) == [None, pytest.approx(p)], "there is no test of it"
    assert beside(still) == [1, pytest.approx(p)], "what never scatters raises no false alarm"
    assert beside(noisy, Sort.COUNT)[1] == beside(noisy, Sort.FLOOR)[1] == pytest.approx(p)


def test_counts_that_have_changed_raise_no_alarm_of_times() -> None:
    """Those of a build that sends other bytes: hundreds that are certain, beside which a few false ones would be allowed."""

    def counts(value: float) -> list[Measure]:
        return [measure(f"n{index}", value, Sort.COUNT) for index in range(300)]

    alarms = 0
    for seed in range(10):
        before, after = (
            [replace(run, measures=run.measures | {one.name: one for one in sent}) for run in noise(first + seed, 3)]
            for first, sent in ((0, counts(100.0)), (100, counts(101.0)))
        )
        found = compared(before, after)
        alarms += found.regressed or bool(found.of(Verdict.IMPROVED))
    assert alarms <= 1


def noise(seed: int, count: int) -> list[Measured]:
    figures = np.exp(np.random.default_rng(seed).normal(0, 0.1, (count, 100)))
    return [run_of(*(measure(f"f{index}", float(value)) for index, value in enumerate(row))) for row in figures]


def test_a_hundred_figures_of_noise_raise_no_alarm() -> None:
    """At a hundredth each without the correction there would be one in nearly every comparison."""
    alarms = uncorrected = 0
    for seed in range(10):
        found = compared(noise(seed, 5), noise(100 + seed, 5))
        alarms += found.regressed or bool(found.of(Verdict.IMPROVED))
        before, after = noise(seed, 5), noise(100 + seed, 5)
        ps = [
            probability(*([run.measures[f"s/v/f{index}"].value for run in side] for side in (before, after)))
            for index in range(100)
        ]
        uncorrected += min(p for p in ps if p is not None) < 0.01
    assert alarms == 0
    assert uncorrected > 3


def test_figures_of_one_side_alone_are_told_as_that() -> None:
    found = compared([run_of(measure("a", 1), measure("b", 1))], [run_of(measure("b", 1), measure("c", 1))])
    assert [(one.name, one.verdict) for one in found.changes] == [
        ("s/v/a", Verdict.MISSING),
        ("s/v/b", Verdict.UNCHANGED),
        ("s/v/c", Verdict.ADDED),
    ]
    assert not found.regressed


def test_a_floor_is_the_machine_s_own() -> None:
    assert only(compared([run_of(measure("a", 1, Sort.FLOOR))], [run_of(measure("a", 2, Sort.FLOOR))])).verdict is Verdict.MACHINE


def test_times_of_different_machines_are_not_judged_and_counts_are() -> None:
    base = run_of(measure("a", 1), measure("n", 1, Sort.COUNT))
    new = run_of(measure("a", 2), measure("n", 2, Sort.COUNT), machine="another machine")
    found = compared([base], [new])
    assert [one.verdict for one in found.changes] == [Verdict.MACHINE, Verdict.REGRESSED]
    assert "s/v ran on different machines (a machine; another machine): its times are not judged" in found.notes


def test_the_machine_of_another_variant_is_not_this_one_s() -> None:
    base, new = (replace(run_of(measure("a", value)), machines={"s/v": "a", "s/w": other}) for value, other in ((1, "b"), (2, "c")))
    found = compared([base], [new])
    assert only(found).verdict is Verdict.REGRESSED
    assert [note for note in found.notes if "machines" in note] == [
        "s/w ran on different machines (b; c): its times are not judged"
    ]


def test_something_where_nothing_was_is_a_change_without_a_ratio() -> None:
    change = only(compared([run_of(measure("n", 0, Sort.COUNT))], [run_of(measure("n", 2, Sort.COUNT))]))
    assert (change.change, change.verdict) == (None, Verdict.REGRESSED)


@pytest.mark.parametrize(
    ("base", "new", "verdict", "lost"),
    [
        ([{"a": OK, "b": OK}], [{"a": OK, "b": OK}], Verdict.UNCHANGED, ()),
        ([{"a": OK, "b": OK}], [{"a": OK, "b": Outcome.FAIL}], Verdict.REGRESSED, ("b",)),
        ([{"a": OK, "b": OK}], [{"a": OK, "b": Outcome.UNSUPPORTED}], Verdict.REGRESSED, ("b",)),
        ([{"a": OK, "b": OK}], [{"a": OK, "c": OK}], Verdict.REGRESSED, ("b",)),
        ([{"a": OK}], [{"a": OK}, {"a": Outcome.HANG}], Verdict.REGRESSED, ("a",)),
        ([{"a": OK}, {"a": Outcome.FAIL}], [{"a": Outcome.FAIL}], Verdict.UNCHANGED, ()),
        ([{"a": Outcome.FAIL}], [{"a": OK}], Verdict.IMPROVED, ()),
        ([{"a": Outcome.FAIL, "b": OK}], [{"a": OK, "b": Outcome.FAIL}], Verdict.REGRESSED, ("b",)),
        ([{"a": OK}], [{"a": OK, "new one": OK}], Verdict.UNCHANGED, ()),
        ([{"a": OK}], [{}], Verdict.REGRESSED, ("a",)),
        ([{"a": OK}], [{"a": OK}, {}], Verdict.REGRESSED, ("a",)),
        ([{"a": OK, "b": OK}, {"a": OK}], [{"a": OK}], Verdict.REGRESSED, ("b",)),
    ],
)
def test_cases_are_held_against_each_other_one_by_one(
    base: list[dict[str, Outcome]], new: list[dict[str, Outcome]], verdict: Verdict, lost: tuple[str, ...]
) -> None:
    change = only(compared([run_of(cases=ends) for ends in base], [run_of(cases=ends) for ends in new]))
    assert (change.name, change.verdict, change.cases) == ("s/v/cases.ok", verdict, lost)


def test_a_variant_without_cases_has_no_line_of_them() -> None:
    run = run_of(measure("a", 1), cases={})
    assert [one.name for one in compared([run], [run]).changes] == ["s/v/a"]


def test_cases_of_one_side_alone_are_missing_or_added() -> None:
    cases, none = [run_of(cases={"a": OK})], [run_of()]
    assert only(compared(cases, none)) == Change("s/v/cases.ok", 1, None, None, None, Verdict.MISSING)
    assert only(compared(none, cases)) == Change("s/v/cases.ok", None, 1, None, None, Verdict.ADDED)


def test_what_did_not_end_and_what_is_not_there_is_told() -> None:
    run = run_of(measure("a", 1))
    cut = Measured(run.folder, run.run, {}, {}, {}, {"s/v": Status.INTERRUPTED})
    gone = Measured(run.folder, run.run, {}, {}, {}, {})
    assert "a-run: s/v did not come to its end (interrupted); nothing of it is compared" in compared([run], [cut]).notes
    assert "a-run: s/v did not come to its end (interrupted); nothing of it is compared" in compared([cut], [run]).notes
    assert sum("did not come to its end" in note for note in compared([cut], [cut]).notes) == 1
    assert "s/v is in no run of NEW" in compared([run], [gone]).notes
    assert "s/v is in no run of BASE" in compared([gone], [run]).notes
    assert not any("in no run" in note for note in compared([run], [cut]).notes)
    assert any("fewer than 4 runs" in note for note in compared([run], [run]).notes)
    assert compared([run, run], [run, run]).notes == ()


def test_three_runs_have_no_test_and_the_bound_of_single_ones() -> None:
    base, new = runs_of("a", [10.0, 10.1]), runs_of("a", [12.0])
    found = compared(base, new)
    assert (only(found).verdict, only(found).p) == (Verdict.UNCHANGED, None)
    assert any("fewer than 4 runs" in note for note in found.notes)
    assert only(compared(base, runs_of("a", [13.0]))).verdict is Verdict.REGRESSED


def test_parts_of_runs_matter_where_a_time_is_in_too_few_of_both_sides() -> None:
    run = run_of(measure("a", 1.0), measure("n", 1, Sort.COUNT))
    other = run_of(measure("b", 1.0))
    assert untested([run], [run, run]) == {"s/v/a"}
    assert untested([run, run], [run, run]) == frozenset()
    assert untested([run, other, other], [run, run]) == {"s/v/a"}
    assert untested([run], [other]) == frozenset()


def test_counts_scatter_less_than_times() -> None:
    base, new = ([run_of(measure("n", count, Sort.COUNT), measure("a", count))] for count in (10, 11))
    assert [one.verdict for one in compared(base, new).changes] == [Verdict.REGRESSED, Verdict.UNCHANGED]


def test_a_case_that_an_expectation_names_on_either_side_is_not_compared() -> None:
    base = run_of(cases={"a": OK, "b": OK})
    new = replace(run_of(cases={"a": OK, "b": Outcome.FAIL}), named=frozenset({("s/v", "b")}))
    for sides in ((base, new), (new, base)):
        change = only(compared([sides[0]], [sides[1]]))
        assert (change.base, change.new, change.verdict) == (1, 1, Verdict.UNCHANGED)
    elsewhere = replace(new, named=frozenset({("s/other", "b")}))
    assert only(compared([base], [elsewhere])).cases == ("b",)
