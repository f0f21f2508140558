"""What QEMU is told: our component preloaded, or the one that virglrenderer has built in configured."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.host.driver import GpuDriver
from lab.scenario import environment
from lab.scenario import shipment as shipments
from lab.scenario.environment import host_environment, vulkan_here
from lab.scenario.file import load
from lab.scenario.model import Scenario
from lab.scenario.shipment import Payload, Shipment

SCENARIO = """
name = "small"
[[checks]]
kind = "state"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    return load(path)


def shipped(*, built_in: bool) -> Shipment:
    def payload(role: str, inside: str) -> Payload:
        return Payload(role, Path(inside), inside, "0", "1")

    return Shipment(
        guest_library=payload("guest library", "/run/guest.so"),
        host_library=payload("host library", "/n/host.so"),
        component=payload("component", "/usr/lib/virgl/libvirglrenderer.so.1" if built_in else "/n/libapir-preload.so"),
        worker=payload("worker", "/usr/libexec/virgl_render_server" if built_in else "/n/apir-worker"),
        ggml_library=payload("ggml library", "/g/libggml-cpu.so"),
        registration="ggml_backend_init",
        built_in=built_in,
    )


def test_our_component_is_preloaded(scenario: Scenario) -> None:
    variables = host_environment(scenario, shipped(built_in=False), Path("/logs"), advertise=True, software_vulkan=False)
    assert variables["LD_PRELOAD"] == "/n/libapir-preload.so"
    assert variables["VIRGL_APIR_WORKER"] == "/n/apir-worker"
    assert variables["VIRGL_APIR_ADVERTISE_CAPSET"] == "1"
    assert not {"LD_LIBRARY_PATH", "RENDER_SERVER_EXEC_PATH"} & set(variables)


def test_a_built_in_component_is_configured_and_nothing_preloaded(scenario: Scenario) -> None:
    variables = host_environment(scenario, shipped(built_in=True), Path("/logs"), advertise=True, software_vulkan=False)
    assert variables["LD_LIBRARY_PATH"] == "/usr/lib/virgl"
    assert variables["RENDER_SERVER_EXEC_PATH"] == "/usr/libexec/virgl_render_server"
    assert variables["VIRGL_ROUTE_VENUS_TO_APIR"] == "1"
    assert variables["VIRGL_APIR_BACKEND_LIBRARY"] == "/n/host.so"
    assert not {"LD_PRELOAD", "VIRGL_APIR_WORKER", "VIRGL_APIR_ADVERTISE_CAPSET"} & set(variables)


@pytest.mark.parametrize("software", [True, False])
def test_compiled_shaders_are_kept_for_a_vulkan_without_a_gpu(tmp_path: Path, *, software: bool) -> None:
    path = tmp_path / "vulkan.toml"
    path.write_text(SCENARIO.replace('name = "small"', 'name = "small"\n[host]\nggml_library = "vulkan"'))
    variables = host_environment(load(path), shipped(built_in=False), Path("/logs"), advertise=True, software_vulkan=software)
    assert ("MESA_SHADER_CACHE_DIR" in variables) is software
    assert ("VK_DRIVER_FILES" in variables) is software


@pytest.mark.parametrize(
    ("manifest", "nodes", "driver"),
    [
        ("", (), "/usr/share/vulkan/icd.d/lvp_icd.json"),
        ("", ("/dev/dri/renderD128",), None),
        ("/run/driver.json", (), "/run/driver.json"),
    ],
)
def test_vulkan_without_a_scenario_takes_the_gpu_that_is_there(
    monkeypatch: pytest.MonkeyPatch, manifest: str, nodes: tuple[str, ...], driver: str | None
) -> None:
    monkeypatch.setattr(environment, "gpu_driver", lambda: GpuDriver(manifest=manifest))
    monkeypatch.setattr(environment, "usable_render_nodes", lambda: nodes)
    assert vulkan_here("vulkan").get("VK_DRIVER_FILES") == driver
    assert vulkan_here("cpu") == {}


@pytest.mark.parametrize(("content", "built_in"), [(b"..virgl_apir_configure_kv..", True), (b"..virgl_renderer_init..", False)])
def test_a_virglrenderer_with_the_component_is_told_by_its_symbols(tmp_path: Path, content: bytes, *, built_in: bool) -> None:
    library = tmp_path / "libvirglrenderer.so.1"
    library.write_bytes(content)
    assert shipments.has_apir(library) is built_in
