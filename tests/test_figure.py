from __future__ import annotations

import math

import pytest

from lab.figure import beside, four_figures


@pytest.mark.parametrize(
    ("value", "other", "told"),
    [
        (8.0, 8.0, "8"), (7.5, 8.0, "7.5"), (8.0003, 8.0, "8.0003"), (8.0, 8.0003, "8"), (0.99996, 1.0, "0.99996"),
        (12345.4, 12345.2, "12345.4"), (12345.4, 9.0, "12345"), (8 * (1 + 1e-12), 8.0, "8"), (math.nan, 8.0, "nan"),
    ],
)  # fmt: skip
def test_figure_does_not_read_as_another_one_does(value: float, other: float, told: str) -> None:
    assert beside(value, other) == told


def test_figures_are_no_fewer_than_before_and_no_more_than_there_are() -> None:
    assert beside(300.04, 300.0, "{:.0f}".format) == "300.04"
    assert [beside(value, 15.0, "{:.1f}".format) for value in (14.96, 15.04)] == ["14.96", "15.04"]
    assert beside(12345.04, 12345.0, "{:.1f}".format) == "12345.04"
    assert beside(0.0149, 0.0151, "{:.1f}".format) == "0.0149"
    assert [beside(8.0049, 8.00501), beside(8.00501, 8.0049)] == ["8.0049", "8.005"]
    assert four_figures(1e300).isdecimal()
    assert beside(math.inf, 8.0) == "inf"
