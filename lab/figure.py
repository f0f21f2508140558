"""Figures as they are told. Beside the bound that one is held against, what decides between them is to be seen."""

from __future__ import annotations

import math
from collections.abc import Callable

FEWEST, MOST = 3, 17
"""Significant figures: the latter tell any two floats apart."""


def four_figures(value: float) -> str:
    """With four significant figures, and no exponent however large it is."""
    return f"{value:.4g}" if value < 9999.5 else f"{value:.0f}"  # noqa: PLR2004 - no exponents


def beside(value: float, other: float, told: Callable[[float], str] = four_figures) -> str:
    """The value as it is told, or with as many figures more as it takes where the other one would read the same and is not."""
    text = told(value)
    if text != told(other) or math.isclose(value, other):
        return text
    digits = len(text.partition("e")[0].lstrip("-0.").replace(".", ""))
    longer = ((f"{value:.{figures}g}", f"{other:.{figures}g}") for figures in range(max(FEWEST, digits + 1), MOST + 1))
    return next(mine for mine, its in longer if mine != its)
