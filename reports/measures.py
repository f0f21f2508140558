"""Figures of a run that another run's can be held against: a number each, under a name that stays the same from run to run.

Names are ``SCENARIO/VARIANT/`` and then ``cases.ok``, ``calls.count``, ``COMMAND.p50_us`` of remote calls, and of a benchmark the
key of the line of ``lab bench --json`` (``vm.empty_call_us.p50``, ``vm_02.set_gib_s.64MiB``) or ``token.EXTENSIONS.PATH.us``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from lab.bundle.outcome import Outcome
from lab.bundle.reader import by_variant, read_calls, read_cases, read_run, told_calls
from lab.bundle.rows import CallRow, CaseRow
from lab.bundle.schema import BENCH, RATE_SPREAD, BenchRecord, RunRecord, Status, VariantRecord
from reports.statistics import WORST_FIRST, kind_of
from reports.store import logs_folder

SMALLEST, LARGEST = 1e-9, 1e15
CASES = "cases.ok"
LEAST_CALLS = 30
"""Commands that were called less often have no median to speak of."""
PARTS = 10
"""Into so many parts, one after the other, the calls of a run are divided to see how far it wanders."""
ENDED = frozenset({Status.PASSED, Status.FAILED})
"""Variants that came to their end have all of their figures."""
WAYS = ("loopback", "vm", "vm_execbuffer", "vm_02")
RATES = ("_gib_s", "_per_s")
FLOORS = ("floor_us", "ioctl_us", "ioctl_answered_us", "ioctl_answered_after_pause_us")
COPY_FLOORS = ("copy_floor_set_gib_s", "copy_floor_get_gib_s")
COUNTED = ("commands", "bytes_out", "bytes_in")


class Sort(StrEnum):
    """What a figure tells of."""

    COUNT = "count"
    """Of the product, and the same on every machine."""
    TIME = "time"
    """Of the product and of the machine."""
    FLOOR = "floor"
    """Of the machine alone."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of one run. ``least`` and ``most``: how far its parts lie apart; the figure itself where nobody knows."""

    name: str
    sort: Sort
    value: float
    least: float
    most: float
    more_is_better: bool = False

    @property
    def is_figure(self) -> bool:
        """Whether it is one that something can have taken or counted: files of a bundle may say anything."""
        return all(one == 0 or SMALLEST <= one <= LARGEST for one in (self.value, self.least, self.most))

    @property
    def place(self) -> str:
        """The scenario and variant that it is of."""
        return "/".join(self.name.split("/")[:2])


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run says in figures.

    ``ends``: how each case ended, its worst, by variant and by check and case. ``named``: variants and cases that an expectation
    names, to which the run itself is held. ``machines``: by variant, what times depend on.
    ``cut``: variants that did not come to their end, and how they stand.
    """

    folder: Path
    run: RunRecord
    measures: Mapping[str, Measure]
    ends: Mapping[str, Mapping[str, Outcome]]
    machines: Mapping[str, str]
    cut: Mapping[str, Status]
    named: frozenset[tuple[str, str]] = frozenset()


def measured(folder: Path) -> Measured:
    """A bundle in figures, with how its cases ended; no parts of runs. Raises ``ConfigError``: it is none."""
    found = figures(folder)
    ends, named = _ends(read_cases(folder), found.machines)
    return replace(found, ends=ends, named=named)


def with_parts(run: Measured) -> Measured:
    """The same with how far the parts of a command's calls lie apart. All of its calls are read, which takes a while."""
    measures = dict(run.measures)
    for name, least, most in _wandering(run.run, read_calls(run.folder)):
        if name in measures:
            measures[name] = replace(measures[name], least=least, most=most)
    return replace(run, measures=measures)


def figures(folder: Path) -> Measured:
    """The same of what stands in a few files: no cases. Raises ``ConfigError``: it is no bundle."""
    run = read_run(folder)
    ended = [variant for variant in run.variants if variant.status in ENDED]
    measures = [one for variant in ended for one in (*_cases_and_calls(run, variant), *_bench(folder, variant)) if one.is_figure]
    return Measured(
        folder,
        run,
        {one.name: one for one in measures},
        {},
        {_place(variant): _machine(run, variant) for variant in ended},
        {_place(variant): variant.status for variant in run.variants if variant.status not in ENDED},
    )


def _place(variant: VariantRecord) -> str:
    return f"{variant.name}/{variant.variant}"


def _machine(run: RunRecord, variant: VariantRecord) -> str:
    """What times hang on: processor, accelerator, and the device that computed where that is another one than the processor."""
    processor = run.host.processor or "an unknown processor"
    told = variant.device.description if variant.device is not None else ""
    device = f", {told}" if told and processor not in told else ""
    return f"{processor}, {run.host.cores} cores, {variant.accel or 'no accelerator'}{device}"


def _cases_and_calls(run: RunRecord, variant: VariantRecord) -> Iterator[Measure]:
    place = _place(variant)
    if any(variant.cases.model_dump().values()):
        yield replace(_plain(f"{place}/{CASES}", Sort.COUNT, variant.cases.ok), more_is_better=True)
    if variant.calls.count and not run.resumed:  # what earlier runs measured, they called for
        yield _plain(f"{place}/calls.count", Sort.COUNT, variant.calls.count)
    for one in variant.calls.commands:
        if one.count >= LEAST_CALLS:
            yield _plain(f"{place}/{one.command}.p50_us", Sort.TIME, one.p50_us)


def _plain(name: str, sort: Sort, value: float) -> Measure:
    return Measure(name, sort, value, value, value)


def _wandering(run: RunRecord, calls: Sequence[CallRow]) -> Iterator[tuple[str, float, float]]:
    """A figure's name with the least and the most of the medians of a run's calls in parts."""
    placed = by_variant(calls)
    for variant in run.variants:
        commands: dict[str, list[CallRow]] = defaultdict(list)
        for row in told_calls(placed.get((variant.name, variant.variant), ())):
            commands[row.command].append(row)
        for command, rows in commands.items():
            if len(rows) >= LEAST_CALLS:
                rows.sort(key=lambda row: row.start_ns)
                parts = np.array_split(np.array([row.duration_ns for row in rows]) / 1000.0, PARTS)
                medians = [float(np.median(part)) for part in parts]
                yield f"{_place(variant)}/{command}.p50_us", min(medians), max(medians)


def _ends(cases: Iterable[CaseRow], places: Iterable[str]) -> tuple[dict[str, dict[str, Outcome]], frozenset[tuple[str, str]]]:
    ends: dict[str, dict[str, Outcome]] = {place: {} for place in places}
    named: set[tuple[str, str]] = set()
    for case in cases:
        place, key, outcome = f"{case.scenario}/{case.variant}", f"{kind_of(case.check)}: {case.case}", Outcome(case.outcome)
        if case.expected:
            named.add((place, key))
        if place in ends:
            ends[place][key] = min(outcome, ends[place].get(key, outcome), key=WORST_FIRST.index)
    return ends, frozenset(named)


def _bench(folder: Path, variant: VariantRecord) -> Iterator[Measure]:
    """Figures of a benchmark; none where there is none, or none that can be read."""
    logs = logs_folder(folder, variant)
    try:
        if logs is not None and (logs / BENCH).is_file():
            record = BenchRecord.model_validate_json((logs / BENCH).read_text(encoding="utf-8"))
            yield from [replace(one, name=f"{_place(variant)}/{one.name}") for one in _figures(record)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        return  # its answer is whatever JSON is in the file


def _figures(record: BenchRecord) -> Iterator[Measure]:
    for way in WAYS:
        for key, value in record.answer.get(way, {}).items():
            yield from _of_key(f"{way}.{key}", value, record.answer[way].get(f"{key}{RATE_SPREAD}", {}), Sort.TIME)
        for path, counts in record.answer.get(way, {}).get("sent", {}).items():
            for name, sent in counts.items():
                yield from (_plain(f"{way}.sent.{path}.{name}.{key}", Sort.COUNT, float(sent[key])) for key in COUNTED)
    for key in (*FLOORS, *COPY_FLOORS):
        yield from _of_key(key, record.answer.get(key), {}, Sort.FLOOR)
    for token in record.tokens:
        yield from _of_token(token)


def _of_key(name: str, value: Any, spread: Mapping[str, Any], sort: Sort) -> Iterator[Measure]:
    """A duration's median, or rates by their points, each with how its repetitions are spread."""
    if not isinstance(value, dict):
        return
    if "p50" in value:
        yield Measure(f"{name}.p50", sort, float(value["p50"]), float(value["spread"]["min"]), float(value["spread"]["max"]))
    elif name.endswith(RATES):
        for point, rate in value.items():
            ends = spread.get(point, {"min": rate, "max": rate})
            yield Measure(f"{name}.{point}", sort, float(rate), float(ends["min"]), float(ends["max"]), more_is_better=True)


def _of_token(token: Mapping[str, Any]) -> Iterator[Measure]:
    name = f"token.{token['extensions']}.{token['path']}"
    for key in ("us", "rebuilt_us"):
        least, most = (float(token.get(f"{key}_{end}", token[key])) for end in ("min", "max"))
        yield Measure(f"{name}.{key}", Sort.TIME, float(token[key]), least, most)
    for key in ("calls", "bytes", "rebuilt_calls"):
        if token.get(key) is not None:
            yield _plain(f"{name}.{key}", Sort.COUNT, float(token[key]))


def names_of(runs: Sequence[Measured]) -> tuple[str, ...]:
    """Names of all figures of some runs, in their order."""
    return tuple(dict.fromkeys(name for run in runs for name in run.measures))
