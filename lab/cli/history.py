"""``lab history``: what the runs in a folder say about how figures went on, and where they changed for good."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from lab import paths
from lab.cli.answer import answer_console, answering, print_json
from lab.cli.compare import NO_RUNS, STYLES, Page, distinct, write_page
from lab.cli.display import progress_display
from lab.cli.words import finite, given_path
from lab.errors import ConfigError, ConfigProblem
from lab.visible import visible
from reports.compare import LEAST
from reports.history import LEAST_SIDE, Series, Shift, series_of, shifts
from reports.measures import Measured, figures
from reports.regressions import PERCENT, change_text, history_page, plain_figure
from reports.store import bundles_at

EMPTY: dict[str, Any] = {"series": [], "changes": [], "notes": []}
"""The line of a history of nothing."""
BARS = "▁▂▃▄▅▆▇█"
MOST_BARS = 30


def history(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(parser=given_path, help="Folders of run bundles; reports/runs if none.", show_default=False),
    ] = None,
    *,
    figure: Annotated[
        str, typer.Option("--figure", metavar="PATTERN", help="Only figures whose names fit, as in '*p50_us'.")
    ] = "*",
    least: Annotated[
        float, typer.Option("--least", metavar="PERCENT", min=0, callback=finite, help="What changed by less is the same.")
    ] = PERCENT * LEAST,
    page: Page = None,
    json: Annotated[bool, typer.Option("--json", help="End with one line of JSON.")] = False,
) -> None:
    """Figures over all runs, and where they changed for good: three runs at least on either side."""
    with answering(as_json=json, empty=EMPTY):
        with progress_display() as progress:
            with progress.step("reading runs"):
                runs, notes = runs_in(folders or [paths.RUNS])
            series = [one for one in series_of(runs) if fnmatchcase(one.name, figure)]
            if not series:
                problem = ConfigProblem("--figure", f"{len(runs)} runs have no figure that fits {figure!r}")
                raise ConfigError("lab history", [problem])
            with progress.step(f"looking for changes of {len(series)} figures in {len(runs)} runs"):
                found = [shift for one in series for shift in shifts(one, least / PERCENT)]
        if page is not None:
            write_page(page, history_page(series, found, notes, runs))
        if json:
            told = {"series": [told_series(one) for one in series], "changes": [told_shift(one) for one in found]}
            print_json({**told, "notes": notes, "exit": 0})
        else:
            tell(series, found, notes)


def runs_in(folders: Sequence[Path]) -> tuple[list[Measured], list[str]]:
    """All runs that can be read, and what is to be said of the others. Raises ``ConfigError`` where there is none."""
    found = [bundles_at(folder) for folder in folders]
    runs: list[Measured] = []
    notes = [note for one in found for note in one.notes]
    for bundle in (bundle for one in found for bundle in one.bundles):
        try:
            runs.append(figures(bundle))
        except ConfigError as error:
            notes.append(f"left out: {error.message}")
    if not runs:
        problem = ConfigProblem(
            "", "no run bundle that can be read", "; ".join(dict.fromkeys(notes)) or "lab run scenarios/smoke.toml makes one"
        )
        raise ConfigError(" ".join(map(str, folders)), [problem])
    notes += [
        f"left out: {folder} {NO_RUNS}" for folder, one in zip(folders, found, strict=True) if not (one.bundles or one.closed)
    ]
    return list(distinct(runs)), list(dict.fromkeys(notes))


def told_series(series: Series) -> dict[str, Any]:
    """A series in the line of JSON."""
    points = [{"run": one.run, "started": one.started, "commit": one.commit, "value": one.value} for one in series.points]
    return {"name": series.name, "machine": series.machine, "more_is_better": series.more_is_better, "points": points}


def told_shift(shift: Shift) -> dict[str, Any]:
    """A change in it."""
    place = {"name": shift.series.name, "machine": shift.series.machine, "run": shift.at.run, "commit": shift.at.commit}
    figures_of = {"before": shift.before, "after": shift.after, "change": shift.change, "p": shift.p}
    return {**place, **figures_of, "verdict": str(shift.verdict)}


def tell(series: Sequence[Series], found: Sequence[Shift], notes: Sequence[str]) -> None:
    """Every series with its course, then the changes."""
    console = answer_console()
    machines = {machine: number for number, machine in enumerate(dict.fromkeys(one.machine for one in series if one.machine), 1)}
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("figure", overflow="fold")
    for column, right in (("runs", True), ("first", True), ("newest", True), ("course", False)):
        table.add_column(column, no_wrap=True, justify="right" if right else "left")
    for one in series:
        name = f"{one.name} ({machines[one.machine]})" if len(machines) > 1 and one.machine else one.name
        ends = (plain_figure(one.values[0]), plain_figure(one.values[-1]))
        table.add_row(Text(visible(name)), str(len(one.points)), *ends, course(one.values))
    console.print(table)
    if len(machines) > 1:
        for machine, number in machines.items():
            console.print(Text(visible(f"({number}) {machine}"), style="dim"))
    for shift in found:
        words = f" {shift.series.name}: {plain_figure(shift.before)} → {plain_figure(shift.after)}"
        change = change_text(shift.change)
        since = f" {change and f'({change}) '}since {shift.at.run} ({shift.at.commit[:12] or 'no commit'}), p {shift.p:.1g}"
        console.print(Text.assemble((shift.verdict, STYLES.get(shift.verdict, "yellow")), visible(words + since)))
    if not found:
        console.print(Text(f"no figure changed for good, as far as {LEAST_SIDE} runs on either side can tell", style="bold"))
    for note in notes:
        console.print(Text(visible(f"note: {note}"), style="yellow"))


def course(values: Sequence[float]) -> str:
    """The newest values as bars, from the least to the most of them."""
    shown = values[-MOST_BARS:]
    low, high = min(shown), max(shown)
    step = (high - low) / (len(BARS) - 1)
    return "".join(BARS[min(len(BARS) - 1, round((value - low) / step))] if step else BARS[0] for value in shown)
