"""What an idle context costs, as it is made of what was watched: QEMU's share against that of the guest alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lab.bench.answer import answered
from lab.bench.figures import Rows
from lab.bench.targets import judged

WATCHED = ("vm/copied", "vm_execbuffer/copied", "vm_02/copied")


def idle_turns(alone: Sequence[float], more: Sequence[float], seconds: float = 5.0) -> list[dict[str, Any]]:
    """Each way in turns between stretches of the guest alone, which takes ``alone`` percent; ways take ``more`` than before."""
    shares = [(subject, percent) for at, before in enumerate(alone) for subject, percent in (
        ("alone/idle", before), (WATCHED[at % 3], before + more[at % 3])
    )][:-1]  # fmt: skip
    watched = {"name": "idle_turn", "cpu_ns": 0, "ns": round(seconds * 1e9), "qemu_ns": 4_000_000_000}
    return [
        watched | {"phase": f"idle turn {at}", "subject": subject, "qemu_cpu_ns": round(percent * 4e7)}
        for at, (subject, percent) in enumerate(shares)
    ]


IDLE_ROWS = [
    *({"phase": "calls", "subject": subject, "name": "empty", "ns": [5000]} for subject in WATCHED),
    *({"phase": "idle", "subject": subject, "name": "idle", "cpu_ns": 0, "ns": 60_000_000_000} for subject in WATCHED),
]


def test_idle_context_is_held_against_a_guest_without_one() -> None:
    answer = answered(Rows([*IDLE_ROWS, *idle_turns([1.6] * 19, (0.6, 0.2, 0.7))]), 2)
    assert answer["idle_alone_percent"] == {"qemu": 1.6, "min": 1.6, "max": 1.6}
    verdicts = {one.target.figure: (one.seen, one.met) for one in judged(answer) if one.met is not None}
    assert verdicts["vm.idle_percent.qemu_more"] == (0.6, False)
    assert verdicts["vm_execbuffer.idle_percent.qemu_more"] == (0.2, True)
    assert verdicts["vm_02.idle_percent.qemu_more"] == (0.7, False)
    assert answer["vm_02"]["idle_percent"]["qemu_more_seconds"] == 30
    once = answered(Rows([*IDLE_ROWS, *idle_turns([1.6] * 4, (0.6, 0.2, 0.7))]), 2)["vm"]["idle_percent"]
    assert (once["qemu_more"], "qemu_more_spread" in once) == (0.6, False)
    unknown = answered(Rows(IDLE_ROWS), 2)
    assert "qemu_more" not in unknown["vm"]["idle_percent"]
    assert "idle_alone_percent" not in unknown


def test_a_guest_that_takes_more_and_more_is_not_taken_for_what_a_context_costs() -> None:
    drifting = [1.0 + at / 10 for at in range(19)]
    answer = answered(Rows([*IDLE_ROWS, *idle_turns(drifting, (0.05, 0.15, -0.05))]), 2)
    assert [answer[way]["idle_percent"]["qemu_more"] for way in ("vm", "vm_execbuffer", "vm_02")] == [0.0, 0.1, -0.1]
    assert answer["idle_alone_percent"] == {"qemu": 1.9, "min": 1.0, "max": 2.8}


def test_one_turn_that_was_disturbed_does_not_decide_and_is_told() -> None:
    rows = idle_turns([2.0] * 19, (0.1, 0.1, 0.1))
    rows[7]["qemu_cpu_ns"] += 400_000_000
    idle = answered(Rows([*IDLE_ROWS, *rows]), 2)["vm"]["idle_percent"]
    assert (idle["qemu_more"], idle["qemu_more_spread"]) == (0.1, {"min": 0.1, "max": 10.1})


def test_a_turn_without_the_guest_alone_on_both_sides_says_nothing() -> None:
    rows = idle_turns([2.0] * 19, (0.1, 0.1, 0.1))
    lost = [one for at, one in enumerate(rows) if at not in (0, 4)]
    idle = {
        way: one["idle_percent"]["qemu_more_seconds"]
        for way, one in answered(Rows([*IDLE_ROWS, *lost]), 2).items()
        if way.startswith("vm")
    }
    assert idle == {"vm": 25, "vm_execbuffer": 25, "vm_02": 25}
    verdicts = {one.target.figure: one.too_short for one in judged(answered(Rows([*IDLE_ROWS, *lost]), 2))}
    assert verdicts["vm.idle_percent.qemu_more"]


def test_idle_worker_that_nobody_saw_is_not_taken_for_an_idle_one() -> None:
    idle = {"phase": "idle vm", "subject": "vm/copied", "name": "idle", "cpu_ns": 0, "ns": 60_000_000_000}
    answer = answered(Rows([*IDLE_ROWS[:1], idle]), 2)
    assert "worker" not in answer["vm"]["idle_percent"]
    verdicts = {one.target.figure: one.met for one in judged(answer)}
    assert verdicts["vm.idle_percent.guest"] is True
    assert verdicts["vm.idle_percent.worker"] is None
