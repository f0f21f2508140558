"""The numbers that cases compute with: the same on every machine, from a case's id, the seed and the round alone.

The words are SplitMix64's (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014), whole arrays of them at
a time in numpy's 64-bit integers; what they become is exact integer and f32 arithmetic. numpy's own generators are not used:
loading them is a part of the start. Quantised data are made of random bytes with scales put where the block has them, so no
quantiser runs (those of the IQ types take milliseconds a row) and no machine's rounding shows.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace

import numpy as np

from lab.ggml.types import Array, Block, Bytes, Type, encoded

WORD = 8
GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIXING = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
STEPS = np.arange(1 << 12, dtype=np.uint64) * GAMMA
"""What is added to a source's state for its first words."""
PERIOD = 65521
"""Longer tensors repeat their numbers: a prime, so that no misplaced page or power of two looks right."""


@dataclass(frozen=True, slots=True)
class Fill:
    """How a tensor is filled.

    ``uniform`` numbers between ``low`` and ``high`` · ``integers`` the same, whole numbers, ``high`` excluded · ``distinct``
    a permutation of 0 … n-1 in every row, scaled to [``low``, ``high``) · ``rows`` distinct integers below ``high`` in every
    row · ``mask`` 0 or minus infinity, never a row of infinities · ``constant`` is ``low`` · ``count`` 0, 1, 2 …
    """

    kind: str = "uniform"
    low: float = -1.0
    high: float = 1.0


UNIFORM = Fill()
POSITIVE = Fill(low=0.125, high=2.0)
MASK = Fill("mask")
ZERO = Fill("constant", 0.0)
COUNT = Fill("count")
DISTINCT = Fill("distinct")
WIDE = Fill(low=-8.0, high=8.0)


def integers(high: int, low: int = 0) -> Fill:
    """Whole numbers from ``low`` to below ``high``."""
    return Fill("integers", low, high)


def distinct_rows(high: int) -> Fill:
    """In every row different whole numbers below ``high``."""
    return Fill("rows", 0, high)


def between(low: float, high: float) -> Fill:
    """Numbers between two bounds."""
    return replace(UNIFORM, low=low, high=high)


class Source:
    """The random words of one case, seed and round, in the order in which they are asked for: SplitMix64 from a hashed start."""

    def __init__(self, case_id: str, seed: int, number: int = 0) -> None:
        digest = hashlib.blake2b(f"{case_id}\0{seed}\0{number}".encode(), digest_size=WORD).digest()
        self._state = int.from_bytes(digest, "little")

    def bytes(self, count: int) -> Bytes:
        """Random bytes."""
        words = -(-count // WORD)
        mixed = STEPS[1 : words + 1] if words < STEPS.size else np.arange(1, words + 1, dtype=np.uint64) * GAMMA
        mixed = mixed + np.uint64(self._state)
        self._state = (self._state + words * int(GAMMA)) % (1 << 64)
        for shift, factor in MIXING:
            mixed ^= mixed >> shift
            mixed *= factor
        mixed ^= mixed >> np.uint64(31)
        return mixed.astype("<u8", copy=False).view(np.uint8)[:count]

    def whole(self, count: int) -> Array:
        """Random numbers of 32 bits."""
        return self.bytes(4 * count).view("<u4")

    def unit(self, count: int) -> Array:
        """f32 numbers in [0, 1), multiples of 2^-24."""
        drawn = (self.whole(count) >> np.uint32(8)).astype(np.float32)
        drawn *= np.float32(2.0**-24)
        return drawn


def filled(source: Source, kind: Type, ne: tuple[int, ...], block: Block, fill: Fill) -> Bytes:
    """The bytes of a contiguous tensor."""
    count = math.prod(ne)
    if kind.quantised:
        return random_blocks(source, kind, count // block.elements, block.size)
    return encoded(kind, numbers(source, fill, count, ne[0])).view(np.uint8)


def numbers(source: Source, fill: Fill, count: int, row: int) -> Array:
    """``count`` numbers in rows of ``row``."""
    match fill.kind:
        case "uniform":
            drawn = source.unit(min(count, PERIOD))
            drawn *= np.float32(fill.high - fill.low)
            drawn += np.float32(fill.low)
            values: Array = np.resize(drawn, count) if count > PERIOD else drawn
        case "integers":
            span = np.uint64(int(fill.high) - int(fill.low))
            wide = source.whole(min(count, PERIOD)).astype(np.uint64)
            whole = ((wide * span) >> np.uint64(32)).astype(np.int64) + int(fill.low)
            values = np.resize(whole, count) if count > PERIOD else whole
        case "distinct":
            order = _shuffled(source, count, row, row).astype(np.float32)
            values = order * np.float32((fill.high - fill.low) / max(row, 1)) + np.float32(fill.low)
        case "rows":
            values = _shuffled(source, count, row, int(fill.high))
        case "mask":
            values = np.where(source.whole(count) & np.uint32(3), np.float32(0), np.float32(-np.inf))
            values[::row] = 0
        case "constant":
            values = np.full(count, fill.low, np.float32)
        case "count":
            values = np.arange(count)
        case _:
            raise ValueError(fill.kind)
    return values


def _shuffled(source: Source, count: int, row: int, choices: int) -> Array:
    """Rows of ``row`` different numbers below ``choices``."""
    keys = source.whole(count // max(row, 1) * choices).reshape(-1, choices)
    return np.argsort(keys, axis=1, kind="stable")[:, :row].reshape(-1)


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


def random_blocks(source: Source, kind: Type, count: int, size: int) -> Bytes:
    """Random blocks of a quantised type whose values are finite and of the size of 1."""
    blocks = source.bytes(count * size).copy().reshape(count, size)
    scales = SCALES[kind]
    full = FULL_SCALE.get(kind, 8)
    fractions = (blocks[:, 0].astype(np.float32) + np.float32(128)) / np.float32(256 * full)
    for offset in scales.half:
        blocks[:, offset : offset + 2] = fractions.astype("<f2").view(np.uint8).reshape(count, 2)
    for offset in scales.minimum:
        blocks[:, offset : offset + 2] = (fractions * np.float32(-8)).astype("<f2").view(np.uint8).reshape(count, 2)
    for offset in scales.exponent:
        blocks[:, offset] = 124 + blocks[:, offset] % 4
    for offset in scales.small:
        blocks[:, offset] = 0x20 + blocks[:, offset] % 16
    if kind is Type.IQ1_M:
        _set_spread_scale(blocks)
    return blocks.reshape(-1)


def _set_spread_scale(blocks: Array) -> None:
    """IQ1_M keeps its f16 scale in the upper four bits of its four words of scales."""
    words = blocks[:, IQ1_M_SCALES[0] : IQ1_M_SCALES[1]].copy().view("<u2")
    scale = int(np.float16(1 / 16).view(np.uint16))
    for index in range(4):
        words[:, index] = (words[:, index] & np.uint16(0x0FFF)) | np.uint16(((scale >> (4 * index)) & 0xF) << 12)
    blocks[:, IQ1_M_SCALES[0] : IQ1_M_SCALES[1]] = words.view(np.uint8)
