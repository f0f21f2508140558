"""What QEMU is told: our component preloaded, or the one that virglrenderer has built in configured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab.host.driver import GpuDriver
from lab.host.root import HostRoot
from lab.scenario import environment
from lab.scenario import shipment as shipments
from lab.scenario.environment import host_environment, vulkan_here
from lab.scenario.file import load
from lab.scenario.model import Capset, Scenario
from lab.scenario.shipment import Payload, ReferenceFiles, Shipment
from tests.scenario.fakes import Script
from tests.scenario.small_runs import run_small

SCENARIO = """
name = "small"
{}
[[checks]]
kind = "state"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    path = tmp_path / "small.toml"
    return asking(path)


def asking(path: Path, settings: str = "") -> Scenario:
    path.write_text(SCENARIO.format(settings))
    return load(path)


def payload(role: str, inside: str) -> Payload:
    return Payload(role, Path("/elsewhere"), inside, "0", "1")


def shipped(*, built_in: bool) -> Shipment:
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


def test_qemu_is_told_what_to_load_where_to_write_and_nothing_else(tmp_path: Path) -> None:
    scenario = asking(tmp_path / "a.toml", "[host]\nthreads = 3")
    told = host_environment(scenario, shipped(built_in=False), Path("/logs"), advertise=False, software_vulkan=True)
    assert told == {
        "LD_PRELOAD": "/n/libapir-preload.so",
        "VIRGL_APIR_WORKER": "/n/apir-worker",
        "VIRGL_ROUTE_VENUS_TO_APIR": "1",
        "VIRGL_APIR_BACKEND_LIBRARY": "/n/host.so",
        "VIRGL_APIR_LOG_TO_FILE": "/logs/component.log",
        "VIRGL_APIR_CALL_LOG": "/logs/calls",
        "APIR_LLAMA_CPP_GGML_LIBRARY_PATH": "/g/libggml-cpu.so",
        "APIR_LLAMA_CPP_GGML_LIBRARY_REG": "ggml_backend_init",
        "APIR_LLAMA_CPP_LOG_TO_FILE": "/logs/host-library.log",
        "APIR_LLAMA_CPP_GGML_THREADS": "3",
    }


def test_variables_of_the_file_are_laid_over_those_of_the_lab(tmp_path: Path) -> None:
    environment = "{ VIRGL_APIR_BACKEND_LIBRARY = '/theirs.so', VIRGL_ROUTE_VENUS_TO_APIR = false, OWN = 'x', NONE = false }"
    scenario = asking(tmp_path / "a.toml", f"call_records = false\n[host]\ntrace = true\nenvironment = {environment}")
    told = host_environment(scenario, shipped(built_in=False), Path("/logs"), advertise=True, software_vulkan=False)
    assert (told["VIRGL_APIR_BACKEND_LIBRARY"], told["OWN"], told["VIRGL_APIR_TRACE"]) == ("/theirs.so", "x", "/logs/traces")
    assert not {"VIRGL_ROUTE_VENUS_TO_APIR", "NONE", "VIRGL_APIR_CALL_LOG"} & set(told)


def test_variables_of_the_display_are_like_all_others_that_the_lab_sets(tmp_path: Path) -> None:
    """A file takes them away, too; what there is is in the bundle, and looked for in QEMU."""
    taken = '[host]\ndisplay = "sdl-offscreen"\nenvironment = { LIBGL_ALWAYS_SOFTWARE = false, SDL_VIDEODRIVER = "dummy" }'
    bundle = run_small(tmp_path, Script(), SCENARIO.format(f'{taken}\n[guest]\nimage = "guest-6.12"'))
    told = dict(bundle.run.boots[0].environment)
    assert "LIBGL_ALWAYS_SOFTWARE" not in told
    assert (told["SDL_VIDEODRIVER"], told["SDL_VIDEO_DRIVER"]) == ("dummy", "offscreen")
    looked_at = {fact.name: fact.seen for fact in bundle.facts if fact.name.startswith("QEMU variable ")}
    assert looked_at["QEMU variable SDL_VIDEO_DRIVER"] == "offscreen"
    assert "QEMU variable LIBGL_ALWAYS_SOFTWARE" not in looked_at


def test_a_liar_is_honest_until_it_is_told_otherwise(scenario: Scenario) -> None:
    lying = replace(shipped(built_in=False), wrapped_library=payload("ggml library", "/g/real.so"))
    told = host_environment(scenario, lying, Path("/logs"), advertise=True, software_vulkan=False)
    assert (told["GGML_LIAR_LIBRARY"], told["GGML_LIAR"]) == ("/g/real.so", "honest")


def test_a_reference_has_variables_and_records_of_its_own(scenario: Scenario) -> None:
    files = ReferenceFiles(*(payload("reference", f"/r/{name}.so") for name in ("preload", "guest", "wraps", "cpu")), Capset.APIR)
    shipment = replace(shipped(built_in=False), reference=files)
    told = host_environment(scenario, shipment, Path("/logs"), advertise=True, software_vulkan=False)
    own = {name: value for name, value in told.items() if name.endswith("_APIR") or "REFERENCE" in name}
    assert own == {
        "VIRGL_ROUTE_VENUS_TO_APIR": "1",
        "APIR_LLAMA_CPP_GGML_LIBRARY_PATH_APIR": "/r/wraps.so",
        "APIR_LLAMA_CPP_GGML_LIBRARY_REG_APIR": "ggml_backend_init",
        "VIRGL_APIR_CALL_LOG_APIR": "/logs/reference-calls",
        "GGML_REFERENCE_LIBRARY": "/r/cpu.so",
    }
    assert environment.reference_in_guest(files) == {
        "LD_PRELOAD": "/r/preload.so",
        "GGML_VIRTGPU_REFERENCE_LIBRARY": "/r/guest.so",
        "GGML_VIRTGPU_REFERENCE_CAPSET": "apir",
    }


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ("", {"GGML_VIRTGPU_CALL_LOG": "/calls"}),
        ("call_records = false", {}),
        ("[guest]\ncapset = 'apir'", {"GGML_VIRTGPU_CALL_LOG": "/calls", "GGML_REMOTING_USE_APIR_CAPSET": "1"}),
        ("[guest]\ndata_path = 'copied'", {"GGML_VIRTGPU_CALL_LOG": "/calls", "GGML_VIRTGPU_DATA_PATH": "copied"}),
        ("[guest]\nenvironment = { GGML_VIRTGPU_CALL_LOG = false, OWN = 'x' }", {"OWN": "x"}),
    ],
)
def test_programs_in_the_guest_are_told_their_way_to_the_host(tmp_path: Path, settings: str, more: dict[str, str]) -> None:
    told = environment.guest_environment(asking(tmp_path / "a.toml", settings), "/lib.so", "/calls")
    assert told == {"GGML_BACKEND_PATH": "/lib.so", **more}


def test_a_bundle_has_no_variables_that_are_the_users_own_business() -> None:
    variables = {"VIRGL_B": "2", "AWS_SECRET": "s", "HOME": "/root", "LD_PRELOAD": "/p.so", "GGML_A": "1"}
    assert environment.recorded(variables) == (("GGML_A", "1"), ("LD_PRELOAD", "/p.so"), ("VIRGL_B", "2"))


@pytest.mark.parametrize("software", [True, False])
def test_compiled_shaders_are_kept_for_a_vulkan_without_a_gpu(tmp_path: Path, *, software: bool) -> None:
    path = tmp_path / "vulkan.toml"
    scenario = asking(path, '[host]\nggml_library = "vulkan"')
    variables = host_environment(scenario, shipped(built_in=False), Path("/logs"), advertise=True, software_vulkan=software)
    assert ("MESA_SHADER_CACHE_DIR" in variables) is software
    assert ("VK_DRIVER_FILES" in variables) is software


@pytest.mark.parametrize("library", ["cpu", "libggml-vulkan.so"])
def test_any_library_is_led_to_the_hosts_own_driver(tmp_path: Path, library: str) -> None:
    if library != "cpu":
        (tmp_path / library).touch()
        library = str(tmp_path / library)
    scenario = asking(tmp_path / "a.toml", f"[host]\nggml_library = '{library}'")
    for manifest, told in (("/run/driver.json", "/run/driver.json"), ("", None)):
        variables = host_environment(
            scenario, shipped(built_in=False), Path("/l"), advertise=True, software_vulkan=not manifest, vulkan_manifest=manifest
        )
        assert variables.get("VK_DRIVER_FILES") == told
        assert "GGML_VK_VISIBLE_DEVICES" not in variables


@pytest.mark.parametrize(
    ("manifest", "software", "driver", "of_others"),
    [
        ("", True, "/usr/share/vulkan/icd.d/lvp_icd.json", None),
        ("", False, None, None),
        ("/run/driver.json", False, "/run/driver.json", "/run/driver.json"),
    ],
)
def test_vulkan_without_a_scenario_takes_the_gpu_that_is_there(
    monkeypatch: pytest.MonkeyPatch, manifest: str, driver: str | None, of_others: str | None, *, software: bool
) -> None:
    root = HostRoot(Path("/root"), "key", (), ())
    monkeypatch.setattr(environment, "gpu_driver", lambda: GpuDriver(manifest=manifest))
    monkeypatch.setattr(environment, "software_vulkan_here", lambda _: software)
    assert vulkan_here("vulkan", root).get("VK_DRIVER_FILES") == driver
    assert vulkan_here("/elsewhere/libggml-vulkan.so", root).get("VK_DRIVER_FILES") == of_others
    assert vulkan_here("cpu", root).get("VK_DRIVER_FILES") == of_others


@pytest.mark.parametrize(("content", "built_in"), [(b"..virgl_apir_configure_kv..", True), (b"..virgl_renderer_init..", False)])
def test_a_virglrenderer_with_the_component_is_told_by_its_symbols(tmp_path: Path, content: bytes, *, built_in: bool) -> None:
    library = tmp_path / "libvirglrenderer.so.1"
    library.write_bytes(content)
    assert shipments.has_apir(library) is built_in
