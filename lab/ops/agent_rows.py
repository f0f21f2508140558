"""What the agent tells, read back, and getting every case through although some end the process.

Rows come when a batch has ended, so a process that dies or hangs names no case: it was one of those that travelled together from
the first without a row. They are run again one by one; the first without a row then is the one, and the rest go on as before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.bundle.outcome import Outcome
from lab.bundle.rows import MOST_NS
from lab.errors import LabError
from lab.ggml.registry import Device, read_devices
from lab.ops.catalog import case_named
from lab.ops.engine import BATCH_CASES, ordered
from lab.ops.result import COMPUTED, UNSUPPORTED
from lab.ops.said import Kinds, event_in, fits, note, pid_in, remark

LOST = "lost"
"""The outcome of a case that ended the process, or during which it was ended; ``text`` says how."""
MAX_LOST = 32
ROW: Kinds = {"case": str, "outcome": str, "digest": str, "ns": int, "batch": int, "text": str}
OPENING: Kinds = {"device": dict, "pid": int, "others": list}


class AgentFailed(LabError):
    """The agent could not start, or lost more cases than makes sense to go on."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How a start of the agent ended before its end, found out by who watched it."""

    outcome: Outcome
    why: str


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One case as the agent told it. ``duration_ns`` is its share of the batch's computation.

    ``lost_as`` is what a lost case was.
    """

    case: str
    outcome: str
    digest: str = ""
    duration_ns: int = 0
    batch: int = 0
    text: str = ""
    lost_as: Outcome = Outcome.GUEST_CRASH

    @property
    def supported(self) -> bool | None:
        """Whether the device said that it computes this; None when it was never heard."""
        return {COMPUTED: True, UNSUPPORTED: False}.get(self.outcome)


@dataclass(slots=True)
class AgentStream:
    """Takes the agent's output line by line. ``started`` is what the shell said of the process, ``pid`` what it says itself."""

    rows: list[AgentRow] = field(default_factory=list)
    device: Device | None = None
    pid: int | None = None
    others: tuple[Device, ...] = ()
    ended: bool = False
    exit_status: int | None = None
    remarks: list[str] = field(default_factory=list)
    started: int | None = None
    lost: str = ""
    cut: Cut | None = None

    @property
    def why(self) -> str:
        """What is known of an end before the end."""
        return self.cut.why if self.cut else " · ".join(self.remarks[-3:])

    def feed(self, line: str) -> None:
        """One line, with or without its end."""
        event = event_in(line)
        if (row := row_from(event)) is not None:
            self.rows.append(row)
        elif fits(event, OPENING) and (devices := read_devices([event["device"], *event["others"]])):
            self.device, *others = devices
            self.pid, self.others = event["pid"], tuple(others)
        elif "end" in event:
            self.ended = True
        elif fits(event, {"lost": str}):
            self.lost = remark(event["lost"])
        elif self.started is None and (pid := pid_in(line)) is not None:
            self.started = pid
        elif line.strip():
            note(self.remarks, line)


def row_from(event: Mapping[str, Any]) -> AgentRow | None:
    """A case's row from its line; None where it is no such line, which one is not that tells of a time of more than 64 bits."""
    if not fits({"text": "", **event}, ROW) or not 0 <= event["ns"] < MOST_NS:
        return None
    return AgentRow(event["case"], event["outcome"], event["digest"], event["ns"], event["batch"], remark(event.get("text", "")))


def ignored(_stream: AgentStream, _cases: Sequence[str]) -> None:
    """Nobody wants to know."""


Attempt = Callable[[Sequence[str], int], AgentStream]
"""Runs the agent once on cases, so many together at most, and gives what it told; not ``ended`` when it was cut off."""


def in_order(cases: Sequence[str]) -> tuple[str, ...]:
    """The order in which the agent takes cases."""
    return tuple(case.id for case in ordered(case_named(name) for name in cases))


def all_rows(
    cases: Sequence[str],
    attempt: Attempt,
    *,
    max_lost: int = MAX_LOST,
    on_unexplained: Callable[[AgentStream, Sequence[str]], None] = ignored,
) -> tuple[AgentRow, ...]:
    """A row for every case, in the agent's order; those that ended the process have the outcome ``lost``.

    A case that the agent has come to its end without is run again; where no row comes then, there is none.

    Args:
        cases: ids.
        attempt: runs the agent once.
        max_lost: how many cases may end the process.
        on_unexplained: told of a start that was cut off during these cases, none of which ended the process when alone; of one that
            had told all of its cases by then, with none.

    Raises:
        AgentFailed: it never told its device, or lost more than ``max_lost`` cases.
    """
    pending, rows, lost = list(in_order(cases)), list[AgentRow](), 0
    suspects = 0
    cut: tuple[AgentStream, tuple[str, ...]] | None = None
    while pending:
        part = pending[:suspects] if suspects else pending
        stream = attempt(part, 1 if suspects else BATCH_CASES)
        if stream.device is None:
            raise AgentFailed(f"the agent did not start: {' · '.join(stream.remarks[-3:]) or 'no output'}")
        told = {row.case for row in stream.rows}.intersection(part)
        rows += [row for row in stream.rows if row.case in told]
        # by name: a line of which a library's words have made two is no row, and its case is run again
        pending = [case for case in pending if case not in told]
        if stream.ended:
            if cut is not None:
                on_unexplained(*cut)
            if not told:
                break
            suspects, cut = 0, None
        elif len(told) == len(part):
            if cut is not None:
                on_unexplained(*cut)
            on_unexplained(stream, ())
            suspects, cut = 0, None
        elif suspects:
            lost, cut = lost + 1, None
            rows.append(lost_row(pending.pop(0), stream))
            suspects -= len(told) + 1
        else:
            suspects = min(BATCH_CASES, len(pending))
            cut = (stream, tuple(pending[:suspects]))
        if lost > max_lost:
            raise AgentFailed(f"{lost} cases ended the process, the last was {rows[-1].case}: {rows[-1].text}")
    return tuple(rows)


def lost_row(case: str, stream: AgentStream) -> AgentRow:
    """The row of a case that ended the process, or during which it was ended."""
    return AgentRow(case, LOST, text=stream.why, lost_as=stream.cut.outcome if stream.cut else Outcome.GUEST_CRASH)
