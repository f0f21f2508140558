"""What a scenario needs of the host, and what the host has: how to run it, or why it cannot be run here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.bundle.schema import CapabilityRecord
from lab.scenario.model import Accel, Display, Scenario

ALWAYS = ("sandbox", "memory", "qemu", "virglrenderer", "opengl")
KVM = "kvm"
RENDER_NODE = "render-node"
VULKAN = "vulkan"


@dataclass(frozen=True, slots=True)
class HostAbilities:
    """What was probed, and the way to OpenGL that QEMU accepted."""

    capabilities: tuple[CapabilityRecord, ...] = ()
    display: str = Display.SDL_OFFSCREEN
    render_node: Path | None = None
    vulkan_manifest: str = ""
    """Of the host's own driver, as a host root sees it; empty where Mesa's do."""
    software_vulkan: bool = True
    """Whether Vulkan has lavapipe alone."""

    def able(self, name: str) -> bool:
        """Whether the host has a capability."""
        return any(capability.ok for capability in self.capabilities if capability.name == name)


def together(hosts: Sequence[HostAbilities]) -> tuple[CapabilityRecord, ...]:
    """The capabilities of a host that was probed with several images: the first one's, and those that others answer otherwise."""
    told = {(one.name, one.ok): one for host in reversed(hosts) for one in host.capabilities}
    return tuple(dict.fromkeys(told[one.name, one.ok] for host in hosts for one in host.capabilities))


@dataclass(frozen=True, slots=True)
class Decision:
    """How to run a scenario here. It cannot be run where a capability is ``missing``."""

    accel: str
    display: str
    render_node: Path | None
    software_vulkan: bool
    vulkan_manifest: str
    missing: tuple[CapabilityRecord, ...] = ()

    @property
    def unmet(self) -> str:
        """Why it cannot be run; empty when it can."""
        return "; ".join(f"this host has no {one.name}: {one.probed}" for one in self.missing)


def decided(scenario: Scenario, host: HostAbilities) -> Decision:
    """Choose accelerator and display where the scenario leaves it to the lab, and see what is missing."""
    accel = scenario.host.accel
    if accel is Accel.AUTO:
        accel = Accel.KVM if host.able(KVM) else Accel.TCG
    display = host.display if scenario.host.display is Display.AUTO else scenario.host.display
    needed = set(needs(scenario, accel, display))
    missing = tuple(one for one in host.capabilities if one.name in needed and not one.ok)
    known = {one.name for one in host.capabilities}
    missing += tuple(
        CapabilityRecord(name=name, ok=False, probed="was not probed") for name in scenario.requires if name not in known
    )
    node = host.render_node if display == Display.EGL_HEADLESS else None
    return Decision(accel, display, node, host.software_vulkan, host.vulkan_manifest, missing)


def needs(scenario: Scenario, accel: str, display: str) -> Iterator[str]:
    """Names of the capabilities without which the scenario cannot be run."""
    yield from ALWAYS
    if accel == Accel.KVM:
        yield KVM
    if display == Display.EGL_HEADLESS:
        yield RENDER_NODE
    if scenario.host.ggml_library == "vulkan":
        yield VULKAN
    yield from scenario.requires
