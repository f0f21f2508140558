"""What goldens are at the ends of types and of definitions, where a case's id leads and no case of the catalog."""

from __future__ import annotations

import numpy as np
import pytest

from lab.ggml.arrays import Array, bf16_bits, bf16_values
from lab.ggml.modes import ANTIALIAS, BICUBIC, BILINEAR, CORNERS, NEAREST
from lab.ggml.types import Type
from lab.ops.build import LEAF, Value
from lab.ops.catalog import cases_of
from lab.ops.golden import NoGolden, evaluated, rounded
from lab.ops.golden_spatial import INTERPOLATIONS, interpolated
from lab.ops.judge import DEFINITIONS

LARGEST = {Type.F32: float(np.finfo(np.float32).max), Type.BF16: 2.0**128 - 2.0**120}
IMAGE = np.arange(24.0).reshape(1, 2, 3, 4)


@pytest.mark.parametrize("kind", LARGEST)
def test_results_beyond_their_type_are_infinite_and_others_stay_exact(kind: Type) -> None:
    largest = LARGEST[kind]
    half = 2.0**102 if kind is Type.F32 else 2.0**118
    kept = np.array([0.0, -0.1, largest, -largest, largest + half, np.inf, -np.inf, np.nan])
    assert rounded(kept, kind).tobytes() == kept.tobytes()
    beyond = np.array([largest + 2 * half, -largest - 2 * half, 1e300, -1e39])
    assert rounded(beyond, kind).tolist() == [np.inf, -np.inf, np.inf, -np.inf]


def test_infinity_begins_where_numbers_are_rounded_to_it() -> None:
    with np.errstate(over="ignore"):
        numbers = np.array([2.0**128 - 2.0**103, np.nextafter(2.0**128 - 2.0**103, 0), -1e39, 3e38])
        stored = numbers.astype(np.float32)
        assert np.isinf(rounded(numbers, Type.F32)).tolist() == np.isinf(stored).tolist() == [True, False, True, False]
        numbers = np.array([2.0**128 - 2.0**119, 2.0**128 - 2.0**120, 2.0**128 - 2.0**119 - 2.0**104])
        stored = bf16_values(bf16_bits(numbers.astype(np.float32)))
        assert np.isinf(rounded(numbers, Type.BF16)).tolist() == np.isinf(stored).tolist() == [True, False, False]


def test_modes_of_interpolation_with_goldens_are_those_of_the_catalog() -> None:
    assert {case.parameters["mode"] for case in cases_of("UPSCALE")} == INTERPOLATIONS
    for mode in INTERPOLATIONS:
        assert interpolated(IMAGE, 8, 4, 2, 1, mode).shape == (1, 2, 4, 8)


@pytest.mark.parametrize(
    "mode", [NEAREST | CORNERS, NEAREST | ANTIALIAS, BILINEAR | ANTIALIAS | CORNERS, BICUBIC | ANTIALIAS, 3, BILINEAR | 1 << 10]
)
def test_other_modes_of_interpolation_have_no_golden(mode: int) -> None:
    with pytest.raises(NoGolden, match=f"interpolation of mode {mode} has no definition here"):
        interpolated(IMAGE, 8, 4, 2, 1, mode)


@pytest.mark.parametrize(
    ("name", "numbers"), [("pool_1d", (0, 1, 1, 1)), ("pool_2d", (0, 1, 3, 1, 1, 1.0, 1.0)), ("pool_2d", (0, 3, 2, 1, 1, 0.0, 2.0))]
)
def test_largest_of_padding_alone_has_no_golden(name: str, numbers: tuple[float, ...]) -> None:
    with pytest.raises(NoGolden, match="the largest of a window that lies in the padding alone"):
        DEFINITIONS[name].compute(IMAGE, *numbers)


def test_largest_of_windows_that_reach_into_padding_is_finite() -> None:
    assert DEFINITIONS["pool_1d"].compute(IMAGE, 0, 3, 1, 1)[0, 0, 0].tolist() == [1.0, 2.0, 3.0, 3.0]
    assert DEFINITIONS["pool_2d"].compute(IMAGE, 0, 3, 3, 2, 2, 2.0, 2.0)[0, 0, :, 0].tolist() == [0.0, 8.0, 8.0]


def test_means_with_padding_have_goldens_of_images_alone() -> None:
    assert DEFINITIONS["pool_2d"].compute(np.ones((1, 1, 1, 1)), 1, 3, 3, 1, 1, 1.0, 1.0).tolist() == [[[[pytest.approx(1 / 9)]]]]
    assert DEFINITIONS["pool_1d"].compute(IMAGE, 1, 2, 2, 0)[0, 0, 0].tolist() == [0.5, 2.5]
    with pytest.raises(NoGolden, match="means of rows with padding"):
        DEFINITIONS["pool_1d"].compute(IMAGE, 1, 3, 1, 1)


def product(kind: Type, m: int, n: int) -> Array:
    """The golden of ``m`` times ``n`` elements of a product; the numbers are all 1."""
    first, second = (Value(tensor, LEAF, (), of, (64, rows, 1, 1)) for tensor, of, rows in ((1, kind, m), (2, Type.F32, n)))
    value = Value(3, "mul_mat", (first, second), Type.F32, (m, n, 1, 1))
    return evaluated(value, {1: np.ones((1, 1, m, 64)), 2: np.ones((1, 1, n, 64))}, DEFINITIONS)


def test_products_of_a_quantised_type_with_hardly_an_element_have_no_golden() -> None:
    for m, n in ((1, 1), (1, 3), (2, 3)):
        with pytest.raises(NoGolden, match=f"a product of {m * n} elements of a quantised type"):
            product(Type.Q8_0, m, n)
        assert product(Type.F16, m, n).tolist() == np.full((1, 1, n, m), 64.0).tolist()
    assert product(Type.Q8_0, 7, 1).tolist() == np.full((1, 1, 1, 7), 64.0).tolist()


def test_numbers_are_those_that_ggml_is_given() -> None:
    source = Value(1, LEAF, (), Type.F32, (2, 1, 1, 1))
    for x, wanted in ((0.1, float(np.float32(0.1))), (1e39, np.inf), (-1e39, -np.inf)):
        value = Value(2, "scale", (source, x), Type.F32, (2, 1, 1, 1))
        assert evaluated(value, {1: np.ones((1, 1, 1, 2))}, DEFINITIONS).tolist() == [[[[wanted, wanted]]]]
