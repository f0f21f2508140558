"""A kernel that trips over a breakpoint which it has taken out again: that comes of the emulator alone, and not of KVM."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest

from lab.bundle.schema import CapabilityRecord, Status
from lab.errors import GuestLost
from tests.scenario.fakes import HEADER_LINE, TEXTS, Script, die, row
from tests.scenario.small_runs import Running, texts, variant
from tests.scenario.test_catalog_check import FakeHost, opening, said
from tests.scenario.upstream_runs import LISTED

REASON = "kernel oops: [    2.078183] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI"
ACCELS = pytest.mark.parametrize(("accel", "blame"), [("tcg", "lab"), ("kvm", "product")])
BROKEN = {
    "state": "",
    "ops": 'ops = ["ADD", "MUL"]\nmin_cases = 3\n',
    "upstream": "",
    "catalog": 'cases = ["ADD()", "MUL()"]\n',
    "fault": 'fault = "no-device"\n',
}
"""Checks, and what they need to be told."""


def scenario(kind: str, accel: str) -> str:
    return f'name = "small"\ntimeout_s = 60\n[host]\naccel = "{accel}"\n[[checks]]\nkind = "{kind}"\n{BROKEN[kind]}'


def dying(kind: str) -> Script:
    """The guest dies when the check's program runs; with a check of the state alone behind all checks."""
    script = Script(capabilities=(CapabilityRecord(name="kvm", ok=True, probed="a guest booted"),), listed=LISTED, host=FakeHost())
    death = die(script, REASON)

    def steps(_cases: Sequence[str], _command: str) -> Iterable[str | Callable[[], None]]:
        return (opening(), said("ADD()"), death)

    def program(_command: str, _on_line: Callable[[str], None]) -> int:
        death()
        return 0

    script.agent = steps
    script.ops = (HEADER_LINE, row(TEXTS[0]), death)
    script.program = program if kind in {"fault", "upstream"} else None
    script.exit_error = GuestLost(REASON) if kind == "state" else None
    return script


@ACCELS
@pytest.mark.parametrize("kind", BROKEN)
def test_guest_that_dies_of_it_is_the_labs_where_it_was_emulated(running: Running, kind: str, accel: str, blame: str) -> None:
    bundle = running(dying(kind), scenario(kind, accel))
    assert {finding.blame for finding in bundle.findings} == {blame}, texts(bundle)
    assert bundle.run.exit == (2 if blame == "lab" else 1)


@ACCELS
@pytest.mark.parametrize("kind", ["ops", "catalog"])
def test_case_that_was_next_is_told_by_what_ended_it_and_blamed_as_its_finding_is(
    running: Running, kind: str, accel: str, blame: str
) -> None:
    bundle = running(dying(kind), scenario(kind, accel))
    assert [one.outcome for one in bundle.cases] == ["pass", "guest crash"]
    assert [one.message for one in bundle.cases] == ["", REASON]
    assert variant(bundle, bundle.run.variants[0].variant).cases.error == 1
    assert variant(bundle, bundle.run.variants[0].variant).status is (Status.ERROR if blame == "lab" else Status.FAILED)
    assert f"interrupted [{blame}] guest crash: {REASON}; " in texts(bundle)


@ACCELS
def test_guest_that_dies_of_it_at_its_boot_is_the_labs_where_it_was_emulated(running: Running, accel: str, blame: str) -> None:
    bundle = running(Script(boot_error=GuestLost(REASON), capabilities=dying("ops").capabilities), scenario("ops", accel))
    assert f"not started [{blame}] the guest was lost: {REASON}" in texts(bundle)
    assert bundle.run.exit == (2 if blame == "lab" else 1)
