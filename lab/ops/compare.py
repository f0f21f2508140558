"""How far two results are apart, and whether that is too far.

Normalised mean square error as ``test-backend-ops`` computes it, with its tolerances (llama.cpp, ``tests/test-backend-ops.cpp``,
``max_nmse_err`` of each test case). Because one wrong element among thousands is lost in a mean, every element has a bound of its
own, too: eight times the error that all of them may have on average, relative to itself or to the root mean square of all; of a
quantised type a step and a half at least.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lab.figure import beside
from lab.ggml.arrays import Array
from lab.ggml.types import WHOLE_NUMBERS, Type

DEFAULT = 1e-7
TOLERANCES = {
    **dict.fromkeys(("MUL_MAT", "MUL_MAT_ID", "OUT_PROD", "FLASH_ATTN_EXT", "CONV_2D", "CONV_3D", "LIGHTNING_INDEXER"), 5e-4),
    **dict.fromkeys(("CPY", "SET_ROWS", "SOFT_MAX", "SOFT_MAX_BACK", "IM2COL", "IM2COL_3D", "ROPE", "ROPE_BACK"), 1e-6),
    "GRAPH": 2e-3,
    **dict.fromkeys(("ARGSORT", "TOP_K", "ARGMAX", "COUNT_EQUAL"), 0.0),
}
"""By operation; GRAPH has that of upstream's whole-model cases. 0: equal."""

ROUNDED = {Type.F16: 1e-6, Type.BF16: 2e-5}
"""At least that much for a result that is rounded to a short type: half a unit in its last place, squared, and some."""
STEP_BITS = {
    **dict.fromkeys((Type.Q4_0, Type.Q4_1, Type.IQ4_NL, Type.IQ4_XS, Type.Q4_K, Type.MXFP4, Type.NVFP4), 4),
    **dict.fromkeys((Type.Q5_0, Type.Q5_1, Type.Q5_K), 5),
    **dict.fromkeys((Type.Q2_K, Type.Q2_0), 2),
    **dict.fromkeys((Type.TQ1_0, Type.TQ2_0, Type.Q1_0), 1),
    Type.Q3_K: 3,
    Type.Q6_K: 6,
    Type.Q8_0: 8,
}
WIDEST = {**dict.fromkeys((Type.MXFP4, Type.NVFP4), 1 / 3), **dict.fromkeys((Type.IQ4_NL, Type.IQ4_XS), 0.19)}
"""The widest step of types whose steps differ, for values up to 1: from 4 to 6 of 6, from -127 to -104 of 127 (ggml-common.h)."""
SINGLE = 8.0
SINGLE_STEPS = 1.5
NEIGHBOURS = {Type.Q8_0: 0.1}
OTHER_NEIGHBOURS = 0.005
"""So many values may be on the next step. Of q8_0 made of bf16 one in nineteen was (of 100 seeds), of the other types none."""
MEAN_SQUARE = 3.0
"""The inverse of the mean square of numbers spread evenly between -1 and 1."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Two results side by side. ``first_bad`` is the index (fastest dimension first) of the first element beyond its bound."""

    nmse: float
    max_abs: float
    max_ulp: float
    bad: int
    first_bad: tuple[int, ...] | None
    tolerance: float

    @property
    def acceptable(self) -> bool:
        """Whether mean and every element are within bounds."""
        return self.bad == 0 and self.nmse <= self.tolerance

    @property
    def text(self) -> str:
        """In a line."""
        where = (
            f", {self.bad} elements beyond their bound, the first at {list(self.first_bad)}" if self.first_bad is not None else ""
        )
        nmse = beside(self.nmse, self.tolerance, "{:.3g}".format)
        return f"NMSE {nmse} (allowed {self.tolerance:.3g}), largest error {self.max_abs:.3g}, {self.max_ulp:.3g} ULP{where}"

    def as_row(self) -> dict[str, Any]:
        """For a line of JSON."""
        return asdict(self)


def tolerance_of(op: str, kind: Type) -> float:
    """The NMSE allowed for results of an operation in a type; of whole numbers none.

    A quantised result may have one value in 200 on the next step, one in ten of q8_0: ties fall differently in different vector
    code, and data that came from bf16 are full of them. (Upstream allows one value of the whole.)
    """
    if kind in WHOLE_NUMBERS:
        return 0.0
    allowed = TOLERANCES.get(op, DEFAULT)
    if kind in STEP_BITS:
        return max(allowed, NEIGHBOURS.get(kind, OTHER_NEIGHBOURS) * MEAN_SQUARE * step_of(kind) ** 2)
    return max(allowed, ROUNDED.get(kind, 0.0)) if allowed else 0.0


def step_of(kind: Type) -> float:
    """From one value of a quantised type to the next, for values up to 1; 0 of other types."""
    return WIDEST.get(kind, 2.0 / float(2 ** STEP_BITS[kind])) if kind in STEP_BITS else 0.0


def difference(got: Array, expected: Array, kind: Type, tolerance: float) -> Difference:
    """Compare numbers with numbers of the same shape (slowest dimension first).

    Infinities and NaNs must stand at the same places; such elements count for nothing else.
    """
    got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    if got.shape != expected.shape:
        raise ValueError(f"{got.shape} is compared with {expected.shape}")
    finite = np.isfinite(got) & np.isfinite(expected)
    alike = finite | (got == expected) | (np.isnan(got) & np.isnan(expected))
    error = np.where(finite, np.abs(np.where(finite, got, 0) - np.where(finite, expected, 0)), 0.0)
    size = np.where(finite, np.abs(expected), 0.0)
    power = float(np.sum(size * size))
    total = float(np.sum(error * error))
    nmse = total / power if power else (0.0 if total == 0 else float("inf"))
    rms = (power / max(int(finite.sum()), 1)) ** 0.5
    bound = np.maximum(SINGLE * tolerance**0.5 * np.maximum(size, rms), SINGLE_STEPS * step_of(kind) * size.max(initial=0.0))
    bad = (error > bound) | ~alike
    first = tuple(int(index) for index in np.argwhere(bad)[0][::-1]) if bad.any() else None
    return Difference(nmse, float(error.max(initial=0.0)), _ulps(error, size, kind), int(bad.sum()), first, tolerance)


MANTISSA = {Type.F32: 23, Type.F16: 10, Type.BF16: 7, Type.F64: 52}
SMALLEST = {Type.F32: -126, Type.F16: -14, Type.BF16: -126, Type.F64: -1022}


def _ulps(error: Array, size: Array, kind: Type) -> float:
    """The largest error in units in the last place of the expected value; whole numbers are their own unit."""
    if kind not in MANTISSA:
        return float(error.max(initial=0.0))
    exponent = np.maximum(np.frexp(size)[1] - 1, SMALLEST[kind])
    return float((error / np.exp2(exponent.astype(np.float64) - MANTISSA[kind])).max(initial=0.0))
