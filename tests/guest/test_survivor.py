"""The program that a fault happens to: its long graphs, on devices of any speed."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import pytest

from lab.guest.agent import survivor

START_S = 3.0
DEVICE = survivor.Device(1, "[virtgpu] GPU", "ggml-virtgpu", 1)


class SlowGgml:
    """A ggml that computes nothing, and takes its time for it: of a multiplication, and of a device's first graph."""

    def __init__(self, step_s: float, *, fails_at: int = 0) -> None:
        self.step_s, self.fails_at = step_s, fails_at
        self.now = 0.0
        self.side = self.nodes = self.graphs = self.held = self.most_nodes = 0
        self.names = itertools.count(1)
        self.took: list[float] = []

    def __call__(self, name: str, *arguments: Any) -> int:
        match name.removeprefix("ggml_"):
            case "new_tensor_2d":
                self.side, self.nodes = int(arguments[2]), 0
            case "mul_mat":
                self.nodes += 1
                self.most_nodes = max(self.most_nodes, self.nodes)
            case "init" | "backend_dev_init" | "gallocr_new":
                self.held += 1
            case "free" | "backend_free" | "gallocr_free":
                self.held -= 1
            case "backend_graph_compute":
                return self.compute()
        return next(self.names)

    def compute(self) -> int:
        took = self.nodes * self.side**3 * self.step_s
        self.took.append(took)
        self.now += took + START_S * (self.graphs == 0)
        self.graphs += 1
        return -1 if self.graphs == self.fails_at else 0


def lived(ggml: SlowGgml, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What is told until the graph fails that is computed the second time; the clock is ggml's."""
    monkeypatch.setattr(time, "monotonic", lambda: ggml.now)
    told = survivor.tell

    def tell(event: str, **facts: object) -> None:
        if event == "computing" and facts["graphs"] == 1:
            ggml.fails_at = ggml.graphs + 1
        told(event, **facts)

    monkeypatch.setattr(survivor, "tell", tell)
    survivor.until_lost(ggml, DEVICE)  # type: ignore[arg-type]
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("teraflops", [0.01, 0.1, 1, 10, 50])
def test_graph_that_something_happens_to_takes_seconds_on_any_device(
    teraflops: float, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ggml = SlowGgml(2e-12 / teraflops)
    events = lived(ggml, monkeypatch, capsys)
    assert [(event["event"], event["graphs"]) for event in events] == [("computing", 0), ("computing", 1), ("lost", 2)]
    *before, first, last = ggml.took
    assert first == last >= 2
    assert sum(before) < max(2.1, first / 3), "an emulated guest has little more to wait"
    assert ggml.held == 0


def test_graph_grows_no_further_than_the_host_allows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ggml = SlowGgml(1e-18)
    assert lived(ggml, monkeypatch, capsys)[-1]["event"] == "lost"
    assert ggml.most_nodes == survivor.MOST_NODES
    assert survivor.MOST_NODES * survivor.HEAVY_SIDE**3 < 1e15


@pytest.mark.parametrize("at", [1, 2, 3])
def test_graph_that_fails_before_anything_happens_to_it_is_lost_in_no_graph(
    at: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ggml = SlowGgml(1e-12, fails_at=at)
    assert lived(ggml, monkeypatch, capsys) == [{"event": "lost", "status": -1, "graphs": 0}]
    assert ggml.held == 0
