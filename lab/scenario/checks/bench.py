"""The transport benchmark: programs of ours in the guest and on the host, asked in turns, and what comes of it.

Every row goes to ``bench.jsonl`` among the variant's logs as it comes; with every phase, at the end, and when the run is cut off,
all rows so far become ``bench.json``.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab.bench import idleness, standard
from lab.bench.answer import Answer, answered
from lab.bench.figures import Rows
from lab.bench.plan import Phase, plan_text
from lab.bench.standard import ECHO, FULL, OURS, QUICK, Effort, Programs
from lab.bench.targets import Verdict, judged
from lab.bundle.outcome import Blame, Finding, FindingKind
from lab.bundle.schema import BENCH, BenchRecord, PayloadRecord, TargetRecord
from lab.bundle.writer import CheckWriter, write_whole
from lab.deadline import Deadline
from lab.errors import LabError
from lab.figure import beside, four_figures
from lab.guest.agent import turns
from lab.host.outside import outside, seen_at
from lab.host.root import Bind
from lab.host.shaders import shader_binds
from lab.ops.said import Kinds, event_in, fits
from lab.ops.upstream import PYTHON, guest_command
from lab.process import finish
from lab.scenario.checks.bench_digests import tell_digests
from lab.scenario.checks.bench_idle import HOSTS, IdleWatch
from lab.scenario.environment import BACKEND_PATH, GUEST_CALL_LOG, HOST_CALL_LOG, device_variables
from lab.scenario.model_bench import BenchCheck, Place, Thoroughness
from lab.scenario.shipment import GUEST_FOLDER, Payload
from lab.scenario.stage import Stage

PROGRAM = "apir-bench"
ECHO_LIBRARY = "libapir-bench-host.so"
FOLDER = f"{GUEST_FOLDER}/bench"
"""Not where the guest library is: ggml looks for backends beside the program, too."""
GATE = f"{FOLDER}/gate"
OTHER_LIBRARY = f"{FOLDER}/other/libggml-virtgpu.so"
LOOPBACK_CALLS = "/tmp/bench-calls"
"""Call records of a loopback: within the host root, and gone with what runs there."""
REGISTRY = "ggml-virtgpu"
ROWS = "bench.jsonl"
ROW_KINDS: tuple[Kinds, ...] = ({"event": str}, {"phase": str, "subject": str, "name": str})
"""What a row of the driver has: an event, or a measurement's place."""
OPEN_S = 30.0
LABS_OWN = (standard.FLOORS, standard.NATIVE, idleness.ALONE)
"""How failures begin of programs that nothing under test has a part in."""
BUSY_LOAD = 0.5
"""Load per core, before anything was measured, from which figures are worth little."""
LIBRARY_SAYS = "ggml-virtgpu: "
"""What guest libraries begin their messages with: by default those of what failed, and of what they do without."""
ABSENT = "backend not available"
"""What our library says where a program finds it and no device, such as in a loopback."""
MOST_SAID = 8
"""Messages of libraries that are passed on."""


@dataclass(slots=True)
class Bench:
    """A benchmark as far as it got."""

    stage: Stage
    check: BenchCheck
    rows: list[dict[str, Any]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    load_before: float = field(default_factory=lambda: os.getloadavg()[0])
    libraries: tuple[PayloadRecord, ...] = ()
    note: Callable[[str], None] = lambda _: None
    _told: set[str] = field(default_factory=set)
    _watch: IdleWatch | None = None
    _used: dict[str, int] = field(default_factory=dict)
    _phase: str = ""

    @property
    def tools(self) -> Path:
        """Folder of the native products on the host."""
        if self.stage.ingredients.tools is None:
            raise LabError("the benchmark's programs were not built")
        return self.stage.ingredients.tools

    @property
    def effort(self) -> Effort:
        """What the file asks for."""
        effort = QUICK if self.check.effort is Thoroughness.QUICK else FULL
        return replace(effort, idle_s=self.check.idle_s) if self.check.idle_s else effort

    def take(self, row: dict[str, Any]) -> None:
        """A row has come: keep it, on disk first."""
        with open(self.stage.logs / ROWS, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        self.rows.append(row)
        self.tell_unstarted(row)
        phase = row.get("phase", self._phase)
        if phase != self._phase:
            self._phase = phase
            self.keep()

    def tell_unstarted(self, row: dict[str, Any]) -> None:
        """Who could not be started is told at once, for a full run goes on for a quarter of an hour without it."""
        if row.get("event") == "started" and "error" in row and (subject := str(row.get("subject"))) not in self._told:
            self._told.add(subject)
            self.note(f"warning: {subject} could not be started and is left out: {row['error']}")

    def keep(self) -> BenchRecord:
        """What all rows so far say, on disk."""
        record = self.record()
        write_whole(self.stage.logs / BENCH, record.model_dump_json(indent=1) + "\n")
        return record

    def loopback_phases(self) -> tuple[Phase, ...]:
        """The phases of a loopback."""
        shipped, program = self.stage.ingredients.shipment, str(self.tools / PROGRAM)
        library = (program, "loopback", shipped.host_library.inside, shipped.ggml_library.inside, "1")
        programs = Programs(library, calls=LOOPBACK_CALLS)
        return self.asked(standard.loopback_phases(programs, (program, "registry", "CPU", "1"), self.effort))

    def loopback(self, phases: Sequence[Phase], deadline: Deadline) -> None:
        """Measure with guest and host library in one process, in the host root."""
        shipped, logs = self.stage.ingredients.shipment, self.stage.logs
        plan, rows, script = logs / "bench-loopback.json", logs / "bench-loopback.jsonl", Path(turns.__file__)
        plan.write_text(plan_text(phases), encoding="utf-8")
        root = self.stage.ingredients.root
        host = [shipped.host_library.path] if shipped.host_library.of_machine else []
        more = outside(host, root, ggml=shipped.ggml_library.path if shipped.ggml_library.of_machine else None).binds
        variables = device_variables(self.stage.variant.scenario, self.stage.host_variables)
        binds = dict.fromkeys((Bind(self.tools), Bind(script.parent), *more, Bind(logs, writable=True), *shader_binds(variables)))
        argv = root.enter(("/usr/bin/python3", script, plan, rows), binds=tuple(binds), env={"HOME": "/tmp", **variables})
        try:
            done = finish(argv, deadline=deadline)
        finally:
            for row in read_rows(rows):
                self.take(row)
            rows.unlink(missing_ok=True)
        if done.exit_status != 0:
            raise LabError(f"the loopback benchmark ended with status {done.exit_status}: {done.output[-500:]}")

    def vm(self, deadline: Deadline) -> None:
        """Measure in the guest."""
        shell = self.stage.guest.ssh
        plan = self.stage.logs / "bench-vm.json"
        plan.write_text(plan_text(self.vm_phases(), GATE), encoding="utf-8")
        shell.execute(f"mkdir -p {FOLDER}/other && rm -f {GATE} && mkfifo {GATE}", deadline)
        shell.put(self.tools / PROGRAM, f"{FOLDER}/{PROGRAM}")
        shell.put(Path(turns.__file__), f"{FOLDER}/turns.py")
        shell.put(plan, f"{FOLDER}/plan.json")
        if self.check.guest_library:
            shell.put(Path(self.check.guest_library), OTHER_LIBRARY)
        command = guest_command((*PYTHON, f"{FOLDER}/turns.py", f"{FOLDER}/plan.json"), self.guest_variables)
        with contextlib.ExitStack() as libraries:
            status = shell.stream(command, lambda line: self.on_line(line, libraries), deadline)
        if status != 0:
            raise LabError(f"the benchmark's driver in the guest ended with status {status}: {' / '.join(self.said[-3:])}")

    @property
    def guest_variables(self) -> dict[str, str]:
        """What programs in the guest are given: no folder for call records. Those that are counted have one of their own."""
        return {name: value for name, value in self.stage.guest_variables.items() if name != GUEST_CALL_LOG}

    def vm_phases(self) -> tuple[Phase, ...]:
        """The phases of a guest."""
        other = None
        if self.check.guest_library or self.check.host_library:
            other = {BACKEND_PATH: OTHER_LIBRARY} if self.check.guest_library else {}
        program = f"{FOLDER}/{PROGRAM}"
        programs = Programs((program, "registry", REGISTRY), (program, "floors"), {}, f"{FOLDER}/calls", other)
        return self.asked(standard.vm_phases(programs, self.effort))

    def asked(self, phases: Sequence[Phase]) -> tuple[Phase, ...]:
        """The phases that are among the parts asked for."""
        return tuple(phase for phase in phases if phase.name.split()[0] in self.check.parts)

    def on_line(self, line: str, libraries: contextlib.ExitStack) -> None:
        """What the driver in the guest says. An event that it waits behind is answered at its FIFO."""
        row = event_in(line)
        if not any(fits(row, kinds) for kinds in ROW_KINDS):
            self.said.append(line.strip())
            return
        match row.get("event"):
            case "gate":
                libraries.close()
                libraries.enter_context(self.host_library(str(row.get("host"))))
                self.open_gate()
            case "begins":
                self._watch = IdleWatch(self.stage.guest)
                self._watch.begin(self.open_gate)
            case "ends":
                self._used = {} if self._watch is None else self._watch.end()
                self._watch = None
                self.open_gate()
            case None if row.get("name") in (idleness.IDLE, idleness.IDLE_TURN):
                self.take({key: value for key, value in row.items() if key not in HOSTS} | self._used)
            case _:
                self.take(row)

    def open_gate(self) -> None:
        """Let the driver go on."""
        self.stage.guest.ssh.execute(f"timeout {OPEN_S:.0f} sh -c 'echo > {GATE}'", Deadline.after(2 * OPEN_S))

    @contextlib.contextmanager
    def host_library(self, name: str) -> Iterator[None]:
        """For as long as the context lasts, new contexts of the guest get this host library."""
        ours = self.stage.ingredients.shipment.host_library.inside
        theirs = seen_at(Path(self.check.host_library)) if self.check.host_library else ours
        path = {OURS: ours, ECHO: str(self.tools / ECHO_LIBRARY)}.get(name, theirs)
        if self.stage.switches is None:
            raise LabError("the boot has no switch for the host library")
        with self.stage.switches.set_to({"host": path}):
            yield

    def record(self) -> BenchRecord:
        """What all rows so far say."""
        cores = os.cpu_count() or 1
        answer = answered(Rows(self.rows), cores)
        return BenchRecord(
            answer=answer,
            targets=tuple(target_record(verdict) for verdict in judged(answer)),
            tokens=tuple(answer["tokens"]),
            load_before=self.load_before,
            load_after=os.getloadavg()[0],
            cores=cores,
            wall_s=round(time.monotonic() - self.started, 1),
            warnings=(*self.warnings(), *unsent_by_second(answer)),
            libraries=self.libraries,
        )

    def warnings(self) -> Iterator[str]:
        """What a reader of the figures must know."""
        cores = os.cpu_count() or 1
        if self.load_before / cores > BUSY_LOAD:
            yield f"the machine was busy: load {self.load_before:.1f} on {cores} cores before anything was measured"
        if Place.VM in self.check.places and HOST_CALL_LOG in self.stage.host_variables:
            key = f"host.environment.{HOST_CALL_LOG} = false"
            yield f"the host recorded calls while they were timed, which takes time itself: {key} in the scenario leaves that away"
        if Place.VM in self.check.places and self.stage.guest.main_thread_first is False:
            yield (
                "QEMU's main thread could not be put before the virtual processors (it takes CAP_SYS_NICE, or `ulimit -e 30`): "
                "what QEMU carries is slower, most of all the calls of several threads by EXECBUFFER"
            )
        rows = Rows(self.rows)
        if uncounted := rows.uncounted():
            yield f"no call records were found of {', '.join(uncounted)}: their commands and bytes are not counted"
        yield from rows.failures
        yield from messages(self.rows)


def check_bench(
    stage: Stage, check: BenchCheck, writer: CheckWriter, deadline: Deadline, note: Callable[[str], None] = lambda _: None
) -> int:
    """Measure, write down everything, and say what is wrong; how many facts there are. ``note`` is told what cannot wait.

    Raises:
        LabError: it was cut off; the rows until then are written down all the same.
        BuildError: a second library is no ELF file.
    """
    bench, limit = Bench(stage, check, libraries=second_libraries(check), note=note), deadline.narrowed(check.deadline_s)
    try:
        if Place.LOOPBACK in check.places:
            bench.loopback(bench.loopback_phases(), limit)
        if Place.VM in check.places:
            bench.vm(limit)
    finally:
        record = bench.keep()
    return told(bench, record, writer)


def messages(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What guest libraries said while they were measured, each message once, with who said it."""
    said: dict[str, list[str]] = {}
    for row in rows:
        if row.get("event") != "said":
            continue
        for line in str(row.get("text")).splitlines():
            _, prefix, text = line.partition(LIBRARY_SAYS)
            if prefix and not text.startswith(ABSENT):
                said.setdefault(text, []).append(str(row.get("subject")))
    for text, subjects in list(said.items())[:MOST_SAID]:
        yield f"{', '.join(dict.fromkeys(subjects))} said: {LIBRARY_SAYS}{text}"


def second_libraries(check: BenchCheck) -> tuple[PayloadRecord, ...]:
    """What a second implementation is made of, by what identifies it. Raises ``BuildError`` for what is no ELF file."""
    named = (("second guest library", check.guest_library), ("second host library", check.host_library))
    return tuple(Payload.of(role, Path(path)).record for role, path in named if path)


def told(bench: Bench, record: BenchRecord, writer: CheckWriter) -> int:
    """Write targets down as facts, and findings: what broke, what differs, and, where it is asked for, what is too slow.

    What was measured counts as something that was checked, whether there is a target for it or not.
    """
    rows = Rows(bench.rows)
    facts = rows.measurements
    for one in record.targets:
        if one.met is not None:
            facts += 1
            writer.fact(one.label, one.expected, one.seen_text, ok=one.met, enforced=bench.check.enforce)
            if bench.check.enforce and not one.met:
                text = f"{one.label}: expected {one.expected}, measured {one.seen_text}"
                writer.finding(Finding(FindingKind.TOO_SLOW, Blame.PRODUCT, text))
    for text in unmeasured(bench, record.answer) if bench.check.enforce else ():
        writer.finding(Finding(FindingKind.NO_CALLS, Blame.LAB, text))
    for failure in rows.failures:
        blame = Blame.LAB if failure.startswith(LABS_OWN) else Blame.PRODUCT
        writer.finding(Finding(FindingKind.PROGRAM_FAILED, blame, failure))
    for text in untravelled(record.answer):
        writer.finding(Finding(FindingKind.NO_CALLS, Blame.LAB, text))
    return facts + tell_digests(rows, record.tokens, writer, same_host=not bench.check.host_library)


def unmeasured(bench: Bench, answer: Answer) -> Iterator[str]:
    """Targets that were to be measured here and were not: nobody knows whether they are met."""
    for verdict in judged(answer):
        target, check = verdict.target, bench.check
        asked = target.part in check.parts and target.place in check.places and target.size <= bench.effort.largest
        if asked and verdict.met is None and not verdict.too_short:
            yield f"{target.label}: not measured, so it is not known to be met"


def untravelled(answer: Answer) -> Iterator[str]:
    """What was timed and, by the call records, is not what its name says: the figures would be of something else."""
    for way in (standard.LOOPBACK, *standard.WAYS):
        figures = answer.get(way, {})
        if figures and "empty_call_us" not in figures and "set_4b_us" in figures:
            yield f"{way}: no call of those that were timed as empty ones sends exactly one command"
        sent = figures.get("sent", {}).get("copied", {})
        if figures.get("left_out"):
            yield f"{way}: empty sends {sent['empty']['commands']:g} commands, so {', '.join(figures['left_out'])} are left out"
        for name in ("set_4b", "get_4b", "graph_1"):
            if name in sent and sent[name]["commands"] > 1:
                yield f"{way}: {name} sends {sent[name]['commands']:g} commands"
        for name in ("set_4b_sent", "graph_1", "graph_1000"):
            if name in sent and sent[name]["commands"] < 1:
                yield f"{way}: {name} sends {sent[name]['commands']:g} commands, less than one a round"


def unsent_by_second(answer: Answer) -> Iterator[str]:
    """What is not told of a second implementation, because it answers without asking the host, or asks more than once."""
    theirs = answer.get(standard.OTHER, {})
    if left_out := theirs.get("left_out"):
        seen = "is over sooner than a polled word could be seen, so nothing is sent"
        how = "does not send one command" if "sent" in theirs else seen
        yield f"{standard.OTHER}: what asks for the device's memory {how}: {', '.join(left_out)} are left out"


def target_record(verdict: Verdict) -> TargetRecord:
    """A verdict for the bundle."""
    target = verdict.target
    sign = "≥" if target.at_least else "≤"
    unit = f" {target.unit}" if target.unit else ""
    of_floor = f"{target.limit:g} times {target.floor_name}" if target.floor else ""
    if of_floor and target.or_limit is not None:
        of_floor = f"the greater of {target.or_limit:g}{unit} and {of_floor}"
    bound = f"{sign} {of_floor or f'{target.limit:g}{unit}'}"
    seen = "not measured" if verdict.seen is None else f"{four_figures(verdict.seen)}{unit}"
    if verdict.bound is not None and verdict.seen is not None:
        bound = f"{sign} {beside(verdict.bound, verdict.seen)}{unit}" + (f" ({of_floor})" if of_floor else "")
        seen = f"{beside(verdict.seen, verdict.bound)}{unit}"
    seen += f", {four_figures(verdict.quietest)} when quietest" if verdict.quietest is not None else ""
    if verdict.too_short and verdict.seen is not None:
        seen += f" in less than {target.least_s:.0f} s"
    if verdict.out_of_reach and verdict.best is not None:
        bound += f"; out of a guest library's reach here: {four_figures(verdict.best)}{unit} by {verdict.need}"
    return TargetRecord(
        label=target.label, expected=bound, seen=verdict.seen, seen_text=seen, bound=verdict.bound, met=verdict.met,
        out_of_reach=verdict.out_of_reach,
    )  # fmt: skip


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Complete rows of a file, which need not be there."""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            yield json.loads(line)
