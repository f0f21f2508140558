"""What native tests run is compiled while others run: by a process of its own, ``python -m tests.beforehand WHAT…``.

Guests and Python tests leave one of two processors idle for much of the time; the compilers take what they do not want (nice 19).
It carries nothing over: whatever is compiled by the time that it is wanted need not be compiled then.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from lab import paths
from lab.deadline import Deadline
from lab.errors import LabError
from lab.host.native import compiled_tests, native_payloads
from lab.host.progress import LineProgress, Progress
from lab.host.root import HostRoot, host_root
from lab.interruption import interruptible
from lab.process import Child, spawn
from lab.qemu.processes import Process, descendants
from lab.temporary import nameless_file

BUILD_S = 3000.0
TERMINATE_S = 15.0  # its own child has the first of that
NICE = 19
OTHER_API = ("-DAPIR_GGML_API=2",)
INTERRUPTED = 130
STEPS: Mapping[str, Callable[[HostRoot, Progress, Deadline], object]] = {
    "tests": compiled_tests,
    "sanitized": lambda root, progress, deadline: compiled_tests(root, progress, deadline, sanitize=True),
    "other-api": lambda root, progress, deadline: native_payloads(root, progress, deadline, options=OTHER_API),
}
"""What can be compiled, in the order in which that is done."""
running: list[Child] = []


@contextlib.contextmanager
def compiling(what: Sequence[str]) -> Iterator[Child]:
    """Compile ``what``, names of ``STEPS``, for as long as the context lasts."""
    argv = (sys.executable, "-m", "tests.beforehand", *what)
    with nameless_file() as log, spawn(argv, log=log, cwd=paths.PROJECT, terminate_s=TERMINATE_S) as child:
        running.append(child)
        try:
            yield child
        finally:
            running.remove(child)


def family() -> tuple[Process, ...]:
    """All processes below this one but for the compilers."""
    compilers = {pid for child in running for pid in (child.pid, *(one.pid for one in descendants(child.pid)))}
    return tuple(one for one in descendants(os.getpid()) if one.pid not in compilers)


def main(what: Sequence[str]) -> int:
    """Compile; 0, or why that could not be on standard output."""
    os.nice(NICE)
    progress, deadline = LineProgress(), Deadline.after(BUILD_S)
    try:
        with interruptible():
            root = host_root(progress, deadline)
            for name, step in STEPS.items():
                if name in what:
                    step(root, progress, deadline)
    except LabError as error:
        print(error)  # noqa: T201 - a program's answer
        return error.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
