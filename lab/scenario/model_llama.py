"""The check of kind ``llama``: a language model through llama.cpp's own programs."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from lab.llama.model_file import BLOCK, LEAST_VOCABULARY, LONGEST_CONTEXT, ModelShape, Weights
from lab.scenario.section import CheckTable, Seconds

LEAST_COMPARED = 100


class LlamaCheck(CheckTable):
    """A small model of random weights in llama.cpp, all of its layers on the remote device.

    Its probabilities are held against those of the guest's own processor, and its tokens are timed. Needs an image with llama.cpp,
    such as ``guest-llama``.
    """

    kind: Literal["llama"]
    layers: Annotated[int, Field(ge=1, le=64)] = 2
    width: Annotated[int, Field(ge=BLOCK, le=8192, multiple_of=BLOCK)] = BLOCK
    """Of the embedding."""
    vocabulary: Annotated[int, Field(ge=LEAST_VOCABULARY, le=65536)] = 512
    weights: Annotated[Weights, Field(strict=False)] = Weights.Q8_0
    """Type of the matrices. An emulated guest's own processor computes ``f16`` five times as slowly as ``q8_0``."""
    chunks: Annotated[int, Field(ge=1, le=1000)] = 2
    """Of so many pieces of text probabilities are compared."""
    context: Annotated[int, Field(ge=16, le=LONGEST_CONTEXT)] = 128
    """Tokens of a piece; those behind its first half are compared, which have the other half before them."""
    max_divergence: Annotated[float, Field(gt=0)] = 1e-4
    """Largest Kullback-Leibler divergence of any token, in nats, from what the guest's own processor says.

    Two builds of ggml-cpu are 7e-6 apart with ``q8_0``, with ``q4_0`` some 1e-4; a wrong element of a matrix product makes 1.5e-4.
    GPUs that add in half precision need more.
    """
    prompt: Annotated[int, Field(ge=1, le=LONGEST_CONTEXT)] = 64
    """Tokens of a prompt that is timed."""
    generated: Annotated[int, Field(ge=1, le=LONGEST_CONTEXT // 2)] = 32
    """Tokens that are made one by one, timed and counted."""
    repetitions: Annotated[int, Field(ge=1, le=1000)] = 10
    """Of what is timed."""
    min_prompt_tokens_s: Annotated[float, Field(gt=0)] | None = None
    """Fewer tokens of a prompt per second (median) are too slow; not judged if absent."""
    min_tokens_s: Annotated[float, Field(gt=0)] | None = None
    """The same of tokens that are made one by one."""
    max_calls_per_token: Annotated[float, Field(gt=0)] | None = None
    """More remote calls for a token that is made are too many; not judged if absent."""
    deadline_s: Seconds = 600.0
    """For all of it."""
    program_deadline_s: Seconds = 300.0
    """For each program. The guest's own processor takes the longest."""

    @property
    def compared(self) -> int:
        """Tokens whose probabilities are compared."""
        return self.chunks * (self.context - 1 - self.context // 2)

    @model_validator(mode="after")
    def tells_something(self) -> Self:
        """Below a number of tokens llama-perplexity says nothing of their divergence."""
        if self.compared < LEAST_COMPARED:
            text = "{tokens} tokens would be compared, and llama.cpp tells the divergence of {least} or more"
            values = {"tokens": self.compared, "least": LEAST_COMPARED, "hint": "raise chunks or context"}
            raise PydanticCustomError("few_tokens", text, values)
        return self

    @property
    def shape(self) -> ModelShape:
        """The model."""
        return ModelShape(layers=self.layers, width=self.width, vocabulary=self.vocabulary, weights=self.weights)

    @property
    def summary(self) -> str:
        """The check in a line."""
        size = f"{self.layers} layers of {self.width}, {self.weights}"
        return f"llama.cpp: a model of {size}: {self.chunks} texts of {self.context} tokens compared, {self.generated} tokens timed"
