"""What is begun while other tests run, for tests that come after those: by processes of their own, out of everybody's way.

Guests and Python tests leave one of two processors idle for much of the time. Two take what they do not want, one after the
other: first ``make run`` of an ordinary user (``tests.ordinary_user``), which is judged by its test, then the compilers of what
native tests run (``python -m tests.beforehand WHAT…``). The compilers can be ended at any time: whatever is compiled by the time
that it is wanted need not be compiled then.

The compilers have no deadline that matters, and take what nobody else wants (nice 19). ``make run`` has deadlines within, by the
clock: its guest boots, answers and tells its state in so many seconds. So it never competes with the compilers, which wait for its
end, and it is less nice than they are (nice 10): two busy sessions leave it some tenth of a processor, where nice 19 would leave
a seventieth. When its test begins to wait for it, nothing else runs, and it becomes as pushing as the tests are. The time that the
test gives it counts from then; the run's own limit is longer than any suite.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from lab import paths
from lab.deadline import Deadline
from lab.errors import LabError
from lab.host.native import Sanitizers, compiled_tests, native_payloads
from lab.host.progress import LineProgress, Progress
from lab.host.root import HostRoot, host_root
from lab.interruption import interruptible, postponed
from lab.process import Child, keep_nice, spawn
from lab.qemu.processes import Process, descendants
from lab.temporary import nameless_file
from tests import ordinary_user

BUILD_S = 3000.0
TERMINATE_S = 15.0  # its own child has the first of that
NICE = 19
ORDINARY_NICE = 10
MODULE = "tests.beforehand"
AFTER = "--after"
OTHER_API = ("-DAPIR_GGML_API=2",)
INTERRUPTED = 130
STEPS: Mapping[str, Callable[[HostRoot, Progress, Deadline], object]] = {
    "tests": compiled_tests,
    "sanitized": lambda root, progress, deadline: compiled_tests(root, progress, deadline, sanitizers=Sanitizers.MEMORY),
    "thread-sanitized": lambda root, progress, deadline: compiled_tests(root, progress, deadline, sanitizers=Sanitizers.THREADS),
    "other-api": lambda root, progress, deadline: native_payloads(root, progress, deadline, options=OTHER_API),
}
"""What can be compiled, in the order in which that is done."""
running: list[Child] = []
"""What runs beside the tests."""


@contextlib.contextmanager
def beside(module: str, *words: str, terminate_s: float, nice: int = NICE) -> Iterator[Child]:
    """Run one of our modules out of everybody's way, with all that it starts by ``spawn``, for as long as the context lasts.

    Its end takes time: an account has to be removed. A signal that comes meanwhile waits for that.
    """
    argv = ("nice", "-n", str(nice), sys.executable, "-m", module, *words)
    with contextlib.ExitStack() as stack:
        with postponed():
            log = stack.enter_context(nameless_file())
            child = stack.enter_context(spawn(argv, log=log, cwd=paths.PROJECT, terminate_s=terminate_s))
            running.append(child)
            stack.callback(running.remove, child)
            keep_nice(child.pid, nicer=nice)
        try:
            yield child
        finally:
            with postponed():
                stack.close()


def compiling(what: Sequence[str], *, after: Child | None = None) -> AbstractContextManager[Child]:
    """Compile ``what``, names of ``STEPS``, when ``after`` has ended, for as long as the context lasts."""
    awaited = () if after is None else (AFTER, str(after.pid))
    return beside(MODULE, *awaited, *what, terminate_s=TERMINATE_S)


def ordinary_run(*, nice: int = ORDINARY_NICE) -> AbstractContextManager[Child]:
    """``make run`` of an ordinary user for as long as the context lasts, at whose end nothing is left of the account."""
    return beside(ordinary_user.MODULE, str(ordinary_user.CLONED), terminate_s=ordinary_user.TERMINATE_S, nice=nice)


def family() -> tuple[Process, ...]:
    """All processes below this one but for those of what runs beside."""
    others = {child.pid for child in running}
    found = []
    for one in descendants(os.getpid()):  # parents before children
        if one.pid in others or one.parent in others:
            others.add(one.pid)
        else:
            found.append(one)
    return tuple(found)


def await_end(pid: int) -> None:
    """Wait for the end of a process, which may be over."""
    with contextlib.suppress(ProcessLookupError):
        end = os.pidfd_open(pid)
        try:
            select.select([end], [], [])
        finally:
            os.close(end)


def main(words: Sequence[str]) -> int:
    """Compile; 0, or why that could not be on standard output."""
    try:
        with interruptible():
            if AFTER in words:
                await_end(int(words[1]))
            progress, deadline = LineProgress(), Deadline.after(BUILD_S)
            root = host_root(progress, deadline)
            for name, step in STEPS.items():
                if name in words:
                    step(root, progress, deadline)
    except LabError as error:
        print(error)  # noqa: T201 - a program's answer
        return error.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
