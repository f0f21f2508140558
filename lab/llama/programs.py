"""Command lines of llama.cpp's programs, and their output, read. It comes from a guest: any line may be anything."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from lab.bundle.rows import MOST_NS

PERPLEXITY, BENCH = "llama-perplexity", "llama-bench"
ALL_LAYERS = "99"
NO_DEVICE = "none"
DIVERGENCE = {
    "largest": re.compile(r"Maximum KLD:\s*(\S+)"),
    "mean": re.compile(r"Mean +KLD:\s*(\S+)"),
    "same_top_percent": re.compile(r"Same top p:\s*(\S+)"),
    "perplexity": re.compile(r"Mean PPL\(Q\)\s*:\s*(\S+)"),
    "base_perplexity": re.compile(r"Mean PPL\(base\)\s*:\s*(\S+)"),
}


@dataclass(frozen=True, slots=True)
class Divergence:
    """How far a device's probabilities of the next token are from the base's, over all tokens that were looked at.

    Attributes:
        largest: Kullback-Leibler divergence of the token with the largest one, in nats.
        mean: of all.
        same_top_percent: of how many the most likely next token is the same, in per cent.
        perplexity: of the device.
        base_perplexity: of the base.
    """

    largest: float
    mean: float
    same_top_percent: float
    perplexity: float
    base_perplexity: float

    @property
    def finite(self) -> bool:
        """Whether all of it is a number: neither infinite nor NaN."""
        return all(map(math.isfinite, astuple(self)))


@dataclass(frozen=True, slots=True)
class Text:
    """What probabilities are told of: so many chunks of so many tokens of a file."""

    model: str
    path: str
    chunks: int
    context: int

    def argv(self, base: str) -> tuple[str, ...]:
        """What the two runs have in common: one writes ``base``, the other reads it."""
        size = str(self.context)
        return (
            PERPLEXITY, "-m", self.model, "-f", self.path, "-c", size, "-b", size, "--chunks", str(self.chunks),
            "--kl-divergence-base", base,
        )  # fmt: skip


def base_argv(text: Text, base: str) -> tuple[str, ...]:
    """Every probability as the processor computes it, into a file."""
    return (*text.argv(base), "-ngl", "0", "--device", NO_DEVICE)


def divergence_argv(text: Text, base: str, device: str) -> tuple[str, ...]:
    """The same text with all layers on a device, held against that file."""
    return (*text.argv(base), "--kl-divergence", "-ngl", ALL_LAYERS, "--device", device)


def bench_argv(model: str, device: str, *, prompt: int, generated: int, repetitions: int) -> tuple[str, ...]:
    """Tokens of a prompt, then tokens one by one, with all layers on a device; without repetitions once, and not warm."""
    times = ("-r", str(repetitions)) if repetitions else ("-r", "1", "--no-warmup")
    sizes = ("-p", str(prompt), "-n", str(generated), *times)
    return (BENCH, "-m", model, *sizes, "-ngl", ALL_LAYERS, "-dev", device, "-o", "jsonl")


def read_divergence(lines: Iterable[str]) -> Divergence | None:
    """What ``llama-perplexity --kl-divergence`` says at its end; None where it is not all there. Figures may be NaN."""
    found = told_figures(lines)
    return Divergence(**found) if found.keys() == DIVERGENCE.keys() else None


def read_largest(lines: Iterable[str]) -> float | None:
    """The largest divergence in a report that may have lost its end; None where it is not there."""
    return told_figures(lines).get("largest")


def told_figures(lines: Iterable[str]) -> dict[str, float]:
    """What a report tells of a divergence, by name."""
    found: dict[str, float] = {}
    for line in lines:
        for name, pattern in DIVERGENCE.items():
            match = pattern.match(line)
            if match and (value := number(match[1])) is not None:
                found[name] = value
    return found


def number(text: str) -> float | None:
    """A number as C writes it; None where it is none."""
    try:
        return float(text.rstrip("%"))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Speed:
    """One test of ``llama-bench``: so many tokens of a prompt, or one by one, and how long each repetition took."""

    prompt: int
    generated: int
    device: str
    ns: tuple[int, ...]

    @property
    def tokens_per_s(self) -> tuple[float, ...]:
        """Of each repetition."""
        return tuple((self.prompt + self.generated) * 1e9 / ns for ns in self.ns)


def read_speeds(lines: Iterable[str]) -> tuple[Speed, ...]:
    """The tests that ``llama-bench -o jsonl`` has finished; lines that are none are passed over."""
    return tuple(speed for line in lines if (speed := speed_in(line)) is not None)


def speed_in(line: str) -> Speed | None:
    """The test that a line tells of."""
    try:
        row: Any = json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, Mapping):
        return None
    prompt, generated, device, samples = (row.get(key) for key in ("n_prompt", "n_gen", "devices", "samples_ns"))
    if not (isinstance(prompt, int) and isinstance(generated, int) and isinstance(device, str) and isinstance(samples, Sequence)):
        return None
    ns = tuple(one for one in samples if isinstance(one, int) and 0 < one < MOST_NS)
    return Speed(prompt, generated, device, ns) if ns and len(ns) == len(samples) and prompt + generated > 0 else None
