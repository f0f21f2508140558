from __future__ import annotations

import ctypes

import numpy as np
import pytest

from lab.ggml.arrays import bf16_bits, bf16_values
from lab.ggml.library import LETTERS, TensorStruct
from lab.ggml.operations import OPERATIONS
from lab.ggml.types import Type, typed


def test_labels_are_as_ggml_writes_them() -> None:
    assert [kind.label for kind in (Type.F32, Type.Q4_K, Type.IQ2_XXS, Type.BF16)] == ["f32", "q4_K", "iq2_xxs", "bf16"]
    assert all(typed(kind.label) is kind for kind in Type)


def test_unknown_type_is_refused() -> None:
    with pytest.raises(KeyError):
        typed("q4_k")


def test_bf16_rounds_to_nearest_even() -> None:
    values = np.array([1.0, 1.00390625, 1.01171875, -2.5, 3.0e38], np.float32)
    assert bf16_values(bf16_bits(values)).tolist()[:4] == [1.0, 1.0, 1.015625, -2.5]


def test_tensor_struct_is_of_ggmls_size() -> None:
    assert ctypes.sizeof(TensorStruct) == 336
    assert TensorStruct.data.offset == 248


def test_every_operation_is_typed() -> None:
    letters = {letter for signature in OPERATIONS.values() for letter in signature}
    assert letters <= set(LETTERS) | {"t"}
