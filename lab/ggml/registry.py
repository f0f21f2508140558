"""The devices of ggml's registry, as ``lab.ggml.listing`` prints them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Device:
    """A device of ggml's registry. ``index`` is its place in it, which is the order in which programs look."""

    index: int
    registry: str
    name: str
    description: str
    type: str


KINDS = {"index": int, "registry": str, "name": str, "description": str, "type": str}


def read_devices(printed: object) -> tuple[Device, ...] | None:
    """The devices in the list that ``lab.ggml.listing`` printed; None where it is another list, or none."""
    listed = printed if isinstance(printed, list) else [None]
    fitting = [one for one in listed if isinstance(one, dict) and {key: type(value) for key, value in one.items()} == KINDS]
    return tuple(Device(**fields) for fields in fitting) if len(fitting) == len(listed) else None
