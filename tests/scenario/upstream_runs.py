"""A scenario with one check of kind ``upstream`` in a guest that is played, and a program that plays test-backend-ops there."""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from lab.bundle import Bundle, Outcome, read_bundle
from lab.ops.upstream_cases import ListedCase
from lab.scenario.listener import SilentListener
from lab.scenario.plan import Choice, planned
from lab.scenario.resume import earlier_run
from lab.scenario.runner import run
from tests.scenario.fakes import HEADER_LINE, FakePlatform, Script, row

SCENARIO = """\
name = "sweep"
timeout_s = 60

[[checks]]
kind = "upstream"
shards = 2
batch = 4
deadline_s = 20
case_deadline_s = 10
"""
LISTED = tuple(
    ListedCase(f"{op}(n={number})" + ("#2" if again else ""), op, f"n={number}", supported=True)
    for op in ("ADD", "MUL")
    for number, again in ((1, False), (2, False), (3, False), (3, True), (4, False), (5, False))
)
CASES = [one.case for one in LISTED]
KILLED = 128 + 9


@dataclass
class Program:
    """Plays test-backend-ops: runs the cases that its options choose, and at some of them something happens, once."""

    at: dict[str, Callable[[], int | None]] = field(default_factory=dict)
    ran: Counter[str] = field(default_factory=Counter)
    processes: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
        words = shlex.split(command.removesuffix("; exit $?"))
        ops = words[words.index("-o") + 1].split(",") if "-o" in words else ["ADD", "MUL"]
        pattern = words[words.index("-p") + 1]
        with self.lock:
            self.processes += 1
        on_line("pid 7\n")
        on_line(HEADER_LINE)
        for one in LISTED:
            if one.op in ops and re.search(pattern, one.params):
                with self.lock:
                    self.ran[one.text] += 1
                    happens = self.at.pop(one.case, None)
                status = happens() if happens is not None else None
                if status is not None:
                    return status
                on_line(row(one.text))
        return 0


class Running:
    """Runs the scenario, each time in a bundle of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def __call__(
        self, program: Program, *, earlier: Bundle | None = None, text: str = SCENARIO, script: Script | None = None
    ) -> Bundle:
        self.count += 1
        here = self.folder / str(self.count)
        here.mkdir()
        path = self.folder / "sweep.toml"
        path.write_text(text)
        script = script or Script()
        script.listed, script.program = LISTED, program
        plan = planned([path], Choice())
        resumed = earlier_run(earlier.folder, plan) if earlier else None
        outcome = run(
            plan, Choice(), self.folder / "runs", SilentListener(), FakePlatform(script, here).platform(), earlier=resumed
        )
        return read_bundle(outcome.folder)


def counted_once(bundle: Bundle) -> bool:
    return sorted(row.case for row in bundle.cases) == sorted(CASES)


def lost(bundle: Bundle) -> dict[str, str]:
    return {row.case: row.outcome for row in bundle.cases if row.outcome not in {Outcome.PASS, Outcome.UNSUPPORTED}}


def killed_lab(bundle: Bundle, rows: int) -> Bundle:
    """The bundle as SIGKILL, or a power loss, would have left it: running, some rows, the last of them torn."""
    lines = (bundle.folder / "results.jsonl").read_text().splitlines(keepends=True)
    cases = [at for at, line in enumerate(lines) if '"kind":"case"' in line]
    (bundle.folder / "results.jsonl").write_text("".join(lines[: cases[rows]]) + lines[cases[rows]][:40])
    record = json.loads((bundle.folder / "run.json").read_text())
    record |= {"status": "running", "exit": None, "ended": None}
    record["variants"][0]["status"] = "running"
    (bundle.folder / "run.json").write_text(json.dumps(record))
    return read_bundle(bundle.folder)
