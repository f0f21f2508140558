from __future__ import annotations

import hashlib

import numpy as np
import pytest

from lab.ggml.types import Block, Type
from lab.ops.data import DISTINCT, MASK, SCALES, UNIFORM, Fill, Source, distinct_rows, filled, integers, numbers, random_blocks
from lab.ops.families import QUANTISED

F32 = Block(1, 4)


def test_data_are_the_same_on_every_machine() -> None:
    data = filled(Source("ADD()", 1), Type.F32, (64,), F32, UNIFORM)
    assert hashlib.sha256(data.tobytes()).hexdigest()[:16] == "8e3f836086d2fa6d"


def test_words_are_splitmix64s_however_many_are_asked_for_at_once() -> None:
    source = Source("ADD()", 1)
    source._state = 0
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    assert source.bytes(32).view("<u8").tolist() == known
    one, other = Source("ADD()", 1), Source("ADD()", 1)
    parts = np.concatenate([other.bytes(8 * 3000), other.bytes(8 * 3000)])
    assert (one.bytes(8 * 6000) == parts).all()


def test_another_case_seed_or_round_has_other_data() -> None:
    drawn = {Source(case, seed, number).bytes(32).tobytes() for case in ("ADD()", "SUB()") for seed in (1, 2) for number in (0, 1)}
    assert len(drawn) == 8


def test_sources_of_a_case_differ() -> None:
    source = Source("ADD()", 1)
    assert source.bytes(32).tobytes() != source.bytes(32).tobytes()


def test_sources_that_take_turns_do_not_disturb_each_other() -> None:
    alone = Source("ADD()", 1).bytes(64).tobytes()
    first, second = Source("ADD()", 1), Source("SUB()", 1)
    halves = first.bytes(32).tobytes()
    second.bytes(32)
    assert halves + first.bytes(32).tobytes() == alone


def test_numbers_keep_their_bounds() -> None:
    values = numbers(Source("x", 1), UNIFORM, 10000, 100)
    assert -1 <= values.min() < -0.9 < 0.9 < values.max() < 1
    whole = numbers(Source("x", 1), integers(5, -5), 10000, 100)
    assert set(whole.tolist()) == set(range(-5, 5))


def test_rows_of_distinct_numbers_have_no_two_alike() -> None:
    chosen = numbers(Source("x", 1), distinct_rows(9), 40, 4).reshape(-1, 4)
    assert all(len(set(row)) == 4 and max(row) < 9 for row in chosen.tolist())
    values = numbers(Source("x", 1), DISTINCT, 300, 100).reshape(-1, 100)
    assert all(len(set(row)) == 100 for row in values.tolist())


def test_no_row_of_a_mask_is_all_infinite() -> None:
    mask = numbers(Source("x", 1), MASK, 400, 4).reshape(-1, 4)
    assert np.isinf(mask).any()
    assert np.isfinite(mask).any(axis=1).all()


def test_unknown_filling_is_refused() -> None:
    with pytest.raises(ValueError, match="sparkling"):
        numbers(Source("x", 1), Fill("sparkling"), 4, 4)


def test_every_quantised_type_of_the_catalog_has_its_scales() -> None:
    assert {kind.label for kind in SCALES} == set(QUANTISED)


def test_blocks_have_finite_scales() -> None:
    blocks = random_blocks(Source("x", 1), Type.Q8_0, 500, 34).reshape(-1, 34)
    scales = np.ascontiguousarray(blocks[:, :2]).view("<f2")
    assert np.isfinite(scales).all()
    assert (scales > 0).all()
