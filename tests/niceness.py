"""How far processes that run already stand back behind others, and how they are called forward again."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator
from pathlib import Path

from lab.deadline import Deadline, poll
from lab.errors import WaitTimeout
from lab.qemu.priority import STEP, USUAL_NICE
from lab.qemu.processes import descendants

GIVEN_S = 2.0


def give(pid: int, nice: int) -> None:
    """Give a process and all below it a nice value, which root may make smaller; what they start afterwards has it from them.

    What one of them starts while we look has the former value: we look again, until a look finds none of those. Where the system
    refuses, all stays as it was.
    """

    def had() -> bool:
        late = [one for one in (pid, *(process.pid for process in descendants(pid))) if not given(one, nice)]
        return not late

    with contextlib.suppress(WaitTimeout):
        poll("processes that are nice as they should", had, Deadline.after(GIVEN_S))


@contextlib.contextmanager
def hurried_end() -> Iterator[None]:
    """At the context's end this process and all below it are nice no more: who ends it waits for that, and nothing else runs."""
    try:
        yield
    finally:
        give(os.getpid(), 0)


def given(pid: int, nice: int) -> bool:
    """Give it to all threads of a process, which may be over, and to its session's group; whether all threads had it before."""
    had = True
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            had &= os.getpriority(os.PRIO_PROCESS, int(thread.name)) == nice
            os.setpriority(os.PRIO_PROCESS, int(thread.name), nice)
        Path(f"/proc/{pid}/autogroup").write_text(str(nice), encoding="ascii")
    return had


def may_hurry() -> bool:
    """Whether a process that is not nice may be made to go before others by ``STEP``: by CAP_SYS_NICE, or by its limit."""
    capabilities = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff:"))
    if int(capabilities.split()[1], 16) >> 23 & 1:
        return True
    least = 20 - resource.getrlimit(resource.RLIMIT_NICE)[0]
    return least <= USUAL_NICE - STEP
