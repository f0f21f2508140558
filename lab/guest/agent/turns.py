"""Asks several benchmark programs in turns, so that a noisy moment of the machine falls on all of them alike.

``python3 turns.py PLAN [ROWS]``, in the guest or on the host; the plan is ``lab.bench.plan``'s, in JSON. Every program of a phase
is started, then each is asked for each measurement, over and over, forwards and backwards. A line of JSON per answer goes to
standard output, or to the file ROWS, as it comes. Lines with an ``event``:

* ``gate``: before a program is started that needs another host library. It is started when a line has been written to the FIFO.
* ``begins``: before a measurement that somebody else looks at, too. It begins when a line has been written to the FIFO.
* ``ends``: behind it, before anything else is done; waits at the FIFO as well.
* ``said``: when a program has been ended, the last of what it wrote to its standard error, and of what it wrote between its
  answers: there a library tells of calls that failed, of which a program need not know.

A program that does not answer in time is killed and left out; the row then holds an ``error``. A library may print what it likes:
an answer is a JSON object that says which ``measure`` it is of, the one that was asked for, or has an ``error`` and no more.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, TextIO

START_S = 120.0
END_S = 20.0
CHUNK_BYTES = 1 << 20
HEADER = struct.Struct("<8sIIIIQIIQQQQ40s16s")
RECORD = struct.Struct("<QQQQIIIiQQ")
START_NS = 1
"""Place of a record's beginning, by the clock that ``begin_ns`` and ``end_ns`` of a row are of."""
MAGIC = b"APIRCALL"
SAID_LIMIT = 2000
INTERRUPTS = Path("/proc/interrupts")
GPU_DRIVER = Path("/sys/bus/virtio/drivers/virtio_gpu")


class Program:
    """A program that answers lines with lines; ends with its input."""

    def __init__(self, subject: dict[str, Any]) -> None:
        self.name: str = subject["name"]
        self._calls: str = subject.get("calls") or ""
        environment = {**os.environ, **subject["environment"]}
        if self._calls:
            Path(self._calls).mkdir(parents=True, exist_ok=True)
            environment["GGML_VIRTGPU_CALL_LOG"] = self._calls
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
        self._process = subprocess.Popen(
            subject["argv"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, env=environment
        )  # fmt: skip
        self._data = b""
        self.between = ""
        """The end of what it wrote between its answers."""
        self.alive = True

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def answer(self, limit_s: float, measure: str = "") -> dict[str, Any]:
        """What it says of a measurement, or of its start; an ``error`` when that is nothing in time, or when it has ended."""
        until = time.monotonic() + limit_s
        while line := self._line(until):
            row = json_object(line)
            if row is not None and is_answer(row, measure):
                return row
            self._keep(line)
        self._keep(self._data)
        self.alive = False
        self._process.kill()
        status = self._process.wait()
        how = f"gave no answer for {limit_s:g} s" if line is None else f"ended with status {status}"
        return {"error": f"{self.name} {how}"}

    def _line(self, until: float) -> bytes | None:
        """Its next line, with its end; empty when it has ended, None when the time is over."""
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        while (left := until - time.monotonic()) > 0:
            line, end, rest = self._data.partition(b"\n")
            if end:
                self._data = rest
                return line + end
            if select.select([self._process.stdout], [], [], left)[0]:
                piece = os.read(self._process.stdout.fileno(), CHUNK_BYTES)
                if not piece:
                    return b""
                self._data += piece
        return None

    def _keep(self, text: bytes) -> None:
        """Text that is no answer."""
        self.between = (self.between + text.decode(errors="replace"))[-SAID_LIMIT:]

    def ask(self, line: str, limit_s: float) -> dict[str, Any]:
        """Its answer to a line, with what its call records say of the time between; without them it has no such keys."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        before = self._recorded()
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self.alive = False
            return {"error": f"{self.name} has ended"}
        row = self.answer(limit_s, line.split(maxsplit=1)[0])
        after = self._recorded()
        if after is not None and len(after) >= len(before or ()):
            new = within(after[len(before or ()) :], row)
            row["commands"] = len(new)
            row["bytes_out"], row["bytes_in"] = sum(one[8] for one in new), sum(one[9] for one in new)
            row["by_call"] = counted(one[5] for one in new)
        return row

    def end(self) -> str:
        """End it; the last of what it has said on standard error."""
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018 - they are pipes
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        length = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, length - SAID_LIMIT))
        said = self._said.read().decode(errors="replace")
        self._said.close()
        return said

    def _recorded(self) -> list[tuple[Any, ...]] | None:
        """The records of its calls so far; None without a file of its own. Those that were begun and not completed are left out."""
        rows: list[tuple[Any, ...]] | None = None
        for path in sorted(Path(self._calls).glob("*.calls")) if self._calls else ():
            raw = path.read_bytes()
            if len(raw) < HEADER.size:
                continue
            header = HEADER.unpack_from(raw)
            if header[0] != MAGIC or header[4] != self.pid:
                continue
            size = header[3]  # of a record, of which newer versions say more at the end
            starts = range(HEADER.size, len(raw) - size + 1, size) if size >= RECORD.size else ()
            rows = [*(rows or ()), *(one for one in (RECORD.unpack_from(raw, start) for start in starts) if one[1])]
        return rows


def gpu_interrupts(interrupts: Path = INTERRUPTS, driver: Path = GPU_DRIVER) -> int | None:
    """How many interrupts virtio-gpu devices have raised since the boot; None where no such device has its own."""
    names = tuple(f"{path.name}-" for path in driver.glob("virtio*"))
    # NUMBER: COUNT-PER-CPU… CONTROLLER EDGE virtio0-control
    lines = [line.split() for line in interrupts.read_text(encoding="utf-8").splitlines()] if names else []
    own = [line for line in lines if line and line[-1].startswith(names)]
    return sum(int(word) for line in own for word in line[1:] if word.isdigit()) if own else None


def json_object(line: bytes) -> dict[str, Any] | None:
    """What a line says in JSON; None when it is no object."""
    try:
        said = json.loads(line)
        json.dumps(said, ensure_ascii=False).encode()  # half a surrogate pair, which no file of the lab's could hold
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def is_answer(row: dict[str, Any], measure: str) -> bool:
    """Whether an object is what was asked for, or tells why there is none; without ``measure`` the start was waited for."""
    return row.keys() == {"error"} or (row.get("measure") == measure if measure else "ready" in row)


def within(records: list[tuple[Any, ...]], row: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Those of the rounds that were timed, where the program says when that was: without what it did before and after."""
    begin, end = row.get("begin_ns", 0), row.get("end_ns", float("inf"))
    return [one for one in records if begin <= one[START_NS] <= end]


def counted(numbers: Any) -> dict[str, int]:
    """How often each occurs."""
    counts: dict[str, int] = {}
    for number in numbers:
        counts[str(number)] = counts.get(str(number), 0) + 1
    return counts


def tell(out: TextIO, row: dict[str, Any]) -> None:
    """One line, at once."""
    out.write(json.dumps(row) + "\n")
    out.flush()


def passed(out: TextIO, gate: int | None, row: dict[str, Any]) -> None:
    """Tell an event and wait until whoever reads it has written a line to the FIFO; nobody does where there is none."""
    tell(out, row)
    while gate is not None and os.read(gate, 1) != b"\n":
        pass


def started(out: TextIO, gate: int | None, phase: dict[str, Any]) -> list[Program]:
    """The phase's programs, those that came up."""
    programs = []
    for subject in phase["subjects"]:
        if subject.get("host"):
            passed(out, gate, {"event": "gate", "host": subject["host"], "subject": subject["name"]})
        program = Program(subject)
        row = program.answer(START_S)
        tell(out, {"event": "started", "phase": phase["name"], "subject": subject["name"], **row})
        if "ready" in row:
            programs.append(program)
        else:
            ended(out, program)
    return programs


def ended(out: TextIO, program: Program) -> None:
    """End a program and tell what it said: between its answers, and on standard error."""
    said = program.end()
    for text in (program.between, said):
        if text:
            tell(out, {"event": "said", "subject": program.name, "text": text})


def measured(out: TextIO, gate: int | None, phase: dict[str, Any], programs: list[Program]) -> None:
    """All measurements of a phase, in turns."""
    for repetition in range(phase["repetitions"]):
        for measure in phase["measures"]:
            chosen = [one for one in programs if one.alive and (measure["subjects"] is None or one.name in measure["subjects"])]
            for program in chosen if repetition % 2 == 0 else reversed(chosen):
                place = {"phase": phase["name"], "subject": program.name, "name": measure["name"], "repetition": repetition}
                if measure.get("watched"):
                    passed(out, gate, {"event": "begins", **place, "pid": program.pid})
                before = gpu_interrupts()
                row = program.ask(measure["line"], measure["limit_s"])
                after = gpu_interrupts()
                if measure.get("watched"):
                    # before the program may end, and its worker with it
                    passed(out, gate, {"event": "ends", **place, "pid": program.pid})
                if before is not None and after is not None:
                    row["interrupts"] = after - before
                tell(out, {**place, "load": os.getloadavg()[0], **row})


def run(plan: dict[str, Any], out: TextIO) -> None:
    """The whole plan. Programs are ended with their phase, whatever happens."""
    # open for both, so that no line is lost between two looks
    gate = os.open(plan["gate"], os.O_RDWR) if plan["gate"] else None
    for phase in plan["phases"]:
        programs: list[Program] = []
        try:
            programs = started(out, gate, phase)
            measured(out, gate, phase, programs)
        finally:
            for program in programs:
                ended(out, program)
    tell(out, {"event": "end"})


def main(arguments: list[str]) -> int:
    """See the top of the file."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    plan = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    if len(arguments) > 1:
        with open(arguments[1], "a", encoding="utf-8") as out:
            run(plan, out)
    else:
        run(plan, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
