"""Why a guest is gone: what QEMU ended with, or, if it has not, what its console told."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lab.deadline import Deadline
from lab.errors import AbnormalShutdown
from lab.process import spawn
from lab.qemu import machine
from lab.qemu.boot import LaunchPlan
from lab.qemu.machine import Machine, taken_down

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


def test_kernel_that_died_is_the_reason_though_qemu_ends_behind_it(tmp_path: Path) -> None:
    with spawn(["true"], log=tmp_path / "qemu.log") as child:
        child.wait(Deadline.after(10))
        lost = Machine(PLAN, child)
        lost.console = cast("Any", Told("kernel panic"))
        assert lost.lost() == "kernel panic"


def test_connection_to_a_guest_that_is_lost_already_is_cut_at_once(tmp_path: Path) -> None:
    closed: list[bool] = []
    with spawn(["sleep", "60"], log=tmp_path / "qemu.log") as child:
        lost = Machine(PLAN, child)
        lost.console = cast("Any", Told("kernel panic"))
        lost.cut_on_loss(cast("Any", SimpleNamespace(close=lambda: closed.append(True))))
    assert closed == [True]


def test_what_survives_is_raised_or_added_to_the_error_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_take_down", lambda *_: iter(["processes survived: x (7)"]))
    with pytest.raises(AbnormalShutdown, match="processes survived: x"), taken_down(cast("Any", None), cast("Any", None)):
        pass
    with pytest.raises(KeyError) as caught, taken_down(cast("Any", None), cast("Any", None)):
        raise KeyError
    assert ["processes survived: x (7)" in note for note in caught.value.__notes__] == [True]
