from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.bundle.outcome import Outcome
from lab.bundle.schema import BENCH, BenchRecord, Status
from reports.measures import LEAST_CALLS, Measure, Sort, figures, measured, with_parts
from tests.bench.realistic import ANSWER, token, uncounted_token
from tests.reports.runs import write_run

WAYS_AND_FLOORS = BenchRecord(answer=ANSWER, tokens=(token("all", "copied", 9.0, 700.0), token("ring", "shared", 9.0, 900.0)))


def test_calls_have_a_median_and_how_far_their_parts_lie_apart(tmp_path: Path) -> None:
    found = with_parts(measured(write_run(tmp_path, [10.0] * 50 + [30.0] * 49)))
    assert found.measures["s/v/calls.count"] == Measure("s/v/calls.count", Sort.COUNT, 99, 99, 99)
    assert found.measures["s/v/graph_run.p50_us"] == Measure("s/v/graph_run.p50_us", Sort.TIME, 10.0, 10.0, 30.0)
    assert found.machines == {"s/v": "a processor, 2 cores, tcg"}
    assert found.cut == {}


def test_parts_are_of_a_variant_s_own_calls_in_the_order_in_which_they_began(tmp_path: Path) -> None:
    """Thirty calls are ten parts of three: one that took long among them moves no median, three at the end do."""
    folder = write_run(tmp_path, [10.0] * 12 + [1000.0] + [10.0] * 14 + [30.0] * 3)
    rows = [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]
    others = [{**row, "variant": "w", "duration_ns": 1} for row in rows]
    shuffled = [
        {**row, "seq": row["seq"] % 3} for row in (*rows[::3], *others, *rows[1::3], *rows[2::3])
    ]  # each session has its own count
    (folder / "calls.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in shuffled))
    (one,) = (one for one in with_parts(measured(folder)).measures.values() if one.sort is Sort.TIME)
    assert (one.value, one.least, one.most) == (10.0, 10.0, 30.0)
    (folder / "calls.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows[:5]))
    assert with_parts(measured(folder)).measures == measured(folder).measures, "nobody knows how far they wandered"


def test_few_calls_have_no_median(tmp_path: Path) -> None:
    assert "s/v/graph_run.p50_us" not in measured(write_run(tmp_path, [10.0] * (LEAST_CALLS - 1))).measures
    assert "s/v/graph_run.p50_us" in measured(write_run(tmp_path, [10.0] * LEAST_CALLS)).measures


@pytest.mark.parametrize("status", [Status.RUNNING, Status.INTERRUPTED, Status.ERROR, Status.SKIPPED])
def test_what_did_not_come_to_its_end_has_no_figures(tmp_path: Path, status: Status) -> None:
    found = measured(write_run(tmp_path, [10.0] * 50, [("a", Outcome.PASS, "")], status))
    assert (found.measures, found.ends, found.cut) == ({}, {}, {"s/v": status})


def test_a_run_that_failed_has_its_figures(tmp_path: Path) -> None:
    found = measured(write_run(tmp_path, [10.0] * 50, [("a", Outcome.FAIL, "")], Status.FAILED))
    assert set(found.measures) == {"s/v/cases.ok", "s/v/calls.count", "s/v/graph_run.p50_us"}
    assert found.measures["s/v/cases.ok"].value == 0, "a history is to see that all of its cases are lost"
    assert found.ends == {"s/v": {"ops: a": Outcome.FAIL}}
    assert measured(write_run(tmp_path)).measures == {}, "no calls, and no cases"


def test_a_machine_that_nobody_knows_is_named_as_that(tmp_path: Path) -> None:
    folder = write_run(tmp_path, processor="")
    text = (folder / "run.json").read_text(encoding="utf-8")
    (folder / "run.json").write_text(text.replace('"accel": "tcg"', '"accel": null'), encoding="utf-8")
    assert measured(folder).machines == {"s/v": "an unknown processor, 2 cores, no accelerator"}
    run = json.loads(text)
    run["variants"].append({**run["variants"][0], "variant": "w", "accel": "kvm"})
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    known = {"s/v": "an unknown processor, 2 cores, tcg", "s/w": "an unknown processor, 2 cores, kvm"}
    assert measured(folder).machines == known, "each variant has its own accelerator"


@pytest.mark.parametrize(
    ("description", "told"),
    [("a GPU", ", a GPU"), ("a processor", ""), ("CPU (a processor)", ""), ("", "")],
    ids=["another device", "the processor itself", "and by more words", "nobody knows"],
)
def test_a_device_is_part_of_the_machine_where_it_is_not_its_processor(tmp_path: Path, description: str, told: str) -> None:
    folder = write_run(tmp_path)
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    run["variants"][0]["device"] = {"registry": "r", "name": "n", "type": "GPU", "description": description}
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    assert measured(folder).machines == {"s/v": f"a processor, 2 cores, tcg{told}"}


def test_a_case_that_a_further_process_ran_is_the_same(tmp_path: Path) -> None:
    folder = write_run(tmp_path, (), [("a", Outcome.PASS, ""), ("a", Outcome.FAIL, "")])
    first, second = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert '"check":"ops"' in second
    other = second.replace('"check":"ops"', '"check":"ops 2"')
    (folder / "results.jsonl").write_text(f"{first}\n{other}\n", encoding="utf-8")
    assert measured(folder).ends == {"s/v": {"ops: a": Outcome.FAIL}}


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
    assert found["s/v/token.ring.shared.rebuilt_us"] == Measure(
        "s/v/token.ring.shared.rebuilt_us", Sort.TIME, 1800.0, 1620.0, 2160.0
    )
    assert not [name for name in found if "idle" in name or "vm_other" in name]
    kinds = {name.removeprefix("s/v/").rpartition(".")[0] for name in found}
    ways = {"loopback", "vm", "vm_execbuffer", "vm_02"}
    assert kinds >= {f"{way}.{rates}" for way in ways for rates in ("graphs_per_s", "calls_per_s", "set_gib_s", "empty_call_us")}
    floors = {"floor_us", "ioctl_us", "ioctl_answered_us", "copy_floor_set_gib_s", "copy_floor_get_gib_s"}
    assert {name.removeprefix("s/v/").rpartition(".")[0] for name, one in found.items() if one.sort is Sort.FLOOR} == floors
    sent = [name.rpartition(".")[2] for name in found if ".vm.sent." in name.replace("/", ".")]
    assert sent == ["commands", "bytes_out", "bytes_in"]
    of_token = {name.rpartition(".")[2] for name in found if "/token." in name}
    assert of_token == {"us", "rebuilt_us", "calls", "bytes", "rebuilt_calls"}


def test_what_was_not_counted_of_a_token_is_no_figure_and_its_time_may_be_alone(tmp_path: Path) -> None:
    bare = {key: value for key, value in uncounted_token().items() if not key.endswith(("_min", "_max"))}
    found = measured(write_run(tmp_path, bench=BenchRecord(answer={}, tokens=(bare,)))).measures
    name = "s/v/token.all.copied.us"
    assert found[name] == Measure(name, Sort.TIME, 1300.0, 1300.0, 1300.0)
    assert {one.rpartition(".")[2] for one in found} == {"us", "rebuilt_us"}


@pytest.mark.parametrize(("logs", "found"), [("logs/elsewhere", True), ("../outside", False)])
def test_a_benchmark_is_where_its_bundle_says_and_within_it(tmp_path: Path, logs: str, *, found: bool) -> None:
    folder = write_run(tmp_path / "runs", bench=WAYS_AND_FLOORS)
    (folder / "logs" / "v").rename(folder / logs)
    text = (folder / "run.json").read_text(encoding="utf-8")
    assert '"logs": "logs/v"' in text
    (folder / "run.json").write_text(text.replace('"logs": "logs/v"', f'"logs": "{logs}"'), encoding="utf-8")
    assert bool(measured(folder).measures) is found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"answer": {"vm": 3}}',
        '{"answer": {"vm": {"a_us": {"p50": "x"}}}}',
        '{"answer": {}, "tokens": [{}]}',
        '{"answer": {"vm": {"a_us": {"p50": null, "spread": {"min": 1, "max": 1}}}}}',
        f'{{"answer": {{"vm": {{"a_us": {{"p50": {10**400}}}}}}}}}',
        '{"answer": {"vm": {"a_us": {"p50": 1, "spread": {"min": 1, "max": 1}}}}, "tokens": [{}]}',
        None,
    ],
)
def test_a_benchmark_that_cannot_be_read_has_no_figures(tmp_path: Path, text: str | None) -> None:
    folder = write_run(tmp_path, [10.0] * 50, bench=WAYS_AND_FLOORS)
    (folder / "logs" / "v" / BENCH).unlink()
    if text is None:
        (folder / "logs" / "v" / BENCH).symlink_to("/proc/self/mem")  # a file, and reading it fails
    else:
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


@pytest.mark.parametrize(
    ("value", "ends", "is_one"),
    [
        (1e-9, (1e-9, 1e15), True),
        (0.0, (0.0, 0.0), True),
        (0.9e-9, (1.0, 1.0), False),
        (1.0, (-1.0, 1.0), False),
        (1.0, (1.0, 1.1e15), False),
    ],
)
def test_a_figure_is_within_what_can_be_measured_and_so_are_its_ends(
    value: float, ends: tuple[float, float], *, is_one: bool
) -> None:
    assert Measure("s/v/a", Sort.TIME, value, *ends).is_figure is is_one


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
