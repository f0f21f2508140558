"""Faults in a guest that goes away, or whose time is over: of what was not seen the product is not blamed."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from lab.deadline import Deadline, poll
from lab.errors import GuestLost, WaitTimeout
from tests.scenario.fakes import FakeShell, Script
from tests.scenario.small_runs import Running, texts

SCENARIO = """\
name = "small"
timeout_s = 60

[[checks]]
kind = "fault"
fault = "no-device"

[[checks]]
kind = "fault"
fault = "route-not-set"
"""
SAID = "ggml-virtgpu: no render node of a virtio-gpu device\n"
OnLine = Callable[[str], None]


def tell(on_line: OnLine, *events: dict[str, object]) -> None:
    on_line(SAID)
    for event in events:
        on_line(json.dumps(event) + "\n")


def well(_command: str, on_line: OnLine) -> int:
    tell(on_line, {"event": "loaded", "load_s": 0.1, "devices": []}, {"event": "cpu", "right": True})
    return 0


def test_fault_that_is_handled_well_passes(running: Running) -> None:
    bundle = running(Script(program=well), SCENARIO.partition('\n[[checks]]\nkind = "fault"\nfault = "route')[0])
    assert (bundle.run.exit, texts(bundle)) == (0, "")


@pytest.mark.parametrize("ends", [True, False], ids=["it ended late", "it did not end"])
def test_scenario_whose_time_is_over_blames_nobody(running: Running, *, ends: bool) -> None:
    asked: list[str] = []

    def program(command: str, on_line: OnLine) -> int:
        asked.append(command)
        try:
            poll("what does not come", lambda: None, Deadline.after(0.5))
        except WaitTimeout:
            if not ends:
                raise
        return well(command, on_line)

    bundle = running(Script(program=program), SCENARIO.replace("timeout_s = 60", "timeout_s = 0.5"))
    assert bundle.run.exit == 2
    assert texts(bundle).startswith("interrupted [lab] the scenario's timeout_s (0.5 s for one boot and all that is checked in it)")
    assert (len(bundle.cases), len(asked)) == (0, 1)


def test_check_whose_own_time_is_over_blames_the_product(running: Running) -> None:
    def program(_command: str, _on_line: OnLine) -> int:
        raise WaitTimeout("the guest command", 90.0)

    bundle = running(Script(program=program), SCENARIO)
    assert bundle.run.exit == 1
    assert "no-device: end of the program: expected status 0, seen it did not end" in texts(bundle)


@pytest.mark.parametrize(
    ("status", "finding", "cases"),
    [
        ("-9", "interrupted [lab] the guest was lost: QEMU ended with exit status -9", []),
        ("-11", "fault mishandled [product] no-device: QEMU and its guest: expected alive, seen lost", ["FAULT(no-device)"]),
    ],
    ids=["killed from outside", "crashed"],
)
def test_guest_that_is_lost_is_told_once(
    running: Running, monkeypatch: pytest.MonkeyPatch, status: str, finding: str, cases: list[str]
) -> None:
    script = Script()
    executed = FakeShell.execute

    def execute(shell: FakeShell, command: str, deadline: Deadline) -> tuple[int, str]:
        if not script.alive:
            raise GuestLost(f"QEMU ended with exit status {status}")
        return executed(shell, command, deadline)

    def program(_command: str, on_line: OnLine) -> int:
        tell(on_line)
        script.alive = False
        raise GuestLost(f"QEMU ended with exit status {status}")

    monkeypatch.setattr(FakeShell, "execute", execute)
    script.program = program
    bundle = running(script, SCENARIO)
    assert (bundle.run.exit, [case.case for case in bundle.cases]) == (1 if cases else 2, cases)
    assert finding in texts(bundle)
    assert "route-not-set" not in texts(bundle), "it was not looked at"


def test_guest_that_is_taken_away_behind_the_program_is_the_labs(running: Running) -> None:
    script = Script()

    def program(command: str, on_line: OnLine) -> int:
        script.alive = False
        return well(command, on_line)

    script.program = program
    bundle = running(script, SCENARIO)
    assert (bundle.run.exit, len(bundle.cases)) == (2, 0)
    assert texts(bundle).startswith("interrupted [lab] the guest was lost: QEMU ended with exit status -9")
