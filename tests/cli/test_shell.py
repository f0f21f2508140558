from __future__ import annotations

import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from lab.cli.shell import shell_line, told_status
from lab.errors import GuestError


@pytest.mark.parametrize(("command", "status"), [('test "$NAME" = "a b"', 0), ("exit 3", 3), ("kill -KILL $$", 128 + 9)])
def test_status_of_a_command_is_its_own_and_tells_of_a_signal(command: str, status: int) -> None:
    done = subprocess.run(["sh", "-c", shell_line({"NAME": "a b"}, command)], capture_output=True, check=False)
    assert done.returncode == status


def channel(status: int) -> Any:
    return SimpleNamespace(recv_exit_status=lambda: status)


def test_shell_that_ended_without_a_status_is_no_success() -> None:
    assert told_status(channel(0)) == 0
    with pytest.raises(GuestError, match="ended without an exit status"):
        told_status(channel(-1))
