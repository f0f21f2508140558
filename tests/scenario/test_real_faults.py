"""A fault that was never brought about, in a real guest, must not pass; those that are, are ``scenarios/faults.toml``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.bundle import read_bundle
from lab.deadline import Deadline
from lab.process import finish

pytestmark = pytest.mark.scenario

RUN_S = 240.0
LAB = (sys.executable, "-c", "from lab.cli import main; main()")
HEALTHY = """\
name = "healthy"

[[checks]]
kind = "fault"
fault = "no-device"

[[checks]]
kind = "fault"
fault = "cpu-host-library"
"""


def lab_run(scenario: Path, out: Path) -> tuple[int, dict[str, Any]]:
    done = finish((*LAB, "run", str(scenario), "--out", str(out), "--json"), deadline=Deadline.after(RUN_S))
    answer: dict[str, Any] = json.loads(done.output.splitlines()[-1])
    return done.exit_status, answer


def test_fault_that_was_not_brought_about_does_not_pass(tmp_path: Path) -> None:
    path = tmp_path / "healthy.toml"
    path.write_text(HEALTHY)
    status, answer = lab_run(path, tmp_path / "runs")
    bundle = read_bundle(Path(answer["dir"]))
    told = [row.text for row in bundle.findings]
    assert status == 1, told
    assert [row.outcome for row in bundle.cases] == ["fail", "pass"], told
    assert not any(path.is_symlink() for path in bundle.folder.rglob("*"))
    assert [text.partition(": expected")[0] for text in told] == ["no-device: message", "no-device: remote device"]
