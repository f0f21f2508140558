from __future__ import annotations

import ctypes
import json
import sys

import pytest

from lab.deadline import Deadline
from lab.ggml import listing
from lab.ggml.listing import main, score_of
from lab.ggml.registry import Device, read_devices
from lab.process import check


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


def test_program_loads_the_standard_library_alone_and_of_it_nothing_that_takes_long() -> None:
    script = f"""
import sys
exec(compile(open({listing.__file__!r}).read(), "listing.py", "exec"), {{"__name__": "listing"}})
print(*sys.modules)
"""
    loaded = set(check((sys.executable, "-I", "-S", "-c", script), what="imports", deadline=Deadline.after(20)).split())
    assert "ctypes" in loaded
    assert {name.partition(".")[0] for name in loaded} - {"__main__"} <= sys.stdlib_module_names
    assert not {"dataclasses", "inspect", "pathlib", "typing"} & loaded
