"""``lab ops --case ID``: a case again from its id alone, in one process with no guest, and what each oracle says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.table import Table
from rich.text import Text

from lab import paths
from lab.bundle.outcome import Blame, CaseResult, Outcome
from lab.cli.answer import answer_console, answering, print_json
from lab.cli.display import progress_display
from lab.deadline import Deadline
from lab.errors import ConfigError, ConfigProblem, LabError
from lab.ggml.generation import backends_folder
from lab.host.allowance import processor_count
from lab.host.native import native_payloads
from lab.host.outside import outside
from lab.host.progress import Progress
from lab.host.root import Bind, host_root
from lab.host.shaders import shader_binds
from lab.ops.agent_rows import LOST, AgentRow, in_order
from lab.ops.native import PYTHON, PYTHON_WORDS, ROW_START, Files, Judged, NativeRun, rows_of
from lab.ops.session import OTHER_THREADS
from lab.ops.verdict import Evidence, result_of
from lab.process import finish
from lab.scenario.environment import vulkan_here
from lab.scenario.machine import other_cpu_library
from lab.scenario.shipment import ggml_library, require_loadable
from lab.temporary import temporary_folder
from lab.visible import visible

SETUP_S = 1800.0
RUN_S = 300.0
LIBRARY_OPTION = "--library"
SEED_OPTION = "--seed"
STYLES = {Outcome.PASS: "green", Outcome.UNSUPPORTED: "dim"}


def require_cases(given: Mapping[str, object]) -> None:
    """Refuse options that say how cases are computed where none is. Raises ``ConfigError`` for all that are given."""
    hint = "name a case with --case ID, or leave it out"
    problems = [
        ConfigProblem(option, "says how a case is computed, and none is", hint) for option in given if given[option] is not None
    ]
    if problems:
        raise ConfigError("lab ops", problems)


def answer_cases(cases: Sequence[str], seed: int, library: str, *, as_json: bool) -> NoReturn:
    """Compute the cases, tell what came of them, and exit: 0 when all are as they must be, else by whose fault that is (1 or 2)."""
    status = 0
    with answering(as_json=as_json, empty={"results": []}):
        with progress_display() as progress:
            told = computed_again(cases, seed, library, progress)
        blamed = {one.result.outcome.blame for one in told}
        status = 1 if Blame.PRODUCT in blamed else 2 if Blame.LAB in blamed else 0
        if as_json:
            print_json({"results": [one.as_json() for one in told], "exit": status})
        else:
            tell_cases(told)
    raise typer.Exit(status)


class CaseAgain:
    """A case that was computed again: the verdict, both rows, and what the oracles said of the result."""

    def __init__(self, result: CaseResult, native: AgentRow | None, judged: Judged | None) -> None:
        self.result, self.native, self.judged = result, native, judged

    def lines(self) -> tuple[tuple[str, str], ...]:
        """What each oracle says, in a line."""
        native, remote = self.native.digest if self.native else "no row", self.result.digest
        same = f"the same bits ({native})" if native == remote else f"{remote or 'none'} for {native or 'none'}"
        same = same if native or remote else "nothing was computed"
        judged = self.judged or Judged(None, "not judged", None, "not judged")
        return (
            ("transparency", same),
            ("another build", judged.against or "nothing to compare with"),
            ("golden", judged.golden or "none"),
        )

    def as_json(self) -> dict[str, Any]:
        """For the line of JSON."""
        return {
            "case": self.result.case,
            "outcome": self.result.outcome,
            "message": self.result.message,
            "digest": self.result.digest,
            **{name.replace(" ", "_"): text for name, text in self.lines()},
        }


def computed_again(cases: Sequence[str], seed: int, choice: str, progress: Progress) -> tuple[CaseAgain, ...]:
    """Compute cases through our host library, in one process, and natively with the same and another library.

    Raises:
        LabError: an id is none, or a library cannot be used.
    """
    cases, deadline = in_order(tuple(dict.fromkeys(cases))), Deadline.after(SETUP_S)
    root = host_root(progress, deadline)
    native = native_payloads(root, progress, deadline)
    own = ggml_library(choice, root, deadline, named_by=LIBRARY_OPTION)
    if own.of_machine:
        require_loadable([(LIBRARY_OPTION, own.path)], root, "lab ops", ggml=own)
    more = outside((), root, ggml=own.path).binds if own.of_machine else ()
    binds = tuple(dict.fromkeys((Bind(paths.PROJECT), Bind(native.folder), *more)))

    def enter(argv: Sequence[str], folder: Path, env: Mapping[str, str]) -> Sequence[str]:
        return root.enter(argv, binds=(*binds, Bind(folder, writable=True), *shader_binds(env)), env=env, cwd=paths.PROJECT)

    with temporary_folder("cases") as folder, progress.step(f"computing {len(cases)} cases"):
        limit, threads = Deadline.after(RUN_S), processor_count()
        run = NativeRun(enter, folder, seed, vulkan_here(choice, root))
        reference = run.compute(own.inside, cases, "own", limit, threads=threads)
        other = run.compute(other_cpu_library(own.inside, backends_folder(root.path)), cases, "other", limit, threads=OTHER_THREADS)
        files = Files(folder / "remote.rows", folder / "remote.values")
        words = ("--host-library", str(native.host_library), "--ggml-library", own.inside, "--threads", str(threads))
        program = (PYTHON, "-m", "lab.ops.loopback", *words, "--seed", str(seed), "--values", str(files.values), *cases)
        done = finish(enter(program, folder, {**PYTHON_WORDS, **run.environment}), deadline=limit)
        if done.exit_status:
            raise LabError(f"the host library did not get through it: {done.output[-2000:]}")
        rows = "".join(line for line in done.output.splitlines(keepends=True) if line.startswith(ROW_START))
        files.rows.write_text(rows, encoding="utf-8")
        judged = run.judge(files, limit, other.files)
        evidence = Evidence(reference.device.registry, reference.rows, rows_of(files.rows), judged, judged)
        return tuple(case_again(case, evidence) for case in cases)


def case_again(case: str, evidence: Evidence) -> CaseAgain:
    """What came of a case; one that the program did not tell of is lost, whatever its exit status said."""
    untold = AgentRow(case, LOST, text="the program told nothing of this case", lost_as=Outcome.ERROR)
    result = result_of(evidence.remote.get(case, untold), evidence)
    return CaseAgain(result, evidence.native.get(case), evidence.judged.get(case))


def tell_cases(told: Sequence[CaseAgain]) -> None:
    """Every case with a line for each oracle."""
    console = answer_console()
    for one in told:
        console.print(Text.assemble((one.result.outcome, STYLES.get(one.result.outcome, "red")), f" {one.result.case}"))
        table = Table(box=None, show_header=False, padding=(0, 1, 0, 2))
        for name, text in one.lines():
            table.add_row(Text(name, style="dim"), Text(visible(text)))
        console.print(table)
        if one.result.message:
            console.print(Text(f"  {visible(one.result.message)}"))
