"""``lab compare``: runs held against earlier ones, for people and for the job that is to fail when something got worse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from lab.bundle.writer import write_whole
from lab.cli.answer import answer_console, answering, print_json
from lab.cli.display import progress_display
from lab.cli.words import finite, given_path
from lab.errors import ConfigError, ConfigProblem
from lab.host.progress import Progress
from lab.visible import visible
from reports.compare import Change, Comparison, Verdict, compared, untested
from reports.measures import Measured, measured, with_parts
from reports.regressions import PERCENT, change_text, comparison_page, plain_figure, sorted_by_size
from reports.store import Found, bundles_at

EMPTY: dict[str, Any] = {"metrics": [], "notes": []}
"""The line of a comparison that did not come about."""
MOST_CASES = 20
"""Cases of one variant that are told; all of them are in the line of JSON."""
NO_RUNS = "is neither a run bundle nor a folder of some"
STYLES = {Verdict.REGRESSED: "red", Verdict.IMPROVED: "green", Verdict.UNCHANGED: "dim"}
REGRESSED_EXIT = 1

Page = Annotated[
    Path | None, typer.Option("--page", metavar="FILE", parser=given_path, help="Write it as a page, too.", show_default=False)
]


def compare(
    base: Annotated[Path, typer.Argument(parser=given_path, help="A run bundle, or a folder of several.", show_default=False)],
    new: Annotated[Path, typer.Argument(parser=given_path, help="Another one, or a folder of several.", show_default=False)],
    *,
    least: Annotated[
        float | None,
        typer.Option(
            "--least",
            metavar="PERCENT",
            min=0,
            callback=finite,
            help="What has changed by less is the same. 5; 25 of times where fewer than four runs are compared.",
        ),
    ] = None,
    whole: Annotated[bool, typer.Option("--all", help="Show what did not change, too.")] = False,
    page: Page = None,
    json: Annotated[bool, typer.Option("--json", help="End with one line of JSON.")] = False,
) -> None:
    """Cases, calls and times of NEW against those of BASE. Exit status 1: something got worse. Several runs a side tell more."""
    with answering(as_json=json, empty=EMPTY):
        places = {path: bundles_at(path) for path in (base, new)}
        with progress_display() as progress:
            before, after, shared = on_one_side(*(runs_of(path, places[path], progress) for path in (base, new)))
            before, after = in_parts(before, after, progress)
        found = compared(before, after, None if least is None else least / PERCENT)
        found = replace(found, notes=(*(note for place in places.values() for note in place.notes), *shared, *found.notes))
        _refuse_nothing(base, new, found)
        status = REGRESSED_EXIT if found.regressed else 0
        if page is not None:
            write_page(page, comparison_page(found, before, after))
        if json:
            print_json({"metrics": [told(one) for one in found.changes], "notes": list(found.notes), "exit": status})
        else:
            tell(found, (before, after), whole=whole)
    raise typer.Exit(status)


def write_page(path: Path, text: str) -> None:
    """A page as a whole or not at all, in a folder that is made where it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode(errors="backslashreplace").decode())  # names of folders need be no UTF-8


def runs_of(path: Path, found: Found, progress: Progress) -> tuple[Measured, ...]:
    """The runs of a side, each once. Raises ``ConfigError`` where there are none."""
    folders = found.bundles
    if not folders:
        text = "may not be looked into" if path in found.closed else NO_RUNS
        hint = "; ".join(found.notes) or "lab run … --out DIR makes one in DIR"
        raise ConfigError(path, [ConfigProblem("", text, None if path in found.closed else hint)])
    with progress.step(f"reading {len(folders)} run{'s' if folders[1:] else ''} of {path}"):
        return distinct(measured(folder) for folder in folders)


def distinct(runs: Iterable[Measured]) -> tuple[Measured, ...]:
    """Each run once: another way to the same folder, or a copy of it, is no other run."""
    found: dict[str, Measured] = {}
    for run in runs:
        found.setdefault(run.run.model_dump_json(), run)
    return tuple(found.values())


def on_one_side(
    base: tuple[Measured, ...], new: tuple[Measured, ...]
) -> tuple[tuple[Measured, ...], tuple[Measured, ...], list[str]]:
    """Both sides without the runs that they share, and what is to be said of it: a run says nothing against itself.

    These are left out of BASE; of NEW where BASE has no others; of neither where NEW has none, too.
    """
    records, known = ([run.run.model_dump_json() for run in side] for side in (base, new))
    before = tuple(run for run, record in zip(base, records, strict=True) if record not in known)
    after = tuple(run for run, record in zip(new, known, strict=True) if record not in records)
    shared = len(base) - len(before)
    if shared and before:
        return before, new, [f"left out of BASE: {shared} of its {len(base)} runs, which NEW has, too"]
    if shared and after:
        return base, after, [f"left out of NEW: {shared} of its {len(new)} runs, which BASE has, too"]
    return base, new, []


def in_parts(base: Sequence[Measured], new: Sequence[Measured], progress: Progress) -> tuple[tuple[Measured, ...], ...]:
    """Both sides, with the parts of those runs that are held against each other by them."""
    few = untested(base, new)
    if not any(few & run.measures.keys() for run in (*base, *new)):
        return tuple(base), tuple(new)
    with progress.step("reading remote calls"):
        return tuple(tuple(with_parts(run) if few & run.measures.keys() else run for run in side) for side in (base, new))


def _refuse_nothing(base: Path, new: Path, found: Comparison) -> None:
    if not any(one.base is not None and one.new is not None for one in found.changes):
        hint = "; ".join(found.notes) or "compare runs of the same scenario"
        raise ConfigError("lab compare", [ConfigProblem("", f"{base} and {new} have no figure in common")], hint=hint)


def told(change: Change) -> dict[str, Any]:
    """A figure in the line of JSON."""
    line = {key: getattr(change, key) for key in ("name", "base", "new", "change", "p")} | {"verdict": str(change.verdict)}
    return line | ({"cases": list(change.cases)} if change.cases else {})


def tell(found: Comparison, runs: Sequence[Sequence[Measured]], *, whole: bool) -> None:
    """What changed, the worst first, and how many did not."""
    console = answer_console()
    for side, of in zip(("base", "new"), runs, strict=True):
        commits = dict.fromkeys(run.run.commit[:12] or "no commit" for run in of)
        console.print(Text(visible(f"{side}: {of[0].folder}{f' and {len(of) - 1} more' if of[1:] else ''}, {', '.join(commits)}")))
    shown = [verdict for verdict in Verdict if whole or verdict is not Verdict.UNCHANGED]
    rows = [one for verdict in shown for one in sorted_by_size(found.of(verdict))]
    if rows:
        console.print(_table(rows))
    for one in found.of(Verdict.REGRESSED):
        for case in one.cases[:MOST_CASES]:
            console.print(Text.assemble(("no longer ok: ", "bold"), visible(case), (f" ({one.name})", "dim")))
        if len(one.cases) > MOST_CASES:
            console.print(Text(f"and {len(one.cases) - MOST_CASES} more ({one.name})", style="dim"))
    for note in found.notes:
        console.print(Text(visible(f"note: {note}"), style="yellow"))
    counts = ", ".join(f"{len(found.of(verdict))} {verdict}" for verdict in Verdict if found.of(verdict))
    console.print(Text(counts, style="bold"))


def _table(rows: Sequence[Change]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("", no_wrap=True)
    table.add_column("figure", overflow="fold")
    for column in ("base", "new", "change", "p"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in rows:
        mark = Text(one.verdict, style=STYLES.get(one.verdict, "yellow"))
        figures = (plain_figure(one.base), plain_figure(one.new), change_text(one.change))
        table.add_row(mark, Text(visible(one.name)), *figures, "" if one.p is None else f"{one.p:.1g}")
    return table
