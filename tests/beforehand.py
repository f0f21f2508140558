"""What native tests run is compiled while others run: by a process of its own, ``python -m tests.beforehand``.

Guests and Python tests leave one of two processors idle for much of the time. It takes only what nobody else wants (SCHED_IDLE),
and carries nothing over: a test that finds its programs compiled just runs them, and one whose compiling failed sees why by itself.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

from lab import paths
from lab.deadline import Deadline
from lab.errors import LabError
from lab.host.native import compiled_tests, native_payloads
from lab.host.progress import LineProgress
from lab.host.root import cached_host_root
from lab.interruption import interruptible
from lab.process import spawn
from lab.qemu.processes import Process, descendants
from lab.temporary import nameless_file

BUILD_S = 3000.0
OTHER_API = ("-DAPIR_GGML_API=2",)
FAILED = 2
INTERRUPTED = 130


@contextlib.contextmanager
def compiling() -> Iterator[Callable[[], None]]:
    """Compile for as long as the context lasts; what is given waits for the end of it."""
    argv = (sys.executable, "-m", "tests.beforehand")
    with nameless_file() as log, spawn(argv, log=log, cwd=paths.PROJECT) as child:

        def ended() -> None:
            # Whatever came of it is for the tests to find.
            child.wait(Deadline.after(BUILD_S))

        yield ended


def family() -> tuple[Process, ...]:
    """All processes below this one but for the compilers."""
    return tuple(one for one in descendants(os.getpid()) if not compiles(one))


def compiles(process: Process) -> bool:
    """Whether it is one of the compilers, or gone."""
    try:
        return os.sched_getscheduler(process.pid) == os.SCHED_IDLE
    except ProcessLookupError:
        return True


def main() -> int:
    """Compile all that native tests need; 0, or why that could not be on standard output."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    progress, deadline = LineProgress(), Deadline.after(BUILD_S)
    try:
        with interruptible():
            root = cached_host_root()
            if root is None:
                return FAILED
            compiled_tests(root, progress, deadline)
            compiled_tests(root, progress, deadline, sanitize=True)
            native_payloads(root, progress, deadline, options=OTHER_API)
    except LabError as error:
        print(error)  # noqa: T201 - a program's answer
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
