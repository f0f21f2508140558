"""The catalog computed natively in the host root, judged, and judged again with one element wrong in every result."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab import paths
from lab.deadline import Deadline
from lab.errors import HostError, LabError
from lab.ggml.arrays import STORED, bf16_bits, bf16_values
from lab.ggml.types import WHOLE_NUMBERS, typed
from lab.host.root import Bind, HostRoot, cached_host_root
from lab.ops.catalog import all_cases, cases_of
from lab.ops.native import PYTHON, PYTHON_WORDS, Computed, Files, Judged, NativeRun
from lab.ops.verdict import EXCUSES
from lab.process import finish
from tests.backends import BACKENDS

pytestmark = pytest.mark.protocol

OWN, OTHER = (f"{BACKENDS}/libggml-cpu-{name}.so" for name in ("haswell", "x64"))
CASES = tuple(case.id for case in all_cases() if case.parameters["transfer"] <= 1 << 20)
EXCUSED = {excuse.case for excuse in EXCUSES}
QUANTISED_COPY = re.compile(r"(CPY\(type=(i?q\w+),to=\2,|(DUP|CONT)\(type=i?q)")
ALIKE = re.compile(r"FILL\(|REPEAT\(ne=1x1x1x1|ARGMAX\(ne=1x")
WRITES_A_PART = re.compile(r"(CPY|SET_ROWS)\(.*lto=slice|CLAMP\(.*layout=(slice|step)")
OF_NO_MATTER = {
    "FILL fill 0", "CPY cpy 1", "GET_ROWS_BACK get_rows_back 2", "REPEAT repeat 1", "REPEAT_BACK repeat_back 1",
    "IM2COL im2col 0", "IM2COL_3D im2col_3d 0",
    "ARANGE arange 1", "POOL_2D pool_2d 6", "POOL_2D pool_2d 7",
    "SOFT_MAX_BACK soft_max_ext_back 3", "GRAPH soft_max_ext 3",
}  # fmt: skip
"""Operands and numbers on which only a result's shape depends, and slopes of what has none."""
FEW = 4
RUN_S = 300.0


def native_run(folder: Path, seed: int = 1) -> NativeRun:
    root = cached_host_root()
    if root is None:
        raise HostError("host root", "it is not in the cache", hint="lab setup")

    def enter(argv: Sequence[str], place: Path, env: Mapping[str, str]) -> Sequence[str]:
        return entered(root, argv, place, env)

    return NativeRun(enter, folder, seed)


def entered(root: HostRoot, argv: Sequence[str], place: Path, env: Mapping[str, str]) -> tuple[str, ...]:
    return root.enter(argv, binds=(Bind(paths.PROJECT), Bind(place, writable=True)), env=env, cwd=paths.PROJECT)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> NativeRun:
    return native_run(tmp_path_factory.mktemp("native"))


@pytest.fixture(scope="module")
def own(run: NativeRun) -> Computed:
    return run.compute(OWN, CASES, "own", Deadline.after(RUN_S), threads=1)


@pytest.fixture(scope="module")
def other(run: NativeRun) -> Computed:
    return run.compute(OTHER, CASES, "other", Deadline.after(RUN_S), threads=1)


@pytest.fixture(scope="module")
def judged(run: NativeRun, own: Computed, other: Computed) -> dict[str, Judged]:
    return run.judge(own.files, Deadline.after(RUN_S), other.files)


def operations(cases: Iterable[str]) -> set[str]:
    return {case.partition("(")[0] for case in cases}


def test_every_case_is_computed_or_unsupported(own: Computed) -> None:
    assert set(own.rows) == set(CASES)
    assert {row.outcome for row in own.rows.values()} == {"computed", "unsupported"}
    assert sum(row.outcome == "computed" for row in own.rows.values()) >= 4000
    assert own.device.registry == "CPU"


def test_both_oracles_accept_what_ggml_computes(judged: dict[str, Judged]) -> None:
    refused = [case for case, said in judged.items() if False in (said.against_ok, said.golden_ok) and case not in EXCUSED]
    assert refused == []
    assert all(judged[case].golden_ok is False for case in EXCUSED)


def test_every_case_has_something_to_compare_with_but_itself(other: Computed, judged: dict[str, Judged]) -> None:
    assert [case for case, said in judged.items() if said.golden_ok is said.against_ok is None] == []
    # What this build of the CPU backend cannot compute, another library may: it has a golden then.
    refused = [case for case, row in other.rows.items() if row.outcome != "computed"]
    copies = [case for case in judged if QUANTISED_COPY.match(case)]
    assert refused
    assert all(map(QUANTISED_COPY.match, refused))
    assert copies
    assert all(judged[case].golden_ok for case in copies)


def test_no_result_of_many_elements_has_one_number_all_over_without_need(own: Computed) -> None:
    values = np.fromfile(own.files.values, np.uint8)
    found = []
    for row in map(json.loads, own.files.rows.read_text(encoding="utf-8").splitlines()):
        place = row.get("at", 0)
        for label, _, size in row.get("outputs", ()):
            stored = values[place : place + size].view(STORED.get(typed(label), np.uint8))
            place += size
            if stored.size > FEW and (stored == stored[0]).all():
                found.append(row["case"])
    assert [case for case in found if not ALIKE.match(case)] == []
    assert found


def test_parameters_that_make_no_case_are_told_and_cost_no_other_case(run: NativeRun) -> None:
    bad = ["CPY(to=zzz)", "GRAPH(kind=foo)", "ROLL(by=1)", "PAD(by=1)", "MUL_MAT(nr=2)", "SCALE(ne=18446744073709551617)"]
    bad += ["CONT(layout=of10x5x4x3by1x0)", "SET_ROWS(r=9)", "MUL_MAT_ID(used=6)", "GET_ROWS(m=0)", "ROPE(context=4294967296)"]
    rows = run.compute(OWN, [*bad, "ADD()"], "bad", Deadline.after(RUN_S), threads=1).rows
    assert {case: row.outcome for case, row in rows.items()} == {**dict.fromkeys(bad, "error"), "ADD()": "computed"}
    assert "its parameters make no case: KeyError: 'zzz'" in rows["CPY(to=zzz)"].text


def test_results_without_elements_are_nothing_to_compare(run: NativeRun) -> None:
    cases = ["GET_ROWS(r=0)", "TOP_K(k=0)", "CPY(type=q4_0,to=q4_0,ne=256x0)", "SOFT_MAX(ne=0x16x1x1,mask=f32)"]
    own = run.compute(OWN, cases, "empty", Deadline.after(RUN_S), threads=1)
    assert {row.outcome for row in own.rows.values()} == {"computed"}
    said = run.judge(own.files, Deadline.after(RUN_S), own.files)
    assert said == dict.fromkeys(cases, Judged(None, "", None, "its results have no elements"))


def test_right_results_at_the_ends_of_types_and_definitions_are_not_refused(run: NativeRun) -> None:
    infinite = ["SCALE(x=1e+38)", "SCALE(type=bf16,x=1e+38)"]
    none = ["UPSCALE(to=20x10x4x3,mode=256)", "POOL_2D(p=1)", "POOL_1D(mean=1,k=2,p=1)", "MUL_MAT(type=q8_0,m=1)"]
    own = run.compute(OWN, [*infinite, *none], "ends", Deadline.after(RUN_S), threads=1)
    said = run.judge(own.files, Deadline.after(RUN_S))
    assert {case: one.golden_ok for case, one in said.items()} == {**dict.fromkeys(infinite, True), **dict.fromkeys(none)}


def test_every_operation_has_goldens_and_no_result_is_without_one_but_quantised_ones(
    own: Computed, judged: dict[str, Judged]
) -> None:
    computed = {case for case, row in own.rows.items() if row.outcome == "computed"}
    assert operations(computed) == operations(case for case, said in judged.items() if said.golden_ok is not None)
    assert len(operations(computed)) >= 109
    why = {judged[case].golden for case in computed if judged[case].golden_ok is None}
    assert [reason for reason in why if not reason.startswith("a result of type ")] == []


def test_every_number_and_tensor_of_an_operation_matters_in_some_case(run: NativeRun, tmp_path: Path) -> None:
    argv = run.enter((PYTHON, "tests/ops/insensitive.py"), tmp_path, PYTHON_WORDS)
    done = finish(argv, deadline=Deadline.after(RUN_S))
    assert done.exit_status == 0, done.output
    assert set(done.output.splitlines()) == OF_NO_MATTER


def test_one_wrong_element_in_any_operation_is_refused_by_both_oracles(
    run: NativeRun, own: Computed, other: Computed, judged: dict[str, Judged], tmp_path: Path
) -> None:
    # Of a block no element can be changed alone.
    with_golden = {case for case, said in judged.items() if said.golden_ok and not QUANTISED_COPY.match(case)}
    chosen = {case.partition("(")[0]: case for case in judged if case in with_golden}
    for case in judged:
        chosen.setdefault(case.partition("(")[0], case)
    harmed = harmed_copy(own, chosen.values(), run.folder)
    said = run.judge(harmed, Deadline.after(RUN_S), other.files)
    assert set(said) == set(chosen.values())
    assert [case for case, one in said.items() if one.against_ok is not False] == []
    assert [case for case, one in said.items() if case in with_golden and one.golden_ok is not False] == []
    assert len(operations(with_golden)) >= 100
    assert not list(tmp_path.iterdir())


def harmed_copy(own: Computed, cases: Iterable[str], folder: Path) -> Files:
    """The same results with one element wrong in each of the cases."""
    rows = {row["case"]: row for row in map(json.loads, own.files.rows.read_text(encoding="utf-8").splitlines())}
    values = np.fromfile(own.files.values, np.uint8)
    files = Files(folder / "harmed.rows", folder / "harmed.values")
    for case in cases:
        harm(values, rows[case])
    files.rows.write_text("\n".join(json.dumps(rows[case]) for case in cases), encoding="utf-8")
    values.tofile(files.values)
    return files


def harm(values: np.ndarray[Any, Any], row: dict[str, Any]) -> None:
    """Make the last finite element of the first result wrong by about the size of all, a whole number by one."""
    label, _, size = row["outputs"][0]
    kind, start = typed(label), row["at"]
    stored = values[start : start + size].view(STORED[kind])
    numbers = bf16_values(stored).astype(np.float64) if label == "bf16" else stored.astype(np.float64)
    finite = np.flatnonzero(np.isfinite(numbers))
    place = finite[-1]
    wrong = numbers[place] + (1.0 if kind in WHOLE_NUMBERS else max(1.0, 2 * float(np.abs(numbers[finite]).max())))
    stored[place] = bf16_bits(np.array([wrong], np.float32))[0] if label == "bf16" else wrong


def test_two_runs_of_a_seed_have_the_same_digests_and_another_seed_has_not(own: Computed, tmp_path: Path) -> None:
    some = [case.id for op in ("ADD", "MUL_MAT", "GRAPH") for case in cases_of(op)]
    again = native_run(tmp_path).compute(OWN, some, "again", Deadline.after(RUN_S), threads=1)
    assert [row.digest for row in again.rows.values()] == [own.rows[case].digest for case in again.rows]
    changed = native_run(tmp_path, seed=2).compute(OWN, some, "changed", Deadline.after(RUN_S), threads=1)
    assert all(changed.rows[case].digest != row.digest for case, row in again.rows.items() if row.digest)


@pytest.mark.parametrize(
    ("case", "seeds"),
    [
        ("CONV_TRANSPOSE_1D(type=f16,w=1,k=1)", (159, 174, 477)),
        ("MUL_MAT(type=f16,m=1,k=64)", (55, 233)),
        ("GELU_ERF(ne=1)", (416,)),
        ("SSM_CONV(inner=1)", (1799,)),
        ("GRAPH(kind=attention,type=q8_0,width=128,n=7,rounds=2)", (49, 81, 283)),
    ],
)
def test_no_seed_draws_what_right_results_are_refused_for(case: str, seeds: Sequence[int], tmp_path: Path) -> None:
    for seed in seeds:
        run = native_run(tmp_path, seed)
        own = run.compute(OWN, [case], f"own-{seed}", Deadline.after(RUN_S), threads=1)
        assert run.judge(own.files, Deadline.after(RUN_S))[case].golden_ok


def test_what_lies_beside_a_result_that_is_a_part_of_something_belongs_to_it(tmp_path: Path) -> None:
    run = native_run(tmp_path)
    cases = [case.id for case in all_cases() if WRITES_A_PART.match(case.id)]

    def digests(word: str) -> dict[str, str]:
        argv = run.enter((PYTHON, "tests/ops/spilling.py", OWN, word, *cases), tmp_path, PYTHON_WORDS)
        told: dict[str, str] = json.loads(finish(argv, deadline=Deadline.after(RUN_S)).output.splitlines()[-1])
        return told

    honest, spilt = digests("honest"), digests("spills")
    assert set(honest) == set(spilt) == set(cases)
    assert [case for case in cases if honest[case] == spilt[case]] == []
    assert len(operations(cases)) == len(("CPY", "SET_ROWS", "CLAMP"))


def results_of(folder: Path, word: str, *cases: str) -> list[tuple[str, str, int, int]]:
    """Case, outcome, batch and nanoseconds of each."""
    argv = native_run(folder).enter((PYTHON, "tests/ops/failing.py", OWN, word, *cases), folder, PYTHON_WORDS)
    told = json.loads(finish(argv, deadline=Deadline.after(RUN_S)).output.splitlines()[-1])
    return [(case, outcome, batch, duration_ns) for case, outcome, batch, duration_ns in told]


def test_case_that_fails_costs_no_other_and_a_device_that_ends_is_told(tmp_path: Path) -> None:
    cases = ("ADD()", "SQR()", "SUB()")
    assert [(case, outcome) for case, outcome, *_ in results_of(tmp_path, "fails", *cases)] == [
        ("ADD()", "computed"), ("SQR()", "error"), ("SUB()", "computed"),
    ]  # fmt: skip
    assert [outcome for _, outcome, *_ in results_of(tmp_path, "refuses", *cases)] == ["unsupported"] * 3
    assert [outcome for _, outcome, *_ in results_of(tmp_path, "no views", "ADD(layout=p0213)")] == ["computed"]
    for word in ("dies", "dead"):
        ((lost, why, *_),) = results_of(tmp_path, word, *cases)
        assert (lost, why) == ("lost", "the device computes nothing any more: no 1 nodes, the last of 1")


def test_cases_share_a_batch_and_its_time_as_far_as_they_may(tmp_path: Path) -> None:
    pieces = [f"SCALE(ne={size},x=2.0,transfer=4)" for size in (64, 65)]
    large = [f"SCALE(ne={size},x=2.0)" for size in (3_000_000, 3_000_001)]
    many = [f"ADD(a={size},b=1,rounds=2)" for size in (1, 2, 3, 4)]
    told = {case: (batch, spent_ns) for case, _, batch, spent_ns in results_of(tmp_path, "", *large, *pieces, *many)}
    assert [told[case][1] for case in (*large, *pieces, *many)] == [1000] * 4 + [500] * 4
    assert len({told[case][0] for case in (*large, *pieces)}) == 4
    assert len({told[case][0] for case in many}) == 1


def test_how_cases_travel_does_not_change_them(own: Computed, run: NativeRun) -> None:
    some = [case.id for op in ("SUB", "CPY", "SET_ROWS", "FLASH_ATTN_EXT") for case in cases_of(op)][::41]
    for case in some[:4]:
        alone = run.compute(OWN, [case], "alone", Deadline.after(RUN_S), threads=1)
        assert alone.rows[case].digest == own.rows[case].digest


def test_a_library_that_is_none_is_told(run: NativeRun) -> None:
    with pytest.raises(LabError, match="no backend library"):
        run.compute("/usr/lib/x86_64-linux-gnu/libc.so.6", ["ADD()"], "none", Deadline.after(60))
