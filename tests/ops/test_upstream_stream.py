from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from lab.bundle.outcome import REFERENCE_REFUSES, CaseResult, Outcome
from lab.bundle.writer import Measure
from lab.ops.agent_rows import AgentStream
from lab.ops.said import KEPT_REMARKS, LONGEST_REMARK
from lab.ops.upstream import RowStream
from lab.ops.upstream_cases import Batch, ListedCase, Mode
from lab.ops.upstream_rows import csv_row, row_reader, sql_row
from lab.ops.upstream_stream import BatchStream

DEVICE = "[virtgpu] CPU"
GREEN, RED, PLAIN = "\x1b[1;32m", "\x1b[1;31m", "\x1b[0m"
COLUMNS = (
    "test_time, build_commit, backend_name, op_name, op_params, test_mode, supported, passed, error_message, time_us, flops, "
    "bandwidth_gb_s, memory_kb, n_runs, device_description, backend_reg_name"
)


def csv_line(
    text: str, *, mode: str = "test", supported: str = "1", error: str = "", before: str = "", device: str = DEVICE
) -> str:
    op, _, params = text.removesuffix(")").partition("(")
    return f'{before}"{device}","{op}","{params}","{mode}","{supported}","{error}",""\n'


def sql_line(supported: int = 1, passed: int = 1, error: str = "", time: str = "1.5", runs: str = "8192") -> str:
    values = ("2026-01-31T06:15:00Z", "unknown", DEVICE, "ADD", "type=f32,ne=[1,1]", "perf", supported, passed, error, time)
    quoted = ", ".join(f"'{value}'" for value in (*values, "2.5", "34.1", "48", runs, "it''s a CPU", ""))
    return f"INSERT INTO test_backend_ops ({COLUMNS}) VALUES ({quoted});\n"  # noqa: S608 - no database is near


@pytest.mark.parametrize(
    ("mode", "supported", "error", "outcome"),
    [
        ("test", "1", "", Outcome.PASS),
        ("test", "1", "test failed", Outcome.FAIL),
        ("test", "0", "not supported", Outcome.UNSUPPORTED),
        ("test", "0", "", Outcome.FAIL),
        ("support", "1", "yes", Outcome.PASS),
        ("support", "0", "no", Outcome.UNSUPPORTED),
        ("support", "1", "no", Outcome.FAIL),
    ],
)
def test_csv_row_is_read_in_both_modes(mode: str, supported: str, error: str, outcome: Outcome) -> None:
    row = csv_row(csv_line("ADD(a=1)", mode=mode, supported=supported, error=error))
    assert row is not None
    assert (row.text, row.outcome, row.backend) == ("ADD(a=1)", outcome, DEVICE)


def test_sql_row_has_the_times_of_a_case_that_passed() -> None:
    row = sql_row(sql_line())
    assert row is not None
    assert (row.text, row.outcome) == ("ADD(type=f32,ne=[1,1])", Outcome.PASS)
    assert row.measure == Measure(1.5, 8192, 2.5, 34.1, 48)


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        (sql_line(0, 0, "not supported", "0"), Outcome.UNSUPPORTED),
        (sql_line(1, 0, "test failed"), Outcome.FAIL),
        (sql_line(1, 0), Outcome.FAIL),
    ],
)
def test_sql_row_without_a_pass_has_no_times(line: str, outcome: Outcome) -> None:
    row = sql_row(line)
    assert row is not None
    assert (row.outcome, row.measure) == (outcome, None)


@pytest.mark.parametrize(
    "line",
    [
        "", "CREATE TABLE IF NOT EXISTS test_backend_ops (", "  time_us REAL,", sql_line()[:-20],
        *(sql_line(time=time) for time in ("fast", "nan", "inf", "0", "-1")), sql_line().replace("'34.1'", "'inf'"),
    ],
)  # fmt: skip
def test_anything_else_of_sql_is_no_row(line: str) -> None:
    assert sql_row(line) is None


@pytest.mark.parametrize("line", ["  ADD(a=1): not supported [", "  ADD(a=1): not supported at all", "  ADD(a=1) not supported"])
def test_anything_else_of_the_console_is_no_row(line: str) -> None:
    assert row_reader("grad")(line) is None


def test_console_of_gradients_tells_a_case_in_several_lines() -> None:
    read = row_reader("grad")
    lines = [
        f"Backend 2/2: {DEVICE}\n",
        "  ABS(type=f16): not supported [out->type != FP32]\n",
        f"  SCALE(scale=2): {GREEN}OK{PLAIN}\n",
        f"  SUM(scale=2): {GREEN}OK{PLAIN}\n",
        f"  SCALE(scale=3): {GREEN}OK{PLAIN}\n",
        f"  SUM(scale=3): [SUM] MAA = 0.0007 > 0.0001 {RED}FAIL{PLAIN}\n",
        f"  SUM(scale=3): compare failed {RED}FAIL{PLAIN}\n",
        f"  ROPE(n=1): {GREEN}OK{PLAIN}\n",
        "  ROPE(n=1): not supported [ROPE]\n",
        f"  SCALE(scale=4): {GREEN}OK{PLAIN}\n",
    ]
    rows = [row for row in map(read, lines) if row is not None]
    assert [(row.text, row.outcome, row.message) for row in rows] == [
        ("ABS(type=f16)", Outcome.UNSUPPORTED, "not supported [out->type != FP32]"),
        ("SCALE(scale=2)", Outcome.PASS, ""),
        ("SCALE(scale=3)", Outcome.FAIL, "[SUM] MAA = 0.0007 > 0.0001 FAIL"),
        ("ROPE(n=1)", Outcome.UNSUPPORTED, "not supported [ROPE]"),
    ]
    assert {row.backend for row in rows} == {DEVICE}


CASES = tuple(ListedCase(text, "ADD", params, supported=True) for text, params in (
    ("ADD(a=1)", "a=1"), ("ADD(a=1)#2", "a=1"), ("ADD(a=2)", "a=2"), ("ADD(a=3)", "a=3"),
))  # fmt: skip


def stream(known: tuple[str, ...] = ()) -> BatchStream:
    return BatchStream(Mode.TEST, DEVICE, Batch(("ADD",), (), CASES), known, lambda _result, _measure: None)


def fed(one: BatchStream, *lines: str) -> BatchStream:
    for line in ("pid 7\n", '"backend_name","op_name"\n', *lines):
        one.feed(line)
    return one


def test_results_come_as_rows_do_and_the_first_case_without_one_is_running() -> None:
    told: list[CaseResult] = []
    one = stream()
    one.on_result = lambda result, _measure: told.append(result)
    fed(one, csv_line("ADD(a=1)"), csv_line("ADD(a=1)", error="test failed", before="[ADD] ERR = 1.0 > 0.1 "))
    assert (one.pid, one.started, one.failed) == (7, True, True)
    assert fed(stream(), csv_line("ADD(a=1)", error="test failed"), csv_line("ADD(a=2)")).failed
    assert [(result.case, result.outcome) for result in told] == [("ADD(a=1)", Outcome.PASS), ("ADD(a=1)#2", Outcome.FAIL)]
    assert told[1].message == "[ADD] ERR = 1.0 > 0.1 test failed"
    running = one.running()
    assert running is not None
    assert running.case == "ADD(a=2)"
    assert one.left() == ("ADD(a=2)", "ADD(a=3)")


def test_a_case_that_has_a_result_already_is_passed_over_when_its_text_runs_again() -> None:
    one = fed(stream(("ADD(a=1)",)), csv_line("ADD(a=1)", error="test failed"), csv_line("ADD(a=1)"))
    assert [(result.case, result.outcome) for result in one.results.values()] == [("ADD(a=1)#2", Outcome.PASS)]


def test_rows_after_the_device_was_lost_say_nothing() -> None:
    one = fed(stream(), csv_line("ADD(a=1)"), "ggml-virtgpu: device lost: the worker is gone; every later call fails\n")
    fed(one, csv_line("ADD(a=1)", supported="0", error="not supported"))
    assert one.lost.startswith("the worker is gone")
    assert list(one.results) == ["ADD(a=1)"]
    running = one.running()
    assert running is not None
    assert running.case == "ADD(a=1)#2"


@pytest.mark.parametrize(
    ("backend", "refused"), [(DEVICE, True), (f"{DEVICE}, {DEVICE}, CPU", True), ("CPU", False), ("CPU, CPU", False)]
)
def test_case_that_the_reference_alone_refuses_is_not_refused_by_the_device(backend: str, refused: bool) -> None:
    one = fed(stream(), csv_line("ADD(a=1)", supported="0", error="not supported", device=backend))
    assert [(result.outcome, result.refused) for result in one.results.values()] == [(Outcome.UNSUPPORTED, refused)]
    assert (one.foreign, one.failed) == ([], False)


def test_words_in_front_of_a_row_are_not_believed_to_be_ours() -> None:
    batch, told = stream(), list[CaseResult]()
    rows = RowStream(DEVICE, told.append)
    for one in (batch, rows):
        one.feed(csv_line("ADD(a=1)", supported="0", error="not supported", before=f"{REFERENCE_REFUSES} "))
    assert [result.refused for result in (*batch.results.values(), *told)] == [True, True]


@pytest.mark.parametrize(("mode", "error"), [(Mode.SUPPORT, "no"), (Mode.TEST, "test failed")])
def test_reference_has_a_say_in_nothing_but_what_test_cannot_compare(mode: Mode, error: str) -> None:
    one = stream()
    one.mode = mode
    fed(one, csv_line("ADD(a=1)", mode=mode, supported="0", error=error, device="CPU"))
    assert (one.foreign, one.results) == (["CPU"], {})


def test_rows_of_another_device_and_unknown_cases_are_kept_apart() -> None:
    one = fed(stream(), csv_line("ADD(a=1)", device="CPU"), csv_line("ADD(b=1)"))
    assert (one.foreign, one.surplus, one.results) == (["CPU"], ["ADD(b=1)"], {})


QUICK_S = 1.0
"""Nothing that a guest says in one line may hold up the lab: while an expression is matched, no deadline acts."""
HOSTILE = {
    "quotes": '"' * 60_000,
    "quotes and commas": '"",' * 20_000,
    "fields without an end": '","' * 20_000 + "x",
    "a case that begins again and again": "  ADD(" + "): OK [" * 9_000,
    "statements without an end": "INSERT INTO test_backend_ops () VALUES ('" * 1_500,
    "columns without an end": "INSERT INTO test_backend_ops (" * 2_000,
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("mode", [Mode.TEST, Mode.GRAD, Mode.PERF])
def test_no_line_stands_the_reader_still(mode: Mode, line: str) -> None:
    one = BatchStream(mode, DEVICE, Batch(("ADD",), (), CASES), (), lambda _result, _measure: None)
    begun = time.monotonic()
    one.feed(line + "\n")
    assert time.monotonic() - begun < QUICK_S
    assert len(one.remarks) == 1


LONG = csv_line(f"ADD({'a' * 200_000})")


def rows_and_remarks(feed: Callable[[str], None], results: Callable[[], int], remarks: list[str]) -> tuple[int, int, int]:
    feed(LONG)
    feed(csv_line("ADD(a=1)"))
    return results(), len(remarks), len(remarks[0])


def test_a_line_that_is_too_long_is_a_remark_and_the_next_row_is_read() -> None:
    batch, rows = stream(), RowStream(DEVICE, lambda _result: None)
    assert rows_and_remarks(batch.feed, lambda: len(batch.results), batch.remarks) == (1, 1, 1000)
    assert rows_and_remarks(rows.feed, lambda: len(rows.results), rows.remarks) == (1, 1, 1000)


@pytest.mark.parametrize("one", [stream(), RowStream(DEVICE, lambda _result: None), AgentStream()], ids=["batch", "rows", "agent"])
def test_of_all_that_is_said_the_last_words_are_kept(one: BatchStream | RowStream | AgentStream) -> None:
    for number in range(10_000):
        one.feed(f"warning {number}\n")
    one.feed(f"GGML_ASSERT(false) failed {'!' * 200_000}\n")
    assert one.remarks[-2:-1] == ["warning 9999"]
    assert one.remarks[-1].startswith("GGML_ASSERT(false) failed")
    assert (len(one.remarks), len(one.remarks[-1])) == (KEPT_REMARKS, LONGEST_REMARK)


@pytest.mark.parametrize(
    ("before", "backend", "said"),
    [
        ("", DEVICE, ""),
        ('ggml said "no", then ', DEVICE, 'ggml said "no", then'),
        ('"a","b",', DEVICE, '"a","b",'),
        ('"', DEVICE, '"'),
        ('"before"', f'before"{DEVICE}', ""),
    ],
)
def test_a_row_is_found_behind_whatever_stands_before_it(before: str, backend: str, said: str) -> None:
    row = csv_row(csv_line('ADD(a=""1"",b="","")', before=before))
    assert row is not None
    assert (row.backend, row.params, row.before) == (backend, 'a="1",b=","', said)
