"""testinfra over our own SSH connection, so that asserting the guest's state costs no second key exchange."""

from __future__ import annotations

from typing import Any

from testinfra.backend.base import BaseBackend, CommandResult
from testinfra.host import Host

from lab.guest.ssh import GuestShell


class GuestBackend(BaseBackend):  # type: ignore[misc] # testinfra publishes no types
    """Runs testinfra's commands through a ``GuestShell``."""

    NAME = "virtgpu-lab"

    def __init__(self, shell: GuestShell, name: str) -> None:
        super().__init__(name)
        self._shell = shell

    def run(self, command: str, *args: str, **_: Any) -> CommandResult:
        """Run one command; testinfra quotes the arguments."""
        text = self.get_command(command, *args)
        done = self._shell.separate(text)
        return self.result(done.status, self.encode(text), done.stdout, done.stderr)


def inspected(shell: GuestShell, name: str) -> Any:
    """A testinfra host whose modules look into the guest."""
    return Host(GuestBackend(shell, name))
