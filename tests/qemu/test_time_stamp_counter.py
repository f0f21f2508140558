from __future__ import annotations

import mmap
import platform
from collections.abc import Callable

import pytest

from lab.qemu import time_stamp_counter
from lab.qemu.time_stamp_counter import TRIES, host_counter_khz, measured_khz

here = pytest.mark.skipif(platform.machine() != "x86_64", reason="only such processors have this counter")


class Clock:
    """A clock, and a counter of the frequency given that goes with it. ``looks_ns``: how long each look at the clock takes."""

    def __init__(self, khz: float, looks_ns: Callable[[int], int]) -> None:
        self.khz = khz
        self.looks_ns = looks_ns
        self.now_ns = 10**12
        self.looks = 0
        self.slept = 0

    def ns(self) -> int:
        self.now_ns += self.looks_ns(self.looks)
        self.looks += 1
        return self.now_ns

    def counter(self) -> int:
        return int(self.now_ns * self.khz / 1e6)

    def sleep(self, seconds: float) -> None:
        self.now_ns += int(seconds * 1e9)
        self.slept += 1

    def measured(self) -> int | None:
        return measured_khz(self.counter, self.ns, self.sleep)


def test_a_frequency_is_measured_and_rounded() -> None:
    assert Clock(2_445_431.0, lambda _: 60).measured() == 2_445_400


def test_a_host_that_interrupts_most_looks_is_measured_all_the_same() -> None:
    assert Clock(2_445_431.0, lambda number: 60 if number % 16 in (6, 7) else 8_000_000).measured() == 2_445_400


def test_a_span_that_was_looked_at_too_late_is_measured_again() -> None:
    clock = Clock(3_000_000.0, lambda number: 8_000_000 if number < 40 else 60)
    assert (clock.measured(), clock.slept) == (3_000_000, 2)


def test_a_host_that_never_lets_us_look_has_no_answer() -> None:
    clock = Clock(3_000_000.0, lambda _: 8_000_000)
    assert (clock.measured(), clock.slept) == (None, TRIES)


def test_a_counter_that_stands_still_has_no_answer() -> None:
    assert measured_khz(lambda: 7) is None


@here
def test_the_hosts_counter_has_the_same_frequency_twice() -> None:
    first, again = host_counter_khz(), host_counter_khz.__wrapped__()
    if first is None or again is None:
        pytest.skip("this host does not let its counter be read beside its clock")
    assert first == pytest.approx(again, rel=1e-3)
    assert 100_000 < first < 20_000_000


@here
def test_a_host_that_runs_no_memory_that_can_be_written_has_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> mmap.mmap:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(time_stamp_counter.mmap, "mmap", refused)
    assert host_counter_khz.__wrapped__() is None


def test_other_processors_have_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert host_counter_khz.__wrapped__() is None
