from __future__ import annotations

import ctypes
import json
from pathlib import Path

import pytest

from lab.ggml import registry
from lab.ggml.registry import Device, main, read_devices, score_of


def test_printed_devices_are_read_back() -> None:
    line = json.dumps({"devices": [{"index": 0, "registry": "CPU", "name": "CPU", "description": "x", "type": "CPU"}]})
    assert read_devices(json.loads(line)["devices"]) == (Device(0, "CPU", "CPU", "x", "CPU"),)


def test_library_that_does_not_load_scores_0() -> None:
    assert score_of("/no/such/library.so") == 0


def test_library_without_a_score_scores_0() -> None:
    assert score_of(ctypes.CDLL(None)._name or "libc.so.6") == 0


def test_scores_are_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scores", "/a.so", "/b.so"]) == 0
    assert json.loads(capsys.readouterr().out) == {"scores": {"/a.so": 0, "/b.so": 0}}


def test_unknown_words_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nonsense"]) == 2
    assert "usage" in capsys.readouterr().err


def test_program_uses_the_standard_library_only() -> None:
    source = Path(registry.__file__).read_text(encoding="utf-8")
    assert "from lab" not in source
    assert "import numpy" not in source
