from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest

from lab.ggml.arrays import Array, bf16_bits, decoded
from lab.ggml.types import Block, Type
from lab.ops.blocks import SCALES
from lab.ops.data import (
    ALONE,
    COUNT,
    DISTINCT,
    KEPT_BYTES,
    MASK,
    PERIOD,
    POSITIVE,
    SLANTED,
    UNIFORM,
    ZERO,
    Fill,
    Source,
    between,
    distinct_rows,
    encoded,
    filled,
    integers,
    words_of,
)
from lab.ops.families import QUANTISED

SIZES = {Type.F32: 4, Type.F16: 2, Type.BF16: 2, Type.F64: 8, Type.I8: 1, Type.I16: 2, Type.I32: 4, Type.I64: 8}


def made(kind: Type, ne: tuple[int, ...], fill: Fill, source: Source | None = None) -> Array:
    """The numbers of a tensor, as a flat array."""
    data = filled(source or Source("x", 1), kind, ne, Block(1, SIZES[kind]), fill)
    return decoded(kind, data)


def test_data_are_the_same_on_every_machine() -> None:
    kinds = ((Type.F32, UNIFORM), (Type.BF16, UNIFORM), (Type.F16, POSITIVE), (Type.I32, integers(100, -100)), (Type.F32, DISTINCT))
    source, digest = Source("ADD()", 1), hashlib.sha256()
    for kind, fill in kinds:
        for count in (64, 5000):
            digest.update(filled(source, kind, (count,), Block(1, SIZES[kind]), fill))
    digest.update(filled(source, Type.Q4_K, (2560,), Block(256, 144), UNIFORM))
    assert digest.hexdigest()[:16] == "82dfd1d21e8000c1"


def test_words_are_of_the_seed_alone() -> None:
    assert bytes(words_of(1).stretch(0, 8)) == hashlib.shake_128(b"words 1").digest(32)
    assert bytes(words_of(2).stretch(0, 8)) != bytes(words_of(1).stretch(0, 8))


def test_another_case_seed_or_round_has_other_data() -> None:
    sources = [Source(case, seed, number) for case in ("ADD()", "SUB()") for seed in (1, 2) for number in (0, 1)]
    for count in (8, 5000):
        assert len({made(Type.F32, (count,), UNIFORM, source).tobytes() for source in sources}) == 8


def test_no_two_tensors_of_a_case_are_alike() -> None:
    for case in (f"CASE({number})" for number in range(200)):
        source = Source(case, 1)
        assert len({source.place() for _ in range(120)}) == 120


@pytest.mark.parametrize("fill", [UNIFORM, POSITIVE, MASK, SLANTED, integers(7, -7)], ids=lambda fill: fill.kind)
def test_long_and_short_stretches_hold_the_same_numbers(fill: Fill) -> None:
    kind = Type.I32 if fill.kind == "integers" else Type.F32
    row = ALONE - 2
    short = made(kind, (row,), fill, Source("x", 77))
    long = made(kind, (row, 4 * PERIOD // row), fill, Source("x", 77))
    assert short.tolist()[1:] == long.tolist()[1:row]
    assert made(kind, (row,), fill, Source("x", 77)).tolist() == short.tolist()


def test_stretches_of_every_length_come_round() -> None:
    cycle = words_of(5)
    once = bytes(cycle.stretch(0, PERIOD))
    for begin, count in ((0, 3), (PERIOD - 1, 3), (7, 3 * PERIOD), (PERIOD - 1, KEPT_BYTES // 4 + 9)):
        expected = (once * (count // PERIOD + 2))[4 * begin : 4 * (begin + count)]
        assert bytes(cycle.stretch(begin, count)) == expected


@pytest.mark.parametrize("kind", [Type.F32, Type.F16, Type.BF16, Type.F64])
@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (-4, 4), (0.125, 2.0), (0.5, 0.95), (-0.5, 0.5)])
def test_numbers_are_spread_evenly_between_their_bounds(kind: Type, bounds: tuple[float, float]) -> None:
    low, high = bounds
    values = made(kind, (10000,), between(low, high)).astype(np.float64)
    rounding = 2.0**-7 * max(abs(low), abs(high)) if kind in {Type.BF16, Type.F16} else 0.0
    assert low - rounding <= values.min() < low + 0.01 * (high - low)
    assert high - 0.01 * (high - low) < values.max() <= high + rounding
    tenths, _ = np.histogram(values, bins=10, range=(low, high))
    assert tenths.min() > 850
    assert tenths.max() < 1150
    if kind in {Type.F32, Type.F64}:
        assert values.max() < high
        assert len(set(values.tolist())) > 9990


def test_whole_numbers_take_every_value() -> None:
    for kind in (Type.I8, Type.I16, Type.I32, Type.I64):
        assert set(made(kind, (10000,), integers(5, -5)).tolist()) == set(range(-5, 5))


def test_rows_of_distinct_numbers_have_no_two_alike() -> None:
    chosen = made(Type.I64, (4, 10), distinct_rows(9)).reshape(-1, 4)
    assert all(len(set(row)) == 4 and max(row) < 9 for row in chosen.tolist())
    assert len({tuple(row) for row in chosen.tolist()}) > 5
    values = made(Type.F32, (100, 30), DISTINCT).reshape(-1, 100)
    assert all(len(set(row)) == 100 for row in values.tolist())
    assert len({tuple(row) for row in values.tolist()}) > 20
    assert values.min() == -1
    assert values.max() == pytest.approx(0.98)


def test_no_row_of_a_mask_is_all_infinite() -> None:
    for kind in (Type.F32, Type.F16):
        for rows in (10, 2000):
            mask = made(kind, (4, rows), MASK).reshape(-1, 4)
            assert np.isinf(mask).any()
            assert np.isfinite(mask).any(axis=1).all()
            assert (mask[np.isfinite(mask)] == 0).all()


def test_mask_for_slopes_hides_as_much_and_has_numbers_elsewhere() -> None:
    for kind in (Type.F32, Type.F16):
        mask, plain = made(kind, (4, 2000), SLANTED).reshape(-1, 4), made(kind, (4, 2000), MASK).reshape(-1, 4)
        assert (mask[:, 0] == 0).all()
        assert (np.isneginf(mask) == np.isneginf(plain)).all()
        numbers = mask[:, 1:][np.isfinite(mask[:, 1:])]
        assert (np.abs(numbers) < 4).all()
        assert (numbers > 0).mean() == pytest.approx(0.5, abs=0.05)
        assert (np.abs(numbers) > 2).mean() == pytest.approx(0.5, abs=0.05)


def test_constants_and_counts() -> None:
    assert made(Type.F32, (3, 2), ZERO).tolist() == [0.0] * 6
    assert made(Type.I32, (5,), COUNT).tolist() == [0, 1, 2, 3, 4]
    assert made(Type.F32, (0,), DISTINCT).tolist() == []


def test_masks_of_no_elements_are_empty() -> None:
    for ne in ((0, 16), (16, 0), (0,)):
        assert made(Type.F32, ne, MASK).tolist() == []
        assert made(Type.F16, ne, SLANTED).tolist() == []


def test_unknown_filling_is_refused() -> None:
    with pytest.raises(ValueError, match="sparkling"):
        made(Type.F32, (4,), Fill("sparkling"))


def test_numbers_are_stored_as_numpy_would() -> None:
    values = [1.0, 1.00390625, 1.01171875, -2.5, 3.0e38, -0.0, 1e-40, 0.1]
    assert encoded(Type.BF16, values) == bf16_bits(np.array(values, np.float32)).tobytes()
    assert encoded(Type.F16, values[:4]) == np.array(values[:4], np.float16).tobytes()
    assert encoded(Type.I16, [3.0, -2.0]) == struct.pack("<hh", 3, -2)


def test_every_quantised_type_of_the_catalog_has_its_scales() -> None:
    assert {kind.label for kind in SCALES} == set(QUANTISED)


def test_blocks_have_finite_scales_and_differ() -> None:
    data = filled(Source("x", 1), Type.Q8_0, (32 * 500,), Block(32, 34), UNIFORM)
    blocks = np.frombuffer(data, np.uint8).reshape(-1, 34)
    scales = np.ascontiguousarray(blocks[:, :2]).view("<f2")
    assert np.isfinite(scales).all()
    assert (scales > 0).all()
    assert len({bytes(block) for block in blocks}) == 500
