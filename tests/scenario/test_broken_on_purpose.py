"""Variants with checks that break something: what those did to calls proves nothing, and all other calls are judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lab.apir.protocol_gen import ReturnCode
from lab.bundle import Bundle
from lab.bundle.outcome import FindingKind
from lab.bundle.reader import told_calls
from tests.scenario.fakes import HEADER_LINE, SCENARIO, TEXTS, Script, row
from tests.scenario.small_runs import run_small

FAULT = """
[[checks]]
kind = "fault"
fault = "no-device"
"""
ALONE = f"""\
name = "small"
{FAULT}"""
SURVIVOR = "survivor.py"


def run_one(folder: Path, script: Script, text: str = SCENARIO + FAULT) -> Bundle:
    return run_small(folder, script, text, variants=("venus",) if "matrix" in text else ())


def kinds(bundle: Bundle) -> set[str]:
    return {row.finding for row in bundle.findings if row.check != "fault"}


def playing(of_fault: Callable[[], None]) -> Callable[[str, Callable[[str], None]], int]:
    """A guest whose programs do what they should; ``of_fault`` happens when ``test-backend-ops`` is through."""

    def program(command: str, on_line: Callable[[str], None]) -> int:
        if SURVIVOR not in command:
            for line in (HEADER_LINE, *(row(text) for text in TEXTS)):
                on_line(line)
            of_fault()
        return 0

    return program


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (Script(guest_records=0, host_records=0), FindingKind.NO_CALLS),
        (Script(guest_records=4), FindingKind.CALLS_DIFFER),
        (Script(capset=10), FindingKind.WRONG_CAPSET),
        (Script(last_status=ReturnCode.WORKER_LOST), FindingKind.WORKER_LOST),
    ],
)
def test_a_fault_check_hides_nothing_of_the_other_checks(tmp_path: Path, script: Script, kind: FindingKind) -> None:
    assert kind in kinds(run_one(tmp_path, script))


@pytest.mark.parametrize(("name", "value"), [("host_records", 3), ("capset", 10), ("last_status", ReturnCode.WORKER_LOST)])
def test_calls_of_a_fault_check_are_kept_and_prove_nothing(tmp_path: Path, name: str, value: int) -> None:
    script = Script()
    script.program = playing(lambda: setattr(script, name, value))
    bundle = run_one(tmp_path, script)
    assert kinds(bundle) == set(), [row.text for row in bundle.findings]
    (one,) = bundle.run.variants
    assert len(told_calls(bundle.calls)) == one.calls.count == 2 * 5


def test_the_listing_of_a_variant_that_is_all_broken_proves_nothing(tmp_path: Path) -> None:
    assert kinds(run_one(tmp_path, Script(listing_records=2), ALONE)) == set()


def test_the_listing_of_any_other_variant_is_judged(tmp_path: Path) -> None:
    assert kinds(run_one(tmp_path, Script(listing_records=2))) == {FindingKind.CALLS_DIFFER}
