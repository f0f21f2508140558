"""Where an expectation holds: the conditions of its entry, and what a variant ran with."""

from __future__ import annotations

import pytest

from lab.scenario.expectations import Situation, When, version_of

HERE = Situation(
    "venus", "cpu", "venus", "auto", "tcg", "guest-6.1", "ggml-virtgpu", "[virtgpu] CPU",
    {"kernel": "6.1.0-40-amd64", "qemu": "1:11.0.2+ds-1", "ggml": "0.27.0-1~bpo13+1"},
)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        ({}, True),
        ({"variant": "ven*"}, True),
        ({"variant": "apir"}, False),
        ({"ggml_library": "vulkan"}, False),
        ({"device": "[virtgpu] *", "registry": "ggml-virtgpu"}, True),
        ({"device": "v*"}, False),
        ({"capset": "apir"}, False),
        ({"capset": "venus", "data_path": "auto", "accel": "tcg", "image": "guest-6.?"}, True),
        ({"kernel": "<6.12"}, True),
        ({"kernel": ">=6.1, <6.2"}, True),
        ({"kernel": "==6.1"}, True),
        ({"kernel": ">6.1"}, False),
        ({"qemu": ">=11"}, True),
        ({"qemu": "<11.0.2"}, False),
        ({"ggml": "<=0.27"}, True),
        ({"mesa": ">=1"}, False),
    ],
)
def test_conditions_hold_of_what_a_variant_ran_with(words: dict[str, str], holds: bool) -> None:
    assert When.model_validate(words).holds(HERE) is holds


def test_versions_are_read_from_package_versions() -> None:
    assert [version_of(text) for text in ("1:11.0.2+ds-1", "6.1.0-40-amd64", "none")] == [(11, 0, 2), (6, 1, 0), ()]
