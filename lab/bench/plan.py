"""What a benchmark asks of whom, in which order: the plan that ``lab/guest/agent/turns.py`` carries out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

SETTLED_S = 180.0
"""For one answer: 256 MiB a few times over, in an emulated guest on a busy machine."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A program that is measured.

    Attributes:
        name: how rows call it.
        argv: its command line, where it runs.
        environment: variables over those of whoever starts it.
        host: the host library that its context must get, by a name that the driver's partner knows; empty: whichever there is.
        calls: a folder for its call records, which rows then count; empty: it writes none.
    """

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    host: str = ""
    calls: str = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measurement: the line that asks for it, and the subjects that are asked (all if None).

    ``watched``: somebody else looks on, and is told before it begins, and when it has ended, before its program may end.
    """

    name: str
    line: str
    subjects: tuple[str, ...] | None = None
    limit_s: float = SETTLED_S
    watched: bool = False


@dataclass(frozen=True, slots=True)
class Phase:
    """Subjects that are alive at the same time, and what each is asked in turns, ``repetitions`` times."""

    name: str
    subjects: tuple[Subject, ...]
    measures: tuple[Measure, ...]
    repetitions: int = 1


def plan_text(phases: Sequence[Phase], gate: str = "") -> str:
    """The plan as the driver reads it. ``gate``: path of the FIFO at which it waits for its partner."""
    return json.dumps({"gate": gate, "phases": [asdict(phase) for phase in phases]})
