"""The transport benchmark of a variant, as the page shows it: figures side by side, targets, and what a token costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.bundle.schema import BENCH, RATE_SPREAD, BenchRecord, VariantRecord
from reports.store import logs_folder

DASH = "\N{EN DASH}"
LEAST_WHOLE = 999.5
"""From here on figures have no digits behind the point."""
SAMPLES_OF_P99 = 100
FEW_SAMPLES = "*: of fewer than 100 samples: it lies beside the slowest of them."
WAYS = {
    "loopback": "loopback",
    "vm": "guest",
    "vm_execbuffer": "guest, EXECBUFFER only",
    "vm_02": "guest, 0.2 alone",
    "vm_other": "second implementation",
}
LATENCIES = {
    "empty_call_us": "empty call",
    "set_4b_us": "tensor_set, 4 B",
    "set_4b_sent_us": "tensor_set, 4 B, and an empty call",
    "get_4b_us": "tensor_get, 4 B",
    "graph_1_us": "one-node graph",
    "alloc_free_us": "buffer of 64 KiB, alloc + free again: from what the library keeps",
    "alloc_free_unpooled_us": "the same where it keeps none: each goes to the host",
    "alloc_free_unpooled_copied_us": "the same, on the copied path",
    "after_pause_us": "first call after 1 s of idleness",
}
RATES = {
    "set_gib_s": "set, copied path, GiB/s",
    "get_gib_s": "get, copied path, GiB/s",
    "set_shared_gib_s": "set, blob-backed, GiB/s",
    "get_shared_gib_s": "get, blob-backed, GiB/s",
    "graphs_per_s": "graphs per second, nodes",
    "calls_per_s": "calls per second, threads",
    "working_calls_per_s": "calls per second, threads that work between calls",
    "working_longest_ms": "longest call of such threads, ms",
}
REPEATED = {
    "commands": "1000-node graph again, commands",
    "bytes_out": "1000-node graph again, bytes sent",
}
"""What a graph sends that was sent before, by what was counted."""
LATENCY_FLOORS = {
    "floor_us": "the floor: a word polled in a blob",
    "ioctl_us": "the floor: the submission ioctl alone",
    "ioctl_answered_us": "the floor: the ioctl and its answer",
    "ioctl_answered_after_pause_us": "the floor: the ioctl and its answer after 1 s without any",
}
FLOORS = {"set_gib_s": "copy_floor_set_gib_s", "get_gib_s": "copy_floor_get_gib_s"}
BOTH_ENDS = {"set_gib_s": "both_ends_set_gib_s", "get_gib_s": "both_ends_get_gib_s"}
"""The same with the host's copying beside it."""


@dataclass(frozen=True, slots=True)
class Token:
    """A configuration: what a token costs there. ``width`` and ``computed`` are shares of the slowest configuration.

    ``bytes`` is None where nobody counted them. Spreads are the medians of the quickest and the slowest repetition; None where
    the bundle has none.
    """

    name: str
    path: str
    calls: str
    bytes: int | None
    us: float
    rebuilt_calls: str
    rebuilt_us: float
    width: float
    computed: float
    spread: tuple[float, float] | None = None
    rebuilt_spread: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ours over the second implementation's; ``spread`` is empty where none is known."""

    name: str
    ratio: str
    spread: str = ""


@dataclass(frozen=True, slots=True)
class BenchView:
    """Everything of a benchmark that the page shows; ``rows`` are a name, a cell per way, and one of the floor.

    ``nodes`` is the size of a token's graph.
    """

    record: BenchRecord
    ways: tuple[str, ...]
    latencies: tuple[tuple[str, tuple[str, ...], str], ...]
    rates: tuple[tuple[str, tuple[str, ...], str], ...]
    tokens: tuple[Token, ...]
    native_us: float | None
    nodes: int = 0
    ratios: tuple[Ratio, ...] = ()

    @property
    def missed(self) -> int:
        """Targets that are not met."""
        return sum(one.met is False for one in self.record.targets)

    @property
    def unjudged(self) -> int:
        """Targets that were not measured, or not for long enough."""
        return sum(one.met is None for one in self.record.targets)

    @property
    def marked(self) -> bool:
        """Whether any p99 is of too few samples."""
        return any(cell.endswith("*") for _, cells, _ in self.latencies for cell in cells)

    @property
    def out_of_reach(self) -> int:
        """Those of them that no guest library could have met, by the bare exchange or the copying of both ends in the same run."""
        return sum(one.out_of_reach for one in self.record.targets)


def bench_view(folder: Path, variant: VariantRecord) -> BenchView | None:
    """The benchmark among a variant's logs; None when there is none that can be read."""
    logs = logs_folder(folder, variant)
    if logs is None or not (logs / BENCH).is_file():
        return None
    try:
        return view_of(BenchRecord.model_validate_json((logs / BENCH).read_text(encoding="utf-8")))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError):
        # its answer is whatever JSON is in the file
        return None


def view_of(record: BenchRecord) -> BenchView:
    """A benchmark as the page shows it."""
    answer = record.answer
    ways = tuple(way for way in WAYS if way in answer)
    native = float(answer["token_native_us"]) if answer.get("token_native_us") is not None else None
    return BenchView(
        record=record,
        ways=tuple(WAYS[way] for way in ways),
        latencies=_latencies(answer, ways),
        rates=_rates(answer, ways),
        tokens=_tokens(record, native),
        native_us=native,
        nodes=int(record.tokens[0]["nodes"]) if record.tokens else 0,
        ratios=tuple(ratio_rows(answer.get("ratios", {}))),
    )


def _latencies(answer: Mapping[str, Any], ways: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...], str], ...]:
    """A row per call, then the floors, which are measured in the guest."""
    calls = [(name, tuple(_latency(answer[way].get(key)) for way in ways)) for key, name in LATENCIES.items()]
    for key, name in LATENCY_FLOORS.items():
        if key in answer:
            calls.append((name, tuple(_latency(answer[key]) if way == "vm" else "" for way in ways)))
    return tuple((name, cells, "") for name, cells in calls)


def _latency(figures: Mapping[str, Any] | None) -> str:
    return f"{figure_text(figures['p50'])} / {figure_text(figures['p99'])}{few_samples(figures)}" if figures else DASH


def few_samples(figures: Mapping[str, Any]) -> str:
    """A mark for a p99 of fewer samples than it speaks of; none where nobody wrote down how many they are."""
    return "*" if figures.get("samples", SAMPLES_OF_P99) < SAMPLES_OF_P99 else ""


def figure_text(value: float) -> str:
    """A figure with three digits at least, and no exponent however large it is: what is rounded to 1000 is told as that."""
    return f"{value:.3g}" if value < LEAST_WHOLE else f"{value:,.0f}"


def _rates(answer: Mapping[str, Any], ways: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...], str], ...]:
    rows = []
    for key, name in RATES.items():
        for point in dict.fromkeys(point for way in ways for point in answer[way].get(key, {})):
            cells = tuple(_spread_rate(answer[way], key, point) for way in ways)
            rows.append((f"{name}: {point}", cells, _floor(answer, key, point)))
    for key, name in REPEATED.items():
        counts = [repeated(answer[way], key) for way in ways]
        if any(count is not None for count in counts):
            rows.append((name, tuple(_rate(count) for count in counts), ""))
    if any("interrupts_per_call" in answer[way] for way in ways):
        cells = tuple(_rate(answer[way].get("interrupts_per_call")) for way in ways)
        rows.append(("interrupts of the guest's GPU per empty call", cells, ""))
    return tuple(rows)


def repeated(figures: Mapping[str, Any], key: str) -> float | None:
    """Commands or bytes of a graph that was sent before, of a way's figures; None where nobody counted."""
    count: float | None = figures.get("sent", {}).get("copied", {}).get("graph_1000", {}).get(key)
    return count


def _floor(answer: Mapping[str, Any], key: str, point: str) -> str:
    """The best copy loop's rate, and in brackets the best one with the host copying as well."""
    both = _rate(answer.get(BOTH_ENDS.get(key, ""), {}).get(point), "")
    return _rate(answer.get(FLOORS.get(key, ""), {}).get(point), "") + (f" ({both})" if both else "")


def _spread_rate(figures: Mapping[str, Any], key: str, point: str) -> str:
    """The median, and in brackets the repetitions' own."""
    spread = _range(figures.get(f"{key}{RATE_SPREAD}", {}).get(point), "min", "max")
    return _rate(figures.get(key, {}).get(point)) + (f" ({spread})" if spread else "")


def _rate(value: float | None, otherwise: str = DASH) -> str:
    return otherwise if value is None else figure_text(value)


def ratio_rows(ratios: Mapping[str, Any]) -> Iterator[Ratio]:
    """The lines of a comparison, from ``ratios`` of a benchmark's answer."""
    for key, value in ratios.items():
        if "p50" in value:
            yield Ratio(key, figure_text(value["p50"]), _range(value, "least", "most"))
        elif not key.endswith(RATE_SPREAD):
            spread = ratios.get(f"{key}{RATE_SPREAD}", {})
            yield from (
                Ratio(f"{key} {size}", figure_text(ratio), _range(spread.get(size), "least", "most"))
                for size, ratio in value.items()
            )


def _range(spread: Mapping[str, Any] | None, least: str, most: str) -> str:
    return f"{_rate(spread[least])}{DASH}{_rate(spread[most])}" if spread else ""


def _counted(calls: float | None) -> str:
    return DASH if calls is None else f"{calls:g}"


def _size(count: float | None) -> int | None:
    """Bytes as a whole number. Raises ``OverflowError`` for more than can be told."""
    if count is None:
        return None
    float(count)  # which tells them, by a unit, and has an end
    return int(count)


def _ends(token: Mapping[str, Any], key: str) -> tuple[float, float] | None:
    low, high = (token.get(f"{key}_{end}") for end in ("min", "max"))
    return None if low is None or high is None else (float(low), float(high))


def _tokens(record: BenchRecord, native_us: float | None) -> tuple[Token, ...]:
    slowest = max((one["us"] for one in record.tokens), default=1.0) or 1.0
    return tuple(
        Token(
            name=one["extensions"],
            path=one["path"],
            calls=_counted(one["calls"]),
            bytes=_size(one["bytes"]),
            us=float(one["us"]),
            rebuilt_calls=_counted(one["rebuilt_calls"]),
            rebuilt_us=float(one["rebuilt_us"]),
            width=one["us"] / slowest,
            computed=min(native_us or 0.0, one["us"]) / (one["us"] or 1.0),
            spread=_ends(one, "us"),
            rebuilt_spread=_ends(one, "rebuilt_us"),
        )
        for one in record.tokens
    )
