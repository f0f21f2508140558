"""What the runner needs of the floors below, as interfaces, and the real ones put together.

The runner is handed a ``Platform``, so its whole flow is tested without QEMU by fakes that implement these interfaces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lab.deadline import Deadline
from lab.elf import ProcessFacts
from lab.errors import BuildError
from lab.host.native import CASE_LISTER
from lab.host.progress import Progress
from lab.host.root import HostRoot
from lab.image import GuestImage
from lab.ops.session import Host
from lab.ops.upstream import ExpectedCases, Selection
from lab.ops.upstream_cases import Listed, ListedCase
from lab.scenario.lies import LiesFile
from lab.scenario.model import Scenario
from lab.scenario.requirements import HostAbilities
from lab.scenario.shipment import Shipment
from lab.scenario.switches import Switches


class GuestShell(Protocol):
    """A shell in the guest, as ``lab.guest.ssh.GuestShell`` is one."""

    def execute(self, command: str, deadline: Deadline) -> tuple[int, str]:
        """Run a command; exit status and both outputs together."""

    def stream(self, command: str, on_line: Callable[[str], None], deadline: Deadline) -> int:
        """Run a command and hand over its lines as they come; exit status, negative for a signal."""

    def put(self, local: Path, remote: str, deadline: Deadline | None = None) -> str:
        """Ship a file; it arrives as it was (its SHA-256 is returned) or an error is raised."""

    def get(self, remote: str, local: Path, deadline: Deadline | None = None, *, most_bytes: int = ...) -> str:
        """Fetch a file of at most so many bytes; its SHA-256."""


class Guest(Protocol):
    """A booted guest, as ``lab.qemu.machine.Guest`` is one."""

    @property
    def ssh(self) -> GuestShell:
        """The one connection to it."""

    @property
    def argv(self) -> tuple[str, ...]:
        """QEMU's command line."""

    @property
    def capsets(self) -> tuple[int, ...]:
        """Capset numbers as the guest's kernel lists them."""

    @property
    def boot_s(self) -> float:
        """From starting QEMU to the guest answering on SSH."""

    @property
    def qemu_pid(self) -> int:
        """QEMU's process id on the host."""

    @property
    def main_thread_first(self) -> bool | None:
        """Whether QEMU's main thread goes before its virtual processors; None where it was not tried or is not the lab's to say."""

    def worker_pids(self) -> tuple[int, ...]:
        """Process ids, on the host, of the component's workers that are running."""

    def render_server_pids(self) -> tuple[int, ...]:
        """Process ids, on the host, of virglrenderer's render server."""

    def kill(self, pid: int) -> None:
        """Kill a process of the machine (SIGKILL)."""

    def alive(self) -> bool:
        """Whether QEMU is still running."""

    def serial_tail(self) -> str:
        """The end of the serial console."""

    def collect_dmesg(self, path: Path, deadline: Deadline) -> None:
        """Write the guest kernel's log to a file."""

    def testinfra(self) -> Any:
        """A testinfra host on the same guest."""


@dataclass(frozen=True, slots=True)
class Ingredients:
    """Everything a boot is made from, built or found in the cache. ``tools``: folder of all our native products."""

    root: HostRoot
    image: GuestImage
    shipment: Shipment
    tools: Path | None = None

    @property
    def case_lister(self) -> Path:
        """What makes test-backend-ops list its cases. Raises ``BuildError`` where our products are not known."""
        if self.tools is None:
            raise BuildError(f"no folder of native products is known, so there is no {CASE_LISTER}")
        return self.tools / CASE_LISTER

    @property
    def kernel(self) -> str:
        """The guest's kernel release, as its image has it."""
        return self.image.release


@dataclass(frozen=True, slots=True)
class ReferenceWish:
    """What results of the catalog must be equal to.

    Args:
        library: as ``host.ggml_library`` names one.
        own: whether that is the library that the guest's cases reach.
        seed: of the data.
        threads: that it computes with.
        environment: its variables.
    """

    library: str
    own: bool
    seed: int
    threads: int
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class BootPlan:
    """One machine to start: what it is made of, QEMU's whole environment, where its logs go, and by when it must answer."""

    scenario: Scenario
    ingredients: Ingredients
    accel: str
    display: str
    render_node: Path | None
    variables: tuple[tuple[str, str], ...]
    logs: Path
    deadline: Deadline
    switches: Switches | None = None
    lies: LiesFile | None = None


NativeListing = Callable[
    [Listed, Mapping[str, str], Ingredients, Deadline],
    tuple[ListedCase, ...] | None,
]


@dataclass(frozen=True, slots=True)
class Platform:
    """The doors to the machine below.

    Attributes:
        abilities: what the host can do, probed with a host root and the name of a guest image.
        prepare: builds everything that a boot of the scenario is made from, or finds it in the cache.
        boot: the booted guest of a plan.
        native_cases: the cases of a selection, from the host root's own ggml; None when the guest's is another one.
        process: facts of a process on the host.
        reference: where the catalog's cases are computed natively; the same for as long as the platform lasts.
        native_listing: cases of test-backend-ops, with what a device of the host's own library says of each, found by QEMU's
            variables; None when the guest's ggml is another one or the host root has no such device.
    """

    abilities: Callable[[HostRoot, str], HostAbilities]
    prepare: Callable[[Scenario, Progress, Deadline], Ingredients]
    boot: Callable[[BootPlan], AbstractContextManager[Guest]]
    native_cases: Callable[[Selection, Ingredients, Deadline], ExpectedCases | None]
    process: Callable[[int], ProcessFacts]
    reference: Callable[[ReferenceWish, Ingredients, Deadline], Host]
    native_listing: NativeListing
