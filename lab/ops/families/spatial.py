"""Operations on signals and images: convolutions and what they are made of, pools, padding, scaling, rolling."""

from __future__ import annotations

from collections.abc import Iterator

from lab.ggml.modes import ANTIALIAS, BICUBIC, BILINEAR, CORNERS, NEAREST
from lab.ggml.types import typed
from lab.ops.build import Builder, Value
from lab.ops.case import Family, Parameters, Row
from lab.ops.data import POSITIVE, UNIFORM, between
from lab.ops.families import grid

F32 = typed("f32")
WHOLE = (10, 5, 4, 3)


def build_im2col(b: Builder, _op: str, p: Parameters) -> Value:
    """Patches of an image or signal as rows."""
    flat = not p["two"]
    kernel = b.source(
        typed(p["kernel"]), (p["kw"], p["channels"], p["out"]) if flat else (p["kw"], p["kh"], p["channels"], p["out"])
    )
    image = b.source(F32, (p["w"], p["channels"], p["batch"]) if flat else (p["w"], p["h"], p["channels"], p["batch"]))
    second = (0, 0, 0) if flat else (p["s"], p["p"], p["d"])
    steps = (p["s"], second[0], p["p"], second[1], p["d"], second[2])
    return b.call("im2col", kernel, image, *steps, not flat, typed(p["to"]))


def im2col_rows(_op: str) -> Iterator[Row]:
    """One and two dimensions, steps, padding, spacing, both result types."""
    yield from grid(two=(0, 1), to=("f32", "f16"), s=(1, 2), p=(0, 1), d=(1, 2))
    yield from grid(two=(0, 1), kernel=("f32",), batch=(1, 2), w=(1, 20), p=(1,))


def build_im2col_3d(b: Builder, _op: str, p: Parameters) -> Value:
    """Patches of a volume as rows."""
    channels = p["channels"]
    kernel = b.source(typed(p["kernel"]), (3, 3, 2, channels * 2))
    volume = b.source(F32, (p["w"], 6, 5, channels * p["batch"]))
    steps = (*(p["s"],) * 3, *(p["p"],) * 3, *(p["d"],) * 3)
    return b.call("im2col_3d", kernel, volume, channels, *steps, typed(p["to"]))


def build_col2im(b: Builder, _op: str, p: Parameters) -> Value:
    """Columns added up into a signal."""
    return b.call("col2im_1d", b.source(typed(p["type"]), (p["k"] * p["out"], p["t"])), p["s"], p["out"], p["p"])


def build_conv_2d(b: Builder, op: str, p: Parameters) -> Value:
    """CONV_2D in one operation, or depthwise."""
    depthwise = op == "CONV_2D_DW"
    kernel = b.source(
        typed(p["type"]), (p["kw"], p["kh"], 1 if depthwise else p["channels"], p["channels"] if depthwise else p["out"])
    )
    image = b.source(F32, (p["w"], p["h"], p["channels"], p["batch"]), p["layout"])
    steps = (p["s"], p["s"], p["p"], p["p"], p["d"], p["d"])
    return b.call("conv_2d_dw_direct" if depthwise else "conv_2d_direct", kernel, image, *steps)


def conv_2d_rows(op: str) -> Iterator[Row]:
    """Steps, padding, spacing; small, odd and one-pixel images; kernels in both floats where both are read."""
    kernels = ("f32",) if op == "CONV_2D_DW" else ("f32", "f16")
    yield from grid(type=kernels, s=(1, 2), p=(0, 1), d=(1, 2))
    yield from grid(type=kernels, w=(3, 17), h=(3, 9), kw=(1, 3), kh=(1, 3), batch=(1, 2))


def build_conv_3d(b: Builder, _op: str, p: Parameters) -> Value:
    """CONV_3D in one operation."""
    channels, batch, out = p["channels"], p["batch"], p["out"]
    kernel = b.source(typed(p["type"]), (3, 2, 2, channels * out))
    volume = b.source(F32, (p["w"], 6, 5, channels * batch))
    steps = (*(p["s"],) * 3, *(p["p"],) * 3, *(p["d"],) * 3)
    return b.call("conv_3d_direct", kernel, volume, *steps, channels, batch, out)


def build_transposed(b: Builder, op: str, p: Parameters) -> Value:
    """CONV_TRANSPOSE_1D and _2D. Of a signal of one element there is a sum or two, which must not cancel: it is rounded to f16."""
    if op == "CONV_TRANSPOSE_1D":
        fill = POSITIVE if p["w"] == 1 else UNIFORM
        kernel = b.source(typed(p["type"]), (p["k"], p["out"], p["channels"]), fill=fill)
        return b.call("conv_transpose_1d", kernel, b.source(F32, (p["w"], p["channels"]), fill=fill), p["s"], 0, 1)
    kernel = b.source(typed(p["type"]), (p["k"], p["k"], p["out"], p["channels"]))
    return b.call("conv_transpose_2d_p0", kernel, b.source(F32, (p["w"], 5, p["channels"])), p["s"])


def build_pool(b: Builder, op: str, p: Parameters) -> Value:
    """POOL_1D and POOL_2D: the largest or the mean of windows."""
    source = b.source(F32, (p["w"], 7, 3, 2), p["layout"])
    if op == "POOL_1D":
        return b.call("pool_1d", source, p["mean"], p["k"], p["s"], p["p"])
    return b.call("pool_2d", source, p["mean"], p["k"], p["k2"], p["s"], p["s"], float(p["p"]), float(p["p"]))


def pool_rows(op: str) -> Iterator[Row]:
    """Largest and mean, windows, steps, padding."""
    if op == "POOL_1D":
        yield from grid(mean=(0, 1), k=(1, 2), w=(8, 9))
        yield from ({**row, "s": 2, "k": 2} for row in grid(mean=(0, 1), w=(8, 33)))
        return
    yield from grid(mean=(0, 1), k=(1, 3), k2=(1, 3), s=(1, 2))
    # windows that lie in the padding alone have no largest element
    yield from grid(mean=(0, 1), k=(3,), k2=(3,), s=(1, 2), p=(1,), w=(9, 12))


def build_upscale(b: Builder, _op: str, p: Parameters) -> Value:
    """Another size by interpolation."""
    return b.call("interpolate", b.source(F32, p["ne"], p["layout"]), *p["to"], p["mode"])


def upscale_rows(_op: str) -> Iterator[Row]:
    """Larger and smaller, by every mode."""
    for sizes in ((20, 10, 4, 3), (5, 9, 4, 3), (13, 3, 4, 3), (1, 1, 4, 3)):
        yield from grid(to=(sizes,), mode=(NEAREST, BILINEAR, BICUBIC, BILINEAR | ANTIALIAS))
        if min(sizes) > 1:
            yield from grid(to=(sizes,), mode=(BILINEAR | CORNERS, BICUBIC | CORNERS))
    yield from grid(to=((20, 10, 8, 6),), mode=(NEAREST,))
    yield from grid(to=((20, 10, 4, 3),), mode=(NEAREST, BILINEAR), layout=("p1023",))


def build_pad(b: Builder, op: str, p: Parameters) -> Value:
    """PAD on both sides with zeros or around a circle; PAD_REFLECT_1D; ROLL."""
    source = b.source(F32, p["ne"], p["layout"])
    match op:
        case "PAD_REFLECT_1D":
            return b.call("pad_reflect_1d", source, *p["by"][:2])
        case "ROLL":
            return b.call("roll", source, *p["by"])
        case _:
            left = p["left"]
            sides = tuple(side for pair in zip(left, p["by"], strict=True) for side in pair)
            return b.call("pad_ext_circular" if p["circular"] else "pad_ext", source, *sides)


def pad_rows(op: str) -> Iterator[Row]:
    """Each dimension and several; layouts."""
    shapes = ((10, 5, 4, 3), (33, 7, 1, 1), (512, 2, 2, 1))
    if op == "PAD_REFLECT_1D":
        yield from grid(ne=shapes, by=((1, 1, 0, 0), (0, 3, 0, 0), (9, 8, 0, 0)))
    elif op == "ROLL":
        yield from grid(
            ne=((10, 5, 4, 3), (33, 7, 1, 1), (512, 3, 2, 1)), by=((0, 0, 0, 0), (3, -2, 0, 0), (-1, 1, 0, 0), (9, 1, 0, 0))
        )
        yield from grid(by=((1, 2, 3, -1), (-9, 4, -3, 2)))
    else:
        yield from grid(ne=shapes, by=((1, 1, 0, 0), (0, 0, 2, 1), (3, 0, 0, 0)), left=((0, 0, 0, 0), (1, 2, 0, 1)))
        yield from grid(ne=shapes, by=((1, 1, 0, 0), (3, 0, 0, 0)), left=((0, 0, 0, 0), (1, 1, 0, 0)), circular=(1,))


def build_timestep(b: Builder, _op: str, p: Parameters) -> Value:
    """Sines and cosines of time steps."""
    return b.call("timestep_embedding", b.source(F32, (p["n"],), fill=between(0, 1000)), p["dim"], p["period"])


FAMILIES = (
    Family(
        ("IM2COL",),
        {
            "kernel": "f16",
            "to": "f32",
            "two": 1,
            "w": 12,
            "h": 10,
            "kw": 3,
            "kh": 3,
            "channels": 3,
            "out": 2,
            "batch": 1,
            "s": 1,
            "p": 0,
            "d": 1,
        },
        build_im2col,
        im2col_rows,
    ),
    Family(
        ("IM2COL_3D",),
        {"kernel": "f16", "to": "f32", "w": 7, "channels": 2, "batch": 1, "s": 1, "p": 0, "d": 1},
        build_im2col_3d,
        lambda _op: grid(to=("f32", "f16"), s=(1, 2), p=(0, 1), d=(1, 2), batch=(1, 2)),
    ),
    Family(
        ("COL2IM_1D",),
        {"type": "f32", "k": 3, "out": 2, "t": 7, "s": 1, "p": 0},
        build_col2im,
        lambda _op: grid(type=("f32", "f16", "bf16"), k=(3, 4), s=(1, 2), p=(0, 1)),
    ),
    Family(
        ("CONV_2D", "CONV_2D_DW"),
        {
            "type": "f32",
            "w": 12,
            "h": 10,
            "kw": 3,
            "kh": 3,
            "channels": 3,
            "out": 4,
            "batch": 1,
            "s": 1,
            "p": 1,
            "d": 1,
            "layout": "",
        },
        build_conv_2d,
        conv_2d_rows,
    ),
    Family(
        ("CONV_3D",),
        {"type": "f32", "w": 7, "channels": 2, "batch": 1, "out": 3, "s": 1, "p": 0, "d": 1},
        build_conv_3d,
        lambda _op: grid(type=("f32", "f16"), s=(1, 2), p=(0, 1), d=(1, 2), batch=(1, 2)),
    ),
    Family(
        ("CONV_TRANSPOSE_1D", "CONV_TRANSPOSE_2D"),
        {"type": "f32", "w": 9, "k": 3, "channels": 3, "out": 2, "s": 1},
        build_transposed,
        lambda op: grid(type=("f16",) if op == "CONV_TRANSPOSE_2D" else ("f32", "f16"), w=(1, 9), k=(1, 2, 3), s=(1, 2, 3)),
    ),
    Family(
        ("POOL_1D", "POOL_2D"),
        {"w": 9, "mean": 0, "k": 1, "k2": 1, "s": 1, "p": 0, "layout": ""},
        build_pool,
        pool_rows,
    ),
    Family(("UPSCALE",), {"ne": WHOLE, "to": WHOLE, "mode": 0, "layout": ""}, build_upscale, upscale_rows),
    Family(
        ("PAD", "PAD_REFLECT_1D", "ROLL"),
        {"ne": WHOLE, "by": (0, 0, 0, 0), "left": (0, 0, 0, 0), "circular": 0, "layout": ""},
        build_pad,
        pad_rows,
    ),
    Family(
        ("TIMESTEP_EMBEDDING",),
        {"n": 2, "dim": 320, "period": 10000},
        build_timestep,
        lambda _op: grid(n=(1, 5), dim=(2, 15, 320), period=(10, 10000)),
    ),
)
