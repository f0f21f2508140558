"""The distribution's own ``test-backend-ops``, run in a guest, row by row.

What has to be known of it (each seen with libggml 0.27):

* It exits 0 when nothing was tested: no case chosen, no device of the name given with ``-b``, everything unsupported.
  So rows are counted here, never exit statuses.
* Devices of type CPU are skipped unless ``-b`` names them, and the reference is the registry's first device of type CPU,
  whatever that is. Which one it is, is proved beforehand by listing the registry (``refused_devices``).
* Rows come when a case has ended. A crash names no case: the first expected case without a row is the one.
* Without a terminal its output is held back: ``stdbuf -oL`` makes rows arrive as they happen.
* Rows repeat with the same text: a case's id is its text and its occurrence. ``test`` and ``support`` mode give different
  numbers of rows, so the list of expected cases comes from a ``test`` run.
* A row of an unsupported case names a device once for every tensor that it refuses: ``"X, X, CPU"``. ``test`` asks the device and
  then the reference, and one that refuses is enough: such a case is neither passed nor failed, whoever refuses it.
* With ``-j`` rows come in another order, each whole; error numbers may stand in front of another thread's row.
* Error numbers are printed without a newline in front of the row they belong to.
"""

from __future__ import annotations

import re
import shlex
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from lab.bundle.outcome import REFERENCE_REFUSES, Blame, CaseResult, Finding, FindingKind, Outcome
from lab.errors import LabError, indented_tail
from lab.ggml.registry import Device
from lab.ops.said import LONGEST_LINE, note, pid_in
from lab.ops.upstream_rows import csv_fields

PROGRAM = "/usr/libexec/x86_64-linux-gnu/ggml/test-backend-ops"
REGISTRY = "ggml-virtgpu"
NAME_PREFIX = "[virtgpu] "
REFERENCE_REGISTRY = "CPU"
CPU_DEVICE = "CPU"
"""Name of ggml-cpu's one device, which is the reference where nothing else is preloaded."""
SEPARATOR = ", "

HEADER = ("backend_name", "op_name", "op_params", "test_mode", "supported", "error_message", "backend_reg_name")

OP_TAG = re.compile(r"\[(?P<op>[A-Z0-9_]+)\] ")
"""What opens an error number: the operation it is of."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which cases: operations by exact name, and regular expressions one of which the parameters must begin with."""

    ops: tuple[str, ...]
    patterns: tuple[str, ...] = ()

    def arguments(self) -> tuple[str, ...]:
        """The program's options for it. One ``-p`` filters all operations, so the patterns become one, anchored."""
        chosen = ("-o", ",".join(self.ops))
        return (*chosen, "-p", f"^({'|'.join(self.patterns)})") if self.patterns else chosen


def program_argv(device: str, selection: Selection, jobs: int = 1) -> tuple[str, ...]:
    """Command that tests ``device``, ``jobs`` cases at a time, and prints each row when its case has ended."""
    threads = ("-j", str(jobs)) if jobs > 1 else ()
    return ("stdbuf", "-oL", PROGRAM, "test", "-b", device, "--output", "csv", *threads, *selection.arguments())


PYTHON = ("python3", "-I", "-S")
"""A guest's, without what a site adds to it: our programs need the standard library alone, and start sooner."""


def guest_command(argv: Sequence[str], environment: Mapping[str, str]) -> str:
    """Shell line for the guest: prints ``pid N``, then the program's two outputs as one stream.

    The outer shell stays, so that a death by signal n arrives as status 128 + n: SSH itself tells no number for it.
    """
    variables = [f"{name}={value}" for name, value in sorted(environment.items())]
    return f"""sh -c 'echo "pid $$"; exec "$@" 2>&1' sh {shlex.join(("env", *variables, *argv))}; exit $?"""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the program's csv output; ``before`` is what stood in front of it."""

    backend: str
    op: str
    params: str
    supported: bool
    error: str
    before: str = ""

    @property
    def text(self) -> str:
        """The case as the program itself writes it: ``OP(params)``."""
        return f"{self.op}({self.params})"

    @property
    def outcome(self) -> Outcome:
        """What the row says. A combination that was never seen is a failure, not a pass."""
        if self.supported:
            return Outcome.PASS if not self.error else Outcome.FAIL
        return Outcome.UNSUPPORTED if self.error == "not supported" else Outcome.FAIL


def parse_row(line: str) -> Row | None:
    """The row in a line of output; None for the header and anything else."""
    found = csv_fields(line)
    if found is None:
        return None
    before, (backend, op, params, mode, supported, error, _registry) = found
    if mode != "test":
        return None
    return Row(backend, op, params, supported == "1", error, before)


@dataclass(slots=True)
class OccurrenceCounter:
    """Gives repeated texts different ids: ``ADD(…)``, then ``ADD(…)#2`` and so on."""

    _seen: Counter[str] = field(default_factory=Counter)

    def case_id(self, text: str) -> str:
        """Id of the next case of that text."""
        self._seen[text] += 1
        return text if self._seen[text] == 1 else f"{text}#{self._seen[text]}"


@dataclass(frozen=True, slots=True)
class ExpectedCases:
    """The cases that a selection stands for, in the program's order, and those of them that a CPU device does not support."""

    ids: tuple[str, ...]
    unsupported: frozenset[str] = frozenset()


def expected_cases(lines: Sequence[str], status: int) -> ExpectedCases:
    """All cases in the output of a ``test`` run on a CPU device that ended with the status.

    Raises:
        LabError: it may have ended before its last case.
    """
    counter = OccurrenceCounter()
    rows = [row for row in map(parse_row, lines) if row is not None]
    require_whole(lines, status, 1 if any(row.outcome is Outcome.FAIL for row in rows) else 0)
    cases = [(counter.case_id(row.text), row.supported) for row in rows]
    return ExpectedCases(tuple(case for case, _ in cases), frozenset(case for case, supported in cases if not supported))


def require_whole(lines: Sequence[str], status: int, wanted: int = 0) -> None:
    """Refuse a list of cases whose program did not end as one does that came to its last case. Raises ``LabError``."""
    if status != wanted:
        text = f"test-backend-ops ended with status {status} while it listed its cases, so the list may have broken off"
        raise LabError(
            text + indented_tail("\n".join(lines)), hint="run it again, with more guest.memory_mib if it was killed (137)"
        )


def op_of(case: str) -> str:
    """The operation's name in a case id."""
    return case.partition("(")[0]


@dataclass(slots=True)
class RowStream:
    """Turns lines into case results as they come, and remembers what a verdict needs.

    Args:
        device: name that every row must carry, unless the reference alone refuses its case.
        on_result: called with each result at once.
        clock: monotonic seconds.
        reference: name of what is compared with.
    """

    device: str
    on_result: Callable[[CaseResult], None]
    clock: Callable[[], float] = time.monotonic
    reference: str = CPU_DEVICE
    pid: int | None = None
    results: list[CaseResult] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    _counter: OccurrenceCounter = field(default_factory=OccurrenceCounter)
    _last: float | None = None

    def feed(self, line: str) -> None:
        """Take one line of the program's output."""
        now = self.clock()
        since = 0.0 if self._last is None else now - self._last
        row = parse_row(line) if len(line) <= LONGEST_LINE else None
        if row is None:
            self._note(line)
            self._last = now if self._last is None else self._last
            return
        self._last = now
        teller = teller_of(row.backend, row.outcome, self.device, self.reference)
        if teller is Teller.OTHER:
            self.foreign.append(row.backend)
            return
        said = row.before
        if (tag := OP_TAG.match(said)) and tag["op"] != row.op:
            note(self.remarks, said)
            said = ""
        message = " ".join(part for part in (said, row.error) if part)
        message = REFERENCE_REFUSES if teller is Teller.REFERENCE else message
        result = CaseResult(self._counter.case_id(row.text), row.op, row.params, row.outcome, message, round(since * 1000, 3))
        self.results.append(result)
        self.on_result(result)

    def _note(self, line: str) -> None:
        if self.pid is None and (pid := pid_in(line)) is not None:
            self.pid = pid
        elif line.strip() and not line.startswith('"backend_name"'):
            note(self.remarks, line)


class Teller(Enum):
    """Whom a row's first field names: the device, and after it perhaps the reference; the reference alone; any other."""

    DEVICE = auto()
    REFERENCE = auto()
    OTHER = auto()


def teller_of(backend: str, outcome: Outcome, device: str, reference: str) -> Teller:
    """Whom a row names, by its first field. The reference has a say in nothing but what is unsupported."""
    by_device, by_reference = named(backend, device, reference)
    if by_reference and outcome is not Outcome.UNSUPPORTED:
        return Teller.OTHER
    return Teller.DEVICE if by_device else Teller.REFERENCE if by_reference else Teller.OTHER


def named(backend: str, *names: str) -> tuple[int, ...]:
    """How often a row's first field has each of the names, all of one before the next; never, where it has anything else."""
    left, at, counts = f"{backend}{SEPARATOR}", 0, list[int]()
    for name in names:
        before, word = at, f"{name}{SEPARATOR}"
        while left.startswith(word, at):
            at += len(word)
        counts.append((at - before) // len(word))
    return tuple(counts) if at == len(left) else (0,) * len(names)


def refused_devices(devices: Sequence[Device]) -> tuple[Finding, ...]:
    """Why this registry cannot be trusted for a comparison; empty when it can.

    There must be a device of ours, and the reference that the program will choose (the first device of type CPU) must be
    the guest's own CPU backend and not ours under another name.
    """
    listed = ", ".join(f"{device.index}: {device.registry} {device.name!r} {device.type}" for device in devices) or "none"
    if remote_device(devices) is None:
        text = f"no device of registry {REGISTRY} in the guest; its devices: {listed}"
        return (Finding(FindingKind.NO_SUCH_DEVICE, Blame.PRODUCT, text),)
    reference = reference_device(devices)
    if reference is None:
        return (Finding(FindingKind.WRONG_REFERENCE, Blame.LAB, f"no device of type CPU to compare with; devices: {listed}"),)
    if reference.registry != REFERENCE_REGISTRY or reference.name.startswith(NAME_PREFIX):
        text = (
            f"test-backend-ops would compare with {reference.name!r} of registry {reference.registry}, "
            f"not with the guest's own CPU backend; devices: {listed}"
        )
        return (Finding(FindingKind.WRONG_REFERENCE, Blame.PRODUCT, text),)
    return ()


def remote_device(devices: Sequence[Device]) -> Device | None:
    """The first device of our registry."""
    return next((device for device in devices if device.registry == REGISTRY), None)


def reference_device(devices: Sequence[Device]) -> Device | None:
    """The device that ``test-backend-ops`` compares with: the first of type CPU."""
    return next((device for device in devices if device.type == "CPU"), None)


@dataclass(frozen=True, slots=True)
class Ending:
    """How the program ended: its status (None: it did not end by itself), or what cut it off, and whose fault that is."""

    exit_status: int | None
    cut_off: Outcome | None = None
    why: str = ""
    blame: Blame | None = None


def judge(
    stream: RowStream,
    ending: Ending,
    expected: Sequence[str],
    *,
    selection: Selection,
    min_cases: int,
) -> tuple[Finding, ...]:
    """Everything wrong with a run of ``test-backend-ops``, besides what its results say themselves."""
    results = stream.results
    findings = [*judge_process(stream, ending, expected), *_judge_membership(results, ending, expected)]
    if not results and ending.cut_off is None:
        text = f"test-backend-ops ended with status {ending.exit_status} and tested nothing on {stream.device!r}"
        findings.append(Finding(FindingKind.NO_CASES, Blame.PRODUCT, text))
    elif results and all(result.outcome is Outcome.UNSUPPORTED for result in results):
        findings.append(Finding(FindingKind.ALL_UNSUPPORTED, Blame.PRODUCT, f"all of {len(results)} cases are unsupported"))
    if ending.cut_off is None and results:
        findings += _judge_breadth(results, selection, min_cases)
    findings += _judge_failures(results)
    return tuple(findings)


def judge_process(stream: RowStream, ending: Ending, expected: Sequence[str]) -> Iterable[Finding]:
    """What is wrong with a process whatever it was to run: how it ended, and rows that are another device's."""
    yield from _judge_ending(stream, ending, expected)
    if stream.foreign:
        text = f"{len(stream.foreign)} rows are of device {stream.foreign[0]!r}, not of {stream.device!r}"
        yield Finding(FindingKind.NO_SUCH_DEVICE, Blame.PRODUCT, text)


def first_harmed(results: Sequence[CaseResult], expected: ExpectedCases) -> CaseResult | None:
    """The first result that a lost worker can have caused: a failure, or a lack of support that the CPU does not have."""
    return next((one for one in results if one.outcome is Outcome.FAIL or lost_support(one, expected.unsupported)), None)


def lost_support(result: CaseResult, refused: Collection[str]) -> bool:
    """Whether the device refuses a case that is none of those which another device refuses, too."""
    return result.refused and result.case not in refused


def first_without_result(results: Sequence[CaseResult], expected: Sequence[str]) -> str | None:
    """The first expected case that has no result: where the run was when it ended."""
    seen = {result.case for result in results}
    return next((case for case in expected if case not in seen), None)


def _judge_ending(stream: RowStream, ending: Ending, expected: Sequence[str]) -> Iterable[Finding]:
    """A run that was cut off, or a status that does not go with the rows."""
    if ending.cut_off is not None:
        case = first_without_result(stream.results, expected)
        where = f"the first case without a result is {case}" if case else "every expected case had its result"
        blame = ending.blame or ending.cut_off.blame or Blame.LAB
        yield Finding(FindingKind.INTERRUPTED, blame, f"{ending.cut_off}: {ending.why}; {where}", case)
        return
    failed = any(result.outcome is Outcome.FAIL for result in stream.results)
    if ending.exit_status != (1 if failed else 0):
        said = f"; it said: {stream.remarks[-1]}" if stream.remarks else ""
        text = f"test-backend-ops ended with status {ending.exit_status}, which its rows do not explain{said}"
        yield Finding(FindingKind.PROGRAM_FAILED, Blame.PRODUCT, text, first_without_result(stream.results, expected))


def _judge_membership(results: Sequence[CaseResult], ending: Ending, expected: Sequence[str]) -> Iterable[Finding]:
    """Cases that should be there and are not, and the other way round."""
    seen, wanted = dict.fromkeys(result.case for result in results), dict.fromkeys(expected)
    missing = [case for case in wanted if case not in seen]
    surplus = [case for case in seen if case not in wanted]
    if missing and ending.cut_off is None:
        text = f"{len(missing)} of {len(expected)} expected cases have no result, the first is {missing[0]}"
        yield Finding(FindingKind.MISSING_CASE, Blame.PRODUCT, text, missing[0])
    if surplus:
        text = f"{len(surplus)} cases were not expected, the first is {surplus[0]}"
        yield Finding(FindingKind.SURPLUS_CASE, Blame.LAB, text, surplus[0])


def _judge_breadth(results: Sequence[CaseResult], selection: Selection, min_cases: int) -> Iterable[Finding]:
    """Fewer cases than asked for, without the refused ones, or an operation of which none ran."""
    computed = sum(result.outcome is not Outcome.UNSUPPORTED for result in results)
    if computed < min_cases:
        text = f"{computed} cases were computed, at least {min_cases} were asked for"
        yield Finding(FindingKind.TOO_FEW_CASES, Blame.PRODUCT, text)
    ran = {result.op for result in results}
    for op in selection.ops:
        if op not in ran:
            yield Finding(FindingKind.OP_WITHOUT_CASES, Blame.LAB, f"no case of {op} was chosen; the patterns leave none of it")


def _judge_failures(results: Sequence[CaseResult]) -> Iterable[Finding]:
    """One finding for every failed case."""
    for result in results:
        if result.outcome is Outcome.FAIL:
            yield Finding(FindingKind.CASE_FAILED, Blame.PRODUCT, f"{result.case}: {result.message}", result.case)
