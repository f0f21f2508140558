"""QEMU's main thread before its virtual processors.

A command that travels by virtio-gpu needs QEMU's main thread. An emulated processor whose guest polls for the answer never
sleeps, and where a host has no more processors than the guest, Linux may let a thread that wakes wait behind it for milliseconds.
As with libvirt's ``emulatorsched``, the main thread is given the greater weight: four threads that call by EXECBUFFER got three
quarters more calls done, one thread a tenth (in turns in one guest, on two processors; before our component did its own part).
Weight alone does not let it in at once: it still waits for the end of the turn of whoever runs. So our component has it take
short turns, too, where the kernel grants them (Linux 6.12 and later).
"""

from __future__ import annotations

import os

STEP = 10
"""By how much its nice value is below that of the virtual processors: ten times their weight."""
USUAL_NICE = 0
WEIGHED = (os.SCHED_OTHER, os.SCHED_BATCH)
"""Policies by which nice values count. Who starts the lab by another one (``chrt``) has chosen it for all that it starts."""


def put_main_thread_first(pid: int) -> bool | None:
    """Give a process's main thread a nice value that is ``STEP`` lower than the one it has; whether that was allowed.

    Its other threads, and what the main thread makes later (workers among them), stay as nice as they were. It takes CAP_SYS_NICE
    or a limit of nice values with room for it (``ulimit -e 30``, with which QEMU has to run, too); without, nothing changes, nor
    with a process that is just ending. None, and nothing changes, where another scheduling policy than the usual ones was chosen,
    or another nice value than 0: what the main thread makes gets 0 from Linux where its own is negative, else that one.
    """
    try:
        policy, nice = os.sched_getscheduler(pid), os.getpriority(os.PRIO_PROCESS, pid)
        if policy not in WEIGHED or nice != USUAL_NICE:
            return None
        os.sched_setscheduler(pid, policy | os.SCHED_RESET_ON_FORK, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, pid, USUAL_NICE - STEP)
    except (PermissionError, ProcessLookupError):
        return False
    return True
