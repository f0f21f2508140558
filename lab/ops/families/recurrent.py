"""Recurrent layers, losses, optimiser steps, and the rest that takes many sources."""

from __future__ import annotations

from lab.ggml.types import typed
from lab.ops.build import Builder, Value
from lab.ops.case import Family, Parameters
from lab.ops.data import POSITIVE, UNIFORM, between, distinct_rows
from lab.ops.families import grid

F32 = typed("f32")
I32 = typed("i32")
SMALL = between(-0.5, 0.5)
DECAY = between(0.5, 0.95)


def build_ssm_conv(b: Builder, _op: str, p: Parameters) -> Value:
    """A short convolution along a sequence. A sum that is all of the result must not cancel."""
    fill = POSITIVE if p["inner"] == p["t"] == p["seqs"] == 1 else UNIFORM
    signal = b.source(F32, (p["k"] - 1 + p["t"], p["inner"], p["seqs"]), fill=fill)
    return b.call("ssm_conv", signal, b.source(F32, (p["k"], p["inner"]), fill=fill))


def build_ssm_scan(b: Builder, _op: str, p: Parameters) -> Value:
    """Mamba's selective scan; ``wide`` is Mamba-1's matrix A, otherwise one number a head."""
    states, dim, heads, groups, tokens, seqs = p["states"], p["dim"], p["heads"], p["groups"], p["t"], p["seqs"]
    state = b.source(F32, (states, dim, heads, seqs), fill=SMALL)
    x = b.source(F32, (dim, heads, tokens, seqs))
    dt = b.source(F32, (heads, tokens, seqs))
    a = b.source(F32, (states if p["wide"] else 1, heads), fill=between(-1, -0.1))
    first, second = (b.source(F32, (states, groups, tokens, seqs), fill=SMALL) for _ in range(2))
    return b.call("ssm_scan", state, x, dt, a, first, second, b.leaf(I32, (seqs,), distinct_rows(seqs)), p["kept"])


def build_rwkv(b: Builder, op: str, p: Parameters) -> Value:
    """RWKV 6 and 7, and gated linear attention."""
    size, heads, seqs = p["size"], p["heads"], p["seqs"]
    tokens = p["t"] * seqs
    ne = (size, heads, tokens)
    state_ne = (size * size * heads, seqs)
    if op == "RWKV_WKV7":
        r, k, v = (b.source(F32, ne, fill=SMALL) for _ in range(3))
        w = b.source(F32, ne, fill=DECAY)
        a, c = (b.source(F32, ne, fill=between(-0.1, 0.1)) for _ in range(2))
        return b.call("rwkv_wkv7", r, w, k, v, a, c, b.source(F32, state_ne, fill=SMALL))
    k, v, r = (b.source(F32, ne, fill=SMALL) for _ in range(3))
    decay = b.source(F32, ne, fill=DECAY)
    if op == "GATED_LINEAR_ATTN":
        return b.call("gated_linear_attn", k, v, r, decay, b.source(F32, state_ne, fill=SMALL), size**-0.5)
    first = b.source(F32, (size, heads), fill=SMALL)
    return b.call("rwkv_wkv6", k, v, r, first, decay, b.source(F32, state_ne, fill=SMALL))


def build_delta(b: Builder, _op: str, p: Parameters) -> Value:
    """The gated delta rule."""
    size, heads, tokens, seqs = p["size"], p["heads"], p["t"], p["seqs"]
    query, key = (b.source(F32, (size, heads, tokens, seqs), fill=SMALL) for _ in range(2))
    value = b.source(F32, (size, heads * p["group"], tokens, seqs))
    gate = b.source(F32, (size if p["wide"] else 1, heads * p["group"], tokens, seqs), fill=between(-0.5, -0.05))
    beta = b.source(F32, (1, heads * p["group"], tokens, seqs), fill=between(0, 1))
    state = b.source(F32, (size, size, heads * p["group"], seqs), fill=SMALL)
    return b.call("gated_delta_net", query, key, value, gate, beta, state, 1)


def build_solve(b: Builder, _op: str, p: Parameters) -> Value:
    """AX = B with a lower triangular A, whose diagonal is far from zero."""
    matrix = b.source(F32, (p["n"], p["n"], *p["bs"]), fill=between(0.5, 1.5))
    return b.call("solve_tri", matrix, b.source(F32, (p["m"], p["n"], *p["bs"])), True, True, False)


def build_hyper(b: Builder, op: str, p: Parameters) -> Value:
    """Hyper-connections: how residual streams are mixed."""
    n, hc, tokens = p["n"], p["hc"], p["tokens"]
    if op == "DSV4_HC_COMB":
        mixes = b.source(F32, ((2 + hc) * hc, tokens))
        return b.call("dsv4_hc_comb", mixes, b.source(F32, (3,)), b.source(F32, ((2 + hc) * hc,)), 1e-6, p["iterations"])
    if op == "DSV4_HC_PRE":
        streams = b.source(F32, (n, hc, tokens))
        if p["gated"]:
            return b.call("dsv4_hc_pre_gated", streams, b.source(F32, (n, hc, tokens)), 0.5)
        return b.call("dsv4_hc_pre", streams, b.source(F32, (hc, tokens)))
    x, residual, post = b.source(F32, (n, tokens)), b.source(F32, (n, hc, tokens)), b.source(F32, (hc, tokens))
    return b.call("dsv4_hc_post", x, residual, post, None if p["plain"] else b.source(F32, (hc, hc, tokens)))


def build_loss(b: Builder, op: str, p: Parameters) -> Value:
    """Cross entropy of logits with labels, and its gradient."""
    logits, labels = b.source(F32, p["ne"], fill=between(-4, 4)), b.source(F32, p["ne"], fill=between(0, 1))
    if op == "CROSS_ENTROPY_LOSS":
        return b.call("cross_entropy_loss", logits, labels)
    return b.call("cross_entropy_loss_back", b.source(F32, (1,)), logits, labels)


def build_step(b: Builder, op: str, p: Parameters) -> tuple[Value, ...]:
    """One step of an optimiser: it changes its first source, and AdamW its moments, too."""
    ne = p["ne"]
    weights = b.source(F32, ne, written=True)
    b.setting("ggml_set_param", weights)
    gradient = b.source(F32, ne)
    if op == "OPT_STEP_SGD":
        return (b.call("opt_step_sgd", weights, gradient, b.source(F32, (2,), fill=between(0.01, 0.1))),)
    first = b.source(F32, ne, fill=SMALL, written=True)
    second = b.source(F32, ne, fill=POSITIVE, written=True)
    step = b.call("opt_step_adamw", weights, gradient, first, second, b.source(F32, (7,), fill=between(0.01, 0.9)))
    return step, first, second


FAMILIES = (
    Family(
        ("SSM_CONV",),
        {"k": 4, "inner": 64, "t": 1, "seqs": 1},
        build_ssm_conv,
        lambda _op: grid(k=(2, 4), inner=(1, 64, 257), t=(1, 5), seqs=(1, 3)),
    ),
    Family(
        ("SSM_SCAN",),
        {"states": 16, "dim": 1, "heads": 32, "groups": 1, "t": 4, "seqs": 1, "wide": 1, "kept": 1},
        build_ssm_scan,
        lambda _op: (
            *grid(t=(1, 4, 7), seqs=(1, 3)),
            *grid(states=(64,), dim=(16,), heads=(4,), groups=(1, 2), wide=(0,), t=(1, 4), seqs=(1, 2)),
        ),
    ),
    Family(
        ("RWKV_WKV6", "RWKV_WKV7", "GATED_LINEAR_ATTN"),
        {"size": 64, "heads": 2, "t": 1, "seqs": 1},
        build_rwkv,
        # ggml-cpu of 0.27 writes past the end of RWKV_WKV7's result when heads are smaller than its vectors' step (64 with AVX-512)
        lambda op: grid(size=(64,) if op == "RWKV_WKV7" else (32, 64), heads=(1, 2, 5), t=(1, 7), seqs=(1, 3)),
    ),
    Family(
        ("GATED_DELTA_NET",),
        {"size": 32, "heads": 2, "group": 1, "t": 1, "seqs": 1, "wide": 0},
        build_delta,
        lambda _op: grid(size=(16, 64), group=(1, 2), t=(1, 5), seqs=(1, 2), wide=(0, 1)),
    ),
    Family(
        ("SOLVE_TRI",),
        {"n": 8, "m": 4, "bs": (1, 1)},
        build_solve,
        lambda _op: grid(n=(1, 8, 17), m=(1, 4, 33), bs=((1, 1), (3, 2))),
    ),
    Family(
        ("DSV4_HC_COMB", "DSV4_HC_PRE", "DSV4_HC_POST"),
        {"n": 64, "hc": 4, "tokens": 3, "iterations": 5, "gated": 0, "plain": 0},
        build_hyper,
        lambda op: {
            "DSV4_HC_COMB": grid(iterations=(1, 5, 20), tokens=(1, 3, 17)),
            "DSV4_HC_PRE": grid(n=(1, 64, 129), tokens=(1, 3), gated=(0, 1)),
            "DSV4_HC_POST": grid(n=(1, 64, 129), tokens=(1, 3), plain=(0, 1)),
        }[op],
    ),
    Family(
        ("CROSS_ENTROPY_LOSS", "CROSS_ENTROPY_LOSS_BACK"),
        {"ne": (10, 5, 4, 3)},
        build_loss,
        lambda _op: grid(ne=((2, 1, 1, 1), (10, 5, 4, 3), (33, 7, 1, 1), (1025, 3, 1, 1), (64, 32, 1, 1))),
    ),
    Family(
        ("OPT_STEP_ADAMW", "OPT_STEP_SGD"),
        {"ne": (10, 5, 4, 3)},
        build_step,
        lambda _op: grid(ne=((1, 1, 1, 1), (10, 5, 4, 3), (33, 7, 1, 1), (1025, 3, 1, 1), (64, 32, 1, 1))),
    ),
)
