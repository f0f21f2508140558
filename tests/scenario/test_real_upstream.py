"""Sweeps of test-backend-ops in a real guest: killed in the middle and gone on with; on the host's Vulkan library."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lab.bundle import read_bundle
from lab.bundle.schema import Status
from lab.deadline import Deadline, poll
from lab.errors import HostError
from lab.paths import PROJECT
from lab.process import finish, spawn

pytestmark = pytest.mark.scenario

RUN_S = 420.0
BOOT_S = 600.0
LAB = (sys.executable, "-c", "from lab.cli import main; main()")
SCENARIO = """\
name = "sweep"
timeout_s = 400

[[checks]]
kind = "upstream"
ops = ["ADD", "MUL", "SUB", "SCALE", "CONV_3D"]
patterns = [
    'type=f(32|16),ne=\\[10,5,',
    'type=f32,ne=\\[10,10,10,10\\],scale=',
    # eight cases of one text
    'N=1,IC=1,ID=18,IH=22,IW=20,OC=1,KD=3,KH=1,KW=5,s0=2,s1=1,s2=1,p0=2,p1=0,p2=1,d0=1,d1=1,d2=2,type_kernel=f32',
]
shards = 2
batch = 70
min_cases = 148
case_deadline_s = 90
"""


def case_rows(out: Path) -> list[dict[str, Any]]:
    """The rows of cases of the newest bundle; a line that is being written is none yet."""
    bundle = max(out.glob("*-sweep"), default=None)
    if bundle is None or not (bundle / "results.jsonl").exists():
        return []
    lines = (bundle / "results.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line.endswith("}") and '"kind":"case"' in line]


def qemus_of(out: Path) -> list[int]:
    """QEMUs whose command line names the folder of bundles."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if b"qemu-system" in words and str(out).encode() in words and state != "Z":
                found.append(int(entry.name))
    return found


def test_a_killed_sweep_is_gone_on_with_and_has_every_case_once(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SCENARIO)
    out, words = tmp_path / "runs", (*LAB, "run", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "runs"))
    with spawn(words, log=tmp_path / "lab.log") as lab:
        poll("eighty results", lambda: len(case_rows(out)) >= 80, Deadline.after(BOOT_S), last_seen=lab.log_tail)
        os.kill(lab.pid, 9)
        lab.wait(Deadline.after(10))
    poll("the end of QEMU", lambda: not qemus_of(out), Deadline.after(20))
    cut = read_bundle(max(out.glob("*-sweep")))
    assert cut.run.status is Status.RUNNING
    first = Counter(row.case for row in cut.cases)

    done = finish((*words, "--resume", str(cut.folder), "--json"), deadline=Deadline.after(RUN_S))
    assert done.exit_status == 0, done.output
    whole = read_bundle(Path(json.loads(done.output.splitlines()[-1])["dir"]))
    counted = Counter(row.case for row in whole.cases)
    record = whole.run.variants[0]
    assert set(counted.values()) == {1}
    assert len(counted) == record.expected_cases == record.cases.ok
    assert {row.case for row in whole.cases if row.run == cut.run.run} == set(first)
    assert [(one.run, one.kept) for one in whole.run.resumed] == [(cut.run.run, len(first))]
    assert 0 < len(first) < len(counted)
    assert sum("CONV_3D" in case for case in counted) == 8


def test_vulkan_computes_on_the_host(tmp_path: Path) -> None:
    words = ("run", str(PROJECT / "scenarios" / "ops-vulkan.toml"), "--variant", "apir-quick", "--json", "--out", str(tmp_path))
    done = finish((*LAB, *words), deadline=Deadline.after(RUN_S))
    answer = json.loads(done.output.splitlines()[-1])
    if done.exit_status == 3:
        raise HostError("vulkan", done.output.splitlines()[0])
    assert done.exit_status == 0, done.output
    (variant,) = answer["scenarios"]
    assert variant["device"]["name"].startswith("[virtgpu] Vulkan")
    assert variant["cases"]["ok"] >= 20
    commands = {one.command for one in read_bundle(Path(answer["dir"])).run.variants[0].calls.commands}
    assert "alloc_with_base" in commands
