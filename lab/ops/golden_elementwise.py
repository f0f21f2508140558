"""Definitions of operations on single elements and of those that broadcast."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lab.ggml.arrays import Array
from lab.ops.golden import Definition

GGML = "ggml.h of libggml 0.27, comment at the function"
PYTORCH = "PyTorch 2 documentation, torch.nn.functional"
NUMPY = "the function of that name in IEEE 754 / C99 <math.h>"
GELU_PAPER = "Hendrycks and Gimpel, Gaussian Error Linear Units, arXiv:1606.08415"
GLU_PAPER = "Shazeer, GLU Variants Improve Transformer, arXiv:2002.05202"

erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    return 1.0 / (1.0 + np.exp(-x))


def silu(x: Array) -> Array:
    """The number times its sigmoid."""
    return x * sigmoid(x)


def gelu(x: Array) -> Array:
    """The approximation by tanh."""
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def gelu_erf(x: Array) -> Array:
    """The number times the normal distribution function of it."""
    return 0.5 * x * (1.0 + np.asarray(erf(x / math.sqrt(2.0))))


def gelu_quick(x: Array) -> Array:
    """The number times the sigmoid of 1.702 times it."""
    return x * sigmoid(1.702 * x)


def relu(x: Array) -> Array:
    """The positive part."""
    return np.maximum(x, 0.0)


def elu(x: Array) -> Array:
    """The number, or e^x - 1 below 0."""
    result: Array = np.where(x > 0, x, np.expm1(x))
    return result


def softplus(x: Array) -> Array:
    """log(1 + e^x)."""
    return np.logaddexp(0.0, x)


def rounded_away(x: Array) -> Array:
    """To the nearest whole number, halves away from zero, as C's round."""
    result: Array = np.trunc(x + np.copysign(0.5, x))
    return result


def xielu(x: Array, alpha_n: float, alpha_p: float, beta: float, eps: float) -> Array:
    """Huang, Deriving Activation Functions Using Integration, section 3."""
    positive, negative = (
        np.log1p(math.exp(-abs(alpha_p))) + max(alpha_p, 0.0),
        beta + np.log1p(math.exp(-abs(alpha_n))) + max(alpha_n, 0.0),
    )
    result: Array = np.where(x > 0, positive * x * x + beta * x, (np.expm1(np.minimum(x, eps)) - x) * negative + beta * x)
    return result


def repeated(x: Array, like: Array) -> Array:
    """As often as fits, in every dimension."""
    return np.tile(x, tuple(large // small for large, small in zip(like.shape, x.shape, strict=True)))


def silu_back(gradient: Array, x: Array) -> Array:
    """The derivative of x sigmoid(x), times the gradient."""
    s = sigmoid(x)
    return gradient * s * (1.0 + x * (1.0 - s))


def add_id(a: Array, b: Array, ids: Array) -> Array:
    """a[i0, i1, i2] + b[i0, ids[i1, i2]]."""
    result: Array = a + b[0, 0][ids[0]]
    return result


def halves(activation: Any, *, swapped: bool) -> Any:
    """A gated unit on the two halves of a row."""

    def gated(x: Array) -> Array:
        first, second = np.split(x, 2, axis=-1)
        result: Array = activation(second) * first if swapped else activation(first) * second
        return result

    return gated


def pair(activation: Any) -> Any:
    """A gated unit on two tensors."""
    return lambda first, second: activation(first) * second


def swiglu_oai(x: Array, gate: Array, alpha: float, limit: float) -> Array:
    """gpt-oss's unit: both sides clipped, the gate plus one."""
    x, gate = np.minimum(x, limit), np.clip(gate, -limit, limit)
    return x * sigmoid(alpha * x) * (gate + 1.0)


def swiglu_clamp(x: Array, gate: Array, limit: float) -> Array:
    """SWIGLU with both sides clipped."""
    result: Array = silu(np.minimum(x, limit)) * np.clip(gate, -limit, limit)
    return result


def opt_step_sgd(x: Array, gradient: Array, numbers: Array) -> Array:
    """Step of size alpha with weight decay."""
    alpha, decay = numbers.reshape(-1)
    result: Array = x * (1.0 - alpha * decay) - alpha * gradient
    return result


def opt_step_adamw(x: Array, gradient: Array, m: Array, v: Array, numbers: Array) -> Array:
    """Loshchilov and Hutter: the seven numbers are alpha, beta1, beta2, eps, decay, and the two corrections of bias."""
    alpha, beta1, beta2, eps, decay, first, second = numbers.reshape(-1)
    m, v = m * beta1 + gradient * (1 - beta1), v * beta2 + gradient**2 * (1 - beta2)
    result: Array = x * (1 - alpha * decay) - alpha * (m * first) / (np.sqrt(v * second) + eps)
    return result


GATES = {"reglu": relu, "geglu": gelu, "swiglu": silu, "geglu_erf": gelu_erf, "geglu_quick": gelu_quick}
DEFINITIONS = {
    "abs": Definition(np.abs, NUMPY),
    "sgn": Definition(np.sign, NUMPY),
    "neg": Definition(np.negative, NUMPY),
    "step": Definition(lambda x: (x > 0).astype(np.float64), "the Heaviside function, 0 at 0"),
    "tanh": Definition(np.tanh, NUMPY),
    "elu": Definition(elu, f"{PYTORCH}.elu"),
    "relu": Definition(relu, f"{PYTORCH}.relu"),
    "sigmoid": Definition(sigmoid, f"{PYTORCH}.sigmoid"),
    "gelu": Definition(gelu, GELU_PAPER),
    "gelu_erf": Definition(gelu_erf, GELU_PAPER),
    "gelu_quick": Definition(gelu_quick, GELU_PAPER),
    "silu": Definition(silu, f"{PYTORCH}.silu"),
    "hardswish": Definition(lambda x: x * np.clip(x + 3, 0, 6) / 6, GGML),
    "hardsigmoid": Definition(lambda x: np.clip(x + 3, 0, 6) / 6, GGML),
    "exp": Definition(np.exp, NUMPY),
    "expm1": Definition(np.expm1, NUMPY),
    "softplus": Definition(softplus, f"{PYTORCH}.softplus"),
    "floor": Definition(np.floor, NUMPY),
    "ceil": Definition(np.ceil, NUMPY),
    "round": Definition(rounded_away, NUMPY),
    "trunc": Definition(np.trunc, GGML),
    "sqr": Definition(np.square, "x²"),
    "sqrt": Definition(np.sqrt, NUMPY),
    "log": Definition(np.log, NUMPY),
    "sin": Definition(np.sin, NUMPY),
    "cos": Definition(np.cos, NUMPY),
    "xielu": Definition(xielu, "Huang, arXiv:2411.13010, and ggml.h"),
    "leaky_relu": Definition(lambda x, slope, _inplace: np.where(x > 0, x, slope * x), f"{PYTORCH}.leaky_relu"),
    "scale": Definition(lambda x, s: s * x, GGML),
    "scale_bias": Definition(lambda x, s, bias: s * x + bias, GGML),
    "clamp": Definition(np.clip, "the function of that name of C++17"),
    "fill": Definition(lambda x, c: np.full(x.shape, c, np.float64), GGML),
    "add": Definition(lambda x, y: x + repeated(y, x), GGML),
    "sub": Definition(lambda x, y: x - repeated(y, x), GGML),
    "mul": Definition(lambda x, y: x * repeated(y, x), GGML),
    "div": Definition(lambda x, y: x / repeated(y, x), GGML),
    "add_id": Definition(add_id, GGML),
    "repeat": Definition(repeated, GGML),
    "silu_back": Definition(silu_back, "derivative of silu"),
    "arange": Definition(lambda start, stop, step: np.arange(start, stop, step).reshape(1, 1, 1, -1), "numpy.arange"),
    "swiglu_oai": Definition(swiglu_oai, "gpt-oss model card, SwiGLU with clamping and residual"),
    "swiglu_clamp": Definition(swiglu_clamp, GLU_PAPER),
    "opt_step_sgd": Definition(opt_step_sgd, f"{GGML}: stochastic gradient descent with weight decay"),
    "opt_step_adamw": Definition(opt_step_adamw, "Loshchilov and Hutter, arXiv:1711.05101v3"),
    **{name: Definition(halves(gate, swapped=False), GLU_PAPER) for name, gate in GATES.items()},
    **{f"{name}_swapped": Definition(halves(gate, swapped=True), GLU_PAPER) for name, gate in GATES.items()},
    **{f"{name}_split": Definition(pair(gate), GLU_PAPER) for name, gate in GATES.items()},
}
