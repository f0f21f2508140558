"""The trial of OpenGL and QMP's greeting, with a stand-in for QEMU that greets late, never, or ends."""

from __future__ import annotations

import gc
import os
import re
import socket
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lab.deadline import Deadline
from lab.errors import GuestLost, WaitTimeout
from lab.host.root import HostRoot
from lab.image import GuestImage
from lab.qemu import trial
from lab.qemu.command import Display
from lab.qemu.qmp import qmp_session

GREETS = """\
import json, socket, sys
end = socket.socket(fileno=int(sys.argv[1]))
say = lambda words: end.sendall(json.dumps(words).encode() + b"\\n")
say({"QMP": {"version": {"qemu": {"major": 10, "minor": 0, "micro": 0}, "package": ""}, "capabilities": []}})
said = {}
while said.get("execute") != "quit":
    said = json.loads(end.recv(4096))  # a command is not ended by a line's end
    say({"return": {}, **{key: said[key] for key in said if key == "id"}})
"""
HANGS = "import time; time.sleep(600)"
REFUSES = "print('SDL: no display here'); raise SystemExit(1)"
LIVES = f"print('{trial.ALIVE}')"


class StandIn(HostRoot):
    """A host root whose QEMU is a program of Python."""

    program: str
    started: int

    def enter(self, argv: Sequence[Any], **_words: Any) -> tuple[str, ...]:  # type: ignore[override]
        """The program, told the descriptor of its end of QMP."""
        object.__setattr__(self, "started", self.started + 1)
        channel = next((str(word) for word in argv if "id=qmp" in str(word)), "")
        return (sys.executable, "-c", self.program, channel.rpartition("=")[2])


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """A fresh one, nothing remembered of it."""
    monkeypatch.setattr(trial, "GL_PATHS", {})
    made = StandIn(Path("/nowhere"), "stand-in", (), ())
    object.__setattr__(made, "started", 0)
    return made


def become(root: StandIn, program: str) -> None:
    object.__setattr__(root, "program", program)


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GuestImage:
    """An image on a host with KVM, of which no trial is in the cache."""
    (tmp_path / "kvm").touch()
    monkeypatch.setattr(trial, "KVM_DEVICE", tmp_path / "kvm")
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "key" / "file"
    return GuestImage("guest", "key", file, file, file, "6.12", (), ())


def test_kvm_that_did_not_answer_in_time_is_tried_again_after_a_while(
    root: StandIn, image: GuestImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "TRIAL_S", 1.0)
    become(root, HANGS)
    assert "nothing within " in trial.kvm(root, image).probed
    become(root, LIVES)
    monkeypatch.setattr(trial, "TRIAL_S", 30.0)
    assert not trial.kvm(root, image).ok, "a host whose KVM hangs would wait for it in every run"
    monkeypatch.setattr(trial, "TRY_AGAIN_S", 0.0)
    assert trial.kvm(root, image).ok
    become(root, HANGS)
    assert trial.kvm(root, image).ok
    assert root.started == 2


def test_kvm_that_did_not_answer_is_tried_again_though_the_clock_was_put_back(
    root: StandIn, image: GuestImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "TRIAL_S", 1.0)
    become(root, HANGS)
    assert not trial.kvm(root, image).ok
    (kept,) = (image.kernel.parent.parent / "cache" / "kvm-trials").glob(f"*/{trial.TRIAL}")
    os.utime(kept, (time.time() + 86400,) * 2)
    become(root, LIVES)
    monkeypatch.setattr(trial, "TRIAL_S", 30.0)
    assert trial.kvm(root, image).ok


def test_kvm_that_qemu_refused_is_tried_once(root: StandIn, image: GuestImage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "TRY_AGAIN_S", 0.0)
    become(root, REFUSES)
    for _ in range(2):
        assert "QEMU ended with 1: SDL: no display here" in trial.kvm(root, image).probed
    assert root.started == 1


def test_late_greeting_does_not_spoil_what_comes_after(root: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "GL_S", 1.0)
    become(root, HANGS)
    path = trial.gl_path(root, ())
    assert (path.display, path.capability.ok) == (Display.NONE, False)
    assert re.search(r"waited \d+\.\d s in vain for QMP greeting", path.capability.probed)
    monkeypatch.setattr(trial, "GL_S", 30.0)
    become(root, GREETS)
    assert trial.gl_path(root, ()).display is Display.SDL_OFFSCREEN


def test_way_that_was_found_is_tried_once(root: StandIn) -> None:
    become(root, GREETS)
    assert trial.gl_path(root, ()) is trial.gl_path(root, ())
    assert root.started == 1


def test_refusal_is_told_in_qemus_words_and_at_once(root: StandIn) -> None:
    become(root, REFUSES)
    begin = Deadline.after(60)
    path = trial.gl_path(root, (Path("/dev/dri/renderD128"),))
    assert not path.capability.ok
    assert path.capability.probed.count("SDL: no display here") == root.started == 2
    assert begin.elapsed_s < trial.GL_S / 2


@pytest.mark.parametrize(("hangs_up", "error"), [(True, GuestLost), (False, WaitTimeout)])
def test_connection_without_a_greeting_is_closed(tmp_path: Path, hangs_up: bool, error: type[Exception]) -> None:
    ours, theirs = socket.socketpair()
    with theirs, ours:
        theirs.settimeout(5.0)
        if hangs_up:
            theirs.close()
        with pytest.raises(error), qmp_session(ours, tmp_path / "qmp.log", Deadline.after(1.0)):
            pass
        assert hangs_up or theirs.recv(1) == b""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gc.collect()
