"""A benchmark's answer with everything that there can be in one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lab.bench.targets import judged
from lab.bundle.schema import BENCH, BenchRecord, PayloadRecord
from lab.scenario.checks.bench import target_record


def latency(p50: float) -> dict[str, Any]:
    spread = {"min": 0.9 * p50, "p10": 0.95 * p50, "p90": 1.2 * p50, "max": 1.5 * p50}
    return {"p50": p50, "p99": 10 * p50, "spread": spread, "samples": 100, "repetitions": 5}


def way(call_us: float) -> dict[str, Any]:
    sizes = {"4B": 0.0001, "1MiB": 1.5, "16MiB": 1.2, "64MiB": 0.9, "256MiB": 0.7}
    return {
        "empty_call_us": latency(call_us),
        "set_4b_us": latency(1.5 * call_us),
        "set_4b_sent_us": latency(1.7 * call_us),
        "get_4b_us": latency(1.5 * call_us),
        "graph_1_us": latency(3 * call_us),
        "alloc_free_us": latency(20 * call_us),
        "after_pause_us": latency(30 * call_us),
        "set_gib_s": sizes,
        "get_gib_s": sizes,
        "set_shared_gib_s": sizes,
        "set_gib_s_spread": {size: {"min": 0.8 * rate, "max": 1.2 * rate} for size, rate in sizes.items()},
        "graphs_per_s": {"1": 1e6 / (3 * call_us), "1000": 900.0},
        "calls_per_s": {"1": 1e6 / call_us, "4": 1.1e6 / call_us},
        "slowest_thread_share": {"1": 1.0, "4": 0.7},
        "working_calls_per_s": {"1": 4500.0, "2": 6800.0},
        "working_longest_ms": {"1": 1.9, "2": 3.1},
        "interrupts_per_call": 0.062,
        "sent": {"copied": {"graph_1000": {"commands": 1, "bytes_out": 312_000.0, "bytes_in": 8.0}}},
        "idle_percent": {"guest": 0.01, "worker": 0.002, "qemu": 3.0, "seconds": 60.0},
    }


def token(name: str, path: str, calls: float, us: float) -> dict[str, Any]:
    return {
        "extensions": name, "path": path, "nodes": 730, "digest": "ab", "digests": ["ab"], "calls": calls, "bytes": 220_000,
        "us": us, "us_p10": us, "us_p90": us, "us_min": 0.9 * us, "us_max": 1.2 * us,
        "rebuilt_calls": calls + 1, "rebuilt_us": 2 * us, "rebuilt_us_min": 1.8 * us, "rebuilt_us_max": 2.4 * us,
    }  # fmt: skip


ANSWER: dict[str, Any] = {
    "loopback": way(0.3),
    "vm": way(4.0),
    "vm_execbuffer": way(80.0),
    "vm_02": way(70.0),
    "vm_other": way(190.0),
    "floor_us": latency(0.5),
    "ioctl_us": latency(35.0),
    "ioctl_answered_us": latency(75.0),
    "copy_floor_gib_s": {"1MiB": 1.6, "16MiB": 1.5, "64MiB": 1.4, "256MiB": 1.4},
    "copy_floor_set_gib_s": {"1MiB": 1.6, "16MiB": 1.5, "64MiB": 1.4},
    "copy_floor_get_gib_s": {"1MiB": 1.6, "16MiB": 1.5, "64MiB": 1.4},
    "tokens": [
        token(name, path, calls, us)
        for path in ("copied", "shared")
        for name, calls, us in (("0.2 alone", 9, 4200.0), ("ring", 9, 3100.0), ("all", 2, 1300.0))
    ],
    "token_native_us": 650.0,
    "ratios": {
        "empty_call_us": {"p50": 0.02, "least": 0.01, "most": 0.04},
        "set_gib_s": {"1MiB": 1.5},
        "set_gib_s_spread": {"1MiB": {"least": 1.2, "most": 1.8}},
    },
}


def uncounted_token() -> dict[str, Any]:
    return {**token("all", "copied", 2, 1300.0), "calls": None, "bytes": None, "rebuilt_calls": None}


def write_bench(folder: Path, answer: dict[str, Any] = ANSWER) -> None:
    record = BenchRecord(
        answer=answer,
        targets=tuple(target_record(one) for one in judged(answer)),
        tokens=tuple(answer["tokens"]),
        load_before=1.8,
        load_after=2.0,
        cores=2,
        wall_s=210.0,
        warnings=("the machine was busy: load 1.8 on 2 cores before anything was measured",),
        libraries=(PayloadRecord(role="second guest library", path="/their/lib.so", sha256="5ha", build_id="1d"),),
    )
    (folder / BENCH).write_text(record.model_dump_json(), encoding="utf-8")
