"""QEMU's main thread before its virtual processors, seen with a process of several threads."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from lab.qemu.priority import STEP, USUAL_NICE, put_main_thread_first
from tests.niceness import may_hurry

NOBODY = 65534
AS_NOBODY = f"import os, resource; resource.setrlimit(resource.RLIMIT_NICE, (0, 0)); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
"""What a program does that has started: another user may not be able to read it where it lies."""
PROGRAM = """
import os, sys, threading
def thread():
    told = threading.Event()
    def run():
        print(threading.get_native_id(), flush=True)
        told.set()
        threading.Event().wait()
    threading.Thread(target=run, daemon=True).start()
    told.wait()
thread()
for line in sys.stdin:
    thread()
    child = os.fork()
    if child == 0:
        sys.stdin.read()
        os._exit(0)
    print(child, flush=True)
"""


@contextlib.contextmanager
def several_threads(first: str = "", of: int | None = None) -> Iterator[tuple[int, int, Callable[[], tuple[int, int]]]]:
    """A process, a thread of it, and what makes another thread and a child of its main thread's; ids of all of them.

    ``of``: its nice value, else it has ours.
    """
    given = "" if of is None else f"import os; os.setpriority(os.PRIO_PROCESS, 0, {of})\n"
    argv = (sys.executable, "-c", given + first + PROGRAM)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def more() -> tuple[int, int]:
            stdin.write("more\n")
            stdin.flush()
            return int(stdout.readline()), int(stdout.readline())

        yield process.pid, int(stdout.readline()), more


def nice(task: int) -> int:
    return os.getpriority(os.PRIO_PROCESS, task)


@pytest.mark.skipif(not may_hurry(), reason="this user may not lower a nice value (CAP_SYS_NICE, ulimit -e)")
def test_main_thread_alone_becomes_less_nice() -> None:
    with several_threads(of=USUAL_NICE) as (pid, thread, more):
        assert put_main_thread_first(pid)
        later = more()
        assert nice(pid) == USUAL_NICE - STEP
        assert {nice(one) for one in (thread, *later)} == {USUAL_NICE}


@pytest.mark.skipif(not may_hurry(), reason="this user may not lower a nice value (CAP_SYS_NICE, ulimit -e)")
@pytest.mark.parametrize("own", [-5, 1, 19])
def test_nice_value_that_was_chosen_is_kept(own: int) -> None:
    with several_threads(of=own) as (pid, thread, more):
        assert put_main_thread_first(pid) is None
        assert {nice(one) for one in (pid, thread, *more())} == {own}


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's process needs root to be made")
def test_where_it_is_not_allowed_nothing_changes() -> None:
    ours = nice(0)
    with several_threads(AS_NOBODY) as (pid, thread, more):
        script = f"from lab.qemu.priority import put_main_thread_first as put\n{AS_NOBODY}print(put({pid}))"
        argv = (sys.executable, "-c", script)
        told = subprocess.run(argv, capture_output=True, text=True, check=True)
        assert told.stdout == ("False\n" if ours == USUAL_NICE else "None\n")
        assert {nice(one) for one in (pid, thread, *more())} == {ours}


def test_another_policy_is_kept() -> None:
    with several_threads("import os; os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\n") as (pid, _, more):
        assert put_main_thread_first(pid) is None
        assert {nice(one) for one in (pid, *more())} == {nice(0)}
        assert os.sched_getscheduler(pid) == os.SCHED_IDLE


def test_process_that_is_gone_is_left_as_it_is() -> None:
    with subprocess.Popen((sys.executable, "-c", "")) as process:
        process.wait()
    assert put_main_thread_first(process.pid) is False
