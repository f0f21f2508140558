"""What commands tell people: tables, findings, hints, plans and progress."""

from __future__ import annotations

import errno
import io
import os
import shlex
import sys
from pathlib import Path

import pytest
from rich.console import Console

from lab.bundle.schema import CallsRecord, CapabilityRecord, CaseCounts, RunRecord, Status, VariantRecord
from lab.cli.answer import MAX_FINDINGS, tell_capabilities, tell_dry_run, tell_error, tell_run, variant_answer
from lab.cli.display import TerminalListener, progress_display
from lab.cli.output import KeptOutput
from lab.errors import LabError
from lab.scenario.dry_run import ShownBoot, ShownVariant
from lab.scenario.listener import LineListener

LONG = "a-scenario-whose-name-is-as-long-as-names-are"
VARIANT = VariantRecord(
    name=LONG, variant="venus-vulkan", status=Status.FAILED, cases=CaseCounts(ok=1, fail=2, unsupported=3, error=4),
    boot_s=5.5, wall_s=66.6, calls=CallsRecord(count=77, p50_us=8.0, p99_us=99.0), reason="it failed",
)  # fmt: skip
RECORD = RunRecord(run="r", name="a", status=Status.FAILED, exit=1, started="now", variants=(VARIANT,))


def told_of_run(capsys: pytest.CaptureFixture[str], record: RunRecord = RECORD, page: Path | None = None, findings: int = 0) -> str:
    tell_run(Path("/runs/r"), record, page, [("a/b", "wrong state", f"number {one}") for one in range(findings)])
    return capsys.readouterr().out


def test_row_of_a_variant_has_its_figures_under_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    head, row, *_ = told_of_run(capsys).splitlines()
    assert " ".join(head.split()) == "scenario variant status ok fail unsup. error calls p50 p99 boot wall"
    assert " ".join(row.split()) == f"{LONG} venus-vulkan failed 1 2 3 4 77 8 µs 99 µs 5.5 s 66.6 s"


@pytest.mark.parametrize(("findings", "more"), [(MAX_FINDINGS, ""), (MAX_FINDINGS + 2, "and 2 findings more")])
def test_findings_beyond_a_number_are_counted(capsys: pytest.CaptureFixture[str], findings: int, more: str) -> None:
    told = told_of_run(capsys, findings=findings)
    assert told.count("wrong state: number ") == MAX_FINDINGS
    assert [line for line in told.splitlines() if line.startswith("and ")] == [more] * bool(more)


def test_reason_of_what_was_skipped_is_told_and_where_the_report_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert "it failed" not in told_of_run(capsys)
    skipped = VARIANT.model_copy(update={"status": Status.SKIPPED, "reason": "no opengl"})
    told = told_of_run(capsys, RECORD.model_copy(update={"variants": (skipped,)}), Path("/runs/r/index.html"))
    assert f"{LONG}/venus-vulkan skipped: no opengl\n" in told
    assert told.endswith("report: /runs/r/index.html\n")
    assert told_of_run(capsys).endswith("report: /runs/r\n")


def test_cases_that_ended_as_expected_are_counted_where_there_are_any() -> None:
    assert "expected" not in variant_answer(VARIANT)
    flaky = VARIANT.model_copy(update={"cases": CaseCounts(ok=1, flaky=2)})
    assert variant_answer(flaky)["expected"] == {"expected": 0, "flaky": 2, "skipped": 0}


def test_hint_of_a_capability_is_for_a_no(capsys: pytest.CaptureFixture[str]) -> None:
    tell_capabilities(
        [CapabilityRecord(name=name, ok=ok, probed="so", hint=f"mend {name}") for name, ok in (("a", True), ("b", False))]
    )
    told = capsys.readouterr().out
    assert ("mend a" in told, "mend b" in told) == (False, True)


def test_error_is_told_with_its_notes_and_its_hint(capsys: pytest.CaptureFixture[str]) -> None:
    error = LabError("it broke\x1b[2J", hint="mend it")
    error.add_note("while booting")
    for one in (error, LabError("alone")):
        tell_error(one)
    assert capsys.readouterr().err.splitlines() == ["error: it broke␛[2J", "while booting", "hint: mend it", "error: alone"]


def test_plan_of_a_dry_run_can_be_copied(capsys: pytest.CaptureFixture[str]) -> None:
    variant = ShownVariant("small", "venus", (("A", "1"),), ("state",), ("held against x",))
    boots = [
        ShownBoot(("qemu", "-name", "a b"), (("LD_PRELOAD", "/my libs/x.so"),), (variant,), unmet) for unmet in ("", "no disk")
    ]
    tell_dry_run(boots, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert [shlex.split(line) for line in lines if not line.startswith("#")] == [["qemu", "-name", "a b"]] * 2
    assert lines.count("# QEMU's environment: LD_PRELOAD='/my libs/x.so'") == 2
    assert [line for line in lines if "cannot" in line] == ["# cannot run here: no disk"]


def test_step_that_fails_has_a_cross_and_the_count_its_failures() -> None:
    screen = io.StringIO()
    console = Console(file=screen, width=200)
    listener = TerminalListener(console)

    def work() -> None:
        with listener.step("outer"):
            with listener.step("inner"):
                for failed in (0, 2):
                    listener.cases(5, 10, failed)
                    console.print(listener.render())
            raise LabError("it broke")

    with pytest.raises(LabError):
        work()
    counts = [line.partition("s  ")[2] for line in screen.getvalue().splitlines() if "cases" in line]
    assert counts == ["5 of 10 cases", "5 of 10 cases, 2 failed"]
    assert [line.split()[:2] for line in screen.getvalue().splitlines()[-2:]] == [["✓", "inner"], ["✗", "outer"]]


class Terminal(io.StringIO):
    """A screen."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("in_lines", "kind"), [(True, LineListener), (False, TerminalListener)])
def test_steps_that_overlap_are_told_in_lines_on_a_terminal_too(
    monkeypatch: pytest.MonkeyPatch, *, in_lines: bool, kind: type[object]
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_display(in_lines=in_lines) as listener:
        assert isinstance(listener, kind)


def test_first_thing_that_went_wrong_with_an_output_is_what_is_told() -> None:
    output = KeptOutput(os.open("/dev/full", os.O_WRONLY), "w")
    assert output.write(b"lost") == len(b"lost")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, output.fileno())
    os.close(nothing)
    assert output.write(b"lost") == len(b"lost")
    output.close()
    assert output.error is not None
    assert output.error.errno == errno.ENOSPC
