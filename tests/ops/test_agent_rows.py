from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.bundle.outcome import Outcome
from lab.deadline import Deadline
from lab.ggml.registry import Device
from lab.guest.agent.ops import BadOption, Options, options_of
from lab.ops.agent_rows import LOST, MAX_LOST, AgentFailed, AgentRow, AgentStream, Cut, all_rows, in_order, lost_row
from lab.ops.catalog import all_cases
from lab.ops.native import NativeRun
from lab.ops.parcel import agent_parcel, imported, needed_modules
from lab.ops.said import remark

DEVICE = Device(0, "CPU", "CPU", "", "CPU")
CASES = tuple(case.id for case in all_cases()[:300])


def agent(killers: set[str], starts: list[int], *, deaf: bool = False):  # type: ignore[no-untyped-def]  # noqa: ANN201
    def attempt(cases: Sequence[str], batch: int) -> AgentStream:
        starts.append(batch)
        stream = AgentStream(device=None if deaf else DEVICE, remarks=["Segmentation fault"])
        for start in range(0, len(cases), batch):
            together = cases[start : start + batch]
            if killers & set(together):
                return stream
            stream.rows += [AgentRow(case, "computed", "d") for case in together]
        stream.ended = True
        return stream

    return attempt


def test_cases_go_in_one_start_when_nothing_happens() -> None:
    starts: list[int] = []
    rows = all_rows(CASES, agent(set(), starts))
    assert tuple(row.case for row in rows) == in_order(CASES)
    assert starts == [128]


def test_cases_that_end_the_process_are_found_and_no_other_is_lost() -> None:
    killers = {CASES[3], CASES[4], CASES[200]}
    told: list[Sequence[str]] = []
    rows = all_rows(CASES, agent(killers, []), on_unexplained=lambda _stream, of: told.append(of))
    assert told == []
    assert {row.case for row in rows if row.outcome == LOST} == killers
    assert sorted(row.case for row in rows) == sorted(CASES)
    assert next(row for row in rows if row.outcome == LOST).text == "Segmentation fault"


def test_lost_case_is_what_whoever_watched_found_out() -> None:
    stream = AgentStream(device=DEVICE, remarks=["a", "b", "c", "d"])
    assert (lost_row("ADD()", stream).lost_as, lost_row("ADD()", stream).text) == (Outcome.GUEST_CRASH, "b · c · d")
    stream.cut = Cut(Outcome.HANG, "nothing came for a minute")
    assert lost_row("ADD()", stream) == AgentRow("ADD()", LOST, text="nothing came for a minute", lost_as=Outcome.HANG)


def test_case_whose_row_was_torn_is_run_again_and_no_other() -> None:
    starts: list[Sequence[str]] = []

    def attempt(cases: Sequence[str], _batch: int) -> AgentStream:
        starts.append(cases)
        told = [case for case in cases if case != CASES[5] or len(starts) > 1]
        return AgentStream([AgentRow(case, "computed", "d") for case in told], DEVICE, ended=True)

    rows = all_rows(CASES, attempt)
    assert sorted(row.case for row in rows) == sorted(CASES)
    assert starts[1:] == [[CASES[5]]]
    assert all_rows(CASES, lambda _cases, _batch: AgentStream(device=DEVICE, ended=True)) == ()


def test_only_those_that_travelled_with_the_one_that_ended_it_go_alone() -> None:
    parts: list[tuple[int, int]] = []
    once = agent({in_order(CASES)[3]}, [])

    def attempt(cases: Sequence[str], batch: int) -> AgentStream:
        parts.append((len(cases), batch))
        stream: AgentStream = once(cases, batch)
        stream.rows.append(AgentRow("of a case that nobody asked for", "computed", "d"))
        return stream

    assert sorted(row.case for row in all_rows(CASES, attempt)) == sorted(CASES)
    assert parts == [(300, 128), (128, 1), (124, 1), (172, 128)]


def test_too_many_losses_end_it() -> None:
    with pytest.raises(AgentFailed, match="3 cases ended the process"):
        all_rows(CASES, agent(set(CASES), []), max_lost=2)


def test_a_library_by_itself_may_end_the_process_more_often_than_behind_our_rules(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    killers = set(CASES[: MAX_LOST + 1])
    once = agent(killers, [])

    def ended(_run: NativeRun, words: Sequence[str], part: Sequence[str], _files: object, _deadline: object) -> AgentStream:
        return once(part, int(words[-1]))

    monkeypatch.setattr(NativeRun, "_once", ended)
    run = NativeRun(lambda argv, _folder, _env: argv, tmp_path, 1)
    computed = run.compute("/a/library.so", CASES, "own", Deadline.after(5.0))
    assert {case for case, row in computed.rows.items() if row.outcome == LOST} == killers
    with pytest.raises(AgentFailed):
        all_rows(CASES, once)


@pytest.mark.parametrize("count", [1, 3])
def test_a_start_that_ends_behind_its_last_row_costs_no_case_and_is_told(count: int) -> None:
    """The second start has one case at a time, and no case is left that could be to blame."""
    starts: list[int] = []
    told: list[tuple[AgentStream, Sequence[str]]] = []
    cases = in_order(CASES[:count])

    def attempt(part: Sequence[str], batch: int) -> AgentStream:
        starts.append(batch)
        return AgentStream([AgentRow(case, "computed", "d") for case in part] if batch == 1 else [], DEVICE)

    rows = all_rows(cases, attempt, on_unexplained=lambda stream, of: told.append((stream, of)))
    assert tuple(row.case for row in rows) == cases
    assert {row.outcome for row in rows} == {"computed"}
    assert starts == [128, 1]
    assert [of for _, of in told] == [cases, ()]


def test_an_agent_that_does_not_start_is_told() -> None:
    with pytest.raises(AgentFailed, match="Segmentation fault"):
        all_rows(CASES, agent(set(), [], deaf=True))


def test_lines_of_the_agent_are_read() -> None:
    stream = AgentStream()
    device = {"index": 0, "registry": "ggml-virtgpu", "name": "[virtgpu] CPU", "description": "", "type": "GPU"}
    stream.feed(json.dumps({"device": device, "pid": 7, "others": [device]}) + "\n")
    stream.feed(json.dumps({"case": "ADD()", "outcome": "unsupported", "digest": "", "ns": 5, "batch": 1}) + "\n")
    stream.feed('{"case": "torn')
    stream.feed("load_backend: loaded\n")
    assert (stream.device, stream.pid) == (Device(**device), 7)
    assert [row.supported for row in stream.rows] == [False]
    assert stream.remarks == ['{"case": "torn', "load_backend: loaded"]
    assert not stream.ended


def test_first_process_that_is_told_is_the_programs() -> None:
    stream = AgentStream()
    for line in ("pid 7\n", "pid 9\n"):
        stream.feed(line)
    assert (stream.started, stream.remarks) == (7, ["pid 9"])


def test_parcel_has_all_that_it_imports_and_runs_on_its_own(tmp_path: Path) -> None:
    parcel = tmp_path / "ops.pyz"
    parcel.write_bytes(agent_parcel())
    done = subprocess.run((sys.executable, "-I", "-S", parcel, "--help"), capture_output=True, text=True, check=False)
    assert (done.returncode, "--device" in done.stdout) == (0, True)


def test_the_agents_options_are_read_or_refused() -> None:
    words = ("--device", "[virtgpu] CPU", "--seed", "3", "--cases", "-", "--batch", "1", "--hold")
    assert options_of(words) == Options(seed=3, cases="-", device="[virtgpu] CPU", batch=1, hold=True)
    for wrong in (
        (*words, "--seeds", "1"),
        (*words, "--values"),
        words[2:],
        (*words, "--library", "x"),
        (*words, "--seed", "x"),
        ("cases",),
    ):
        with pytest.raises(BadOption):
            options_of(wrong)


def test_parcel_is_the_same_each_time_and_imports_the_standard_library_only() -> None:
    assert agent_parcel() == agent_parcel()
    foreign = {
        name.split(".")[0] for path in needed_modules("lab.guest.agent.ops") for name in imported(path.read_text(encoding="utf-8"))
    } - set(sys.stdlib_module_names)
    assert foreign == {"lab"}
    names = zipfile.ZipFile(io.BytesIO(agent_parcel())).namelist()
    assert not [name for name in names if "upstream" in name or "judge" in name]


@pytest.mark.parametrize(
    "line",
    [
        '{"case": "ADD()"}',
        '{"case": "ADD()", "outcome": "computed", "digest": "d", "ns": "1000", "batch": 1}',
        '{"case": "ADD()", "outcome": "computed", "digest": "d", "ns": 1' + "0" * 400 + ', "batch": 1}',
        '{"case": "ADD()", "outcome": "computed", "digest": "d", "ns": -1, "batch": 1}',
        '{"device": "[virtgpu] CPU"}',
        '{"device": {"index": 1}, "pid": 7, "others": []}',
        '{"lost": {}}',
        '{"lost": "half a pair: \\ud800"}',
        '{"a": ' + "[" * 100_000,
        "pid " + "9" * 5000,
    ],
    ids=[
        "a row without keys",
        "a row of other types",
        "a row of a time without end",
        "a row of a time before its begin",
        "a device in words",
        "a device without keys",
        "a loss",
        "half a pair",
        "brackets",
        "digits",
    ],
)
def test_lines_that_only_look_like_ours_are_remarks(line: str) -> None:
    stream = AgentStream()
    stream.feed(f"{line}\n")
    assert stream == AgentStream(remarks=[remark(line)])
