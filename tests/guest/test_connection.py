"""Coming to a guest's sshd: asked until it answers, not when the guest is lost, and left closed."""

from __future__ import annotations

from types import SimpleNamespace

import paramiko
import pytest

from lab.deadline import Deadline
from lab.errors import GuestLost
from lab.guest import ssh
from lab.guest.keys import boot_keys
from lab.guest.ssh import connected_shell
from tests.guest.test_ssh import Alive


def test_guest_that_is_not_there_yet_is_asked_again_and_a_connection_is_closed_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[str] = []
    made = SimpleNamespace(close=lambda: ended.append("closed"), join=lambda _timeout_s: ended.append("joined"))
    answers = [made, paramiko.SSHException("no banner"), ConnectionRefusedError()]

    def transport(*_: object) -> object:
        answer = answers.pop()
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(ssh, "_transport", transport)
    with boot_keys() as keys, connected_shell(22, keys, Alive(), Deadline.after(5)) as (_, connection):
        assert connection is made
        assert not ended
    assert ended == ["closed", "joined"]


def test_guest_that_is_lost_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Alive, "lost", lambda _self: "kernel panic")
    monkeypatch.setattr(ssh, "_transport", lambda *_: pytest.fail("it was asked"))
    with boot_keys() as keys:
        reached = connected_shell(22, keys, Alive(), Deadline.after(5))
        with pytest.raises(GuestLost, match="kernel panic"), reached:
            pytest.fail("it was let in")
