"""A reference on the host for ``test-backend-ops``: which files it is made of, and the variables that lead to it on both sides.

The program in the guest has ``libhost-reference.so`` preloaded and asks a device on the other capset in the place of its own CPU
backend. Contexts on that capset have another ggml library: ``libggml-reference.so``, which wraps another build of ggml-cpu than
the one under test.
"""

from __future__ import annotations

from dataclasses import replace

from lab.deadline import Deadline
from lab.errors import ConfigError, ConfigProblem
from lab.ggml.generation import backends_folder
from lab.host.native import HOST_REFERENCE, NativePayloads
from lab.host.root import HostRoot
from lab.scenario.model import Capset, Scenario
from lab.scenario.model_upstream import has_host_reference
from lab.scenario.shipment import (
    GUEST_FOLDER,
    Payload,
    ReferenceFiles,
    Shipment,
    cpu_scores,
)

COPY = f"{GUEST_FOLDER}/libggml-virtgpu-reference.so"
BUILDS = ("haswell", "sandybridge", "sse42", "x64")
"""Builds of ggml-cpu that a reference may be computed by, the first that is another than the one under test and runs here."""


def with_reference(shipped: Shipment, scenario: Scenario, root: HostRoot, native: NativePayloads, deadline: Deadline) -> Shipment:
    """The shipment with the files of a reference, where the scenario has one.

    Raises:
        ConfigError: virglrenderer has the component built in, which has one ggml library for all contexts.
    """
    if not has_host_reference(scenario.checks):
        return shipped
    if shipped.built_in:
        text = 'a check with reference = "host" needs a ggml library for each capset, which a built-in component does not have'
        hint = 'virglrenderer = "preload" for our own component, or reference = "guest"'
        raise ConfigError(f"scenario {scenario.name}", [ConfigProblem("host.virglrenderer", text, hint)])
    tested = shipped.wrapped_library or shipped.ggml_library
    copied = replace(shipped.guest_library, role="guest library of the reference", inside=COPY)
    files = ReferenceFiles(
        preload=Payload.of("reference preload", native.host_reference, f"{GUEST_FOLDER}/{HOST_REFERENCE}"),
        guest_library=copied,
        library=Payload.of("reference library", native.reference_library),
        computing=other_build(tested, root, cpu_scores(root, deadline), scenario),
        capset=Capset.APIR if scenario.guest.capset is Capset.VENUS else Capset.VENUS,
    )
    return replace(shipped, reference=files)


def other_build(tested: Payload, root: HostRoot, scores: dict[str, int], scenario: Scenario) -> Payload:
    """A build of ggml-cpu that runs here and is not the one under test. Raises ``ConfigError`` when there is none."""
    for name in BUILDS:
        inside = f"/{backends_folder(root.path)}/libggml-cpu-{name}.so"
        if not scores.get(inside):
            continue
        payload = Payload.of("reference ggml library", root.path / inside.removeprefix("/"), inside)
        if (payload.build_id or payload.sha256) != (tested.build_id or tested.sha256):
            return payload
    text = f"no build of ggml-cpu runs here besides {tested.path}, so nothing on the host can be compared with"
    raise ConfigError(f"scenario {scenario.name}", [ConfigProblem("checks", text, 'say reference = "guest"')])
