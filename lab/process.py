"""The one door to child processes.

Every child runs in a process group of its own, writes its output to a file, has no standard input, and dies with the
thread that started it, so not even a killed lab leaves one behind. On leaving ``spawn`` the whole group is
ended: SIGTERM, then SIGKILL, then waited for.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from lab.deadline import Deadline, poll
from lab.errors import BuildError, LabError, WaitTimeout
from lab.interruption import postponed
from lab.temporary import nameless_file

TERMINATE_S = 5.0
GROUP_S = 1.0
GROUP_AGAIN_S = 0.02
NICEST = 19
NOT_STARTED = {
    errno.ENOENT: "is it installed, and in PATH?",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.EAGAIN: "raise the limit of processes (ulimit -u)",
}
"""What to do about a program that does not start, by the system's error."""
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1  # linux/prctl.h
TAIL_BYTES = 20_000
ROOM_BYTES = 4096


@dataclass(slots=True)
class Child:
    """A running child process. Made by ``spawn`` only; holds no resource beyond that context."""

    argv: tuple[str, ...]
    log: Path
    popen: subprocess.Popen[bytes] = field(repr=False)

    @property
    def pid(self) -> int:
        """Process id, which is also the id of its process group."""
        return self.popen.pid

    def exit_status(self) -> int | None:
        """Exit status, negative for a signal, None while it runs."""
        return self.popen.poll()

    def wait(self, deadline: Deadline) -> int:
        """Wait for the end. Raises ``WaitTimeout`` with the log's tail."""
        try:
            return self.popen.wait(deadline.remaining_s)
        except subprocess.TimeoutExpired:
            raise WaitTimeout(f"the end of {self.argv[0]}", deadline.elapsed_s, self.log_tail()) from None

    def log_tail(self) -> str:
        """The end of its output so far."""
        return file_tail(self.log)


@dataclass(slots=True)
class Children:
    """Those that run of the children that some threads start, so that another thread can end all of them.

    An interruption reaches the main thread alone, while the others wait for their children: whoever does sees the end of his.
    """

    _running: list[Child] = field(default_factory=list)
    _ended: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def started_here(self) -> Iterator[None]:
        """What this thread starts for as long as the context lasts is one of them; what threads that it starts do is not."""
        before = CHILDREN.set(self)
        try:
            yield
        finally:
            CHILDREN.reset(before)

    @contextlib.contextmanager
    def holding(self, child: Child) -> Iterator[None]:
        """The child is one of them. Raises ``LabError`` when all were ended."""
        with self._lock:
            if self._ended:
                raise LabError(f"{child.argv[0]} came too late: all that was running was ended")
            self._running.append(child)
        try:
            yield
        finally:
            with self._lock:
                self._running.remove(child)

    def end(self) -> None:
        """Kill all of them, each with its process group; one that is started from now on is ended at once."""
        with self._lock:
            self._ended = True
            for child in self._running:
                if child.popen.returncode is None:
                    signal_group(child.pid, signal.SIGKILL)


CHILDREN: ContextVar[Children | None] = ContextVar("children", default=None)
"""Where a thread's children are registered, if anywhere."""


@dataclass(frozen=True, slots=True)
class Finished:
    """What a child that ended left: exit status (negative for a signal) and its two outputs together."""

    argv: tuple[str, ...]
    exit_status: int
    output: str


@contextlib.contextmanager
def spawn(
    argv: Sequence[str | os.PathLike[str]],
    *,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    pass_fds: Sequence[int] = (),
    terminate_s: float = TERMINATE_S,
) -> Iterator[Child]:
    """Run ``argv`` beside us for as long as the context lasts.

    Args:
        argv: the command; the first word is looked up in PATH.
        log: file that gets standard output and error, appended to.
        env: the whole environment; ours if None.
        cwd: working directory; ours if None.
        pass_fds: descriptors that the child inherits under the same numbers.
        terminate_s: how long SIGTERM may take before SIGKILL follows.

    Raises:
        LabError: when the program is not to be found, or this thread's children were ended (``Children``).
    """
    words = tuple(os.fspath(word) for word in argv)
    with contextlib.ExitStack() as stack:
        with open(log, "ab") as output, postponed():
            try:
                popen = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=None if env is None else dict(env),
                    cwd=cwd,
                    pass_fds=tuple(pass_fds),
                    start_new_session=True,
                    preexec_fn=dying_with(os.getpid()),  # noqa: PLW1509 - see there
                )
            except OSError as error:
                raise LabError(f"cannot start {words[0]}: {error}", hint=NOT_STARTED.get(error.errno or 0)) from error
            keep_nice(popen.pid)
            child = Child(words, log, popen)
            stack.callback(end_group, child, terminate_s)
            if (children := CHILDREN.get()) is not None:
                stack.enter_context(children.holding(child))
        yield child


def dying_with(parent: int) -> Callable[[], None]:
    """What a new child does before it becomes another program: ask to be killed when its parent dies.

    It runs before ``Popen`` returns, so there is no moment in which a killed lab leaves the child behind; a program that does the
    same for us (``setpriv``) has that moment. It is one call into the C library, found beforehand, which is safe after a fork.
    """
    prctl = LIBC.prctl

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL.value)
        if os.getppid() != parent:
            os._exit(127)

    return ask


def keep_nice(session: int, *, nicer: int = 0) -> None:
    """Give the scheduling group of a new session our own nice value, where the kernel has such groups (``CONFIG_SCHED_AUTOGROUP``).

    Between sessions it is the groups' value that counts, and a new one's is 0: ``nice make test`` would be as pushing as without.
    Within a tenth of a second after anybody's change the kernel takes none from an ordinary user, who asks again, and for the
    value that is ours by then. ``nicer`` is for a session whose program is that much nicer than we are.
    """
    group = Path(f"/proc/{session}/autogroup")

    def taken() -> bool:
        nice = min(NICEST, os.getpriority(os.PRIO_PROCESS, 0) + nicer)
        try:
            if nice > 0:
                group.write_text(str(nice), encoding="ascii")
        except BlockingIOError:
            return False
        return True

    with contextlib.suppress(OSError, WaitTimeout):
        poll("the group's nice value", taken, Deadline.after(GROUP_S), interval_s=GROUP_AGAIN_S)


def end_group(child: Child, terminate_s: float = TERMINATE_S) -> None:
    """End the child and all of its process group: SIGTERM, SIGKILL after ``terminate_s``, then wait."""
    if child.popen.poll() is None:
        signal_group(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.popen.wait(terminate_s)
    signal_group(child.pid, signal.SIGKILL)
    child.popen.wait()


def signal_group(group: int, number: signal.Signals) -> None:
    """Send a signal to a process group of ours; nothing happens if it is gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def group_is_alive(group: int) -> bool:
    """Whether any process of the group runs. A zombie does not: who made it, or init, takes its time to ask for its status."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The fields behind the name, which may hold blanks and parentheses itself: state, parent, group.
            state, _, its_group = stat.read_text(errors="replace").rpartition(")")[2].split()[:3]
            if int(its_group) == group and state not in {"Z", "X"}:
                return True
    return False


def wait_group_gone(group: int, deadline: Deadline) -> None:
    """Wait until no process of the group is left. Raises ``WaitTimeout``."""
    poll(f"the end of process group {group}", lambda: not group_is_alive(group), deadline)


def finish(
    argv: Sequence[str | os.PathLike[str]],
    *,
    deadline: Deadline,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    log: Path | None = None,
) -> Finished:
    """Run ``argv`` to its end and return status and output; a status other than 0 is no error here.

    With ``log`` the output goes there too (it can be watched); else to a file without a name.

    Raises:
        LabError: the file without a name has no room for what it says, which a program need not tell: a part is not all of it.
        WaitTimeout: it ran past the deadline (and was ended).
    """
    with contextlib.ExitStack() as stack:
        if nameless := log is None:
            log = stack.enter_context(nameless_file())
        start = log.stat().st_size if log.exists() else 0
        child = stack.enter_context(spawn(argv, log=log, env=env, cwd=cwd))
        status = child.wait(deadline)
        if nameless:
            _require_room(child.argv[0])
        with open(log, "rb") as output:
            output.seek(start)
            text = output.read().decode(errors="replace")
        return Finished(child.argv, status, text)


def _require_room(program: str) -> None:
    """Raise ``LabError`` where there is no room for another file like the one that a program's words went to."""
    try:
        with nameless_file() as another:
            another.write_bytes(bytes(ROOM_BYTES))
    except OSError as error:
        text = f"there is no room for what {program} says: {tempfile.gettempdir()}: {error.strerror}"
        raise LabError(text, hint="make room there, or set TMPDIR to another folder") from error


def check(
    argv: Sequence[str | os.PathLike[str]],
    *,
    what: str,
    deadline: Deadline,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    log: Path | None = None,
) -> str:
    """Run ``argv`` to its end, expect status 0, return its output.

    Raises:
        BuildError: "``what`` failed", with the command and the end of its output.
        WaitTimeout: it ran past the deadline (and was ended).
    """
    done = finish(argv, deadline=deadline, env=env, cwd=cwd, log=log)
    if done.exit_status != 0:
        raise BuildError(f"{what} failed with exit status {done.exit_status}", argv=(shlex.join(done.argv),), output=done.output)
    return done.output


def file_tail(path: Path, size: int = TAIL_BYTES) -> str:
    """The last ``size`` bytes of a text file; empty when there is none."""
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - size))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


def processor_ns(pid: int) -> int | None:
    """Processor time of a process so far, its ended threads included; None of one that has ended."""
    try:
        # The number of a process's clock, as clock_getcpuclockid(3) makes it: in nanoseconds, where /proc tells ticks of 10 ms.
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return None
