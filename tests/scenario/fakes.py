"""A platform without a machine: it implements the runner's interfaces, and what happens in its guest is written as a script."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lab.bundle.schema import CapabilityRecord
from lab.deadline import Deadline
from lab.elf import MappedFile, ProcessFacts
from lab.errors import GuestLost, LabError, WaitTimeout
from lab.ggml.registry import Device
from lab.host.progress import Progress
from lab.host.root import HostRoot
from lab.image import GuestImage
from lab.ops.remote import PROVED
from lab.ops.session import Host
from lab.ops.upstream import ExpectedCases, Selection
from lab.ops.upstream_cases import Listed, ListedCase
from lab.scenario.guest_programs import FACTS, LISTING
from lab.scenario.model import Scenario
from lab.scenario.platform import BootPlan, Ingredients, Platform, ReferenceWish
from lab.scenario.requirements import HostAbilities
from lab.scenario.shipment import GUEST_LIBRARY, Payload, ReferenceFiles, Shipment
from tests.scenario.call_files import Made, write_calls

KERNEL = "6.12.0-fake"
SHA = "ab" * 32
TEXTS = ("ADD(type=f32,ne=[1,1,1,1])", "ADD(type=f32,ne=[2,1,1,1])", "MUL(type=f32,ne=[1,1,1,1])")
OURS = Device(1, "ggml-virtgpu", "[virtgpu] CPU", "the host's CPU", "GPU")
REFERENCE = Device(0, "CPU", "CPU", "the guest's CPU", "CPU")
OPERATIONS = ("ADD", "MUL")
HEADER_LINE = '"backend_name","op_name","op_params","test_mode","supported","error_message","backend_reg_name"\n'
QEMU_PID, WORKER_PID = 4000, 4001
AGENT = "ops.pyz"

SCENARIO = """\
name = "small"
timeout_s = 60

[matrix]
capset = ["venus", "apir"]

[guest]
image = "guest-6.12"

[[checks]]
kind = "state"

[[checks]]
kind = "ops"
ops = ["ADD", "MUL"]
min_cases = 3
deadline_s = 20
case_deadline_s = 10
"""


def row(text: str, *, supported: str = "1", error: str = "", before: str = "", device: str = OURS.name) -> str:
    """One line as test-backend-ops prints it."""
    op, _, params = text.rstrip(")").partition("(")
    return f'{before}"{device}","{op}","{params}","test","{supported}","{error}",""\n'


@dataclass
class Script:
    """What happens in the fake guest. Each step of ``ops`` is a line, or something that is called (to raise, to wait).

    Programs after the first one do what ``later`` has, while it has something.
    """

    ops: Sequence[str | Callable[[], None]] = (HEADER_LINE, *(row(text) for text in TEXTS))
    ops_status: int = 0
    later: list[Sequence[str | Callable[[], None]]] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    devices: Sequence[Device] = (REFERENCE, OURS)
    listing: Sequence[str] = ("{}",)
    """What the program that lists the devices says; the answer in the place of ``{}``."""
    expected: Sequence[str] | None = TEXTS
    refused: frozenset[str] = frozenset()
    """Which of the expected cases a CPU does not support."""
    through: bool = False
    """Whether a process of the guest has ended by the time that it is looked at."""
    at_the_end: Callable[[], None] | None = None
    """Happens when the checks are through and the guest's log is fetched."""
    busy: bool = False
    """Whether the guest is too busy to look at a process in time."""
    listed: tuple[ListedCase, ...] | None = None
    program: Callable[[str, Callable[[str], None]], int] | None = None
    """Plays test-backend-ops in the place of ``ops``: gets the command and where lines go, returns the exit status."""
    guest_records: int | None = 5
    host_records: int | None = 5  # None: no file at all
    listing_records: int = 0
    """So many calls of the program that lists the devices does the guest record, and the host none of them."""
    listing_served: bool = False
    """The host records them, too."""
    last_status: int = 4
    first_call: int = 9
    ring: int | None = None
    """Status of the call that offers a ring, behind a negotiation; neither is sent without it."""
    capset: int | None = None
    last_row: Callable[[], str] | None = None
    mapped_ids: dict[str, str] = field(default_factory=dict)
    capabilities: tuple[CapabilityRecord, ...] = ()
    prepare_error: LabError | None = None
    boot_error: BaseException | None = None
    boot_errors: list[BaseException] = field(default_factory=list)
    """What the first boots end with, one each."""
    exit_error: LabError | None = None
    boots: int = 0
    torn_down: int = 0
    killed: list[str] = field(default_factory=list)
    alive: bool = True
    lost: str = "QEMU ended with exit status -9"
    """Why the guest is gone once it is not alive."""
    host: Host | None = None
    agent: Callable[[Sequence[str], str], Iterable[str | Callable[[], None]]] | None = None
    agent_status: int = 0
    agent_end_status: int = 0
    """Status of the program that computes the catalog, where it was cut off and where it has told its end."""
    workers: tuple[int, ...] = (WORKER_PID,)
    reference: ReferenceFiles | None = None
    """What programs of a check with a reference on the host compare with; ``reference_worker`` serves it."""
    reference_worker: ProcessFacts | None = None
    reference_graphs: int = 0
    made: set[str] = field(default_factory=set)
    """Files of the guest that commands have made, by ``touch``."""


def die(script: Script, reason: str) -> Callable[[], None]:
    """A step in which QEMU ends."""

    def step() -> None:
        script.alive, script.lost = False, reason
        raise GuestLost(reason, "[ 1.0] the last line of the console")

    return step


class FakeShell:
    """A shell whose commands are known beforehand."""

    def __init__(self, script: Script, plan: BootPlan, folder: Path) -> None:
        self.script, self.plan, self.folder = script, plan, folder
        self.shipped: dict[str, str] = {}
        self.contents: dict[str, bytes] = {}
        self._sessions = 0

    def execute(self, command: str, deadline: Deadline) -> tuple[int, str]:
        assert not deadline.expired
        if not self.script.alive:
            raise GuestLost(self.script.lost)
        if command == "uname -r":
            return 0, f"{KERNEL}\n"
        if FACTS in command and self.script.through:
            return 1, ""
        if FACTS in command and self.script.busy:
            raise WaitTimeout(f"the guest command: {command}", 30.0, "")
        if FACTS in command:
            return 0, json.dumps(asdict(guest_program(self.script, self.plan, int(command.rpartition(" ")[2])))) + "\n"
        if command.startswith("ls "):
            return 0, "\n".join(path.name for path in sorted((self.folder / Path(command).name).glob("*.calls")))
        if command.startswith("touch "):
            self.script.made.add(command.removeprefix("touch "))
        if command.startswith("test -e "):
            return int(command.removeprefix("test -e ") not in self.script.made), ""
        if command.startswith("kill "):
            self.script.killed.append(command)
        return 0, ""

    def stream(self, command: str, on_line: Callable[[str], None], deadline: Deadline) -> int:
        assert not deadline.expired
        on_line("pid 7\n")
        if LISTING in command:
            return self._list(command, on_line)
        if PROVED in command:
            return 1
        if AGENT in command and "--probe" in command:
            on_line('{"ready": {}}\n')
            return 0
        for folder in re.findall(r"GGML_VIRTGPU_CALL_LOG=\S+/(\S+)", command):
            self._calls(self.folder / folder, self.script.capset or (10 if "GGML_REMOTING_USE_APIR_CAPSET" in command else 4))
        if self.script.reference_graphs and "LD_PRELOAD" in command:
            calls = self.plan.logs / "reference-calls" / f"host-{self._sessions}-8.calls"
            write_calls(calls, 1, Made(900 + self._sessions, 10, 9), self.script.reference_graphs + 1)
        if self.script.program is not None:
            return self.script.program(command, on_line)
        ended = self._play(command, on_line)
        if self.script.last_row is not None:
            on_line(self.script.last_row())
        agent_status = self.script.agent_end_status if ended else self.script.agent_status
        return agent_status if AGENT in command else self.script.ops_status

    def _play(self, command: str, on_line: Callable[[str], None]) -> bool:
        """Go through the steps of a program; whether it told its end."""
        ended = False
        for step in self._steps(command):
            if isinstance(step, str):
                ended = ended or step.startswith('{"end"')
                on_line(step)
            else:
                step()
        return ended

    def _list(self, command: str, on_line: Callable[[str], None]) -> int:
        """Play the program that lists the devices."""
        if self.script.listing_records:
            (folder,) = re.findall(r"GGML_VIRTGPU_CALL_LOG=\S+/(\S+)", command)
            guest = None if self.script.guest_records is None else self.script.listing_records
            write_calls(self.folder / folder / "guest-6-1.calls", 0, Made(1, 4, 9), guest)
            if self.script.listing_served:
                write_calls(self.plan.logs / "calls" / "host-1-9.calls", 1, Made(1, 4, 9), self.script.listing_records)
        answer = json.dumps({"devices": [asdict(device) for device in self.script.devices]})
        for line in self.script.listing:
            on_line(f"{answer if line == '{}' else line}\n")
        return 0

    def _steps(self, command: str) -> Iterable[str | Callable[[], None]]:
        if AGENT not in command:
            self.script.commands.append(command)
            again = len(self.script.commands) > 1 and bool(self.script.later)
            return self.script.later.pop(0) if again else self.script.ops
        assert self.script.agent is not None, "this script has no agent"
        _, _, given = command.partition("<<'END_OF_CASES'\n")
        return self.script.agent(given.removesuffix("\nEND_OF_CASES").split("\n"), command)

    def _calls(self, folder: Path, capset: int) -> None:
        """The records that both sides would have written."""
        self._sessions += 1
        session = 100 * self.script.boots + self._sessions
        made = Made(session, capset, self.script.first_call, self.script.ring)
        write_calls(folder / f"guest-7-{session}.calls", 0, made, self.script.guest_records, self.script.last_status)
        write_calls(self.plan.logs / "calls" / f"host-{session}-9.calls", 1, made, self.script.host_records)

    def put(self, local: Path, remote: str, deadline: Deadline | None = None) -> str:
        assert deadline is None or not deadline.expired
        self.shipped[remote] = local.name
        if local.is_file():
            self.contents[remote] = local.read_bytes()
        return SHA

    def get(self, remote: str, local: Path, deadline: Deadline | None = None, *, most_bytes: int = 1 << 30) -> str:
        assert most_bytes > 0
        assert deadline is None or not deadline.expired
        if Path(remote).name == "values":
            local.write_bytes(b"values")
            return SHA
        shutil.copyfile(self.folder / Path(remote).parent.name / Path(remote).name, local)
        return SHA


@dataclass
class FakeGuest:
    """A guest that is always the same."""

    script: Script
    plan: BootPlan
    ssh: FakeShell
    argv: tuple[str, ...] = ("qemu-system-x86_64", "-nodefaults")
    capsets: tuple[int, ...] = (1, 2, 4, 10)
    boot_s: float = 9.5
    qemu_pid: int = QEMU_PID
    main_thread_first: bool | None = True

    def worker_pids(self) -> tuple[int, ...]:
        served = self.script.reference_worker
        return (*self.script.workers, *([served.pid] if served is not None else []))

    def alive(self) -> bool:
        return self.script.alive

    def serial_tail(self) -> str:
        return "the console"

    def collect_dmesg(self, path: Path, deadline: Deadline) -> None:
        assert not deadline.expired
        if self.script.at_the_end is not None:
            self.script.at_the_end()
        path.write_text("dmesg\n")

    def testinfra(self) -> Any:
        def file(path: str) -> Any:
            return SimpleNamespace(
                path=path,
                exists=True,
                is_directory=True,
                sha256sum=SHA,
                content_string="virtio_gpu dev=0000:00:04.0 unique=0000:00:04.0\n",
                listdir=lambda: ["card0", "renderD128"],
            )

        return SimpleNamespace(check_output=lambda _command: KERNEL, file=file)


def payload(role: str, path: str, inside: str | None = None) -> Payload:
    return Payload(role, Path(path), inside or path, SHA, f"id of {role}")


SHIPMENT = Shipment(
    guest_library=payload("guest library", "/native/libggml-virtgpu.so", GUEST_LIBRARY),
    host_library=payload("host library", "/native/libggml-virtgpu-backend.so"),
    component=payload("component", "/native/libapir-preload.so"),
    worker=payload("worker", "/native/apir-worker"),
    ggml_library=payload("ggml library", "/root/usr/lib/libggml-cpu-fake.so", "/usr/lib/libggml-cpu-fake.so"),
    registration="ggml_backend_init",
)


def mapped(script: Script, one: Payload) -> MappedFile:
    return MappedFile(one.inside, script.mapped_ids.get(one.role, one.build_id))


def guest_program(script: Script, plan: BootPlan, pid: int) -> ProcessFacts:
    variables: dict[str, str] = {"GGML_BACKEND_PATH": GUEST_LIBRARY, "GGML_REMOTING_USE_APIR_CAPSET": "1"}
    variables["GGML_VIRTGPU_DATA_PATH"] = plan.scenario.guest.data_path
    variables |= {name: value for name, value in plan.scenario.guest.environment.items() if isinstance(value, str)}
    assert plan.variables
    files = script.reference
    loaded = (SHIPMENT.guest_library, *((files.preload, files.guest_library) if files is not None else ()))
    return ProcessFacts(
        pid, "/usr/bin/python3", ("python3",), tuple(variables.items()), tuple(mapped(script, one) for one in loaded)
    )


class FakePlatform:
    """Implements ``Platform`` by a script."""

    def __init__(self, script: Script, folder: Path) -> None:
        self.script, self.folder = script, folder
        self.plans: list[BootPlan] = []
        self.guests: list[FakeGuest] = []
        self.wishes: list[ReferenceWish] = []

    def platform(self) -> Platform:
        return Platform(
            self.abilities, self.prepare, self.boot, self.native_cases, self.process, self.reference, self.native_listing
        )

    def abilities(self, _root: HostRoot, _image: str) -> HostAbilities:
        return HostAbilities(self.script.capabilities)

    def prepare(self, scenario: Scenario, progress: Progress, deadline: Deadline) -> Ingredients:
        assert not deadline.expired
        progress.note(f"preparing {scenario.name}")
        if self.script.prepare_error is not None:
            raise self.script.prepare_error
        root = HostRoot(Path("/root"), "rootkey", (("libggml0", "0.27.0"), ("qemu-system-x86", "11.1")), ())
        nowhere = Path("/nowhere")
        image = GuestImage("guest-6.12", "imagekey", nowhere, nowhere, nowhere, KERNEL, (("libggml0", "0.27.0"),), ())
        return Ingredients(root, image, replace(SHIPMENT, reference=self.script.reference), Path("/native"))

    @contextlib.contextmanager
    def boot(self, plan: BootPlan) -> Iterator[FakeGuest]:
        self.plans.append(plan)
        self.script.boots += 1
        self.script.alive = True
        (plan.logs / "serial.log").write_text(f"[ 0.1] hello from boot {self.script.boots}\n[ 1.0] the last line of the console\n")
        if self.script.boot_errors:
            raise self.script.boot_errors.pop(0)
        if self.script.boot_error is not None:
            raise self.script.boot_error
        folder = self.folder / f"guest-{self.script.boots}"
        folder.mkdir()
        guest = FakeGuest(self.script, plan, FakeShell(self.script, plan, folder))
        self.guests.append(guest)
        try:
            yield guest
        finally:
            self.script.torn_down += 1
        if self.script.exit_error is not None:
            raise self.script.exit_error
        if not self.script.alive:
            raise GuestLost(self.script.lost)

    def native_cases(self, _selection: Selection, _ingredients: Ingredients, deadline: Deadline) -> ExpectedCases | None:
        assert not deadline.expired
        return None if self.script.expected is None else ExpectedCases(tuple(self.script.expected), self.script.refused)

    def reference(self, wish: ReferenceWish, _ingredients: Ingredients, deadline: Deadline) -> Host:
        assert not deadline.expired
        assert self.script.host is not None, "this script computes no case of the catalog"
        self.wishes.append(wish)
        return self.script.host

    def native_listing(
        self, listed: Listed, variables: Mapping[str, str], _ingredients: Ingredients, deadline: Deadline
    ) -> tuple[ListedCase, ...] | None:
        assert not deadline.expired
        assert dict(variables) == dict(self.plans[-1].variables)
        return self.script.listed if f"[virtgpu] {listed.device}" in {device.name for device in self.script.devices} else None

    def process(self, pid: int) -> ProcessFacts:
        plan, served = self.plans[-1], self.script.reference_worker
        if served is not None and pid == served.pid:
            return served
        if pid == QEMU_PID:
            return ProcessFacts(pid, "/usr/bin/qemu", ("qemu",), plan.variables, (mapped(self.script, SHIPMENT.component),))
        files = (SHIPMENT.worker, SHIPMENT.host_library, SHIPMENT.ggml_library)
        return ProcessFacts(pid, "/native/apir-worker", ("apir-worker",), (), tuple(mapped(self.script, one) for one in files))
