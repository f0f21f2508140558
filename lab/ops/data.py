"""The numbers that cases compute with: the same on every machine, from a case's id, the seed and the round alone.

Numbers of one type and filling stand in a cycle, which is made of the seed. A tensor's are a stretch of it: where that begins
depends on the case, the round and the tensor's place in the case. So data are copied and hardly ever made, and an emulated guest
computes in the time that it would need to draw them. The words beneath are SHAKE128's (FIPS 202); what they become is exact
integer and double arithmetic, rounded once. There is no numpy here: importing it would be a third of a program's time in a guest.
"""

from __future__ import annotations

import functools
import math
import struct
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, replace

from lab.ggml.types import Block, Bytes, Type
from lab.ops.bits import masked, symmetric
from lab.ops.blocks import scaled_blocks
from lab.ops.hashes import blake2b, shake_128

PERIOD = 16381
"""Elements of a cycle: a prime, so that no misplaced page or power of two looks right, and no two tensors of a case are alike."""
BLOCKS = 509
"""Blocks of a quantised type's cycle, for the same reason a prime."""
KEPT_BYTES = 4 << 20
"""Longer stretches are put together when they are wanted, and not kept."""
ORDERS = 4
"""So many orders of numbers there are; each row has one of them, turned by a number of its own."""
WORD_VALUES = 1 << 32
BELOW_ONE = 1 - 2.0**-24
"""The largest number that f32 has below 1: what is drawn stays below its upper bound when it is rounded."""
ALONE = PERIOD // 64
"""Shorter stretches of a filling that had no longer one yet are made by themselves: a cycle would take longer."""


@dataclass(frozen=True, slots=True)
class Fill:
    """How a tensor is filled.

    ``uniform`` numbers between ``low`` and ``high`` · ``integers`` the same, whole numbers, ``high`` excluded · ``distinct``
    a permutation of 0 … n-1 in every row, scaled to [``low``, ``high``) · ``rows`` distinct integers below ``high`` in every
    row · ``mask`` 0 or minus infinity, never a row of infinities · ``slanted`` the same with numbers in the place of most zeros ·
    ``constant`` is ``low`` · ``count`` 0, 1, 2 …
    """

    kind: str = "uniform"
    low: float = -1.0
    high: float = 1.0

    def lacks(self, row: int) -> str:
        """Why there are no such numbers for rows of ``row``; nothing where there are: an index must be one, and once in its row."""
        if self.kind == "integers" and not self.low < self.high:
            return f"no whole number is from {self.low} to below {self.high}"
        if self.kind == "rows" and row > self.high:
            return f"no {row} different numbers of 0 or more are below {self.high}"
        return ""


UNIFORM = Fill()
POSITIVE = Fill(low=0.125, high=2.0)
MASK = Fill("mask")
SLANTED = Fill("slanted", -4.0, 4.0)
"""For what is multiplied with a mask: 0 and minus infinity are the same ones behind it, whatever it is."""
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


class Cycle:
    """Elements of ``size`` bytes that come again and again."""

    def __init__(self, elements: bytes, size: int) -> None:
        self._once = elements
        self._size = size
        self._kept = bytearray(elements)

    @property
    def period(self) -> int:
        """How many elements there are."""
        return len(self._once) // self._size

    def stretch(self, begin: int, count: int) -> Bytes:
        """``count`` elements from one on."""
        start, end = begin * self._size, (begin + count) * self._size
        if end > KEPT_BYTES:
            return self._repeated(end)[start:end]
        if end > len(self._kept):
            self._kept = self._repeated(max(end, 2 * len(self._kept)))
        return memoryview(self._kept)[start:end]

    def _repeated(self, size: int) -> bytearray:
        """At least ``size`` bytes."""
        return bytearray(self._once) * -(-size // len(self._once))


class Source:
    """Where in the cycles the numbers of one case, seed and round begin, tensor by tensor.

    The places are as many steps apart as the case says; because the period is a prime, no two of them are the same.
    """

    def __init__(self, case_id: str, seed: int, number: int = 0) -> None:
        digest = blake2b(f"{case_id}\0{seed}\0{number}".encode(), digest_size=8).digest()
        self.seed = seed
        self._place = int.from_bytes(digest[:4], "little") % PERIOD
        self._step = 1 + int.from_bytes(digest[4:], "little") % (PERIOD - 1)

    def place(self) -> int:
        """Another place in a cycle."""
        self._place = (self._place + self._step) % PERIOD
        return self._place

    def words(self, count: int) -> Bytes:
        """Random numbers of 32 bits."""
        return words_of(self.seed).stretch(self.place(), count)


@functools.cache
def words_of(seed: int) -> Cycle:
    """The cycle of words that all others are made of."""
    return Cycle(shake_128(f"words {seed}".encode()).digest(4 * PERIOD), 4)


@functools.cache
def blocks_of(seed: int, kind: Type, size: int) -> Cycle:
    """The cycle of blocks of a quantised type."""
    drawn = shake_128(f"{kind.label} {seed}".encode()).digest(BLOCKS * size)
    return Cycle(scaled_blocks(kind, drawn, size), size)


_CYCLES: dict[tuple[int, Type, Fill], Cycle] = {}


def filled(source: Source, kind: Type, ne: tuple[int, ...], block: Block, fill: Fill) -> Bytes:
    """The bytes of a contiguous tensor."""
    count = math.prod(ne)
    if kind.quantised:
        return blocks_of(source.seed, kind, block.size).stretch(source.place() % BLOCKS, count // block.elements)
    match fill.kind:
        case "constant":
            return encoded(kind, (fill.low,)) * count
        case "count":
            return encoded(kind, range(count))
        case "distinct" | "rows":
            return shuffled(source, kind, fill, count, ne[0])
        case "mask" | "slanted":
            return unblocked(drawn(source, kind, fill, count, block.size), ne[0], block.size)
    return drawn(source, kind, fill, count, block.size)


def drawn(source: Source, kind: Type, fill: Fill, count: int, size: int) -> Bytes:
    """Numbers each of which comes of one word."""
    key = source.seed, kind, fill
    cycle = _CYCLES.get(key)
    if cycle is None:
        if count < ALONE:
            return elements(kind, fill, source.words(count))
        cycle = _CYCLES[key] = Cycle(elements(kind, fill, words_of(source.seed).stretch(0, PERIOD)), size)
    return cycle.stretch(source.place(), count)


def elements(kind: Type, fill: Fill, words: Bytes) -> bytes:
    """What words become in a filling. Raises ``ValueError`` for one that knows no words."""
    if fill.kind in {"mask", "slanted"}:
        others = symmetric(kind, bytes(words), fill.high) if fill.kind == "slanted" else None
        if others is None and fill.kind == "slanted":
            raise ValueError(fill)
        return masked(bytes(words), encoded(kind, (-math.inf,)), others)
    made = symmetric(kind, bytes(words), fill.high) if fill.kind == "uniform" and fill.low == -fill.high else None
    return made or encoded(kind, numbers(fill, memoryview(words).cast("I")))


def numbers(fill: Fill, words: Iterable[int]) -> Iterable[float]:
    """The numbers of a filling that is no mask. Raises ``ValueError`` for one that knows no words."""
    match fill.kind:
        case "uniform":
            scale = (fill.high - fill.low) * BELOW_ONE / WORD_VALUES
            return map(float(fill.low).__add__, map(scale.__mul__, words))
        case "integers":
            low, span = int(fill.low), int(fill.high) - int(fill.low)
            return [low + (word * span >> 32) for word in words]
    raise ValueError(fill.kind)


def unblocked(mask: Bytes, row: int, size: int) -> Bytes:
    """A mask whose rows all begin with 0: none is infinite as a whole."""
    if not mask:
        return b""
    changed, stride = bytearray(mask), row * size
    for place in range(size):
        changed[place::stride] = bytes(len(mask) // stride)
    return changed


def shuffled(source: Source, kind: Type, fill: Fill, count: int, row: int) -> Bytes:
    """Rows of ``row`` different numbers."""
    choices = int(fill.high) if fill.kind == "rows" else row
    if not count:
        return b""
    orders = orders_of(source.seed, kind, fill, choices)
    size = len(orders[0]) // (2 * choices)
    parts = []
    for word in memoryview(source.words(count // row)).cast("I"):
        start = (word * choices >> 32) * size
        parts.append(orders[word % ORDERS][start : start + row * size])
    return b"".join(parts)


@functools.cache
def orders_of(seed: int, kind: Type, fill: Fill, choices: int) -> tuple[bytes, ...]:
    """Numbers in several orders, each two times, so that a turn from anywhere lies in one piece."""
    values = range(choices) if fill.kind == "rows" else spread(fill, choices)
    orders = []
    for place in range(ORDERS):
        words = memoryview(words_of(seed).stretch(place * PERIOD // ORDERS, choices)).cast("I")
        orders.append(encoded(kind, [values[index] for index in sorted(range(choices), key=words.__getitem__)]) * 2)
    return tuple(orders)


def spread(fill: Fill, count: int) -> list[float]:
    """So many numbers between the bounds, all equally far apart."""
    step = (fill.high - fill.low) / max(count, 1)
    return [fill.low + index * step for index in range(count)]


ARRAYS = {Type.F32: "f", Type.F64: "d", Type.I8: "b", Type.I16: "h", Type.I32: "i", Type.I64: "q"}
"""What ``array`` calls the types that it can hold."""


def encoded(kind: Type, values: Iterable[float]) -> bytes:
    """Numbers as a type that is not quantised stores them."""
    match kind:
        case Type.F16:
            every = tuple(values)
            return struct.pack(f"<{len(every)}e", *every)
        case Type.BF16:
            return shortened(array("f", values).tobytes())
    letter = ARRAYS[kind]
    return array(letter, values if letter in "fd" else map(int, values)).tobytes()


def shortened(stored: bytes) -> bytes:
    """The nearest bf16 of f32 numbers, ties to even: all of them at once, as one whole number with 32 bits for each."""
    count = len(stored) // 4
    ones = int.from_bytes(b"\1\0\0\0" * count, "little")
    bits = int.from_bytes(stored, "little")
    halves = int.from_bytes(b"\xff\x7f\0\0" * count, "little")
    rounded = (bits + halves + (bits >> 16 & ones)).to_bytes(len(stored) + 1, "little")
    short = bytearray(2 * count)
    short[0::2], short[1::2] = rounded[2 : 4 * count : 4], rounded[3 : 4 * count : 4]
    return bytes(short)
