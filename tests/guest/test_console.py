"""The console's words, and its thread over a socket pair that stands for QEMU."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.deadline import Deadline, poll
from lab.errors import GuestLost, WaitTimeout
from lab.guest.console import Console, Ready, kernel_death, parsed_ready, watched_console
from lab.threads import beside

READY = "LAB-READY release=6.12.1 capsets=1,2,4 render=renderD128 cpus=2 uptime=7.25"


class Pair:
    """QEMU's end, and how often the loss was told."""

    def __init__(self, log: Path) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.losses = 0
        self.log = log

    def lose(self) -> None:
        self.losses += 1


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path / "serial.log")
    yield made
    made.theirs.close()


@pytest.fixture
def console(pair: Pair) -> Iterator[Console]:
    with watched_console(pair.ours, pair.log, pair.lose) as watched:
        yield watched


def test_marker() -> None:
    assert parsed_ready(READY) == Ready("6.12.1", (1, 2, 4), ("renderD128",), 2, 7.25)
    assert parsed_ready("LAB-READY release=6.1 capsets= render= cpus=1 uptime=0.00") == Ready("6.1", (), (), 1, 0.0)


@pytest.mark.parametrize(
    "line",
    [
        "LAB-READY",
        " " + READY,
        READY + " more",
        READY.replace("1,2,4", "1,x"),
        READY.replace("1,2,4", "1" * 5000),
        READY.replace("7.25", ""),
        READY.replace("7.25", "1" * 5000 + ".00"),
        READY.partition(" uptime")[0],
        READY.replace(" cpus=2", ""),
        "[drm] cap set 0: id 1",
    ],
)
def test_other_lines_are_no_marker(line: str) -> None:
    assert parsed_ready(line) is None


@pytest.mark.parametrize(
    ("line", "death"),
    [
        ("[    1.0] Kernel panic - not syncing: Fatal exception", "kernel panic: Fatal exception"),
        ("Kernel panic - not syncing", "kernel panic"),
        ("[ 2.0] int3: 0000 [#1] PREEMPT SMP", "kernel oops: [ 2.0] int3: 0000 [#1] PREEMPT SMP"),
        (
            "[ 2.0] BUG: kernel NULL pointer dereference, address: 0",
            "kernel oops: [ 2.0] BUG: kernel NULL pointer dereference, address: 0",
        ),
        ("[ 2.0] Oops: Oops: 0002 [#1] PREEMPT SMP", "kernel oops: [ 2.0] Oops: Oops: 0002 [#1] PREEMPT SMP"),
        ("watchdog: BUG: soft lockup - CPU#0 stuck for 22s!", None),
        ("DEBUG: all is well", None),
    ],
)
def test_kernel_death(line: str, death: str | None) -> None:
    assert kernel_death(line) == death


def test_readiness_wakes_the_waiter_and_lines_are_logged_with_times(console: Console, pair: Pair) -> None:
    pair.theirs.sendall(b"noise\r\n\xff\xfe\r\nLAB-TROUBLE module x did not load\r\n" + READY.encode() + b"\r\n")
    assert console.wait_ready(Deadline.after(5)).capsets == (1, 2, 4)
    assert console.troubles == ("module x did not load",)
    assert console.tail().splitlines()[0] == "noise"
    assert re.fullmatch(r"\[ {4}[0-4]\.\d+\] noise", pair.log.read_text().splitlines()[0])
    assert pair.losses == 0


def test_panic_ends_the_wait_with_the_tail(console: Console, pair: Pair) -> None:
    pair.theirs.sendall(b"before\r\nKernel panic - not syncing: dead\r\n")
    with pytest.raises(GuestLost, match="kernel panic: dead") as lost:
        console.wait_ready(Deadline.after(5))
    assert "before" in lost.value.serial_tail
    assert pair.losses == 1


def test_panic_is_not_waited_behind_as_an_oops_is(console: Console, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.guest.console.TRACE_S", 60.0)
    pair.theirs.sendall(READY.encode() + b"\nKernel panic - not syncing: dead\n")
    poll("the panic", lambda: console.lost, Deadline.after(5))
    with pytest.raises(GuestLost, match="kernel panic: dead"):
        console.wait_ready(Deadline.after(5))


def test_readiness_holds_whatever_is_said_behind_it(console: Console, pair: Pair) -> None:
    pair.theirs.sendall(READY.encode() + b"\n" + READY.replace("6.12", "7.0").encode() + b"\nmore\n")
    poll("more", lambda: console.tail().endswith("more"), Deadline.after(5))
    assert console.wait_ready(Deadline.after(0.1)).release == "6.12.1"


def test_end_with_something_unread_is_an_end_too(pair: Pair) -> None:
    pair.ours.sendall(b"QEMU did not read this")
    pair.theirs.close()
    with watched_console(pair.ours, pair.log, pair.lose) as console, pytest.raises(GuestLost, match="so QEMU has ended"):
        console.wait_ready(Deadline.after(5))


def test_oops_without_panic_ends_the_wait_too(console: Console, pair: Pair) -> None:
    pair.theirs.sendall(b"Oops: 0002 [#1]\r\ntrace\r\n")
    with pytest.raises(GuestLost, match="kernel oops") as lost:
        console.wait_ready(Deadline.after(10))
    assert "trace" in lost.value.serial_tail


def test_first_oops_is_the_reason_however_many_follow(console: Console, pair: Pair) -> None:
    pair.theirs.sendall(b"Oops: 0002 [#1]\r\nOops: 0002 [#2]\r\n")
    pair.theirs.close()
    with pytest.raises(GuestLost, match=r"kernel oops: Oops: 0002 \[#1\]"):
        console.wait_ready(Deadline.after(5))


def test_loss_is_told_once_and_the_tail_has_the_last_lines(pair: Pair) -> None:
    with watched_console(pair.ours, pair.log, pair.lose) as console:
        pair.theirs.sendall(b"noise\n" * 1000 + b"Kernel panic - not syncing: dead\n")
        pair.theirs.close()
        with pytest.raises(GuestLost, match="kernel panic: dead"):
            console.wait_ready(Deadline.after(5))
    assert pair.losses == 1
    assert len(console.tail().splitlines()) < 100


def test_hang_up_ends_the_wait(console: Console, pair: Pair) -> None:
    pair.theirs.sendall(b"last words without an end")
    pair.theirs.close()
    with pytest.raises(GuestLost, match="closed") as lost:
        console.wait_ready(Deadline.after(5))
    assert "last words" in lost.value.serial_tail
    assert pair.losses == 1


def test_silence_ends_with_the_deadline(console: Console, pair: Pair) -> None:
    pair.theirs.sendall(b"only this\r\n")
    with pytest.raises(WaitTimeout, match="only this"):
        console.wait_ready(Deadline.after(0.7))


def test_carriage_returns_do_not_stand_the_lab_still(console: Console, pair: Pair) -> None:
    sender = threading.Thread(target=pair.theirs.sendall, args=(b"\r" * 200_000 + b"\n" + READY.encode() + b"\r\r\n",))
    sender.start()
    assert console.wait_ready(Deadline.after(2)).release == "6.12.1"
    sender.join()
    assert console.tail().splitlines()[-1] == READY


def test_line_without_an_end_is_cut(console: Console, pair: Pair) -> None:
    sender = threading.Thread(target=pair.theirs.sendall, args=(b"x" * 300_000 + b"\n" + READY.encode() + b"\n",))
    sender.start()
    assert console.wait_ready(Deadline.after(5)).release == "6.12.1"
    sender.join()
    assert max(map(len, console.tail().splitlines())) <= 100_000
    assert console.tail().replace("\n", "") == "x" * 300_000 + READY


def test_log_that_cannot_be_written_loses_the_guest_with_the_reason(pair: Pair) -> None:
    class Full(io.StringIO):
        def write(self, _text: str) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    console = Console(pair.ours, Full(), pair.lose)
    with contextlib.closing(pair.ours), beside(console.run, "console", lambda: pair.ours.shutdown(socket.SHUT_RDWR)):
        pair.theirs.sendall(READY.encode() + b"\n")
        with pytest.raises(GuestLost, match=r"the serial console cannot be read on: OSError: .*No space left on device"):
            console.wait_ready(Deadline.after(5))
    assert pair.losses == 1
