"""Every figure of a benchmark's answer is of the rows that its name says: no two are alike here."""

from __future__ import annotations

from typing import Any

import pytest

from lab.bench.answer import answered
from lab.bench.figures import Rows
from tests.bench.test_figures import census, row


def test_latency_has_all_of_its_figures() -> None:
    rows = [row("vm/copied", "get_4b", [us * 1000] * (2 if us == 1 else 1)) for us in range(1, 12)]
    assert answered(Rows(rows), 2)["vm"]["get_4b_us"] == {
        "p50": 5.5,
        "p99": 10.89,
        "spread": {"min": 1.0, "p10": 2.0, "p90": 10.0, "max": 11.0},
        "samples": 12,
        "repetitions": 11,
    }


def test_rates_and_threads_have_all_of_theirs() -> None:
    gib = 1 << 30
    rows = [row("vm/copied", "set_1MiB", [ns], size=gib) for ns in (250_000_000, 500_000_000, 1_000_000_000)]
    rows.append({"phase": "rates", "subject": "vm/copied", "name": "threads_4", "calls": [90, 45, 60, 80], "ns": 1_000_000_000})
    found = answered(Rows(rows), 2)["vm"]
    assert (found["set_gib_s"], found["set_gib_s_spread"]) == ({"1MiB": 2.0}, {"1MiB": {"min": 1.0, "max": 4.0}})
    assert (found["calls_per_s"], found["slowest_thread_share"]) == ({"4": 275.0}, {"4": 0.5})


def test_floors_of_either_direction_are_its_own() -> None:
    def loops(name: str, **ms: int) -> dict[str, Any]:
        samples = {loop: [took * 1_000_000] for loop, took in ms.items()}
        return {"phase": "transfers", "subject": "floors", "name": f"{name}_1MiB", "size": 1 << 30, **samples}

    rows = [
        loops("copy_set", registers=125, memcpy=250),
        loops("copy_get", registers=1000, memcpy=500),
        *(loops(f"host_copy_{verb}", memcpy=125) for verb in ("set", "get")),
    ]
    found = answered(Rows(rows), 2)
    assert (found["copy_floor_set_gib_s"], found["copy_floor_get_gib_s"]) == ({"1MiB": 8.0}, {"1MiB": 2.0})
    assert (found["both_ends_set_gib_s"], found["both_ends_get_gib_s"]) == ({"1MiB": 8.0}, {"1MiB": 2.0})
    assert found["copy_loops"] == {"set": {"1MiB": "registers"}, "get": {"1MiB": "memcpy"}}


def test_tokens_have_all_of_their_figures() -> None:
    token = {"digest": "ab", "nodes": 730}
    rows = [row("token/copied/all", "token", [us * 1000], "tokens copied", **token) for us in range(100, 111)]
    rows.append(row("token/copied/all", "rebuilt", [200_000], "tokens copied", **token))
    rows += [row("native", "token", [us * 1000], "tokens", **token) for us in (30, 40, 90)]
    rows.append(row("loopback/copied", "token", [50_000], "tokens", **token))
    for name, commands in (("token", 20), ("rebuilt", 30)):
        counts = {"commands": commands, "bytes_out": 100, "bytes_in": 900}
        rows.append(row("token/copied/all", name, [1] * 10, "tokens census copied", **token, **counts))
    found = answered(Rows(rows), 2)
    (one,) = found["tokens"]
    assert found["token_native_us"] == 40.0
    assert (one["us_min"], one["us_p10"], one["us"], one["us_p90"], one["us_max"]) == (100.0, 101.0, 105.0, 109.0, 110.0)
    assert (one["calls"], one["bytes"], one["rebuilt_calls"], one["rebuilt_us"]) == (2.0, 100, 3.0, 200.0)


@pytest.mark.parametrize("last", [1, 2])
def test_what_a_round_sends_is_of_the_last_time_that_it_was_counted(last: int) -> None:
    answer = answered(Rows([*census("get_4b", 4 * (3 - last)), *census("get_4b", 4 * last)]), 2)
    assert answer["vm"]["sent"]["copied"]["get_4b"]["commands"] == last
