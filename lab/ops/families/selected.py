"""Rows of ordinary operations that are equal to the small cases of ``test-backend-ops`` which the smoke scenario selects.

With them both programs can be given the same work; ``lab.ops.counterpart`` tells which case stands for which.
"""

from __future__ import annotations

from collections.abc import Iterator

from lab.ops.case import Row
from lab.ops.families import grid

Rows = Iterator[tuple[str, Row]]
WHOLE = (10, 5, 4, 3)
REPEATED = (WHOLE, (20, 5, 4, 3), (10, 10, 4, 3), (10, 5, 8, 3), (10, 5, 4, 6), (10, 5, 8, 6), (10, 10, 8, 6), (20, 10, 8, 6))
FUSED = (
    ("f32", (20, 5, 4, 3), 2),
    ("f16", (20, 5, 4, 3), 2),
    ("f32", (10, 5, 8, 3), 4),
    ("f32", (10, 5, 8, 6), 6),
    ("f32", (10, 10, 8, 6), 7),
)
PERMUTED = "p1203"


def binary() -> Rows:
    """Broadcast in every direction, of a permuted second source, too; additions behind each other."""
    for op in ("ADD", "MUL", "SUB"):
        for row in grid(type=("f32", "f16"), a=REPEATED, lb=("", PERMUTED)):
            yield op, row
        for small in ((10, 5, 1), (10, 5, 4)):
            same = (small[: 3 if small[2] > 1 else 2],)
            for row in grid(type=("f16",), a=same, b=same, lb=("", PERMUTED)):
                yield op, row
    for kind, sizes, count in FUSED:
        yield "ADD", {"type": kind, "a": sizes, "chain": count}


def scale() -> Rows:
    """With and without an offset, in place, in bf16."""
    ne = (10, 10, 10, 10)
    yield "SCALE", {"ne": ne, "x": 2.0}
    for row in grid(type=("f32", "bf16"), ne=(ne,), x=(2.0,), y=(1.0,), inplace=(0, 1)):
        yield "SCALE", row


def cpy() -> Rows:
    """Permuted on one side and on both, where the sizes of both sides are others then."""
    for kind, lengths in (("f32", (1, 2, 3)), ("f16", (1, 2, 3)), ("q4_0", (32,)), ("q8_0", (32,))):
        for length in lengths:
            types = {"type": kind, "to": kind}
            yield "CPY", {**types, "ne": (length, 2, 3, 4)}
            yield "CPY", {**types, "ne": (length, 3, 2, 4), "layout": "p0213"}
            yield "CPY", {**types, "ne": (length, 3, 4, 2), "layout": "p0312", "lto": "p0213", "nto": (length, 4, 3, 2)}
    yield "CPY", {"to": "q4_0", "ne": (96,)}
    yield "CPY", {"type": "q4_0", "ne": (96,)}


def cont() -> Rows:
    """Of a transposed or permuted tensor, and of one row of each matrix."""
    rows = (((2, 1, 1, 1), "of2x1x1x1at0x0x0x0"), ((2, 1, 3, 5), "of2x1x3x5at0x0x0x0"), ((2, 1, 5, 7), "of2x3x5x7at0x1x0x0"))
    turned = (((5, 3, 2, 7), "p2103"), ((5, 2, 3, 7), "p1203"), ((2, 5, 3, 7), "p0213"))
    for kind in ("f32", "i32", "f16"):
        for ne in ((1, 2), (1, 2, 3, 5), (3, 2, 5, 7)):
            yield "CONT", {"type": kind, "ne": ne, "layout": "t"}
        for ne, layout in (*rows, *turned):
            yield "CONT", {"type": kind, "ne": ne, "layout": layout}


def concat() -> Rows:
    """Every dimension; either source the first part of a larger tensor."""
    first = "of22x48x39x14"
    second = ("of21x24x52x14", "of33x14x52x14", "of33x24x28x14", "of33x24x52x7")
    for kind in ("f32", "i32"):
        for dim, part in enumerate(second):
            for row in grid(type=(kind,), ne=((11, 12, 13, 14),), dim=(dim,), layout=("", first), lb=("", part)):
                yield "CONCAT", row


def by_index() -> Rows:
    """GET_ROWS of rows behind others; SET_ROWS with indices that batches share in either direction."""
    for batch in ((1, 1), (7, 1)):
        layouts = ("", f"of256x8x{batch[0]}x{batch[1]}at0x3")
        for row in grid(type=("f32", "f16", "q4_0", "q8_0", "i32"), be=(batch,), layout=layouts):
            yield "GET_ROWS", row
    for row in grid(index=("i64", "i32"), n=(1,), m=(8,), r=(2,), be=((1, 3),), ib=((1, 3),)):
        yield "SET_ROWS", row
    for row in grid(to=("f32", "f16", "q4_0", "q8_0"), index=("i64", "i32"), m=(5,), r=(1,), be=((1, 3),), ib=((1, 3),)):
        yield "SET_ROWS", row
    for shared in (1, 7):
        for row in grid(to=("f32", "f16"), n=(3,), m=(3,), r=(2,), be=((2 * shared, 3),), ib=((shared, 1),)):
            yield "SET_ROWS", row


def products() -> Rows:
    """Products with few columns, attention over a part of a longer cache."""
    for row in grid(type=("f32", "f16", "q4_0", "q8_0"), n=(2, 3, 4, 5, 6, 7, 8, 16)):
        yield "MUL_MAT", row
    for row in grid(type=("f32", "f16", "q4_0", "q8_0"), bs=((3, 1),), nr=((1, 1), (2, 1))):
        yield "MUL_MAT", row
    for row in grid(type=("f32", "f16", "q4_0", "q8_0"), heads=(4,), kv=(113,), batch=(1, 3), lk=("of64x226x4x1",)):
        yield "FLASH_ATTN_EXT", row


def norms() -> Rows:
    """RMS_NORM with every epsilon, whole and of the first half in every dimension; softmax with all of its parts."""
    for ne, half in (((64, 5, 4, 3), (32, 2, 2)), ((33, 5, 4, 3), (16, 2, 2))):
        for eps in (0.0, 1e-06, 1e-04, 0.1, 10.0):
            yield "RMS_NORM", {"ne": ne, "eps": eps}
            yield "RMS_NORM", {"ne": half, "eps": eps, "layout": f"of{'x'.join(map(str, ne))}"}
    shapes = ((16, 16, 1, 1), (15, 15, 1, 1))
    for row in grid(ne=shapes, scale=(1.0, 0.1), sinks=(0, 1)):
        yield "SOFT_MAX", row
    for row in grid(ne=(*shapes, (15, 15, 2, 3)), mask=("f32",), scale=(1.0, 0.1), bias=(0.0, 8.0), sinks=(0, 1)):
        yield "SOFT_MAX", row


def positions() -> Rows:
    """Rotary positions with the heads and dimensions of models."""
    known = {"orig": 0, "fast": 1.0}
    for heads in (32, 40, 52, 64):
        yield "ROPE", {"ne": (128, heads, 2, 1), "dims": 128, **known}
    for heads in (1, 8, 71, 128):
        yield "ROPE", {"ne": (64, heads, 2, 1), "mode": 2, **known}
    for row in grid(ne=((80, 32, 2, 1),), dims=(20, 32), mode=(0, 2)):
        yield "ROPE", {**row, **known}
    for mode in (8, 40):
        for heads, dims in ((12, 128), (28, 128), (16, 128), (12, 20), (28, 32)):
            third = dims // 3
            yield "ROPE", {"ne": (128, heads, 2, 1), "dims": dims, "mode": mode, "sections": (third, third, third, 0), **known}
    yield "ROPE", {"ne": (80, 16, 2, 1), "dims": 40, "mode": 24, **known}
    yield "ROPE", {"type": "f16", "ne": (128, 32, 2, 1), "dims": 128, **known}
    yield "ROPE", {"type": "f16", "ne": (64, 128, 2, 1), "mode": 2, **known}


def rows_of_numbers() -> Rows:
    """Sorting and sums, of permuted and stepped tensors, too."""
    for row in grid(ne=((16, 10, 10, 10), (60, 10, 10, 10), (1023, 2, 1, 3), (1024, 2, 1, 3), (1025, 2, 1, 3)), order=(0, 1)):
        yield "ARGSORT", row
    part = "of11x5x6x3at0x0x0x1by1x1x2x1"
    sums = (((33,), ""), ((11, 3, 5, 6), "p0231"), ((11, 5, 3, 2), part), ((11, 2, 5, 3), f"{part}p0231"))
    for ne, layout in sums:
        yield "SUM_ROWS", {"ne": ne, "layout": layout}


def rows() -> Rows:
    """All of them."""
    for part in (binary, scale, cpy, cont, concat, by_index, products, norms, positions, rows_of_numbers):
        yield from part()
