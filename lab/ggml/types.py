"""ggml's tensor types: their numbers (``ggml.h`` of libggml 1.0, where F8_E4M3 is new) and their blocks.

How they look in numpy: ``lab.ggml.arrays``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

Bytes = bytes | bytearray | memoryview
"""Data of tensors; a memoryview is one of bytes, without gaps."""


class Type(IntEnum):
    """``enum ggml_type``. Names are ``ggml_type_name``'s in capitals."""

    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q4_1 = 3
    Q5_0 = 6
    Q5_1 = 7
    Q8_0 = 8
    Q8_1 = 9
    Q2_K = 10
    Q3_K = 11
    Q4_K = 12
    Q5_K = 13
    Q6_K = 14
    Q8_K = 15
    IQ2_XXS = 16
    IQ2_XS = 17
    IQ3_XXS = 18
    IQ1_S = 19
    IQ4_NL = 20
    IQ3_S = 21
    IQ2_S = 22
    IQ4_XS = 23
    I8 = 24
    I16 = 25
    I32 = 26
    I64 = 27
    F64 = 28
    IQ1_M = 29
    BF16 = 30
    TQ1_0 = 34
    TQ2_0 = 35
    MXFP4 = 39
    NVFP4 = 40
    Q1_0 = 41
    Q2_0 = 42
    F8_E4M3 = 43

    __hash__ = int.__hash__
    """Enum's own is made of the name, in Python: types are keys in every inner loop."""

    @property
    def label(self) -> str:
        """The name as ggml writes it, such as ``f32`` or ``q4_K``."""
        return f"{self.name[:-2].lower()}_K" if self.name.endswith("_K") else self.name.lower()

    @property
    def quantised(self) -> bool:
        """Whether elements come in blocks with a scale."""
        return self not in PLAIN


@dataclass(frozen=True, slots=True)
class Block:
    """``elements`` values in ``size`` bytes; 1 and the element's size for types that are not quantised."""

    elements: int
    size: int


WHOLE_NUMBERS = frozenset({Type.I8, Type.I16, Type.I32, Type.I64})
PLAIN = frozenset({Type.F32, Type.F16, Type.BF16, Type.F64}) | WHOLE_NUMBERS
"""Types whose elements stand each by itself."""

BY_LABEL = {kind.label: kind for kind in Type}


def typed(label: str) -> Type:
    """The type of a name such as ``q4_K``. Raises ``KeyError`` for any other."""
    return BY_LABEL[label]
