"""A signal ends what was started, whenever it comes: in the middle of the start too."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.deadline import Deadline
from lab.interruption import interruptible, postponed
from lab.process import finish, group_is_alive, spawn
from lab.threads import beside


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_interrupts_and_later_ones_wait(number: signal.Signals, capfd: pytest.CaptureFixture[str]) -> None:
    torn_down = False
    before = signal.getsignal(number)

    def work() -> None:
        nonlocal torn_down
        with interruptible():
            try:
                os.kill(os.getpid(), number)
                time.sleep(5)  # the signal ends it
            finally:
                os.kill(os.getpid(), signal.SIGTERM)
                torn_down = True

    with pytest.raises(KeyboardInterrupt):
        work()
    assert torn_down
    assert "already stopping" in capfd.readouterr().err
    assert signal.getsignal(number) == before


def test_signal_in_the_middle_of_words_to_who_does_not_read_them_ends_no_teardown(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours = os.pipe()
    read = bytearray()

    def interrupt_and_read() -> None:
        time.sleep(0.2)  # the pipe is full
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        time.sleep(0.2)
        while data := os.read(theirs, 1 << 16):
            read.extend(data)

    with os.fdopen(ours, "w", buffering=1) as stderr, interruptible(), beside(interrupt_and_read, "a reader", stderr.close):
        monkeypatch.setattr(sys, "stderr", stderr)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        stderr.write(f"{'torn down' * 100_000}\n")
        monkeypatch.undo()
    os.close(theirs)
    assert read.count(b"torn down") > 99_990, "a word may have been cut in two"
    assert b"already stopping: " in read


@pytest.mark.parametrize("stderr", [None, io.StringIO()])
def test_signal_without_anywhere_to_say_something_ends_no_teardown(
    monkeypatch: pytest.MonkeyPatch, stderr: io.StringIO | None
) -> None:
    monkeypatch.setattr(sys, "stderr", stderr)
    with interruptible():
        for _ in range(2):
            with contextlib.suppress(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)


def interrupted_after(step: Callable[..., Any]) -> Callable[..., Any]:
    """The same step, and a Ctrl-C that comes before whoever asked for it goes on."""

    def both(*args: Any, **kwargs: Any) -> Any:
        answer = step(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)  # where nothing is held back the signal ends it
        return answer

    return both


def test_line_that_drops_is_nothing_to_who_ignores_it() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_postponed_signal_comes_at_the_end() -> None:
    steps = []
    with pytest.raises(KeyboardInterrupt), interruptible():  # noqa: PT012 - what is looked at is how far it comes
        with postponed():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
            steps.append("started")
        steps.append("went on")
    assert steps == ["started"]


def test_postponed_leaves_the_handlers_as_they_were() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with postponed():
        pass
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_signal_while_handlers_are_given_back_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    give_back = signal.signal

    def interrupted(number: signal.Signals, handler: Any) -> Any:
        answer = give_back(number, handler)
        if handler in before:
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(signal, "signal", interrupted)
    with pytest.raises(KeyboardInterrupt), postponed():
        pass
    monkeypatch.undo()
    assert [signal.getsignal(number) for number in numbers] == before


def test_ignored_signal_stays_ignored_in_a_child() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        script = "import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
        assert finish((sys.executable, "-c", script), deadline=Deadline.after(20)).output == "True\n"
    finally:
        signal.signal(signal.SIGHUP, before)


def test_thread_ends_when_its_start_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    over, threads = threading.Event(), threading.enumerate()
    monkeypatch.setattr(threading.Thread, "start", interrupted_after(threading.Thread.start))
    try:
        with pytest.raises(KeyboardInterrupt), beside(over.wait, "one that waits", over.set):
            pass
        assert threading.enumerate() == threads
    finally:
        over.set()


def test_child_ends_when_its_start_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    children: list[subprocess.Popen[bytes]] = []

    def start(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        children.append(popen(*args, **kwargs))
        return children[-1]

    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", interrupted_after(start))
    with pytest.raises(KeyboardInterrupt), spawn(("sleep", "60"), log=tmp_path / "log"):
        pass
    assert len(children) == 1
    assert not group_is_alive(children[0].pid)
