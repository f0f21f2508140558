from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader

from lab.llama.model_file import LEAST_VOCABULARY, ModelShape, Weights, text_of, write_model

SMALL = ModelShape(layers=1, vocabulary=LEAST_VOCABULARY)


@pytest.mark.parametrize("weights", list(Weights))
def test_every_tensor_of_the_shape_is_in_the_file(tmp_path: Path, weights: Weights) -> None:
    shape = dataclasses.replace(SMALL, weights=weights)
    write_model(tmp_path / "m.gguf", shape)
    tensors = {one.name: one for one in GGUFReader(tmp_path / "m.gguf").tensors}
    assert set(tensors) == {f"{name}.weight" for name in (*shape.matrices(), *shape.norms())}
    for name, (rows, columns) in shape.matrices().items():
        one = tensors[f"{name}.weight"]
        assert (list(one.shape), one.tensor_type) == ([columns, rows], weights.type)


def test_heads_that_the_file_tells_of_are_those_of_its_matrices(tmp_path: Path) -> None:
    write_model(tmp_path / "m.gguf", dataclasses.replace(SMALL, heads=8))
    reader = GGUFReader(tmp_path / "m.gguf")
    names = ("attention.head_count", "attention.head_count_kv", "rope.dimension_count")
    heads, key_heads, of_head = (reader.fields[f"llama.{name}"].contents() for name in names)
    rows = {one.name: int(one.shape[-1]) for one in reader.tensors}
    assert (heads, heads * of_head, key_heads * of_head) == (8, rows["blk.0.attn_q.weight"], rows["blk.0.attn_k.weight"])


def test_the_same_shape_makes_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_model(tmp_path / name, dataclasses.replace(SMALL, seed=seed))
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_there_is_a_token_for_every_byte_and_no_name_twice(tmp_path: Path) -> None:
    shape = dataclasses.replace(SMALL, vocabulary=300)
    write_model(tmp_path / "m.gguf", shape)
    field = GGUFReader(tmp_path / "m.gguf").fields["tokenizer.ggml.tokens"]
    tokens = [bytes(field.parts[index]).decode() for index in field.data]
    assert len(tokens) == len(set(tokens)) == 300
    assert {f"<0x{byte:02X}>" for byte in range(256)} < set(tokens)


def test_weights_are_finite_and_differ(tmp_path: Path) -> None:
    write_model(tmp_path / "m.gguf", dataclasses.replace(SMALL, weights=Weights.F16))
    for one in GGUFReader(tmp_path / "m.gguf").tensors:
        values = np.asarray(one.data, np.float32)
        assert np.isfinite(values).all()
        assert values.std() > 0.01


def test_a_text_is_of_letters_as_many_as_asked_for() -> None:
    text = text_of(500)
    assert len(text) == 500
    assert text == text_of(500)
    assert set(text) <= set("abcdefghijklmnopqrstuvwxyz")
    assert len(set(text)) > 20
