"""The verdict on a fault's handling: what is right passes, and every single thing that can be wrong is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.bundle import read_bundle
from lab.deadline import Deadline
from lab.errors import GuestError, GuestLost, LaunchError
from lab.paths import SCENARIOS
from lab.scenario.checks.fault import Killing, Neighbour, Seen, Told, answers, judged, judged_refusal
from lab.scenario.faults import EXPECTATIONS, Fault
from lab.scenario.listener import SilentListener
from lab.scenario.model_checks import FaultCheck
from lab.scenario.plan import Choice, planned
from lab.scenario.runner import run
from lab.scenario.switches import Switches, laid
from tests.scenario.fakes import FakePlatform, Script

LOST = "ggml-virtgpu: device lost: the host's worker process has ended; every later call fails"
EVENTS: tuple[dict[str, Any], ...] = (
    {"event": "loaded", "load_s": 0.02, "devices": []},
    {"event": "remote", "right": True},
    {"event": "computing", "graphs": 0},
    {"event": "lost", "status": -1, "graphs": 1},
    {"event": "again", "right": True},
    {"event": "cpu", "right": True},
)
UNHARMED = Neighbour(5, 40, 0, 0)


def seen(**changes: Any) -> Seen:
    events = [{**event, **changes.pop(event["event"], {})} for event in EVENTS]
    said = changes.pop("said", [LOST])
    status = changes.pop("status", 0)
    without = changes.pop("without", "")
    told = Told(events=[event for event in events if event["event"] != without], said=said, status=status)
    return replace(Seen(told, 0.02, under_way=True, alive=True, killed=1, neighbour=UNHARMED), **changes)


def wrong(fault: Fault, what: Seen) -> list[str]:
    return [point.name for point in judged(fault, what) if not point.ok]


def test_every_fault_has_an_expectation_and_a_check() -> None:
    (plan,) = planned([SCENARIOS / "faults.toml"], Choice())
    checks = [check for variant in plan.variants for check in variant.scenario.checks]
    assert set(EXPECTATIONS) == set(Fault) == {check.fault for check in checks if isinstance(check, FaultCheck)}


def test_what_a_library_prints_is_no_event() -> None:
    told = Told()
    noise = ("pid of the daemon: 12", "{ggml_virtgpu: closing}", '{"level":"info"}', '{"event":"lost"}', '{"event":["lost"]}')
    for line in ("pid 7\n", *(f"{one}\n" for one in noise), '{"event": "lost", "status": -1, "graphs": 1}\n', "pid 8\n"):
        told.feed(line)
    assert (told.pid, told.events) == (7, [{"event": "lost", "status": -1, "graphs": 1}])
    assert told.said == [*noise, "pid 8"]


def test_killed_worker_that_is_handled_well_passes() -> None:
    assert wrong(Fault.WORKER_KILLED, seen()) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"said": ["something failed"]}, ["message"]),
        ({"said": []}, ["message"]),
        ({"waited_s": 1.6}, ["wait"]),
        ({"waited_s": None}, ["wait"]),
        ({"status": 134}, ["end of the program"]),
        ({"status": None}, ["end of the program"]),
        ({"cpu": {"right": False}}, ["ADD on its CPU backend"]),
        ({"without": "cpu"}, ["ADD on its CPU backend"]),
        ({"remote": {"right": False}}, ["ADD on the remote device"]),
        ({"killed": 0}, ["processes killed"]),
        ({"under_way": False}, ["moment of the kill"]),
        ({"lost": {"status": 0}}, ["graph under way"]),
        ({"without": "lost"}, ["graph under way"]),
        ({"again": {"right": False}}, ["ADD on that device, all of it freed"]),
        ({"without": "again"}, ["ADD on that device, all of it freed"]),
        ({"alive": False}, ["QEMU and its guest"]),
        ({"neighbour": None}, ["another context"]),
        ({"neighbour": Neighbour(5, 5, 0, 0)}, ["another context"]),
        ({"neighbour": Neighbour(0, 5, 0, 0)}, ["another context"]),
        ({"neighbour": Neighbour(5, 9, 1, 0)}, ["another context"]),
        ({"neighbour": Neighbour(5, 9, 0, 139)}, ["another context"]),
    ],
)
def test_killed_worker_that_is_handled_badly_is_told(changes: dict[str, Any], expected: list[str]) -> None:
    assert wrong(Fault.WORKER_KILLED, seen(**changes)) == expected


def test_programs_own_worker_alone_is_killed_once_in_the_graph_that_must_fail() -> None:
    workers, killed = [3], list[int]()
    stage: Any = SimpleNamespace(guest=SimpleNamespace(worker_pids=lambda: tuple(workers), kill=killed.append))
    killing = Killing(stage, Fault.WORKER_KILLED)
    told = Told(killing.on_event)
    workers.append(9)
    for line in ('{"event": "computing", "graphs": 4}', '{"event": "computing", "graphs": 5}'):
        told.feed(line)
    assert killed == [9]
    for graphs, under_way in ((5, True), (4, False), (6, False)):
        told.feed(f'{{"event": "lost", "status": -1, "graphs": {graphs}}}')
        assert killing.in_graph(told) is under_way
    assert killing.waited_s is not None


def test_worker_that_has_ended_by_itself_is_none_that_was_killed() -> None:
    def kill(_pid: int) -> None:
        raise GuestError("it has ended by itself")

    workers = list[int]()
    stage: Any = SimpleNamespace(guest=SimpleNamespace(worker_pids=lambda: tuple(workers), kill=kill))
    killing = Killing(stage, Fault.WORKER_KILLED)
    workers.append(9)
    Told(killing.on_event).feed('{"event": "computing", "graphs": 0}')
    assert killing.killed == 0


@pytest.mark.parametrize(("alive", "status", "well"), [(True, 0, True), (False, 0, False), (True, 1, False), (True, None, False)])
def test_guest_is_well_that_runs_and_does_what_it_is_asked_to(alive: bool, status: int | None, *, well: bool) -> None:
    def execute(_command: str, _deadline: Deadline) -> tuple[int, str]:
        if status is None:
            raise GuestLost("it says nothing")
        return status, ""

    guest = SimpleNamespace(alive=lambda: alive, ssh=SimpleNamespace(execute=execute))
    stage: Any = SimpleNamespace(guest=guest, accel="tcg")
    assert answers(stage) is well


def test_fault_before_any_device_must_leave_none() -> None:
    told = seen(said=["ggml-virtgpu: backend not available: no render node of a virtio-gpu device in /dev/dri"])
    assert wrong(Fault.NO_DEVICE, told) == ["remote device"]


def test_fault_that_is_not_felt_must_not_be_talked_of() -> None:
    assert wrong(Fault.RENDER_SERVER_KILLED, seen(said=[])) == []
    assert wrong(Fault.RENDER_SERVER_KILLED, seen()) == ["message"]
    assert wrong(Fault.RENDER_SERVER_KILLED, seen(said=[], killed=0)) == ["processes killed"]


def test_wait_is_limited_by_the_handshakes_two_seconds() -> None:
    said = [
        "no answer to the handshake within 2000 ms: the host has no APIR component, or VIRGL_ROUTE_VENUS_TO_APIR is not set there"
    ]
    assert wrong(Fault.ROUTE_NOT_SET, seen(said=said, without="remote", waited_s=2.02)) == []
    assert wrong(Fault.ROUTE_NOT_SET, seen(said=said, without="remote", waited_s=2.6)) == ["wait"]


def refusal(status: int | None, text: str) -> list[str]:
    return [point.name for point in judged_refusal(Fault.NO_WINDOW, LaunchError(("qemu",), status, text)) if not point.ok]


def test_machine_without_a_window_must_be_refused_with_the_reason() -> None:
    reason = "qemu-system-x86_64: -device virtio-gpu-gl-pci: venus requires enabled blob and hostmem options\n"
    assert refusal(1, reason) == []
    assert refusal(1, "qemu-system-x86_64: no such device") == ["message"]
    assert [refusal(status, reason) for status in (None, 0, -11, 139)] == [["end of QEMU"]] * 4


def test_switches_lead_elsewhere_for_a_while_and_leave_nothing(tmp_path: Path) -> None:
    variables = {"VIRGL_APIR_BACKEND_LIBRARY": "/a/host.so", "APIR_LLAMA_CPP_GGML_LIBRARY_PATH": "/b/ggml.so"}
    switches = Switches.of(variables, tmp_path)
    link = Path(switches.variables["VIRGL_APIR_BACKEND_LIBRARY"])
    with laid(switches):
        assert link.readlink() == Path("/a/host.so")
        with switches.set_to({"host": None}):
            assert not link.is_symlink()
        with switches.set_to({"host": "/etc/passwd"}):
            assert link.readlink() == Path("/etc/passwd")
        assert link.readlink() == Path("/a/host.so")
        assert Path(switches.variables["APIR_LLAMA_CPP_GGML_LIBRARY_PATH"]).readlink() == Path("/b/ggml.so")
    assert list(tmp_path.iterdir()) == []


SCENARIO = """\
name = "window"

[guest]
window_mib = 0

[[checks]]
kind = "fault"
fault = "no-window"
"""


@pytest.fixture
def running(tmp_path: Path) -> Callable[[Script], Any]:
    def run_script(script: Script) -> Any:
        path = tmp_path / "window.toml"
        path.write_text(SCENARIO)
        platform = FakePlatform(script, tmp_path).platform()
        return read_bundle(run(planned([path], Choice()), Choice(), tmp_path / "runs", SilentListener(), platform).folder)

    return run_script


def test_machine_that_is_refused_as_it_must_be_passes(running: Callable[[Script], Any]) -> None:
    error = LaunchError(("qemu",), 1, "venus requires enabled blob and hostmem options")
    bundle = running(Script(boot_error=error))
    assert bundle.run.exit == 0
    assert bundle.run.variants[0].cases.ok == 1


def test_machine_that_is_refused_for_another_reason_or_starts_does_not(running: Callable[[Script], Any]) -> None:
    assert running(Script(boot_error=LaunchError(("qemu",), 1, "out of memory"))).run.exit == 1
    bundle = running(Script())
    assert bundle.run.exit == 1
    assert "QEMU: expected does not start, seen it started" in bundle.findings[0].text


@pytest.mark.parametrize(
    ("fault", "guest", "other"),
    [("no-apir-capset", "", "guest = { capset = 'apir' }\n"), ("no-window", "window_mib = 0\n", "")],
)
def test_variant_about_what_a_machine_lacks_shares_no_boot_with_one_that_needs_it(
    tmp_path: Path, fault: str, guest: str, other: str
) -> None:
    path = tmp_path / "x.toml"
    healthy = f"[[variants]]\nname = 'other'\n{other}checks = [{{ kind = 'state' }}]\n"
    broken = "".join(f"[[variants]]\nname = '{name}'\nchecks = [{{ kind = 'fault', fault = '{fault}' }}]\n" for name in "ab")
    path.write_text(f"name = 'x'\n[guest]\n{guest}{healthy}{broken}")
    (entry,) = planned([path], Choice())
    assert [[one.id for one in group] for group in entry.boots] == [["other"], ["a", "b"]]
