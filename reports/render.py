"""Bundle → ``index.html`` and ``summary.md``.

The page is one file that works offline and without scripts: style sheet inlined, plots drawn as HTML and inline SVG. They
follow the reader's light or dark setting and stay legible on a phone, and the page of a smoke run stays below a megabyte (one of
many cases has them all); an interactive plotting library would have weighed five times the data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import jinja2

from lab.bundle import Bundle, read_bundle
from lab.bundle.outcome import Outcome
from lab.bundle.reader import by_variant, told_calls
from lab.bundle.rows import CallRow, CaseRow, FactRow, FindingRow
from lab.bundle.schema import BENCH, JUNIT, PAGE, SUMMARY, Status, VariantRecord
from lab.bundle.writer import write_whole
from reports.bench import FEW_SAMPLES, BenchView, bench_view, figure_text
from reports.oracles import compares, comparisons
from reports.statistics import Durations, LogAxis, OpOutcomes, TimeParts, durations, op_outcomes, time_parts
from reports.store import logs_folder
from reports.support import SupportView, excused_cases, support_view

TEMPLATES = Path(__file__).parent / "templates"
MARKS = re.compile(r"[\\`*_\[\]<>|#&~]")
COMMANDS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f]")
"""What a terminal obeys."""
LONGEST = 500
"""So many characters of a text from outside are in the summary; the page has all."""
KIB = 1024
MILLISECOND_US = 1000.0
SECOND_US = 1_000_000.0
MOST_COMMANDS = 200
"""So many commands have rows, those that took most time. The protocol has fewer; names in a bundle are whatever somebody wrote."""
FEW = "*: of too few calls for that, fewer than 10 for a p90 and 100 for a p99: it is the slowest of them."

SYMBOLS = {
    Outcome.PASS: "✓",
    Outcome.FAIL: "✗",
    Outcome.UNSUPPORTED: "\N{EN DASH}",
    Outcome.GUEST_CRASH: "!",
    Outcome.HOST_CRASH: "!",
    Outcome.HANG: "!",
    Outcome.ERROR: "!",
    Outcome.SKIPPED: "·",
}
VERDICTS = {
    Status.PASSED: "Passed",
    Status.FAILED: "Failed",
    Status.ERROR: "Lab error",
    Status.SKIPPED: "Skipped",
    Status.INTERRUPTED: "Interrupted",
    Status.RUNNING: "Cut off",
}


@dataclass(frozen=True, slots=True)
class VariantView:
    """A variant with everything the page shows of it.

    ``label`` is how the page calls it; ``host_only``: it ended before its calls were joined with the guest's, or its
    guest library writes no records. ``durations`` and ``parts`` are by command.
    """

    record: VariantRecord
    label: str
    number: int
    cases: tuple[CaseRow, ...]
    facts: tuple[FactRow, ...]
    findings: tuple[FindingRow, ...]
    ops: dict[str, OpOutcomes]
    durations: dict[str, Durations]
    parts: dict[str, TimeParts]
    logs: tuple[Path, ...]
    bench: BenchView | None = None
    support: SupportView | None = None
    excused: tuple[CaseRow, ...] = ()
    host_only: bool = False

    @property
    def damaged(self) -> str:
        """The name of the benchmark's file where that cannot be read."""
        return BENCH if self.bench is None and any(path.name == BENCH for path in self.logs) else ""

    @property
    def count(self) -> int:
        """Its cases, each once, however often it ran."""
        return sum(one.total for one in self.ops.values())

    @property
    def compares(self) -> bool:
        """Whether anything was compared with the reference that its record names."""
        return compares(self.cases)


@dataclass(frozen=True, slots=True)
class Plot:
    """Variants whose call durations can be compared: all as the guest saw them, or all as their workers alone did."""

    host_only: bool
    views: tuple[VariantView, ...]
    axis: LogAxis

    @property
    def commands(self) -> tuple[str, ...]:
        """Its rows."""
        return commands_of(self.views)[:MOST_COMMANDS]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Commands that the page has no rows of: how many, their calls, those that failed, and the time of all."""

    commands: int
    calls: int
    failed: int
    total_ms: float


def rendered_report(folder: Path) -> Path:
    """Write the page and the summary into the bundle; the path of the page. Raises ``ConfigError`` for no bundle."""
    bundle = read_bundle(folder)
    environment = page_environment()
    views, axes = variant_views(bundle)
    commands = commands_of(views)
    plots = (Plot(alone, tuple(view for view in views if view.host_only is alone), axes[alone]) for alone in (False, True))
    values = {
        "bundle": bundle,
        "run": bundle.run,
        "views": views,
        "plots": tuple(plot for plot in plots if plot.commands),
        "ops": tuple(dict.fromkeys(op for view in views for op in view.ops)),
        "comparisons": comparisons((view.record, view.cases) for view in views),
        "commands": commands[:MOST_COMMANDS],
        "left_out": left_out(views, commands[MOST_COMMANDS:]),
        "style": (TEMPLATES / "report.css").read_text(encoding="utf-8"),
        "junit": (folder / JUNIT).is_file(),
        "few": FEW,
        "few_samples": FEW_SAMPLES,
        "Outcome": Outcome,
    }
    write_whole(folder / SUMMARY, environment.get_template("summary.md.j2").render(values))
    write_whole(folder / PAGE, environment.get_template("report.html.j2").render(values))
    return folder / PAGE


def variant_views(bundle: Bundle) -> tuple[tuple[VariantView, ...], Mapping[bool, LogAxis]]:
    """All variants, and the axes that call durations share: of those as the guest saw them, and of those of the host alone."""
    all_calls, all_cases, all_support = by_variant(bundle.calls), by_variant(bundle.cases), by_variant(bundle.support)
    all_facts, all_findings = by_variant(bundle.facts), by_variant(bundle.findings)
    calls = [told_calls(all_calls.get((record.name, record.variant), ())) for record in bundle.run.variants]
    axes = {
        alone: LogAxis.over([call.duration_ns / 1000.0 for group in calls if _host_only(group) is alone for call in group])
        for alone in (False, True)
    }
    alone = len({record.name for record in bundle.run.variants}) <= 1
    views = []
    for number, (record, group) in enumerate(zip(bundle.run.variants, calls, strict=True)):
        here = (record.name, record.variant)
        cases, told = tuple(all_cases.get(here, ())), all_support.get(here, ())
        view = VariantView(
            record=record,
            label=record.variant if alone else f"{record.name}/{record.variant}",
            number=number,
            cases=cases,
            facts=tuple(all_facts.get(here, ())),
            findings=tuple(all_findings.get(here, ())),
            ops=op_outcomes(cases),
            durations={one.command: one for one in durations(group, axes[_host_only(group)])},
            parts={one.command: one for one in time_parts(group)},
            logs=logs_of(bundle.folder, record),
            bench=bench_view(bundle.folder, record),
            support=support_view(told) if told else None,
            excused=excused_cases(cases),
            host_only=_host_only(group),
        )
        views.append(view)
    return tuple(views), axes


def _host_only(calls: Sequence[CallRow]) -> bool:
    """Whether the durations are those of the host's computing, where no calls were joined with the guest's."""
    return any(call.side == "host" for call in calls)


def logs_of(folder: Path, record: VariantRecord) -> tuple[Path, ...]:
    """Log files of a variant, relative to the bundle."""
    logs = logs_folder(folder, record)
    return tuple(path.relative_to(folder) for path in sorted(logs.rglob("*")) if path.is_file()) if logs else ()


def commands_of(views: Sequence[VariantView]) -> tuple[str, ...]:
    """Every command that any variant sent, the one that took most time first."""
    totals: dict[str, float] = {}
    for view in views:
        for one in view.durations.values():
            totals[one.command] = totals.get(one.command, 0.0) + one.total_ms
    return tuple(sorted(totals, key=lambda command: -totals[command]))


def left_out(views: Sequence[VariantView], commands: Sequence[str]) -> LeftOut | None:
    """What the page says of the commands that have no rows; None where all have one."""
    if not commands:
        return None
    found = [one for view in views for command in commands if (one := view.durations.get(command)) is not None]
    return LeftOut(
        commands=len(commands),
        calls=sum(one.count for one in found),
        failed=sum(one.failed for one in found),
        total_ms=sum(one.total_ms for one in found),
    )


def page_environment() -> jinja2.Environment:
    """Templates with the filters that pages share; what is not safe is escaped in those of HTML."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=jinja2.select_autoescape(("html.j2",)),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "duration": duration_text,
        "bytes": bytes_text,
        "percent": lambda share: f"{100 * share:.2f}",
        "symbol": lambda outcome: SYMBOLS[Outcome(outcome)],
        "verdict": lambda status: VERDICTS[Status(status)],
        "css": lambda text: str(text).replace(" ", "-"),
        "area": area_path,
        "few": few_mark,
        "plain": plain_text,
        "link": link_to,
        "written": written,
    }
    return environment


def duration_text(microseconds: float | None) -> str:
    """A duration with a unit that suits it, three figures."""
    if microseconds is None:
        return "\N{EN DASH}"
    if microseconds < MILLISECOND_US:
        return f"{microseconds:.3g} µs" if microseconds < 100 else f"{microseconds:.0f} µs"  # noqa: PLR2004 - no exponents
    if microseconds < SECOND_US:
        value = microseconds / MILLISECOND_US
        return f"{value:.3g} ms" if value < 100 else f"{value:.0f} ms"  # noqa: PLR2004 - no exponents
    return f"{figure_text(microseconds / SECOND_US)} s"


def plain_text(text: str) -> str:
    """The first line of a text that others wrote, cut to a length, with nothing in it that Markdown, HTML or a terminal reads."""
    line = next(iter(text.splitlines()), "")
    line = line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
    return MARKS.sub(r"\\\g<0>", COMMANDS.sub("\N{REPLACEMENT CHARACTER}", line))


def link_to(path: Path) -> str:
    """A link to a file of the bundle that leads there, whatever its name has in it."""
    return f"./{quote(os.fsencode(path))}"


def written(path: Path) -> str:
    """A file's name as text; its bytes need be none."""
    return os.fsencode(path.name).decode(errors="replace")


def few_mark(count: int, of: int) -> str:
    """A mark for a percentile of fewer calls than it speaks of: it is the slowest of them."""
    return "*" if 0 < count < of else ""


def bytes_text(size: int) -> str:
    """A size with a unit that suits it."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if round(value, 1) < KIB or unit == "GiB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= KIB
    return f"{size} B"


def area_path(shape: Sequence[float], height: float = 20.0) -> str:
    """SVG path of a distribution over a width of as many units as it has bins."""
    steps = " ".join(
        f"L{index} {height * (1 - value):.1f} L{index + 1} {height * (1 - value):.1f}" for index, value in enumerate(shape)
    )
    return f"M0 {height:.0f} {steps} L{len(shape)} {height:.0f} Z"
