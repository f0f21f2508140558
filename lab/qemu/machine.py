"""``booted_guest``: everything a running guest is made of, acquired in order, released in reverse, and proved gone.

Keys → sockets → QEMU within the host root → serial console → QMP → readiness with the expected capsets → one SSH
connection. Leaving goes QMP quit → SIGTERM → SIGKILL; having to use a later rung is told (``AbnormalShutdown``), and so is
anything that survives. QEMU's death in between ends every wait at once.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko

from lab.deadline import Deadline, poll
from lab.errors import AbnormalShutdown, GuestError, GuestLost, LaunchError, WaitTimeout, indented_tail
from lab.guest.console import TAIL_LINES, Console, Ready, watched_console
from lab.guest.inspection import inspected
from lab.guest.keys import BootKeys, boot_keys
from lab.guest.ssh import GuestShell, connected_shell
from lab.process import Child, end_group, spawn
from lab.qemu.boot import WORKER, BootSpec, LaunchPlan, launch_plan
from lab.qemu.command import Accel
from lab.qemu.priority import put_main_thread_first
from lab.qemu.processes import Process, descendants
from lab.qemu.qmp import QmpSession, qmp_session

__all__ = ["BootSpec", "Guest", "Machine", "booted_guest", "running_machine"]

QUIT_S = 15.0
GONE_S = 3.0
EXIT_S = 2.0
CLOCK_FACTOR = 1.1
CLOCK_S = 1.0  # so much longer than QEMU may a guest say that it has run
# a QEMU that ends is noticed at once; one that reads its libraries from a cold disk takes its time
GREETING_S = 120.0
RENDER_SERVER = "virgl_render"
NAME_MAX = 15
"""So much of a program's file name does Linux tell as its process's name."""
QEMU_PREFIX = "qemu-system"
FORWARD = re.compile(r"TCP\[HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)\s")


class Machine:
    """A running QEMU and what is known of its life. Made by ``running_machine`` only."""

    def __init__(self, plan: LaunchPlan, child: Child) -> None:
        self.plan = plan
        self.child = child
        self.console: Console | None = None
        self.main_thread_first: bool | None = None
        """Whether QEMU's main thread goes before its virtual processors; None where it was not tried or is not the lab's to say."""
        self._asked_to_end = threading.Event()
        self._status_awaited = False
        self._transport: paramiko.Transport | None = None

    def alive(self) -> bool:
        """Whether QEMU runs and the guest's kernel has not died."""
        return self.lost() is None

    def lost(self) -> str | None:
        """Why the guest is gone, or None.

        QEMU's exit status says who is to blame: where the console tells of its end first, the status is awaited.
        """
        status = self.child.exit_status()
        reason = self.console.lost if self.console is not None else None
        if reason is not None and reason.startswith("kernel"):
            return reason
        if reason is not None and status is None and not self._status_awaited:
            status = _exit_status(self.child)
            self._status_awaited = True
        if status is not None:
            return f"QEMU ended with exit status {status}"
        return reason

    def serial_tail(self) -> str:
        """The last lines of the serial console."""
        return self.console.tail() if self.console is not None else ""

    @property
    def qemu_pid(self) -> int | None:
        """Process id of QEMU itself (not of bwrap around it); None when it is not there."""
        return next((process.pid for process in self.tree() if process.name.startswith(QEMU_PREFIX)), None)

    def tree(self) -> tuple[Process, ...]:
        """Every process of this machine below bwrap's own."""
        return descendants(self.child.pid)

    def expect_end(self) -> None:
        """Say that QEMU's end, whenever it comes, is wanted (by a test that kills it)."""
        self._asked_to_end.set()

    @property
    def end_expected(self) -> bool:
        """Whether ``expect_end`` was called."""
        return self._asked_to_end.is_set()

    def cut_on_loss(self, transport: paramiko.Transport) -> None:
        """Close this connection as soon as the guest is lost."""
        self._transport = transport
        if self.console is not None and self.console.lost is not None:
            self.on_loss()

    def on_loss(self) -> None:
        """Wake whoever waits for the guest. Called from the console's thread."""
        if self._transport is not None:
            self._transport.close()


@dataclass(frozen=True, slots=True)
class Guest:
    """A booted guest that answers. Made by ``booted_guest`` only."""

    ssh: GuestShell
    ready: Ready
    boot_s: float
    port: int
    keys: BootKeys
    qmp: QmpSession
    machine: Machine
    name: str
    worker: str = WORKER
    """The file name of the program that serves a context."""

    @property
    def capsets(self) -> tuple[int, ...]:
        """Ids of the capability sets, as the guest's kernel lists them."""
        return self.ready.capsets

    @property
    def release(self) -> str:
        """The guest's ``uname -r``."""
        return self.ready.release

    @property
    def argv(self) -> tuple[str, ...]:
        """The whole command line that was run."""
        return self.machine.plan.argv

    @property
    def qemu_pid(self) -> int:
        """Process id of QEMU itself (not of bwrap around it)."""
        pid = self.machine.qemu_pid
        if pid is not None:
            return pid
        raise GuestLost(self.machine.lost() or "QEMU's process is not there", self.serial_tail())

    @property
    def main_thread_first(self) -> bool | None:
        """What ``lab.qemu.priority`` says of QEMU's main thread; None with KVM, where it is left alone."""
        return self.machine.main_thread_first

    def worker_pids(self) -> tuple[int, ...]:
        """Process ids of the APIR workers, oldest first."""
        return tuple(process.pid for process in self.machine.tree() if process.name == self.worker[:NAME_MAX])

    def render_server_pids(self) -> tuple[int, ...]:
        """Process ids of virglrenderer's render server and its workers, oldest first."""
        return tuple(process.pid for process in self.machine.tree() if process.name.startswith(RENDER_SERVER))

    def kill(self, pid: int) -> None:
        """Kill a process of this machine (SIGKILL), as a fault. Raises ``GuestError`` for one that is not of it, or has ended."""
        if all(process.pid != pid for process in self.machine.tree()):
            raise GuestError(f"process {pid} is none of this guest's machine")
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError as error:
            raise GuestError(f"process {pid} of this guest's machine has ended by itself") from error

    def serial_tail(self) -> str:
        """The last lines of the serial console."""
        return self.machine.serial_tail()

    def alive(self) -> bool:
        """Whether QEMU runs and the guest's kernel has not died."""
        return self.machine.alive()

    def expect_end(self) -> None:
        """Say that QEMU's end, whenever it comes, is wanted (by a test that kills it)."""
        self.machine.expect_end()

    def testinfra(self) -> Any:
        """A testinfra host that looks into the guest over the same connection."""
        return inspected(self.ssh, self.name)

    def collect_dmesg(self, path: Path, deadline: Deadline) -> None:
        """Write the guest kernel's log to a file."""
        path.write_text(self.ssh.succeed("dmesg", deadline), encoding="utf-8")


@contextlib.contextmanager
def booted_guest(spec: BootSpec, logs: Path, deadline: Deadline) -> Iterator[Guest]:
    """Boot a guest, connect to it, and take it down at the end.

    Args:
        spec: what to boot.
        logs: folder for serial.log, qemu.log, qmp.log; made if it is not there.
        deadline: for the boot.

    Raises:
        LaunchError: QEMU did not start.
        GuestLost: the guest died during the boot, or before the end without ``expect_end``.
        WaitTimeout: it was not ready in time, or not with the expected capsets.
        GuestError: its clock is too fast, or it uses other processors than it was given.
        AbnormalShutdown: it did not go when asked, or something of it survived.
    """
    logs.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        keys = stack.enter_context(boot_keys())
        started, began_s = time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME)
        machine, qmp = stack.enter_context(running_machine(spec, keys, logs.resolve(), deadline))
        if machine.console is None:
            raise GuestError("the machine has no serial console")
        port = forwarded_port(qmp.human("info usernet", deadline=deadline))
        ready = machine.console.wait_ready(deadline)
        _require_clock(ready, time.clock_gettime(time.CLOCK_BOOTTIME) - began_s)  # a guest counts the host's sleep, too
        _require_processors(ready, spec.cpus, machine)
        _require_capsets(spec, ready, machine, time.monotonic() - started)
        shell, transport = stack.enter_context(connected_shell(port, keys, machine, deadline))
        machine.cut_on_loss(transport)
        shell.succeed("true", deadline)
        yield Guest(shell, ready, time.monotonic() - started, port, keys, qmp, machine, spec.name, spec.worker)
        if not machine.alive() and not machine.end_expected:
            raise GuestLost(machine.lost() or "unknown", machine.serial_tail())


def _require_clock(ready: Ready, waited_s: float) -> None:
    """A guest cannot have run for longer than its QEMU has: one that says so has a clock that is too fast, for all its life.

    That comes of a kernel that has measured the time stamp counter wrongly (``lab.qemu.time_stamp_counter``), where the lab could
    not tell it the frequency.
    """
    if ready.uptime_s > waited_s * CLOCK_FACTOR + CLOCK_S:
        raise GuestError(
            f"the guest's clock is too fast: it says that it has run for {ready.uptime_s:.1f} s, QEMU has for {waited_s:.1f} s; "
            "limits and durations in it would all be wrong. Its kernel measured the processor wrongly, as it may "
            "on a busy host: run it again"
        )


def _require_processors(ready: Ready, wanted: int, machine: Machine) -> None:
    """A guest adds its processors at its start (``lab.qemu.command``): with too few of them, all figures would be wrong."""
    if ready.cpus != wanted:
        told = indented_tail(machine.serial_tail(), title="its console", lines=TAIL_LINES)
        raise GuestError(f"the guest uses {ready.cpus} of its {wanted} processors{told}")


def _require_capsets(spec: BootSpec, ready: Ready, machine: Machine, waited_s: float) -> None:
    """A render node alone is no readiness: virgl may have failed on the host, and the capsets with it."""
    wanted = spec.expected_capsets()
    if ready.capsets == wanted:
        return
    troubles = machine.console.troubles if machine.console is not None else ()
    said = machine.child.log_tail().strip()
    words = ("QEMU and its libraries said:", said) if said else ()
    seen = "\n".join((f"capsets {list(ready.capsets)}, render nodes {list(ready.render_nodes)}", *troubles, *words))
    hint = "without virgl-server in the host root, virgl fails now and then"
    raise WaitTimeout(f"the capsets {list(wanted)} in the guest", waited_s, seen, hint=hint)


def forwarded_port(usernet: str) -> int:
    """The local port that leads to the guest's sshd, in the text of ``info usernet``.

    Raises:
        GuestError: there is none.
    """
    found = FORWARD.search(usernet)
    if found is None:
        raise GuestError(f"QEMU forwards no port to the guest; it says:\n{usernet}")
    return int(found[1])


@contextlib.contextmanager
def running_machine(spec: BootSpec, keys: BootKeys, logs: Path, deadline: Deadline) -> Iterator[tuple[Machine, QmpSession]]:
    """QEMU with its console and QMP, from start to proof of end.

    Raises:
        LaunchError: QEMU ended, or said nothing on QMP, instead of starting.
        AbnormalShutdown: see ``booted_guest``.
    """
    with contextlib.ExitStack() as stack:
        qmp_ours, qmp_theirs = socket.socketpair()
        serial_ours, serial_theirs = socket.socketpair()
        for each in (qmp_ours, serial_ours, qmp_theirs, serial_theirs):
            stack.callback(each.close)
        plan = launch_plan(spec, logs, keys.folder, qmp_fd=qmp_theirs.fileno(), serial_fd=serial_theirs.fileno())
        descriptors = (qmp_theirs.fileno(), serial_theirs.fileno())
        child = stack.enter_context(spawn(plan.argv, log=logs / "qemu.log", pass_fds=descriptors))
        qmp_theirs.close()
        serial_theirs.close()
        machine = Machine(plan, child)
        machine.console = stack.enter_context(watched_console(serial_ours, logs / "serial.log", machine.on_loss))
        try:
            qmp = stack.enter_context(qmp_session(qmp_ours, logs / "qmp.log", deadline.narrowed(GREETING_S)))
        except (GuestLost, WaitTimeout) as error:
            raise LaunchError(plan.qemu, _exit_status(child), child.log_tail()) from error
        with taken_down(machine, qmp):
            if spec.accel is Accel.TCG:
                pid = machine.qemu_pid
                machine.main_thread_first = pid is not None and put_main_thread_first(pid)
            yield machine, qmp


def _exit_status(child: Child) -> int | None:
    with contextlib.suppress(WaitTimeout):
        return child.wait(Deadline.after(EXIT_S))
    return None


@contextlib.contextmanager
def taken_down(machine: Machine, qmp: QmpSession) -> Iterator[None]:
    """At the end of the context take the machine down by the gentlest way that works, and prove that all of it is gone.

    A complaint about that is raised, or, when another error is on its way, added to it as a note.
    """
    try:
        yield
    finally:
        in_flight = sys.exc_info()[1]
        complaints = list(_take_down(machine, qmp))
        if complaints:
            error = AbnormalShutdown("; ".join(complaints))
            if in_flight is None:
                raise error
            in_flight.add_note(f"and then: {error}")


def _take_down(machine: Machine, qmp: QmpSession) -> Iterator[str]:
    family = machine.tree()
    problem = _quit(machine, qmp) if machine.child.exit_status() is None else ""
    if problem:
        yield problem
    end_group(machine.child)
    with contextlib.suppress(WaitTimeout):
        poll("the end of QEMU's processes", lambda: not any(process.alive() for process in family), Deadline.after(GONE_S))
    survivors = [f"{process.name} ({process.pid})" for process in family if process.alive()]
    if survivors:
        yield f"processes survived: {', '.join(survivors)}"


def _quit(machine: Machine, qmp: QmpSession) -> str:
    """Ask QEMU to quit and wait for it; what went wrong, or nothing."""
    try:
        qmp.execute("quit", deadline=Deadline.after(QUIT_S))
        machine.child.wait(Deadline.after(QUIT_S))
    except GuestLost as error:
        # it hung up before it was asked: that is a loss, told elsewhere, and no disobedience if it is just ending
        return (
            "" if _exit_status(machine.child) is not None else f"QEMU hung up but runs on, and was ended by signal ({error.reason})"
        )
    except WaitTimeout as error:
        return f"QEMU did not quit when asked and was ended by signal ({error.what})"
    return ""
