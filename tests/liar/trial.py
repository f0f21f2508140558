"""Cases through our host library in one process, with the liar as its ggml library, and all that a verdict needs of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab import paths
from lab.bundle.outcome import CaseResult, Finding, Outcome
from lab.deadline import Deadline
from lab.errors import WaitTimeout
from lab.host.native import NativePayloads
from lab.host.root import Bind, HostRoot
from lab.metrics.memory import MemoryLog
from lab.ops.agent_rows import AgentStream
from lab.ops.engine import BATCH_CASES
from lab.ops.native import PYTHON_WORDS, Files, NativeRun
from lab.ops.session import Reference, evidence_of, reference_of
from lab.ops.verdict import Evidence, findings, results
from lab.process import finish

SEED = 7
BACKENDS = "/usr/lib/x86_64-linux-gnu/ggml/backends0"
WRAPPED = f"{BACKENDS}/libggml-cpu-haswell.so"
OTHER = f"{BACKENDS}/libggml-cpu-x64.so"
RUN_S = 120.0
CASE_S = 8.0
"""How long a process may take that has been told to hang: far longer than one that has not."""
SIGNALLED = 128


@dataclass(slots=True)
class Told:
    """What the processes that computed the cases left: their lines, what each had in memory, and how they ended."""

    memory: MemoryLog = field(default_factory=MemoryLog)
    said: list[str] = field(default_factory=list)
    timed_out: bool = False
    killed: bool = False

    @property
    def lost_as(self) -> Outcome:
        """What a case is that ended its process, which holds the host library, too."""
        return Outcome.HANG if self.timed_out else Outcome.HOST_CRASH if self.killed else Outcome.ERROR


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a trial."""

    cases: Mapping[str, CaseResult]
    findings: tuple[Finding, ...]
    evidence: Evidence
    told: Told

    @property
    def failed(self) -> set[str]:
        """Cases that are not as they should be."""
        return {case for case, result in self.cases.items() if result.outcome is not Outcome.PASS}

    def message(self, case: str) -> str:
        """What was said of a case."""
        return self.cases[case].message


@dataclass(frozen=True, slots=True)
class Trial:
    """Where trials are made."""

    root: HostRoot
    payloads: NativePayloads
    folder: Path

    @property
    def binds(self) -> tuple[Bind, ...]:
        """What the programs see of this machine."""
        return (Bind(paths.PROJECT), Bind(self.payloads.folder), Bind(self.folder, writable=True))

    def enter(self, argv: Sequence[str], _place: Path, env: Mapping[str, str]) -> tuple[str, ...]:
        """A program in the host root."""
        return self.root.enter(argv, binds=self.binds, env=env, cwd=paths.PROJECT)

    def liar(self, lies: str) -> dict[str, str]:
        """Variables for the liar."""
        return {"GGML_LIAR": lies, "GGML_LIAR_LIBRARY": WRAPPED}

    def reference(self, cases: Sequence[str], *, own: str = WRAPPED, other: str = OTHER, lies: str = "") -> Reference:
        """What cases must be, by two libraries; with ``lies`` those of them that are the liar lie natively, too."""
        run = NativeRun(self.enter, self.folder, SEED, self.liar(lies) if lies else {})
        return reference_of(run, (own, other), cases, 1, Deadline.after(RUN_S))

    def verdict(self, lies: str, cases: Sequence[str], reference: Reference, *, batch: int = BATCH_CASES) -> Verdict:
        """Compute cases through the liar and judge them."""
        told = Told()
        limit_s = CASE_S if lies.startswith("hang") else RUN_S

        def attempt(part: Sequence[str], most: int) -> AgentStream:
            return self._once(lies, part, ("--batch", str(min(most, batch))), told, limit_s)

        def fetch(wanted: Sequence[str]) -> Files:
            files = Files(self.folder / "fetched.rows", self.folder / "fetched.values")
            files.values.write_bytes(b"")
            lines: list[str] = []
            self._once(lies, wanted, ("--values", str(files.values)), told, limit_s, on_row=lines.append)
            files.rows.write_text("".join(lines), encoding="utf-8")
            return files

        evidence = evidence_of(cases, reference, attempt, fetch, Deadline.after(RUN_S))
        evidence = replace(evidence, lost_as=told.lost_as)
        judged = {result.case: result for result in results(cases, evidence)}
        return Verdict(judged, findings(cases, evidence), evidence, told)

    def _once(
        self,
        lies: str,
        cases: Sequence[str],
        words: Iterable[str],
        told: Told,
        limit_s: float,
        *,
        on_row: Callable[[str], object] = lambda _line: None,
    ) -> AgentStream:
        listed, log = self.folder / "cases", self.folder / "told"
        listed.write_text("\n".join(cases), encoding="utf-8")
        log.unlink(missing_ok=True)
        program = (
            "/usr/bin/python3", "tests/liar/through_loopback.py", "--host-library", str(self.payloads.host_library),
            "--ggml-library", str(self.payloads.liar), "--seed", str(SEED), "--cases", str(listed), *words,
        )  # fmt: skip
        argv = self.enter(program, self.folder, {**PYTHON_WORDS, **self.liar(lies)})
        stream = AgentStream()
        try:
            done = finish(argv, deadline=Deadline.after(limit_s), log=log)
        except WaitTimeout:
            told.timed_out = True
        else:
            stream.exit_status = done.exit_status
            told.killed = told.killed or done.exit_status > SIGNALLED
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
            stream.feed(line)
            if line.startswith('{"case"'):
                on_row(line)
                row = json.loads(line)
                told.memory.take(row["case"], row["private_kib"])
        told.said += stream.remarks
        return stream
