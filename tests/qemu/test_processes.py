from __future__ import annotations

import errno
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.deadline import Deadline, poll
from lab.errors import GuestError
from lab.qemu.machine import forwarded_port
from lab.qemu.processes import Process, descendants, parsed_stat

USERNET = """\
Hub -1 (net):\r
  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ\r
  TCP[HOST_FORWARD]  13       127.0.0.1 40347       10.0.2.15    22     0     0\r
"""


def test_stat_of_a_name_with_parentheses() -> None:
    text = "42 (a (b) c) S 7 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 1"
    assert parsed_stat(text) == (Process(42, 7, "a (b) c", 98765), "S")


def test_descendants_come_parents_first_and_go() -> None:
    with subprocess.Popen(("sh", "-c", "sleep 60 & wait"), start_new_session=True) as shell:
        family: tuple[Process, ...] = ()
        while not any(process.name == "sleep" for process in family):
            family = tuple(process for process in descendants(os.getpid()) if shell.pid in (process.pid, process.parent))
        assert [process.name for process in family] == ["sh", "sleep"]
        assert all(process.alive() for process in family)
        os.killpg(shell.pid, 9)
    shell.wait()
    # its child dies by the same signal, a moment later on a busy machine
    poll("the end of the family", lambda: not any(process.alive() for process in family), Deadline.after(10))


def test_children_of_one_process_come_in_the_order_of_their_numbers() -> None:
    with subprocess.Popen(("sh", "-c", "sleep 60 & sleep 60 & sleep 60 & wait"), start_new_session=True) as shell:
        below = poll("three children", lambda: (found := descendants(shell.pid))[2:] and found, Deadline.after(10))
        os.killpg(shell.pid, 9)
    assert [process.pid for process in below] == sorted(process.pid for process in below)


def test_zombie_is_not_alive_nor_is_another_process_of_the_same_number() -> None:
    with subprocess.Popen(("sleep", "60")) as child:
        (there,) = (process for process in descendants(os.getpid()) if process.pid == child.pid)
        assert there.alive()
        assert not replace(there, start_ticks=there.start_ticks + 1).alive()
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not there.alive()
        assert child.pid not in {process.pid for process in descendants(os.getpid())}


def test_who_outlives_its_parent_is_alive() -> None:
    """A worker that survives QEMU has another parent from then on."""
    with subprocess.Popen(
        ("sh", "-c", "sleep 60 >&2 & echo $!; read line"), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as shell:
        assert shell.stdout is not None
        pid = int(shell.stdout.readline())
        (left,) = (process for process in descendants(shell.pid) if process.pid == pid)
    try:
        assert parsed_stat(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8"))[0].parent != shell.pid
        assert left.alive()
    finally:
        os.kill(pid, 9)
    poll("the end of what was left", lambda: not left.alive(), Deadline.after(10))


def test_processes_of_others_that_are_hidden_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """With /proc mounted hidepid=1 their folders are seen, and nothing in them can be read."""
    read_text = Path.read_text

    def hidden(path: Path, *args: Any, **words: Any) -> str:
        if path == Path("/proc/1/stat"):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path))
        return read_text(path, *args, **words)

    monkeypatch.setattr(Path, "read_text", hidden)
    assert os.getpid() in {process.pid for process in descendants(os.getppid())}


def test_forwarded_port() -> None:
    assert forwarded_port(USERNET) == 40347
    with pytest.raises(GuestError, match="no port"):
        forwarded_port(USERNET.replace("HOST_FORWARD", "ESTABLISHED"))
