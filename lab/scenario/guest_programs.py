"""Programs of ours in a booted guest: what devices there are, and what a running process really uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab import ggml, proc_facts
from lab.deadline import Deadline
from lab.elf import ProcessFacts, facts_from_json
from lab.errors import CommandFailed
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


def listed_devices(
    guest: Guest,
    environment: Mapping[str, str],
    observe: Callable[[int], Observation],
    deadline: Deadline,
) -> Listing:
    """List ggml's registry in the guest with our library loaded, and look at the process while its context is open.

    The program waits after its answer until it is told to end, so there is no race between listing and looking. What else is
    said, by the library too, is kept. Raises ``CommandFailed`` where there is no answer.
    """
    said: list[str] = []
    pids: list[int] = []
    answers: list[tuple[tuple[Device, ...], Observation]] = []

    def on_line(line: str) -> None:
        if not pids and (pid := pid_in(line)) is not None:
            pids.append(pid)
        elif pids and not answers and (devices := read_devices(event_in(line).get("devices"))) is not None:
            answers.append((devices, observe(pids[0])))
            guest.ssh.execute(f"kill -TERM {pids[0]}", deadline.narrowed(FACTS_S))
        else:
            said.append(line.rstrip("\n"))

    command = guest_command((*PYTHON, LISTING, "hold"), environment)
    status = guest.ssh.stream(command, on_line, deadline.narrowed(LISTING_S))
    if not answers:
        raise CommandFailed("listing ggml's devices", status, "\n".join(said))
    devices, observation = answers[0]
    return Listing(devices, "\n".join(said), observation)
