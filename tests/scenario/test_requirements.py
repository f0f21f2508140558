"""How a scenario is run on a host, and what it cannot be run without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.bundle.schema import CapabilityRecord
from lab.host.capability import CAPABILITY_NAMES
from lab.scenario.model import Accel, Display, Scenario
from lab.scenario.requirements import ALWAYS, HostAbilities, decided

NODE = Path("/dev/dri/renderD128")


def host(*lacking: str, **more: Any) -> HostAbilities:
    """A host that has everything but these, with a render node for QEMU."""
    records = tuple(CapabilityRecord(name=name, ok=name not in lacking, probed=f"{name} was seen") for name in CAPABILITY_NAMES)
    return HostAbilities(records, **{"display": Display.EGL_HEADLESS, "render_node": NODE, **more})


def asking(requires: tuple[str, ...] = (), **settings: str) -> Scenario:
    return Scenario.model_validate({"name": "x", "host": settings, "requires": requires, "checks": [{"kind": "state"}]})


SOFTWARE = {"accel": "tcg", "display": "sdl-offscreen"}


@pytest.mark.parametrize(
    ("scenario", "needed"),
    [
        (asking(**SOFTWARE), ALWAYS),
        (asking(**SOFTWARE | {"accel": "kvm"}), (*ALWAYS, "kvm")),
        (asking(**SOFTWARE | {"display": "egl-headless"}), (*ALWAYS, "render-node")),
        (asking(**SOFTWARE, ggml_library="vulkan"), (*ALWAYS, "vulkan")),
        (asking(("kvm",), **SOFTWARE), (*ALWAYS, "kvm")),
    ],
    ids=["software", "kvm", "render node", "vulkan", "required"],
)
def test_scenario_is_run_where_nothing_is_missing_that_it_needs(scenario: Scenario, needed: tuple[str, ...]) -> None:
    without = {name: decided(scenario, host(name)) for name in CAPABILITY_NAMES}
    assert {name for name, one in without.items() if one.unmet} == set(needed)
    assert {one.unmet for one in without.values()} == {"", *(f"this host has no {name}: {name} was seen" for name in needed)}


def test_what_is_required_and_was_not_looked_for_is_missing() -> None:
    missing = decided(asking(("kvm", "vulkan"), **SOFTWARE), HostAbilities()).missing
    assert [(one.name, one.ok, one.probed) for one in missing] == [(name, False, "was not probed") for name in ("kvm", "vulkan")]


def test_what_is_left_to_the_lab_is_what_the_host_has() -> None:
    for here, accel in ((host(), Accel.KVM), (host("kvm"), Accel.TCG), (HostAbilities(), Accel.TCG)):
        assert (decided(asking(), here).accel, decided(asking(accel="tcg"), here).accel) == (accel, Accel.TCG)
    chosen = [decided(scenario, host()) for scenario in (asking(), asking(display="sdl-offscreen"))]
    assert [(one.display, one.render_node) for one in chosen] == [(Display.EGL_HEADLESS, NODE), (Display.SDL_OFFSCREEN, None)]


@pytest.mark.parametrize(("manifest", "software"), [("", True), ("", False), ("/m", False)])
def test_vulkan_is_of_software_where_it_was_found_to_have_no_gpu(manifest: str, *, software: bool) -> None:
    decision = decided(asking(), host(software_vulkan=software, vulkan_manifest=manifest))
    assert (decision.software_vulkan, decision.vulkan_manifest) == (software, manifest)
