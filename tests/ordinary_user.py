"""Run the project from a fresh clone under an ordinary user's account made for it, as root: ``python -m tests.ordinary_user``.

The account has a home of its own and a range of subordinate ids, and nothing else: no sudo, no group of devices. Packages that
it needs and only root can install are installed first, and stay. The last commit is cloned into its home, ``make run`` is
called there with an empty environment and an empty cache, and the account is removed with everything it made, a signal that
ends us (Ctrl-C, SIGTERM) included. Exit status 0: the run ended with 0, left a report, and left no process behind.

A signal reaches ``make`` and all of its process group, and they have ``STOP_S`` to take down what they have begun: a guest, or
half of a tree. ``runuser`` and ``su`` stay as parents and kill what they run two seconds after a signal; ``setpriv`` becomes it.

SIGKILL, of us or of who started us, leaves the account, its home and what ``make`` had started; ``make`` itself ends with us.
``userdel`` refuses an account with processes. What is left to do is, as root and in this project's folder,
``.venv/bin/python -c 'from tests.ordinary_user import remove; remove("NAME")'``.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import secrets
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.deadline import Deadline, poll
from lab.errors import LabError
from lab.host.apt import ensure_packages
from lab.host.debian import WORK
from lab.host.progress import SilentProgress
from lab.interruption import interruptible, postponed
from lab.paths import PROJECT
from lab.process import check, finish, spawn
from tests.niceness import hurried_end

LIMIT_S = 4 * 3600  # beside other tests it takes what they leave, for as long as they take
ALONE_S = 2400  # alone it takes some six minutes
INSTALL_S = 600
SOON_S = 300
STOP_S = 60  # ``make run`` takes down a guest, or removes half of a tree
ENDED_S = 60
REMOVE_S = 300
TERMINATE_S = STOP_S + ENDED_S + 2 * REMOVE_S + 30
AWAITED_S = INSTALL_S + ALONE_S + TERMINATE_S  # from when nothing else runs
MODULE = "tests.ordinary_user"
NAMED = "labuser"
CLONED = PROJECT
INTERRUPTED = 130
PUBLIC = (WORK, Path("/tmp"))
SUBORDINATE = (Path("/etc/subuid"), Path("/etc/subgid"))
FIRST_SUBORDINATE = 1_000_000
SUBORDINATES = 65536
RANGE = re.compile(r"^([^:\n]+):([0-9]+):([0-9]+)$", re.MULTILINE)


@contextlib.contextmanager
def account() -> Iterator[pwd.struct_passwd]:
    """An ordinary user's account that lasts as long as the context; its processes are ended with it."""
    name = f"{NAMED}{secrets.token_hex(3)}"
    with contextlib.ExitStack() as stack:
        with postponed():
            stack.callback(remove, name)
            soon = Deadline.after(SOON_S)
            check(("useradd", "--create-home", "--shell", "/bin/sh", name), what="making the account", deadline=soon)
            if not all(ranges_of(name, read(table)) for table in SUBORDINATE):
                give_subordinate_ids(name)
        yield pwd.getpwnam(name)


def remove(name: str) -> None:
    """End the processes of an account and remove it with all that it owns, whatever signal comes, each step though another fails.

    Nothing happens where it was not made. Raises ``ValueError`` for the account of somebody else.
    """
    if not name.startswith(NAMED):
        raise ValueError(f"{name} is no account that was made here: those are named {NAMED}…")
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        return
    ids = (range(user.pw_uid, user.pw_uid + 1), *ranges_of(name, read(SUBORDINATE[0])))

    def ended() -> bool:
        for pid in processes_of(ids):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        return not processes_of(ids)

    with postponed(), contextlib.ExitStack() as stack:
        stack.callback(remove_account, name)
        stack.callback(remove_files, Path(user.pw_dir), ids)
        poll("the end of the account's processes", ended, Deadline.after(ENDED_S))


def remove_files(home: Path, ids: Sequence[range]) -> None:
    """Remove the home and what these ids own where everybody may make files, such as trees that were left half made."""
    paths = [home]
    for folder in PUBLIC:
        for path in folder.iterdir():
            with contextlib.suppress(OSError):
                if any(path.lstat().st_uid in some for some in ids):
                    paths.append(path)
    finish(("rm", "-rf", "--one-file-system", "--", *paths), deadline=Deadline.after(REMOVE_S))


def remove_account(name: str) -> None:
    """Remove the account and what is left of its home, though a process of it will not end."""
    check(("userdel", "--force", "--remove", name), what="removing the account", deadline=Deadline.after(REMOVE_S))


def processes_of(ids: Sequence[range]) -> tuple[int, ...]:
    """Processes of users with these ids, zombies left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                owner = entry.stat().st_uid
                if any(owner in some for some in ids) and "State:\tZ" not in (entry / "status").read_text():
                    found.append(int(entry.name))
    return tuple(found)


def give_subordinate_ids(name: str) -> None:
    """Give an account, to which ``useradd`` gave none, a range of ids of its own, which unpacking a root needs."""
    first = behind(*(read(table) for table in SUBORDINATE))
    ids = f"{first}-{first + SUBORDINATES - 1}"
    argv = ("usermod", "--add-subuids", ids, "--add-subgids", ids, name)
    check(argv, what="giving the account subordinate ids", deadline=Deadline.after(SOON_S))


def ranges_of(name: str, table: str) -> tuple[range, ...]:
    """The ids that the text of /etc/subuid or /etc/subgid gives an account."""
    return tuple(range(int(first), int(first) + int(count)) for whose, first, count in RANGE.findall(table) if whose == name)


def behind(*tables: str) -> int:
    """The first id behind all that such texts give to anybody."""
    return max([FIRST_SUBORDINATE, *(int(first) + int(count) for table in tables for _, first, count in RANGE.findall(table))])


def read(table: Path) -> str:
    """Its text; none where there is no such file."""
    return table.read_text(encoding="utf-8") if table.exists() else ""


def run_as_user(user: pwd.struct_passwd, project: Path, log: Path) -> int:
    """Clone, ``make run``, check what is left; the exit status."""
    home = Path(user.pw_dir)
    clone = home / "virtgpu-lab"
    check(("git", "clone", "--quiet", "--no-hardlinks", project, clone), what="cloning", deadline=Deadline.after(SOON_S))
    check(("chown", "-R", f"{user.pw_uid}:{user.pw_gid}", clone), what="handing the clone over", deadline=Deadline.after(SOON_S))
    command = (
        "setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--init-groups", "--pdeathsig=KILL", "--",
        "env", "-i", f"HOME={home}", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "make", "-C", clone, "run",
    )  # fmt: skip
    with spawn(command, log=log, cwd=home, terminate_s=STOP_S) as child, hurried_end():
        status = child.wait(Deadline.after(LIMIT_S))
    reports = list((clone / "reports" / "runs").glob("*/index.html"))
    survivors = processes_of([range(user.pw_uid, user.pw_uid + 1)])
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
    with account() as user, hurried_end():
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
