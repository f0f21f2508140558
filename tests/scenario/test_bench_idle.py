"""Who is watched on the host while a guest has nothing to do, and from when on."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import pytest

from lab.scenario.checks.bench_idle import SETTLED_S, IdleWatch


def test_a_worker_that_ended_meanwhile_did_not_give_processor_time_back() -> None:
    there = [os.getpid()]
    guest = SimpleNamespace(qemu_pid=os.getpid(), worker_pids=lambda: tuple(there))
    watch = IdleWatch(guest)
    watch.begin(lambda: None)
    there[:] = [2**22 - 1]
    assert watch.end().keys() == {"qemu_cpu_ns", "qemu_ns"}


def test_qemu_is_watched_when_the_guest_that_was_let_go_on_has_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(seconds: float) -> None:
        until = time.process_time() + seconds
        while time.process_time() < until:
            sum(range(10_000))

    def leave() -> None:
        work(0.2)

    settled: list[float] = []
    monkeypatch.setattr("lab.scenario.checks.bench_idle.time.sleep", lambda seconds: settled.append(seconds) or work(0.2))
    watch = IdleWatch(SimpleNamespace(qemu_pid=os.getpid(), worker_pids=lambda: (os.getpid(),)))
    watch.begin(leave)
    used = watch.end()
    assert settled == [SETTLED_S]
    assert used["qemu_cpu_ns"] < 100_000_000
    assert used["worker_cpu_ns"] >= 400_000_000
    assert used["qemu_ns"] < 10_000_000_000


def test_nobody_is_told_of_a_qemu_that_has_ended() -> None:
    watch = IdleWatch(SimpleNamespace(qemu_pid=2**22 - 1, worker_pids=lambda: ()))
    watch.begin(lambda: None)
    assert watch.end() == {}
