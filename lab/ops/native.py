"""The reference: cases computed on the host by backend libraries themselves, in the host root, and judged there.

``own`` is the library that the guest's cases reach over the wire, with the same number of threads: what it computes natively must
come back bit for bit. ``other`` is another build of the CPU backend, for the mean square error. Each is loaded alone, by its path,
into a process in which no other backend is; ``Computed.device`` is what the agent then found.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.deadline import Deadline
from lab.errors import LabError
from lab.ggml.registry import Device
from lab.ops.agent_rows import AgentRow, AgentStream, all_rows, row_from
from lab.ops.said import event_in
from lab.paths import PROJECT
from lab.process import finish

ROW_START = '{"case"'
PYTHON = "/usr/bin/python3"
PYTHON_WORDS = {"PYTHONPATH": str(PROJECT), "PYTHONDONTWRITEBYTECODE": "1"}


Enter = Callable[[Sequence[str], Path, Mapping[str, str]], Sequence[str]]
"""Gives the command line that runs words inside the host root, with the project readable and a folder writable."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What the oracles said of one case: NMSE against another library, and the golden. None: there was nothing to compare with."""

    against_ok: bool | None
    against: str
    golden_ok: bool | None
    golden: str


@dataclass(frozen=True, slots=True)
class Files:
    """What the agent told and wrote."""

    rows: Path
    values: Path


@dataclass(frozen=True, slots=True)
class Computed:
    """Cases computed by one library: rows by case, the files, and what computed."""

    rows: Mapping[str, AgentRow]
    files: Files
    device: Device


MAX_ENDED = 256
"""How many cases may end the process of a library by itself, behind no rules of ours: 58 do with ggml-cuda 0.27."""


@dataclass(slots=True)
class NativeRun:
    """Runs the agent natively.

    Args:
        enter: how a program is run in the host root.
        folder: for the files; it must exist.
        seed: of the data.
        environment: more variables for the library (Vulkan's, say).
    """

    enter: Enter
    folder: Path
    seed: int
    environment: Mapping[str, str] = field(default_factory=dict)

    def compute(
        self,
        library: str,
        cases: Sequence[str],
        name: str,
        deadline: Deadline,
        *,
        threads: int | None = None,
        symbol: str | None = None,
    ) -> Computed:
        """Compute cases with a backend library.

        Args:
            library: its path in the host root.
            cases: ids.
            name: of the files that are left in the folder.
            deadline: for all of it.
            threads: for a library that computes on the CPU.
            symbol: by which the library registers itself; None: as ggml's own do.

        Raises:
            LabError: the library cannot be loaded, or too many cases end the process.
        """
        files = Files(self.folder / f"{name}.rows", self.folder / f"{name}.values")
        files.rows.write_bytes(b"")
        files.values.write_bytes(b"")
        words = ["--library", library, *(() if threads is None else ("--threads", str(threads)))]
        words += [] if symbol is None else ["--symbol", symbol]
        devices: list[Device] = []

        def attempt(part: Sequence[str], batch: int) -> AgentStream:
            stream = self._once((*words, "--batch", str(batch)), part, files, deadline)
            devices.extend([stream.device] if stream.device else [])
            return stream

        rows = all_rows(cases, attempt, max_lost=MAX_ENDED)
        return Computed({row.case: row for row in rows}, files, devices[0])

    def judge(self, own: Files, deadline: Deadline, other: Files | None = None) -> dict[str, Judged]:
        """What the oracles say of results, by case; ``other`` are those to compare with by the mean square error."""
        words = ["--seed", str(self.seed), "--rows", str(own.rows), "--values", str(own.values)]
        if other is not None:
            words += ["--reference-rows", str(other.rows), "--reference-values", str(other.values)]
        argv = self.enter((PYTHON, "-m", "lab.ops.judge", *words), self.folder, PYTHON_WORDS)
        done = finish(argv, deadline=deadline)
        if done.exit_status:
            raise LabError(f"the judge ended with status {done.exit_status}: {done.output[-2000:]}")
        lines = (json.loads(line) for line in done.output.splitlines() if line.startswith(ROW_START))
        return {line["case"]: judged_from(line) for line in lines}

    def _once(self, words: Sequence[str], cases: Sequence[str], files: Files, deadline: Deadline) -> AgentStream:
        """One start of the agent; its rows and values are added to the files."""
        listed = self.folder / "cases"
        listed.write_text("\n".join(cases), encoding="utf-8")
        program = (
            PYTHON,
            "-m",
            "lab.guest.agent.ops",
            "--seed",
            str(self.seed),
            "--cases",
            str(listed),
            "--values",
            str(files.values),
        )
        argv = self.enter((*program, *words), self.folder, {**PYTHON_WORDS, **self.environment})
        stream = AgentStream()
        with files.rows.open("a", encoding="utf-8") as kept:
            for line in finish(argv, deadline=deadline).output.splitlines(keepends=True):
                stream.feed(line)
                kept.write(line if line.startswith(ROW_START) else "")
        return stream


def rows_of(path: Path) -> dict[str, AgentRow]:
    """The rows in a file that the agent told them into."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = (row_from(event_in(line)) for line in lines if line.startswith(ROW_START))
    return {row.case: row for row in rows if row is not None}


def judged_from(record: Mapping[str, Any]) -> Judged:
    """The judge's line as a value."""
    against, golden = record["against"], record["golden"]
    return Judged(
        against_ok=against["ok"] if against else None,
        against=against["text"] if against else "",
        golden_ok=golden["ok"] if golden else None,
        golden=golden["text"] if golden else record["why"],
    )
