"""Why a guest is gone: what QEMU ended with, or, if it has not, what its console told."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from lab.process import spawn
from lab.qemu import machine
from lab.qemu.boot import LaunchPlan
from lab.qemu.machine import Machine

CLOSED = "the serial console was closed, so QEMU has ended"
PLAN = LaunchPlan((), (), ())


@dataclass
class Told:
    """A console that has told this much."""

    lost: str | None


@pytest.mark.parametrize(
    ("script", "told", "reason"),
    [
        ("sleep 0.3; exit 139", CLOSED, "QEMU ended with exit status 139"),
        ("sleep 60", "kernel panic", "kernel panic"),
        ("sleep 60", None, None),
    ],
)
def test_status_is_told_even_where_the_console_closes_first(
    tmp_path: Path, script: str, told: str | None, reason: str | None
) -> None:
    with spawn(["sh", "-c", script], log=tmp_path / "qemu.log") as child:
        lost = Machine(PLAN, child)
        lost.console = cast("Any", Told(told))
        assert lost.lost() == reason


def test_qemu_that_only_hangs_up_is_awaited_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "EXIT_S", 0.5)
    with spawn(["sh", "-c", "exec sleep 60"], log=tmp_path / "qemu.log") as child:
        lost = Machine(PLAN, child)
        lost.console = cast("Any", Told(CLOSED))
        assert lost.lost() == CLOSED
        started = time.monotonic()
        assert lost.lost() == CLOSED
        assert time.monotonic() - started < 0.4
