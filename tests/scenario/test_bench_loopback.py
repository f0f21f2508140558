"""What the loopback of a benchmark is started with, without starting it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.deadline import Deadline
from lab.scenario import checks
from lab.scenario.checks.bench import Bench
from lab.scenario.model_bench import BenchCheck


def test_loopback_computes_on_the_device_that_workers_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_qemu = {"VK_DRIVER_FILES": "/driver.json", "GGML_VK_VISIBLE_DEVICES": "0", "LD_PRELOAD": "/p.so"}
    asked = {"CUDA_VISIBLE_DEVICES": "1", "GGML_GONE": False, "LD_PRELOAD": "/q.so"}
    file = SimpleNamespace(inside="/own.so", path=Path("/own.so"), of_machine=False)
    entered: dict[str, str] = {}
    shipment = SimpleNamespace(host_library=file, ggml_library=file)
    root = SimpleNamespace(enter=lambda _argv, *, env, **_: entered.update(env))
    stage: Any = SimpleNamespace(
        logs=tmp_path,
        host_variables=of_qemu,
        ingredients=SimpleNamespace(tools=tmp_path, shipment=shipment, root=root),
        variant=SimpleNamespace(scenario=SimpleNamespace(host=SimpleNamespace(environment=asked))),
    )
    monkeypatch.setattr(checks.bench, "outside", lambda *_, **__: SimpleNamespace(binds=()))
    monkeypatch.setattr(checks.bench, "finish", lambda *_, **__: SimpleNamespace(exit_status=0))
    monkeypatch.setattr(checks.bench, "read_rows", lambda _: ())
    Bench(stage, BenchCheck(kind="bench")).loopback((), Deadline.after(60))
    assert entered == {
        "HOME": "/tmp",
        "VK_DRIVER_FILES": "/driver.json",
        "GGML_VK_VISIBLE_DEVICES": "0",
        "CUDA_VISIBLE_DEVICES": "1",
    }
