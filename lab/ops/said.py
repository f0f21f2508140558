"""Lines that programs in a guest say: events of ours among whatever a library may print, which no reader of them stumbles over."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import UnionType
from typing import Any

PID = re.compile(r"pid (\d{1,9})\s*")
LONGEST_LINE = 1 << 16
"""Longer lines, in characters, are no rows of test-backend-ops, whatever they look like."""
LONGEST_REMARK = 1000
KEPT_REMARKS = 100
Kinds = Mapping[str, type | UnionType]
"""Keys that an event has, and of which type their values are."""


def event_in(line: str) -> dict[str, Any]:
    """The JSON object that a line is; empty where it is none."""
    if not line.startswith("{"):
        return {}
    try:
        event = json.loads(line)
        json.dumps(event, ensure_ascii=False).encode()  # half a surrogate pair, which no file of ours could hold
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def fits(event: Mapping[str, Any], kinds: Kinds) -> bool:
    """Whether an event has all these keys, with values of these types."""
    return all(key in event and isinstance(event[key], kind) for key, kind in kinds.items())


def pid_in(line: str) -> int | None:
    """The process id in the line that ``guest_command`` makes a shell say; None in any other."""
    found = PID.fullmatch(line)
    return int(found[1]) if found else None


def remark(line: str) -> str:
    """What is kept of a line that is quoted in findings: without its end, and not more than anyone reads."""
    return line[:LONGEST_REMARK].strip()


def note(remarks: list[str], line: str) -> None:
    """Keep a line as the last of the remarks: what a program says before it ends comes behind all else, however much that is."""
    remarks.append(remark(line))
    del remarks[:-KEPT_REMARKS]
