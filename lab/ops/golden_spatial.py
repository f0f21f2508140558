"""Definitions of operations on signals, images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lab.ggml.arrays import Array
from lab.ggml.modes import ANTIALIAS, BICUBIC, BILINEAR, CORNERS, NEAREST
from lab.ops.golden import Definition, NoGolden
from lab.ops.golden_elementwise import GGML

COLUMNS = 2
"""The first axis that is of an image."""
PYTORCH = "PyTorch 2 documentation, torch.nn.functional"
INTERPOLATIONS = frozenset((NEAREST, BILINEAR, BICUBIC, BILINEAR | ANTIALIAS, BILINEAR | CORNERS, BICUBIC | CORNERS))
"""The modes that ``interpolated`` defines: what ggml makes of other flags together is said nowhere."""


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


def volume_windows(kernel: Array, volume: Array, channels: int, steps: Sequence[int]) -> Array:
    """Windows [batch, channels, out planes, rows, columns, kernel planes, rows, columns].

    A batch's volumes are one behind the other, each with its channels; steps, padding and spacing are for columns, rows, planes.
    """
    s, p, d = steps[2::-1], steps[5:2:-1], steps[8:5:-1]
    whole = np.pad(volume.reshape(-1, channels, *volume.shape[1:]), [(0, 0), (0, 0), *((side, side) for side in p)])
    spans = [apart * (size - 1) + 1 for apart, size in zip(d, kernel.shape[1:], strict=True)]
    parts = np.lib.stride_tricks.sliding_window_view(whole, spans, axis=(2, 3, 4))
    places: Any = (..., *(slice(None, None, step) for step in (*s, *d)))
    return np.asarray(parts[places])


def conv_3d(kernel: Array, volume: Array, *numbers: int) -> Array:
    """Cross-correlation with kernels of ``channels`` times ``out``; the last numbers are channels, batch, out."""
    *steps, channels, batch, out = numbers
    parts = volume_windows(kernel, volume, channels, steps)
    result: Array = np.einsum("ncdhwzyx,oczyx->nodhw", parts, kernel.reshape(out, channels, *kernel.shape[1:]))
    return result.reshape(batch * out, *result.shape[2:])


def im2col_3d(kernel: Array, volume: Array, channels: int, *numbers: int) -> Array:
    """Windows as rows [kw * kh * kd * channels]; the last number is the result's type."""
    return np.moveaxis(volume_windows(kernel, volume, channels, numbers[:-1]), 1, 4)


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
    """The largest or the mean of windows, to which padding belongs as zeros.

    Raises:
        NoGolden: the largest of a window that lies in the padding alone: ggml has the lowest number there, PyTorch refuses it.
    """
    if not mean and any(side >= size for side, size in zip(p, kernel, strict=True)):
        raise NoGolden("the largest of a window that lies in the padding alone has no definition here")
    sides = [(0, 0), (0, 0), (p[0], p[0]), (p[1], p[1])]
    parts = windows(np.pad(x, sides, constant_values=0.0 if mean else -np.inf), kernel, s, (1, 1))
    result: Array = parts.mean(axis=(-1, -2)) if mean else parts.max(axis=(-1, -2))
    return result


def pool_1d(x: Array, kind: int, k: int, s: int, p: int) -> Array:
    """``pool`` of rows. Raises ``NoGolden`` for means with padding, too: ggml leaves it out of them, and in images it does not."""
    if kind and p:
        raise NoGolden("means of rows with padding have no definition here")
    return pool(x, (1, k), (1, s), (0, p), mean=bool(kind))


def interpolated(x: Array, *numbers: int) -> Array:
    """Nearest: element floor(i * old / new). The other modes mix elements of rows and columns.

    Raises:
        NoGolden: a mode that is none of ``INTERPOLATIONS``.
    """
    *ne, mode = numbers
    if mode not in INTERPOLATIONS:
        raise NoGolden(f"interpolation of mode {mode} has no definition here")
    for axis, size in enumerate(ne[::-1]):
        old = x.shape[axis]
        if mode == NEAREST or axis < COLUMNS:
            x = np.take(x, np.arange(size) * old // size, axis=axis)
        else:
            x = np.moveaxis(np.tensordot(shares(old, size, mode), x, (1, axis)), 0, axis)
    return x


def shares(old: int, new: int, mode: int) -> Array:
    """How much of each of ``old`` elements is in each of ``new`` ones [new, old]; beyond the ends the last element goes on."""
    if mode & ANTIALIAS:
        return shares_of_all(old, new)
    ends = bool(mode & CORNERS)
    places = np.arange(new) * (old - 1) / (new - 1) if ends else (np.arange(new) + 0.5) * old / new - 0.5
    result, below = np.zeros((new, old)), np.floor(places)
    reach, weight = (1, lambda x: 1 - np.abs(x)) if mode & ~CORNERS == BILINEAR else (2, keys)
    for tap in range(1 - reach, reach + 1):
        np.add.at(result, (np.arange(new), np.clip(below + tap, 0, old - 1).astype(int)), weight(places - below - tap))
    return result


def keys(distance: Array) -> Array:
    """Keys, Cubic convolution interpolation, 1981, with a = -0.75."""
    a, x = -0.75, np.abs(distance)
    return np.where(x <= 1, (a + 2) * x**3 - (a + 3) * x**2 + 1, a * (x**3 - 5 * x**2 + 8 * x - 4))


def shares_of_all(old: int, new: int) -> Array:
    """``shares`` of a triangle as wide as what becomes one element."""
    wide = max(1.0, old / new)
    middle = (np.arange(new)[:, None] + 0.5) * old / new
    result = np.maximum(0.0, 1 - np.abs(np.arange(old) + 0.5 - middle) / wide)
    return np.asarray(result / result.sum(axis=1, keepdims=True))


def timesteps(steps: Array, dim: int, period: int) -> Array:
    """Cosines, then sines, then zeros up to dim."""
    half = dim // 2
    angles = steps.reshape(-1, 1) * np.exp(-np.log(period) * np.arange(half) / half)
    result = np.zeros((steps.size, dim))
    result[:, :half], result[:, half : 2 * half] = np.cos(angles), np.sin(angles)
    return result[None, None]


DEFINITIONS = {
    "pad_ext": Definition(padded, GGML),
    "pad_ext_circular": Definition(padded_around, GGML),
    "pad_reflect_1d": Definition(reflected, GGML),
    "roll": Definition(rolled, GGML),
    "conv_2d_direct": Definition(conv_2d, f"{PYTORCH}.conv2d"),
    "conv_3d_direct": Definition(conv_3d, f"{PYTORCH}.conv3d"),
    "im2col_3d": Definition(im2col_3d, f"{PYTORCH}.unfold, in three dimensions"),
    "conv_2d_dw_direct": Definition(conv_2d_dw, f"{PYTORCH}.conv2d with groups"),
    "im2col": Definition(im2col, f"{PYTORCH}.unfold"),
    "conv_transpose_1d": Definition(conv_transpose_1d, f"{PYTORCH}.conv_transpose1d"),
    "conv_transpose_2d_p0": Definition(conv_transpose_2d, f"{PYTORCH}.conv_transpose2d"),
    "col2im_1d": Definition(col2im, GGML),
    "pool_1d": Definition(pool_1d, f"{PYTORCH}.max_pool1d"),
    "pool_2d": Definition(
        lambda x, kind, k0, k1, s0, s1, p0, p1: pool(x, (k1, k0), (s1, s0), (int(p1), int(p0)), mean=bool(kind)),
        f"{PYTORCH}.max_pool2d",
    ),
    "interpolate": Definition(interpolated, f"{PYTORCH}.interpolate"),
    "timestep_embedding": Definition(timesteps, "CompVis stable-diffusion, ldm/modules/diffusionmodules/util.py"),
}
