"""Run the project from a fresh clone under an ordinary user's account made for it, as root: ``python -m tests.ordinary_user``.

The account has a home of its own and a range of subordinate ids, and nothing else: no sudo, no group of devices. Packages that
it needs and only root can install are installed first, and stay. The last commit is cloned into its home, ``make run`` is
called there with an empty environment and an empty cache, and the account is removed with everything it made, a signal that
ends us (Ctrl-C, SIGTERM) included. Exit status 0: the run ended with 0, left a report, and left no process behind.

SIGKILL, of us or of who started us, leaves the account, its home and whatever still runs there: ``make run`` does not end with
us then, for what asks to die with its parent is forgotten by the kernel when it becomes another user's. ``userdel --remove``
is what is left to do.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from lab.deadline import Deadline, poll
from lab.errors import LabError
from lab.host.apt import ensure_packages
from lab.host.progress import SilentProgress
from lab.interruption import interruptible, postponed
from lab.paths import PROJECT
from lab.process import check, finish, spawn

LIMIT_S = 2400  # alone it takes some six minutes, beside other tests it takes what they leave
INSTALL_S = 600
STOP_S = 60  # ``make run`` takes down a guest, or removes half of a tree
ENDED_S = 20
REMOVE_S = 120
TERMINATE_S = STOP_S + ENDED_S + 2 * REMOVE_S + 10
ALL_S = INSTALL_S + LIMIT_S + TERMINATE_S
MODULE = "tests.ordinary_user"
CLONED = PROJECT
INTERRUPTED = 130


@contextlib.contextmanager
def account() -> Iterator[pwd.struct_passwd]:
    """An ordinary user's account that lasts as long as the context; its processes are ended with it."""
    name = f"labuser{secrets.token_hex(3)}"
    with contextlib.ExitStack() as stack:
        with postponed():
            stack.callback(remove, name)
            soon = Deadline.after(60)
            check(("useradd", "--create-home", "--shell", "/bin/sh", name), what="making the account", deadline=soon)
        yield pwd.getpwnam(name)


def remove(name: str) -> None:
    """End the processes of an account and remove it with its home, whatever signal comes; nothing happens where it was not made."""
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        return

    def ended() -> bool:
        for pid in processes_of(user.pw_uid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        return not processes_of(user.pw_uid)

    with postponed():
        poll("the end of the account's processes", ended, Deadline.after(ENDED_S))
        # Files of subordinate ids are in its home too: only root can remove them. userdel keeps others from accounts meanwhile.
        finish(("rm", "-rf", "--one-file-system", user.pw_dir), deadline=Deadline.after(REMOVE_S))
        check(("userdel", "--remove", name), what="removing the account", deadline=Deadline.after(REMOVE_S))


def processes_of(uid: int) -> tuple[int, ...]:
    """Process ids of a user, zombies left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                if entry.stat().st_uid == uid and "State:\tZ" not in (entry / "status").read_text():
                    found.append(int(entry.name))
    return tuple(found)


def has_subordinate_ids(name: str) -> bool:
    """Whether ``useradd`` gave the account a range of ids, which unpacking a root needs."""
    return any(line.startswith(f"{name}:") for line in Path("/etc/subuid").read_text(encoding="utf-8").splitlines())


def run_as_user(user: pwd.struct_passwd, project: Path, log: Path) -> int:
    """Clone, ``make run``, check what is left; the exit status."""
    home = Path(user.pw_dir)
    clone = home / "virtgpu-lab"
    check(("git", "clone", "--quiet", "--no-hardlinks", project, clone), what="cloning", deadline=Deadline.after(60))
    check(("chown", "-R", f"{user.pw_uid}:{user.pw_gid}", clone), what="handing the clone over", deadline=Deadline.after(60))
    command = (
        "runuser", "-u", user.pw_name, "--", "env", "-i", f"HOME={home}", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
        "make", "-C", clone, "run",
    )  # fmt: skip
    with spawn(command, log=log, cwd=home, terminate_s=STOP_S) as child:
        status = child.wait(Deadline.after(LIMIT_S))
    reports = list((clone / "reports" / "runs").glob("*/index.html"))
    survivors = processes_of(user.pw_uid)
    if status != 0:
        say(f"make run ended with {status}")
    if not reports:
        say("no report was left")
    if survivors:
        say(f"processes were left: {survivors}")
    return int(status != 0 or not reports or bool(survivors))


def say(text: str) -> None:
    """A line for whoever watches."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a program's message


def prepare() -> None:
    """Install what the account needs, by the system's apt: one at a time. Raises ``HostError`` and ``BuildError``."""
    ensure_packages(SilentProgress(), Deadline.after(INSTALL_S), for_users=True)


def made(project: Path, log: Path) -> int:
    """Make the account, run, remove it; the output goes to ``log`` as it comes."""
    with account() as user:
        if not has_subordinate_ids(user.pw_name):
            first = 1_000_000
            subprocess.run(
                ("usermod", "--add-subuids", f"{first}-{first + 65535}", "--add-subgids", f"{first}-{first + 65535}", user.pw_name),
                check=True,
            )
        return run_as_user(user, project, log)


def main(project: Path) -> int:
    """Do all of it; what is to be seen goes to standard output and error."""
    if os.geteuid() != 0:
        say("only root can make an account: run this as root")
        return 2
    try:
        with interruptible():
            prepare()
            return made(project, Path("/dev/stdout"))
    except LabError as error:
        say(str(error))
        return error.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if sys.argv[1:] else CLONED))
