"""A guest library whose slots lie elsewhere in the ggml it would be shipped to is refused before anything is booted."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from lab.deadline import Deadline
from lab.errors import BuildError
from lab.host.native import native_payloads
from lab.paths import SCENARIOS
from lab.scenario import load, machine
from lab.scenario.listener import SilentListener

PREPARE_S = 1500.0


@pytest.mark.native
def test_library_of_the_other_version_is_refused_by_the_slots_name(monkeypatch: pytest.MonkeyPatch) -> None:
    smoke: Path = SCENARIOS / "smoke.toml"
    monkeypatch.setattr(machine, "native_payloads", functools.partial(native_payloads, options=("-DAPIR_GGML_API=2",)))
    with pytest.raises(BuildError, match=r"does not fit the libggml 0\.27\S* of the host root: .*buffer_type\.get_alignment"):
        machine.prepared(load(smoke), SilentListener(), Deadline.after(PREPARE_S))
