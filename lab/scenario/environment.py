"""The environment variables of a run, on both sides: the only place where the lab sets them.

The documented ones are those of the existing implementation; the others are this project's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lab.host.allowance import processor_count
from lab.host.driver import gpu_driver
from lab.host.probe import software_vulkan as software_vulkan_here
from lab.host.root import HostRoot
from lab.host.shaders import SHADER_CACHE, shader_cache
from lab.scenario.model import Capset, DataPath, Scenario
from lab.scenario.section import HONEST, Environment
from lab.scenario.shipment import DEFAULT_REGISTRATION, ReferenceFiles, Shipment

PRELOAD = "LD_PRELOAD"
ROUTE = "VIRGL_ROUTE_VENUS_TO_APIR"
BACKEND_LIBRARY = "VIRGL_APIR_BACKEND_LIBRARY"
COMPONENT_LOG = "VIRGL_APIR_LOG_TO_FILE"
GGML_LIBRARY = "APIR_LLAMA_CPP_GGML_LIBRARY_PATH"
GGML_REGISTRATION = "APIR_LLAMA_CPP_GGML_LIBRARY_REG"
HOST_LIBRARY_LOG = "APIR_LLAMA_CPP_LOG_TO_FILE"
GGML_THREADS = "APIR_LLAMA_CPP_GGML_THREADS"
WORKER = "VIRGL_APIR_WORKER"
ADVERTISE = "VIRGL_APIR_ADVERTISE_CAPSET"
LIBRARY_PATH = "LD_LIBRARY_PATH"
RENDER_SERVER = "RENDER_SERVER_EXEC_PATH"
HOST_RING = "VIRGL_APIR_RING"
HOST_CALL_LOG = "VIRGL_APIR_CALL_LOG"
TRACE = "VIRGL_APIR_TRACE"
LIAR_LIBRARY = "GGML_LIAR_LIBRARY"
LIES = "GGML_LIAR"
WRAPPED_BY_REFERENCE = "GGML_REFERENCE_LIBRARY"
COMPONENT_LOG_FILE, HOST_LIBRARY_LOG_FILE = "component.log", "host-library.log"
REFERENCE_CALLS = "reference-calls"
"""Folder of the call records of contexts that a reference is computed in."""

USE_APIR_CAPSET = "GGML_REMOTING_USE_APIR_CAPSET"
BACKEND_PATH = "GGML_BACKEND_PATH"
DATA_PATH = "GGML_VIRTGPU_DATA_PATH"
RING = "GGML_VIRTGPU_RING"
EXTENSIONS = "GGML_VIRTGPU_EXTENSIONS"
WRITE_BEHIND = "GGML_VIRTGPU_WRITE_BEHIND"
GUEST_LOG = "GGML_VIRTGPU_LOG"
GUEST_CALL_LOG = "GGML_VIRTGPU_CALL_LOG"
REFERENCE_GUEST_LIBRARY = "GGML_VIRTGPU_REFERENCE_LIBRARY"
REFERENCE_CAPSET = "GGML_VIRTGPU_REFERENCE_CAPSET"

NEEDED_BY_HOST = (ROUTE, BACKEND_LIBRARY, GGML_LIBRARY)
"""Without these there can be no remote device: a run that lacks one is the configuration's fault."""

CPU, VULKAN = "cpu", "vulkan"
"""The host root's own ggml libraries."""
VULKAN_DRIVER = "VK_DRIVER_FILES"
DEVICE_PREFIXES = ("VK_", "GGML_", "CUDA_", "HIP_", "ROCR_", "MESA_", "LP_", "NVIDIA_")
"""What ggml's backends and their drivers choose devices by; other variables may be meant for QEMU alone."""
LAVAPIPE = {VULKAN_DRIVER: "/usr/share/vulkan/icd.d/lvp_icd.json", "GGML_VK_VISIBLE_DEVICES": "0"}
NOTHING: Mapping[str, str] = {}
RECORDED_PREFIXES = (
    "VIRGL_",
    "APIR_",
    "GGML_",
    "VK_",
    "SDL_",
    "LIBGL_",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "RENDER_SERVER",
    "GALLIUM_",
    "MESA_",
    "XDG_RUNTIME",
)
"""What of a process's environment goes into a bundle; anything else is the user's own business."""


def software_vulkan_variables() -> dict[str, str]:
    """What makes ggml's Vulkan library use lavapipe, and lavapipe keep what it compiles."""
    return {**LAVAPIPE, SHADER_CACHE: str(shader_cache())}


def vulkan_variables(ggml_library: str, manifest: str, *, software: bool) -> dict[str, str]:
    """What makes a ggml library find Vulkan's device: by ``manifest``, that of the host's own driver, where there is one.

    The manifest is for any library, which may be a file that has Vulkan; lavapipe for that alone which is asked for as Vulkan's.
    """
    if software:
        return software_vulkan_variables() if ggml_library == VULKAN else {}
    return {VULKAN_DRIVER: manifest} if manifest else {}


def vulkan_here(ggml_library: str, root: HostRoot) -> dict[str, str]:
    """Those variables for this machine, where a ggml library is asked for without a scenario."""
    software = ggml_library == VULKAN and software_vulkan_here(root)
    return vulkan_variables(ggml_library, gpu_driver().manifest, software=software)


def vulkan_variables_of(variables: Mapping[str, str]) -> dict[str, str]:
    """Those of QEMU's variables by which ggml's Vulkan library finds its device."""
    return {name: variables[name] for name in (*LAVAPIPE, SHADER_CACHE) if name in variables}


def device_variables(scenario: Scenario, variables: Mapping[str, str]) -> dict[str, str]:
    """What a program outside QEMU needs of QEMU's ``variables`` to find the devices that workers find."""
    found = vulkan_variables_of(variables)
    more = {name: value for name, value in scenario.host.environment.items() if name.startswith(DEVICE_PREFIXES)}
    return found | {name: value for name, value in more.items() if isinstance(value, str)}


def host_environment(
    scenario: Scenario,
    shipment: Shipment,
    logs: Path,
    *,
    advertise: bool,
    software_vulkan: bool,
    vulkan_manifest: str = "",
    display: Mapping[str, str] = NOTHING,
) -> dict[str, str]:
    """Variables for QEMU, with those that its ``display`` needs. ``logs`` is a folder that exists and that QEMU may write to."""
    variables = {
        **display,
        **(built_in_component(shipment) if shipment.built_in else preloaded_component(shipment, advertise=advertise)),
        ROUTE: "1",
        BACKEND_LIBRARY: shipment.host_library.inside,
        COMPONENT_LOG: str(logs / COMPONENT_LOG_FILE),
        GGML_LIBRARY: shipment.ggml_library.inside,
        GGML_REGISTRATION: shipment.registration,
        HOST_LIBRARY_LOG: str(logs / HOST_LIBRARY_LOG_FILE),
        GGML_THREADS: str(scenario.host.threads or processor_count()),
    }
    if scenario.call_records:
        variables[HOST_CALL_LOG] = str(logs / "calls")
    if shipment.reference is not None:
        variables |= reference_on_host(shipment.reference, logs)
    if shipment.wrapped_library is not None:
        variables |= {LIAR_LIBRARY: shipment.wrapped_library.inside, LIES: HONEST}
    if scenario.host.trace:
        variables[TRACE] = str(logs / "traces")
    variables |= vulkan_variables(scenario.host.ggml_library, vulkan_manifest, software=software_vulkan)
    return overlaid(variables, scenario.host.environment)


def reference_on_host(files: ReferenceFiles, logs: Path) -> dict[str, str]:
    """What contexts on the reference's capset have otherwise than those of the device under test; their calls are kept apart."""
    variables = {
        GGML_LIBRARY: files.library.inside,
        GGML_REGISTRATION: DEFAULT_REGISTRATION,
        HOST_CALL_LOG: str(logs / REFERENCE_CALLS),
    }
    own = {f"{name}_{files.capset.upper()}": value for name, value in variables.items()}
    return {**own, WRAPPED_BY_REFERENCE: files.computing.inside}


def reference_in_guest(files: ReferenceFiles) -> dict[str, str]:
    """What makes test-backend-ops compare with a device of the host's."""
    return {
        PRELOAD: files.preload.inside,
        REFERENCE_GUEST_LIBRARY: files.guest_library.inside,
        REFERENCE_CAPSET: files.capset.value,
    }


def preloaded_component(shipment: Shipment, *, advertise: bool) -> dict[str, str]:
    """Our component in a QEMU whose virglrenderer has none; ``advertise`` lists capset 10 to the guest."""
    variables = {PRELOAD: shipment.component.inside, WORKER: shipment.worker.inside}
    return variables | ({ADVERTISE: "1"} if advertise else {})


def built_in_component(shipment: Shipment) -> dict[str, str]:
    """The component of a virglrenderer that has it: QEMU must load that one, and that one's render server."""
    return {
        LIBRARY_PATH: shipment.component.inside.rpartition("/")[0],
        RENDER_SERVER: shipment.worker.inside,
    }


def guest_environment(scenario: Scenario, library: str, calls: str) -> dict[str, str]:
    """Variables for a program under test in the guest. ``calls`` is the guest's folder for call records."""
    variables = {BACKEND_PATH: library, **({GUEST_CALL_LOG: calls} if scenario.call_records else {})}
    if scenario.guest.capset is Capset.APIR:
        variables[USE_APIR_CAPSET] = "1"
    if scenario.guest.data_path is not DataPath.AUTO:
        variables[DATA_PATH] = scenario.guest.data_path
    return overlaid(variables, scenario.guest.environment)


def overlaid(variables: Mapping[str, str], over: Environment) -> dict[str, str]:
    """``over`` laid over the variables; ``False`` takes one away."""
    merged: dict[str, str | bool] = {**variables, **over}
    return {name: value for name, value in merged.items() if isinstance(value, str)}


def recorded(variables: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The variables that go into a bundle, sorted."""
    return tuple(sorted((name, value) for name, value in variables.items() if name.startswith(RECORDED_PREFIXES)))
