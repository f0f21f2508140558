"""Tensors' data as numpy arrays. For judging only: what computes cases in a guest starts without numpy, which takes it a second."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from lab.ggml.library import Ggml, GgmlError
from lab.ggml.tensor import block_of
from lab.ggml.types import Bytes, Type

Array = npt.NDArray[Any]

STORED: dict[Type, np.dtype[Any]] = {
    Type.F32: np.dtype("<f4"),
    Type.F16: np.dtype("<f2"),
    Type.BF16: np.dtype("<u2"),
    Type.F64: np.dtype("<f8"),
    Type.I8: np.dtype("<i1"),
    Type.I16: np.dtype("<i2"),
    Type.I32: np.dtype("<i4"),
    Type.I64: np.dtype("<i8"),
}
"""Types that numpy can hold as they are; bf16 as its 16 bits."""


def bf16_bits(values: Array) -> Array:
    """Nearest bf16 of finite f32 values, ties to even, as 16 bits."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (rounded >> np.uint32(16)).astype(np.uint16)


def bf16_values(bits: Array) -> Array:
    """The f32 values of bf16 bits."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def decoded(kind: Type, data: Bytes) -> Array:
    """Elements of a type that is not quantised, in order, as numbers."""
    stored: Array = np.frombuffer(data, STORED[kind])
    return bf16_values(stored) if kind is Type.BF16 else stored


class TypeTraits(ctypes.Structure):
    """``struct ggml_type_traits``."""

    _fields_ = (
        ("type_name", ctypes.c_char_p),
        ("blck_size", ctypes.c_int64),
        ("blck_size_interleave", ctypes.c_int64),
        ("type_size", ctypes.c_size_t),
        ("is_quantized", ctypes.c_bool),
        ("to_float", ctypes.c_void_p),
        ("from_float_ref", ctypes.c_void_p),
    )


TO_FLOAT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


def dequantised(ggml: Ggml, kind: Type, blocks: Bytes) -> Array:
    """The f32 values of whole blocks of a quantised type, in order, by the library's own ``to_float``."""
    block = block_of(ggml, kind)
    traits = TypeTraits.from_address(ggml.made("ggml_get_type_traits", int(kind)))
    if len(blocks) % block.size or not traits.to_float:
        raise GgmlError("ggml_get_type_traits", f"{len(blocks)} bytes are no whole blocks of {kind.label}")
    source = np.frombuffer(blocks, np.uint8)
    values = np.empty(source.nbytes // block.size * block.elements, np.float32)
    if values.size:
        TO_FLOAT(traits.to_float)(source.ctypes.data, values.ctypes.data, values.size)
    return values
