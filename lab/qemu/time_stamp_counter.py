"""How fast the processor's time stamp counter counts: an emulated guest reads the host's, and need not find that out itself.

A guest's kernel measures the counter at its start against an emulated timer, for some milliseconds. Where the host lets an emulated
processor wait in between (two guests on two busy processors are enough), it has seen too few counts: a guest was seen whose clock
ran 7.7 times as fast as the host's for all its life. Every limit in it was over too soon, a handshake's two seconds after a
quarter of one, every duration that it recorded was wrong, and ``tsc=reliable`` (``lab.qemu.command``) keeps the kernel's watchdog
from noticing. Told the frequency on its command line (``tsc_early_khz``), it takes that, and corrects it by a hundredth at most.

The counter is read by its instruction, ten bytes of machine code, for Linux tells its frequency to nobody but the kernel's log.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import platform
import sys
import time
from collections.abc import Callable
from contextlib import closing

READ_COUNTER = bytes.fromhex("0f31 48c1e220 4809d0 c3")
"""rdtsc; shl rdx, 32; or rax, rdx; ret."""
SPAN_S = 0.03
LOOKS = 16
"""So often is the counter read between two looks at the clock, of which the two that are nearest to one another count."""
TRIES = 5
LARGEST_ERROR = 1e-4
STEP_KHZ = 100
"""The answer is rounded to this: what is left of one is known better than the answer."""


@functools.cache
def host_counter_khz() -> int | None:
    """Frequency of this host's time stamp counter in kHz, measured once a process in some 30 ms.

    None on other processors than x86-64, where the machine code may not be run, and where the host never let us look at counter
    and clock at one time: a guest then measures it by itself.
    """
    if platform.machine() != "x86_64" or sys.maxsize < 2**32:  # a Python of 32 bits cannot run the code either
        return None
    try:
        with closing(mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)) as page:
            page.write(READ_COUNTER)
            start = ctypes.c_char.from_buffer(page)
            try:
                return measured_khz(ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(start)))
            finally:
                del start  # the page is closed only when nothing points into it
    except OSError:  # memory that can be written is not run here
        return None


def measured_khz(
    read_counter: Callable[[], int],
    clock_ns: Callable[[], int] = time.monotonic_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> int | None:
    """Frequency of a counter in kHz by a clock in nanoseconds; None where the two could not be read closely enough together."""
    for _ in range(TRIES):
        first, first_ns, first_doubt = looked_at(read_counter, clock_ns)
        sleep(SPAN_S)
        last, last_ns, last_doubt = looked_at(read_counter, clock_ns)
        span_ns = last_ns - first_ns
        if last > first and first_doubt + last_doubt <= span_ns * LARGEST_ERROR:
            return round((last - first) * 1e6 / span_ns / STEP_KHZ) * STEP_KHZ
    return None


def looked_at(read_counter: Callable[[], int], clock_ns: Callable[[], int]) -> tuple[int, int, int]:
    """The counter, the time in nanoseconds at which it was read, and by how much that may be wrong."""
    looks = []
    for _ in range(LOOKS):
        before = clock_ns()
        count = read_counter()
        took = clock_ns() - before
        looks.append((took, count, before + took // 2))
    took, count, at_ns = min(looks)
    return count, at_ns, took
