"""What a repeated graph sends from library to library in one process, counted as in a guest: by the call records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.bench.plan import Subject
from lab.bench.standard import COUNTED, EXTENSIONS, PATHS
from lab.bundle.schema import BenchRecord
from lab.deadline import Deadline
from lab.host.native import native_payloads
from lab.host.progress import SilentProgress
from lab.host.root import HostRoot
from lab.scenario.checks.bench import Bench, unmeasured, untravelled
from lab.scenario.model_bench import BenchCheck
from lab.scenario.shipment import Payload, ggml_library

pytestmark = pytest.mark.protocol

RUN_S = 300.0
LABEL = "1000-node graph again, bytes sent, loopback"
CHECK = BenchCheck.model_validate({"kind": "bench", "places": ["loopback"], "parts": ["census"], "enforce": True})


@pytest.fixture(scope="module")
def ingredients(root: HostRoot) -> Any:
    payloads = native_payloads(root, SilentProgress(), Deadline.after(1500.0))
    shipped = SimpleNamespace(
        host_library=Payload.of("host library", payloads.host_library),
        ggml_library=ggml_library("cpu", root, Deadline.after(RUN_S)),
    )
    return SimpleNamespace(root=root, tools=payloads.folder, shipment=shipped)


def counted(ingredients: Any, logs: Path, changed: Callable[[Subject], Subject]) -> tuple[Bench, BenchRecord]:
    variant = SimpleNamespace(scenario=SimpleNamespace(host=SimpleNamespace(environment={})))
    stage: Any = SimpleNamespace(ingredients=ingredients, logs=logs, variant=variant, host_variables={})
    bench = Bench(stage, CHECK, load_before=0.0)
    phases = [replace(phase, subjects=tuple(map(changed, phase.subjects))) for phase in bench.loopback_phases()]
    bench.loopback(phases, Deadline.after(RUN_S))
    return bench, bench.record()


def met(record: BenchRecord) -> bool | None:
    (target,) = (one for one in record.targets if one.label == LABEL)
    return target.met


def test_graph_that_the_host_knows_is_sent_in_a_kilobyte(ingredients: Any, tmp_path: Path) -> None:
    bench, record = counted(ingredients, tmp_path, lambda subject: subject)
    sent = record.answer["loopback"]["sent"]
    assert met(record) is True
    assert {path: set(counts) for path, counts in sent.items()} == {path: set(COUNTED) for path in PATHS}
    for path in PATHS:
        assert sent[path]["graph_1000"]["commands"] == 1
        assert 0 < sent[path]["graph_1000"]["bytes_out"] <= 1024
    assert [sent["shared"][f"{verb}_1MiB"]["commands"] for verb in ("set", "get")] == [0, 0]
    assert list(untravelled(record.answer)) == list(unmeasured(bench, record.answer)) == []
    assert record.warnings == ()


def test_graph_that_travels_whole_each_time_misses_the_bound(ingredients: Any, tmp_path: Path) -> None:
    _, record = counted(ingredients, tmp_path, lambda one: replace(one, environment={**one.environment, EXTENSIONS: "none"}))
    assert record.answer["loopback"]["sent"]["copied"]["graph_1000"]["bytes_out"] > 100_000
    assert met(record) is False


def test_graph_that_nobody_counted_is_told(ingredients: Any, tmp_path: Path) -> None:
    bench, record = counted(ingredients, tmp_path, lambda subject: replace(subject, calls=""))
    assert met(record) is None
    assert any(warning.startswith("no call records were found of loopback/copied") for warning in record.warnings)
    assert list(unmeasured(bench, record.answer)) == [f"{LABEL}: not measured, so it is not known to be met"]
