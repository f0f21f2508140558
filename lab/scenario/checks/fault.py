"""Something of the way to the host is broken, and a program in the guest must live on: told the cause, in time, with its CPU left.

The program is ``survivor.py`` in the guest. Where the machine has a working remote device, a second instance of it goes on
computing there all the while: what is broken for one context must not be felt by another.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lab.bundle.outcome import Blame, CaseResult, Finding, FindingKind, Outcome
from lab.bundle.writer import CheckWriter
from lab.deadline import Deadline, poll
from lab.errors import GuestError, GuestLost, LaunchError, WaitTimeout
from lab.interruption import postponed
from lab.ops.said import Kinds, event_in, fits, pid_in
from lab.ops.upstream import PYTHON, guest_command
from lab.scenario.environment import USE_APIR_CAPSET
from lab.scenario.evidence import crash_blame
from lab.scenario.faults import Expectation, Fault
from lab.scenario.guest_programs import SURVIVOR
from lab.scenario.model_checks import FaultCheck
from lab.scenario.stage import Stage

REST_OF_START_S = 0.5
"""Beside the wait itself: opening node, context and blobs, and a line's way over SSH, in an emulated guest."""
OTHER_START_S = 60.0
ANSWER_S = 10.0
LOADER = "load_backend:"
SIGNALLED = 128
EVENTS: Mapping[str, Kinds] = {
    "loaded": {"load_s": float | int},
    "remote": {"right": bool},
    "computing": {"graphs": int},
    "lost": {"status": int, "graphs": int},
    "again": {"right": bool},
    "count": {"right": int, "wrong": int},
    "end": {"right": int, "wrong": int},
    "cpu": {"right": bool},
}
"""What ``survivor.py`` says, and with what."""


@dataclass(slots=True)
class Told:
    """What an instance of the program has said so far."""

    on_event: Callable[[dict[str, Any]], None] = lambda _event: None
    events: list[dict[str, Any]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    pid: int = 0
    status: int | None = None

    def feed(self, line: str) -> None:
        """Take a line; an event is passed on at once."""
        event, pid = event_in(line), pid_in(line)
        kinds = EVENTS.get(str(event.get("event")))
        if pid is not None and not self.pid:
            self.pid = pid
        elif kinds is not None and fits(event, kinds):
            self.events.append(event)
            self.on_event(event)
        elif line.strip() and not line.startswith(LOADER):
            self.said.append(line.strip())

    def event(self, name: str) -> dict[str, Any] | None:
        """The last event of a name."""
        return next((event for event in reversed(self.events) if event["event"] == name), None)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The other context: ADDs that were right before and after the fault, those that were wrong, and its program's end."""

    before: int
    after: int
    wrong: int
    status: int | None

    @property
    def unharmed(self) -> bool:
        """Whether it went on computing, all right, to its orderly end."""
        return 0 < self.before < self.after and self.wrong == 0 and self.status == 0


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that a verdict is made of."""

    told: Told
    waited_s: float | None
    under_way: bool
    alive: bool
    killed: int = 0
    neighbour: Neighbour | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that was asked of the fault's handling."""

    name: str
    expected: str
    seen: str
    ok: bool


def check_fault(stage: Stage, check: FaultCheck, writer: CheckWriter, deadline: Deadline) -> None:
    """Bring the fault about, look at what comes of it, and write down the verdict.

    Raises:
        WaitTimeout: ``deadline`` was over, before it was looked at or meanwhile: what was seen tells nothing of the product.
        GuestLost: the guest had gone before, or was taken away meanwhile.
    """
    if not check.fault.expectation.starts:
        tell(check.fault, (Point("QEMU", "does not start", "it started", ok=False),), writer)
        return
    deadline.require(f"the turn of the fault {check.fault}")
    limit = deadline.narrowed(check.deadline_s)
    stage.guest.ssh.execute("true", limit)
    seen = witnessed(stage, check.fault, limit)
    deadline.require(f"what comes of the fault {check.fault}", " / ".join(seen.told.said[-3:]))
    tell(check.fault, judged(check.fault, seen), writer)


def tell(fault: Fault, points: Sequence[Point], writer: CheckWriter) -> None:
    """Write the points down as facts, the wrong ones as findings, and the whole as one case."""
    for point in points:
        writer.fact(f"{fault}: {point.name}", point.expected, point.seen, ok=point.ok)
    wrong = [f"{point.name}: expected {point.expected}, seen {point.seen}" for point in points if not point.ok]
    for text in wrong:
        writer.finding(Finding(FindingKind.FAULT_MISHANDLED, Blame.PRODUCT, f"{fault}: {text}", f"FAULT({fault})"))
    message = "; ".join(wrong or (f"{point.name}: {point.seen}" for point in points))
    writer.case(CaseResult(f"FAULT({fault})", "FAULT", fault, Outcome.FAIL if wrong else Outcome.PASS, message))


def judged(fault: Fault, seen: Seen) -> tuple[Point, ...]:
    """The verdict, point by point."""
    wanted, told = fault.expectation, seen.told
    cpu, remote = told.event("cpu"), told.event("remote")
    return (
        *message_points(wanted, told.said),
        wait_point(wanted, seen.waited_s),
        Point("end of the program", "status 0", end_text(told.status), told.status == 0),
        Point("ADD on its CPU backend", "right", right_text(cpu), cpu is not None and cpu["right"]),
        remote_point(fault, remote),
        *killing_points(fault, seen),
        Point("QEMU and its guest", "alive", "alive" if seen.alive else "lost", seen.alive),
        *neighbour_points(wanted, seen.neighbour),
    )


def message_points(wanted: Expectation, said: Sequence[str]) -> Iterator[Point]:
    """Whether something that was said names the cause; of a fault that is not felt, nothing must be said."""
    if not wanted.message:
        yield Point("message", "none", " / ".join(said) or "none", not said)
        return
    naming = next((line for line in said if re.search(wanted.message, line)), None)
    yield Point("message", f"names the cause: {wanted.message}", naming or " / ".join(said[-3:]) or "none", naming is not None)


def wait_point(wanted: Expectation, waited_s: float | None) -> Point:
    """The measured wait against the documented limit."""
    expected = f"at most {wanted.limit_s:g} s, and {REST_OF_START_S:g} s for all else"
    if waited_s is None:
        return Point("wait", expected, "it did not come to an end", ok=False)
    return Point("wait", expected, f"{waited_s:.3f} s", waited_s <= wanted.limit_s + REST_OF_START_S)


def remote_point(fault: Fault, remote: dict[str, Any] | None) -> Point:
    """Whether there was a remote device, which computes only where it can."""
    if fault.expectation.works or fault is Fault.WORKER_KILLED:
        return Point("ADD on the remote device", "right", right_text(remote), remote is not None and remote["right"])
    return Point("remote device", "none", "none" if remote is None else "there is one", remote is None)


def killing_points(fault: Fault, seen: Seen) -> Iterator[Point]:
    """What is to be killed must have been there. A worker dies in the middle of a call, which must fail; another one takes over."""
    if fault in {Fault.WORKER_KILLED, Fault.RENDER_SERVER_KILLED}:
        yield Point("processes killed", "at least 1", str(seen.killed), seen.killed > 0)
    if fault is Fault.WORKER_KILLED:
        yield Point("moment of the kill", "in a graph", "in a graph" if seen.under_way else "between calls", seen.under_way)
        lost = seen.told.event("lost")
        failed = lost is not None and lost["status"] != 0
        yield Point("graph under way", "fails", f"status {lost['status']}" if lost else "did not end", failed)
        again = seen.told.event("again")
        yield Point("ADD on that device, all of it freed", "right", right_text(again), again is not None and again["right"])


def neighbour_points(wanted: Expectation, neighbour: Neighbour | None) -> Iterator[Point]:
    """The other context."""
    if wanted.neighbour:
        expected = "computes on, all right"
        if neighbour is None:
            yield Point("another context", expected, "there was none", ok=False)
        else:
            ended = f"{neighbour.before} right before, {neighbour.after} in the end, {neighbour.wrong} wrong, "
            yield Point("another context", expected, ended + end_text(neighbour.status), neighbour.unharmed)


def right_text(event: dict[str, Any] | None) -> str:
    """An ADD's result in a word."""
    return "none" if event is None else "right" if event["right"] else "wrong or refused"


def end_text(status: int | None) -> str:
    """A program's end in words."""
    if status is None:
        return "it did not end"
    return f"ended by signal {status - SIGNALLED}" if status > SIGNALLED else f"status {status}"


def judged_refusal(fault: Fault, error: LaunchError) -> tuple[Point, ...]:
    """The verdict on a machine that must not start."""
    lines = [line for line in error.log_tail.splitlines() if line.strip()]
    status = error.qemu_exit_status
    ended = status is not None and 0 < status <= SIGNALLED  # above it bwrap passes on the signal that ended QEMU
    return (*message_points(fault.expectation, lines), Point("end of QEMU", "refuses by itself", end_text(status), ended))


def witnessed(stage: Stage, fault: Fault, deadline: Deadline) -> Seen:
    """Run the program with the fault, beside another one where the machine has a remote device.

    Raises ``GuestLost`` where somebody took the guest away.
    """
    wanted = fault.expectation
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(other_context(stage, deadline)) if wanted.neighbour else None
        before = other.right if other else 0
        if wanted.libraries is not None and stage.switches is not None:
            stack.enter_context(stage.switches.set_to(wanted.libraries))
        killing = Killing(stage, fault)
        told = Told(killing.on_event)
        variables = {USE_APIR_CAPSET: "1"} if fault is Fault.NO_APIR_CAPSET else {}
        with unless_taken_away(stage):
            run(
                replace(stage, guest_variables={**stage.guest_variables, **variables}),
                "heavy" if fault is Fault.WORKER_KILLED else "once",
                told,
                deadline,
            )
        neighbour = other.ended(before, deadline) if other else None
        alive = answers(stage)
    loaded = told.event("loaded")
    waited_s = killing.waited_s if fault is Fault.WORKER_KILLED else loaded["load_s"] if loaded else None
    return Seen(told, waited_s, killing.in_graph(told), alive, killing.killed, neighbour)


@contextlib.contextmanager
def unless_taken_away(stage: Stage) -> Iterator[None]:
    """What goes wrong in the guest shows in what was seen. Of a guest that somebody took away nothing does: that is raised."""
    try:
        yield
    except GuestLost as lost:
        if crash_blame(lost.reason, stage.accel) is Blame.LAB:
            raise
    except GuestError:
        pass


def answers(stage: Stage) -> bool:
    """Whether QEMU runs and its guest does what it is asked to. Raises ``GuestLost`` where somebody took it away."""
    with unless_taken_away(stage):
        return stage.guest.ssh.execute("true", Deadline.after(ANSWER_S))[0] == 0 and stage.guest.alive()
    return False


def run(stage: Stage, mode: str, told: Told, deadline: Deadline) -> None:
    """Run one instance of the program to its end."""
    command = guest_command((*PYTHON, SURVIVOR, mode), stage.guest_variables)
    told.status = stage.guest.ssh.stream(command, told.feed, deadline)


class Killing:
    """Kills what the fault says, and measures from then to the end of the graph that was under way."""

    def __init__(self, stage: Stage, fault: Fault) -> None:
        self._stage = stage
        self._fault = fault
        self._others = frozenset(stage.guest.worker_pids())
        self._killed_at: float | None = None
        self._graphs = -1
        self.killed = 0
        self.waited_s: float | None = None
        if fault is Fault.RENDER_SERVER_KILLED:
            self._kill(stage.guest.render_server_pids())

    def on_event(self, event: dict[str, Any]) -> None:
        """Kill the program's worker when its first graph is under way; take the time when it has failed."""
        if self._fault is Fault.WORKER_KILLED and event["event"] == "computing" and self._killed_at is None:
            self._graphs = event["graphs"]
            self._killed_at = time.monotonic()
            self._kill(set(self._stage.guest.worker_pids()) - self._others)
        elif event["event"] == "lost" and self._killed_at is not None:
            self.waited_s = time.monotonic() - self._killed_at

    def _kill(self, pids: Iterable[int]) -> None:
        """Kill them; one that has ended by itself is none of those that were killed."""
        for pid in pids:
            with contextlib.suppress(GuestError):
                self._stage.guest.kill(pid)
                self.killed += 1

    def in_graph(self, told: Told) -> bool:
        """Whether the graph that failed is the one that was under way at the kill."""
        lost = told.event("lost")
        return lost is not None and self._killed_at is not None and lost["graphs"] == self._graphs + 1


class OtherContext:
    """A second instance that computes until it is told to end. Made by ``other_context``."""

    def __init__(self, stage: Stage, thread: threading.Thread, told: Told) -> None:
        self._stage = stage
        self._thread = thread
        self._told = told

    @property
    def right(self) -> int:
        """Right ADDs so far."""
        count = self._told.event("end") or self._told.event("count")
        return count["right"] if count else 0

    def ended(self, before: int, deadline: Deadline) -> Neighbour:
        """Let it compute some more, end it, and say how it fared."""
        now = self.right
        with contextlib.suppress(WaitTimeout):
            poll("another context's results", lambda: self.right > now, deadline.narrowed(ANSWER_S))
        self.end()
        count = self._told.event("end") or {"right": self.right, "wrong": 0}
        return Neighbour(before, count["right"], count["wrong"], self._told.status)

    def end(self) -> None:
        """Tell it to end, and wait for it."""
        if self._thread.is_alive():
            with contextlib.suppress(GuestError):
                self._stage.guest.ssh.execute(f"kill -TERM {self._told.pid}", Deadline.after(ANSWER_S))
            self._thread.join(ANSWER_S)


@contextlib.contextmanager
def other_context(stage: Stage, deadline: Deadline) -> Iterator[OtherContext]:
    """A second instance with results of its own already; ended at the end."""
    told = Told()

    def work() -> None:
        with contextlib.suppress(GuestError):
            run(stage, "steady", told, deadline)

    with contextlib.ExitStack() as stack:
        with postponed():
            thread = threading.Thread(target=work, name="other context")
            thread.start()
            other = OtherContext(stage, thread, told)
            stack.callback(other.end)
        with contextlib.suppress(WaitTimeout):
            poll("another context", lambda: other.right or not thread.is_alive(), deadline.narrowed(OTHER_START_S))
        yield other
