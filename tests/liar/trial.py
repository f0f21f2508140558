"""Cases through our host library in one process, with the liar as its ggml library, and all that a verdict needs of them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab import paths
from lab.bundle.outcome import CaseResult, Finding, Outcome
from lab.deadline import Deadline
from lab.errors import WaitTimeout
from lab.host.native import NativePayloads
from lab.host.root import Bind, HostRoot
from lab.metrics.memory import MemoryLog
from lab.ops.agent_rows import AgentRow, AgentStream, Cut, all_rows
from lab.ops.engine import BATCH_CASES
from lab.ops.native import PYTHON_WORDS, Files, Judged
from lab.ops.session import Library, NativeHost, Reference, evidence, fetched_where_bits_differ
from lab.ops.verdict import Evidence, findings, results
from lab.process import finish
from tests.backends import BACKENDS

SEED = 7
WRAPPED = f"{BACKENDS}/libggml-cpu-haswell.so"
OTHER = f"{BACKENDS}/libggml-cpu-x64.so"
RUN_S = 120.0
CASE_S = 8.0
"""How long a process may take that has been told to hang: far longer than one that has not."""
SIGNALLED = 128


@dataclass(slots=True)
class Told:
    """What the processes that computed the cases left: what they said, and what each had in memory."""

    memory: MemoryLog = field(default_factory=MemoryLog)
    said: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Known:
    """What cases must be, and where that was found out."""

    host: NativeHost
    reference: Reference

    @property
    def judged(self) -> Mapping[str, Judged]:
        """What the oracles say of the reference itself."""
        return self.reference.judged


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

    def enter(self, argv: Sequence[str], place: Path, env: Mapping[str, str]) -> tuple[str, ...]:
        """A program in the host root."""
        binds = (Bind(paths.PROJECT), Bind(self.payloads.folder), Bind(place, writable=True))
        return self.root.enter(argv, binds=binds, env=env, cwd=paths.PROJECT)

    def liar(self, lies: str) -> dict[str, str]:
        """Variables for the liar."""
        return {"GGML_LIAR": lies, "GGML_LIAR_LIBRARY": WRAPPED}

    def known(self, cases: Sequence[str], *, own: str = WRAPPED, other: str = OTHER, lies: str = "") -> Known:
        """What cases must be, by two libraries; with ``lies`` those of them that are the liar lie natively, too."""
        host = NativeHost(self.enter, SEED, Library(own, threads=1), other, self.liar(lies) if lies else {})
        return Known(host, host.reference(cases, Deadline.after(RUN_S)))

    def verdict(self, lies: str, cases: Sequence[str], known: Known, *, batch: int = BATCH_CASES) -> Verdict:
        """Compute cases through the liar and judge them."""
        told = Told()

        def attempt(part: Sequence[str], most: int) -> AgentStream:
            return self._once(lies, part, ("--batch", str(min(most, batch))), told)

        def fetch(wanted: Sequence[str]) -> Files:
            files = Files(self.folder / "fetched.rows", self.folder / "fetched.values")
            files.values.write_bytes(b"")
            lines: list[str] = []
            self._once(lies, wanted, ("--values", str(files.values)), told, on_row=lines.append)
            files.rows.write_text("".join(lines), encoding="utf-8")
            return files

        remote: dict[str, AgentRow] = {row.case: row for row in all_rows(cases, attempt)}
        fetched = fetched_where_bits_differ(known.host, known.reference, remote, fetch, Deadline.after(RUN_S))
        all_known = evidence(known.reference, remote, fetched)
        judged = {result.case: result for result in results(cases, all_known)}
        return Verdict(judged, findings(cases, all_known), all_known, told)

    def _once(
        self,
        lies: str,
        cases: Sequence[str],
        words: Iterable[str],
        told: Told,
        *,
        on_row: Callable[[str], object] = lambda _line: None,
    ) -> AgentStream:
        listed = self.folder / "cases"
        listed.write_text("\n".join(cases), encoding="utf-8")
        program = (
            "/usr/bin/python3", "tests/liar/through_loopback.py", "--host-library", str(self.payloads.host_library),
            "--ggml-library", str(self.payloads.liar), "--seed", str(SEED), "--cases", str(listed), *words,
        )  # fmt: skip
        stream = AgentStream()
        with tempfile.NamedTemporaryFile("r", dir=self.folder, encoding="utf-8", errors="replace") as log:
            argv = self.enter(program, self.folder, {**PYTHON_WORDS, **self.liar(lies)})
            stream.cut = ended(argv, Path(log.name), CASE_S if lies.startswith("hang") else RUN_S)
            lines = log.readlines()
        for line in lines:
            stream.feed(line)
            if line.startswith('{"case"'):
                on_row(line)
                row = json.loads(line)
                told.memory.take(row["case"], row["private_kib"])
        told.said += stream.remarks
        return stream


def ended(argv: Sequence[str], log: Path, limit_s: float) -> Cut | None:
    """Run a program that has the host library in its own process; how it ended before its end, if it did."""
    try:
        status = finish(argv, deadline=Deadline.after(limit_s), log=log).exit_status
    except WaitTimeout:
        return Cut(Outcome.HANG, f"it did not end within {limit_s:g} s")
    if status > SIGNALLED:
        return Cut(Outcome.HOST_CRASH, f"it was ended by signal {status - SIGNALLED}")
    return Cut(Outcome.ERROR, f"status {status}") if status else None
