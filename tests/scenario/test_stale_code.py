"""A kernel that trips over a breakpoint which it has taken out again: that comes of the emulator alone, and not of KVM."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence

import pytest

from lab.bundle.schema import CapabilityRecord, Status
from lab.errors import GuestLost
from reports import rendered_report
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


def test_boot_that_ends_of_it_is_tried_once_more_and_told(running: Running) -> None:
    script = Script(boot_errors=[GuestLost(REASON)])
    bundle = running(script)
    assert (bundle.run.exit, texts(bundle), script.boots) == (0, "", 2)
    assert [(one.lost, one.boot_s) for one in bundle.run.boots] == [(REASON, None), ("", 9.5)]
    assert [one.boot for one in bundle.run.variants] == [1, 1]
    logs = bundle.folder / variant(bundle).logs
    assert [(logs / f"serial{which}.log").read_text()[:25] for which in ("-lost", "")] == [
        "[ 0.1] hello from boot 1\n",
        "[ 0.1] hello from boot 2\n",
    ]
    assert f"lost by the emulator: {REASON}" in html.unescape(rendered_report(bundle.folder).read_text())


@pytest.mark.parametrize(
    ("accel", "reason", "boots", "blame"),
    [
        ("tcg", REASON, 2, "lab"),
        ("kvm", REASON, 1, "product"),
        ("tcg", "kernel panic: fatal exception", 1, "product"),
        ("tcg", "QEMU ended with exit status -9", 1, "lab"),
    ],
)
def test_boot_is_tried_no_third_time_and_for_nothing_else(
    running: Running, accel: str, reason: str, boots: int, blame: str
) -> None:
    script = Script(boot_error=GuestLost(reason), capabilities=dying("ops").capabilities)
    bundle = running(script, scenario("ops", accel))
    assert (script.boots, len(bundle.run.boots)) == (boots, boots)
    assert f"not started [{blame}] the guest was lost: {reason}" in texts(bundle)
    assert bundle.run.exit == (2 if blame == "lab" else 1)


def test_guest_that_dies_of_it_when_it_has_booted_is_not_booted_again(running: Running) -> None:
    script = dying("ops")
    bundle = running(script, scenario("ops", "tcg"))
    assert (script.boots, bundle.run.boots[0].lost, bundle.run.exit) == (1, "", 2)
