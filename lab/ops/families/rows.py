"""Operations on whole rows: copies between types, rows by index, sums, norms, sorting, shapes put together and taken apart."""

from __future__ import annotations

from collections.abc import Iterator

from lab.ggml.types import typed
from lab.ops.build import Builder, Value
from lab.ops.case import Family, Parameters, Row
from lab.ops.data import DISTINCT, UNIFORM, Fill, between, distinct_rows, integers
from lab.ops.families import FLOATS, QUANTISED, WRITABLE, grid

WHOLE = (10, 5, 4, 3)
INTEGERS = frozenset({"i32", "i16", "i64", "i8"})


def fill_of(kind: str) -> Fill:
    """Ordinary data of a type."""
    return integers(100, -100) if kind in INTEGERS else UNIFORM


def build_cpy(b: Builder, _op: str, p: Parameters) -> Value:
    """A copy into a tensor that is there already, of another type or layout."""
    # what is cut off at the point must not be 0
    fill = between(-100, 100) if p["to"] in INTEGERS and p["type"] not in INTEGERS else fill_of(p["type"])
    source = b.source(typed(p["type"]), p["ne"], p["layout"], fill)
    return b.call("cpy", source, b.source(typed(p["to"]), p["nto"] or p["ne"], p["lto"], fill_of(p["to"]), written=True))


def cpy_rows(_op: str) -> Iterator[Row]:
    """Between all types; layouts on both sides among floats."""
    yield from grid(type=FLOATS, to=FLOATS, ne=((1,), (10, 5, 4, 3), (256, 4)))
    yield from grid(type=FLOATS, to=FLOATS, ne=((8, 5, 4, 3),), layout=("", "slice", "p0213", "p1023"), lto=("", "slice", "p0213"))
    yield from grid(type=FLOATS, to=WRITABLE, ne=((256, 4), (512, 3, 2)))
    yield from grid(type=("f32",), to=WRITABLE, ne=((256, 3, 2),), layout=("p0213", "slice"))
    yield from grid(type=QUANTISED, to=("f32",), ne=((256, 4), (512, 3, 2)))
    yield from grid(type=QUANTISED, to=("same",), ne=((256, 4), (256, 3, 2, 2)))
    yield from grid(type=("i32", "f32"), to=("i32", "f32"), ne=((1,), (33, 7)), layout=("", "slice"))


def same_type(rows: Iterator[Row]) -> Iterator[Row]:
    """Rows in which the destination's type may be said to be the source's."""
    for row in rows:
        yield {**row, "to": row["type"]} if row.get("to") == "same" else row


def build_get_rows(b: Builder, _op: str, p: Parameters) -> Value:
    """Rows of a matrix by their numbers."""
    data = b.source(typed(p["type"]), (p["n"], p["m"], *p["be"]), p["layout"], fill_of(p["type"]))
    return b.call("get_rows", data, b.source(typed("i32"), (p["r"], *p["be"]), p["li"], integers(p["m"])))


def get_rows_rows(_op: str) -> Iterator[Row]:
    """All types; one row and many; batches; indices and rows that do not lie side by side."""
    yield from grid(type=("f32", "f16", "bf16", "i32"), n=(1, 33, 256), r=(1, 4), be=((1, 1), (3, 2)))
    yield from grid(type=QUANTISED, n=(256, 1024), r=(1, 4))
    yield from grid(type=QUANTISED, be=((3, 1), (3, 2)))
    yield from grid(type=("f32", "f16", "q8_0"), layout=("slice", "step"), be=((3, 2),))
    yield from grid(type=("f32", "f16", "q8_0"), li=("slice",), be=((3, 2),), r=(4, 7))


def build_get_rows_back(b: Builder, _op: str, p: Parameters) -> Value:
    """Gradient of GET_ROWS: rows are added where they came from."""
    gradients = b.source(typed(p["type"]), (p["n"], p["r"]))
    chosen = b.source(typed("i32"), (p["r"],), fill=integers(p["m"]))
    return b.call("get_rows_back", gradients, chosen, b.source(typed("f32"), (p["n"], p["m"])))


def build_set_rows(b: Builder, _op: str, p: Parameters) -> Value:
    """Rows are written to the places that different indices name."""
    be = p["be"]
    target = b.source(typed(p["to"]), (p["n"], p["m"], *be), p["lto"], fill_of(p["to"]), written=True)
    rows = b.source(typed(p["type"]), (p["n"], p["r"], *be), p["layout"])
    places = b.source(typed(p["index"]), (p["r"], *(p["ib"] or (be[0] // p["share"], 1))), fill=distinct_rows(p["m"]))
    return b.call("set_rows", target, rows, places)


def set_rows_rows(_op: str) -> Iterator[Row]:
    """Into all types that can be written, by i32 and i64 indices, shared between batches or not."""
    yield from grid(to=FLOATS, n=(1, 33, 256), r=(1, 4), index=("i64", "i32"))
    yield from grid(to=WRITABLE, n=(256, 512), index=("i64", "i32"))
    yield from grid(to=(*FLOATS, "q4_0", "q8_0"), n=(256,), be=((4, 3),), share=(1, 2), index=("i64", "i32"))
    yield from grid(to=("f32", "f16"), n=(33,), layout=("slice",), index=("i64", "i32"))
    yield from grid(to=("f32", "f16", "q8_0"), n=(256,), lto=("slice",))


def build_reduction(b: Builder, op: str, p: Parameters) -> Value:
    """Sums and the like along rows, or of everything."""
    fill = DISTINCT if op == "ARGMAX" else UNIFORM
    return b.call(op.lower(), b.source(typed(p["type"]), p["ne"], p["layout"], fill))


def reduction_rows(op: str) -> Iterator[Row]:
    """Sizes of every kind; layouts where ggml-cpu reads them."""
    if op == "ARGMAX":
        yield from grid(ne=((1,), (5,), (10, 60), (33, 7), (1025, 2), (1, 9), (256, 48)))
        return
    yield from grid(ne=((1,), (5,), (10, 5, 4, 3), (33, 7), (1025, 2), (1, 9, 2), (256, 16, 3)))
    if op in {"SUM", "SUM_ROWS", "MEAN"}:
        yield from grid(ne=(WHOLE,), layout=("slice", "step", "p0213", "p0132"))
    if op == "SUM":
        yield from grid(type=("f16", "bf16"), ne=((1,), (10, 5, 4, 3), (33, 7)))


def build_count_equal(b: Builder, _op: str, p: Parameters) -> Value:
    """How many whole numbers agree."""
    first, second = (b.source(typed("i32"), p["ne"], p["layout"], integers(p["values"])) for _ in range(2))
    return b.call("count_equal", first, second)


def build_repeat(b: Builder, op: str, p: Parameters) -> Value:
    """A tensor side by side with itself; its gradient sums the copies."""
    small, large = p["ne"], tuple(size * times for size, times in zip(p["ne"], p["times"], strict=True))
    kind = typed(p["type"])
    if op == "REPEAT":
        return b.call("repeat", b.source(kind, small, p["layout"], fill_of(p["type"])), b.source(kind, large))
    return b.call("repeat_back", b.source(kind, large, p["layout"]), b.source(kind, small))


def repeat_rows(op: str) -> Iterator[Row]:
    """Repeated along every dimension and along several."""
    times = ((1, 1, 1, 1), (2, 1, 1, 1), (1, 2, 1, 1), (1, 1, 2, 1), (1, 1, 1, 2), (3, 2, 1, 2))
    yield from grid(ne=((10, 5, 4, 3), (1, 1, 1, 1), (7, 3, 1, 1)), times=times)
    if op == "REPEAT":
        yield from grid(type=("f16", "i32", "i16"), ne=((10, 5, 4, 3),), times=times)
        yield from grid(layout=("slice", "p0213"), times=((1, 2, 1, 1), (2, 1, 1, 2)))


def build_concat(b: Builder, _op: str, p: Parameters) -> Value:
    """Two tensors behind each other along a dimension."""
    dim, kind = p["dim"], typed(p["type"])
    other = tuple(p["more"] if index == dim else size for index, size in enumerate(p["ne"]))
    fill = fill_of(p["type"])
    return b.call("concat", b.source(kind, p["ne"], p["layout"], fill), b.source(kind, other, p["lb"], fill), dim)


def concat_rows(_op: str) -> Iterator[Row]:
    """Every dimension, types of every element size, layouts of both sides."""
    yield from grid(type=("f32", "i32", "f16", "bf16"), ne=((11, 12, 3, 2), (1, 1, 1, 1)), dim=(0, 1, 2, 3))
    yield from grid(ne=((11, 6, 3, 2),), dim=(0, 1, 2, 3), layout=("slice",), lb=("", "p0213"))


def build_block(b: Builder, op: str, p: Parameters) -> Value:
    """ACC and SET: a smaller tensor is added to, or written into, a part of a larger one."""
    inplace = bool(p["inplace"])
    whole = b.leaf(typed(p["type"]), p["ne"], fill_of(p["type"]), written=inplace)
    part = b.source(typed(p["type"]), p["part"], p["layout"], fill_of(p["type"]))
    nb = whole.nb
    offset = sum(start * stride for start, stride in zip(p["at"], nb, strict=True))
    return b.call(op.lower() + ("_inplace" if inplace else ""), whole, part, *nb[1:], offset)


def block_rows(op: str) -> Iterator[Row]:
    """Parts at the start, in the middle and of a single element."""
    whole = (16, 8, 4, 3)
    parts = (
        ((16, 8, 4, 3), (0, 0, 0, 0)),
        ((8, 4, 2, 2), (4, 2, 1, 1)),
        ((1, 1, 1, 1), (15, 7, 3, 2)),
        ((16, 3, 1, 1), (0, 5, 2, 1)),
    )
    for part, at in parts:
        yield from grid(ne=(whole,), part=(part,), at=(at,), inplace=(0, 1), type=("f32",) if op == "ACC" else ("f32", "i32"))
    yield from grid(ne=(whole,), part=((8, 4, 2, 2),), at=((4, 2, 1, 1),), layout=("p0213", "slice"))


def build_norm(b: Builder, op: str, p: Parameters) -> Value:
    """Norms along rows, or of groups of channels."""
    inplace = bool(p["inplace"])
    source = b.source(typed("f32"), p["ne"], p["layout"], written=inplace)
    name = op.lower() + ("_inplace" if inplace else "")
    return b.call(name, source, p["groups"], p["eps"]) if op == "GROUP_NORM" else b.call(name, source, p["eps"])


def norm_rows(op: str) -> Iterator[Row]:
    """Sizes, epsilons, in place, layouts."""
    if op == "GROUP_NORM":
        yield from grid(ne=((8, 8, 16), (7, 3, 32, 2), (64, 1, 8)), groups=(1, 4, 8), eps=(1e-06, 0.1))
        yield from grid(ne=((8, 8, 16),), groups=(4,), inplace=(1,), eps=(1e-06, 0.1))
        yield from grid(ne=((8, 8, 16), (7, 3, 32, 2)), groups=(3, 5), eps=(1e-06,))  # the last group has fewer channels, or none
        return
    yield from grid(ne=((1,), (64, 5, 4, 3), (33, 7), (1025, 2)), eps=(0.0, 1e-06, 0.1) if op != "NORM" else (1e-06, 1e-05, 0.1))
    yield from grid(ne=((64, 5, 4, 3), (33, 7)), inplace=(1,), eps=(1e-06, 0.1))
    yield from grid(ne=((64, 5, 4, 3),), layout=("slice", "step", "p0213"), eps=(1e-06, 0.1))


def build_norm_back(b: Builder, _op: str, p: Parameters) -> Value:
    """Gradient of RMS_NORM."""
    first, second = (b.source(typed("f32"), p["ne"]) for _ in range(2))
    return b.call("rms_norm_back", first, second, p["eps"])


def build_sort(b: Builder, op: str, p: Parameters) -> Value:
    """Indices in order, or of the largest: no two values of a row are equal."""
    source = b.source(typed("f32"), p["ne"], p["layout"], DISTINCT)
    return b.call("argsort", source, p["order"]) if op == "ARGSORT" else b.call("top_k", source, min(p["k"], p["ne"][0]))


def sort_rows(op: str) -> Iterator[Row]:
    """Both orders, or several k, on short, odd and long rows."""
    shapes = ((1,), (2, 3), (16, 10, 10, 2), (60, 10, 2), (1023, 2), (1024, 2, 1, 3), (1025, 1))
    choices: dict[str, tuple[int, ...]] = {"order": (0, 1)} if op == "ARGSORT" else {"k": (1, 2, 7)}
    yield from grid(ne=shapes, **choices)


SUMS = ("SUM", "SUM_ROWS", "MEAN", "CUMSUM", "ARGMAX")
FAMILIES = (
    Family(
        ("CPY",),
        {"type": "f32", "to": "f32", "ne": WHOLE, "layout": "", "lto": "", "nto": ()},
        build_cpy,
        lambda op: same_type(cpy_rows(op)),
    ),
    Family(
        ("GET_ROWS",),
        {"type": "f32", "n": 256, "m": 5, "r": 4, "be": (1, 1), "layout": "", "li": ""},
        build_get_rows,
        get_rows_rows,
    ),
    Family(
        ("GET_ROWS_BACK",),
        {"type": "f32", "n": 33, "m": 5, "r": 4},
        build_get_rows_back,
        lambda _op: grid(type=("f32", "f16"), n=(1, 33, 256), r=(1, 4, 9)),
    ),
    Family(
        ("SET_ROWS",),
        {
            "type": "f32",
            "to": "f32",
            "index": "i64",
            "n": 256,
            "m": 7,
            "r": 3,
            "be": (1, 1),
            "share": 1,
            "layout": "",
            "lto": "",
            "ib": (),
        },
        build_set_rows,
        set_rows_rows,
    ),
    Family(SUMS, {"type": "f32", "ne": WHOLE, "layout": ""}, build_reduction, reduction_rows),
    Family(
        ("COUNT_EQUAL",),
        {"ne": WHOLE, "layout": "", "values": 3},
        build_count_equal,
        lambda _op: grid(ne=((1,), (10, 5, 4, 3), (33, 7), (1025,)), values=(1, 3)),
    ),
    Family(("REPEAT", "REPEAT_BACK"), {"type": "f32", "ne": WHOLE, "times": (1, 1, 1, 1), "layout": ""}, build_repeat, repeat_rows),
    Family(("CONCAT",), {"type": "f32", "ne": WHOLE, "dim": 0, "more": 7, "layout": "", "lb": ""}, build_concat, concat_rows),
    Family(
        ("ACC", "SET"),
        {"type": "f32", "ne": WHOLE, "part": WHOLE, "at": (0, 0, 0, 0), "layout": "", "inplace": 0},
        build_block,
        block_rows,
    ),
    Family(
        ("NORM", "RMS_NORM", "L2_NORM", "GROUP_NORM"),
        {"ne": WHOLE, "groups": 1, "eps": 1e-05, "layout": "", "inplace": 0},
        build_norm,
        norm_rows,
    ),
    Family(
        ("RMS_NORM_BACK",),
        {"ne": WHOLE, "eps": 1e-05},
        build_norm_back,
        # a row of one element cancels to nothing with a small epsilon
        lambda _op: (*grid(ne=((64, 5, 4, 3), (33, 7), (1025, 2)), eps=(1e-06, 0.1)), {"ne": (1,), "eps": 0.1}),
    ),
    Family(("ARGSORT", "TOP_K"), {"ne": WHOLE, "order": 0, "k": 1, "layout": ""}, build_sort, sort_rows),
)
