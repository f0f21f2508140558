"""Definitions of recurrences: a state that goes from token to token, and is a part of the result.

Results are those of all tokens, then the last states, one behind the other.
"""

from __future__ import annotations

import numpy as np

from lab.ggml.arrays import Array
from lab.ops.golden import Definition


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


def ssm_scan(state: Array, x: Array, dt: Array, decay: Array, *rest: Array) -> Array:
    """A state of each number of x, into which ``b`` leads and out of which ``c``; groups of heads share both.

    ``rest`` is b, c, the state with which each sequence begins, and how many states are kept.
    """
    b, c = (np.repeat(one, x.shape[2] // one.shape[2], axis=2)[:, :, :, None] for one in rest[:2])
    step, own, result = np.log1p(np.exp(dt[0])), state[rest[2].reshape(-1)], np.zeros(x.shape)
    for token in range(x.shape[1]):
        kept = np.exp(step[:, token, :, None] * decay[0, 0])[:, :, None]
        own = own * kept + (step[:, token, :, None] * x[:, token])[..., None] * b[:, token]
        result[:, token] = (own * c[:, token]).sum(axis=-1)
    return np.concatenate((result.reshape(-1), own.reshape(-1)))


def rwkv_7(r: Array, decay: Array, *sources: Array) -> Array:
    """A state of outer products of which a part is taken out and put in again elsewhere; sources are k, v, a, b and the states."""
    k, v, a, b = (source[0] for source in sources[:4])
    tokens, heads, size = k.shape
    states = sources[4].reshape(-1, heads, size, size).copy()
    result = np.zeros((tokens, heads, size))
    for token in range(tokens):
        own = states[token * len(states) // tokens]
        taken = np.einsum("hij,hj->hi", own, a[token])
        own[:] = own * decay[0, token, :, None] + v[token, :, :, None] * k[token, :, None]
        own += taken[..., None] * b[token, :, None]
        result[token] = np.einsum("hij,hj->hi", own, r[0, token])
    return np.concatenate((result.reshape(-1), states.reshape(-1)))


def gated_delta(q: Array, k: Array, v: Array, gate: Array, *rest: Array) -> Array:
    """A state [values, keys] that decays, and of which each token mends what its key leads to; heads share keys in turns.

    ``rest`` is how much is mended, the states, and how many of them are kept.
    """
    beta, own = rest[0], rest[1].reshape(v.shape[0], v.shape[2], v.shape[3], -1)
    q, k = (np.tile(one, (1, 1, v.shape[2] // one.shape[2], 1)) for one in (q, k))
    result = np.zeros(v.shape)
    for token in range(v.shape[1]):
        own = own * np.exp(gate[:, token])[:, :, None]
        wrong = v[:, token] - np.einsum("bhij,bhj->bhi", own, k[:, token])
        own = own + (beta[:, token] * wrong)[..., None] * k[:, token, :, None]
        result[:, token] = np.einsum("bhij,bhj->bhi", own, q[:, token]) / np.sqrt(v.shape[3])
    return np.concatenate((result.reshape(-1), own.reshape(-1)))


DEFINITIONS = {
    "ssm_conv": Definition(ssm_conv, "Gu and Dao, Mamba, arXiv:2312.00752"),
    "rwkv_wkv6": Definition(
        lambda k, v, r, bonus, decay, state: linear_attention((k, v, r, decay), state, bonus, 1.0),
        "Peng et al., Eagle and Finch, arXiv:2404.05892",
    ),
    "gated_linear_attn": Definition(
        lambda k, v, r, decay, state, scale: linear_attention((k, v, r, decay), state, None, scale),
        "Yang et al., Gated Linear Attention, arXiv:2312.06635",
    ),
    "ssm_scan": Definition(ssm_scan, "Dao and Gu, Transformers are SSMs, arXiv:2405.21060"),
    "rwkv_wkv7": Definition(rwkv_7, "Peng et al., RWKV-7, arXiv:2503.14456"),
    "gated_delta_net": Definition(gated_delta, "Yang et al., Gated Delta Networks, arXiv:2412.06464"),
}
