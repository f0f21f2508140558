from __future__ import annotations

import json
import math
from typing import Any

import pytest

from lab.llama.programs import Speed, Text, base_argv, bench_argv, divergence_argv, read_divergence, read_speeds

SAID = """\
pid 7
0.00.302.703 I kl_divergence: 0.01 seconds per pass - ETA 0.00 minutes
   1     792.5678 ±   93.7412      -0.00001 ±       -nan      -0.00000 ±    0.00000     0.000 ±  0.000 %    100.000 ±  0.000 %
Mean PPL(Q)                   : 953.760569 ±  54.760451
Mean PPL(base)                : 953.760993 ±  54.761280
Mean PPL(Q)/PPL(base)         :   1.000000 ±       -nan
Mean    KLD:  -0.000000 ±   0.000000
Maximum KLD:   0.000005
99.9%   KLD:   0.000004
Same top p: 99.206 ± 0.000 %
"""
ROW: dict[str, Any] = {"n_prompt": 64, "n_gen": 0, "devices": "[virtgpu] CPU", "samples_ns": [1_000_000, 2_000_000]}


def test_divergence_is_read() -> None:
    found = read_divergence(SAID.splitlines(keepends=True))
    assert found is not None
    assert (found.largest, found.mean, found.same_top_percent) == (5e-6, 0.0, 99.206)
    assert (found.perplexity, found.base_perplexity) == (953.760569, 953.760993)


def test_not_a_number_is_read_as_such() -> None:
    found = read_divergence(SAID.replace("0.000005", "-nan").splitlines())
    assert found is not None
    assert math.isnan(found.largest)


@pytest.mark.parametrize("gone", ["Maximum KLD", "Mean    KLD", "Same top p", "Mean PPL(Q)  ", "Mean PPL(base)"])
def test_a_divergence_without_one_of_its_lines_is_none(gone: str) -> None:
    assert read_divergence(line for line in SAID.splitlines() if not line.startswith(gone)) is None


@pytest.mark.parametrize("value", ["", "much", "0.1.2"])
def test_a_divergence_that_is_no_number_is_none(value: str) -> None:
    assert read_divergence(SAID.replace("0.000005", value).splitlines()) is None


def test_speeds_are_read_among_other_lines() -> None:
    lines = ["load_backend: loaded\n", json.dumps(ROW) + "\n", "{broken\n", "[1]\n"]
    assert read_speeds(lines) == (Speed(64, 0, "[virtgpu] CPU", (1_000_000, 2_000_000)),)
    assert read_speeds(lines)[0].tokens_per_s == (64_000.0, 32_000.0)


@pytest.mark.parametrize(
    "change",
    [
        {"samples_ns": []}, {"samples_ns": [0, 1]}, {"samples_ns": "12"}, {"samples_ns": [1, None]}, {"n_prompt": "64"},
        {"samples_ns": [10**400]},
        {"n_prompt": 0}, {"devices": None}, {"n_gen": None},
    ],
)  # fmt: skip
def test_what_is_no_test_of_the_program_is_passed_over(change: dict[str, Any]) -> None:
    assert read_speeds([json.dumps(ROW | change)]) == ()
    assert read_speeds(["{" + "[" * 100_000]) == ()


def test_both_runs_of_a_text_have_it_in_common_and_one_of_them_the_device() -> None:
    text = Text("m.gguf", "t.txt", 2, 128)
    base, device = base_argv(text, "b"), divergence_argv(text, "b", "[virtgpu] CPU")
    assert base[: len(text.argv("b"))] == device[: len(text.argv("b"))] == text.argv("b")
    assert base[-2:] == ("--device", "none")
    assert device[-2:] == ("--device", "[virtgpu] CPU")
    assert "--kl-divergence" in device
    assert "--kl-divergence" not in base


def test_what_is_counted_is_not_made_warm() -> None:
    assert "--no-warmup" in bench_argv("m", "d", prompt=0, generated=8, repetitions=0)
    assert "--no-warmup" not in bench_argv("m", "d", prompt=64, generated=8, repetitions=3)
