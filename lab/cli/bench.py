"""``lab bench``: the scenario of the transport benchmark, run with what the command line says, and its figures told."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lab import paths
from lab.bench.idleness import watched_s
from lab.bench.standard import CONTRACT_SIZES, LOOPBACK, OTHER, WAYS
from lab.bench.targets import IDLE_SIDES
from lab.bundle.schema import BENCH, BenchRecord, RunRecord
from lab.cli.answer import answer_console
from lab.elf import NotElf, build_id
from lab.errors import ConfigError, ConfigProblem
from lab.scenario.model_bench import BenchCheck, Part, Place, Thoroughness
from lab.scenario.plan import Choice, PlannedScenario, planned
from lab.scenario.source import CHECKS, within
from lab.visible import visible
from reports.bench import FEW_SAMPLES, LEAST_WHOLE, REPEATED, few_samples, figure_text, ratio_rows, repeated

SCENARIO = paths.PROJECT / "scenarios" / "bench.toml"
EMPTY: dict[str, Any] = {
    "loopback": None,
    "vm": None,
    "vm_execbuffer": None,
    "vm_02": None,
    "floor_us": None,
    "ioctl_us": None,
    "copy_floor_gib_s": None,
}
"""The line of a benchmark that measured nothing."""
TITLES = {
    LOOPBACK: "loopback",
    "vm": "guest",
    "vm_execbuffer": "guest, ioctl only",
    "vm_02": "guest, 0.2 alone",
    OTHER: "the second",
}
DASH = "\N{EN DASH}"
LEAST_IDLE_S = 1.0
"""Twice as long as a guest that was let go on is given to settle."""
LATENCIES = {
    "empty_call_us": "empty call",
    "set_4b_us": "tensor_set 4 B",
    "set_4b_sent_us": "set 4 B + empty call",
    "get_4b_us": "tensor_get 4 B",
    "graph_1_us": "one-node graph",
    "alloc_free_us": "alloc + free again",
    "alloc_free_unpooled_us": "alloc + free, none kept",
    "alloc_free_unpooled_copied_us": "the same, copied",
    "after_pause_us": "call after 1 s idle",
}
FLOORS = {
    "floor_us": "a polled word",
    "ioctl_us": "the ioctl alone",
    "ioctl_answered_us": "the ioctl and its answer",
    "ioctl_in_a_row_us": "the ioctl, device busy",
    "ioctl_after_pause_us": "the ioctl after 1 s idle",
    "ioctl_answered_after_pause_us": "with its answer",
}


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """What the command line says."""

    quick: bool = False
    enforce: bool = False
    idle_s: float | None = None
    place: str | None = None
    parts: tuple[str, ...] = ()
    guest_library: Path | None = None
    host_library: Path | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The command line again, good in any folder."""
        libraries = (("--guest-library", self.guest_library), ("--host-library", self.host_library))
        return (
            *(("--quick",) if self.quick else ()),
            *(("--check",) if self.enforce else ()),
            *(() if self.place is None else ("--only", self.place)),
            *(word for part in self.parts for word in ("--part", part)),
            *(() if self.idle_s is None else ("--idle", str(self.idle_s))),
            *(word for option, path in libraries if path is not None for word in (option, str(path.resolve()))),
        )


def bench_plan(choice: Choice, options: BenchOptions) -> tuple[PlannedScenario, ...]:
    """The benchmark's scenario, its check as the options say. Raises ``ConfigError``."""
    _refuse([*_file_problems(options), *_word_problems(options)])
    return tuple(_as_asked(entry, options) for entry in planned([SCENARIO], choice))


def _refuse(problems: Sequence[ConfigProblem]) -> None:
    if problems:
        raise ConfigError("lab bench", problems)


def _file_problems(options: BenchOptions) -> Iterator[ConfigProblem]:
    for option, path in (("--guest-library", options.guest_library), ("--host-library", options.host_library)):
        if path is not None and (text := _no_library(path)):
            yield ConfigProblem(option, text, "a path of a built library")


def _no_library(path: Path) -> str:
    """Why a file cannot be loaded; empty when it is an ELF file."""
    if not path.is_file():
        return f"there is no file {path}"
    try:
        build_id(path)
    except (OSError, NotElf) as error:
        return f"{path} is no library: {error}"
    return ""


def _word_problems(options: BenchOptions) -> Iterator[ConfigProblem]:
    places = () if options.place is None else (options.place,)
    for option, words, known in (("--only", places, tuple(Place)), ("--part", options.parts, tuple(Part))):
        for word in words:
            if word not in known:
                yield ConfigProblem(option, f"there is no {word!r}", f"one of {', '.join(known)}")


def _idle_problems(idle_s: float | None, limit_s: float) -> Iterator[ConfigProblem]:
    """Contexts, and the guest without one, are watched one after the other, and need not have more than half of all the time."""

    def fits(seconds: float) -> bool:
        return seconds >= LEAST_IDLE_S and watched_s(seconds, len(WAYS)) <= limit_s / 2

    if idle_s is not None and not (math.isfinite(idle_s) and fits(idle_s)):
        most_s = max(filter(fits, range(int(limit_s))), default=None)
        hint = "leave it out, or raise deadline_s" if most_s is None else f"from {LEAST_IDLE_S:g} to {most_s}"
        yield ConfigProblem("--idle", f"an idle context cannot be watched for {idle_s:g} s", hint)


def _vain_problems(check: BenchCheck, options: BenchOptions) -> Iterator[ConfigProblem]:
    """What was asked for and would be left out without a word."""
    if options.idle_s is not None and not check.watches_idleness:
        hint = "leave it out, or ask for the part idle in a guest"
        yield ConfigProblem("--idle", f"no idle context is watched in {' and '.join(check.places)}, {', '.join(check.parts)}", hint)
    if check.in_vain:
        asked = f"{' and '.join(check.places)}, {', '.join(check.parts)}"
        yield ConfigProblem("", f"{check.in_vain}; asked for: {asked}", "another --only or --part, or none")


def _as_asked(entry: PlannedScenario, options: BenchOptions) -> PlannedScenario:
    variants = []
    for variant in entry.variants:
        for check in variant.scenario.checks:
            if isinstance(check, BenchCheck):
                _refuse([*_idle_problems(options.idle_s, min(check.deadline_s, variant.scenario.timeout_s))])
        checks = tuple(
            chosen(check, options, _set_of(entry, number)) if isinstance(check, BenchCheck) else check
            for number, check in enumerate(variant.scenario.checks)
        )
        _refuse([problem for check in checks if isinstance(check, BenchCheck) for problem in _vain_problems(check, options)])
        variants.append(replace(variant, scenario=variant.scenario.model_copy(update={"checks": checks})))
    return replace(entry, variants=tuple(variants))


def _set_of(entry: PlannedScenario, number: int) -> frozenset[str]:
    """Parameters of a check that ``--set`` has changed."""
    keys = [setting.key for setting in entry.source.settings]
    return frozenset(name for name in BenchCheck.model_fields if any(within(f"{CHECKS}[{number}].{name}", key) for key in keys))


def chosen(check: BenchCheck, options: BenchOptions, settled: frozenset[str] = frozenset()) -> BenchCheck:
    """The check with the options laid over it; all parts with full effort unless they or a setting (``settled``) say otherwise."""
    update: dict[str, Any] = {"enforce": options.enforce or check.enforce}
    if options.quick or "effort" not in settled:
        update["effort"] = Thoroughness.QUICK if options.quick else Thoroughness.FULL
    if options.parts or "parts" not in settled:
        update["parts"] = tuple(Part(part) for part in options.parts) or tuple(Part)
    if options.idle_s is not None:
        update["idle_s"] = options.idle_s
    if options.place is not None:
        update["places"] = (Place(options.place),)
    for key in ("guest_library", "host_library"):
        if getattr(options, key) is not None:
            update[key] = str(getattr(options, key).resolve())
    return check.model_copy(update=update)


def bench_record(folder: Path, run: RunRecord) -> BenchRecord | None:
    """What the run measured; None when it did not come to that."""
    for variant in run.variants:
        path = folder / variant.logs / BENCH
        if variant.logs and path.exists():
            return BenchRecord.model_validate_json(path.read_text(encoding="utf-8"))
    return None


def bench_answer(folder: Path, run: RunRecord, record: BenchRecord | None) -> dict[str, Any]:
    """The line of ``lab bench --json``."""
    measured = record.answer if record else {}
    told = {} if record is None else record.model_dump(mode="json", exclude={"answer", "tokens"})
    return {**EMPTY, **measured, **told, "run": run.run, "dir": str(folder), "status": run.status, "exit": run.exit}


def tell_bench(record: BenchRecord) -> None:
    """Figures beside the floors, what a token costs, and every target."""
    console = answer_console()
    ways = [way for way in TITLES if way in record.answer]
    console.print(_latencies(record.answer, ways))
    measured = (*(record.answer[way].get(key) for way in ways for key in LATENCIES), *map(record.answer.get, FLOORS))
    if any(few_samples(figures) for figures in measured if figures):
        console.print(Text(FEW_SAMPLES, style="dim"))
    console.print(_rates(record.answer, ways))
    if record.tokens:
        console.print(_tokens(record))
    if "ratios" in record.answer:
        console.print(_ratios(record.answer["ratios"]))
    console.print(_targets(record))
    _tell_circumstances(console, record)


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", title=title, title_justify="left", title_style="bold")
    table.add_column(columns[0], no_wrap=True)
    for column in columns[1:]:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _latencies(answer: Mapping[str, Any], ways: Sequence[str]) -> Table:
    # Beside a second implementation a line has no room for ratios to the floors; those to it have a table.
    floor, ioctl = (None, None) if OTHER in ways else (answer.get("floor_us"), answer.get("ioctl_us"))
    columns = [TITLES[way] for way in ways] + (["÷ word", "÷ ioctl"] if floor and ioctl else [])
    table = _table("\nmicroseconds, p50 / p99; in brackets the median of the quietest repetition", ("", *columns))
    for key, name in LATENCIES.items():
        cells = [_latency(answer[way].get(key)) for way in ways]
        if floor and ioctl:
            cells.append(_ratio(answer.get("vm", {}).get(key), floor))
            cells.append(_ratio(answer.get("vm_execbuffer", {}).get(key), ioctl))
        table.add_row(name, *cells)
    measured_in = "vm" if "vm" in ways else ways[-1] if ways else ""
    for key, name in FLOORS.items():
        if one := answer.get(key):
            cells = [_latency(one) if way == measured_in else "" for way in ways]
            table.add_row(*(Text(cell, style="cyan") for cell in (name, *cells)))
    return table


def _latency(figures: Mapping[str, Any] | None) -> str:
    if not figures:
        return DASH
    return f"{_us(figures['p50'])} / {_us(figures['p99'])}{few_samples(figures)} [{_us(figures['spread']['min'])}]"


def _us(value: float) -> str:
    return f"{value:.3g}" if value < LEAST_WHOLE else f"{value:.0f}"


def _ratio(figures: Mapping[str, Any] | None, floor: Mapping[str, Any]) -> str:
    return f"{figures['p50'] / floor['p50']:.1f}" if figures and floor["p50"] else DASH


PER_S = (
    ("graphs_per_s", "graphs/s of", "nodes"),
    ("calls_per_s", "calls/s of", "threads"),
    ("working_calls_per_s", "calls/s of", "working threads"),
)
"""Keys of an answer, and how a row of theirs is called."""


def _rates(answer: Mapping[str, Any], ways: Sequence[str]) -> Table:
    floors: Mapping[str, Any] = answer.get("copy_floor_gib_s", {})
    table = _table(
        "\nGiB/s (copied path; blob-backed in brackets), graphs and calls per second",
        ("", *(TITLES[way] for way in ways), "best copy loop, both ends"),
    )
    for verb in ("set", "get"):
        for size in CONTRACT_SIZES:
            cells = [_transfer(answer[way], verb, size) for way in ways]
            loop = answer.get(f"copy_floor_{verb}_gib_s", floors).get(size)
            both = answer.get(f"both_ends_{verb}_gib_s", {}).get(size)
            table.add_row(f"{verb} {size}", *cells, f"{_gib_s(loop)}, {_gib_s(both)}")
    for key, name, unit in PER_S:
        for number in dict.fromkeys(number for way in ways for number in answer[way].get(key, {})):
            table.add_row(f"{name} {number} {unit}", *(_count(answer[way].get(key, {}).get(number)) for way in ways), "")
    for number in dict.fromkeys(number for way in ways for number in answer[way].get("working_longest_ms", {})):
        longest = (_counted(answer[way].get("working_longest_ms", {}).get(number)) for way in ways)
        table.add_row(f"longest call of {number} such, ms", *longest, "")
    for key, name in REPEATED.items():
        tell = _counted if key == "commands" else _count
        table.add_row(name, *(tell(repeated(answer[way], key)) for way in ways), "")
    table.add_row("interrupts per empty call", *(str(answer[way].get("interrupts_per_call", DASH)) for way in ways), "")
    for key, side in IDLE_SIDES.items():
        shares = (_idle(answer[way].get("idle_percent", {}), key) for way in ways)
        table.add_row(f"idle, {side}, % of a core", *shares, "")
    return table


def _idle(shares: Mapping[str, Any], key: str) -> str:
    spread = shares.get(f"{key}_spread")
    if not spread:
        return str(shares.get(key, DASH))
    return f"{shares[key]:.2f} [{spread['min']:.1f}{DASH}{spread['max']:.1f}]"


def _transfer(figures: Mapping[str, Any], verb: str, size: str) -> str:
    copied, shared = (figures.get(key, {}).get(size) for key in (f"{verb}_gib_s", f"{verb}_shared_gib_s"))
    return f"{_gib_s(copied)} [{_gib_s(shared)}]"


def _gib_s(value: float | None) -> str:
    return DASH if value is None else figure_text(value)


def _count(value: float | None) -> str:
    return DASH if value is None else f"{value:,.0f}"


def _counted(calls: float | None) -> str:
    return DASH if calls is None else f"{calls:g}"


def _tokens(record: BenchRecord) -> Table:
    title = f"\na token of a model-like graph of {record.tokens[0]['nodes']} nodes"
    if "token_native_us" in record.answer:
        title += f" (computed natively: {record.answer['token_native_us']:.0f} µs)"
    title += "; in brackets the medians of the quickest and the slowest repetition"
    table = _table(title, ("extensions", "path", "calls", "bytes", "µs", "calls, rebuilt", "µs, rebuilt"))
    for one in record.tokens:
        table.add_row(
            one["extensions"], one["path"], _counted(one["calls"]), _count(one["bytes"]), _spread(one, "us"),
            _counted(one["rebuilt_calls"]), _spread(one, "rebuilt_us"),
        )  # fmt: skip
    return table


def _spread(token: Mapping[str, Any], key: str) -> str:
    ends = [_count(token[f"{key}_{end}"]) for end in ("min", "max") if f"{key}_{end}" in token]
    return _count(token[key]) + (f" [{DASH.join(ends)}]" if ends else "")


def _ratios(ratios: Mapping[str, Any]) -> Table:
    table = _table("\nours ÷ the second implementation's: durations below 1 and rates above 1 are quicker", ("", "ratio", "spread"))
    for one in ratio_rows(ratios):
        table.add_row(one.name, one.ratio, one.spread)
    return table


def _targets(record: BenchRecord) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", title="\ntargets", title_justify="left", title_style="bold")
    for column in ("", "", "measured", "expected"):
        table.add_column(column, no_wrap=column != "expected", overflow="fold")
    for one in record.targets:
        mark = {True: Text("met", style="green"), False: Text("not met", style="red"), None: Text(DASH, style="dim")}[one.met]
        table.add_row(mark, one.label, one.seen_text, one.expected)
    return table


def _tell_circumstances(console: Console, record: BenchRecord) -> None:
    console.print(
        f"\nload {record.load_before:.1f} before, {record.load_after:.1f} after, on {record.cores} cores; "
        f"{record.wall_s:.0f} s of measuring"
    )
    for warning in record.warnings:
        console.print(Text(visible(f"warning: {warning}"), style="yellow"))
