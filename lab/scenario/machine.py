"""The real ``Platform``: host root, image, payloads and QEMU put together as a plan says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lab import paths
from lab.bundle.schema import CapabilityRecord
from lab.deadline import Deadline
from lab.elf import process_facts
from lab.errors import ConfigError, ConfigProblem
from lab.ggml.generation import backends_folder, ggml_version
from lab.host.abi import prove_outside, prove_payload
from lab.host.driver import gpu_driver
from lab.host.native import native_payloads
from lab.host.outside import file_binds, outside, seen_at
from lab.host.probe import probe_all, software_vulkan, usable_render_nodes
from lab.host.progress import Progress
from lab.host.root import Bind, HostRoot, host_root
from lab.host.shaders import shader_binds
from lab.image import GuestImage, guest_image
from lab.interruption import postponed
from lab.ops.session import Library, NativeHost
from lab.ops.upstream import CPU_DEVICE, ExpectedCases, Selection, expected_cases, program_argv
from lab.ops.upstream_cases import Listed, ListedCase, listed_cases, of_second_device
from lab.process import finish
from lab.qemu.boot import BootSpec
from lab.qemu.command import Accel, Display
from lab.qemu.trial import gl_path
from lab.scenario.environment import BACKEND_PATH, DEVICE_PREFIXES, LIAR_LIBRARY, LIES, WRAPPED_BY_REFERENCE
from lab.scenario.model import Scenario
from lab.scenario.model_bench import BenchCheck
from lab.scenario.platform import BootPlan, Ingredients, Platform, ReferenceWish
from lab.scenario.reference_files import with_reference
from lab.scenario.requirements import HostAbilities
from lab.scenario.section import BUILTIN
from lab.scenario.shipment import DEFAULT_REGISTRATION, ggml_library, shipment

if TYPE_CHECKING:
    from lab.qemu.machine import Guest

PLAIN_CPU_BUILDS = ("x64", "sse42")
"""Builds of ggml's CPU backend for the plainest processors, which are compared with by the mean square error."""
OF_LOADED = (BACKEND_PATH, LIES, LIAR_LIBRARY, WRAPPED_BY_REFERENCE)
"""Variables that say which library is loaded and what it tells, not by what it finds its devices."""


def real_platform() -> Platform:
    """The machine we are on."""
    return Platform(abilities, prepared, booted, native_cases, process_facts, References().of, native_listing)


@dataclass(slots=True)
class References:
    """Where references are computed natively, one place for equal wishes: what was computed for one variant holds for the next."""

    known: dict[tuple[ReferenceWish, str], NativeHost] = field(default_factory=dict)

    def of(self, wish: ReferenceWish, ingredients: Ingredients, deadline: Deadline) -> NativeHost:
        """The place for a wish. Raises ``BuildError`` for a library that is none."""
        shipped = ingredients.shipment
        own = shipped.ggml_library if wish.own else ggml_library(wish.library, ingredients.root, deadline)
        symbol = shipped.registration if wish.own and shipped.registration != DEFAULT_REGISTRATION else None
        key = (wish, f"{ingredients.root.key} {own.sha256}")
        if key not in self.known:
            more = outside((), ingredients.root, ggml=own.path).binds if own.of_machine else ()

            def enter(argv: Sequence[str], folder: Path, env: Mapping[str, str]) -> Sequence[str]:
                binds = (Bind(paths.PROJECT), *more, Bind(folder, writable=True), *shader_binds(env))
                return ingredients.root.enter(argv, binds=binds, env=env, cwd=paths.PROJECT)

            library = Library(own.inside, symbol, wish.threads)
            other = other_cpu_library(own.inside, backends_folder(ingredients.root.path))
            self.known[key] = NativeHost(enter, wish.seed, library, other, dict(wish.environment))
        return self.known[key]


def other_cpu_library(own: str, backends: Path) -> str:
    """A build of ggml's CPU backend in that folder that is another than ``own`` and runs everywhere."""
    return next(path for name in PLAIN_CPU_BUILDS if (path := f"/{backends}/libggml-cpu-{name}.so") != own)


def prepared(scenario: Scenario, progress: Progress, deadline: Deadline) -> Ingredients:
    """Build or find root, image and payloads, and choose the files the scenario asks for.

    Raises:
        BuildError: among others, when our guest library does not fit the ggml of root or image, or our host library the one
            that the scenario's ggml library brings (the slot is named).
    """
    root = host_root(progress, deadline)
    image = guest_image(scenario.guest.image, progress, deadline)
    require_kernel(scenario, image)
    native = native_payloads(root, progress, deadline)
    if scenario.implementation.guest.path == BUILTIN:
        prove_payload(native, root, image.rootfs, progress, deadline)
    shipped = shipment(scenario, root, native, deadline)
    if scenario.implementation.host.path == BUILTIN and shipped.ggml_library.of_machine:
        prove_outside(native, root, outside((), root, ggml=shipped.ggml_library.path), deadline)
    shipped = with_reference(shipped, scenario, root, native, deadline)
    return Ingredients(root, image, shipped, native.folder)


def require_kernel(scenario: Scenario, image: GuestImage) -> None:
    """The image must have the kernel that the scenario names. Raises ``ConfigError``."""
    wanted = scenario.guest.kernel
    if wanted is not None and not re.match(rf"{re.escape(wanted)}(?![0-9])", image.release):
        text = f"the image {image.name} has kernel {image.release}, not {wanted}"
        hint = "leave guest.image out, or name the image of that kernel"
        raise ConfigError(f"scenario {scenario.name}", [ConfigProblem("guest.kernel", text, hint)])


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
        gpu=guest.gpu,
        hostmem_mib=guest.window_mib,
        display=Display(plan.display),
        render_node=plan.render_node,
        environment=plan.variables,
        binds=(*payload_binds(plan.ingredients, plan.scenario), *shader_binds(dict(plan.variables))),
        worker=Path(plan.ingredients.shipment.worker.inside).name,
        whole_environment=True,
    )


def payload_binds(ingredients: Ingredients, scenario: Scenario) -> tuple[Bind, ...]:
    """What makes loadable in the root what QEMU and its workers load from outside of it.

    Where files need different libraries of one name, each is loaded with the same one: the ggml library's.
    """
    shipped = ingredients.shipment
    loaded = (shipped.host_library, shipped.component, shipped.worker)
    ggml = shipped.ggml_library.path if shipped.ggml_library.of_machine else None
    files = [payload.path for payload in loaded if payload.of_machine]
    files += [Path(check.host_library) for check in scenario.checks if isinstance(check, BenchCheck) and check.host_library]
    files += [shipped.reference.library.path] if shipped.reference is not None else []
    tools = (Bind(ingredients.tools),) if ingredients.tools is not None else ()
    return tuple(dict.fromkeys((*outside(files, ingredients.root, ggml=ggml).binds, *tools)))


def booted(plan: BootPlan) -> AbstractContextManager[Guest]:
    """The booted guest of a plan."""
    with postponed():
        from lab.qemu.machine import booted_guest  # noqa: PLC0415 - SSH and testinfra, which most commands have no use for

    limit_s = plan.scenario.guest.boot_deadline_s
    deadline = plan.deadline if limit_s is None else plan.deadline.narrowed(limit_s)
    return booted_guest(boot_spec(plan), plan.logs, deadline)


def native_cases(selection: Selection, ingredients: Ingredients, deadline: Deadline) -> ExpectedCases | None:
    """The selection's cases from a ``test`` run on the host root's CPU device; None when the guest's ggml is another one."""
    if not same_ggml(ingredients):
        return None
    argv = ingredients.root.enter(program_argv(CPU_DEVICE, selection))
    done = finish(argv, deadline=deadline)
    return expected_cases(done.output.splitlines(), done.exit_status)


def native_listing(
    listed: Listed, variables: Mapping[str, str], ingredients: Ingredients, deadline: Deadline
) -> tuple[ListedCase, ...] | None:
    """Every case, with what the device says of it, which is one of the library that QEMU's workers load.

    Where the host root has a device of that name, too, the program goes through both. ggml loads a library that is named last.
    """
    if not same_ggml(ingredients):
        return None
    library, lister = ingredients.shipment.ggml_library, ingredients.case_lister
    environment = {name: value for name, value in variables.items() if name.startswith(DEVICE_PREFIXES) and name not in OF_LOADED}
    environment |= {"LD_PRELOAD": seen_at(lister), "HOME": "/tmp"}
    binds = [*file_binds(lister), *shader_binds(environment)]
    if library.of_machine:
        environment[BACKEND_PATH] = library.inside
        binds += outside((), ingredients.root, ggml=library.path).binds
    argv = ingredients.root.enter(listed.argv(), binds=tuple(binds), env=environment)
    done = finish(argv, deadline=deadline)
    cases = listed_cases(listed.mode, done.output.splitlines(), done.exit_status)
    return (of_second_device(cases) if library.of_machine else cases) or None


def same_ggml(ingredients: Ingredients) -> bool:
    """Whether host root and guest have one ggml."""
    versions = {ggml_version(dict(packages)) for packages in (ingredients.root.packages, ingredients.image.packages)}
    return len(versions) == 1 and None not in versions


def abilities(root: HostRoot, image: str) -> HostAbilities:
    """What this host can do, and the way to OpenGL that QEMU accepts here."""
    path = gl_path(root, usable_render_nodes())
    return HostAbilities(capability_records(image), path.display, path.render_node, gpu_driver().manifest, software_vulkan(root))


def capability_records(image: str) -> tuple[CapabilityRecord, ...]:
    """Every capability as probed."""
    return tuple(
        CapabilityRecord(name=one.name, ok=one.ok, probed=one.probed, hint=one.hint) for one in probe_all(image)
    )  # fmt: skip
