"""Definitions of operations on signals and images, and of short recurrences."""

from __future__ import annotations

import numpy as np

from lab.ggml.arrays import Array
from lab.ops.golden import Definition, NoGolden
from lab.ops.golden_elementwise import GGML

PYTORCH = "PyTorch 2 documentation, torch.nn.functional"


def padded(x: Array, *sides: int) -> Array:
    """Zeros on both sides of every dimension."""
    return np.pad(x, pairs(sides))


def padded_around(x: Array, *sides: int) -> Array:
    """The other end of every dimension on both sides."""
    return np.pad(x, pairs(sides), mode="wrap")


def pairs(sides: tuple[int, ...]) -> list[tuple[int, int]]:
    """Left and right of every dimension, slowest first."""
    return [(sides[2 * dim], sides[2 * dim + 1]) for dim in (3, 2, 1, 0)]


def reflected(x: Array, left: int, right: int) -> Array:
    """Mirrored at both ends of rows."""
    return np.pad(x, [(0, 0)] * 3 + [(left, right)], mode="reflect")


def rolled(x: Array, *shifts: int) -> Array:
    """Around in every dimension."""
    return np.roll(x, shifts[::-1], axis=(0, 1, 2, 3))


def windows(x: Array, kernel: tuple[int, int], s: tuple[int, int], d: tuple[int, int]) -> Array:
    """Windows [..., out rows, out columns, kernel rows, kernel columns] of padded images."""
    (kh, kw), (sy, sx), (dy, dx) = kernel, s, d
    high = (x.shape[-2] - dy * (kh - 1) - 1) // sy + 1
    wide = (x.shape[-1] - dx * (kw - 1) - 1) // sx + 1
    rows = np.arange(high)[:, None] * sy + np.arange(kh) * dy
    columns = np.arange(wide)[:, None] * sx + np.arange(kw) * dx
    return x[..., rows[:, None, :, None], columns[None, :, None, :]]


def image_windows(kernel: Array, image: Array, steps: tuple[int, ...]) -> Array:
    """Windows of the kernel's size; steps, padding and spacing each for columns, then rows."""
    s0, s1, p0, p1, d0, d1 = steps
    return windows(np.pad(image, [(0, 0), (0, 0), (p1, p1), (p0, p0)]), kernel.shape[-2:], (s1, s0), (d1, d0))


def conv_2d(kernel: Array, image: Array, *steps: int) -> Array:
    """Cross-correlation with kernels [kw, kh, channels, out]."""
    parts = image_windows(kernel, image, steps)
    result: Array = np.einsum("nchwyx,ocyx->nohw", parts, kernel)
    return result


def conv_2d_dw(kernel: Array, image: Array, *steps: int) -> Array:
    """Every channel with its own kernel."""
    parts = image_windows(kernel, image, steps)
    result: Array = np.einsum("nchwyx,cyx->nchw", parts, kernel[:, 0])
    return result


def im2col(kernel: Array, image: Array, *numbers: int) -> Array:
    """Windows as rows [kw * kh * channels]; the last numbers are whether there are rows, and the result's type."""
    *steps, two, _ = numbers
    if not two:
        image, kernel = image.reshape(image.shape[1], image.shape[2], 1, image.shape[3]), kernel.reshape(1, -1, 1, kernel.shape[3])
        steps[1::2] = 1, 0, 1
    return np.moveaxis(image_windows(kernel, image, tuple(steps)), 1, 3)


def conv_transpose_1d(kernel: Array, signal: Array, s: int, _p: int, _d: int) -> Array:
    """Every input adds a scaled kernel at its place; kernel [k, out, channels]."""
    channels, out, size = kernel.shape[1:]
    length = signal.shape[-1]
    result = np.zeros((1, 1, out, (length - 1) * s + size))
    for place in range(length):
        result[0, 0, :, place * s : place * s + size] += np.einsum("cok,c->ok", kernel[0], signal[0, 0, :channels, place])
    return result


def conv_transpose_2d(kernel: Array, image: Array, s: int) -> Array:
    """The same in two dimensions; kernel [kw, kh, out, channels]."""
    _, out, kh, kw = kernel.shape
    high, wide = image.shape[-2:]
    result = np.zeros((image.shape[0], out, (high - 1) * s + kh, (wide - 1) * s + kw))
    for y in range(high):
        for x in range(wide):
            result[:, :, y * s : y * s + kh, x * s : x * s + kw] += np.einsum("coyx,nc->noyx", kernel, image[:, :, y, x])
    return result


def col2im(columns: Array, s: int, out: int, p: int) -> Array:
    """Columns [k * out, t] added up into a signal of ``out`` channels, cropped by p."""
    flat = columns[0, 0]
    t, size = flat.shape[0], flat.shape[1] // out
    result = np.zeros((out, (t - 1) * s + size))
    for place in range(t):
        result[:, place * s : place * s + size] += flat[place].reshape(out, size)
    return result[:, p : result.shape[1] - p]


def pool(x: Array, kernel: tuple[int, int], s: tuple[int, int], p: tuple[int, int], *, mean: bool) -> Array:
    """The largest or the mean of windows."""
    if mean and any(p):
        raise NoGolden("means over padding")
    sides = [(0, 0), (0, 0), (p[0], p[0]), (p[1], p[1])]
    parts = windows(np.pad(x, sides, constant_values=-np.inf), kernel, s, (1, 1))
    result: Array = parts.mean(axis=(-1, -2)) if mean else parts.max(axis=(-1, -2))
    return result


def interpolated(x: Array, *numbers: int) -> Array:
    """Nearest: element floor(i * old / new)."""
    *ne, mode = numbers
    if mode:
        raise NoGolden("only the nearest element is defined here")
    for axis, size in enumerate(ne[::-1]):
        old = x.shape[axis]
        x = np.take(x, np.arange(size) * old // size, axis=axis)
    return x


def timesteps(steps: Array, dim: int, period: int) -> Array:
    """Cosines, then sines, then zeros up to dim."""
    half = dim // 2
    angles = steps.reshape(-1, 1) * np.exp(-np.log(period) * np.arange(half) / half)
    result = np.zeros((steps.size, dim))
    result[:, :half], result[:, half : 2 * half] = np.cos(angles), np.sin(angles)
    return result[None, None]


def ssm_conv(x: Array, kernel: Array) -> Array:
    """Sliding sums along each channel; result [channels, tokens, sequences]."""
    size = kernel.shape[-1]
    parts = np.lib.stride_tricks.sliding_window_view(x[0], size, axis=-1)
    result: Array = np.einsum("sctk,ck->stc", parts, kernel[0, 0])[None]
    return result


def linear_attention(sources: tuple[Array, ...], state: Array, bonus: Array | None, scale: float) -> Array:
    """A state of outer products that decays; rows of results, then the last states."""
    k, v, r, decay = sources
    tokens, heads, size = k.shape[1:]
    seqs = state.shape[2] if state.shape[2] > 1 else state.size // (size * size * heads)
    states = state.reshape(seqs, heads, size, size).copy()
    result = np.zeros((tokens, heads, size))
    for token in range(tokens):
        own = states[token * seqs // tokens]
        outer = k[0, token][:, :, None] * v[0, token][:, None, :]
        if bonus is None:
            own[:] = own * decay[0, token][:, :, None] + outer
            result[token] = scale * np.einsum("hi,hij->hj", r[0, token], own)
        else:
            result[token] = np.einsum("hi,hij->hj", r[0, token], own + bonus[0, 0][:, :, None] * outer)
            own[:] = own * decay[0, token][:, :, None] + outer
    return np.concatenate((result.reshape(-1), states.reshape(-1)))


DEFINITIONS = {
    "pad_ext": Definition(padded, GGML),
    "pad_ext_circular": Definition(padded_around, GGML),
    "pad_reflect_1d": Definition(reflected, GGML),
    "roll": Definition(rolled, GGML),
    "conv_2d_direct": Definition(conv_2d, f"{PYTORCH}.conv2d"),
    "conv_2d_dw_direct": Definition(conv_2d_dw, f"{PYTORCH}.conv2d with groups"),
    "im2col": Definition(im2col, f"{PYTORCH}.unfold"),
    "conv_transpose_1d": Definition(conv_transpose_1d, f"{PYTORCH}.conv_transpose1d"),
    "conv_transpose_2d_p0": Definition(conv_transpose_2d, f"{PYTORCH}.conv_transpose2d"),
    "col2im_1d": Definition(col2im, GGML),
    "pool_1d": Definition(lambda x, kind, k, s, p: pool(x, (1, k), (1, s), (0, p), mean=bool(kind)), f"{PYTORCH}.max_pool1d"),
    "pool_2d": Definition(
        lambda x, kind, k0, k1, s0, s1, p0, p1: pool(x, (k1, k0), (s1, s0), (int(p1), int(p0)), mean=bool(kind)),
        f"{PYTORCH}.max_pool2d",
    ),
    "interpolate": Definition(interpolated, f"{PYTORCH}.interpolate, mode nearest"),
    "timestep_embedding": Definition(timesteps, "CompVis stable-diffusion, ldm/modules/diffusionmodules/util.py"),
    "ssm_conv": Definition(ssm_conv, "Gu and Dao, Mamba, arXiv:2312.00752"),
    "rwkv_wkv6": Definition(
        lambda k, v, r, bonus, decay, state: linear_attention((k, v, r, decay), state, bonus, 1.0),
        "Peng et al., Eagle and Finch, arXiv:2404.05892",
    ),
    "gated_linear_attn": Definition(
        lambda k, v, r, decay, state, scale: linear_attention((k, v, r, decay), state, None, scale),
        "Yang et al., Gated Linear Attention, arXiv:2312.06635",
    ),
}
