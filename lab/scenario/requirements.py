"""What a scenario needs of the host, and what the host has: how to run it, or why it cannot be run here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.bundle.schema import CapabilityRecord
from lab.scenario.model import Accel, Display, Scenario

KVM = "kvm"
RENDER_NODE = "render-node"
VULKAN = "vulkan"


@dataclass(frozen=True, slots=True)
class Decision:
    """How to run a scenario here. ``unmet`` says why it cannot be; empty when it can."""

    accel: str
    display: str
    software_vulkan: bool
    unmet: str = ""


def decided(scenario: Scenario, capabilities: Sequence[CapabilityRecord]) -> Decision:
    """Choose accelerator and display where the scenario leaves it to the lab, and see what is missing."""
    able = {capability.name for capability in capabilities if capability.ok}
    accel = scenario.host.accel
    if accel is Accel.AUTO:
        accel = Accel.KVM if KVM in able else Accel.TCG
    display = scenario.host.display
    if display is Display.AUTO:
        display = Display.EGL_HEADLESS if RENDER_NODE in able else Display.SDL_OFFSCREEN
    needed = {
        KVM: accel is Accel.KVM,
        RENDER_NODE: display is Display.EGL_HEADLESS,
    }
    missing = [capability for capability in capabilities if needed.get(capability.name) and not capability.ok]
    reasons = "; ".join(f"this host has no {one.name}: {one.probed}" for one in missing)
    return Decision(accel, display, RENDER_NODE not in able, reasons)
