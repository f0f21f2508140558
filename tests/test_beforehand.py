"""Compiling beside other tests: it ends with the context, and whoever waits for it comes last."""

from __future__ import annotations

import os
import subprocess
import sys

from lab.deadline import Deadline, poll
from lab.paths import PROJECT
from lab.qemu.processes import Process, descendants
from tests import beforehand


def compilers() -> tuple[Process, ...]:
    return tuple(one for one in descendants(os.getpid()) if beforehand.compiles(one))


def test_nothing_is_left_of_what_was_not_waited_for() -> None:
    before = compilers()
    with beforehand.compiling():
        poll("a process of the lowest priority", lambda: len(compilers()) > len(before), Deadline.after(30))
        begun = [one for one in compilers() if one not in before]
    assert not any(one.alive() for one in begun)


def test_tests_of_compiled_programs_come_last() -> None:
    argv = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "protocol or native", "tests/native", "tests/ops")
    lines = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    items = [line for line in lines if "::" in line]
    last = [item for item in items if "test_native_parts" in item]
    assert len(last) >= 5
    assert items[-len(last) :] == last
