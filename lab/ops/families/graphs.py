"""Graphs of several operations, as models have them, and long chains. Their operation is called GRAPH."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lab.ggml.types import typed
from lab.ops.build import Builder, Value
from lab.ops.case import Family, Parameters, Row
from lab.ops.data import COUNT, MASK, distinct_rows
from lab.ops.families import grid

F32 = typed("f32")
CACHED = 16
SCORES = 16.0


def chain(b: Builder, p: Parameters) -> Value:
    """``n`` additions, each of the result before."""
    value, step = b.source(F32, (p["width"],)), b.source(F32, (p["width"],))
    for _ in range(p["n"]):
        value = b.call("add", value, step)
    return value


def fan(b: Builder, p: Parameters) -> tuple[Value, ...]:
    """``n`` results of one source."""
    source = b.source(F32, (p["width"], 3))
    return tuple(b.call("scale", source, 0.5 + index) for index in range(p["n"]))


def mlp(b: Builder, p: Parameters) -> Value:
    """A gated feed-forward layer with its norm and residual."""
    width, kind = p["width"], typed(p["type"])
    x = b.source(F32, (width, p["n"]))
    normed = b.call("mul", b.call("rms_norm", x, 1e-6), b.source(F32, (width,)))
    gate, up = (b.call("mul_mat", b.source(kind, (width, 2 * width)), normed) for _ in range(2))
    hidden = b.call("swiglu_split", gate, up)
    return b.call("add", x, b.call("mul_mat", b.source(kind, (2 * width, width)), hidden))


def attention(b: Builder, p: Parameters) -> Value:
    """Attention by matrix products, softmax and permuted views.

    Scores grow with the width, as weights of quantised types cannot be made smaller; scaled to about 2 they choose no single token,
    which of two equal ones a rounding would decide.
    """
    width, tokens, kind = p["width"], p["n"], typed(p["type"])
    x = b.source(F32, (width, tokens))
    heads = []
    for _ in range(3):
        projected = b.call("mul_mat", b.source(kind, (width, width)), x)
        heads.append(b.call("permute", b.call("reshape_3d", projected, width // 4, 4, tokens), 0, 2, 1, 3))
    query, key, value = heads
    scores = b.call("mul_mat", key, query)
    weights = b.call("soft_max_ext", scores, b.source(F32, (tokens, tokens), fill=MASK), SCORES / width * (width // 4) ** -0.5, 0.0)
    mixed = b.call("mul_mat", b.call("cont", b.call("transpose", value)), weights)
    return b.call("cont_2d", b.call("permute", mixed, 0, 2, 1, 3), width, tokens)


def cache(b: Builder, p: Parameters) -> Value:
    """Rows written into a cache, of which every row is then read by its index."""
    kind, width = typed(p["type"]), p["width"]
    store = b.leaf(kind, (width, CACHED), written=True)
    places = b.source(typed("i64"), (p["n"],), fill=distinct_rows(CACHED))
    kept = b.call("set_rows", store, b.source(F32, (width, p["n"])), places)
    return b.call("get_rows", kept, b.source(typed("i32"), (CACHED,), fill=COUNT))


def views(b: Builder, p: Parameters) -> Value:
    """Halves of a result, swapped and put together again."""
    width = p["width"]
    whole = b.call("scale", b.source(F32, (2 * width, p["n"])), 2.0)
    left, right = (b.slice(whole, (width, p["n"]), (start, 0, 0, 0)) for start in (0, width))
    return b.call("concat", b.call("cont", right), b.call("mul", left, right), 1)


KINDS: dict[str, Callable[[Builder, Parameters], Value | tuple[Value, ...]]] = {
    "chain": chain,
    "fan": fan,
    "mlp": mlp,
    "attention": attention,
    "cache": cache,
    "views": views,
}


def build_graph(b: Builder, _op: str, p: Parameters) -> Value | tuple[Value, ...]:
    """The graph of a kind."""
    return KINDS[p["kind"]](b, p)


def graph_rows(_op: str) -> Iterator[Row]:
    """Every kind in several sizes, once and again with new data; chains around the sizes of the wire's pages."""
    yield from grid(kind=("chain",), n=(2, 12, 13, 14, 52, 53, 54, 100, 1000))
    yield from grid(kind=("fan",), n=(2, 13, 100))
    yield from grid(kind=("mlp", "attention"), type=("f32", "f16", "q8_0", "q4_0"), width=(64, 128), n=(1, 7), rounds=(1, 2))
    yield from grid(kind=("cache",), type=("f32", "f16"), width=(64, 33), n=(1, 5), rounds=(1, 2))
    yield from grid(kind=("views",), width=(64, 33), n=(1, 5), rounds=(1, 3))
    yield from grid(kind=("chain",), n=(13, 100), width=(64, 1025), rounds=(2, 3))


FAMILIES = (Family(("GRAPH",), {"kind": "chain", "type": "f32", "width": 32, "n": 4}, build_graph, graph_rows),)
