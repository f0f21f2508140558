"""What testinfra is told of a command in the guest."""

from __future__ import annotations

from typing import Any

from lab.guest.inspection import inspected
from lab.guest.ssh import Separate


class Shell:
    """A shell in which every command ends alike."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def separate(self, command: str) -> Separate:
        self.ran.append(command)
        return Separate(3, b"said", b"complained")


def test_status_and_both_outputs_are_the_commands_own() -> None:
    shell: Any = Shell()
    done = inspected(shell, "guest").run("cat %s", "/a b")
    assert (done.rc, done.stdout, done.stderr) == (3, "said", "complained")
    assert shell.ran == ["cat '/a b'"]
