"""Is everything in the state that all other checks take for granted?

Of the guest through testinfra (kernel, module, render node, driver, hashes of what was shipped), of the processes through
``/proc`` on both sides (variables, and the build ids of the libraries really mapped in QEMU, worker and program).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lab.bundle.outcome import Blame, Finding, FindingKind
from lab.bundle.writer import CheckWriter
from lab.deadline import Deadline
from lab.elf import ProcessFacts
from lab.errors import GuestError
from lab.host.root import LIBRARY_PATH, led_from
from lab.ops.upstream import reference_device, remote_device
from lab.scenario.environment import ADVERTISE, GUEST_CALL_LOG, HOST_CALL_LOG, NEEDED_BY_HOST
from lab.scenario.guest_programs import Observation
from lab.scenario.shipment import Payload, Shipment
from lab.scenario.stage import Stage

RENDER_NODES = "/dev/dri"
MAPPED = "build id of the "
"""How the names of the facts begin that tell which libraries a process has mapped."""
DELETED = " (deleted)"
"""What is behind the path of a mapping whose file was replaced since."""
LIBRARY_WORD = "virtgpu"
LOADED = "load_backend: loaded"
"""How ggml's loader tells that nothing was wrong with a library."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that was looked at. ``kind`` is the finding it becomes when it is wrong, ``hint`` what its text ends with."""

    name: str
    expected: str
    seen: str
    kind: FindingKind = FindingKind.WRONG_STATE
    blame: Blame = Blame.LAB
    hint: str = ""

    @property
    def ok(self) -> bool:
        """Whether it was as expected."""
        return self.expected == self.seen


def check_state(stage: Stage, writer: CheckWriter, deadline: Deadline) -> int:
    """Look at everything; every fact becomes a row, every wrong one a finding. Returns how many facts there are."""
    count = 0
    for fact in itertools.chain(guest_facts(stage), device_facts(stage), process_facts(stage)):
        deadline.require("looking at the state of guest and host", fact.name)
        tell(fact, writer)
        count += 1
    return count


def tell(fact: Fact, writer: CheckWriter) -> None:
    """Write a fact down, and the finding that a wrong one is."""
    if not writer.fact(fact.name, fact.expected, fact.seen, ok=fact.ok):
        text = f"{fact.name}: expected {fact.expected}, seen {fact.seen}{fact.hint and f' ({fact.hint})'}"
        writer.finding(Finding(fact.kind, fact.blame, text))


def guest_facts(stage: Stage) -> Iterator[Fact]:
    """Kernel, module, render node, driver and shipped file, asked with testinfra. Raises ``GuestError`` where it gets no answer."""
    try:
        yield from _asked(stage, stage.guest.testinfra())
    except (RuntimeError, AssertionError, LookupError, ValueError) as error:  # answers that testinfra takes no heed of
        raise GuestError(f"the guest's state could not be looked at: {error}") from error


def _asked(stage: Stage, guest: Any) -> Iterator[Fact]:
    yield Fact("guest kernel", stage.ingredients.kernel, guest.check_output("uname -r").strip())
    loaded = guest.file("/sys/module/virtio_gpu").is_directory
    yield Fact("guest module virtio_gpu", "loaded", "loaded" if loaded else "not loaded")
    folder = guest.file(RENDER_NODES)
    nodes = [name for name in sorted(folder.listdir()) if name.startswith("renderD")] if folder.exists else []
    drivers = [driver_of(guest, node) for node in nodes]
    yield Fact(f"driver of {', '.join(nodes) or 'the render node'}", "virtio_gpu", ", ".join(drivers) or "there is no render node")
    capset = stage.variant.scenario.guest.capset
    there = "listed" if capset.id in stage.guest.capsets else f"not among {list(stage.guest.capsets)}"
    yield Fact(f"capset {capset.id} ({capset})", "listed", there)
    library = stage.ingredients.shipment.guest_library
    yield Fact("sha256 of the shipped guest library", library.sha256, guest.file(library.inside).sha256sum)


def driver_of(guest: Any, node: str) -> str:
    """Name of the DRM driver behind a render node, as the kernel's debugfs has it: ``virtio_gpu dev=0000:00:04.0 unique=…``."""
    name = guest.file(f"/sys/kernel/debug/dri/{node.removeprefix('renderD')}/name")
    return name.content_string.split()[0] if name.exists else f"unknown: there is no {name.path}"


def device_facts(stage: Stage) -> Iterator[Fact]:
    """Whose the remote device and the reference are. Without a variable that the host needs, a lack is not the product's."""
    remote, reference = remote_device(stage.listing.devices), reference_device(stage.listing.devices)
    blame = Blame.LAB if missing_variables(stage) else Blame.PRODUCT
    seen, hint = (remote.registry, "") if remote else ("no such device", said_at_loading(stage))
    yield Fact("registry of the remote device", "ggml-virtgpu", seen, FindingKind.NO_SUCH_DEVICE, blame, hint)
    if remote is not None:
        yield Fact("type of the remote device", "not CPU", "CPU" if remote.type == "CPU" else "not CPU", blame=Blame.PRODUCT)
    seen = reference.registry if reference else "no such device"
    yield Fact("registry of the reference", "CPU", seen, FindingKind.WRONG_REFERENCE, blame)


def said_at_loading(stage: Stage) -> str:
    """The last that loader and guest library said while the devices were listed, which tells why there is none; or nothing."""
    said = [line for line in stage.listing.output.splitlines() if LIBRARY_WORD in line and not line.startswith(LOADED)]
    return f"when the guest library was loaded was said: {' / '.join(said[-3:])}" if said else ""


def process_facts(stage: Stage) -> Iterator[Fact]:
    """Variables and mapped libraries of the processes as they were while the devices were listed."""
    observed = stage.listing.observed
    if observed is None:
        yield Fact("processes while devices were listed", "observed", "not observed")
        return
    yield from variable_facts("guest program", observed.program, stage.guest_variables, hidden=(GUEST_CALL_LOG,))
    yield from variable_facts("QEMU", observed.qemu, stage.host_variables, hidden=(HOST_CALL_LOG,), in_root=True)
    yield from mapped_facts(observed, stage.ingredients.shipment)


def variable_facts(
    process: str, facts: ProcessFacts, variables: Mapping[str, str], hidden: tuple[str, ...], *, in_root: bool = False
) -> Iterator[Fact]:
    """Each variable that the lab set, as the process has it; an empty one is shown as two quotes.

    Of a process in the host root the library path may have behind it what entering the root adds.
    """
    for name, value in sorted(variables.items()):
        if name not in hidden:
            seen = facts.variable(name)
            right = seen if in_root and name == LIBRARY_PATH and seen in led_from(value) else value
            yield Fact(f"{process} variable {name}", right or "''", "not set" if seen is None else seen or "''")


def mapped_facts(observed: Observation, shipment: Shipment) -> Iterator[Fact]:
    """Build ids of what is under test, as mapped in the process that should have it."""
    yield mapped_fact("guest program", (observed.program,), shipment.guest_library)
    yield mapped_fact("QEMU", (observed.qemu,), shipment.component)
    for payload in shipment.of_worker:
        yield mapped_fact("worker", observed.workers, payload)


def mapped_fact(process: str, facts: tuple[ProcessFacts, ...], payload: Payload) -> Fact:
    """Whether one of the processes has the payload mapped, with its build id, and none another file in its place."""
    name = f"{MAPPED}{payload.role} mapped in {process}"
    expected = payload.build_id or "none: the file has no build id"
    seen = [file for one in facts for file in one.mapped if same_file(file.path, payload.inside)]
    others = [file for file in seen if file.path.removesuffix(DELETED) == payload.inside and file.build_id != payload.build_id]
    found = next(((file.build_id or f"none, of {file.path}") for file in (*others, *seen)), "not mapped")
    return Fact(name, expected, found, FindingKind.WRONG_LIBRARY)


def same_file(mapped: str, path: str) -> bool:
    """Whether a mapping is of the path; one whose file was replaced while mapped is, with " (deleted)" behind it."""
    return mapped.removesuffix(DELETED).rpartition("/")[2] == path.rpartition("/")[2]


def missing_variables(stage: Stage) -> tuple[str, ...]:
    """Documented variables without which there can be no remote device, and which this run does not set."""
    needed = (*NEEDED_BY_HOST, ADVERTISE) if stage.variant.scenario.guest.capset == "apir" else NEEDED_BY_HOST
    return tuple(name for name in needed if name not in stage.host_variables)
