"""Random blocks of quantised types: random bytes with scales put where a block has them.

So no quantiser runs (those of the IQ types take milliseconds a row) and no machine's rounding shows.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from lab.ggml.types import Type


@dataclass(frozen=True, slots=True)
class Scales:
    """Where a block's scales stand: offsets of f16 numbers, of f16 minima, of 8-bit exponents, of 8-bit floats."""

    half: tuple[int, ...] = ()
    minimum: tuple[int, ...] = ()
    exponent: tuple[int, ...] = ()
    small: tuple[int, ...] = ()


SCALES = {
    Type.Q4_0: Scales((0,)),
    Type.Q4_1: Scales((0,), (2,)),
    Type.Q5_0: Scales((0,)),
    Type.Q5_1: Scales((0,), (2,)),
    Type.Q8_0: Scales((0,)),
    Type.Q2_K: Scales((80, 82)),
    Type.Q3_K: Scales((108,)),
    Type.Q4_K: Scales((0, 2)),
    Type.Q5_K: Scales((0, 2)),
    Type.Q6_K: Scales((208,)),
    Type.IQ2_XXS: Scales((0,)),
    Type.IQ2_XS: Scales((0,)),
    Type.IQ2_S: Scales((0,)),
    Type.IQ3_XXS: Scales((0,)),
    Type.IQ3_S: Scales((0,)),
    Type.IQ1_S: Scales((0,)),
    Type.IQ4_NL: Scales((0,)),
    Type.IQ4_XS: Scales((0,)),
    Type.TQ1_0: Scales((52,)),
    Type.TQ2_0: Scales((64,)),
    Type.MXFP4: Scales(exponent=(0,)),
    Type.NVFP4: Scales(small=(0, 1, 2, 3)),
    Type.Q1_0: Scales((0,)),
    Type.Q2_0: Scales((0,)),
    Type.IQ1_M: Scales(),
}
"""Layouts of ggml's blocks, as ``ggml_get_type_traits``' ``to_float`` reads them (a test decodes a block of each type)."""

FULL_SCALE = {
    **dict.fromkeys((Type.Q8_0, Type.IQ4_NL), 127),
    **dict.fromkeys((Type.IQ2_XXS, Type.IQ2_XS, Type.IQ2_S), 256),
    **dict.fromkeys((Type.IQ3_XXS, Type.IQ3_S), 512),
    Type.Q2_K: 64,
    Type.Q3_K: 128,
    Type.Q4_K: 960,
    Type.Q5_K: 2016,
    Type.Q6_K: 32 * 128,
    Type.IQ4_XS: 127 * 32,
}
"""About the largest product of a block's inner scale and value, for values of the size of 1; 8 where nothing is said."""
IQ1_M_SCALES = (48, 56)


IQ1_M_SCALE = struct.pack("<e", 1 / 16)


def scaled_blocks(kind: Type, drawn: bytes, size: int) -> bytes:
    """Random bytes as blocks of a quantised type whose values are finite and of the size of 1.

    Args:
        kind: the type.
        drawn: random bytes, so many as the blocks have.
        size: of a block.
    """
    blocks, first = bytearray(drawn), drawn[::size]
    scales, full = SCALES[kind], FULL_SCALE.get(kind, 8)
    fractions = [(byte + 128) / (256 * full) for byte in first]
    for offset in scales.half:
        _put_half(blocks, offset, size, fractions)
    for offset in scales.minimum:
        _put_half(blocks, offset, size, [-8 * fraction for fraction in fractions])
    for offset in scales.exponent:
        blocks[offset::size] = bytes(124 + byte % 4 for byte in blocks[offset::size])
    for offset in scales.small:
        blocks[offset::size] = bytes(0x20 + byte % 16 for byte in blocks[offset::size])
    if kind is Type.IQ1_M:
        _put_spread_scale(blocks, size)
    return bytes(blocks)


def _put_half(blocks: bytearray, offset: int, size: int, numbers: list[float]) -> None:
    """A f16 number into every block."""
    packed = struct.pack(f"<{len(numbers)}e", *numbers)
    blocks[offset::size], blocks[offset + 1 :: size] = packed[0::2], packed[1::2]


def _put_spread_scale(blocks: bytearray, size: int) -> None:
    """IQ1_M keeps its f16 scale in the upper four bits of its four words of scales, the lowest bits in the first."""
    for index, upper in enumerate(range(IQ1_M_SCALES[0] + 1, IQ1_M_SCALES[1], 2)):
        part = IQ1_M_SCALE[index // 2] >> (4 * (index % 2)) & 0xF
        blocks[upper::size] = bytes(byte & 0xF | part << 4 for byte in blocks[upper::size])
