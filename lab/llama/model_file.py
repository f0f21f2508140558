"""A language model small enough for an emulated processor, written as a GGUF file: real layers, random weights.

What such a model says means nothing, and that is no loss: every operation of a llama model is computed on the way to it, so that
one wrong element anywhere shows in the probabilities of all tokens behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, TokenType, quants
from numpy.typing import NDArray

ARCHITECTURE = "llama"
SPECIAL = (("<unk>", TokenType.UNKNOWN), ("<s>", TokenType.CONTROL), ("</s>", TokenType.CONTROL))
UNKNOWN, BEGIN, END = range(3)
BYTES = 256
LEAST_VOCABULARY = len(SPECIAL) + BYTES
"""Any text can be told in tokens of single bytes."""
BLOCK = 256
"""Rows of weights are of whole blocks, whatever their type."""
EPSILON = 1e-5
LONGEST_CONTEXT = 2048
SPREAD = 0.1
"""Of the norms' weights around 1."""


class Weights(StrEnum):
    """How the weights are kept."""

    F16 = "f16"
    Q8_0 = "q8_0"
    Q4_0 = "q4_0"

    @property
    def type(self) -> GGMLQuantizationType:
        """As GGUF counts types."""
        return GGMLQuantizationType[self.name]


@dataclass(frozen=True, slots=True)
class ModelShape:
    """How large a model is.

    Attributes:
        layers: attention and feed forward each.
        width: of the embedding, a multiple of ``BLOCK``; the feed forward is twice as wide.
        heads: of attention; every two of them share keys and values.
        vocabulary: tokens, ``LEAST_VOCABULARY`` at least.
        weights: type of the matrices; norms are F32.
        seed: of the weights.
    """

    layers: int = 2
    width: int = BLOCK
    heads: int = 4
    vocabulary: int = 512
    weights: Weights = Weights.F16
    seed: int = 1

    @property
    def key_heads(self) -> int:
        """Heads of keys and values."""
        return self.heads // 2

    @property
    def feed_forward(self) -> int:
        """Width between the feed forward's matrices."""
        return 2 * self.width

    def matrices(self) -> dict[str, tuple[int, int]]:
        """Rows and columns of every matrix, by name."""
        width, keys = self.width, self.width * self.key_heads // self.heads
        found = {"token_embd": (self.vocabulary, width), "output": (self.vocabulary, width)}
        of_layer = {
            "attn_q": (width, width), "attn_k": (keys, width), "attn_v": (keys, width), "attn_output": (width, width),
            "ffn_gate": (self.feed_forward, width), "ffn_up": (self.feed_forward, width), "ffn_down": (width, self.feed_forward),
        }  # fmt: skip
        for layer in range(self.layers):
            found |= {f"blk.{layer}.{name}": size for name, size in of_layer.items()}
        return found

    def norms(self) -> tuple[str, ...]:
        """Names of the norms, each as wide as the embedding."""
        of_layers = (f"blk.{layer}.{name}" for layer in range(self.layers) for name in ("attn_norm", "ffn_norm"))
        return ("output_norm", *of_layers)


def write_model(path: Path, shape: ModelShape) -> None:
    """Write the model; the same bytes for the same shape."""
    writer = GGUFWriter(path, ARCHITECTURE)
    add_header(writer, shape)
    random = np.random.default_rng(shape.seed)
    for name, (rows, columns) in shape.matrices().items():
        spread = 1.0 if name == "token_embd" else columns**-0.5
        values = (random.standard_normal((rows, columns)) * spread).astype(np.float32)
        writer.add_tensor(f"{name}.weight", stored(values, shape.weights), raw_dtype=shape.weights.type)
    for name in shape.norms():
        writer.add_tensor(f"{name}.weight", (1 + SPREAD * random.standard_normal(shape.width)).astype(np.float32))
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    finally:
        writer.close()


def stored(values: NDArray[np.float32], weights: Weights) -> NDArray[np.generic]:
    """The values as the file has them."""
    return values.astype(np.float16) if weights is Weights.F16 else quants.quantize(values, weights.type)


def add_header(writer: GGUFWriter, shape: ModelShape) -> None:
    """The model's sizes and its tokens."""
    writer.add_context_length(LONGEST_CONTEXT)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.key_heads)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_rope_dimension_count(shape.width // shape.heads)
    writer.add_vocab_size(shape.vocabulary)
    tokens = [*SPECIAL, *((f"<0x{byte:02X}>", TokenType.BYTE) for byte in range(BYTES))]
    tokens += [(f"\u2581w{number}", TokenType.NORMAL) for number in range(len(tokens), shape.vocabulary)]
    writer.add_tokenizer_model(ARCHITECTURE)
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([-float(number) for number in range(len(tokens))])
    writer.add_token_types([int(kind) for _, kind in tokens])
    writer.add_bos_token_id(BEGIN)
    writer.add_eos_token_id(END)
    writer.add_unk_token_id(UNKNOWN)


def text_of(tokens: int, seed: int = 1) -> str:
    """A text of at least so many tokens: letters, of which each is one."""
    random = np.random.default_rng(seed)
    return "".join(chr(ord("a") + int(letter)) for letter in random.integers(0, 26, tokens))
