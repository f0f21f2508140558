"""What an idle context costs on the host: processor time of QEMU and of workers, while somebody in the guest has nothing to do."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from lab.process import processor_ns

HOSTS = ("worker_cpu_ns", "qemu_cpu_ns", "qemu_ns")
"""Keys of a row that the host alone fills in."""
SETTLED_S = 0.5
"""QEMU is watched from so long on behind the driver's leave to go on, which is brought by a command of its own in the guest."""


class Served(Protocol):
    """Whose processes are looked at: a booted guest."""

    @property
    def qemu_pid(self) -> int:
        """QEMU's process."""

    def worker_pids(self) -> tuple[int, ...]:
        """Workers that there are now."""


@dataclass(slots=True)
class IdleWatch:
    """One look at the processes behind a guest, from its ``begin`` to its ``end``."""

    guest: Served
    _workers: dict[int, int] = field(default_factory=dict)
    _qemu_ns: int | None = None
    _since_ns: int = 0

    def begin(self, leave: Callable[[], None]) -> None:
        """From here on workers are watched; ``leave`` lets the guest go on, and QEMU is watched when that has settled."""
        self._workers = self.usage()
        leave()
        time.sleep(SETTLED_S)
        self._qemu_ns, self._since_ns = processor_ns(self.guest.qemu_pid), time.monotonic_ns()

    def end(self) -> dict[str, int]:
        """Nanoseconds of processor time, by ``HOSTS``: QEMU's in the last ``qemu_ns``, and that of workers that still are there.

        No worker, no time of one: 0 would read as an idle one.
        """
        qemu_ns, now_ns = processor_ns(self.guest.qemu_pid), time.monotonic_ns()
        workers = [ns - self._workers[pid] for pid, ns in self.usage().items() if pid in self._workers]
        used = {"worker_cpu_ns": sum(workers)} if workers else {}
        if qemu_ns is not None and self._qemu_ns is not None:
            used |= {"qemu_cpu_ns": qemu_ns - self._qemu_ns, "qemu_ns": now_ns - self._since_ns}
        return used

    def usage(self) -> dict[int, int]:
        """Processor time so far of every worker; of one that ends meanwhile none, which is not 0."""
        return {pid: ns for pid in self.guest.worker_pids() if (ns := processor_ns(pid)) is not None}
