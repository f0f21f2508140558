"""Libraries that cannot work where they would be loaded are refused before anything is booted, by the key that names them."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

import pytest

from lab.deadline import Deadline
from lab.elf import process_facts
from lab.errors import BuildError, ConfigError
from lab.host.native import native_payloads
from lab.paths import SCENARIOS
from lab.scenario import load, machine
from lab.scenario.listener import SilentListener
from lab.scenario.shipment import DEFAULT_REGISTRATION, Payload, component_files, require_registration
from tests.scenario.test_settings import STATE, native_in, root_with, written

PREPARE_S = 1500.0


@pytest.mark.native
def test_library_of_the_other_version_is_refused_by_the_slots_name(monkeypatch: pytest.MonkeyPatch) -> None:
    smoke: Path = SCENARIOS / "smoke.toml"
    monkeypatch.setattr(machine, "native_payloads", functools.partial(native_payloads, options=("-DAPIR_GGML_API=2",)))
    with pytest.raises(BuildError, match=r"does not fit the libggml 0\.27\S* of the host root: .*buffer_type\.get_alignment"):
        machine.prepared(load(smoke), SilentListener(), Deadline.after(PREPARE_S))


def test_ggml_library_that_is_cut_off_is_refused_by_its_key(tmp_path: Path) -> None:
    whole = next(Path(file.path) for file in process_facts(os.getpid()).mapped if "libc.so" in file.path)
    half = tmp_path / "half.so"
    half.write_bytes(whole.read_bytes()[: 1 << 16])
    with pytest.raises(BuildError, match=r"the ggml library \S*half\.so cannot be used: cut off") as refused:
        require_registration(Payload.of("ggml library", half), DEFAULT_REGISTRATION, load(SCENARIOS / "smoke.toml"))
    assert refused.value.hint == "host.ggml_library in the scenario names it"


@pytest.mark.parametrize("beside", [True, False])
def test_worker_beside_a_component_of_ones_own_is_taken_and_ours_where_there_is_none(tmp_path: Path, *, beside: bool) -> None:
    native = native_in(tmp_path / "native")
    own = native_in(tmp_path / "own")
    if not beside:
        own.worker.unlink()
    scenario = load(written(tmp_path, f'{STATE}[implementation]\ncomponent = "own"\n'))
    component, worker, built_in = component_files(scenario, root_with(tmp_path / "root", apir=True), native)
    assert (component.path, worker.path, built_in) == (own.component, own.worker if beside else native.worker, False)


@pytest.mark.parametrize(
    ("line", "key"), [("", "host.ggml_library"), ('ggml_registration = "their_init"', "host.ggml_registration")]
)
def test_symbol_that_a_library_lacks_is_told_by_the_key_that_asks_for_it(tmp_path: Path, line: str, key: str) -> None:
    scenario = load(written(tmp_path, f"{STATE}[host]\n{line}\n"))
    symbol = scenario.host.ggml_registration or DEFAULT_REGISTRATION
    with pytest.raises(ConfigError, match=rf"{key}: \S* has no registration symbol {symbol} \(it exports nothing that registers"):
        require_registration(Payload.of("ggml library", Path(sys.executable).resolve()), symbol, scenario)


def test_registration_symbols_are_told_with_the_key_that_takes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("ggml_backend_cuda_reg", "ggml_backend_cuda_init", "ggml_backend_score", "other_reg")
    monkeypatch.setattr("lab.scenario.shipment.exported_symbols", lambda _: frozenset(names))
    library = Payload("ggml library", tmp_path, "/x.so", "", None)
    told = r"symbol ggml_backend_init \(host\.ggml_registration names it; it exports ggml_backend_cuda_reg\)"
    with pytest.raises(ConfigError, match=told):
        require_registration(library, DEFAULT_REGISTRATION, load(written(tmp_path, STATE)))
