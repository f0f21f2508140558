from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.bundle import Bundle
from lab.bundle.rows import FactRow
from lab.deadline import Deadline, poll
from lab.errors import ConfigError, WaitTimeout
from tests.scenario.fakes import OURS, SHA, FakeShell, Script
from tests.scenario.small_runs import run_small, texts

SCENARIO = """\
name = "small"
timeout_s = 60
[guest]
image = "guest-llama"
[matrix]
capset = ["venus", "apir"]
[[checks]]
kind = "llama"
repetitions = 2
generated = 16
{settings}
"""
DIVERGENCE = """\
Mean PPL(Q)                   : {perplexity} ±  61.4
Mean PPL(base)                : {base} ±  61.4
Mean    KLD:   {mean} ±   0.000000
Maximum KLD:   {largest}
Same top p: 100.000 ± 0.000 %
"""
START_CALLS, PER_TOKEN = 20, 3
Program = Callable[[str, Callable[[str], None]], int]


class Llama:
    """llama.cpp's programs in the fake guest. ``per_token``: calls, in what they would record; ``others``: sides that do not."""

    def __init__(self, *, largest: str = "0.000007", per_token: int = PER_TOKEN, status: int = 0, ns: int = 20_000_000) -> None:
        self.script = Script(program=self.program)
        self.largest, self.per_token, self.status, self.ns = largest, per_token, status, ns
        self.times, self.measured = 2, OURS.name
        self.each: tuple[int, ...] = ()
        self.mean, self.perplexity, self.base = "0.000000", "771.1", "771.2"
        self.ends_lost = 0
        self.others: tuple[str, ...] = ()
        self.ran: list[str] = []

    def record(self, count: int) -> None:
        """The records of the next program, which the fake writes before it plays it."""
        self.script.guest_records = count if "guest" not in self.others else None
        if self.others:
            self.script.host_records = count if "component" not in self.others else None

    def program(self, command: str, on_line: Callable[[str], None]) -> int:
        self.ran.append(command)
        self.record(5)
        if "-n 8 " in command:
            self.record(START_CALLS + self.per_token * 24)
        if "llama-bench" in command and "--no-warmup" not in command:
            self.record(START_CALLS + self.per_token * 8)
            for prompt, generated in ((64, 0), (0, 16)):
                row: dict[str, Any] = {"n_prompt": prompt, "n_gen": generated, "devices": self.measured}
                on_line(json.dumps(row | {"samples_ns": list(self.each) or [self.ns] * self.times}) + "\n")
        if "--kl-divergence " in command:
            figures = {"mean": self.mean, "perplexity": self.perplexity, "base": self.base}
            whole = DIVERGENCE.format(largest=self.largest, **figures).splitlines()
            lost, self.ends_lost = int(self.ends_lost > 0), self.ends_lost - 1
            for line in whole[: len(whole) - lost]:
                on_line(f"{line}\n")
        on_line("the last word\n")
        return self.status if "GGML_BACKEND_PATH" in command else 0


def ran(tmp_path: Path, llama: Llama, settings: str = "", variants: tuple[str, ...] = ("venus",)) -> Bundle:
    tmp_path.mkdir(exist_ok=True)
    return run_small(tmp_path, llama.script, SCENARIO.format(settings=settings), variants=variants)


def facts(bundle: Bundle) -> list[FactRow]:
    return [row for row in bundle.facts if row.check == "llama"]


def test_what_a_model_says_and_costs_is_told(tmp_path: Path) -> None:
    bundle = ran(tmp_path, Llama(), "max_calls_per_token = 3\nmin_tokens_s = 700\nmin_prompt_tokens_s = 3000")
    assert (bundle.run.exit, texts(bundle)) == (0, "")
    assert [(row.name, row.expected, row.seen) for row in facts(bundle)] == [
        (
            "largest divergence of 126 tokens from the guest's own processor",
            "at most 0.0001",
            "7e-06 (mean 0; most likely token the same in 100 %; perplexity 771.1 and 771.2)",
        ),
        ("tokens per second of a prompt of 64", "at least 3000", "3200 (3200 to 3200 in 2)"),
        ("tokens per second, 16 one by one", "at least 700", "800 (800 to 800 in 2)"),
        ("remote calls of a generated token", "at most 3", "3"),
    ]
    (rows,) = tmp_path.glob("runs/*/logs/venus/llama-bench.jsonl")
    assert len(rows.read_text().splitlines()) == 2


def test_the_guests_processor_computes_without_our_library_once_for_all_variants(tmp_path: Path) -> None:
    llama = Llama()
    bundle = ran(tmp_path, llama, variants=())
    assert bundle.run.exit == 0
    bases = [command for command in llama.ran if "--device none" in command]
    assert len(bases) == 1
    assert "GGML_BACKEND_PATH" not in bases[0]
    assert sum("--kl-divergence " in command for command in llama.ran) == 2


def test_tokens_are_timed_without_call_records_and_counted_with_some(tmp_path: Path) -> None:
    llama = Llama()
    ran(tmp_path, llama)
    logged = {
        command.partition("-o jsonl")[0].split(" -r ")[-1]: "CALL_LOG" in command for command in llama.ran if "bench" in command
    }
    assert logged == {"2 -ngl 99 -dev '[virtgpu] CPU' ": False, "1 --no-warmup -ngl 99 -dev '[virtgpu] CPU' ": True}


@pytest.mark.parametrize(
    ("llama", "settings", "finding"),
    [
        (Llama(largest="0.000150"), "", "case failed [product] largest divergence of 126 tokens"),
        (Llama(largest="0.000104"), "", "expected at most 0.0001, seen 0.000104"),
        (Llama(largest="-nan"), "", "expected at most 0.0001, seen nan"),
        (Llama(per_token=0), "", "too slow [product] remote calls of a generated token: expected some, seen 0"),
        (Llama(per_token=4), "max_calls_per_token = 3", "expected at most 3, seen 4"),
        (Llama(ns=40_000_000), "min_tokens_s = 500", "too slow [product] tokens per second, 16 one by one: expected at least 500"),
        (Llama(ns=20_000_100), "min_tokens_s = 800", "expected at least 800, seen 799.996 (800 to 800 in 2)"),
        (Llama(ns=40_000_000), "min_prompt_tokens_s = 2000", "too slow [product] tokens per second of a prompt of 64"),
        (Llama(status=139), "", "program failed [product] llama-perplexity ended with status 139; it said last"),
        (Llama(status=124), "program_deadline_s = 9", "program failed [product] llama-perplexity was not through in 9 s"),
    ],
)
def test_what_is_wrong_fails_the_variant(tmp_path: Path, llama: Llama, settings: str, finding: str) -> None:
    bundle = ran(tmp_path, llama, settings)
    assert bundle.run.exit == 1
    assert finding in texts(bundle)


SECOND = """
[[checks]]
kind = "llama"
repetitions = 2
generated = 16
"""


@pytest.mark.parametrize(("other", "bases"), [("", 1), ("chunks = 3", 2), ("layers = 3", 2), ("context = 256", 2)])
def test_what_the_guests_processor_said_of_another_model_or_text_is_not_taken(tmp_path: Path, other: str, bases: int) -> None:
    llama = Llama()
    ran(tmp_path, llama, f"{SECOND}{other}")
    assert sum("--device none" in command for command in llama.ran) == bases


TIME_OVER = (
    "interrupted [lab] the scenario's timeout_s (60 s for one boot and all that is checked in it) was over: llama-perplexity"
)


@pytest.mark.parametrize(
    ("status", "told"),
    [(132, "program failed [lab] llama-perplexity ended with status 132"), (124, f"{TIME_OVER} was not through in ")],
)
def test_a_processor_that_failed_is_asked_again_by_the_next_variant(tmp_path: Path, status: int, told: str) -> None:
    asked: list[str] = []

    def program(command: str, _on_line: Callable[[str], None]) -> int:
        asked.append(command)
        return status

    bundle = run_small(tmp_path, Script(program=program), SCENARIO.format(settings=""))
    assert bundle.run.exit == 2
    assert texts(bundle).count(told) == 2
    assert "300 s" not in texts(bundle), "the scenario has less time left"
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("settings", "verdict", "told"),
    [
        ("", 2, f"{TIME_OVER} was not through in "),
        ("deadline_s = 50", 1, "program failed [product] llama-perplexity was not through in 50 s"),
        ("program_deadline_s = 9", 1, "program failed [product] llama-perplexity was not through in 9 s"),
    ],
    ids=["the scenario's time", "the check's", "the program's"],
)
def test_time_that_is_over_is_the_products_unless_it_is_the_scenarios(
    tmp_path: Path, settings: str, verdict: int, told: str
) -> None:
    bundle = ran(tmp_path, Llama(status=124), settings)
    assert (bundle.run.exit, told in texts(bundle)) == (verdict, True), texts(bundle)


def test_program_that_had_to_be_killed_at_its_time_was_late(tmp_path: Path) -> None:
    llama = Llama(status=137)
    bundle = ran(tmp_path / "at once", llama)
    assert "program failed [product] llama-perplexity ended with status 137" in texts(bundle)

    def late(command: str, on_line: Callable[[str], None]) -> int:
        status = llama.program(command, on_line)
        if status:
            with contextlib.suppress(WaitTimeout):
                poll("what does not come", lambda: None, Deadline.after(1.1))
        return status

    llama.script.program = late
    bundle = ran(tmp_path / "late", llama, "program_deadline_s = 1")
    assert "program failed [product] llama-perplexity was not through in 1 s" in texts(bundle)


def test_programs_have_no_longer_than_the_check(tmp_path: Path) -> None:
    llama = Llama()
    ran(tmp_path, llama, "deadline_s = 9")
    limits = [re.findall(r"timeout --kill-after=5 (\d+)", command) for command in llama.ran]
    assert limits
    assert all(int(limit) <= 9 for (limit,) in limits)


def test_model_may_take_as_long_as_the_check_to_come_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times: dict[str, float] = {}

    def put(_shell: FakeShell, local: Path, _remote: str, deadline: Deadline | None = None) -> str:
        times[local.name] = deadline.remaining_s if deadline is not None else 0
        return SHA

    monkeypatch.setattr(FakeShell, "put", put)
    ran(tmp_path, Llama(), "deadline_s = 50")
    assert {name: 40 < times[name] <= 50 for name in ("model.gguf", "text.txt")} == {"model.gguf": True, "text.txt": True}


def test_calls_that_an_earlier_variant_counted_are_not_counted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executed = FakeShell.execute

    def removing(shell: FakeShell, command: str, deadline: Deadline) -> tuple[int, str]:
        if command.startswith("rm -rf "):
            shutil.rmtree(shell.folder / Path(command.split()[2]).name, ignore_errors=True)
        return executed(shell, command, deadline)

    monkeypatch.setattr(FakeShell, "execute", removing)
    bundle = ran(tmp_path, Llama(), variants=())
    assert [row.seen for row in facts(bundle) if row.name.startswith("remote calls")] == ["3", "3"]


@pytest.mark.parametrize(
    ("others", "per_token", "seen", "finding"),
    [
        (("guest",), 3, ["3"], ""),
        (("guest",), 0, ["0"], "too slow [product] remote calls of a generated token: expected at most 3, seen 0"),
        (("guest", "component"), 3, [], ""),
    ],
    ids=["the host records", "it records none", "nobody does"],
)
def test_calls_of_a_guest_library_that_records_nothing_are_counted_by_the_host(
    tmp_path: Path, others: tuple[str, ...], per_token: int, seen: list[str], finding: str
) -> None:
    llama = Llama(per_token=per_token)
    llama.others = others
    llama.record(5)
    (tmp_path / "theirs.so").touch()
    sides = "".join(f'{side} = "theirs.so"\n' for side in others)
    text = SCENARIO.format(settings=f"max_calls_per_token = 3\n[implementation]\n{sides}")
    recorded = "call_records = false\n" if "component" in others else ""
    bundle = run_small(tmp_path, llama.script, recorded + text, variants=("venus",))
    assert [row.seen for row in facts(bundle) if row.name.startswith("remote calls")] == seen
    assert (bundle.run.exit, texts(bundle)) == (int(bool(finding)), finding)
    assert len(facts(bundle)) == 3 + len(seen)


def test_program_of_which_a_component_of_ours_records_nothing_used_no_remote_device(tmp_path: Path) -> None:
    llama = Llama()
    llama.others = ("guest",)
    llama.record(5)

    def program(command: str, on_line: Callable[[str], None]) -> int:
        status = llama.program(command, on_line)
        if "llama-bench" in command:
            llama.script.host_records = None
        return status

    llama.script.program = program
    (tmp_path / "theirs.so").touch()
    text = SCENARIO.format(settings='[implementation]\nguest = "theirs.so"')
    bundle = run_small(tmp_path, llama.script, text, variants=("venus",))
    assert bundle.run.exit == 1
    assert texts(bundle) == "program failed [product] no call records of llama-bench were found: it used no remote device"


def test_call_records_that_do_not_come_in_time_are_the_labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    got = FakeShell.get

    def get(shell: FakeShell, remote: str, *rest: Any, **bounds: Any) -> str:
        if remote.endswith(".calls"):
            raise WaitTimeout("a file copied out of the guest", 60.0)
        return got(shell, remote, *rest, **bounds)

    monkeypatch.setattr(FakeShell, "get", get)
    bundle = ran(tmp_path, Llama())
    assert (bundle.run.exit, {row.blame for row in bundle.findings}) == (2, {"lab"}), texts(bundle)
    assert "program failed [lab] call records " in texts(bundle)


def test_speed_is_the_median_and_may_be_just_what_is_asked_for(tmp_path: Path) -> None:
    llama = Llama()
    llama.each = (10_000_000, 20_000_000, 40_000_000)
    text = SCENARIO.format(settings="min_tokens_s = 800").replace("repetitions = 2", "repetitions = 3")
    bundle = run_small(tmp_path, llama.script, text, variants=("venus",))
    assert (bundle.run.exit, [row.seen for row in facts(bundle)][2]) == (0, "800 (400 to 1600 in 3)")


@pytest.mark.parametrize("figure", ["mean", "perplexity"])
def test_a_small_largest_among_figures_that_are_none_is_no_result(tmp_path: Path, figure: str) -> None:
    llama = Llama()
    setattr(llama, figure, "-nan")
    bundle = ran(tmp_path, llama)
    assert bundle.run.exit == 1
    assert "expected at most 0.0001, seen 7e-06 (mean " in texts(bundle)
    assert " nan" in texts(bundle)


def test_a_base_that_is_no_number_is_not_the_products_failure(tmp_path: Path) -> None:
    llama = Llama()
    llama.base = "nan"
    bundle = ran(tmp_path, llama)
    assert bundle.run.exit == 2
    assert "program failed [lab] the guest's own processor computed a perplexity of nan" in texts(bundle)


def test_what_could_not_be_measured_is_no_measurement(tmp_path: Path) -> None:
    few = Llama()
    few.times = 1
    bundle = ran(tmp_path, few)
    assert "llama-bench did not tell 2 times of both tests; it said last" in texts(bundle)
    assert [row.name for row in facts(bundle)] == ["largest divergence of 126 tokens from the guest's own processor"]


def test_the_speed_of_another_device_is_no_measurement(tmp_path: Path) -> None:
    other = Llama()
    other.measured = "CPU"
    bundle = ran(tmp_path, other)
    assert "llama-bench measured CPU, and not [virtgpu] CPU" in texts(bundle)
    assert len(facts(bundle)) == 1


def test_a_divergence_that_is_not_told_is_the_products_failure(tmp_path: Path) -> None:
    bundle = ran(tmp_path, Llama(largest="none"))
    assert "llama-perplexity told no divergence, 3 times; it said last: Maximum KLD:   none" in texts(bundle)
    assert not facts(bundle)


@pytest.mark.parametrize(("times", "told"), [(2, True), (3, False)])
def test_a_report_without_its_end_is_asked_for_again(tmp_path: Path, times: int, told: bool) -> None:
    llama = Llama()
    llama.ends_lost = times
    bundle = ran(tmp_path, llama)
    assert bundle.run.exit == int(not told)
    assert sum("--kl-divergence " in command for command in llama.ran) == 3
    assert any(row.name.startswith("largest divergence") for row in facts(bundle)) == told
    assert any((row.name, row.seen) == ("reports without their end", "2") for row in facts(bundle)) == told


@pytest.mark.parametrize(("largest", "told"), [("0.000150", "0.00015"), ("-nan", "nan")])
def test_a_report_without_its_end_that_tells_too_much_is_not_asked_for_again(tmp_path: Path, largest: str, told: str) -> None:
    llama = Llama(largest=largest)
    llama.ends_lost = 1
    bundle = ran(tmp_path, llama)
    assert bundle.run.exit == 1
    assert f"told a divergence of {told}, and no end of its report" in texts(bundle)
    assert sum("--kl-divergence " in command for command in llama.ran) == 1


def test_fewer_tokens_than_the_program_tells_of_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"93 tokens would be compared, and llama\.cpp tells the divergence of 100 or more"):
        ran(tmp_path, Llama(), "chunks = 3\ncontext = 64")
    assert ran(tmp_path, Llama(), "chunks = 4\ncontext = 64").run.exit == 0


def test_an_image_without_llama_cpp_is_told(tmp_path: Path) -> None:
    bundle = run_small(tmp_path, Script(program=lambda _command, _on_line: 127), SCENARIO.format(settings=""), variants=("venus",))
    assert bundle.run.exit == 2
    assert "program failed [lab] the guest has no llama-perplexity: guest.image is to be one with llama.cpp" in texts(bundle)


def test_a_guest_whose_processor_fails_is_no_failure_of_the_product(tmp_path: Path) -> None:
    bundle = run_small(tmp_path, Script(program=lambda _command, _on_line: 132), SCENARIO.format(settings=""), variants=("venus",))
    assert bundle.run.exit == 2
    assert "program failed [lab] llama-perplexity ended with status 132; it said last: pid 7" in texts(bundle)
