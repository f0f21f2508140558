"""``lab run -j``: boots at the same time over fake guests, and an interruption that ends all of them."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.bundle import Bundle, read_bundle
from lab.bundle.schema import Status
from lab.deadline import Deadline, poll
from lab.errors import GuestLost, LabError
from lab.process import finish, spawn
from lab.scenario.boots_at_once import RunningGuests, at_once
from lab.scenario.listener import SilentListener
from lab.scenario.plan import Choice, planned
from lab.scenario.platform import BootPlan
from lab.scenario.runner import run
from tests.scenario.fakes import HEADER_LINE, SCENARIO, TEXTS, FakeGuest, FakePlatform, Script, row

TWO_BOOTS = SCENARIO.replace('capset = ["venus", "apir"]', "cpus = [1, 2]").replace('[[checks]]\nkind = "state"\n', "")
WAIT_S = 20


class KillableGuest(FakeGuest):
    """A guest whose QEMU can be killed."""

    def kill(self, pid: int) -> None:
        assert pid == self.qemu_pid
        self.script.alive = False


def ran(script: Script, folder: Path, jobs: int, monkeypatch: pytest.MonkeyPatch) -> Bundle:
    monkeypatch.setattr("tests.scenario.fakes.FakeGuest", KillableGuest)
    path = folder / "small.toml"
    path.write_text(TWO_BOOTS)
    platform = FakePlatform(script, folder).platform()
    outcome = run(planned([path], Choice()), Choice(), folder / "runs", SilentListener(), platform, jobs=jobs)
    return read_bundle(outcome.folder)


def test_two_boots_run_at_the_same_time_and_leave_what_one_after_the_other_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(2)
    script = Script(ops=(HEADER_LINE, lambda: together.wait(WAIT_S) and None, *(row(text) for text in TEXTS)))
    bundle = ran(script, tmp_path, 2, monkeypatch)
    assert [one.text for one in bundle.findings] == []
    assert {one.variant: one.cases.ok for one in bundle.run.variants} == {"cpus-1": 3, "cpus-2": 3}
    assert (script.boots, script.torn_down) == (2, 2)
    assert sorted(one.variants for one in bundle.run.boots) == [("cpus-1",), ("cpus-2",)]
    assert all((bundle.folder / "logs" / name / "serial.log").exists() for name in ("cpus-1", "cpus-2"))


def test_one_job_is_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[int] = []

    def alone() -> None:
        inside.append(1)
        assert len(inside) == 1
        inside.pop()

    script = Script(ops=(HEADER_LINE, alone, *(row(text) for text in TEXTS)))
    assert ran(script, tmp_path, 1, monkeypatch).run.exit == 0


def test_interruption_ends_every_guest_and_the_bundle_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(2)
    script = Script()

    def wait_for_the_end() -> None:
        if together.wait(WAIT_S) == 0:
            os.kill(os.getpid(), signal.SIGINT)
        poll("the end of the guest", lambda: not script.alive, Deadline.after(WAIT_S))
        raise GuestLost("QEMU ended with exit status 137")

    script.ops = (HEADER_LINE, row(TEXTS[0]), wait_for_the_end)
    bundle = ran(script, tmp_path, 2, monkeypatch)
    assert bundle.run.status is Status.INTERRUPTED
    assert {one.status for one in bundle.run.variants} == {Status.INTERRUPTED}
    assert script.torn_down == 2
    assert len(bundle.cases) >= 2, "what had a result keeps it"


def test_set_up_is_interrupted_at_once_while_another_boot_is_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, under_way = Script(), threading.Event()

    def wait_for_the_end() -> None:
        under_way.set()
        poll("the end of the guest", lambda: not script.alive, Deadline.after(WAIT_S))
        raise GuestLost("QEMU ended with exit status 137")

    prepare, asked = FakePlatform.prepare, list[str]()

    def slow(self: FakePlatform, *words: Any) -> Any:
        asked.append(threading.current_thread().name)
        if len(asked) == 2:
            under_way.wait(WAIT_S)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(WAIT_S)  # a build of minutes
        return prepare(self, *words)

    monkeypatch.setattr(FakePlatform, "prepare", slow)
    script.ops = (HEADER_LINE, row(TEXTS[0]), wait_for_the_end)
    began = time.monotonic()
    bundle = ran(script, tmp_path, 2, monkeypatch)
    assert time.monotonic() - began < WAIT_S
    assert asked == ["MainThread", "MainThread"]
    assert bundle.run.status is Status.INTERRUPTED
    assert (script.boots, script.torn_down) == (1, 1)


def test_guest_that_answers_after_the_interruption_is_not_used() -> None:
    guests = RunningGuests()
    guests.stop()
    with pytest.raises(GuestLost, match="interrupted while it booted"), guests.holding(None):  # type: ignore[arg-type]
        pytest.fail("entered")


def test_interruption_ends_what_boots_as_yet_and_programs_of_the_host(tmp_path: Path) -> None:
    together, began, statuses = threading.Barrier(2), time.monotonic(), list[int]()

    def work(number: int) -> None:
        with spawn(("sleep", str(2 * WAIT_S)), log=tmp_path / f"{number}.log") as child:
            if together.wait(WAIT_S) == 0:
                os.kill(os.getpid(), signal.SIGINT)
            statuses.append(child.wait(Deadline.after(WAIT_S)))
        with pytest.raises(LabError, match="sleep came too late"), spawn(("sleep", "1"), log=tmp_path / "late.log"):
            pytest.fail("begun after the interruption")

    with pytest.raises(KeyboardInterrupt):
        at_once([1, 2], 2, work, RunningGuests())
    assert statuses == [-signal.SIGKILL, -signal.SIGKILL]
    assert time.monotonic() - began < WAIT_S
    assert finish(("true",), deadline=Deadline.after(WAIT_S)).exit_status == 0, "the main thread goes on"


def test_run_is_interrupted_while_its_guests_boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together, script = threading.Barrier(2), Script()

    @contextlib.contextmanager
    def boot(_self: FakePlatform, plan: BootPlan) -> Iterator[FakeGuest]:
        with spawn(("sleep", str(2 * WAIT_S)), log=plan.logs / "qemu.log") as child:
            if together.wait(WAIT_S) == 0:
                os.kill(os.getpid(), signal.SIGINT)
            raise GuestLost(f"QEMU ended with exit status {child.wait(plan.deadline)}")
        yield

    monkeypatch.setattr(FakePlatform, "boot", boot)
    began = time.monotonic()
    bundle = ran(script, tmp_path, 2, monkeypatch)
    assert time.monotonic() - began < WAIT_S
    assert bundle.run.status is Status.INTERRUPTED
    assert {(one.status, one.reason) for one in bundle.run.variants} == {(Status.INTERRUPTED, "interrupted before it began")}
    assert bundle.findings == ()


def test_error_of_one_ends_the_others() -> None:
    guests, began = RunningGuests(), threading.Barrier(2)

    def work(number: int) -> None:
        if number > 1:
            pytest.fail("begun after the error")
        began.wait(WAIT_S)
        if number == 0:
            raise KeyError(number)
        poll("the stop", lambda: guests.stopping, Deadline.after(WAIT_S))

    with pytest.raises(KeyError):
        at_once([0, 1], 2, work, guests)
    assert guests.stopping
