"""Pages of a comparison and of a history: one file each, which works offline and without scripts, as a run's page does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.compare import Change, Comparison, Verdict
from reports.history import Series, Shift
from reports.measures import Measured
from reports.render import TEMPLATES, page_environment

HEADINGS = {
    Verdict.REGRESSED: ("Worse", "failed", "bad"),
    Verdict.IMPROVED: ("Better", "passed", "good"),
    Verdict.MACHINE: ("The machine's own", "error", "alarm"),
    Verdict.MISSING: ("Not in NEW", "skipped", "quiet"),
    Verdict.ADDED: ("Not in BASE", "skipped", "quiet"),
    Verdict.UNCHANGED: ("Unchanged", "skipped", "quiet"),
}
"""What a verdict's section is called, its badge's and its figures' colour."""
WIDTH, HEIGHT = 200.0, 36.0
"""Of a series' course, in the units of its picture."""
PERCENT = 100.0
LARGE = 1000
EDGE = 0.04
"""Of a picture's width, free on either side."""


@dataclass(frozen=True, slots=True)
class Dots:
    """The runs' figures of one change, as shares of the picture's width: BASE's above, NEW's below."""

    base: tuple[float, ...]
    new: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """A series as a line: its points, and where it changed."""

    series: Series
    line: str
    dots: tuple[tuple[float, float], ...]
    marks: tuple[tuple[float, str], ...]


def comparison_page(found: Comparison, base: Sequence[Measured], new: Sequence[Measured]) -> str:
    """The page of a comparison of these runs."""
    sections = tuple(
        (*HEADINGS[verdict], verdict, tuple((one, dots_of(one, base, new)) for one in sorted_by_size(found.of(verdict))))
        for verdict in HEADINGS
        if found.of(verdict)
    )
    return _rendered("compare.html.j2", found=found, sections=sections, sides=(("BASE", base), ("NEW", new)), Verdict=Verdict)


def history_page(series: Sequence[Series], shifts: Sequence[Shift], notes: Sequence[str], runs: Sequence[Measured]) -> str:
    """The page of these runs' history: what changed for good, then every figure's course."""
    courses = tuple(course_of(one, [shift for shift in shifts if shift.series is one]) for one in series)
    ends = sorted(run.run.started for run in runs)
    machines = tuple(dict.fromkeys(one.machine for one in series if one.machine))
    return _rendered(
        "history.html.j2",
        courses=courses,
        shifts=shifts,
        notes=notes,
        runs=len(runs),
        ends=ends,
        machines=machines,
        headings=HEADINGS,
    )


def _rendered(template: str, **values: object) -> str:
    environment = page_environment()
    environment.filters |= {"figure": plain_figure, "change": change_text}
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    return environment.get_template(template).render(style=style, width=WIDTH, height=HEIGHT, **values)


def change_text(change: float | None) -> str:
    """A relative change in percent; nothing where there is none."""
    return "" if change is None else f"{PERCENT * change:+.1f} %"


def plain_figure(value: float | None) -> str:
    """A figure without its unit: whole where it is large, else of three digits."""
    if value is None:
        return "\N{EN DASH}"
    return f"{value:,.0f}" if round(abs(value)) >= LARGE else f"{value:.3g}"


def sorted_by_size(changes: Sequence[Change]) -> list[Change]:
    """The largest first."""
    return sorted(changes, key=lambda one: -abs(one.change or 0))


def dots_of(change: Change, base: Sequence[Measured], new: Sequence[Measured]) -> Dots:
    """Where the runs' figures lie between the least and the most of both sides."""
    sides = [[run.measures[change.name].value for run in runs if change.name in run.measures] for runs in (base, new)]
    everything = [value for side in sides for value in side]
    before, after = (tuple(place(value, everything) for value in side) for side in sides)
    return Dots(before, after)


def place(value: float, of: Sequence[float]) -> float:
    """Where a figure lies between the least and the most of some, 0 to 1 with an edge left free."""
    low, high = min(of), max(of)
    share = (value - low) / (high - low) if high > low else 0.5
    return EDGE + share * (1 - 2 * EDGE)


def course_of(series: Series, shifts: Sequence[Shift]) -> Course:
    """A series as a line from its oldest run to the newest."""
    last = max(1, len(series.points) - 1)
    dots = tuple(
        (WIDTH * (EDGE + index / last * (1 - 2 * EDGE)), HEIGHT * (1 - place(value, series.values)))
        for index, value in enumerate(series.values)
    )
    marks = tuple((dots[shift.index][0], HEADINGS[shift.verdict][2]) for shift in shifts)
    return Course(series, " ".join(f"{x:.1f},{y:.1f}" for x, y in dots), dots, marks)
