"""Why a guest is gone: what QEMU ended with, or, if it has not, what its console told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lab.deadline import Deadline, poll
from lab.errors import AbnormalShutdown, GuestError, GuestLost, WaitTimeout
from lab.guest.console import TAIL_LINES, Ready
from lab.process import Child, spawn
from lab.qemu import machine
from lab.qemu.boot import LaunchPlan
from lab.qemu.machine import Guest, Machine, _require_capsets, _require_clock, _require_processors, taken_down
from lab.qemu.processes import Process

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
    awaited: list[Child] = []

    def noted(child: Child, really: Callable[[Child], int | None] = machine._exit_status) -> int | None:
        awaited.append(child)
        return really(child)

    monkeypatch.setattr(machine, "EXIT_S", 0.1)
    monkeypatch.setattr(machine, "_exit_status", noted)
    with spawn(["sleep", "60"], log=tmp_path / "qemu.log") as child:
        lost = Machine(PLAN, child)
        lost.console = cast("Any", Told(CLOSED))
        assert [lost.lost(), lost.lost()] == [CLOSED, CLOSED]
        assert awaited == [child]


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


class Qmp:
    """QMP of a QEMU that does not quit when it is asked to, for this reason."""

    def __init__(self, error: GuestError) -> None:
        self.error = error

    def execute(self, _command: str, *, deadline: Deadline) -> None:
        assert not deadline.expired
        raise self.error


FAMILY = ("sh", "-c", "sleep 60 & wait")


def sleeping(running: Machine) -> list[Process]:
    """The process below the machine's own, when it has become what it is to be."""
    return poll("the family", lambda: [one for one in running.tree() if one.name == "sleep"], Deadline.after(10))


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (WaitTimeout("QMP quit", 15.0), "QEMU did not quit when asked and was ended by signal (QMP quit)"),
        (GuestLost("QMP ended"), "QEMU hung up but runs on, and was ended by signal (QMP ended)"),
    ],
)
def test_qemu_that_does_not_quit_is_ended_with_all_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: GuestError, told: str
) -> None:
    monkeypatch.setattr(machine, "EXIT_S", 0.1)
    with spawn(FAMILY, log=tmp_path / "qemu.log") as child:
        running = Machine(PLAN, child)
        (below,) = sleeping(running)
        assert list(machine._take_down(running, cast("Any", Qmp(error)))) == [told]
        assert (child.exit_status() is None, below.alive()) == (False, False)


def test_qemu_that_hangs_up_and_ends_is_no_complaint(tmp_path: Path) -> None:
    with spawn(("sh", "-c", "sleep 0.2"), log=tmp_path / "qemu.log") as child:
        assert list(machine._take_down(Machine(PLAN, child), cast("Any", Qmp(GuestLost("it hung up"))))) == []


def test_what_outlives_qemu_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "GONE_S", 0.1)
    monkeypatch.setattr(machine, "_quit", lambda *_: "")
    monkeypatch.setattr(machine, "end_group", lambda _: None)
    with spawn(FAMILY, log=tmp_path / "qemu.log") as child:
        running = Machine(PLAN, child)
        (below,) = sleeping(running)
        assert list(machine._take_down(running, cast("Any", None))) == [f"processes survived: sleep ({below.pid})"]


def test_guest_kills_and_tells_of_what_is_its_machines_own(tmp_path: Path) -> None:
    names = ("bwrap", "qemu-system-x86", "apir-worker", "virgl_render_se", "virgl_render_se", "apir-worker-2")
    tree = tuple(Process(pid, 1, name, 0) for pid, name in enumerate(names, start=2**22))
    unknown = cast("Any", None)
    guest = Guest(unknown, unknown, 1.0, 22, unknown, unknown, cast("Any", SimpleNamespace(tree=lambda: tree)), "guest")
    assert (guest.worker_pids(), guest.render_server_pids()) == ((2**22 + 2,), (2**22 + 3, 2**22 + 4))
    assert replace(guest, worker="virgl_render_server").worker_pids() == (2**22 + 3, 2**22 + 4), "Linux tells 15 letters of a name"
    with spawn(("sleep", "60"), log=tmp_path / "log") as child:
        with pytest.raises(GuestError, match=f"process {child.pid} is none of this guest's machine"):
            guest.kill(child.pid)
        assert child.exit_status() is None
    with pytest.raises(GuestError, match=f"process {2**22 + 2} of this guest's machine has ended by itself"):
        guest.kill(2**22 + 2)


def test_guest_that_has_run_for_longer_than_its_machine_has_a_wrong_clock() -> None:
    _require_clock(Ready("6.12", (), (), 2, 30.5), 30.0)
    with pytest.raises(GuestError, match=r"clock is too fast: it says that it has run for 179\.6 s, QEMU has for 30\.0 s"):
        _require_clock(Ready("6.12", (), (), 2, 179.61), 30.0)


@pytest.mark.parametrize("cpus", [1, 3])
def test_guest_that_uses_other_processors_than_it_was_given_is_not_ready(cpus: int) -> None:
    ready = Ready("6.12", (), (), cpus, 1.0)
    told = "\n".join(("smpboot: do_boot_cpu failed(-1) to wakeup CPU#1", *map(str, range(TAIL_LINES - 1))))
    booting = cast("Any", SimpleNamespace(serial_tail=lambda: told))
    _require_processors(ready, cpus, booting)
    with pytest.raises(GuestError, match=f"the guest uses {cpus} of its 2 processors\n  its console:\n    smpboot: do_boot_cpu"):
        _require_processors(ready, 2, booting)


@pytest.mark.parametrize("said", ["virgl failed\n", "\n"])
@pytest.mark.parametrize("capsets", [(1, 2), (1, 2, 4, 10), ()])
def test_guest_with_other_capsets_is_not_ready(capsets: tuple[int, ...], said: str) -> None:
    spec = cast("Any", SimpleNamespace(expected_capsets=lambda: (1, 2, 4)))
    console, child = SimpleNamespace(troubles=("no module x",)), SimpleNamespace(log_tail=lambda: said)
    booting = cast("Any", SimpleNamespace(console=console, child=child))
    _require_capsets(spec, Ready("6.12", (1, 2, 4), (), 2, 1.0), booting, 3.0)
    with pytest.raises(WaitTimeout, match=r"the capsets \[1, 2, 4\] in the guest") as told:
        _require_capsets(spec, Ready("6.12", capsets, ("renderD128",), 2, 1.0), booting, 3.0)
    assert told.value.last_seen == f"capsets {list(capsets)}, render nodes ['renderD128']\nno module x" + (
        "\nQEMU and its libraries said:\nvirgl failed" if said.strip() else ""
    )
