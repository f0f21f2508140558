"""What /proc says of a process and all below it: for build ids, for workers, and to prove that nothing survived."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process; pid and start time together are never used twice."""

    pid: int
    parent: int
    name: str
    start_ticks: int

    def alive(self) -> bool:
        """Whether this very process is still there and no zombie, whatever it calls itself now and whoever took it over."""
        now, state = _stat(self.pid)
        return now is not None and now.start_ticks == self.start_ticks and state != "Z"


def descendants(pid: int) -> tuple[Process, ...]:
    """Every process below ``pid``, parents before children."""
    children: dict[int, list[Process]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            process, state = _stat(int(entry.name))
            if process is not None and state != "Z":
                children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    level = [pid]
    while level:
        below = [child for parent in level for child in children.get(parent, [])]
        found += sorted(below, key=lambda process: process.pid)
        level = [process.pid for process in below]
    return tuple(found)


def _stat(pid: int) -> tuple[Process | None, str]:
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):  # the last of another user's, with hidepid=1
        return None, ""
    return parsed_stat(text)


def parsed_stat(text: str) -> tuple[Process, str]:
    """The process and its state letter in the text of /proc/PID/stat (the name may hold spaces and parentheses)."""
    head, _, tail = text.rpartition(")")
    pid, _, name = head.partition(" (")
    fields = tail.split()
    return Process(int(pid), int(fields[1]), name, int(fields[19])), fields[0]
