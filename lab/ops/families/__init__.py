"""The catalog's tables: one module per kind of operation, each with ``FAMILIES``.

A family says how its operations are built and which rows of parameters the catalog has; see ``lab.ops.case``. Sizes, types and
layouts are chosen so that ggml's builders accept them (they end the process otherwise) and ggml-cpu computes most of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from lab.ops.case import Row

FLOATS = ("f32", "f16", "bf16")
SIMPLE = ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl", "mxfp4")
"""Quantised types with blocks of 32."""
WRITABLE = (*SIMPLE, "nvfp4", "q1_0", "q2_0", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq4_xs", "tq1_0", "tq2_0")
"""Quantised types that a backend can write, because a row is quantised without an importance matrix."""
READ_ONLY = ("iq2_xxs", "iq2_xs", "iq2_s", "iq3_xxs", "iq3_s", "iq1_s", "iq1_m")
QUANTISED = (*WRITABLE, *READ_ONLY)


def grid(**choices: Iterable[Any]) -> Iterator[Row]:
    """Every combination of the choices, the last named parameter changing fastest."""
    names = tuple(choices)
    for values in itertools.product(*(tuple(choice) for choice in choices.values())):
        yield dict(zip(names, values, strict=True))
