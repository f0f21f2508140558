"""The word for one thing a host can or cannot do."""

from __future__ import annotations

from dataclasses import dataclass

CAPABILITY_NAMES = (
    "packages", "user-rights", "sandbox", "network-namespace", "mirror", "memory", "disk", "cpus", "render-node",
    "qemu", "virglrenderer", "apir-built-in", "vulkan", "opengl", "kvm",
)  # fmt: skip
"""Every capability there is a probe for, in the order of ``lab doctor``."""


@dataclass(frozen=True, slots=True)
class Capability:
    """One thing the host can or cannot do, how that was found out, and what to do about a no."""

    name: str
    ok: bool
    probed: str
    hint: str | None = None
