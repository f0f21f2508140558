"""Operations that treat every element alike: one source, two sources with broadcast, gated units, constants and bounds."""

from __future__ import annotations

from collections.abc import Iterator

from lab.ggml.operations import OPERATIONS
from lab.ggml.types import typed
from lab.ops.build import Builder, Value
from lab.ops.case import Family, Parameters, Row
from lab.ops.data import POSITIVE, UNIFORM, WIDE, Fill, between, integers
from lab.ops.families import WRITABLE, grid

ACTIVATIONS = ("GELU", "GELU_QUICK", "GELU_ERF", "SILU")
UNARY = (
    *("ABS", "SGN", "NEG", "STEP", "TANH", "ELU", "RELU", "SIGMOID", "HARDSWISH", "HARDSIGMOID", "EXP", "EXPM1", "SOFTPLUS"),
    *("FLOOR", "CEIL", "ROUND", "TRUNC", "SQR", "SQRT", "LOG", "SIN", "COS", *ACTIVATIONS),
)
GATED = ("REGLU", "GEGLU", "SWIGLU", "GEGLU_ERF", "GEGLU_QUICK")
FILLS = {
    **dict.fromkeys(("SQRT", "LOG"), POSITIVE),
    **dict.fromkeys(("EXP", "EXPM1"), between(-4, 4)),
    **dict.fromkeys(("SIN", "COS", "FLOOR", "CEIL", "ROUND", "TRUNC"), WIDE),
}
SHAPES = ((1,), (5,), (10, 5, 4, 3), (33, 7), (128, 2, 2, 2), (255, 3), (1, 7, 1, 3), (1025,))
LAID_OUT = (10, 5, 4, 3)
WHOLE = (10, 5, 4, 3)


def build_unary(b: Builder, op: str, p: Parameters) -> Value:
    """One source, by name."""
    name = op.lower()
    source = b.source(typed(p["type"]), p["ne"], p["layout"], FILLS.get(op, between(-4, 4)), written=bool(p["inplace"]))
    return b.call(f"{name}_inplace" if p["inplace"] else name, source)


def unary_rows(op: str) -> Iterator[Row]:
    """Sizes of every kind in f32, fewer in the shorter types; layouts; in place where ggml has it."""
    yield from grid(ne=SHAPES)
    yield from grid(ne=(LAID_OUT,), layout=("slice", "step", "p0213", "p0132"))
    yield from grid(type=("f16",), ne=((1,), (10, 5, 4, 3), (33, 7), (255, 3)), layout=("",))
    yield from grid(type=("f16",), ne=(LAID_OUT,), layout=("slice", "p0213"))
    if op not in ACTIVATIONS:
        yield from grid(type=("bf16",), ne=((5,), (33, 7), (128, 2, 2, 2)))
        yield from grid(type=("bf16",), ne=(LAID_OUT,), layout=("slice",))
    if f"{op.lower()}_inplace" in OPERATIONS:
        yield from grid(type=("f32", "f16"), ne=((33, 7),), inplace=(1,))


PAIRS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((1,), (1,)),
    ((10, 5, 4, 3), (10, 5, 4, 3)),
    ((10, 5, 4, 3), (1,)),
    ((10, 5, 4, 3), (10,)),
    ((10, 5, 4, 3), (10, 5)),
    ((10, 5, 4, 3), (10, 1, 4)),
    ((10, 5, 4, 3), (10, 1, 1, 3)),
    ((10, 5, 4, 6), (5, 5, 2, 3)),
    ((257, 3), (257, 3)),
    ((1, 7, 3), (1, 7, 1)),
    ((1027,), (1027,)),
)


def build_binary(b: Builder, op: str, p: Parameters) -> Value:
    """Two sources; the second is repeated to the sizes of the first."""
    first = b.source(typed(p["type"]), p["a"], p["layout"], written=bool(p["inplace"]))
    fill = POSITIVE if op == "DIV" else UNIFORM
    second = b.source(typed(p["tb"] or p["type"]), p["b"], p["lb"], fill)
    result = b.call(op.lower() + ("_inplace" if p["inplace"] else ""), first, second)
    for _ in range(p["chain"] - 1):
        result = b.call(op.lower(), result, b.source(second.type, p["b"], p["lb"], fill))
    return result


def binary_rows(op: str) -> Iterator[Row]:
    """Broadcast in every direction, mixed types, layouts of both sources, in place; ADD to quantised data."""
    for first, second in PAIRS:
        yield from grid(a=(first,), b=(second,), type=("f32", "f16"))
    for first, second in PAIRS[1:6]:
        yield {"a": first, "b": second, "type": "bf16"}
        yield from grid(a=(first,), b=(second,), type=("f16", "bf16"), tb=("f32",))
    yield from grid(a=(LAID_OUT,), b=(LAID_OUT, (10, 1, 4)), layout=("slice", "step", "p0213"), lb=("", "slice", "p0213"))
    yield from grid(a=(LAID_OUT,), b=(LAID_OUT, (10,)), type=("f32", "f16"), inplace=(1,))
    if op == "ADD":
        yield from grid(type=WRITABLE, tb=("f32",), a=((256, 3), (512, 2, 2)), b=("same",))


def same_sizes(rows: Iterator[Row]) -> Iterator[Row]:
    """Rows in which the second source's sizes may be said to be the first's."""
    for row in rows:
        yield {**row, "b": row["a"]} if row.get("b") == "same" else row


def build_add_id(b: Builder, _op: str, p: Parameters) -> Value:
    """Rows of the second source, chosen by ids, are added."""
    kind, width, used, tokens = typed("f32"), p["n"], p["used"], p["tokens"]
    first = b.source(kind, (width, used, tokens))
    second = b.source(kind, (width, p["experts"]))
    return b.call("add_id", first, second, b.source(typed("i32"), (used, tokens), fill=integers(p["experts"])))


def build_gated(b: Builder, op: str, p: Parameters) -> Value:
    """A gated unit on two halves of a row (swapped or not) or on two sources."""
    kind = typed(p["type"])
    if p["split"]:
        first, second = (b.source(kind, p["ne"], p["layout"]) for _ in range(2))
        return b.call(f"{op.lower()}_split", first, second)
    ne = (2 * p["ne"][0], *p["ne"][1:])
    return b.call(op.lower() + ("_swapped" if p["swapped"] else ""), b.source(kind, ne, p["layout"]))


def gated_rows(_op: str) -> Iterator[Row]:
    """Whole and split, swapped, in f32 and f16, on rows cut out of longer ones."""
    yield from grid(type=("f32", "f16"), ne=((1,), (5, 7), (128, 2, 2, 2), (64, 33)), split=(0, 1))
    yield from grid(type=("f32", "f16"), ne=((5, 7), (128, 2, 2, 2)), swapped=(1,))
    yield from grid(ne=((10, 5, 4, 3),), layout=("step",), split=(0, 1))


def build_limited(b: Builder, op: str, p: Parameters) -> Value:
    """Gated units with a limit."""
    first, second = (b.source(typed("f32"), p["ne"], p["layout"], WIDE) for _ in range(2))
    limits = (p["alpha"], p["limit"]) if op == "SWIGLU_OAI" else (p["limit"],)
    return b.call(op.lower(), first, second, *limits)


def limited_rows(op: str) -> Iterator[Row]:
    """Two limits on sizes of every kind."""
    yield from grid(ne=((1,), (5, 7), (128, 2, 2, 2), (33, 9)), limit=(2.0, 7.0))
    yield from grid(ne=((10, 5, 4, 3),), layout=("step",))
    if op == "SWIGLU_OAI":
        yield from grid(ne=((5, 7), (64, 3)), alpha=(0.5,), limit=(2.0, 7.0))


def build_scaled(b: Builder, op: str, p: Parameters) -> Value:
    """SCALE, CLAMP, LEAKY_RELU and FILL: one source and numbers."""
    inplace, scalars = bool(p["inplace"]), (p["x"], p["y"])
    source = b.source(typed(p["type"]), p["ne"], p["layout"], between(-4, 4), written=inplace)
    end = "_inplace" if inplace else ""
    match op:
        case "SCALE":
            return b.call(f"scale_bias{end}", source, *scalars) if p["y"] else b.call(f"scale{end}", source, p["x"])
        case "CLAMP":
            # ggml_clamp itself works in place and returns a view
            return b.call("clamp", source, *sorted(scalars))
        case "LEAKY_RELU":
            return b.call("leaky_relu", source, p["x"], inplace)
        case _:
            return b.call(f"fill{end}", source, p["x"])


def scaled_rows(op: str) -> Iterator[Row]:
    """Numbers of both signs; in place; other types and layouts where ggml-cpu has them."""
    inplace = (1,) if op == "CLAMP" else (0, 1)
    yield from grid(ne=((1,), (10, 5, 4, 3), (33, 7), (1025,)), x=(0.25, -1.5), inplace=inplace)
    yield from grid(ne=((10, 5, 4, 3), (255, 3)), x=(0.5,), y=(2.0, -1.0), inplace=inplace)
    if op in {"CLAMP", "FILL", "LEAKY_RELU"}:
        yield from grid(type=("f16",), ne=((1,), (10, 5, 4, 3), (33, 7)), x=(0.25,), inplace=inplace)
    if op == "CLAMP":
        yield from grid(ne=(LAID_OUT,), layout=("slice", "step"), x=(0.25,), inplace=(1,))


def build_xielu(b: Builder, _op: str, p: Parameters) -> Value:
    """``ggml_xielu`` with its four numbers."""
    source = b.source(typed(p["type"]), p["ne"], p["layout"], between(-4, 4))
    return b.call("xielu", source, p["alpha_n"], p["alpha_p"], p["beta"], p["eps"])


def xielu_rows(_op: str) -> Iterator[Row]:
    """Types, sizes and numbers."""
    yield from grid(type=("f32", "f16", "bf16"), ne=((1,), (10, 5, 4, 3), (33, 7)), alpha_n=(0.5, 2.0))
    yield from grid(ne=(LAID_OUT,), layout=("step",), beta=(0.5, 1.5))


def build_silu_back(b: Builder, _op: str, p: Parameters) -> Value:
    """Gradient of SILU."""
    kind = typed(p["type"])
    return b.call("silu_back", b.source(kind, p["ne"]), b.source(kind, p["ne"], fill=between(-4, 4)))


def build_arange(b: Builder, _op: str, p: Parameters) -> Value:
    """Numbers from start to stop."""
    return b.call("arange", p["start"], p["stop"], p["step"])


def build_dup(b: Builder, op: str, p: Parameters) -> Value:
    """A copy with the same type: DUP keeps strides of nothing, CONT makes the elements lie one after another."""
    fill: Fill = integers(1000) if p["type"] in {"i32", "i16", "i64"} else UNIFORM
    return b.call(op.lower(), b.source(typed(p["type"]), p["ne"], p["layout"], fill))


def dup_rows(_op: str) -> Iterator[Row]:
    """All plain types, every layout."""
    yield from grid(type=("f32", "f16", "bf16", "i32"), ne=((1,), (10, 5, 4, 3), (257, 3)))
    yield from grid(
        type=("f32", "f16", "bf16", "i32"), ne=(LAID_OUT, (7, 1, 5)), layout=("slice", "step", "p0213", "p1023", "p3210")
    )
    yield from grid(type=("q4_0", "q8_0", "q4_K"), ne=((256, 3, 2),), layout=("", "p0213"))


def build_tri(b: Builder, _op: str, p: Parameters) -> Value:
    """One triangle of square matrices, zeros elsewhere."""
    return b.call("tri", b.source(typed(p["type"]), p["ne"], p["layout"]), p["part"])


BASIC: Row = {"type": "f32", "ne": (10, 5, 4, 3), "layout": "", "inplace": 0}
FAMILIES = (
    Family(UNARY, BASIC, build_unary, unary_rows),
    Family(
        ("ADD", "SUB", "MUL", "DIV"),
        {"type": "f32", "tb": "", "a": WHOLE, "b": WHOLE, "layout": "", "lb": "", "inplace": 0, "chain": 1},
        build_binary,
        lambda op: same_sizes(binary_rows(op)),
    ),
    Family(
        ("ADD_ID",),
        {"n": 64, "used": 2, "tokens": 8, "experts": 4},
        build_add_id,
        lambda _op: grid(n=(1, 33, 64, 256), used=(1, 2, 4), tokens=(1, 8), experts=(4, 8)),
    ),
    Family(GATED, {"type": "f32", "ne": (5, 7), "layout": "", "split": 0, "swapped": 0}, build_gated, gated_rows),
    Family(("SWIGLU_OAI", "SWIGLU_CLAMP"), {"ne": (5, 7), "layout": "", "alpha": 1.702, "limit": 7.0}, build_limited, limited_rows),
    Family(("SCALE", "CLAMP", "LEAKY_RELU", "FILL"), {**BASIC, "x": 1.0, "y": 0.0}, build_scaled, scaled_rows),
    Family(
        ("XIELU",),
        {"type": "f32", "ne": WHOLE, "layout": "", "alpha_n": 4.0, "alpha_p": 20.0, "beta": 0.5, "eps": 1e-06},
        build_xielu,
        xielu_rows,
    ),
    Family(
        ("SILU_BACK",),
        {"type": "f32", "ne": WHOLE},
        build_silu_back,
        lambda _op: grid(type=("f32", "f16"), ne=((1,), (10, 5, 4, 3), (33, 7), (1025,))),
    ),
    Family(
        ("ARANGE",),
        {"start": 0.0, "stop": 10.0, "step": 1.0},
        build_arange,
        lambda _op: grid(start=(0.0, -3.5), stop=(1.0, 10.0, 1048.0), step=(1.0, 0.25, 3.0)),
    ),
    Family(("DUP", "CONT"), {"type": "f32", "ne": WHOLE, "layout": ""}, build_dup, dup_rows),
    Family(
        ("TRI",),
        {"type": "f32", "ne": (10, 10, 4, 3), "layout": "", "part": 0},
        build_tri,
        lambda _op: grid(ne=((1,), (10, 10, 4, 3), (33, 33), (64, 64, 2)), part=(0, 1, 2, 3)),
    ),
)
