"""The pages of a comparison and of a history."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from lab.bundle.outcome import Outcome
from lab.bundle.schema import HostRecord
from reports.compare import Change, Verdict, compared
from reports.history import Shift, series_of, shifts
from reports.measures import Sort
from reports.regressions import change_text, comparison_page, course_of, dots_of, history_page, place, plain_figure, sorted_by_size
from tests.reports.runs import measure, run_of, runs_of

STEP = [10.0, 10.1, 9.9, 20.0, 20.1, 19.9]


def text_of(page: str) -> str:
    return " ".join(re.sub("<[^>]*>", " ", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)).split())


def test_page_of_a_comparison_has_a_section_for_each_verdict() -> None:
    base = run_of(
        measure("slow", 10.0), measure("quick", 10.0), measure("same", 10.0), measure("gone", 1.0), cases={"a <b>": Outcome.PASS}
    )
    new = run_of(
        measure("slow", 20.0), measure("quick", 5.0), measure("same", 10.0), measure("more", 1.0), cases={"a <b>": Outcome.FAIL}
    )
    page = text_of(comparison_page(compared([base], [new]), [base], [new]))
    assert "NEW beside BASE Worse BASE 1 run" in page
    assert "Worse (2) Better (1) Not in NEW (1) Not in BASE (1) Unchanged (1)" in page
    assert "s/v/slow 10 20 +100.0 %" in page
    assert "No longer ok 1 cases of s/v/cases.ok a &lt;b&gt;" in page
    assert "fewer than 4 runs" in page
    assert "Nothing is worse" in text_of(comparison_page(compared([base], [base]), [base], [base]))


def test_page_of_a_comparison_says_what_it_compares_and_how_sure_it_is() -> None:
    count = measure("n", 5.0, Sort.COUNT)
    base, new = (
        [replace(run, measures={**run.measures, count.name: count}) for run in runs_of("a", values)]
        for values in ([10.0, 10.1, 10.2], [20.0, 20.1])
    )
    base[0] = replace(base[0], run=base[0].run.model_copy(update={"commit": ""}))
    host = HostRecord(processor="a processor", cores=7)
    base[1] = replace(base[1], run=base[1].run.model_copy(update={"commit": "fedcba98765432", "host": host}))
    page = comparison_page(compared(base, new), base, new)
    text = text_of(page)
    assert "<title>Worse: a comparison" in page
    assert "BASE 3 runs 2026-01-01 to 2026-01-03 no commit fedcba987654 commit of 20 , 0 cores a processor, 7 cores" in text
    assert "NEW 2 runs 2026-01-01 to 2026-01-02 commit of 20" in text
    assert re.search(r"s/v/a 10\.1 20\.1 \+98\.5 % \de-0\d ", text)
    assert '<details><summary id="unchanged">Unchanged <small>1 figures' in page
    assert "s/v/n 5 5 +0.0 % 1 " in text
    dots = re.findall(r'<circle class="(old|now)" cx="[0-9.]+" cy="(\d+)"', page[: page.index("<details>")])
    assert dots == [*[("old", "5")] * 3, *[("now", "15")] * 2]
    assert "<title>Nothing is worse: a comparison" in comparison_page(compared(base, base), base, base)


def test_page_of_a_history_has_every_figure_and_marks_its_changes() -> None:
    runs = runs_of("a", STEP)
    series = series_of(runs)
    page = history_page(series, shifts(series[0]), ["left out: x <y>"], runs)
    assert "6 runs 2026-01-01 to 2026-01-06 a machine" in text_of(page)
    assert "Worse s/v/a 10 20 +100.0 % run of 2026-01-04 commit of 20" in text_of(page)
    assert "left out: x &lt;y&gt;" in page
    assert page.count('<line class="bad"') == 1
    assert "s/v/a 6 10 19.9 9.9 20.1" in text_of(page)
    assert "Changes (1) Every figure (1)" in text_of(page)
    assert f'<polyline points="{course_of(series[0], ()).line}"/>' in page
    assert "No figure changed for good" in history_page(series, (), (), runs)


def test_page_of_a_history_is_of_all_runs_and_tells_machines_apart_where_there_are_several() -> None:
    runs = [
        run_of(measure("a", 1.0), started="2026-01-01"),
        run_of(measure("a", 3.0), started="2026-01-09"),
        run_of(measure("b", 2.0), measure("n", 5, Sort.COUNT), started="2026-01-08", machine="another machine"),
    ]
    text = text_of(history_page(series_of(runs), (), (), runs))
    assert "3 runs 2026-01-01 to 2026-01-09 a machine another machine" in text
    assert "s/v/a a machine 2 1 3" in text
    assert "s/v/b another machine 1 2 2" in text
    assert "s/v/n 1 5 5" in text


def test_runs_that_began_in_the_same_second_are_told_apart() -> None:
    """Two machines may give their runs the same name."""
    runs = [run_of(measure("a", 1.0), started="2026-01-01", machine=machine) for machine in ("a machine", "another machine")]
    assert "<title>2 runs" in history_page(series_of(runs), (), (), runs)
    same = [run_of(measure("n", value, Sort.COUNT), started="2026-01-01") for value in (1.0, 2.0, 2.0, 2.0)]
    (series,) = series_of(same)
    course = course_of(series, [Shift(series, 2, 1.5, 2.0, 0.0)])
    assert course.marks == ((course.dots[2][0], "bad"),)


def test_a_change_is_marked_in_its_own_course_and_one_machine_is_told_once() -> None:
    runs = [
        [replace(run, run=run.run.model_copy(update={"commit": ""})) for run in runs_of("a", STEP, sort)]
        for sort in (Sort.TIME, Sort.COUNT)
    ]
    times, counts = map(series_of, runs)
    page = history_page([*times, *counts], shifts(times[0]), (), runs[0])
    assert "Changes (1) Every figure (2)" in text_of(page)
    assert "run of 2026-01-04 none" in text_of(page)
    assert page.count("<line ") == 1
    assert "<small>" not in page


def test_figures_and_changes_are_told_in_few_digits_and_the_largest_first() -> None:
    figures = (None, 0.0, 0.12345, 12.0, 12.34, 999.6, 1234.5, 1234567.0)
    assert [plain_figure(one) for one in figures] == ["\N{EN DASH}", "0", "0.123", "12", "12.3", "1,000", "1,234", "1,234,567"]
    assert [change_text(one) for one in (None, 0.1234, -1.0)] == ["", "+12.3 %", "-100.0 %"]
    sizes = (0.1, None, -0.5, 0.3)
    changes = [Change("a", 1, 1, size, None, Verdict.REGRESSED) for size in sizes]
    assert [one.change for one in sorted_by_size(changes)] == [-0.5, 0.3, 0.1, None]


def test_every_run_has_its_dot() -> None:
    base, new = runs_of("a", [1.0, 2.0]), runs_of("a", [3.0])
    (change,) = compared(base, new).changes
    dots = dots_of(change, base, new)
    assert [round(x, 2) for x in (*dots.base, *dots.new)] == [0.04, 0.5, 0.96]
    assert place(3.0, [3.0, 3.0]) == 0.5


def test_a_course_goes_from_left_to_right_and_up_to_the_most() -> None:
    (series,) = series_of(runs_of("a", STEP, Sort.COUNT))
    course = course_of(series, shifts(series))
    xs, ys = zip(*course.dots, strict=True)
    assert list(xs) == sorted(xs)
    assert (xs[0], xs[-1]) == (8, pytest.approx(192)), "of 200, a little free on either side"
    assert ys.index(min(ys)) == STEP.index(max(STEP))
    assert course.marks == ((xs[3], "bad"),)
    assert len(course.line.split()) == 6
    (alone,) = series_of(runs_of("a", [1.0]))
    assert len(course_of(alone, ()).dots) == 1


def test_words_of_a_run_are_no_markup(tmp_path: Path) -> None:
    run = run_of(measure("<script>", 1.0))
    named = replace(run, run=run.run.model_copy(update={"commit": "<i>", "started": "<u>"}), folder=tmp_path)
    pages = comparison_page(compared([named], [named]), [named], [named]) + history_page(series_of([named]), (), (), [named])
    assert not re.search("<(script|i|u)>", pages)
