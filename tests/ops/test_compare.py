from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.ggml.types import Type
from lab.ops import golden_rows
from lab.ops.build import LEAF, Value
from lab.ops.catalog import case_named
from lab.ops.compare import STEP_BITS, difference, step_of, tolerance_of
from lab.ops.golden import Definition, NoGolden, evaluated
from lab.ops.judge import Recorded, canonical, worst

EXPECTED = np.linspace(-1, 1, 24).reshape(1, 2, 3, 4)


def test_equal_results_are_acceptable_even_with_no_tolerance() -> None:
    assert difference(EXPECTED, EXPECTED, Type.F32, 0.0).acceptable


def test_one_wrong_element_is_named_fastest_dimension_first() -> None:
    got = EXPECTED.copy()
    got[0, 1, 2, 3] += 0.5
    found = difference(got, EXPECTED, Type.F32, 1e-7)
    assert not found.acceptable
    assert (found.bad, found.first_bad) == (1, (3, 2, 1, 0))
    assert "first at [3, 2, 1, 0]" in found.text


def test_one_wrong_element_among_many_is_seen_although_the_mean_hides_it() -> None:
    expected = np.ones((1, 1, 100, 1000))
    got = expected.copy()
    got[0, 0, 50, 500] = 2.0
    found = difference(got, expected, Type.F32, 5e-4)
    assert found.nmse < found.tolerance
    assert not found.acceptable


@pytest.mark.parametrize(("off", "acceptable"), [(0.078, True), (0.082, False)])
def test_one_element_may_be_off_by_eight_times_what_all_may_be(off: float, *, acceptable: bool) -> None:
    got = np.ones((1, 1, 100, 1000))
    got[0, 0, 50, 500] += off
    assert difference(got, np.ones_like(got), Type.F32, 1e-4).acceptable is acceptable


def test_bound_of_an_element_is_by_its_own_size_and_by_what_is_finite() -> None:
    large = np.zeros((1, 1, 100, 1000))
    large[0, 0, 50, 500] = 100.0
    assert difference(1.005 * large, large, Type.F32, 1e-4).acceptable
    masked = np.array([*[1.0] * 9, 0.0, *[-np.inf] * 10_000])
    got = masked.copy()
    got[9] = 0.027
    assert difference(got, masked, Type.F32, 1e-4).acceptable


@pytest.mark.parametrize("largest", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(("steps", "acceptable"), [(1.45, True), (1.55, False)])
def test_one_quantised_element_may_be_off_by_a_step_and_a_half(steps: float, largest: float, *, acceptable: bool) -> None:
    expected = largest * np.linspace(-1, 1, 4096).reshape(1, 1, 4, 1024)
    got = expected.copy()
    got[0, 0, 2, 0] += steps * largest * step_of(Type.Q4_0)
    assert difference(got, expected, Type.Q4_0, tolerance_of("CPY", Type.Q4_0)).acceptable is acceptable


def test_small_errors_everywhere_are_refused_by_the_mean() -> None:
    found = difference(EXPECTED * 1.001, EXPECTED, Type.F32, 1e-7)
    assert found.nmse == pytest.approx(1e-6)
    assert not found.acceptable
    assert "NMSE 1.0004e-06 (allowed 1e-06)" in difference(EXPECTED * 1.0010002, EXPECTED, Type.F32, 1e-6).text


def test_infinities_and_nans_must_stand_in_their_places() -> None:
    expected = np.array([1.0, -np.inf, np.nan])
    assert difference(expected, expected, Type.F32, 1e-7).acceptable
    for wrong in ([1.0, np.inf, np.nan], [1.0, -np.inf, 0.0], [np.nan, -np.inf, np.nan]):
        assert not difference(np.array(wrong), expected, Type.F32, 1e-7).acceptable


def test_a_result_where_zeros_are_expected_is_refused() -> None:
    found = difference(np.array([0.0, 1e-9]), np.zeros(2), Type.F32, 1e-7)
    assert (found.acceptable, found.nmse) == (False, float("inf"))
    assert difference(np.zeros(2), np.zeros(2), Type.F32, 1e-7).acceptable


def test_errors_are_told_in_units_in_the_last_place() -> None:
    one = np.array([1.0])
    assert difference(np.nextafter(one.astype(np.float32), np.float32(2)), one, Type.F32, 1e-7).max_ulp == 1.0
    assert difference(one + 2**-10, one, Type.F16, 1e-3).max_ulp == 1.0
    assert difference(one * 3 * 2.0**-149, one * 2 * 2.0**-149, Type.F32, 1e-7).max_ulp == 1.0
    assert difference(np.array([7]), np.array([5]), Type.I32, 0.0).max_ulp == 2.0


def test_other_shapes_are_no_comparison() -> None:
    for other in (np.zeros((1, 1, 2, 4)), np.zeros((1, 1, 3, 2))):
        with pytest.raises(ValueError, match="compared"):
            difference(np.zeros((1, 1, 2, 3)), other, Type.F32, 0.0)


@pytest.mark.parametrize("kind", STEP_BITS, ids=lambda kind: kind.label)
@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_a_row_of_seven_that_was_left_out_is_refused_in_every_quantised_type(kind: Type, weight: float) -> None:
    expected = np.resize(np.linspace(-1, 1, 2 ** STEP_BITS[kind] + 1), (1, 1, 7, 256))
    expected[0, 0, 6] *= weight
    got = expected.copy()
    got[0, 0, 6] = 0.0
    assert not difference(got, expected, kind, tolerance_of("SET_ROWS", kind)).acceptable


@pytest.mark.parametrize("kind", STEP_BITS, ids=lambda kind: kind.label)
def test_one_value_in_250_may_be_on_the_next_step_and_none_five_steps_off(kind: Type) -> None:
    expected = np.random.default_rng(1).uniform(-1, 1, (1, 1, 4, 256))
    moved = np.where(np.arange(1024).reshape(expected.shape) % 250 == 249, np.sign(expected) * step_of(kind), 0.0)
    tolerance = tolerance_of("CPY", kind)
    assert difference(expected - moved, expected, kind, tolerance).acceptable
    assert not difference(expected - 5 * moved, expected, kind, tolerance).acceptable


def test_one_value_in_eighteen_of_q8_0_may_be_on_the_next_step() -> None:
    expected = np.random.default_rng(1).uniform(-1, 1, (1, 1, 4, 256))
    got = expected + np.where(np.arange(1024).reshape(expected.shape) % 18, 0.0, 1 / 127)
    assert difference(got, expected, Type.Q8_0, tolerance_of("CPY", Type.Q8_0)).acceptable


@pytest.mark.parametrize(("kind", "one_in"), [(Type.Q4_0, 150), (Type.Q6_K, 150), (Type.Q8_0, 8)])
def test_more_values_on_the_next_step_are_refused(kind: Type, one_in: int) -> None:
    expected = np.random.default_rng(1).uniform(-1, 1, (1, 1, 64, 256))
    moved = np.where(np.arange(expected.size).reshape(expected.shape) % one_in, 0.0, -np.sign(expected) * step_of(kind))
    found = difference(expected + moved, expected, kind, tolerance_of("CPY", kind))
    assert (found.bad, found.acceptable) == (0, False)


@pytest.mark.parametrize("kind", [Type.I8, Type.I16, Type.I32, Type.I64], ids=lambda kind: kind.label)
@pytest.mark.parametrize("op", ["ARGSORT", "CONT", "CPY", "MUL_MAT"])
def test_whole_number_that_is_one_off_is_refused(op: str, kind: Type) -> None:
    expected = np.arange(-3000, 3000).reshape(1, 1, 6, 1000)
    got = expected.copy()
    got[0, 0, 5, 999] += 1
    found = difference(got, expected, kind, tolerance_of(op, kind))
    assert (found.acceptable, found.first_bad) == (False, (999, 5, 0, 0))


def test_indices_of_the_largest_have_no_order_and_those_of_other_operations_have() -> None:
    found, other = np.array([[3, 1], [0, 2]]), np.array([[1, 3], [2, 0]])
    top, sort = case_named("TOP_K()"), case_named("ARGSORT()")
    assert difference(canonical(top, found), canonical(top, other), Type.I32, 0.0).acceptable
    assert not difference(canonical(top, found), canonical(top, other[::-1]), Type.I32, 0.0).acceptable
    assert not difference(canonical(sort, found), canonical(sort, other), Type.I32, 0.0).acceptable


def test_results_are_where_their_row_says_one_behind_the_other(tmp_path: Path) -> None:
    rows, values = tmp_path / "rows", tmp_path / "values"
    line = {"case": "ADD()", "at": 2, "outputs": [["f16", [1, 1, 1, 1], 2], ["f32", [1, 1, 1, 1], 4]]}
    rows.write_text(f"a library's word\n{json.dumps(line)}\n", encoding="utf-8")
    values.write_bytes(bytes(range(8)))
    recorded = Recorded.read(rows, values)
    assert [(one.type, bytes(one.data)) for one in recorded.outputs("ADD()")] == [(Type.F16, b"\2\3"), (Type.F32, b"\4\5\6\7")]
    assert recorded.outputs("SUB()") == ()


def test_heads_and_channels_that_do_not_go_evenly_have_goldens_too() -> None:
    # Press et al., section 3 of their code: between the slopes of 8 heads lie those of the other 4
    exponents = [*range(1, 9), 0.5, 1.5, 2.5, 3.5]
    assert golden_rows.slopes(12, 8.0).tolist() == pytest.approx([2.0**-exponent for exponent in exponents])
    assert golden_rows.slopes(3, 0.0).tolist() == [1.0] * 3
    x = np.random.default_rng(1).uniform(-1, 1, (1, 5, 2, 3))
    parts = golden_rows.group_norm(x, 2, 0.0)
    for part in (parts[:, :3], parts[:, 3:]):
        assert (part.mean(), part.var()) == (pytest.approx(0.0), pytest.approx(1.0))


def test_quick_pairs_keep_their_angles_and_slow_ones_are_interpolated() -> None:
    # Peng et al., section 3.2: with 128 dimensions, base 10000 and 4096 positions, 32 turns are made by pair 20.9, one by pair 45.0
    kept = golden_rows.quick_pairs(64, 128, 4096, 10000.0, (32.0, 1.0))
    assert kept[:21].tolist() == [1.0] * 21
    assert kept[46:].tolist() == [0.0] * 18
    assert np.diff(kept[20:47]).tolist() == pytest.approx([-1 / 26] * 26)


@pytest.mark.parametrize(
    ("mode", "positions", "powers"),
    [
        (8, [0, 0, 1, 1, 1, 2, 3, 0], range(8)),
        (40, [0, 1, 2, 0, 1, 3, 3, 0], range(8)),
        (24, [0, 0, 1, 1, 1, 2, 3, 0, 0, 1, 1, 1, 2, 3, 0, 0], [0, 1, 0, 1, 2, 0, 0, 0, 1, 0, 1, 2, 0, 0, 0, 1]),
    ],
    ids=["in sections", "in turns", "pictures"],
)
def test_pairs_turn_by_the_position_of_their_section(mode: int, positions: list[int], powers: list[int]) -> None:
    # Wang et al., Qwen2-VL: sections of 2, 3, 1 and 1 pairs, which begin anew; a row of ones and noughts shows cosine and sine
    count = len(positions)
    x = np.concatenate((np.ones(count), np.zeros(count))).reshape(1, 1, 1, -1)
    places = np.array([1.0, 0.5, 0.25, 0.125])
    got = golden_rows.rope_multi(x, places, None, 16, (2, 3, 1, 1), mode, 0, 10000.0, 1.0, 0.0, 2.0, 32.0, 1.0)
    angles = [places[which] * 10000.0 ** (-2 * power / 16) for which, power in zip(positions, powers, strict=True)]
    assert got.reshape(2, -1).tolist() == [pytest.approx(2 * np.cos(angles)), pytest.approx(2 * np.sin(angles))]
    back = golden_rows.rope_multi(
        got / 4, places, None, 16, (2, 3, 1, 1), mode, 0, 10000.0, 1.0, 0.0, 2.0, 32.0, 1.0, forward=False
    )
    assert back == pytest.approx(x)


def test_numbers_that_a_definition_does_not_reach_are_no_golden_and_end_nothing() -> None:
    x, places = np.ones((1, 1, 1, 8)), np.ones(1)
    numbers = {"context": 512, "base": 10000.0, "scale": 0.5, "ext": 1.0, "attn": 1.0, "fast": 32.0, "slow": 1.0}
    for name in ("context", "scale", "fast", "slow"):
        with pytest.raises(NoGolden, match="YaRN without"):
            golden_rows.rope(x, places, None, 8, 0, *{**numbers, name: 0.0}.values())
    for mode, sections in ((8, (2, 2, 0)), (8, (2, -1, 1, 0)), (40, (0, 0, 0, 0)), (2, (1, 1, 1, 1)), (24, (2, 0, 2, 0))):
        with pytest.raises(NoGolden, match="section"):
            golden_rows.rope_multi(x, np.ones(4), None, 8, sections, mode, *numbers.values())
    with pytest.raises(NoGolden, match="pictures with factors"):
        golden_rows.rope_multi(x, np.ones(4), np.ones(4), 8, (2, 2, 0, 0), 24, *numbers.values())
    value = Value(1, "rope_ext", (Value(2, LEAF, (), Type.F32, (8, 1, 1, 1)), 0), Type.F32, (8, 1, 1, 1))
    for trouble in (IndexError, ZeroDivisionError, ValueError, TypeError):
        with pytest.raises(NoGolden, match="does not reach these arguments: so it is"):
            evaluated(value, {2: x}, {"rope_ext": Definition(raising(trouble("so it is")), "")})


def raising(error: Exception) -> Callable[..., Any]:
    def compute(*_: Any) -> Any:
        raise error

    return compute


def test_the_worst_of_several_results_is_one_that_is_refused() -> None:
    refused = difference(EXPECTED * 1.001, EXPECTED, Type.F32, 1e-7)
    coarse = difference(EXPECTED * 1.002, EXPECTED, Type.F32, 1e-3)
    assert coarse.nmse > refused.nmse
    assert worst([refused, coarse]) is worst([coarse, refused]) is refused
    assert worst([]) is None
    finer = difference(EXPECTED * 1.0001, EXPECTED, Type.F32, 1e-3)
    assert worst([finer, coarse]) is worst([coarse, finer]) is coarse


def test_tolerances_follow_operation_and_type() -> None:
    assert (tolerance_of("CPY", Type.F32), tolerance_of("GRAPH", Type.F32), tolerance_of("ADD", Type.BF16)) == (1e-6, 2e-3, 2e-5)
    assert tolerance_of("ADD", Type.F32) == 1e-7
    assert tolerance_of("MUL_MAT", Type.F32) == 5e-4
    assert tolerance_of("ADD", Type.F16) == 1e-6
    assert tolerance_of("ARGSORT", Type.F32) == 0.0
    assert tolerance_of("CPY", Type.Q4_0) > tolerance_of("CPY", Type.Q8_0) > tolerance_of("CPY", Type.F16)
