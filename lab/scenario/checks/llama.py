"""llama.cpp's own programs in the guest, with a model whose layers are all on the remote device.

The guest's processor computes the same text first, without our library, once for all variants of a boot. Then the device does, with
call records that are joined and judged as those of all checks are; and last, what no record of both sides is kept of, tokens are
timed, and the calls of some are counted.
"""

from __future__ import annotations

import contextlib
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lab.bundle.outcome import Blame, Finding, FindingKind
from lab.bundle.writer import CheckWriter
from lab.deadline import Deadline
from lab.figure import beside, four_figures
from lab.host.store import content_key
from lab.llama.model_file import text_of, write_model
from lab.llama.programs import (
    Divergence,
    Speed,
    Text,
    base_argv,
    bench_argv,
    divergence_argv,
    read_divergence,
    read_largest,
    read_speeds,
)
from lab.ops.said import remark
from lab.ops.upstream import guest_command, refused_devices, remote_device
from lab.scenario.calls import CallCollector, fetched_logs
from lab.scenario.checks.ops import explained
from lab.scenario.ended import time_over
from lab.scenario.environment import GUEST_CALL_LOG
from lab.scenario.model_llama import LlamaCheck
from lab.scenario.shipment import GUEST_FOLDER
from lab.scenario.stage import Stage
from lab.temporary import temporary_folder
from lab.visible import visible

LOG, SPEEDS = "llama.log", "llama-bench.jsonl"
KILL_AFTER_S, SPARE_S = 5, 20.0
TIMED_OUT, NOT_THERE, KILLED = 124, 127, 137
"""What ``timeout`` ends with: the program was told to end, is not there, or did not end when it was told."""
ATTEMPTS = 3
"""Once in some thirty runs llama-perplexity ends in order without the end of its report, on the guest's own processor, too."""
FEW = 8
"""Tokens of the shorter of the two runs whose calls are counted: what both have, the start among it, is in neither's difference."""
LETTERS_PER_TOKEN = 2
"""More text than is asked for: the program wants two contexts at least."""


class Broken(Exception):
    """A program did not do its work; the finding is written, and the check is over."""


@dataclass(slots=True)
class LlamaRun:
    """The check, as far as it got.

    Attributes:
        boot_deadline: that of the whole scenario's boot; ``deadline`` is the check's.
        facts: how many facts were told.
        computed: the device has computed a text with call records.
    """

    stage: Stage
    check: LlamaCheck
    writer: CheckWriter
    device: str
    deadline: Deadline
    boot_deadline: Deadline
    facts: int = 0
    computed: bool = False
    folder: str = field(init=False)

    def __post_init__(self) -> None:
        self.folder = f"{GUEST_FOLDER}/llama-{content_key(repr(self.check.shape), self.check.chunks, self.check.context)}"

    @property
    def model(self) -> str:
        """The model's file in the guest."""
        return f"{self.folder}/model.gguf"

    @property
    def base(self) -> str:
        """What the guest's processor said, in the guest."""
        return f"{self.folder}/base.kld"

    @property
    def text(self) -> Text:
        """What is computed."""
        return Text(self.model, f"{self.folder}/text.txt", self.check.chunks, self.check.context)

    def run(self, collector: CallCollector) -> None:
        """All of it, as far as there is a point in going on; everything that is wrong is written down."""
        with contextlib.suppress(Broken):
            self._run(collector)

    def _run(self, collector: CallCollector) -> None:
        self.prepare()
        divergence = self.diverged()
        self.computed = True
        self.judge_divergence(divergence)
        with collector.left_out():
            prompt, generated = self.timed()
            self.judge_speed(f"tokens per second of a prompt of {self.check.prompt}", prompt, self.check.min_prompt_tokens_s)
            self.judge_speed(f"tokens per second, {self.check.generated} one by one", generated, self.check.min_tokens_s)
            calls = self.calls_per_token(collector)
            if calls is not None:
                self.judge_calls(calls)

    def prepare(self) -> None:
        """Model, text, and what the guest's own processor says of it: what an earlier variant of the boot left is taken."""
        shell = self.stage.guest.ssh
        if shell.execute(f"test -e {self.folder}/complete", self.deadline)[0] == 0:
            return
        shell.execute(f"mkdir -p {self.folder}", self.deadline)
        with temporary_folder("llama") as folder:
            write_model(folder / "model.gguf", self.check.shape)
            (folder / "text.txt").write_text(text_of(LETTERS_PER_TOKEN * max(2, self.check.chunks) * self.check.context))
            for name in ("model.gguf", "text.txt"):
                shell.put(folder / name, f"{self.folder}/{name}", self.deadline)
        self.program(base_argv(self.text, self.base), {}, Blame.LAB)
        shell.execute(f"touch {self.folder}/complete", self.deadline)

    def diverged(self) -> Divergence:
        """What the device says, held against that."""
        argv = divergence_argv(self.text, self.base, self.device)
        for attempt in range(ATTEMPTS):
            lines = self.program(argv, self.stage.guest_variables)
            found = read_divergence(lines)
            if found is not None:
                if attempt:
                    self.writer.fact("reports without their end", "measured", str(attempt), ok=True)
                return found
            told = read_largest(lines)
            if told is not None and not told <= self.check.max_divergence:
                raise self.broken(
                    f"{argv[0]} told a divergence of {divergence_text(told, self.check.max_divergence)}, and no end of its report"
                )
        raise self.broken(f"{argv[0]} told no divergence, {ATTEMPTS} times; it said last: {last_words(lines)}")

    def judge_divergence(self, found: Divergence) -> None:
        """The largest one must be small, and all of it numbers: llama.cpp sorts, and among NaN its largest is any."""
        if not math.isfinite(found.base_perplexity):
            raise self.broken(f"the guest's own processor computed a perplexity of {found.base_perplexity:g}", Blame.LAB)
        most = self.check.max_divergence
        name = f"largest divergence of {self.check.compared} tokens from the guest's own processor"
        told = (
            f"{divergence_text(found.largest, most)} "
            f"(mean {found.mean:.2g}; most likely token the same in {found.same_top_percent:g} %; "
            f"perplexity {found.perplexity:.6g} and {found.base_perplexity:.6g})"
        )
        self.told(name, f"at most {most:g}", told, ok=found.finite and found.largest <= most, kind=FindingKind.CASE_FAILED)

    def timed(self) -> tuple[Speed, Speed]:
        """Tokens of a prompt, and one by one, without call records of the guest."""
        check = self.check
        argv = bench_argv(
            self.model, self.device, prompt=check.prompt, generated=check.generated, repetitions=check.repetitions
        )  # fmt: skip
        lines = self.program(argv, self.uncounted)
        speeds = read_speeds(lines)
        with open(self.stage.logs / SPEEDS, "a", encoding="utf-8") as file:
            file.writelines(line for line in lines if line.startswith("{"))
        wanted = [(check.prompt, 0), (0, check.generated)]
        if [(one.prompt, one.generated) for one in speeds] != wanted or any(len(one.ns) != check.repetitions for one in speeds):
            raise self.broken(f"{argv[0]} did not tell {check.repetitions} times of both tests; it said last: {last_words(lines)}")
        if others := [one.device for one in speeds if one.device != self.device]:
            raise self.broken(f"{argv[0]} measured {visible(others[0])}, and not {self.device}")
        return speeds[0], speeds[1]

    def judge_speed(self, name: str, speed: Speed, least: float | None) -> None:
        """The median, held against what is asked for."""
        rates = speed.tokens_per_s
        median = statistics.median(rates)
        shown = four_figures(median) if least is None else beside(median, least)
        told = f"{shown} ({min(rates):.4g} to {max(rates):.4g} in {len(rates)})"
        expected = "measured" if least is None else f"at least {least:g}"
        self.told(name, expected, told, ok=least is None or median >= least, kind=FindingKind.TOO_SLOW)

    def calls_per_token(self, collector: CallCollector) -> float | None:
        """Remote calls of each further token, by the guest's records: more tokens and fewer, the difference shared out.

        By the host's, of a guest library of others that writes none; None where there are none of either side to be expected.
        """
        few = self.counted(FEW, collector)
        many = None if few is None else self.counted(FEW + self.check.generated, collector)
        return None if few is None or many is None else (many - few) / self.check.generated

    def counted(self, tokens: int, collector: CallCollector) -> int | None:
        """Remote calls of a program that makes so many tokens; None where nobody counts them."""
        name = f"llama-calls-{tokens}"
        inside, fetched = f"{self.folder}/{name}", self.stage.logs / name
        self.stage.guest.ssh.execute(f"rm -rf {inside} && mkdir -p {inside}", self.deadline)
        fetched.mkdir(exist_ok=True)
        before = {log.path for log in collector.host_logs()}
        argv = bench_argv(self.model, self.device, prompt=0, generated=tokens, repetitions=0)
        self.program(argv, {**self.uncounted, GUEST_CALL_LOG: inside})
        logs, wrong, late = fetched_logs(self.stage.guest, inside, fetched)
        if late and not wrong:
            raise self.broken(late[0], Blame.LAB)
        if not wrong and not logs and "guest" in collector.others:
            logs = [log for log in collector.host_logs() if log.path not in before]
            if not logs and ("host" in collector.others or not self.stage.variant.scenario.call_records):
                return None
        if wrong or not logs:
            raise self.broken(wrong[0] if wrong else f"no call records of {argv[0]} were found: it used no remote device")
        return sum(log.counted for log in logs)

    def judge_calls(self, calls: float) -> None:
        """There are some, and not too many."""
        most = self.check.max_calls_per_token
        expected = "some" if most is None else f"at most {most:g}"
        ok = calls > 0 and (most is None or calls <= most)
        self.told(
            "remote calls of a generated token",
            expected,
            four_figures(calls) if most is None else beside(calls, most),
            ok=ok,
            kind=FindingKind.TOO_SLOW,
        )

    @property
    def uncounted(self) -> Mapping[str, str]:
        """The variables of programs under test, without a folder for call records."""
        return {name: value for name, value in self.stage.guest_variables.items() if name != GUEST_CALL_LOG}

    def told(self, name: str, expected: str, seen: str, *, ok: bool, kind: FindingKind) -> None:
        """A fact, and the finding that a wrong one is."""
        self.facts += 1
        if not self.writer.fact(name, expected, seen, ok=ok):
            self.writer.finding(Finding(kind, Blame.PRODUCT, f"{name}: expected {expected}, seen {seen}"))

    def program(self, argv: Sequence[str], variables: Mapping[str, str], blame: Blame = Blame.PRODUCT) -> list[str]:
        """Run a program in the guest to its end: what it said, which is in the log as well.

        Raises:
            Broken: it ended otherwise than with status 0, or was not through in time.
        """
        lines: list[str] = []
        left_s = self.deadline.remaining_s
        limit_s = max(1, round(min(self.check.program_deadline_s, left_s)))
        allowed = Deadline.after(limit_s)
        command = guest_command(("timeout", f"--kill-after={KILL_AFTER_S}", str(limit_s), *argv), variables)
        with open(self.stage.logs / LOG, "a", encoding="utf-8") as log:
            status = self.stage.guest.ssh.stream(command, noting(lines, log.write), Deadline.after(limit_s + SPARE_S))
        if status == NOT_THERE:
            text = f"the guest has no {argv[0]}: guest.image is to be one with llama.cpp, such as guest-llama"
            raise self.broken(text, Blame.LAB)
        if status == TIMED_OUT or (status == KILLED and allowed.expired):
            text = f"{argv[0]} was not through in {limit_s} s; it said last: {last_words(lines)}"
            if left_s <= self.check.program_deadline_s and self.boot_deadline.ends <= self.deadline.ends:
                text = f"{time_over(self.stage.variant.scenario)}: {text}"
                raise self.broken(text, Blame.LAB, FindingKind.INTERRUPTED)
            raise self.broken(text, blame)
        if status != 0:
            raise self.broken(f"{argv[0]} ended with status {status}; it said last: {last_words(lines)}", blame)
        return lines

    def broken(self, text: str, blame: Blame = Blame.PRODUCT, kind: FindingKind = FindingKind.PROGRAM_FAILED) -> Broken:
        """The finding is written."""
        self.writer.finding(Finding(kind, blame, text))
        return Broken(text)


def noting(lines: list[str], write: Callable[[str], object]) -> Callable[[str], None]:
    """What is done with each line."""

    def on_line(line: str) -> None:
        whole = line if line.endswith("\n") else f"{line}\n"
        lines.append(whole)
        write(whole)

    return on_line


def divergence_text(divergence: float, most: float) -> str:
    """A divergence beside the largest that may be."""
    return beside(divergence, most, "{:.2g}".format)


def last_words(lines: Sequence[str]) -> str:
    """The last lines that say anything."""
    return " / ".join([remark(line) for line in lines if line.strip()][-3:]) or "nothing"


def prepared(stage: Stage, check: LlamaCheck, writer: CheckWriter, deadline: Deadline) -> LlamaRun | None:
    """The check before it begins; None where there is no remote device to trust, which is a finding."""
    device, refusals = remote_device(stage.listing.devices), refused_devices(stage.listing.devices)
    for finding in refusals:
        writer.finding(explained(finding, stage))
    if refusals or device is None:
        return None
    return LlamaRun(stage, check, writer, device.name, deadline.narrowed(check.deadline_s), deadline)
