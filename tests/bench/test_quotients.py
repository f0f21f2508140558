"""What is divided by figures that a guest made: by those that are nothing, nothing is."""

from __future__ import annotations

from typing import Any

import pytest

from lab.bench.answer import answered, ratios
from lab.bench.figures import Rows
from lab.bench.standard import COUNTED, NODES, OTHER, SIZES


def row(subject: str, name: str, ns: list[int]) -> dict[str, Any]:
    return {"phase": "calls", "subject": subject, "name": name, "ns": ns, "size": 4}


def test_graphs_that_took_no_time_by_the_clock_have_no_rate() -> None:
    rows = [row("vm/copied", "graph_100", [0, 0]), row("vm/copied", "graph_1000", [0, 1_000_000, 0])]
    assert answered(Rows(rows), 2)["vm"]["graphs_per_s"] == {"1000": 1000.0}


@pytest.mark.parametrize("theirs", [[[0]], [[0], [1000]], [[1000], [0], [2000]]])
def test_duration_beside_one_of_no_time_has_no_ratio(theirs: list[list[int]]) -> None:
    rows = [row("vm/copied", "get_4b", [1000]), *(row(f"{OTHER}/copied", "get_4b", ns) for ns in theirs)]
    answer = answered(Rows(rows), 2)
    assert answer[OTHER]["get_4b_us"]["spread"]["min"] == 0.0
    assert "get_4b_us" not in answer["ratios"]
    told = {"get_4b_us": {"p50": 2.0, "spread": {"min": 1.0, "max": 3.0}}}
    assert ratios(told, told)["get_4b_us"] == {"p50": 1.0, "least": 0.333, "most": 3.0}


@pytest.mark.parametrize("way", ["vm", "vm_02", OTHER, "loopback"])
def test_no_time_at_all_ends_no_benchmark(way: str) -> None:
    names = (*COUNTED, *(f"graph_{nodes}" for nodes in NODES), *(f"{verb}_{size}" for verb in ("set", "get") for size in SIZES))
    rows = [row(f"{one}/{path}", name, [0]) for one in ("vm", way) for path in ("copied", "shared") for name in names]
    assert "graphs_per_s" not in answered(Rows(rows), 2)[way]


def test_rounds_that_were_none_have_no_interrupts() -> None:
    rows = [row("vm/copied", "empty", [1000]) | {"rounds": 0, "interrupts": 3}]
    assert "interrupts_per_call" not in answered(Rows(rows), 2)["vm"]


def test_what_the_second_implementation_sends_nothing_for_has_no_ratio() -> None:
    ours, theirs = ({"sent": {"copied": {"set_4b": dict.fromkeys(("commands", "bytes_out", "bytes_in"), n)}}} for n in (1, 0))
    assert ratios(ours, theirs) == {}
