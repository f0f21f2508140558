"""Temporary folders and files: gone with their context, after every signal, and after SIGKILL with the next folder of anybody."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from lab.deadline import Deadline
from lab.paths import PROJECT
from lab.process import wait_group_gone
from lab.temporary import KIND, nameless_file, temporary_folder

ENDING = """
import time, typer
from pathlib import Path
from lab.cli.answer import answering
from lab.cli.display import progress_display
from lab.cli.shell import raw_terminal
from lab.process import spawn
from lab.temporary import temporary_folder
def work(place: Path) -> None:
    with answering(as_json=True), temporary_folder("held") as folder, temporary_folder("tree", place=place), \
         raw_terminal(), progress_display() as progress, progress.step("working"):
        deaf = ("sh", "-c", "trap '' TERM HUP INT; echo ready; exec sleep 60")
        with spawn(deaf, log=folder / "log", terminate_s=0.5) as child:
            while "ready" not in child.log_tail():
                time.sleep(0.01)
            print("child", child.pid, flush=True)
            time.sleep(60)
typer.run(work)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def left(folder: Path) -> list[str]:
    return sorted(path.name.rpartition("-")[0] for path in folder.iterdir())


def test_a_folder_is_private_and_goes_with_its_context(cache: Path) -> None:
    with temporary_folder("one") as one, temporary_folder("two") as two:
        assert stat.S_IMODE(one.stat().st_mode) == 0o700
        (one / "deep").mkdir()
        (one / "deep" / "file").touch()
        assert left(cache / KIND) == ["one", "two"]
        assert two.parent == one.parent == cache / KIND
    assert left(cache / KIND) == []


def test_a_file_has_no_name(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    with nameless_file() as file:
        with open(file, "ab") as log:
            subprocess.run(("echo", "said"), stdout=log, check=True)
        assert file.read_text() == "said\n"
        assert list((tmp_path / "tmp").iterdir()) == []
    assert not cache.exists()


def ended_by(numbers: tuple[signal.Signals, ...], place: Path) -> tuple[int, str]:
    """A lab with two folders and a child that is deaf to everything but SIGKILL, which gets these signals; its exit status."""
    argv = (sys.executable, "-c", ENDING, str(place))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT) as lab:
        assert lab.stdout is not None
        child = int(lab.stdout.readline().split()[1])
        for number in numbers:
            lab.send_signal(number)
        _, errors = lab.communicate(timeout=20)
    wait_group_gone(child, Deadline.after(5))
    return lab.returncode, errors


INTERRUPTIONS = {
    "twice": (signal.SIGINT, signal.SIGINT),
    "terminated": (signal.SIGTERM,),
    "hung up": (signal.SIGHUP, signal.SIGTERM, signal.SIGINT),
}


@pytest.mark.parametrize("numbers", INTERRUPTIONS.values(), ids=INTERRUPTIONS)
def test_nothing_is_left_by_a_lab_that_is_interrupted(numbers: tuple[signal.Signals, ...], cache: Path, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    status, errors = ended_by(numbers, tmp_path / "place")
    assert (status, "Traceback" in errors) == (2, False), errors
    assert left(cache / KIND) == left(tmp_path / "place") == []


def test_nothing_is_left_by_a_lab_whose_terminal_goes_away(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    lab = pexpect.spawn(sys.executable, ["-c", ENDING, str(tmp_path / "place")], cwd=PROJECT, encoding="utf-8", timeout=20)
    lab.expect(r"child (\d+)\r?\n")
    os.close(lab.child_fd)  # the kernel tells the lab, as it does when a window is closed or a connection breaks
    lab.closed, lab.child_fd = True, -1
    assert lab.wait() == 2
    wait_group_gone(int(lab.match[1]), Deadline.after(5))
    assert left(cache / KIND) == left(tmp_path / "place") == []


def test_what_a_killed_lab_left_goes_with_the_next_folder_and_what_is_held_stays(cache: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    (place / "virtgpu-lab-of-another-cache-tree").mkdir(parents=True)
    with temporary_folder("living"):
        status, _ = ended_by((signal.SIGKILL,), place)
        assert status == -signal.SIGKILL
        assert left(cache / KIND) == ["held", "living"]
        assert len(left(place)) == 2
        with temporary_folder("next"):
            assert left(cache / KIND) == ["living", "next"]
        with temporary_folder("next", place=place):
            assert len(left(place)) == 2
    assert left(cache / KIND) == []
    assert left(place) == ["virtgpu-lab-of-another-cache"]


def test_what_is_not_a_folder_of_this_user_stays(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "treasure").mkdir()
    (cache / KIND).mkdir(parents=True)
    (cache / KIND / "link-1").symlink_to(tmp_path / "treasure")
    (cache / KIND / "foreign-1").mkdir()
    me = os.geteuid()
    with temporary_folder("mine"):
        assert left(cache / KIND) == ["link", "mine"]
    assert (tmp_path / "treasure").is_dir()
    (cache / KIND / "foreign-1").mkdir()
    monkeypatch.setattr("os.geteuid", lambda: me + 1)
    with temporary_folder("mine"):
        assert left(cache / KIND) == ["foreign", "link", "mine"]
