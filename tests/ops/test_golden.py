"""What goldens are at the ends of types and of definitions, where a case's id leads and no case of the catalog."""

from __future__ import annotations

import numpy as np
import pytest

from lab.ggml.arrays import bf16_bits, bf16_values
from lab.ggml.types import Type
from lab.ops.golden import rounded

LARGEST = {Type.F32: float(np.finfo(np.float32).max), Type.BF16: 2.0**128 - 2.0**120}


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
