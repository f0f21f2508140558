from __future__ import annotations

import shlex
import time
from pathlib import Path

import pytest

from lab.bundle.outcome import REFERENCE_REFUSES, Blame, CaseResult, FindingKind, Outcome
from lab.deadline import Deadline
from lab.errors import LabError
from lab.ggml.registry import Device
from lab.ops.upstream import (
    Ending,
    OccurrenceCounter,
    RowStream,
    Selection,
    Teller,
    expected_cases,
    first_without_result,
    guest_command,
    judge,
    lost_support,
    parse_row,
    program_argv,
    reference_device,
    refused_devices,
    remote_device,
    teller_of,
)
from lab.process import finish

DEVICE = "[virtgpu] CPU"
OK = '"[virtgpu] CPU","ADD","type=f32,ne=[1,1]","test","1","",""'
ALL_CASES, QUICK_S = 24_931, 5.0
SELECTION = Selection(("ADD", "MUL"), ("type=f32,", "type=f16,"))
CPU = Device(0, "CPU", "CPU", "", "CPU")
OURS = Device(1, "ggml-virtgpu", DEVICE, "", "GPU")


def stream_of(*lines: str) -> RowStream:
    stream = RowStream(DEVICE, lambda _: None)
    for line in lines:
        stream.feed(line)
    return stream


def row(supported: str, error: str, before: str = "") -> str:
    return f'{before}"[virtgpu] CPU","ADD","type=f32,ne=[1,1]","test","{supported}","{error}",""'


@pytest.mark.parametrize(
    ("line", "outcome", "message"),
    [
        (row("1", ""), Outcome.PASS, ""),
        (row("0", "not supported"), Outcome.UNSUPPORTED, "not supported"),
        (row("1", "test failed"), Outcome.FAIL, "test failed"),
        (row("1", "test failed", "[ADD] ERR = 1.0 > 0.1 "), Outcome.FAIL, "[ADD] ERR = 1.0 > 0.1 test failed"),
        (row("1", "test failed", "[ADD] NaN at index 3 (x=nan) "), Outcome.FAIL, "[ADD] NaN at index 3 (x=nan) test failed"),
        (row("0", "something new"), Outcome.FAIL, "something new"),
    ],
)
def test_row_is_read_with_what_stands_before_it(line: str, outcome: Outcome, message: str) -> None:
    (result,) = stream_of(line + "\n").results
    assert (result.case, result.op, result.outcome, result.message) == ("ADD(type=f32,ne=[1,1])", "ADD", outcome, message)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "load_backend: loaded CPU backend",
        '"backend_name","op_name","op_params","test_mode","supported","error_message","backend_reg_name"',
        '"CPU","ADD","type=f32","support","1","yes","CPU"',
        '"[virtgpu] CPU","ADD","type=f32',
    ],
)
def test_anything_else_is_no_row(line: str) -> None:
    assert parse_row(line) is None


def test_quotes_within_a_field_are_read() -> None:
    row = parse_row('"a ""b""","ADD","x=1","test","1","",""')
    assert row is not None
    assert row.backend == 'a "b"'


def test_repeated_rows_have_ids_of_their_own() -> None:
    counter = OccurrenceCounter()
    assert [counter.case_id(text) for text in ("A()", "B()", "A()", "A()")] == ["A()", "B()", "A()#2", "A()#3"]
    cases = expected_cases((OK, "noise", row("0", "not supported")), 0)
    assert cases.ids == ("ADD(type=f32,ne=[1,1])", "ADD(type=f32,ne=[1,1])#2")
    assert cases.unsupported == {"ADD(type=f32,ne=[1,1])#2"}


def test_list_of_expected_cases_has_to_go_with_its_programs_status() -> None:
    failed = (OK, row("1", "test failed"))
    assert len(expected_cases(failed, 1).ids) == 2
    for lines, status in (((OK,), 137), ((OK,), 1), (failed, 0), (failed, 134)):
        with pytest.raises(LabError, match=f"ended with status {status} while it listed its cases"):
            expected_cases(lines, status)


@pytest.mark.parametrize(
    ("backend", "teller"),
    [
        *((backend, Teller.DEVICE) for backend in ("X", "X, X, X", "X, R", "X, X, R, R")),
        *((backend, Teller.REFERENCE) for backend in ("R", "R, R")),
        *((backend, Teller.OTHER) for backend in ("Y", "X, Y", "R, X", "X, R, Y", "X, R, X", "", "X, ", "XX", "RR", "X,R")),
    ],
)
def test_row_of_an_unsupported_case_names_who_refuses_it_several_times(backend: str, teller: Teller) -> None:
    assert teller_of(backend, Outcome.UNSUPPORTED, "X", "R") is teller


def test_reference_has_a_say_in_nothing_but_what_is_unsupported() -> None:
    for backend, teller in (("X", Teller.DEVICE), ("R", Teller.OTHER), ("X, R", Teller.OTHER)):
        assert [teller_of(backend, outcome, "X", "R") for outcome in (Outcome.PASS, Outcome.FAIL)] == [teller] * 2
    assert teller_of("X, X", Outcome.UNSUPPORTED, "X", "X") is Teller.DEVICE


def test_case_that_the_reference_refuses_is_no_other_devices_and_no_lost_support() -> None:
    refusing = ("[virtgpu] CPU, [virtgpu] CPU, CPU", "CPU, CPU", "[virtgpu] CPU")
    rows = [f'"{backend}","ADD","n={number}","test","0","not supported",""' for number, backend in enumerate(refusing)]
    stream = stream_of(*rows, row("1", ""))
    cases = tuple(result.case for result in stream.results)
    assert (stream.foreign, [result.refused for result in stream.results]) == ([], [True, False, True, False])
    assert verdict(stream, Ending(0), ("ADD(n=0)", "ADD(n=1)", "ADD(n=2)", "ADD(type=f32,ne=[1,1])")) == {}
    assert [one.case for one in stream.results if lost_support(one, ())] == [cases[0], cases[2]]
    assert stream.results[1].message == REFERENCE_REFUSES


def test_error_number_of_another_thread_is_not_taken_for_the_rows_own() -> None:
    stream = stream_of("[MUL] ERR = 1.0 > 0.1 " + OK)
    assert (stream.results[0].message, stream.remarks) == ("", ["[MUL] ERR = 1.0 > 0.1"])


def test_pid_and_remarks_are_kept_apart_from_rows() -> None:
    stream = stream_of("pid 321\n", "loading\n", OK)
    assert (stream.pid, stream.remarks, len(stream.results)) == (321, ["loading"], 1)


def test_time_between_rows_is_measured() -> None:
    ticks = iter((10.0, 10.5, 12.0))
    stream = RowStream(DEVICE, lambda _: None, clock=lambda: next(ticks))
    for line in ("pid 1", OK, OK):
        stream.feed(line)
    assert [result.since_previous_ms for result in stream.results] == [500.0, 1500.0]


def test_patterns_become_one_that_is_anchored() -> None:
    assert SELECTION.arguments() == ("-o", "ADD,MUL", "-p", "^(type=f32,|type=f16,)")
    assert Selection(("ADD",)).arguments() == ("-o", "ADD")


def test_guest_command_tells_its_pid_and_the_signal_it_died_of(tmp_path: Path) -> None:
    command = guest_command(("sh", "-c", 'echo "$WORD"; echo err >&2; kill -9 $$'), {"WORD": "a 'quoted' one"})
    done = finish(("sh", "-c", command), deadline=Deadline.after(10), cwd=tmp_path)
    first, *rest = done.output.splitlines()
    assert first.startswith("pid ")
    assert rest[:2] == ["a 'quoted' one", "err"]
    assert done.exit_status == 128 + 9


def test_output_is_unbuffered_and_names_the_device() -> None:
    argv = program_argv(DEVICE, SELECTION)
    assert argv[:2] == ("stdbuf", "-oL")
    assert argv[argv.index("-b") + 1] == DEVICE
    assert shlex.split(shlex.join(argv)) == list(argv)


def verdict(stream: RowStream, ending: Ending, expected: tuple[str, ...], min_cases: int = 1) -> dict[FindingKind, str]:
    found = judge(stream, ending, expected, selection=Selection(("ADD",)), min_cases=min_cases)
    return {finding.kind: finding.text for finding in found}


def test_all_expected_cases_passed_is_no_finding() -> None:
    assert verdict(stream_of(OK), Ending(0), ("ADD(type=f32,ne=[1,1])",)) == {}


def test_all_cases_of_the_program_are_judged_at_once() -> None:
    cases = tuple(f"ADD(ne=[{number},1])" for number in range(ALL_CASES))
    stream = stream_of()
    stream.results = [CaseResult(case, "ADD", "", Outcome.PASS) for case in (*cases[1:], "ADD(surplus)")]
    began = time.monotonic()
    found = verdict(stream, Ending(0), cases)
    assert time.monotonic() - began < QUICK_S
    assert found == {
        FindingKind.MISSING_CASE: f"1 of {ALL_CASES} expected cases have no result, the first is {cases[0]}",
        FindingKind.SURPLUS_CASE: "1 cases were not expected, the first is ADD(surplus)",
    }


def test_status_0_with_a_failed_row_is_a_finding() -> None:
    failed = row("1", "test failed")
    assert FindingKind.PROGRAM_FAILED in verdict(stream_of(failed), Ending(0), ("ADD(type=f32,ne=[1,1])",))
    assert set(verdict(stream_of(failed), Ending(1), ("ADD(type=f32,ne=[1,1])",))) == {FindingKind.CASE_FAILED}


def test_fewer_cases_than_asked_for_and_an_op_without_any_are_findings() -> None:
    found = judge(stream_of(OK), Ending(0), ("ADD(type=f32,ne=[1,1])",), selection=SELECTION, min_cases=2)
    assert {finding.kind for finding in found} == {FindingKind.TOO_FEW_CASES, FindingKind.OP_WITHOUT_CASES}


def test_refused_cases_are_none_of_those_that_were_asked_for() -> None:
    stream = stream_of(OK, row("0", "not supported"))
    found = verdict(stream, Ending(0), ("ADD(type=f32,ne=[1,1])", "ADD(type=f32,ne=[1,1])#2"), min_cases=2)
    assert found == {FindingKind.TOO_FEW_CASES: "1 cases were computed, at least 2 were asked for"}


def test_cut_off_run_names_the_first_case_without_a_row_and_no_missing_ones() -> None:
    expected = ("ADD(type=f32,ne=[1,1])", "ADD(b)", "ADD(c)")
    found = verdict(stream_of(OK), Ending(None, Outcome.HANG, "no result for 5 s"), expected)
    assert set(found) == {FindingKind.INTERRUPTED}
    assert "hang: no result for 5 s; the first case without a result is ADD(b)" in found[FindingKind.INTERRUPTED]


def test_blame_of_an_ending_outweighs_its_outcomes() -> None:
    ending = Ending(None, Outcome.HOST_CRASH, "killed", Blame.LAB)
    (finding,) = judge(stream_of(OK), ending, ("ADD(type=f32,ne=[1,1])", "x"), selection=Selection(("ADD",)), min_cases=1)
    assert finding.blame is Blame.LAB


def test_first_without_result_of_a_whole_run_is_none() -> None:
    assert first_without_result([CaseResult("a", "", "", Outcome.PASS)], ("a",)) is None


def test_reference_is_the_first_device_of_type_cpu_and_must_not_be_ours() -> None:
    ours_as_cpu = Device(0, "ggml-virtgpu", DEVICE, "", "CPU")
    assert refused_devices((CPU, OURS)) == ()
    assert reference_device((OURS, CPU)) == CPU
    assert remote_device((CPU, OURS)) == OURS
    kinds = {
        (): FindingKind.NO_SUCH_DEVICE,
        (CPU,): FindingKind.NO_SUCH_DEVICE,
        (OURS,): FindingKind.WRONG_REFERENCE,
        (ours_as_cpu, CPU): FindingKind.WRONG_REFERENCE,
        (Device(0, "RPC", "RPC0", "", "CPU"), OURS): FindingKind.WRONG_REFERENCE,
        (Device(0, "CPU", DEVICE, "", "CPU"), OURS): FindingKind.WRONG_REFERENCE,
    }
    for devices, kind in kinds.items():
        assert [finding.kind for finding in refused_devices(devices)] == [kind]
