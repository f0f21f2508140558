"""Compiling beside other tests: out of their way, gone with the context, and those whose programs it compiles come last."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.deadline import Deadline, poll
from lab.paths import PROJECT
from lab.qemu.processes import Process, descendants
from tests import beforehand

LAST = ("native_tests_pass", "minute_of_fuzzing", "our_own_recording")
COMPILING = ("cmake", "ninja", "cc1plus")


@pytest.mark.native
@pytest.mark.compiled_beforehand("tests")
@pytest.mark.usefixtures("root")
def test_compilers_are_nice_and_gone_with_the_context() -> None:
    begun: list[Process] = []

    def seen() -> bool:
        begun[:] = [one for one in descendants(child.pid) if one.name in COMPILING and is_nice(one)]
        return bool(begun)

    before = beforehand.family()
    with beforehand.compiling(["tests"]) as child:
        poll("a compiler that is nice", seen, Deadline.after(60))
        assert beforehand.family() == before
    poll("the compilers' end", lambda: not any(one.alive() for one in begun), Deadline.after(10))


def is_nice(process: Process) -> bool:
    """Within its session, and to others, where the kernel makes a difference."""
    group = Path(f"/proc/{process.pid}/autogroup")
    with contextlib.suppress(OSError):
        told = not group.exists() or group.read_text().endswith(f"nice {beforehand.NICE}\n")
        return told and os.getpriority(os.PRIO_PROCESS, process.pid) == beforehand.NICE
    return False


def test_tests_of_compiled_programs_come_last() -> None:
    argv = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "protocol or native", "tests/native", "tests/ops")
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(argv, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True, timeout=60)
    lines = done.stdout.splitlines()
    items = [line for line in lines if "::" in line]
    last = [item for item in items if any(name in item for name in LAST)]
    assert len(last) == 4
    assert items[-len(last) :] == last
