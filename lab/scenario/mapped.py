"""What a variant computed with, for ``run.json``: the devices, and the files that its processes had mapped."""

from __future__ import annotations

from collections.abc import Iterator

from lab.bundle.schema import DeviceRecord, MappedRecord
from lab.elf import ProcessFacts
from lab.ggml.registry import Device
from lab.scenario.guest_programs import Observation

TOLD_OF = ("ggml", "virgl", "apir", "qemu-system", "epoxy", "gallium", "vulkan")
"""Parts of file names that a report tells of; a process maps a hundred more."""


def device_record(device: Device | None) -> DeviceRecord | None:
    """A device for ``run.json``."""
    if device is None:
        return None
    return DeviceRecord(
        registry=device.registry, name=device.name, type=device.type, description=device.description, index=device.index
    )  # fmt: skip


def mapped_records(observed: Observation) -> Iterator[MappedRecord]:
    """What was mapped of ggml, virgl and their like, in each process."""
    processes: tuple[tuple[str, ProcessFacts], ...] = (
        ("guest program", observed.program),
        ("QEMU", observed.qemu),
        *(("worker", worker) for worker in observed.workers),
    )
    for process, facts in processes:
        for file in facts.mapped:
            if any(word in file.path.lower() for word in TOLD_OF):
                yield MappedRecord(process=process, path=file.path, build_id=file.build_id)
