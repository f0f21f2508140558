"""Every figure of the page and of the summary is the one that it is said to be: no two are alike here."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lab.bundle.outcome import Blame, CaseResult, Finding, FindingKind, Outcome
from lab.bundle.rows import CallRow, Supported
from lab.bundle.schema import (
    BENCH,
    BenchRecord,
    CallsRecord,
    CapabilityRecord,
    CaseCounts,
    RunRecord,
    Status,
    TargetRecord,
    VariantRecord,
)
from lab.bundle.writer import CheckWriter, new_bundle
from reports.bench import DASH, view_of
from reports.render import rendered_report
from tests.bench.realistic import token

CALLS = CallsRecord(count=500, p50_us=111.0, p99_us=222.0, guest_counted=501, host_counted=502)
COUNTS = CaseCounts(ok=11, fail=12, unsupported=13, error=14, expected=15, flaky=16, skipped=17)


def call(duration_us: int, status: int = 4, command: str = "handshake") -> CallRow:
    return CallRow("s", "v", "both", 1, 0, command, 1, 1000 * duration_us, 1000, 2000, 4000, status, 2048, 5120)


def bundle_of(parent: Path, status: Status = Status.FAILED, findings: int = 1, **variant: object) -> tuple[str, str]:
    """The page as text without its tags, a blank in the place of each, and the summary."""
    with new_bundle(parent, "s") as bundle:
        writer = CheckWriter(bundle, "s", "v", "ops")
        writer.case(CaseResult("ADD(n=1)", "ADD", "n=1", Outcome.FAIL, "wrong", 1500.0))
        writer.fact("kernel", "6.12", "6.6", ok=False)
        writer.fact("module", "there", "there", ok=True)
        for number in range(findings):
            writer.finding(Finding(FindingKind.CASE_FAILED, Blame.PRODUCT, f"finding {number} of them"))
        for duration_us in range(1, 101):
            bundle.call(call(duration_us * 1000, 0xAB1E if duration_us > 3 else 5))
        record = VariantRecord(name="s", variant="v", status=status, cases=COUNTS, calls=CALLS, boot_s=1.5, wall_s=2.5, **variant)  # type: ignore[arg-type]
        capabilities = (
            CapabilityRecord(name="kvm", ok=False, probed="tried"),
            CapabilityRecord(name="qemu", ok=True, probed="ran"),
        )
        run = RunRecord(run="s", name="s", status=status, started=datetime.now(UTC).isoformat(), variants=(record,))
        bundle.describe(run.model_copy(update={"capabilities": capabilities}))
        folder = bundle.folder
    text = re.sub(r"<style>.*?</style>", "", rendered_report(folder).read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(re.sub("<[^>]*>", " ", text).split()), (folder / "summary.md").read_text(encoding="utf-8")


def test_counts_and_durations_stand_where_they_belong(tmp_path: Path) -> None:
    page, summary = bundle_of(tmp_path)
    assert "cases ok 11 failed 12 unsupported · error 13 · 14 expected: failed · flaky · skipped 15 · 16 · 17" in page
    assert "remote calls 500 call p50 111 µs call p99 222 µs" in page
    assert "the guest sent 501 commands, the workers counted 502." in page
    assert "| s | v | Failed | 11 | 12 | 13 | 14 | 500 | 111 µs | 222 µs | 1.5 s | 2.5 s |" in summary
    assert "as its expectations say: 15 failed, 16 flaky, 17 skipped." in summary


def test_commands_facts_and_capabilities_are_told_as_they_are(tmp_path: Path) -> None:
    page, _ = bundle_of(tmp_path)
    assert "handshake v 100 3 50 ms 90 ms 99 ms 100 ms 5.05 s 200.0 KiB 500.0 KiB" in page
    assert "v 1 of 2 as expected" in page
    assert "✗ no kernel 6.12 6.6 ✓ yes module there the same" in page
    assert f"{DASH} no kvm tried ✓ yes qemu ran" in page
    assert "✗ fail ADD(n=1) wrong 1.5 s" in page


@pytest.mark.parametrize("status", [Status.ERROR, Status.INTERRUPTED, Status.SKIPPED])
def test_verdict_and_reason_of_what_did_not_pass_are_told(tmp_path: Path, status: Status) -> None:
    page, summary = bundle_of(tmp_path, status, 0, reason="the machine was taken away")
    word = {Status.ERROR: "Lab error", Status.INTERRUPTED: "Interrupted", Status.SKIPPED: "Skipped"}[status]
    assert page.startswith(f"s: {word} · virtgpu-lab")
    assert f"v {word} " in page
    assert "the machine was taken away" in page
    assert f"| s | v | {word} |" in summary
    assert "s/v: the machine was taken away" in summary


def test_truth_table_is_counted_by_what_both_sides_say(tmp_path: Path) -> None:
    yes, no, unheard = Supported.YES, Supported.NO, Supported.UNKNOWN
    with new_bundle(tmp_path, "s") as bundle:
        writer = CheckWriter(bundle, "s", "v", "catalog")
        for number, pair in enumerate([(yes, yes)] * 2 + [(no, no)] * 3 + [(unheard, yes), (yes, no), (yes, no), (no, yes)]):
            writer.support(f"ADD(n={number})", "ADD", *pair)
        for number, outcome in enumerate((Outcome.PASS, Outcome.FAIL)):
            writer.case(CaseResult(f"ADD(n={number})", "ADD", "", outcome, "excused (golden): known"))
        variant = VariantRecord(name="s", variant="v", status=Status.PASSED)
        bundle.describe(RunRecord(run="s", name="s", status=Status.PASSED, started="now", variants=(variant,)))
    text = rendered_report(bundle.folder).read_text(encoding="utf-8")
    assert "passed by a named exception v 9 2 3 1 4 1" in " ".join(re.sub("<[^>]*>", " ", text).split())


def test_every_finding_is_on_the_page_and_the_first_are_in_the_summary(tmp_path: Path) -> None:
    page, summary = bundle_of(tmp_path, findings=60)
    assert [len(re.findall(rf"finding {number} of them", page)) for number in range(60)] == [1] * 60
    assert [f"finding {number} of them" in summary for number in range(60)] == [True] * 50 + [False] * 10
    assert "and 10 more" in summary


def test_benchmark_tells_its_load_warnings_targets_and_tokens(tmp_path: Path) -> None:
    targets = [TargetRecord(label=f"of {met}", expected="≤ 5", seen_text="7", met=met) for met in (True, False, None)]
    record = BenchRecord(
        answer={"token_native_us": 250.0}, targets=tuple(targets), load_before=1.5, load_after=2.5, warnings=("one", "another"),
        tokens=(token("all", "copied", 2, 1000.0), token("ring", "copied", 2, 500.0), token("0.2", "copied", 2, 200.0)),
    )  # fmt: skip
    with new_bundle(tmp_path, "bench") as bundle:
        (bundle.logs("v") / BENCH).write_text(record.model_dump_json())
        variant = VariantRecord(name="s", variant="v", status=Status.PASSED, logs="logs/v")
        bundle.describe(RunRecord(run="s", name="s", status=Status.PASSED, started="now", variants=(variant,)))
    text = rendered_report(bundle.folder).read_text(encoding="utf-8")
    page = " ".join(re.sub("<[^>]*>", " ", text).split())
    assert "Load 1.5 before and 2.5 after" in page
    assert "one another" in page
    assert f"✓ met of True 7 ≤ 5 ✗ not met of False 7 ≤ 5 {DASH} not judged of None 7 ≤ 5" in page
    assert "<details open><summary>Targets" in text
    assert "[2 ms] 1.8 ms" in page
    widths = re.findall(r'<div class="stack" style="width:([\d.]+)%".*?class="compute" style="width:([\d.]+)%', text)
    assert widths == [("100.00", "25.00"), ("50.00", "50.00"), ("20.00", "100.00")]
    view = view_of(record)
    assert (view.missed, view.unjudged) == (1, 1)


def test_floors_and_loops_stand_beside_what_they_are_floors_of() -> None:
    figures = {"p50": 1.0, "p99": 2.0}
    answer = {
        "loopback": {}, "vm": {"set_gib_s": {"1MiB": 1.0}, "get_gib_s": {"1MiB": 2.0}},
        "vm_execbuffer": {"interrupts_per_call": 0.5}, "vm_02": {},
        "copy_floor_set_gib_s": {"1MiB": 3.0}, "copy_floor_get_gib_s": {"1MiB": 4.0},
        "both_ends_set_gib_s": {"1MiB": 5.0}, "both_ends_get_gib_s": {"1MiB": 6.0},
        "ioctl_us": figures, "ioctl_answered_us": {"p50": 7.0, "p99": 8.0},
    }  # fmt: skip
    view = view_of(BenchRecord(answer=answer))
    assert view.ways == ("loopback", "guest", "guest, EXECBUFFER only", "guest, 0.2 alone")
    rates = {name: (cells, floor) for name, cells, floor in view.rates}
    assert [rates[f"{verb}, copied path, GiB/s: 1MiB"][1] for verb in ("set", "get")] == ["3 (5)", "4 (6)"]
    assert rates["interrupts of the guest's GPU per empty call"][0][2] == "0.5"
    floors = {name: cells for name, cells, _ in view.latencies if "floor" in name}
    assert floors == {
        "the floor: the submission ioctl alone": ("", "1 / 2", "", ""),
        "the floor: the ioctl and its answer": ("", "7 / 8", "", ""),
    }
