"""Definitions of operations on rows and matrices: copies, sums, norms, products, attention, positions, losses."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from lab.ggml.arrays import Array
from lab.ggml.modes import IMROPE, MROPE, NEOX, NORMAL, VISION
from lab.ops.golden import Definition, NoGolden
from lab.ops.golden_elementwise import GGML, sigmoid

ROFORMER = "Su et al., RoFormer, arXiv:2104.09864, and ggml.h"
EXPERTS = "ggml.h: every token's row times the matrices of its experts"


def permuted(x: Array, *axes: int) -> Array:
    """Dimension i of ggml becomes dimension ``axes[i]``."""
    order = [0] * 4
    for source, target in enumerate(axes):
        order[3 - target] = 3 - source
    return np.transpose(x, order)


def concatenated(x: Array, y: Array, dim: int) -> Array:
    """One behind the other."""
    return np.concatenate((x, y), axis=3 - dim)


def repeat_back(x: Array, like: Array) -> Array:
    """The sum of all copies."""
    counts = [count for large, small in zip(x.shape, like.shape, strict=True) for count in (large // small, small)]
    result: Array = x.reshape(counts).sum(axis=(0, 2, 4, 6))
    return result


def norm(x: Array, eps: float) -> Array:
    """Mean 0 and variance 1 in every row."""
    centred = x - x.mean(axis=-1, keepdims=True)
    result: Array = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    return result


def rms_norm(x: Array, eps: float) -> Array:
    """Root mean square 1 in every row."""
    result: Array = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)
    return result


def l2_norm(x: Array, eps: float) -> Array:
    """Length 1, unless it is shorter than eps."""
    result: Array = x / np.maximum(np.sqrt((x**2).sum(axis=-1, keepdims=True)), eps)
    return result


def group_norm(x: Array, groups: int, eps: float) -> Array:
    """``norm`` over all of a group of channels (dimension 2)."""
    batch, channels = x.shape[:2]
    size = -(-channels // groups)
    parts = [part.reshape(batch, -1) for part in (x[:, start : start + size] for start in range(0, channels, size))]
    done = [norm(part, eps) for part in parts]
    return np.concatenate([part.reshape(batch, -1, *x.shape[2:]) for part in done], axis=1)


def rms_norm_back(gradient: Array, x: Array, eps: float) -> Array:
    """The derivative of ``rms_norm`` times the gradient."""
    mean = (x**2).mean(axis=-1, keepdims=True) + eps
    inner = (gradient * x).mean(axis=-1, keepdims=True)
    result: Array = (gradient - x * inner / mean) / np.sqrt(mean)
    return result


def spread(x: Array, like: Array) -> Array:
    """Repeat the two slowest dimensions, each element as often as needed in a row."""
    times = (like.shape[0] // x.shape[0], like.shape[1] // x.shape[1])
    return np.repeat(np.repeat(x, times[0], axis=0), times[1], axis=1)


def mul_mat(a: Array, b: Array) -> Array:
    """Rows of b times rows of a."""
    return b @ np.swapaxes(spread(a, b), -1, -2)


def mul_mat_id(experts: Array, rows: Array, ids: Array) -> Array:
    """Result [m, used, tokens]."""
    matrices, chosen = experts[0], ids[0, 0]
    tokens, used = chosen.shape
    wide = np.broadcast_to(rows[0], (tokens, used, rows.shape[-1])) if rows.shape[2] == 1 else rows[0]
    result: Array = np.einsum("tumk,tuk->tum", matrices[chosen], wide)[None]
    return result


def out_prod(a: Array, b: Array) -> Array:
    """The sum over rows of outer products."""
    return np.swapaxes(b, -1, -2) @ spread(a, b)


def get_rows(data: Array, ids: Array) -> Array:
    """Rows by number, batch by batch."""
    batches = np.arange(ids.shape[2])[None, :, None], np.arange(ids.shape[1])[:, None, None]
    outer = ids[0][:, :, :] if ids.shape[0] == 1 else ids
    result: Array = data[batches[1], batches[0], outer]
    return result


def set_rows(target: Array, rows: Array, places: Array) -> Array:
    """The target with rows replaced."""
    result = target.copy()
    for outer in range(rows.shape[0]):
        for inner in range(rows.shape[1]):
            chosen = places[0, outer % places.shape[1], inner % places.shape[2]]
            result[outer, inner, chosen] = rows[outer, inner]
    return result


def get_rows_back(gradient: Array, ids: Array, like: Array) -> Array:
    """Gradients summed where their rows came from."""
    result = np.zeros(like.shape)
    np.add.at(result[0, 0], ids.reshape(-1), gradient.reshape(-1, gradient.shape[-1]))
    return result


def slopes(heads: int, bias: float) -> Array:
    """Press et al., Train Short, Test Long: each head's slope, 1 without a bias."""
    if not bias:
        return np.ones(heads)
    power = 2 ** int(np.floor(np.log2(heads)))
    first, second = 2 ** (-bias / power), 2 ** (-bias / 2 / power)
    return np.array([first ** (h + 1) if h < power else second ** (2 * (h - power) + 1) for h in range(heads)])


def soft_max(x: Array, sinks: Array | None = None) -> Array:
    """Rows of probabilities. A head's sink is one more value in each of its rows, whose probability is then left out."""
    sink = np.full((1, 1, 1, 1), -np.inf) if sinks is None else sinks.reshape(1, -1, 1, 1)
    largest = np.maximum(x.max(axis=-1, keepdims=True), sink)
    raised = np.exp(x - largest)
    result: Array = raised / (raised.sum(axis=-1, keepdims=True) + np.exp(sink - largest))
    return result


def soft_max_ext(x: Array, mask: Array | None, scale: float, bias: float, sinks: Array | None = None) -> Array:
    """Softmax of scaled values plus the mask times each head's slope."""
    scaled = x * scale
    if mask is not None:
        times = (x.shape[0] // mask.shape[0], x.shape[1] // mask.shape[1], 1, 1)
        scaled = scaled + slopes(x.shape[1], bias)[None, :, None, None] * np.tile(mask[:, :, : x.shape[2]], times)
    return soft_max(scaled, sinks)


def soft_max_back(gradient: Array, y: Array, scale: float, bias: float) -> Array:
    """The derivative of softmax at its result y."""
    if bias:
        raise NoGolden("gradient with slopes")
    result: Array = scale * y * (gradient - (gradient * y).sum(axis=-1, keepdims=True))
    return result


def rope(x: Array, positions: Array, factors: Array | None, dims: int, mode: int, *numbers: float, forward: bool = True) -> Array:
    """Pairs of a row turned by an angle that grows with the position: neighbours (mode 0), or half a row apart (mode 2)."""
    if mode not in {NORMAL, NEOX}:
        raise NoGolden(f"rotary positions of mode {mode}")
    angles = positions.reshape(-1, 1) * numbers[1] ** (-2.0 * np.arange(dims // 2) / dims)
    return turned(x, angles, factors, dims, *numbers, neighbours=mode == NORMAL, forward=forward)


def rope_multi(x: Array, positions: Array, factors: Array | None, dims: int, *rest: Any, forward: bool = True) -> Array:
    """``rope`` with four positions of each token, of which a pair has one.

    The first of ``rest`` says how many pairs have which: one behind the other (mode 8), or the first three in turns (mode 40).
    For pictures (mode 24) twice as many pairs are turned, and each section begins with the full angle.
    """
    sections, mode, *numbers = rest
    if mode not in {MROPE, VISION, IMROPE} or len(sections) != 4 or min(sections) < 0 or not sum(sections):  # noqa: PLR2004
        raise NoGolden(f"rotary positions of mode {mode} with sections {sections}")
    if mode == VISION and (factors is not None or 0 in np.trim_zeros(sections, "b")):
        raise NoGolden("pictures with factors, or with an empty section before another one")
    pairs = np.arange(dims if mode == VISION else dims // 2)
    places = pairs % sum(sections)
    chosen = np.searchsorted(np.cumsum(sections), places, side="right")
    powers = places - (np.cumsum(sections) - sections)[chosen] if mode == VISION else pairs
    if mode == IMROPE:
        chosen = np.where(places < 3 * np.asarray(sections)[places % 3], places % 3, 3)
    angles = positions.reshape(4, -1).T[:, chosen] * numbers[1] ** (-2.0 * powers / dims)
    return turned(x, angles, factors, dims, *numbers, neighbours=False, forward=forward)


def turned(
    x: Array, angles: Array, factors: Array | None, dims: int, *numbers: float, neighbours: bool, forward: bool
) -> Array:  # fmt: skip
    """Pairs turned by a token's angles [tokens, pairs], or back for a gradient.

    With YaRN (``ext``) angles are scaled by ``scale`` but for those of quick pairs, and the result by what makes up for it.
    """
    context, base, scale, ext, attn, fast, slow = numbers
    if ext and min(context, scale, fast, slow) <= 0:
        raise NoGolden("YaRN without a context, a scale or turns")
    if factors is not None:
        angles = angles / factors.reshape(-1)
    if ext:
        attn *= 1 - 0.1 * np.log(scale)
        kept = ext * quick_pairs(angles.shape[-1], dims, context, base, (fast, slow))
        angles = angles * (scale + kept * (1 - scale))
    else:
        angles = angles * scale
    sine, cosine = (attn * turn(angles if forward else -angles)[None, :, None, :] for turn in (np.sin, np.cos))
    result, count = x.copy(), angles.shape[-1]
    first, second = (slice(0, 2 * count, 2), slice(1, 2 * count, 2)) if neighbours else (slice(0, count), slice(count, 2 * count))
    result[..., first] = x[..., first] * cosine - x[..., second] * sine
    result[..., second] = x[..., first] * sine + x[..., second] * cosine
    return result


def quick_pairs(count: int, dims: int, context: float, base: float, turns: tuple[float, float]) -> Array:
    """Peng et al., YaRN: 1 for pairs that turn as often in a context as the first of ``turns``, 0 as the second, a ramp between."""
    first, last = (dims * np.log(context / (2 * np.pi * number)) / (2 * np.log(base)) for number in turns)
    begin, end = max(0, np.floor(first)), min(dims - 1, np.ceil(last))
    return np.asarray(1 - np.clip((np.arange(count) - begin) / max(0.001, end - begin), 0, 1))


def flash_attn_ext(q: Array, k: Array, v: Array, mask: Array | None, *numbers: Any) -> Array:
    """softmax(q kᵀ scale + mask) v, heads of k and v shared by groups of q; result [hsv, heads, batch, streams]."""
    scale, bias, cap, *rest = numbers
    sinks = rest[0] if rest else None
    scores = q @ np.swapaxes(spread(k, q), -1, -2) * scale
    if cap:
        scores = cap * np.tanh(scores / cap)
    if mask is not None:
        scores = scores + slopes(q.shape[1], bias)[None, :, None, None] * mask[:, :, : q.shape[2]]
    return np.swapaxes(soft_max(scores, sinks) @ spread(v, q), 1, 2)


def lightning_indexer(q: Array, k: Array, weights: Array, mask: Array) -> Array:
    """How much each token wants each key: what its heads find alike, by their weights, plus the mask [keys, tokens, 1, streams]."""
    alike = np.maximum(np.einsum("sthn,skn->shtk", q, k[:, :, 0]), 0.0)
    result: Array = np.einsum("shtk,sth->stk", alike, weights[:, 0])[:, None] + mask
    return result


def hc_comb(mixes: Array, scale: Array, base: Array, eps: float, iterations: int) -> Array:
    """How residual streams are mixed: a matrix [streams, streams] whose rows and columns become 1 in sum (Sinkhorn and Knopp).

    Its logits are behind those of two vectors of streams, and have the third scale.
    """
    streams = round(np.sqrt(mixes.shape[-1] + 1)) - 1
    logits = mixes[0, 0, :, 2 * streams :] * scale.reshape(-1)[2] + base.reshape(-1)[2 * streams :]
    result: Array = soft_max(logits.reshape(1, -1, streams, streams))[0] + eps
    for turn in range(2 * iterations - 1):
        result = result / (result.sum(axis=-2 if turn % 2 == 0 else -1, keepdims=True) + eps)
    return result


def diag_mask_inf(x: Array, past: int) -> Array:
    """Minus infinity right of the diagonal."""
    columns, lines = np.arange(x.shape[-1]), np.arange(x.shape[-2])[:, None]
    return np.where(columns > past + lines, -np.inf, x)


def tri(x: Array, part: int) -> Array:
    """Upper with diagonal, upper, lower with diagonal, lower."""
    columns, lines = np.arange(x.shape[-1]), np.arange(x.shape[-2])[:, None]
    return np.where((columns >= lines, columns > lines, columns <= lines, columns < lines)[part], x, 0.0)


def block(x: Array, part: Array, strides: tuple[int, ...], *, added: bool) -> Array:
    """A part of x replaced or added to; x is contiguous in elements of four bytes."""
    result = np.ascontiguousarray(x).copy()
    nb1, nb2, nb3, offset = strides
    counts = part.shape
    flat = offset // 4 + sum(
        np.arange(count).reshape([-1 if axis == own else 1 for axis in range(4)]) * stride
        for own, (count, stride) in enumerate(zip(counts, (nb3 // 4, nb2 // 4, nb1 // 4, 1), strict=True))
    )
    result.reshape(-1)[flat] = part + (result.reshape(-1)[flat] if added else 0)
    return result


def cross_entropy_loss(logits: Array, labels: Array) -> Array:
    """Minus the mean over rows of labels · log softmax."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    logarithms = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    result: Array = -(labels * logarithms).sum() / (logits.size / logits.shape[-1]) * np.ones((1, 1, 1, 1))
    return result


def cross_entropy_loss_back(gradient: Array, logits: Array, labels: Array) -> Array:
    """(softmax - labels) / rows, times the gradient."""
    result: Array = (soft_max(logits) - labels) * gradient.reshape(-1)[0] / (logits.size / logits.shape[-1])
    return result


def top_k(x: Array, k: int) -> Array:
    """Numbers of the k largest, in rising order: their order means nothing."""
    return np.sort(np.argsort(-x, axis=-1)[..., :k], axis=-1)


def hc_post(x: Array, residual: Array, post: Array, comb: Array | None) -> Array:
    """x[i,t] post[d,t] + Σ_s residual[i,s,t] comb[d,s,t]."""
    mixed = residual[0] if comb is None else np.einsum("tsi,tsd->tdi", residual[0], comb[0])
    result: Array = (np.einsum("ti,td->tdi", x[0, 0], post[0, 0]) + mixed)[None]
    return result


DEFINITIONS = {
    **{name: Definition(lambda x, *_: x, GGML) for name in ("dup", "cont", "cast", "cpy", "reshape_3d", "cont_2d", "cont_4d")},
    "permute": Definition(permuted, GGML),
    "transpose": Definition(lambda x: np.swapaxes(x, -1, -2), GGML),
    "sum": Definition(lambda x: x.sum().reshape(1, 1, 1, 1), GGML),
    "sum_rows": Definition(lambda x: x.sum(axis=-1, keepdims=True), GGML),
    "mean": Definition(lambda x: x.mean(axis=-1, keepdims=True), GGML),
    "cumsum": Definition(lambda x: np.cumsum(x, axis=-1), "numpy.cumsum along rows"),
    "argmax": Definition(lambda x: np.argmax(x, axis=-1), GGML),
    "count_equal": Definition(lambda x, y: np.sum(x == y).reshape(1, 1, 1, 1), GGML),
    "repeat_back": Definition(repeat_back, GGML),
    "concat": Definition(concatenated, GGML),
    "norm": Definition(norm, "Ba, Kiros and Hinton, Layer Normalization, arXiv:1607.06450"),
    "rms_norm": Definition(rms_norm, "Zhang and Sennrich, Root Mean Square Layer Normalization, arXiv:1910.07467"),
    "l2_norm": Definition(l2_norm, "PyTorch 2 documentation, torch.nn.functional.normalize"),
    "group_norm": Definition(group_norm, "Wu and He, Group Normalization, arXiv:1803.08494"),
    "rms_norm_back": Definition(rms_norm_back, "derivative of rms_norm"),
    "mul_mat": Definition(mul_mat, GGML),
    "mul_mat_id": Definition(mul_mat_id, EXPERTS),
    "out_prod": Definition(out_prod, GGML),
    "get_rows": Definition(get_rows, GGML),
    "set_rows": Definition(set_rows, GGML),
    "get_rows_back": Definition(get_rows_back, GGML),
    "soft_max": Definition(soft_max, GGML),
    "soft_max_ext": Definition(soft_max_ext, f"{GGML}; slopes: Press et al., arXiv:2108.12409"),
    "soft_max_ext+sinks": Definition(soft_max_ext, f"{GGML}; sinks: Xiao et al., arXiv:2309.17453"),
    "flash_attn_ext+sinks": Definition(flash_attn_ext, f"{GGML}; sinks: Xiao et al., arXiv:2309.17453"),
    "soft_max_ext_back": Definition(soft_max_back, "derivative of softmax"),
    "rope_ext": Definition(rope, f"{ROFORMER}; YaRN: Peng et al., arXiv:2309.00071"),
    "rope_ext_back": Definition(functools.partial(rope, forward=False), ROFORMER),
    "rope_multi": Definition(rope_multi, f"{ROFORMER}; several positions: Wang et al., Qwen2-VL, arXiv:2409.12191"),
    "rope_multi_back": Definition(functools.partial(rope_multi, forward=False), ROFORMER),
    "flash_attn_ext": Definition(flash_attn_ext, "Vaswani et al., Attention Is All You Need, arXiv:1706.03762, and ggml.h"),
    "diag": Definition(lambda x: x * np.eye(x.shape[-1]), "numpy.diag"),
    "diag_mask_inf": Definition(diag_mask_inf, GGML),
    "tri": Definition(tri, GGML),
    "acc": Definition(lambda x, part, *strides: block(x, part, strides, added=True), GGML),
    "set": Definition(lambda x, part, *strides: block(x, part, strides, added=False), GGML),
    "argsort": Definition(lambda x, order: np.argsort(-x if order else x, axis=-1), "numpy.argsort of different values"),
    "top_k": Definition(top_k, GGML),
    "cross_entropy_loss": Definition(cross_entropy_loss, "PyTorch 2 documentation, torch.nn.functional.cross_entropy"),
    "cross_entropy_loss_back": Definition(cross_entropy_loss_back, "derivative of cross_entropy_loss"),
    "solve_tri": Definition(lambda a, b, *_: np.linalg.solve(np.tril(a), b), GGML),
    "lightning_indexer": Definition(lightning_indexer, "DeepSeek-V3.2 technical report, equation 1"),
    "dsv4_hc_comb": Definition(hc_comb, f"{GGML}; Xie et al., mHC, arXiv:2512.24880"),
    "dsv4_hc_pre": Definition(lambda x, w: np.einsum("thi,th->ti", x[0], w[0, 0]), GGML),
    "dsv4_hc_pre_gated": Definition(lambda x, gate, scale: scale * (x * sigmoid(gate)).sum(axis=2), GGML),
    "dsv4_hc_post": Definition(hc_post, GGML),
}
