"""The benchmark's answer: the line of ``lab bench --json``, which is also what the table and the report are made of.

For the guest and its three ways, the loopback, and a second implementation where there is one, the same keys. Figures that nobody
measured are not there.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lab.bench import standard
from lab.bench.figures import (
    Latency,
    Rate,
    Row,
    Rows,
    best_copy,
    both_ends,
    call_rates,
    gib_per_s,
    interrupts_per_round,
    longest_ms,
    rate_of,
    took_time,
)
from lab.bench.idleness import ALONE, IDLE, IDLE_TURN
from lab.bench.standard import (
    ALL,
    DIRECTIONS,
    FLOORS,
    LOOPBACK,
    NATIVE,
    NODES,
    OTHER,
    PATHS,
    SIZES,
    THREADS,
    WAYS,
    WORKING_THREADS,
    token_census,
    token_subject,
)
from lab.bundle.schema import RATE_SPREAD

Answer = dict[str, Any]
LATENCIES = {
    "set_4b_us": "set_4b",
    "set_4b_sent_us": "set_4b_sent",
    "get_4b_us": "get_4b",
    "graph_1_us": "graph_1",
    "after_pause_us": "after_pause",
}
PER_S = 6
"""Significant figures of rates: they are divided by each other, or by a floor, and the quotient has a bound. Fewer are shown."""
TOKENS = {"token_us": "token", "rebuilt_us": "rebuilt"}
FLOOR_LATENCIES = (
    ("floor_us", "word", "ns"),
    ("ioctl_us", "submission", "ns"),
    ("ioctl_answered_us", "submission", "answered_ns"),
    ("ioctl_in_a_row_us", "burst", "ns"),
    ("ioctl_after_pause_us", "submission_after_pause", "ns"),
    ("ioctl_answered_after_pause_us", "submission_after_pause", "answered_ns"),
)
"""Keys of the answer, measurements, and which of their samples.

The ioctl costs least while the device is busy, for then nobody has to be woken by it; as a part of a call it finds the device idle.
"""
MADE_OF_EMPTY = (
    "set_4b_sent_us", "after_pause_us", "calls_per_s", "slowest_thread_share", "working_calls_per_s", "working_longest_ms",
)  # fmt: skip
"""Figures with the call that is measured as ``empty``, whichever the quicker one is."""
ALLOC_FREE = {
    "alloc_free_us": "shared", "alloc_free_copied_us": "copied",
    "alloc_free_unpooled_us": "unpooled", "alloc_free_unpooled_copied_us": "unpooled-copied",
}  # fmt: skip
"""Keys of the answer, and the subjects' data paths, of buffers that come and go."""
EMPTY_CALLS = ("empty", "clear")
"""Public calls that send one command, which does next to nothing; the quicker one is what transport costs."""


def answered(rows: Rows, processors: int) -> Answer:
    """Everything that the rows tell. ``processors``: of the host where they were measured."""
    answer: Answer = {}
    for way in (LOOPBACK, *WAYS, OTHER):
        if any(subject.startswith(f"{way}/") or subject in token_subjects(way) for subject in rows.subjects()):
            answer[way] = way_answer(rows, way, empty_call_of(answer) if way == OTHER else "")
    answer |= floors_answer(rows, processors) | idle_turns(rows, answer)
    answer["tokens"] = token_answers(rows)
    native = rows.latency(NATIVE, "token")
    if native is not None:
        answer["token_native_us"] = round(native.p50, 1)
    if "vm" in answer and OTHER in answer:
        answer["ratios"] = ratios(answer["vm"], answer[OTHER])
    return answer


def latency_answer(latency: Latency) -> Answer:
    """A latency's figures; ``spread`` is of the repetitions' medians."""
    spread = {"min": latency.least, "p10": latency.p10, "p90": latency.p90, "max": latency.most}
    return {
        "p50": round(latency.p50, 3),
        "p99": round(latency.p99, 3),
        "spread": {key: round(value, 3) for key, value in spread.items()},
        "samples": latency.samples,
        "repetitions": latency.repetitions,
    }


def way_answer(rows: Rows, way: str, call: str = "") -> Answer:
    """The figures of one way. ``call``: the empty call that it is told by, if it was measured; else the quickest."""
    copied = f"{way}/copied"
    answer: Answer = {}
    empty = empty_call(rows, way, call)
    if empty is not None:
        answer["empty_call_us"] = latency_answer(empty[1]) | {"call": empty[0]}
        interrupts = interrupts_per_round(rows.of(copied, empty[0]))
        if interrupts is not None:
            answer["interrupts_per_call"] = round(interrupts, 3)
    for key, name in LATENCIES.items():
        latency = rows.latency(copied, name)
        if latency is not None:
            answer[key] = latency_answer(latency)
    for key, path in ALLOC_FREE.items():
        latency = rows.latency(f"{way}/{path}", "alloc_free")
        if latency is not None:
            answer[key] = latency_answer(latency)
    answer |= transfer_answer(rows, way) | rate_answer(rows, way) | sent_answer(rows, way) | idle_answer(rows, copied)
    answer |= compared_tokens(rows, way)
    return answer if sends_one(rows, way, "empty") else without_empty(answer)


def token_subjects(way: str) -> tuple[str, ...]:
    """Whose tokens tell a way from a second implementation, by data path: with all extensions, or as that one has it."""
    name = {"vm": ALL, OTHER: OTHER}.get(way)
    return () if name is None else tuple(token_subject(path, name) for path in PATHS)


def compared_tokens(rows: Rows, way: str) -> Answer:
    """Durations of a token by the copied path, as ``token_us``, and by the blob-backed one, as ``token_shared_us``."""
    answer: Answer = {}
    for subject, path in zip(token_subjects(way), PATHS, strict=False):
        for key, name in TOKENS.items():
            latency = rows.latency(subject, name)
            if latency is not None:
                answer[key if path == "copied" else key.replace("_us", "_shared_us")] = latency_answer(latency)
    return answer


def sends_one(rows: Rows, way: str, name: str) -> bool:
    """Whether a call is not known to send anything but one command.

    Of a second implementation that keeps no records: what is over before any word could be seen from the other side sends none.
    """
    sent = rows.sent(f"{way}/copied", name, "census")
    if sent is None and way == OTHER:
        took, word = rows.latency(f"{way}/copied", name), rows.latency(FLOORS, "word")
        return took is None or word is None or took.p50 >= word.p50
    return sent is None or sent.commands == 1


def without_empty(answer: Answer) -> Answer:
    """The figures of a way without those of a call that is no empty one; ``left_out`` names them."""
    left_out = [key for key in MADE_OF_EMPTY if key in answer]
    kept = {key: value for key, value in answer.items() if key.removesuffix(RATE_SPREAD) not in left_out}
    return kept | ({"left_out": left_out} if left_out else {})


def empty_call_of(answer: Answer) -> str:
    """Which call the guest's empty one is; empty when it has none."""
    return str(answer.get("vm", {}).get("empty_call_us", {}).get("call", ""))


def empty_call(rows: Rows, way: str, call: str = "") -> tuple[str, Latency] | None:
    """``call``, or the quickest, of the empty calls that are not known to send anything but one command."""
    found = []
    for name in EMPTY_CALLS:
        latency = rows.latency(f"{way}/copied", name)
        if latency is not None and sends_one(rows, way, name):
            found.append((name, latency))
    asked = [one for one in found if one[0] == call]
    return min(asked or found, key=lambda one: one[1].p50, default=None)


def transfer_answer(rows: Rows, way: str) -> Answer:
    """Rates by size: of the copied path as ``set_gib_s``, of the blob-backed one as ``set_shared_gib_s``."""
    answer: Answer = {}
    for path in PATHS:
        for verb in DIRECTIONS:
            rates = {size: gib_per_s(rows.of(f"{way}/{path}", f"{verb}_{size}")) for size in SIZES}
            answer |= told_rates(f"{verb}_gib_s" if path == "copied" else f"{verb}_shared_gib_s", rates)
    return answer


def told_rates(key: str, rates: Mapping[str, Rate | None]) -> Answer:
    """Medians as ``key``, and how the repetitions' own are spread beside them."""
    known = {point: rate for point, rate in rates.items() if rate is not None}
    if not known:
        return {}
    spread = {point: {"min": significant(rate.least), "max": significant(rate.most)} for point, rate in known.items()}
    return {key: {point: significant(rate.median, PER_S) for point, rate in known.items()}, f"{key}{RATE_SPREAD}": spread}


def rate_answer(rows: Rows, way: str) -> Answer:
    """Graphs and calls per second."""
    graphs = {nodes: took_time([row["ns"] for row in rows.of(f"{way}/copied", f"graph_{nodes}")]) for nodes in NODES}
    calls = thread_rates(rows, way, "threads", THREADS)
    answer = told_rates("graphs_per_s", {str(nodes): rate_of(one) for nodes, one in graphs.items() if one is not None})
    answer |= told_rates("calls_per_s", {threads: rate for threads, (rate, _) in calls.items()})
    if calls:
        answer["slowest_thread_share"] = {threads: significant(share, PER_S) for threads, (_, share) in calls.items()}
    working = thread_rates(rows, way, "working_threads", WORKING_THREADS)
    answer |= told_rates("working_calls_per_s", {threads: rate for threads, (rate, _) in working.items()})
    longest = {threads: longest_ms(rows.of(f"{way}/copied", f"working_threads_{threads}")) for threads in working}
    if longest:
        answer["working_longest_ms"] = {threads: significant(ms) for threads, ms in longest.items() if ms is not None}
    return answer


def thread_rates(rows: Rows, way: str, measure: str, numbers: Sequence[int]) -> dict[str, tuple[Rate, float]]:
    """Calls per second of so many threads, and the slowest one's share, by the number of threads."""
    found = {threads: call_rates(rows.of(f"{way}/copied", f"{measure}_{threads}")) for threads in numbers}
    return {str(threads): one for threads, one in found.items() if one is not None}


def sent_answer(rows: Rows, way: str) -> Answer:
    """Commands and bytes of one round of everything that was counted, by data path."""
    counts: Answer = {}
    for path in PATHS:
        for name in standard.COUNTED:
            sent = rows.sent(f"{way}/{path}", name, "census")
            if sent is not None:
                counts.setdefault(path, {})[name] = {
                    "commands": round(sent.commands, 2),
                    "bytes_out": round(sent.bytes_out, 1),
                    "bytes_in": round(sent.bytes_in, 1),
                }
    return {"sent": counts} if counts else {}


def idle_answer(rows: Rows, subject: str) -> Answer:
    """Shares of a core that an idle context takes, in percent."""
    found = rows.of(subject, IDLE)
    if not found:
        return {}
    row = found[-1]
    shares = {"guest": (row["cpu_ns"], row["ns"]), "worker": (row.get("worker_cpu_ns"), row["ns"])}
    percent = {key: round(100 * ns / of, 4) for key, (ns, of) in shares.items() if ns is not None}
    if "qemu_cpu_ns" in row:
        percent["qemu"] = round(qemu_percent(row), 4)
    return {"idle_percent": percent | {"seconds": round(row["ns"] / 1e9, 1)}}


def qemu_percent(row: Row) -> float:
    """QEMU's share of a core while somebody was watched."""
    return 100 * float(row["qemu_cpu_ns"]) / float(row.get("qemu_ns", row["ns"]))


def idle_turns(rows: Rows, answer: Answer) -> Answer:
    """What QEMU takes of a core for a guest without a context, and of each way how much more with one that is idle.

    ``qemu_more`` is the median of the way's turns, each less the mean of those without a context before and behind it;
    ``qemu_more_spread`` has the least and the most of several, ``qemu_more_seconds`` how long they were.
    """
    turns = [(who, row) for who, row in rows.in_order(IDLE_TURN) if "qemu_cpu_ns" in row]
    more: dict[str, list[float]] = {}
    watched_ns: Counter[str] = Counter()
    for (before, first), (who, row), (behind, last) in zip(turns, turns[1:], turns[2:], strict=False):
        if before == behind == ALONE != who:
            more.setdefault(who, []).append(qemu_percent(row) - (qemu_percent(first) + qemu_percent(last)) / 2)
            watched_ns[who] += row["ns"]
    for way in WAYS:
        found, idle = more.get(f"{way}/copied"), answer.get(way, {}).get("idle_percent")
        if found and idle is not None:
            idle["qemu_more"] = round(statistics.median(found), 4)
            if len(found) > 1:
                idle["qemu_more_spread"] = {"min": round(min(found), 4), "max": round(max(found), 4)}
            idle["qemu_more_seconds"] = round(watched_ns[f"{way}/copied"] / 1e9, 1)
    alone = [qemu_percent(row) for who, row in turns if who == ALONE]
    if not alone:
        return {}
    shares = {"qemu": statistics.median(alone), "min": min(alone), "max": max(alone)}
    return {"idle_alone_percent": {key: round(share, 4) for key, share in shares.items()}}


def floors_answer(rows: Rows, processors: int) -> Answer:
    """What nothing here can be quicker than."""
    answer: Answer = {}
    for key, name, samples in FLOOR_LATENCIES:
        latency = rows.latency(FLOORS, name, samples)
        if latency is not None:
            answer[key] = latency_answer(latency)
    best: dict[str, dict[str, Any]] = {verb: {} for verb in DIRECTIONS}
    loops: dict[str, dict[str, Any]] = {verb: {} for verb in DIRECTIONS}
    for verb in DIRECTIONS:
        for size in SIZES:
            found = best_copy(rows.of(FLOORS, f"copy_{verb}_{size}"))
            if found is not None:
                loops[verb][size], best[verb][size] = found[0], significant(found[1], PER_S)
    if best["set"]:
        answer["copy_floor_gib_s"] = {size: max(best["set"][size], best["get"].get(size, 0)) for size in best["set"]}
        answer |= {"copy_floor_set_gib_s": best["set"], "copy_floor_get_gib_s": best["get"], "copy_loops": loops}
    for verb in DIRECTIONS:
        host, together = host_copies(rows, verb, processors)
        if host:
            answer |= {f"host_copy_{verb}_gib_s": host, f"both_ends_{verb}_gib_s": together}
    return answer


def host_copies(rows: Rows, verb: str, processors: int) -> tuple[dict[str, float], dict[str, float]]:
    """By size: the rate of the host's own copying, and the best one that it leaves room for beside the guest's."""
    host: dict[str, float] = {}
    together: dict[str, float] = {}
    for size in SIZES:
        own = best_copy(rows.of(FLOORS, f"host_copy_{verb}_{size}"))
        both = None if own is None else both_ends(rows.of(FLOORS, f"copy_{verb}_{size}"), own[1], processors)
        if own is not None and both is not None:
            host[size], together[size] = significant(own[1], PER_S), significant(both, PER_S)
    return host, together


def token_answers(rows: Rows) -> list[Answer]:
    """What a token costs, per configuration and data path; ``digests`` are of all repetitions, ``digest`` is the last one.

    Calls and bytes are None without call records.
    """
    answers = []
    for path in PATHS:
        for name in standard.configurations():
            subject, census = token_subject(path, name), token_census(path)
            sent, again = rows.sent(subject, "token", census), rows.sent(subject, "rebuilt", census)
            latency, rebuilt = rows.latency(subject, "token"), rows.latency(subject, "rebuilt")
            if latency is None or rebuilt is None:
                continue
            found = rows.of(subject, "token")
            digests = {row["digest"] for row in (*found, *rows.of(subject, "rebuilt"))}
            answers.append(
                {
                    "extensions": name, "path": path, "nodes": found[-1]["nodes"], "digest": found[-1]["digest"],
                    "digests": sorted(digests),
                    "calls": None if sent is None else round(sent.commands, 2),
                    "bytes": None if sent is None else round(sent.bytes_out + sent.bytes_in),
                    "us": round(latency.p50, 1),
                    "us_p10": round(latency.p10, 1), "us_p90": round(latency.p90, 1),
                    "rebuilt_calls": None if again is None else round(again.commands, 2), "rebuilt_us": round(rebuilt.p50, 1),
                    "us_min": round(latency.least, 1), "us_max": round(latency.most, 1),
                    "rebuilt_us_min": round(rebuilt.least, 1), "rebuilt_us_max": round(rebuilt.most, 1),
                }
            )  # fmt: skip
    return answers


def ratios(ours: Answer, theirs: Answer) -> Answer:
    """Ours over theirs for every duration (below 1: ours is quicker) and every rate (above 1: ours is quicker), with the spread.

    Of what was counted, commands and bytes of a round of everything that both send. Durations of different calls have no ratio.
    """
    found: Answer = {}
    for key, value in ours.items():
        other = theirs.get(key)
        if not isinstance(value, dict) or not isinstance(other, dict) or value.get("call") != other.get("call"):
            continue
        if "p50" in value and "p50" in other:
            if not (other["p50"] and other["spread"]["min"]):
                continue  # their clock saw no time go by
            low, high = value["spread"]["min"] / other["spread"]["max"], value["spread"]["max"] / other["spread"]["min"]
            found[key] = {"p50": significant(value["p50"] / other["p50"]), "least": significant(low), "most": significant(high)}
        elif key.endswith(("_gib_s", "_per_s", "_longest_ms")):
            found[key] = {size: significant(rate / other[size]) for size, rate in value.items() if other.get(size)}
        elif key.endswith(RATE_SPREAD):
            found[key] = {
                size: {"least": significant(mine["min"] / its["max"]), "most": significant(mine["max"] / its["min"])}
                for size, mine in value.items()
                if (its := other.get(size)) and its["min"]
            }
    return found | sent_ratios(ours.get("sent", {}), theirs.get("sent", {}))


def sent_ratios(ours: Answer, theirs: Answer) -> Answer:
    """Ours over theirs, as ``commands_per_round`` and ``bytes_per_round`` by what is done, and the data path."""
    found: Answer = {}
    for path, counts in ours.items():
        for name, mine in counts.items():
            its = theirs.get(path, {}).get(name)
            if not its or not its["commands"]:
                continue
            found.setdefault("commands_per_round", {})[f"{name}, {path}"] = significant(mine["commands"] / its["commands"])
            if size := its["bytes_out"] + its["bytes_in"]:
                ratio = (mine["bytes_out"] + mine["bytes_in"]) / size
                found.setdefault("bytes_per_round", {})[f"{name}, {path}"] = significant(ratio)
    return found


def significant(value: float, figures: int = 3) -> float:
    """With so many significant figures."""
    return float(f"{value:.{figures}g}")
