"""How a benchmark is carried out: whom it asks for what, what it leaves where it fails, and how its targets are told."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.bench.answer import Answer
from lab.bench.standard import FULL, QUICK, Effort
from lab.bench.targets import Target, verdict
from lab.bundle.schema import BENCH, BenchRecord
from lab.bundle.writer import new_bundle
from lab.deadline import Deadline
from lab.errors import GuestLost, LabError
from lab.scenario import checks
from lab.scenario.checks.bench import OTHER_LIBRARY, Bench, check_bench, target_record, untravelled
from lab.scenario.model_bench import BenchCheck
from tests.scenario.test_bench_check import Shell, staged, writer_of

WORD = {"phase": "calls", "subject": "floors", "name": "word", "ns": [500]}


class Failing(Shell):
    """A guest whose driver ends with a status, or is lost, in the middle of a phase."""

    def __init__(self, lost: LabError | None) -> None:
        super().__init__()
        self.lost = lost

    def stream(self, command: str, on_line: Callable[[str], None], deadline: Deadline) -> int:
        super().stream(command, on_line, deadline)
        for row in (WORD, {**WORD, "name": "submission", "ns": [30_000]}):
            on_line(json.dumps(row))
        if self.lost is not None:
            raise self.lost
        return 3


@pytest.mark.parametrize(("lost", "told"), [(None, r"ended with status 3: pid 7"), (GuestLost("it is gone"), "it is gone")])
def test_rows_of_a_guest_that_fails_are_kept(tmp_path: Path, lost: LabError | None, told: str) -> None:
    check = BenchCheck.model_validate({"kind": "bench", "places": ["vm"]})
    with new_bundle(tmp_path, "bench") as bundle, pytest.raises(LabError, match=told):
        check_bench(staged(tmp_path, Failing(lost)), check, writer_of(bundle), Deadline.after(60))
    record = BenchRecord.model_validate_json((tmp_path / BENCH).read_text(encoding="utf-8"))
    assert (record.answer["floor_us"]["p50"], record.answer["ioctl_us"]["p50"]) == (0.5, 30.0)


def test_check_has_no_longer_than_it_says(tmp_path: Path) -> None:
    given: list[Deadline] = []

    class Asked(Shell):
        def stream(self, command: str, on_line: Callable[[str], None], deadline: Deadline) -> int:
            given.append(deadline)
            return super().stream(command, on_line, deadline)

    check = BenchCheck.model_validate({"kind": "bench", "places": ["vm"], "deadline_s": 9})
    with new_bundle(tmp_path, "bench") as bundle:
        check_bench(staged(tmp_path, Asked()), check, writer_of(bundle), Deadline.after(3600))
    (deadline,) = given
    assert deadline.remaining_s <= 9


def test_rows_of_a_loopback_that_fails_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tmp_path / "bench-loopback.jsonl"

    def finish(*_: object, **__: object) -> Any:
        rows.write_text(f"{json.dumps(WORD)}\n")
        return SimpleNamespace(exit_status=1, output="no such file")

    file = SimpleNamespace(inside="/own.so", path=Path("/own.so"), of_machine=False)
    root = SimpleNamespace(enter=lambda *_, **__: ())
    shipment = SimpleNamespace(host_library=file, ggml_library=file)
    stage: Any = SimpleNamespace(
        logs=tmp_path,
        host_variables={},
        ingredients=SimpleNamespace(tools=tmp_path, shipment=shipment, root=root),
        variant=SimpleNamespace(scenario=SimpleNamespace(host=SimpleNamespace(environment={}))),
    )
    monkeypatch.setattr(checks.bench, "outside", lambda *_, **__: SimpleNamespace(binds=()))
    monkeypatch.setattr(checks.bench, "finish", finish)
    bench = Bench(stage, BenchCheck.model_validate({"kind": "bench", "places": ["loopback"]}))
    with pytest.raises(LabError, match="the loopback benchmark ended with status 1: no such file"):
        bench.loopback((), Deadline.after(60))
    assert (bench.rows, rows.exists()) == ([WORD], False)


@pytest.mark.parametrize(
    ("asked", "effort"),
    [({}, FULL), ({"idle_s": 9.0}, replace(FULL, idle_s=9.0)), ({"effort": "quick"}, QUICK)],
)
def test_effort_is_what_the_file_asks_for(asked: dict[str, Any], effort: Effort) -> None:
    assert Bench(None, BenchCheck(kind="bench", **asked)).effort == effort  # type: ignore[arg-type] # nothing of a stage is asked


def test_only_parts_that_are_asked_for_are_measured(tmp_path: Path) -> None:
    check = BenchCheck.model_validate({"kind": "bench", "parts": ["calls", "idle"]})
    phases = Bench(staged(tmp_path, Shell()), check).vm_phases()
    assert {one.name.split()[0] for one in phases} == {"calls", "idle"}
    assert not [one for phase in phases for one in phase.subjects if one.name.startswith("vm_other")]


@pytest.mark.parametrize(("library", "path"), [("host_library", None), ("guest_library", OTHER_LIBRARY)])
def test_second_implementation_is_either_library(tmp_path: Path, library: str, path: str | None) -> None:
    check = BenchCheck(kind="bench").model_copy(update={library: "/their.so"})
    (phase,) = (one for one in Bench(staged(tmp_path, Shell()), check).vm_phases() if one.name == "calls")
    theirs = {one.environment.get("GGML_BACKEND_PATH") for one in phase.subjects if one.name.startswith("vm_other/")}
    assert theirs == {path}


@pytest.mark.parametrize(("load", "busy"), [(0.4, False), (0.6, True)])
def test_busy_machine_is_warned_of_by_its_cores(tmp_path: Path, load: float, *, busy: bool) -> None:
    cores = os.cpu_count() or 1
    told = list(Bench(staged(tmp_path, Shell()), BenchCheck(kind="bench"), load_before=load * cores).warnings())
    assert [text.startswith("the machine was busy: load ") for text in told] == [True] * busy


def test_worker_is_looked_at_before_its_program_may_end(tmp_path: Path) -> None:
    shell = Shell()
    stage = staged(tmp_path, shell)
    looked_at: list[int] = []
    stage.guest.worker_pids = lambda: looked_at.append(len(shell.ran)) or ()
    bench = Bench(stage, BenchCheck(kind="bench"))
    with contextlib.ExitStack() as libraries:
        bench.on_line('{"event": "ends", "name": "nobody began"}', libraries)
        for event in ("begins", "ends"):
            bench.on_line(json.dumps({"event": event, "name": "idle"}), libraries)
    assert (looked_at, len(shell.ran)) == ([1, 2], 3)


@pytest.mark.parametrize(("name", "commands"), [("get_4b", 2), ("graph_1", 2), ("graph_1", 0.5)])
def test_small_call_that_is_not_one_command_is_told(name: str, commands: float) -> None:
    (told,) = untravelled({"vm": {"sent": {"copied": {name: {"commands": commands}}}}})
    assert told.startswith(f"vm: {name} sends {commands:g} commands")


def test_failures_are_among_the_warnings(tmp_path: Path) -> None:
    rows = [{"phase": "calls", "subject": "vm/copied", "name": "empty", "error": "it hung"}]
    assert Bench(staged(tmp_path, Shell()), BenchCheck(kind="bench"), rows, load_before=0.0).record().warnings == (
        "vm/copied empty: it hung",
    )


def test_record_tells_of_the_machine_and_of_what_a_second_implementation_does_not_send(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 77)
    monkeypatch.setattr(os, "getloadavg", lambda: (5.5, 1.0, 1.0))
    monkeypatch.setattr(checks.bench, "unsent_by_second", lambda _answer: iter(("nothing is sent",)))
    record = Bench(staged(tmp_path, Shell()), BenchCheck(kind="bench"), load_before=2.5).record()
    assert (record.cores, record.load_before, record.load_after) == (77, 2.5, 5.5)
    assert record.warnings == ("nothing is sent",)


IDLE = Target("idle", "idle.guest", 0.5, unit="% of a core", over="idle.seconds", least_s=59)


@pytest.mark.parametrize(
    ("target", "answer", "expected", "seen", "bound"),
    [
        (Target("call", "e.p50", 5), {}, "≤ 5 µs", "not measured", None),
        (Target("call", "e.p50", 5), {"e": {"p50": 4.0, "spread": {"min": 3.0}}}, "≤ 5 µs", "4 µs, 3 when quietest", 5),
        (Target("share", "s", 0.5, at_least=True, unit=""), {"s": 0.25}, "≥ 0.5", "0.25", 0.5),
        (IDLE, {"idle": {"guest": 9.0, "seconds": 3.0}}, "≤ 0.5 % of a core", "9 % of a core in less than 59 s", 0.5),
        (
            Target("set", "r", 0.8, "copy.1", at_least=True, unit="GiB/s"),
            {"r": 2.0},
            "≥ 0.8 times the best copy loop",
            "2 GiB/s",
            None,
        ),
    ],
)
def test_target_tells_its_bound_and_what_was_seen(
    target: Target, answer: Answer, expected: str, seen: str, bound: float | None
) -> None:
    record = target_record(verdict(target, answer))
    assert (record.expected, record.seen_text, record.bound) == (expected, seen, bound)
