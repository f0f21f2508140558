"""What a variant runs with, as the conditions of expectations ask for it."""

from __future__ import annotations

from collections.abc import Mapping

from lab.bundle.schema import DeviceRecord
from lab.ggml.generation import ggml_version
from lab.ggml.registry import Device
from lab.scenario.expand import Variant
from lab.scenario.expectations import Situation
from lab.scenario.platform import Ingredients

ROOT_PACKAGES = {
    "qemu": "qemu-system-x86",
    "virglrenderer": "libvirglrenderer1",
    "mesa": "libgl1-mesa-dri",
}
"""Packages of the host root by the names that conditions have."""


def known_versions(root: Mapping[str, str], image: Mapping[str, str]) -> dict[str, str]:
    """What conditions may ask for, by their names, of the packages of a host root and of a guest image."""
    versions = {name: root[package] for name, package in ROOT_PACKAGES.items() if package in root}
    for name, packages in (("host_ggml", root), ("ggml", image)):
        if (found := ggml_version(packages)) is not None:
            versions[name] = found
    return versions


def situation_of(variant: Variant, made: Ingredients, accel: str, device: Device | DeviceRecord | None) -> Situation:
    """The variant in a guest that is made of these, with that remote device."""
    scenario = variant.scenario
    root, image = dict(made.root.packages), dict(made.image.packages)
    versions = known_versions(root, image)
    return Situation(
        variant=variant.id,
        ggml_library=scenario.host.ggml_library,
        capset=scenario.guest.capset,
        data_path=scenario.guest.data_path,
        accel=accel,
        image=made.image.name,
        registry=device.registry if device is not None else "",
        device=device.name if device is not None else "",
        versions={**versions, "kernel": made.kernel},
    )
