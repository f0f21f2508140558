"""The real ``Platform``: host root, image, payloads and QEMU put together as a plan says."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from lab.bundle.schema import CapabilityRecord
from lab.deadline import Deadline
from lab.elf import process_facts
from lab.host.native import native_payloads
from lab.host.progress import Progress
from lab.host.root import Bind, host_root
from lab.image import guest_image
from lab.ops.upstream import Selection, case_ids, test_argv
from lab.process import finish
from lab.qemu.boot import BootSpec
from lab.qemu.command import Accel, Display
from lab.qemu.machine import Guest, booted_guest
from lab.scenario.model import Scenario
from lab.scenario.platform import BootPlan, Ingredients, Platform
from lab.scenario.shipment import shipment

GGML_PACKAGE = "libggml0"
CPU_DEVICE = "CPU"


def real_platform() -> Platform:
    """The machine we are on."""
    return Platform(capabilities, prepared, booted, native_cases, process_facts)


def prepared(scenario: Scenario, progress: Progress, deadline: Deadline) -> Ingredients:
    """Build or find root, image and payloads, and choose the files the scenario asks for."""
    root = host_root(progress, deadline)
    image = guest_image(scenario.guest.image, progress, deadline)
    native = native_payloads(root, progress, deadline)
    return Ingredients(root, image, shipment(scenario, root, native, deadline))


def boot_spec(plan: BootPlan) -> BootSpec:
    """The plan in QEMU's terms."""
    guest = plan.scenario.guest
    return BootSpec(
        root=plan.ingredients.root,
        image=plan.ingredients.image,
        name=plan.scenario.name,
        accel=Accel(plan.accel),
        cpus=guest.cpus,
        memory_mib=guest.memory_mib,
        hostmem_mib=guest.window_mib,
        display=Display(plan.display),
        environment=plan.variables,
        binds=tuple(Bind(folder) for folder in payload_folders(plan.ingredients)),
    )


def payload_folders(ingredients: Ingredients) -> tuple[Path, ...]:
    """Folders outside of the root that QEMU and its workers load from."""
    shipped = ingredients.shipment
    loaded = (shipped.host_library, shipped.component, shipped.worker, shipped.ggml_library)
    outside = {payload.path.parent for payload in loaded if str(payload.path) == payload.inside}
    return tuple(sorted(outside))


def booted(plan: BootPlan) -> AbstractContextManager[Guest]:
    """The booted guest of a plan."""
    return booted_guest(boot_spec(plan), plan.logs, plan.deadline)


def native_cases(selection: Selection, ingredients: Ingredients, deadline: Deadline) -> Sequence[str] | None:
    """The selection's cases from a ``test`` run on the host root's CPU device; None when the guest's ggml is another one."""
    versions = {dict(packages).get(GGML_PACKAGE) for packages in (ingredients.root.packages, ingredients.image.packages)}
    if len(versions) != 1 or None in versions:
        return None
    argv = ingredients.root.enter(test_argv(CPU_DEVICE, selection))
    return case_ids(finish(argv, deadline=deadline).output.splitlines())


def capabilities(_progress: Progress, _deadline: Deadline) -> Sequence[CapabilityRecord]:
    """What the host can do."""
    return ()
