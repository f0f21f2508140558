"""Matrix products and attention: MUL_MAT in all its types, experts by id, softmax, rotary positions, FLASH_ATTN_EXT, masks."""

from __future__ import annotations

from collections.abc import Iterator

from lab.ggml.modes import IMROPE, MROPE, NEOX, NORMAL, VISION
from lab.ggml.types import typed
from lab.ops.build import Builder, Value
from lab.ops.case import Family, Parameters, Row
from lab.ops.data import COUNT, MASK, POSITIVE, SLANTED, UNIFORM, Fill, between, distinct_rows, integers
from lab.ops.families import QUANTISED, READ_ONLY, SIMPLE, grid

F32 = typed("f32")
I32 = typed("i32")
PRECISIONS = {"": None, "f32": 10}


def build_mul_mat(b: Builder, _op: str, p: Parameters) -> Value:
    """``a`` [k, m] times ``b`` [k, n], with batches of which ``b`` may have more.

    A product of one element must not cancel: ``b`` may be rounded to f16 or less. (Of a quantised type it has no golden.)
    """
    batch, repeats = p["bs"], p["nr"]
    fill = POSITIVE if p["m"] == p["n"] == 1 else UNIFORM
    first = b.source(typed(p["type"]), (p["k"], p["m"], *batch), p["layout"], fill)
    second = b.source(typed(p["tb"]), (p["k"], p["n"], batch[0] * repeats[0], batch[1] * repeats[1]), p["lb"], fill)
    product = b.call("mul_mat", first, second)
    if (precision := PRECISIONS[p["prec"]]) is not None:
        b.setting("ggml_prec_set_acc", product, precision)
    return product


def mul_mat_rows(_op: str) -> Iterator[Row]:
    """Every type by vector and by matrices; batches and broadcast; odd sizes in floats; layouts."""
    floats = ("f32", "f16", "bf16")
    yield from grid(type=floats, m=(16,), n=(1, 2, 3, 8, 16), k=(1, 64, 257))
    yield from grid(type=("f16", "bf16"), tb=("same",), m=(16,), n=(1, 8), k=(64, 257))
    yield from grid(type=QUANTISED, m=(16,), n=(1, 4, 9), k=(256, 1024))
    yield from grid(type=(*floats, *SIMPLE, "q4_K", "q6_K", "iq2_xxs"), bs=((3, 1), (3, 2)), nr=((1, 1), (2, 1), (2, 2)), n=(1, 5))
    yield from grid(type=floats, layout=("p0213",), lb=("", "p0213"), bs=((3, 2),), n=(1, 5))
    yield from grid(type=floats, layout=("slice", "step"), lb=("", "slice"), n=(1, 5))
    yield from grid(type=("q4_0", "q8_0", "q4_K"), layout=("p0213",), bs=((3, 2),), n=(1, 5))
    yield from grid(m=(1, 2, 63, 129), n=(1, 65), k=(64,), type=("f32", "f16"))
    yield from grid(m=(63, 129), n=(1, 65), k=(64,), type=("q8_0", "q4_0"))
    yield from grid(type=("f32", "f16"), prec=("f32",), n=(1, 8))


def same_second(rows: Iterator[Row]) -> Iterator[Row]:
    """Rows in which the second source's type may be said to be the first's."""
    for row in rows:
        yield {**row, "tb": row["type"]} if row.get("tb") == "same" else row


def build_mul_mat_id(b: Builder, _op: str, p: Parameters) -> Value:
    """Each token's row is multiplied with the matrices of the experts chosen for it."""
    experts = b.source(typed(p["type"]), (p["k"], p["m"], p["experts"]))
    rows = b.source(F32, (p["k"], 1 if p["shared"] else p["used"], p["n"]))
    chosen = b.leaf(I32, (p["used"], p["n"]), distinct_rows(p["experts"]))
    return b.call("mul_mat_id", experts, rows, chosen)


def mul_mat_id_rows(_op: str) -> Iterator[Row]:
    """Every type; one token and several; one row for all experts or one each."""
    yield from grid(type=("f32", "f16", "bf16", *QUANTISED), n=(1, 5), shared=(0, 1))
    yield from grid(type=("f32", "q8_0"), experts=(4, 8), used=(1, 4), n=(1, 17), m=(7, 32))


def build_out_prod(b: Builder, _op: str, p: Parameters) -> Value:
    """The sum of outer products."""
    first = b.source(typed(p["type"]), (p["m"], p["k"], *p["bs"]))
    layout = "p1023" if p["transposed"] else ""
    return b.call("out_prod", first, b.source(F32, (p["n"], p["k"], p["bs"][0] * p["nr"][0], p["bs"][1] * p["nr"][1]), layout))


def out_prod_rows(_op: str) -> Iterator[Row]:
    """Floats of all sizes, transposed; quantised first sources."""
    yield from grid(m=(1, 32, 257), n=(1, 16), k=(1, 16), transposed=(0, 1))
    yield from grid(bs=((2, 1), (2, 3)), nr=((1, 1), (2, 1)))
    yield from grid(type=(*SIMPLE, "q2_K", "q4_K", "q6_K", *READ_ONLY), m=(256,))


def build_soft_max(b: Builder, op: str, p: Parameters) -> Value:
    """Softmax along rows with scale, mask, slopes and sinks; or its gradient."""
    ne, inplace = p["ne"], bool(p["inplace"])
    source = b.source(F32, ne, p["layout"], between(-4, 4), written=inplace)
    end = "_inplace" if inplace else ""
    if op == "SOFT_MAX_BACK":
        return b.call(f"soft_max_ext_back{end}", source, b.source(F32, ne, fill=between(0, 1)), p["scale"], p["bias"])
    fill = SLANTED if p["bias"] else MASK
    mask = b.source(typed(p["mask"]), (ne[0], ne[1], *p["shared"]), fill=fill) if p["mask"] else None
    result = b.call(f"soft_max_ext{end}", source, mask, p["scale"], p["bias"])
    return b.with_sinks("ggml_soft_max_add_sinks", result, b.source(F32, (ne[2],))) if p["sinks"] else result


def soft_max_rows(op: str) -> Iterator[Row]:
    """With and without each of its parts."""
    shapes = ((1, 1, 1, 1), (16, 16, 1, 1), (15, 7, 2, 3), (1025, 3, 1, 1))
    if op == "SOFT_MAX_BACK":
        yield from grid(ne=shapes, scale=(1.0, 0.125), inplace=(0, 1))
        return
    yield from grid(ne=shapes, mask=("", "f32", "f16"), scale=(1.0, 0.125))
    yield from grid(ne=((16, 16, 4, 1), (15, 7, 2, 3)), mask=("f32", "f16"), bias=(8.0,), sinks=(0, 1))
    yield from grid(ne=((16, 5, 6, 2),), mask=("f32", "f16"), bias=(8.0,))  # slopes of heads that are no power of two
    yield from grid(ne=((16, 16, 4, 1), (15, 7, 2, 3)), sinks=(1,))
    yield from grid(ne=((16, 16, 4, 3),), mask=("f32", "f16"), shared=((4, 3), (2, 1)))
    yield from grid(ne=((16, 16, 4, 1), (15, 7, 2, 3)), inplace=(1,), mask=("", "f32"))


def build_rope(b: Builder, op: str, p: Parameters) -> Value:
    """Rotary positions in every mode, or its gradient."""
    mode, ne, inplace = p["mode"], p["ne"], bool(p["inplace"])
    source = b.source(typed(p["type"]), ne, p["layout"], written=inplace)
    several = mode & MROPE
    positions = b.source(I32, (ne[2] * (4 if several else 1),), fill=integers(p["context"]))
    factors = b.source(F32, (p["dims"] // 2,), fill=between(0.9, 1.1)) if p["factors"] else None
    name = "rope_multi" if several else "rope_ext"
    end = "_back" if op == "ROPE_BACK" else "_inplace" if inplace else ""
    third = p["dims"] // 6
    sections = [p["dims"] // 2, p["dims"] // 2, 0, 0] if mode == VISION else [p["dims"] // 2 - 2 * third, third, third, 0]
    sections = list(p["sections"]) or sections
    numbers = (p["context"] if p["orig"] < 0 else p["orig"], 10000.0, p["scale"], p["ext"], p["attn"], p["fast"], 1.0)
    return b.call(f"{name}{end}", source, positions, factors, p["dims"], *((sections,) if several else ()), mode, *numbers)


def rope_rows(op: str) -> Iterator[Row]:
    """Modes, types, part of the dimensions, factors, YaRN, layouts, in place."""
    yield from grid(type=("f32", "f16"), mode=(NORMAL, NEOX), ne=((64, 2, 3, 1), (80, 3, 5, 2)), dims=(32, 64), factors=(0, 1))
    yield from grid(type=("f32", "f16"), mode=(NORMAL, NEOX, MROPE, IMROPE), ext=(0.75,), scale=(0.5,), attn=(1.25,))
    yield from grid(type=("f32", "f16"), mode=(MROPE, IMROPE), ne=((64, 2, 3, 1), (128, 3, 5, 1)), factors=(0, 1))
    yield from grid(type=("f32", "f16"), mode=(VISION,), ne=((64, 2, 3, 1),), dims=(32,))
    if op == "ROPE":
        yield from grid(type=("f32", "f16"), mode=(NORMAL, NEOX), layout=("slice", "step", "p0213"), inplace=(0,))
        yield from grid(type=("f32", "f16"), mode=(NORMAL, NEOX, MROPE), inplace=(1,))


def build_flash(b: Builder, _op: str, p: Parameters) -> Value:
    """Attention in one operation; keys and values may be quantised and shared between heads."""
    heads, kv, batch, streams = p["heads"], p["kv"], p["batch"], p["streams"]
    query = b.source(F32, (p["hsk"], batch, heads * p["group"], streams), p["layout"])
    key = b.source(typed(p["type"]), (p["hsk"], kv, heads, streams), p["lk"] or p["layout"])
    value = b.source(typed(p["tv"] or p["type"]), (p["hsv"] or p["hsk"], kv, heads, streams), p["lk"] or p["layout"])
    mask = b.source(typed("f16"), (kv, batch, 1, streams), fill=SLANTED if p["bias"] else MASK) if p["mask"] else None
    result = b.call("flash_attn_ext", query, key, value, mask, p["hsk"] ** -0.5, p["bias"], p["cap"])
    b.setting("ggml_prec_set_acc", result, 10)
    return b.with_sinks("ggml_flash_attn_ext_add_sinks", result, b.source(F32, (heads * p["group"],))) if p["sinks"] else result


def flash_rows(_op: str) -> Iterator[Row]:
    """Head sizes, lengths, groups, types of keys and values, mask, slopes, caps and sinks."""
    yield from grid(hsk=(40, 64, 128), kv=(1, 33, 113), batch=(1, 3))
    yield from grid(type=("f32", "bf16", *SIMPLE), hsk=(64, 128), batch=(1, 3))
    yield from grid(tv=("q4_0", "q8_0", "f32"), batch=(1, 3))
    yield from grid(group=(1, 4), streams=(1, 2), mask=(0, 1), batch=(1, 35))
    yield from grid(bias=(0.0, 8.0), cap=(0.0, 10.0), sinks=(0, 1), batch=(1, 3), heads=(4,))
    yield from grid(bias=(8.0,), batch=(1, 3), heads=(3,), group=(1, 2))  # slopes of heads that are no power of two
    yield from grid(hsk=(192,), hsv=(128,), batch=(1, 3))
    yield from grid(layout=("p0213",), batch=(1, 3), type=("f16", "f32", "q8_0"))


def build_masked(b: Builder, op: str, p: Parameters) -> Value:
    """DIAG_MASK_INF above the diagonal, DIAG makes a matrix of a row."""
    if op == "DIAG":
        return b.call("diag", b.source(F32, (p["ne"][0], 1, *p["ne"][2:])))
    inplace = bool(p["inplace"])
    return b.call("diag_mask_inf" + ("_inplace" if inplace else ""), b.source(F32, p["ne"], written=inplace), p["past"])


def masked_rows(op: str) -> Iterator[Row]:
    """Sizes of every kind."""
    shapes = ((1, 1, 1, 1), (10, 10, 3, 2), (33, 7, 1, 1), (65, 9, 2, 1), (128, 3, 2, 2))
    yield from grid(ne=shapes) if op == "DIAG" else grid(ne=shapes, past=(0, 5), inplace=(0, 1))


def build_indexer(b: Builder, _op: str, p: Parameters) -> Value:
    """``ggml_lightning_indexer``."""
    streams = p["streams"]
    query = b.source(F32, (p["n"], p["heads"], p["batch"], streams))
    key = b.source(typed(p["type"]), (p["n"], 1, p["kv"], streams))
    weights = b.source(F32, (p["heads"], p["batch"], 1, streams))
    return b.call("lightning_indexer", query, key, weights, b.source(typed("f16"), (p["kv"], p["batch"], 1, streams), fill=MASK))


POSITIONS: Fill = COUNT
FAMILIES = (
    Family(
        ("MUL_MAT",),
        {"type": "f32", "tb": "f32", "m": 16, "n": 1, "k": 256, "bs": (1, 1), "nr": (1, 1), "layout": "", "lb": "", "prec": ""},
        build_mul_mat,
        lambda op: same_second(mul_mat_rows(op)),
    ),
    Family(
        ("MUL_MAT_ID",),
        {"type": "f32", "experts": 4, "used": 2, "shared": 0, "m": 32, "n": 1, "k": 256},
        build_mul_mat_id,
        mul_mat_id_rows,
    ),
    Family(
        ("OUT_PROD",),
        {"type": "f32", "m": 32, "n": 16, "k": 16, "bs": (1, 1), "nr": (1, 1), "transposed": 0},
        build_out_prod,
        out_prod_rows,
    ),
    Family(
        ("SOFT_MAX", "SOFT_MAX_BACK"),
        {"ne": (16, 16, 1, 1), "layout": "", "mask": "", "shared": (1, 1), "scale": 1.0, "bias": 0.0, "sinks": 0, "inplace": 0},
        build_soft_max,
        soft_max_rows,
    ),
    Family(
        ("ROPE", "ROPE_BACK"),
        {
            "type": "f32",
            "ne": (64, 2, 3, 1),
            "dims": 64,
            "mode": 0,
            "context": 512,
            "factors": 0,
            "scale": 1.0,
            "ext": 0.0,
            "attn": 1.0,
            "layout": "",
            "inplace": 0,
            "orig": -1,
            "fast": 32.0,
            "sections": (),
        },
        build_rope,
        rope_rows,
    ),
    Family(
        ("FLASH_ATTN_EXT",),
        {
            "type": "f16",
            "tv": "",
            "hsk": 64,
            "hsv": 0,
            "heads": 2,
            "group": 1,
            "streams": 1,
            "kv": 33,
            "batch": 1,
            "mask": 1,
            "bias": 0.0,
            "cap": 0.0,
            "sinks": 0,
            "layout": "",
            "lk": "",
        },
        build_flash,
        flash_rows,
    ),
    Family(("DIAG_MASK_INF", "DIAG"), {"ne": (10, 10, 3, 2), "past": 0, "inplace": 0}, build_masked, masked_rows),
    Family(
        ("LIGHTNING_INDEXER",),
        {"type": "f32", "n": 64, "heads": 4, "batch": 3, "kv": 33, "streams": 1},
        build_indexer,
        lambda _op: grid(type=("f32", "f16", "bf16", "q8_0", "q4_0"), batch=(1, 3), kv=(1, 33)),
    ),
)
