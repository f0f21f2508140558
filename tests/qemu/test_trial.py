"""The trial of OpenGL and QMP's greeting, with a stand-in for QEMU that greets late, never, or ends."""

from __future__ import annotations

import gc
import json
import os
import re
import socket
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.deadline import Deadline
from lab.errors import GuestLost, WaitTimeout
from lab.host.root import HostRoot
from lab.image import GuestImage
from lab.qemu import trial
from lab.qemu.command import Display
from lab.qemu.qmp import QmpFailed, qmp_session
from lab.threads import beside
from tests.held import is_held

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
REFUSES_EGL = f"import sys\nif 'egl' in sys.argv[2]:\n    print('no EGL here')\n    raise SystemExit(1)\n{GREETS}"
LIVES = f"print('{trial.ALIVE}')"


class StandIn(HostRoot):
    """A host root whose QEMU is a program of Python."""

    program: str
    started: int

    def enter(self, argv: Sequence[Any], **_words: Any) -> tuple[str, ...]:  # type: ignore[override]
        """The program, told the descriptor of its end of QMP."""
        object.__setattr__(self, "started", self.started + 1)
        channel = next((str(word) for word in argv if "id=qmp" in str(word)), "")
        display = str(argv[argv.index("-display") + 1])
        return (sys.executable, "-c", self.program, channel.rpartition("=")[2], display)


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


@pytest.mark.parametrize(("fails", "told"), [(HANGS, "nothing within "), (REFUSES, "QEMU ended with 1: SDL: no display here")])
def test_kvm_that_failed_is_tried_again_after_a_while(
    root: StandIn, image: GuestImage, monkeypatch: pytest.MonkeyPatch, fails: str, told: str
) -> None:
    monkeypatch.setattr(trial, "TRIAL_S", 1.0 if fails == HANGS else 30.0)
    become(root, fails)
    found = trial.kvm(root, image)
    assert told in found.probed
    assert found.hint is not None
    assert found.hint.endswith("; it is tried again after 15 min")
    become(root, LIVES)
    monkeypatch.setattr(trial, "TRIAL_S", 30.0)
    assert not trial.kvm(root, image).ok, "a host whose KVM hangs would wait for it in every run"
    monkeypatch.setattr(trial, "TRY_AGAIN_S", 0.0)
    monkeypatch.setattr(trial, "TRY_AGAIN_TIMES", 0.0)
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
    (told,) = json.loads(kept.read_text()).values()
    kept.write_text(json.dumps({image.key: told | {"at_s": told["at_s"] + 86400}}))
    become(root, LIVES)
    monkeypatch.setattr(trial, "TRIAL_S", 30.0)
    assert trial.kvm(root, image).ok


def test_who_tries_kvm_again_need_not_wait_for_the_end_of_who_tried_it(root: StandIn, image: GuestImage) -> None:
    become(root, REFUSES)
    trial.kvm(root, image)
    (kept,) = (image.kernel.parent.parent / "cache" / "kvm-trials").glob(f"*/{trial.TRIAL}")
    assert not is_held(kept.parent)


@pytest.mark.parametrize("left", ["", "[]", '{"key": 7}', '{"key": {"other": 7}}'])
def test_trial_that_cannot_be_read_is_none(root: StandIn, image: GuestImage, left: str) -> None:
    become(root, REFUSES)
    trial.kvm(root, image)
    (kept,) = (image.kernel.parent.parent / "cache" / "kvm-trials").glob(f"*/{trial.TRIAL}")
    kept.write_text(left)
    become(root, LIVES)
    assert trial.kvm(root, image).ok


def test_kvm_that_failed_is_tried_again_after_a_longer_while_the_longer_it_took(
    root: StandIn, image: GuestImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "TRIAL_S", 1.0)
    monkeypatch.setattr(trial, "TRY_AGAIN_TIMES", 3000.0)
    become(root, HANGS)
    hint = trial.kvm(root, image).hint or ""
    assert re.search(r"it is tried again after ([5-9]\d|1\d\d) min$", hint), hint
    monkeypatch.setattr(trial, "TRY_AGAIN_S", 0.0)
    assert not trial.kvm(root, image).ok
    assert root.started == 1


def test_kvm_with_which_one_kernel_did_not_come_up_is_not_tried_with_another(root: StandIn, image: GuestImage) -> None:
    become(root, REFUSES)
    trial.kvm(root, image)
    become(root, LIVES)
    other = trial.kvm(root, replace(image, key="another", release="7.0"))
    assert not other.ok
    assert "6.12 under KVM did not get to its first program" in other.probed
    assert root.started == 1


def test_kernel_that_does_not_come_up_where_another_one_did_is_told_of_that_one(root: StandIn, image: GuestImage) -> None:
    become(root, LIVES)
    assert trial.kvm(root, image).ok
    become(root, REFUSES)
    other = trial.kvm(root, replace(image, key="another", release="7.0"))
    assert "7.0 under KVM did not get to its first program" in other.probed
    assert trial.kvm(root, image).ok
    assert root.started == 2
    become(root, LIVES)
    assert trial.kvm(root, replace(image, key="third")).ok
    assert not trial.kvm(root, replace(image, key="another")).ok
    assert root.started == 3


@pytest.mark.parametrize("other", ["root", "boot", "user"])
def test_kvm_is_tried_again_with_another_root_boot_or_user(
    root: StandIn, image: GuestImage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    become(root, REFUSES)
    trial.kvm(root, image)
    match other:
        case "root":
            object.__setattr__(root, "key", "another")
        case "boot":
            (tmp_path / "boot").write_text("another")
            monkeypatch.setattr(trial, "BOOT_ID", tmp_path / "boot")
        case _:
            monkeypatch.setattr(os, "geteuid", lambda: 12345)
    trial.kvm(root, image)
    assert root.started == 2


def test_device_that_is_not_there_or_not_ours_is_not_tried(
    root: StandIn, image: GuestImage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    become(root, LIVES)
    with monkeypatch.context() as locked:
        locked.setattr(os, "access", lambda *_: False)
        assert "is there, but not ours to open" in trial.kvm(root, image).probed
    (tmp_path / "kvm").unlink()
    assert trial.kvm(root, image).probed == f"there is no {tmp_path / 'kvm'}"
    assert root.started == 0


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


def test_way_by_a_render_node_is_tried_before_the_one_without(root: StandIn) -> None:
    node = Path("/dev/dri/renderD128")
    become(root, GREETS)
    found = trial.gl_path(root, (node,))
    assert (found.display, found.render_node) == (Display.EGL_HEADLESS, node)
    become(root, REFUSES_EGL)
    other = trial.gl_path(root, (node, node))
    assert (other.display, other.render_node) == (Display.SDL_OFFSCREEN, None)
    assert other.capability.probed.count("no EGL here") == 2
    assert root.started == 4


def test_refusal_is_told_in_qemus_words_and_at_once(root: StandIn) -> None:
    become(root, REFUSES)
    begin = Deadline.after(60)
    path = trial.gl_path(root, (Path("/dev/dri/renderD128"),))
    assert not path.capability.ok
    assert path.capability.probed.count("SDL: no display here") == root.started == 2
    assert begin.elapsed_s < trial.GL_S / 2


def qemu_that_answers(end: socket.socket, asked: list[dict[str, Any]]) -> None:
    """Play QMP: ``refuse`` is refused, and an event stands before the answer to ``ask``."""
    with end, end.makefile("rw") as lines:

        def say(words: dict[str, Any]) -> None:
            lines.write(f"{json.dumps(words)}\n")
            lines.flush()

        say({"QMP": {"version": {"qemu": {"major": 10, "minor": 0, "micro": 0}, "package": ""}, "capabilities": []}})
        decoder, text = json.JSONDecoder(), ""
        while piece := end.recv(4096).decode():
            text += piece
            while text:
                said, length = decoder.raw_decode(text)
                text = text[length:].lstrip()
                asked.append(said)
                if said["execute"] == "ask":
                    say({"event": "RESUME", "data": {"n": 1}, "timestamp": {"seconds": 1, "microseconds": 1}})
                refused = {"error": {"class": "GenericError", "desc": "not now"}}
                say(
                    (refused if said["execute"] == "refuse" else {"return": {"answer": 7}})
                    | {key: said[key] for key in said if key == "id"}
                )


def test_what_is_said_on_qmp_is_answered_and_logged(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    asked: list[dict[str, Any]] = []
    with (
        beside(lambda: qemu_that_answers(theirs, asked), "QEMU", ours.close),
        qmp_session(ours, tmp_path / "qmp.log", Deadline.after(10)) as session,
    ):
        assert session.execute("ask", {"a": 1}, deadline=Deadline.after(10)) == {"answer": 7}
        with pytest.raises(QmpFailed, match="QMP command refuse failed: not now"):
            session.execute("refuse", deadline=Deadline.after(10))
        assert session.human("info x", deadline=Deadline.after(10)) == "{'answer': 7}"
    commands = [(one["execute"], one.get("arguments")) for one in asked[1:]]
    assert commands == [("ask", {"a": 1}), ("refuse", None), ("human-monitor-command", {"command-line": "info x"})]
    log = (tmp_path / "qmp.log").read_text()
    for words in ('→ ask {"a": 1}', '← {"answer": 7}', "! not now", '· RESUME {"n": 1}'):
        assert words in log


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
