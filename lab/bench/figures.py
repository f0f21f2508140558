"""From the driver's rows to figures: medians, percentiles, spread, counts. Nanoseconds come in, microseconds go out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.bench.idleness import IDLE, IDLE_TURN
from lab.bench.standard import DIRECTIONS, SIZES, is_counted

Row = Mapping[str, Any]
NS_PER_US = 1000.0
GIB = float(1 << 30)
TOKENS = ("token", "rebuilt")
"""Measurements of the model-like graph."""
COPIES = ("copy_", "host_copy_")
"""How the names of measurements of copy loops begin."""
COUNTED = ("commands", "bytes_out", "bytes_in")
"""What call records say of an answer: all of it, or nothing."""
MOST = 1 << 64
MOST_WORDS = 300
"""Characters of a program's last line that are passed on."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Durations of single calls, in microseconds.

    ``p50`` and ``p99`` are of all samples of all repetitions; the others tell how the repetitions' own medians are spread.
    """

    samples: int
    repetitions: int
    p50: float
    p99: float
    least: float
    p10: float
    p90: float
    most: float


@dataclass(frozen=True, slots=True)
class Rate:
    """GiB or calls per second: the median, and the repetitions' own medians with the least and the most."""

    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Sent:
    """What one round sends: commands, and bytes to and from the host."""

    commands: float
    bytes_out: float
    bytes_in: float


def last_words(text: str) -> str:
    """The last line of what a program said, as the end of a message about it; nothing of a program that said nothing."""
    last = text.strip().rpartition("\n")[2].strip()
    return f"; it said: {last[-MOST_WORDS:]}" if last else ""


class Rows:
    """All rows of a run, found by subject and measurement.

    ``failures`` has each one once, with how often it was seen. An answer without what its figures are made of is one; a program
    that did not start has what it said last beside it, which is where ggml tells why it took no library.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows: dict[tuple[str, str, str], list[Row]] = {}
        failures: list[str] = []
        unstarted: dict[str, int] = {}
        for row in rows:
            subject = str(row.get("subject", ""))
            where = f"{subject} {row.get('name', '')}".strip()
            if "error" in row:
                failures.append(f"{where}: {row['error']}")
                if row.get("event") == "started":
                    unstarted[subject] = len(failures) - 1
            elif row.get("event") == "said" and subject in unstarted:
                failures[unstarted.pop(subject)] += last_words(str(row.get("text", "")))
            elif "name" not in row or "event" in row:
                continue
            elif missing := lacking(row):
                what = ", ".join(missing)
                failures.append(f"{where}: the answer has no {what} that a figure is made of; a library may have printed it")
            else:
                self._rows.setdefault((row["phase"], row["subject"], row["name"]), []).append(row)
        self.failures = [text if times == 1 else f"{text} ({times} times)" for text, times in Counter(failures).items()]

    def of(self, subject: str, name: str, phase: str | None = None) -> list[Row]:
        """Rows of a measurement: those of the phase, or of all phases in which calls are timed and not counted."""
        return [
            row
            for (where, who, what), rows in self._rows.items()
            if who == subject and what == name and (where == phase if phase else not is_counted(where))
            for row in rows
        ]

    @property
    def measurements(self) -> int:
        """How many measurements were made, of every subject and in every phase."""
        return len(self._rows)

    def in_order(self, name: str) -> list[tuple[str, Row]]:
        """Rows of a measurement that has a phase for each of its turns, with the subjects, as they were made."""
        return [(who, row) for (_, who, what), rows in self._rows.items() if what == name for row in rows]

    def latency(self, subject: str, name: str, samples: str = "ns") -> Latency | None:
        """Of a measurement with such samples; None when nobody made it."""
        return latency_of([row[samples] for row in self.of(subject, name) if samples in row])

    def sent(self, subject: str, name: str, phase: str) -> Sent | None:
        """What a round sends, of the last measurement; None without call records."""
        rows = self.of(subject, name, phase)
        return sent_per_round(rows[-1]) if rows and "commands" in rows[-1] else None

    def uncounted(self) -> tuple[str, ...]:
        """Subjects whose calls were to be counted, and whose call records were not there."""
        lacking = (
            subject
            for (phase, subject, _), rows in self._rows.items()
            if is_counted(phase) and any("commands" not in row for row in rows)
        )
        return tuple(dict.fromkeys(lacking))

    def subjects(self) -> tuple[str, ...]:
        """Everybody who answered."""
        return tuple(dict.fromkeys(subject for _, subject, _ in self._rows))


def lacking(row: Row) -> tuple[str, ...]:
    """Keys that the answer to a measurement has not, or not with what its figures are made of."""
    return tuple(key for key, fits in {**keys_beside(row), **keys_of(str(row["name"]))}.items() if not fits(row.get(key)))


def keys_beside(row: Row) -> Mapping[str, Callable[[Any], bool]]:
    """What an answer may have, or be given, and need not: where it is there, figures are made of it."""
    counted = {key: is_count for key in COUNTED if "commands" in row}
    loops = {key: are_counts for key, value in row.items() if isinstance(value, list) and str(row["name"]).startswith(COPIES)}
    return {key: fits for key, fits in BESIDE.items() if row.get(key) is not None} | counted | loops


def keys_of(name: str) -> Mapping[str, Callable[[Any], bool]]:
    """What the answer to a measurement has, by key, and what it must be there."""
    verb, _, size = name.partition("_")
    if name in TOKENS:
        return {"ns": is_samples, "nodes": is_amount, "digest": is_text}
    if name in (IDLE, IDLE_TURN):
        return {"ns": is_amount, "cpu_ns": is_count}
    if name.startswith(("threads_", "working_threads_")):
        return {"ns": is_amount, "calls": is_samples}
    if name.startswith(COPIES):
        return {"size": is_amount}
    return {"ns": is_samples, "size": is_amount} if verb in DIRECTIONS and size in SIZES else {"ns": is_samples}


def is_samples(value: Any) -> bool:
    """Whole numbers that are not negative, one at least."""
    return are_counts(value) and bool(value)


def are_counts(value: Any) -> bool:
    """Whole numbers that are not negative, or none."""
    return isinstance(value, list) and all(map(is_count, value))


def is_count(value: Any) -> bool:
    """A whole number that is not negative, such as somebody has counted: one of 64 bits."""
    return isinstance(value, int) and 0 <= value < MOST


def is_whole(value: Any) -> bool:
    """A whole number of as many bits."""
    return isinstance(value, int) and abs(value) < MOST


def is_amount(value: Any) -> bool:
    """A whole number that something can be divided by."""
    return is_count(value) and value > 0


def is_text(value: Any) -> bool:
    """A text with anything in it."""
    return isinstance(value, str) and bool(value)


BESIDE: Mapping[str, Callable[[Any], bool]] = {
    "answered_ns": is_samples,
    "longest_ns": are_counts,
    "rounds": is_count,
    "interrupts": is_whole,
    "worker_cpu_ns": is_count,
    "qemu_cpu_ns": is_count,
    "qemu_ns": is_amount,
    "splits": is_count,
}
"""What an answer may have besides, by key, and what it must be there."""


def latency_of(groups: Sequence[Sequence[int]]) -> Latency | None:
    """Of samples in nanoseconds, a group per repetition."""
    groups = [group for group in groups if group]
    if not groups:
        return None
    pooled = np.concatenate([np.asarray(group, float) for group in groups]) / NS_PER_US
    medians = np.array([np.median(group) for group in groups]) / NS_PER_US
    p50, p99 = (float(value) for value in np.percentile(pooled, (50, 99)))
    p10, p90 = (float(value) for value in np.percentile(medians, (10, 90)))
    return Latency(len(pooled), len(groups), p50, p99, float(medians.min()), p10, p90, float(medians.max()))


def sent_per_round(row: Row) -> Sent:
    """What was counted while the rounds were timed, a round's share."""
    return Sent(*(row[key] / len(row["ns"]) for key in ("commands", "bytes_out", "bytes_in")))


def interrupts_per_round(rows: Sequence[Row]) -> float | None:
    """Interrupts of the guest's GPU for each round, those that were not timed among them; None where nobody counted."""
    counted = [row for row in rows if "interrupts" in row and row.get("rounds")]
    return sum(row["interrupts"] for row in counted) / sum(row["rounds"] for row in counted) if counted else None


def gib_per_s(rows: Sequence[Row]) -> Rate | None:
    """The rate of transfers; None where all of them were too quick for the clock. One that took no time by it has no rate."""
    latency = took_time([row["ns"] for row in rows])
    return None if latency is None else rate_of(latency, rows[0]["size"] / GIB)


def took_time(groups: Sequence[Sequence[int]]) -> Latency | None:
    """Of the samples in which the clock saw time go by: something can be divided by these."""
    return latency_of([[ns for ns in group if ns > 0] for group in groups])


def rate_of(latency: Latency, amount: float = 1.0) -> Rate:
    """How often per second, times ``amount``."""
    return Rate(*(amount / (us / 1e6) for us in (latency.p50, latency.most, latency.least)))


def best_copy(rows: Sequence[Row]) -> tuple[str, float] | None:
    """The copy loop with the best median rate, and that rate in GiB/s."""
    rates = dict(copy_rates(rows))
    best = max(rates, key=lambda loop: rates[loop], default=None)
    return None if best is None else (best, rates[best])


def both_ends(rows: Sequence[Row], host_gib_s: float, processors: int) -> float | None:
    """The rate, in GiB/s, that no transfer can beat on a machine of so many processors; None without a copy loop.

    It is no better than the best copy loop, nor than the host's copying. And all copying of both sides is to be done by the
    processors that there are, the guest's with as little work as any loop makes of it, all of it as quick as alone, and no moment
    lost.

    Args:
        rows: of the copy loops.
        host_gib_s: the rate of the host's copying, by one thread of its own.
        processors: of the host, which the guest's are among.
    """
    rates = dict(copy_rates(rows))
    if not rates:
        return None
    work = min(threads_of(loop) / rate for loop, rate in rates.items()) + 1 / host_gib_s
    return min(max(rates.values()), host_gib_s, processors / work)


def threads_of(loop: str) -> int:
    """How many threads a copy loop keeps busy."""
    return 2 if loop.startswith("two_threads_") else 1


def copy_rates(rows: Sequence[Row]) -> Iterator[tuple[str, float]]:
    """Every loop's median rate. The loops are what a row has samples of."""
    for loop in dict.fromkeys(key for row in rows for key, value in row.items() if isinstance(value, list)):
        taken = gib_per_s([{"ns": row[loop], "size": row["size"]} for row in rows if isinstance(row.get(loop), list)])
        if taken is not None:
            yield loop, taken.median


def call_rates(rows: Sequence[Row]) -> tuple[Rate, float] | None:
    """Calls per second of all threads together, and the slowest thread's share of the quickest's (median)."""
    rates = [sum(row["calls"]) / (row["ns"] / 1e9) for row in rows]
    shares = [min(row["calls"]) / max(*row["calls"], 1) for row in rows]
    return (Rate(float(np.median(rates)), min(rates), max(rates)), float(np.median(shares))) if rates else None


def longest_ms(rows: Sequence[Row]) -> float | None:
    """Milliseconds of the longest call of any thread, the median of the repetitions; None when none was timed."""
    longest = [max(row["longest_ns"]) / 1e6 for row in rows if row.get("longest_ns")]
    return float(np.median(longest)) if longest else None
