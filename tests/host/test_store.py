"""The cache: whole entries or none, one builder at a time, nothing left by those that failed or were killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.deadline import Deadline, poll
from lab.errors import BuildError, WaitTimeout
from lab.host.progress import SilentProgress
from lab.host.store import content_key, files_key, held, stored, turn
from tests.held import is_held

QUIET = SilentProgress()


class Notes(SilentProgress):
    """Keeps what is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def note(self, text: str) -> None:
        """Keep it."""
        self.told.append(text)


def soon() -> Deadline:
    return Deadline.after(20)


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def test_entry_is_built_once(tmp_path: Path) -> None:
    built: list[Path] = []

    def build(folder: Path) -> None:
        built.append(folder)
        (folder / "f").write_text("x")

    first = stored(tmp_path, "k", build, QUIET, soon())
    assert stored(tmp_path, "k", build, QUIET, soon()) == first
    assert len(built) == 1
    assert (first / "f").read_text() == "x"
    assert built[0] != first
    assert first.stat().st_mode & 0o777 == 0o755, "a user's namespace has other ids, which enter it too"


def test_entry_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sync").write_text(f'#!/bin/sh\nls "$2" > {tmp_path}/flushed\n[ ! -e {tmp_path}/full ]\n')
    (tmp_path / "bin/sync").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    cache = tmp_path / "cache"
    stored(cache, "k", lambda folder: (folder / "f").touch(), QUIET, soon())
    assert (tmp_path / "flushed").read_text() == "f\n"
    (tmp_path / "full").touch()
    stored(cache, "passing", lambda folder: (folder / "f").touch(), QUIET, soon(), lasting=False)
    with pytest.raises(BuildError, match=f"writing {cache / 'other'} to the disk failed"):
        stored(cache, "other", lambda folder: (folder / "f").touch(), QUIET, soon())
    assert entries(cache) == ["k", "passing"]


def test_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def build(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stored(tmp_path, "k", build, QUIET, soon())
    assert entries(tmp_path) == []


def test_failed_rebuild_keeps_what_was_there(tmp_path: Path) -> None:
    entry = stored(tmp_path, "k", lambda folder: (folder / "old").touch(), QUIET, soon())

    def fail(_folder: Path) -> None:
        raise BuildError("no")

    with pytest.raises(BuildError, match="no"):
        stored(tmp_path, "k", fail, QUIET, soon(), again=True)
    assert (entry / "old").exists()
    stored(tmp_path, "k", lambda folder: (folder / "new").touch(), QUIET, soon(), again=True)
    assert [path.name for path in entry.iterdir()] == ["new"]
    assert entries(tmp_path) == ["k"]


def test_two_runs_build_once(tmp_path: Path) -> None:
    built: list[int] = []
    inside = threading.Event()

    def build(folder: Path) -> None:
        built.append(1)
        inside.set()
        (folder / "f").touch()

    # flock is per open file, so two threads stand for two processes
    threads = [threading.Thread(target=stored, args=(tmp_path, "k", build, QUIET, soon())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == [1]
    assert entries(tmp_path) == ["k"]


def test_waiting_for_a_turn_has_an_end(tmp_path: Path) -> None:
    lock = tmp_path / "k.lock"
    with turn(lock, QUIET, soon()), pytest.raises(WaitTimeout), turn(lock, QUIET, Deadline.after(0.3)):
        pass


def test_killed_builder_leaves_no_entry_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from lab.host.store import *; from lab.host.progress import *; from lab.deadline import *\n"
        "def build(folder):\n (folder / 'half').touch(); print('in', flush=True); time.sleep(600)\n"
        "stored(Path(sys.argv[1]), 'k', build, SilentProgress(), Deadline.after(9))\n"
    )
    with subprocess.Popen((sys.executable, "-c", program, os.fspath(tmp_path)), stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "in\n"
        child.send_signal(signal.SIGKILL)
    left = entries(tmp_path)
    assert len(left) == 1
    assert left[0].startswith("k.building-")
    entry = stored(tmp_path, "k", lambda folder: (folder / "whole").touch(), QUIET, soon())
    assert entries(tmp_path) == ["k"]
    assert [path.name for path in entry.iterdir()] == ["whole"]


def test_what_a_killed_builder_left_goes_also_when_nobody_builds_it_again(tmp_path: Path) -> None:
    for name in ("old.building-1", "busy.building-2"):
        (tmp_path / name).mkdir()
    with turn(tmp_path / "busy.lock", QUIET, soon()):
        stored(tmp_path, "k", lambda folder: (folder / "whole").touch(), QUIET, soon())
    assert entries(tmp_path) == ["busy.building-2", "k"]


USING = (
    "import sys; from pathlib import Path; from lab.deadline import Deadline; from lab.host.progress import SilentProgress\n"
    "from lab.host.store import stored\n"
    "def fail(folder): raise SystemExit(3)\n"
    "stored(Path(sys.argv[1]), 'k', fail, SilentProgress(), Deadline.after(9)); print(flush=True); sys.stdin.read()"
)


@contextlib.contextmanager
def run_that_uses(folder: Path) -> Iterator[None]:
    """Another process that uses the entry ``k`` until the context ends."""
    with subprocess.Popen((sys.executable, "-c", USING, folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdin is not None
        assert run.stdout.readline() == b"\n"
        yield
        run.stdin.close()


def test_what_another_run_uses_is_replaced_when_that_has_ended(tmp_path: Path) -> None:
    entry = stored(tmp_path, "k", lambda folder: (folder / "old").touch(), QUIET, soon())
    notes = Notes()
    with run_that_uses(tmp_path):
        words = (tmp_path, "k", lambda folder: (folder / "new").touch(), notes, soon())
        replacing = threading.Thread(target=stored, args=words, kwargs={"again": True})
        replacing.start()
        poll("the note", lambda: notes.told, soon())
        with run_that_uses(tmp_path):
            assert (entry / "old").exists(), "also those that come meanwhile go on with it"
    replacing.join()
    assert notes.told == [f"a run that is under way uses {entry}: waiting for its end"]
    assert [path.name for path in entry.iterdir()] == ["new"]
    assert entries(tmp_path) == ["k"]


def test_end_of_another_run_is_waited_for_as_long_as_there_is_time(tmp_path: Path) -> None:
    entry = stored(tmp_path, "k", lambda folder: (folder / "old").touch(), QUIET, soon())
    with run_that_uses(tmp_path), pytest.raises(BuildError, match="still uses it\n  hint: wait for that run's end, or end it"):
        stored(tmp_path, "k", lambda folder: (folder / "new").touch(), QUIET, Deadline.after(0.3), again=True)
    assert (entry / "old").exists()
    assert entries(tmp_path) == ["k"]


def test_who_waits_for_its_turn_to_replace_an_entry_does_not_hold_it(tmp_path: Path) -> None:
    entry = stored(tmp_path, "k", lambda folder: (folder / "old").touch(), QUIET, soon())
    assert is_held(entry)
    notes = Notes()
    with turn(tmp_path / "k.lock", QUIET, soon()):
        words = (tmp_path, "k", lambda folder: (folder / "new").touch(), notes, soon())
        replacing = threading.Thread(target=stored, args=words, kwargs={"again": True})
        replacing.start()
        poll("the note", lambda: notes.told, soon())
        assert not is_held(entry)
    replacing.join()
    assert is_held(entry)


def test_entry_that_is_replaced_as_somebody_comes_is_held_as_what_it_is_then(tmp_path: Path) -> None:
    entry, old = tmp_path / "k", tmp_path / "old"
    entry.mkdir()
    descriptor = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        comer = threading.Thread(target=held, args=(entry,))
        comer.start()
        comer.join(0.2)
        entry.rename(old)
        entry.mkdir()
    finally:
        os.close(descriptor)
    comer.join()
    assert (is_held(entry), is_held(old)) == (True, False)


def test_keys_follow_content(tmp_path: Path) -> None:
    assert content_key(1, "a") != content_key(1, "b")
    assert content_key({"x": 1, "y": 2}) == content_key({"y": 2, "x": 1})
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("1")
    two.write_text("2")
    before = files_key(tmp_path, (one, two))
    assert files_key(tmp_path, (two, one)) == before
    two.write_text("3")
    assert files_key(tmp_path, (one, two)) != before


def test_other_turns_are_told(tmp_path: Path) -> None:
    notes = Notes()
    lock = tmp_path / "k.lock"
    with turn(lock, QUIET, soon()):
        waiter = threading.Thread(target=lambda: turn(lock, notes, soon()).__enter__())
        waiter.start()
        poll("the note", lambda: notes.told, soon())
    waiter.join()
    assert "waiting" in notes.told[0]
