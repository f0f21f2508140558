from __future__ import annotations

from pathlib import Path

import pytest

from lab.bundle.outcome import Outcome
from lab.bundle.schema import BENCH, BenchRecord, Status
from reports.measures import LEAST_CALLS, Measure, Sort, figures, measured, with_parts
from tests.bench.realistic import ANSWER, token
from tests.reports.runs import write_run

WAYS_AND_FLOORS = BenchRecord(answer=ANSWER, tokens=(token("all", "copied", 9.0, 700.0),))


def test_calls_have_a_median_and_how_far_their_parts_lie_apart(tmp_path: Path) -> None:
    found = with_parts(measured(write_run(tmp_path, [10.0] * 50 + [30.0] * 49)))
    assert found.measures["s/v/calls.count"] == Measure("s/v/calls.count", Sort.COUNT, 99, 99, 99)
    assert found.measures["s/v/graph_run.p50_us"] == Measure("s/v/graph_run.p50_us", Sort.TIME, 10.0, 10.0, 30.0)
    assert found.machines == {"s/v": "a processor, 2 cores, tcg"}
    assert found.cut == {}


def test_few_calls_have_no_median(tmp_path: Path) -> None:
    assert "s/v/graph_run.p50_us" not in measured(write_run(tmp_path, [10.0] * (LEAST_CALLS - 1))).measures
    assert "s/v/graph_run.p50_us" in measured(write_run(tmp_path, [10.0] * LEAST_CALLS)).measures


@pytest.mark.parametrize("status", [Status.RUNNING, Status.INTERRUPTED, Status.ERROR, Status.SKIPPED])
def test_what_did_not_come_to_its_end_has_no_figures(tmp_path: Path, status: Status) -> None:
    found = measured(write_run(tmp_path, [10.0] * 50, [("a", Outcome.PASS, "")], status))
    assert (found.measures, found.ends, found.cut) == ({}, {}, {"s/v": status})


def test_a_case_counts_by_its_worst_end_and_not_at_all_where_an_expectation_names_it(tmp_path: Path) -> None:
    cases = (
        ("a", Outcome.PASS, ""),
        ("b", Outcome.PASS, ""),
        ("b", Outcome.HOST_CRASH, ""),
        ("b", Outcome.FAIL, ""),
        ("c", Outcome.PASS, "flaky"),
        ("c", Outcome.FAIL, ""),
    )
    found = measured(write_run(tmp_path, (), cases))
    assert found.ends == {"s/v": {"ops: a": Outcome.PASS, "ops: b": Outcome.HOST_CRASH, "ops: c": Outcome.FAIL}}
    assert found.named == {("s/v", "ops: c")}


def test_figures_of_a_benchmark_have_the_names_of_its_line(tmp_path: Path) -> None:
    found = measured(write_run(tmp_path, bench=WAYS_AND_FLOORS)).measures
    assert found["s/v/vm.empty_call_us.p50"] == Measure("s/v/vm.empty_call_us.p50", Sort.TIME, 4.0, 3.6, 6.0)
    rate = found["s/v/vm_02.set_gib_s.64MiB"]
    assert (rate.value, rate.least, rate.most, rate.more_is_better) == (0.9, pytest.approx(0.72), pytest.approx(1.08), True)
    assert found["s/v/ioctl_us.p50"].sort is Sort.FLOOR
    assert found["s/v/vm.sent.copied.graph_1000.bytes_out"] == Measure(
        "s/v/vm.sent.copied.graph_1000.bytes_out", Sort.COUNT, 312_000, 312_000, 312_000
    )
    assert found["s/v/token.all.copied.us"] == Measure("s/v/token.all.copied.us", Sort.TIME, 700.0, 630.0, 840.0)
    assert found["s/v/token.all.copied.calls"].value == 9.0
    assert not [name for name in found if "idle" in name or "vm_other" in name]


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"answer": {"vm": 3}}', '{"answer": {"vm": {"a_us": {"p50": "x"}}}}', '{"answer": {}, "tokens": [{}]}'],
)
def test_a_benchmark_that_cannot_be_read_has_no_figures(tmp_path: Path, text: str) -> None:
    folder = write_run(tmp_path, [10.0] * 50, bench=WAYS_AND_FLOORS)
    (folder / "logs" / "v" / BENCH).write_text(text)
    assert {name.rpartition("/")[2] for name in measured(folder).measures} == {"calls.count", "graph_run.p50_us"}


def test_a_few_files_are_enough_for_the_figures_alone(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [10.0] * 50 + [30.0] * 49, [("a", Outcome.PASS, "")])
    (folder / "calls.jsonl").unlink()
    (folder / "results.jsonl").unlink()
    found = figures(folder)
    assert {name: one.value for name, one in found.measures.items()} == {
        "s/v/cases.ok": 1.0,
        "s/v/calls.count": 99.0,
        "s/v/graph_run.p50_us": 10.0,
    }
    assert found.measures["s/v/cases.ok"].more_is_better


@pytest.mark.parametrize("said", ["NaN", "Infinity", "-Infinity", "-1.0", '"NaN"', "1e300", "1e-300"])
def test_what_nobody_can_have_measured_is_no_figure(tmp_path: Path, said: str) -> None:
    folder = write_run(
        tmp_path, [10.0] * 50, bench=BenchRecord(answer={"floor_us": ANSWER["floor_us"], "ioctl_us": ANSWER["ioctl_us"]})
    )
    for path, known in ((folder / "run.json", '"p50_us": 10.0'), (folder / "logs" / "v" / BENCH, '"p50":0.5')):
        text = path.read_text(encoding="utf-8")
        assert known in text
        path.write_text(text.replace(known, f"{known.partition(':')[0]}: {said}"), encoding="utf-8")
    assert {name.rpartition("/")[2] for name in measured(folder).measures} == {"calls.count", "ioctl_us.p50"}


def test_a_run_that_goes_on_with_another_does_not_count_calls(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [10.0] * 50)
    earlier = '"resumed": [{"run": "r", "started": "s", "status": "interrupted"}]'
    text = (folder / "run.json").read_text(encoding="utf-8").replace('"resumed": []', earlier)
    assert earlier in text
    (folder / "run.json").write_text(text, encoding="utf-8")
    assert set(measured(folder).measures) == {"s/v/graph_run.p50_us"}


def test_numbers_without_end_are_no_figures(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [10.0] * 50)
    text = (folder / "run.json").read_text(encoding="utf-8").replace('"count": 50', f'"count": {10**400}', 1)
    (folder / "run.json").write_text(text, encoding="utf-8")
    assert "s/v/calls.count" not in figures(folder).measures
