"""Proof that ``test-backend-ops`` was compared with another device: its context, the build that computes it, and its use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from lab.bundle.outcome import Blame, Finding, FindingKind
from lab.elf import ProcessFacts
from lab.errors import WireError
from lab.metrics.calls import command_name, read_call_log
from lab.scenario.calls import COMPUTING
from lab.scenario.checks.state import Fact, mapped_fact, same_file
from lab.scenario.environment import REFERENCE_CALLS, reference_in_guest
from lab.scenario.guest_programs import Observation
from lab.scenario.model import Capset
from lab.scenario.model_upstream import UpstreamCheck
from lab.scenario.shipment import Payload, ReferenceFiles
from lab.scenario.stage import Stage

CAPSET_ARGUMENT = 2
"""Where a worker has its capset's number, behind its own name and the context's."""
OTHER = "another build than the one under test"


def reference_of(stage: Stage, check: UpstreamCheck) -> ReferenceFiles | None:
    """The files of the check's reference on the host, if it has one."""
    return stage.ingredients.shipment.reference if check.reference == "host" else None


def program_variables(stage: Stage, files: ReferenceFiles | None) -> Mapping[str, str]:
    """What the guest's program is started with."""
    return stage.guest_variables if files is None else {**stage.guest_variables, **reference_in_guest(files)}


def ship_reference(stage: Stage, files: ReferenceFiles) -> None:
    """Put what the guest's program needs for it into the guest."""
    for payload in (files.preload, files.guest_library):
        stage.guest.ssh.put(payload.path, payload.inside)


def workers_on(observed: Observation, capset: Capset) -> tuple[ProcessFacts, ...]:
    """The workers that serve contexts on a capset."""
    return tuple(one for one in observed.workers if one.argv[CAPSET_ARGUMENT : CAPSET_ARGUMENT + 1] == (str(capset.id),))


def without_reference(observed: Observation, files: ReferenceFiles) -> Observation:
    """The processes but for the reference's workers: what is under test."""
    others = workers_on(observed, files.capset)
    tested = tuple(one for one in observed.workers if one not in others)
    return Observation(observed.program, observed.qemu, tested)


def reference_facts(observed: Observation, files: ReferenceFiles, tested: Payload) -> Iterator[Fact]:
    """What must hold of a running program that compares with a device of the host's.

    Args:
        observed: the processes of one moment.
        files: what the reference is made of.
        tested: the build that computes what is under test.
    """
    for payload in (files.preload, files.guest_library):
        yield mapped_fact("guest program", (observed.program,), payload)
    workers = workers_on(observed, files.capset)
    for payload in (files.library, files.computing):
        yield mapped_fact("the reference's worker", workers, payload)
    builds = {
        file.build_id
        for worker in workers
        for file in worker.mapped
        if same_file(file.path, files.computing.inside) or same_file(file.path, tested.inside)
    }
    seen = "none" if not builds else "the one under test" if tested.build_id in builds else OTHER
    yield Fact("what computes the reference", OTHER, seen, FindingKind.WRONG_REFERENCE)


def graphs_of_reference(logs: Path) -> int:
    """How many graphs the contexts of references have computed since the boot, by the records of their workers."""
    count = 0
    for path in sorted((logs / REFERENCE_CALLS).glob("*.calls")):
        try:
            log = read_call_log(path)
        except WireError:
            continue
        count += sum(command_name(record) in COMPUTING for record in log.records)
    return count


def unused_reference(logs: Path, before: int) -> Finding | None:
    """The finding that the reference's contexts computed nothing behind the ``before`` graphs of the boot, when that is so."""
    if graphs_of_reference(logs) > before:
        return None
    text = "no graph was computed in the reference's context while the check ran: nothing was compared with it"
    return Finding(FindingKind.WRONG_REFERENCE, Blame.LAB, text)
