"""Coming to a guest's sshd: asked until it answers, not when the guest is lost, and left closed."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import paramiko
import pytest

from lab.deadline import Deadline
from lab.errors import GuestLost, WaitTimeout
from lab.guest import ssh
from lab.guest.keys import BootKeys, boot_keys
from lab.guest.ssh import connected_shell
from lab.threads import beside
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


class Accepting(paramiko.ServerInterface):
    """Lets everybody in."""

    def check_auth_publickey(self, _user: str, _key: paramiko.PKey) -> int:
        return paramiko.AUTH_SUCCESSFUL


@contextlib.contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[tuple[int, list[socket.socket]]]:
    """A port at which this is done with each connection, one after the other, and all that there were."""
    links: list[socket.socket] = []

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                links.append(listener.accept()[0])
                serve(links[-1])

    with contextlib.ExitStack() as stack, socket.create_server(("127.0.0.1", 0)) as listener:
        stack.callback(lambda: [link.close() for link in links])
        with beside(accept, "sshd", lambda: listener.shutdown(socket.SHUT_RDWR)):
            yield listener.getsockname()[1], links


def test_guest_that_is_slow_to_greet_is_waited_for_and_not_begun_with_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssh, "CONNECT_S", 0.2)

    def slow(link: socket.socket, keys: BootKeys) -> None:
        time.sleep(1)
        server = paramiko.Transport(link)
        server.add_server_key(keys.host_key)
        with contextlib.suppress(paramiko.SSHException, EOFError):  # nobody is there any more
            server.start_server(server=Accepting())

    with (
        boot_keys() as keys,
        listening(lambda link: slow(link, keys)) as (port, links),
        connected_shell(port, keys, Alive(), Deadline.after(40)) as (_, connection),
    ):
        assert len(links) == 1
        assert 30 < connection.auth_timeout < 40, "what was left of the time"


def test_key_exchange_ends_with_the_deadline_and_leaves_no_thread_behind() -> None:
    with boot_keys() as keys, listening(lambda link: link.sendall(b"SSH-2.0-guest\r\n")) as (port, _):
        reached = connected_shell(port, keys, Alive(), Deadline.after(0.5))
        with pytest.raises(WaitTimeout, match="an SSH connection to the guest"), reached:
            pytest.fail("it was let in")
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
