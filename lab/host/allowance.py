"""What this process may have of the machine's processors and memory: a container's control groups may leave it less than there is.

Of both versions (cgroups(7)): the group that the process is in and those that it lies in, each with a limit of its own. A container
sees its own group as the outermost one, whatever its name is outside.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

GROUPS = Path("/proc/self/cgroup")
MOUNTED = Path("/sys/fs/cgroup")
CACHED = ("inactive_file", "active_file")
"""Of a group's ``memory.stat``: what it has of files, which the kernel takes back."""
CACHED_1 = tuple(f"total_{name}" for name in CACHED)


def processor_count() -> int:
    """Processors that this process may use, as many as their time comes to; at least one."""
    quotas = (math.ceil(quota) for folder in group_folders("cpu") for quota in quotas_of(folder))
    return max(1, min((len(os.sched_getaffinity(0)), *quotas)))


def memory_left() -> int | None:
    """Bytes that the control groups leave to this process; None where they have no limit."""
    return min((left for folder in group_folders("memory") for left in left_of(folder)), default=None)


def quotas_of(folder: Path) -> Iterator[float]:
    """How many processors' time a group may have; nothing where it has no limit."""
    quota, period = numbers(folder / "cpu.cfs_quota_us"), numbers(folder / "cpu.cfs_period_us")
    for time in (numbers(folder / "cpu.max"), [*quota, *period]):
        if time and time[0] > 0:
            yield time[0] / time[-1]


def left_of(folder: Path) -> Iterator[int]:
    """The bytes of a group that it has not used, or can have back; nothing where it has no limit."""
    for most, used, cached in (
        ("memory.max", "memory.current", CACHED),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", CACHED_1),
    ):
        limit, current = numbers(folder / most), numbers(folder / used)
        if limit and current:
            back = sum(count for name in cached for count in numbers(folder / "memory.stat", begins=f"{name} "))
            yield max(0, limit[0] - current[0] + min(back, current[0]))


def group_folders(controller: str) -> Iterator[Path]:
    """Where the groups of this process are that a controller limits, from its own outwards."""
    for line in lines(GROUPS):
        number, controllers, group = line.split(":", 2)
        if number == "0":
            outermost = MOUNTED
        elif controller in controllers.split(","):
            outermost = MOUNTED / controller
        else:
            continue
        own = outermost / group.lstrip("/")
        if ".." in own.parts or not own.is_dir():
            own = outermost
        while own != outermost:
            yield own
            own = own.parent
        yield outermost


def numbers(path: Path, *, begins: str = "") -> list[int]:
    """The numbers in a file, of its lines that begin so; none where it is not there or something in it is none (``max``)."""
    words = " ".join(line.removeprefix(begins) for line in lines(path) if line.startswith(begins)).split()
    try:
        return [int(word) for word in words]
    except ValueError:
        return []


def lines(path: Path) -> list[str]:
    """The lines of a file; none where it cannot be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
