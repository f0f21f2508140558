"""A lab that is interrupted or killed while a guest boots or runs leaves no process, an interrupted one no file either; those of
a killed one go with the next lab's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.deadline import Deadline, poll
from lab.host.progress import LineProgress
from lab.host.root import host_root
from lab.image import guest_image
from lab.paths import PROJECT
from lab.qemu.processes import Process, descendants
from lab.temporary import temporary_folder

pytestmark = pytest.mark.scenario

PROGRAM = """
import sys, time
from pathlib import Path
from lab.deadline import Deadline
from lab.host.progress import SilentProgress
from lab.host.root import host_root
from lab.image import guest_image
from lab.qemu.machine import BootSpec, booted_guest
deadline = Deadline.after(120)
spec = BootSpec(host_root(SilentProgress(), deadline), guest_image("guest-6.12", SilentProgress(), deadline))
print("booting", flush=True)
with booted_guest(spec, Path(sys.argv[1]), deadline) as guest:
    print("booted", flush=True)
    guest.ssh.execute("sleep 100")
"""


@pytest.fixture(scope="module", autouse=True)
def set_up() -> None:
    deadline = Deadline.after(1500)
    host_root(LineProgress(), deadline)
    guest_image("guest-6.12", LineProgress(), deadline)


@contextmanager
def lab_process(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    argv = (sys.executable, "-c", PROGRAM, os.fspath(tmp_path / "logs"))
    env = {**os.environ, "TMPDIR": os.fspath(tmp_path)}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT, env=env) as lab:
        try:
            yield lab
        finally:
            lab.kill()


def qemu_of(lab: subprocess.Popen[str]) -> tuple[Process, ...]:
    return tuple(process for process in descendants(lab.pid) if process.name.startswith("qemu-system"))


def keys_of(qemu: Process) -> Path:
    """The folder of the boot's keys, by QEMU's command line, which the kernel shows a moment after the name."""

    def files() -> list[str]:
        words = Path(f"/proc/{qemu.pid}/cmdline").read_text(encoding="utf-8").split("\0")
        return [word.partition("file=")[2] for word in words if word.startswith("name=opt/virtgpu-lab/host-key,")]

    (file,) = poll("QEMU's command line", files, Deadline.after(10))
    return Path(file).parent


def read_until(lab: subprocess.Popen[str], word: str) -> None:
    assert lab.stdout is not None
    assert lab.stdout.readline().strip() == "booting"
    if word == "booted":
        assert lab.stdout.readline().strip() == "booted"


@pytest.mark.parametrize("stage", ["booting", "booted"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_nothing_survives(tmp_path: Path, stage: str, number: signal.Signals) -> None:
    with lab_process(tmp_path) as lab:
        read_until(lab, stage)
        keys = keys_of(poll("QEMU", lambda: qemu_of(lab), Deadline.after(30))[0])
        assert keys.is_dir()
        family = descendants(lab.pid)
        lab.send_signal(number)
        output, errors = lab.communicate(timeout=30)
    assert output.strip() == ""
    poll("the end of all processes", lambda: not any(process.alive() for process in family), Deadline.after(5))
    if number is signal.SIGINT:
        assert "KeyboardInterrupt" in errors
        assert "and then:" not in errors
        assert not keys.exists()
    with temporary_folder("next"):
        assert not keys.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
