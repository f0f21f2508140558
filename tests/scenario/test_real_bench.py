"""A short benchmark in a real guest: that it measures what it says, not how quick this machine is."""

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

RUN_S = 400.0
LAB = (sys.executable, "-c", "from lab.cli import main; main()")


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    parts = ("census", "calls", "idle")
    words = ("bench", "--quick", "--idle", "1", *(word for part in parts for word in ("--part", part)))
    out = tmp_path_factory.mktemp("runs")
    done = finish((*LAB, *words, "--out", str(out), "--json"), deadline=Deadline.after(RUN_S))
    assert done.exit_status == 0, done.output
    found: dict[str, Any] = json.loads(done.output.splitlines()[-1])
    return found


def test_every_way_was_measured(answer: dict[str, Any]) -> None:
    for way in ("loopback", "vm", "vm_execbuffer"):
        for key in ("empty_call_us", "set_4b_us", "graph_1_us", "alloc_free_us"):
            figures = answer[way][key]
            assert 0 < figures["p50"] <= figures["p99"], (way, key)
    assert not [one for one in answer["targets"] if one["met"] is None and "4 B" in one["label"]]


def test_empty_call_is_one_command_by_the_call_records(answer: dict[str, Any]) -> None:
    for way in ("vm", "vm_execbuffer"):
        copied, shared = answer[way]["sent"]["copied"], answer[way]["sent"]["shared"]
        assert copied[answer[way]["empty_call_us"]["call"]]["commands"] == 1
        assert (copied["set_4b"]["commands"], shared["set_4b"]["commands"]) == (1, 0)
        assert copied["graph_1"]["commands"] == 1
        assert copied["set_1MiB"]["bytes_out"] >= 1 << 20 > shared["set_1MiB"]["bytes_out"]


def test_order_of_figures_is_the_one_of_what_they_measure(answer: dict[str, Any]) -> None:
    """Loose: a word polled is less than a submission, and in one process a call is less than in a guest."""
    assert answer["floor_us"]["spread"]["min"] < answer["ioctl_us"]["spread"]["max"]
    assert answer["loopback"]["empty_call_us"]["p50"] < answer["vm_execbuffer"]["empty_call_us"]["p50"]


def test_rows_are_on_disk_and_the_page_shows_them(answer: dict[str, Any]) -> None:
    folder = Path(answer["dir"])
    variant = read_bundle(folder).run.variants[0]
    rows = [json.loads(line) for line in (folder / variant.logs / "bench.jsonl").read_text().splitlines()]
    counted = [row for row in rows if row.get("phase") == "census" and row.get("name") == "empty+"]
    assert counted
    assert all(row["commands"] == len(row["ns"]) for row in counted)
    assert "What a call costs" in (folder / "index.html").read_text(encoding="utf-8")
    assert not any(path.is_symlink() for path in folder.rglob("*"))
