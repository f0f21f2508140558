"""Programs of ours in a booted guest: what devices there are, and what a running process really uses."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab import ggml, proc_facts
from lab.deadline import Deadline
from lab.elf import ProcessFacts, facts_from_json
from lab.errors import CommandFailed, GuestError, WaitTimeout
from lab.ggml.registry import Device, read_devices
from lab.guest.agent import survivor
from lab.ops.said import event_in, pid_in
from lab.ops.upstream import PYTHON, guest_command
from lab.scenario.platform import Guest
from lab.scenario.shipment import GUEST_FOLDER

FACTS = f"{GUEST_FOLDER}/proc_facts.py"
LISTING = f"{GUEST_FOLDER}/listing.py"
SURVIVOR = f"{GUEST_FOLDER}/survivor.py"
FACTS_S = 30.0
LISTING_S = 90.0
ENDING_S = 30.0
"""So long a program that was told to end has for it before it is blamed: looking at it and telling it may have taken the time."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What the registry held, and the facts of the process that listed it while it still ran."""

    devices: tuple[Device, ...]
    output: str
    observed: Observation | None


@dataclass(frozen=True, slots=True)
class Observation:
    """One moment of a run: the guest's process under test, QEMU, and the workers that served it."""

    program: ProcessFacts
    qemu: ProcessFacts
    workers: tuple[ProcessFacts, ...]


def ship_programs(guest: Guest) -> None:
    """Put our programs into the guest."""
    guest.ssh.put(Path(proc_facts.__file__), FACTS)
    guest.ssh.put(Path(next(iter(ggml.__path__))) / "listing.py", LISTING)
    guest.ssh.put(Path(survivor.__file__), SURVIVOR)


def guest_process(guest: Guest, pid: int, deadline: Deadline) -> ProcessFacts:
    """Facts of a process in the guest. Raises ``CommandFailed`` when it is gone, or the answer cannot be read."""
    command = f"{' '.join(PYTHON)} {FACTS} {pid}"
    status, output = guest.ssh.execute(command, deadline.narrowed(FACTS_S))
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if status != 0 or not lines:
        raise CommandFailed(command, status, output)
    try:
        return facts_from_json(lines[-1])
    except ValueError as error:
        raise CommandFailed(command, status, output) from error


def observation(guest: Guest, process: Callable[[int], ProcessFacts], pid: int, deadline: Deadline) -> Observation:
    """The processes of this moment. A worker that ends meanwhile is not among them.

    Args:
        guest: it has the process ``pid``, and workers.
        process: tells the facts of a process on the host.
        pid: the program in the guest.
        deadline: for looking.

    Raises:
        CommandFailed, WaitTimeout: as ``guest_process``.
        GuestLost: QEMU has ended.
        GuestError: QEMU lives, and cannot be looked at.
    """
    workers = []
    for worker in guest.worker_pids():
        with contextlib.suppress(OSError):
            workers.append(process(worker))
    program = guest_process(guest, pid, deadline)
    try:
        qemu = process(guest.qemu_pid)
    except OSError as error:
        guest.ssh.execute("true", deadline.narrowed(FACTS_S))  # of a QEMU that has ended this raises what it ended by
        raise GuestError(f"QEMU's process cannot be looked at: {error}") from error
    return Observation(program, qemu, tuple(workers))


@dataclass(slots=True)
class ListingProgram:
    """The program that lists the devices, as far as it got.

    ``limit`` is its own deadline, ``deadline`` that of all that is done in the guest. ``busy``: the guest could not be brought to
    something in time, or the program was told to end when little of its time was left.
    """

    guest: Guest
    observe: Callable[[int], Observation]
    deadline: Deadline
    limit: Deadline
    said: list[str] = field(default_factory=list)
    pid: int | None = None
    devices: tuple[Device, ...] | None = None
    observed: Observation | None = None
    busy: bool = False

    def on_line(self, line: str) -> None:
        """It has said something: its answer is looked behind, and it is told to end, for it waits for that."""
        if self.pid is None and (pid := pid_in(line)) is not None:
            self.pid = pid
        elif self.pid is not None and self.devices is None and (devices := read_devices(event_in(line).get("devices"))) is not None:
            self.devices = devices
            try:
                self._in_time(self._look, self.pid)
            finally:
                self._in_time(self._end, self.pid)
                self.busy = self.busy or self.limit.remaining_s < ENDING_S
        else:
            self.said.append(line.rstrip("\n"))

    def _in_time(self, step: Callable[[int], None], pid: int) -> None:
        try:
            step(pid)
        except WaitTimeout:
            self.busy = True

    def _look(self, pid: int) -> None:
        with contextlib.suppress(CommandFailed):
            self.observed = self.observe(pid)

    def _end(self, pid: int) -> None:
        self.guest.ssh.execute(f"kill -TERM {pid}", self.deadline.narrowed(FACTS_S))


def listed_devices(
    guest: Guest,
    environment: Mapping[str, str],
    observe: Callable[[int], Observation],
    deadline: Deadline,
) -> Listing:
    """List ggml's registry in the guest with our library loaded, and look at the process while its context is open.

    The program waits after its answer until it is told to end, so there is no race between listing and looking. What else is
    said, by the library too, is kept. A guest that is too busy to look at it, or to end it, is nothing that the program did; nor is
    it when that took so long that the program had less than ``ENDING_S`` of its time left to end.

    Raises:
        CommandFailed: there is no answer, or the program died before it could be looked at.
        WaitTimeout: it did not come to its end.
    """
    limit = deadline.narrowed(LISTING_S)
    listed = ListingProgram(guest, observe, deadline, limit)
    command = guest_command((*PYTHON, LISTING, "hold"), environment)
    try:
        status = guest.ssh.stream(command, listed.on_line, limit)
    except WaitTimeout:
        if not listed.busy:
            raise
        status = 0
    said = "\n".join(listed.said)
    if listed.devices is None or (status != 0 and listed.observed is None):
        raise CommandFailed("listing ggml's devices", status, said)
    return Listing(listed.devices, said, listed.observed)
