"""The numpy oracle: computes what a case asked for from the record of how it was built, in float64 and without ggml's operations.

Definitions are in ``golden_elementwise``, ``golden_recurrent``, ``golden_rows`` and ``golden_spatial``, each with its source.
Arrays have their slowest dimension first, so ggml's dimension 0 is numpy's last. What has no definition has no golden, nor
has a result that is quantised, but for copies, nor a product of a quantised type that has hardly an element.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.ggml.arrays import Array, decoded, dequantised
from lab.ggml.library import Ggml
from lab.ggml.types import WHOLE_NUMBERS, Bytes, Type
from lab.ops.build import LEAF, SLICE, Value

NOT_DEFINED = (ArithmeticError, LookupError, ValueError, TypeError)
"""What numbers lead to that no case of the catalog has: an id may have any."""
COPIES = frozenset({"dup", "cont", "cast", "cpy"})
PRODUCTS = frozenset({"mul_mat", "mul_mat_id"})
ENOUGH = 7
"""Elements of a product of a quantised type that do not all cancel: the other source is quantised, too, on the way. Of one element
one seed in ten was too far off although right, of three one in a hundred, of four none of 200; the catalog has seven and more."""


class NoGolden(Exception):
    """No definition is written for a function, or not for these arguments."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A function of arrays and numbers, and where its definition is from."""

    compute: Callable[..., Array]
    source: str


def numbers_of(ggml: Ggml, kind: Type, ne: Sequence[int], data: Bytes) -> Array:
    """The elements of a contiguous tensor as float64, or int64 for whole numbers."""
    flat = dequantised(ggml, kind, data) if kind.quantised else decoded(kind, data)
    wide = flat.astype(np.int64 if kind in WHOLE_NUMBERS else np.float64)
    return np.asarray(wide.reshape(tuple(ne)[::-1]))


def evaluated(value: Value, leaves: Mapping[int, Array], definitions: Mapping[str, Definition]) -> Array:
    """What a value must be.

    Args:
        value: the result wanted.
        leaves: the leaves' elements by their tensor.
        definitions: by the name of ggml's function without its prefix.

    Raises:
        NoGolden: something on the way has no definition.
    """
    if value.made_by == LEAF and value.written:
        raise NoGolden("a leaf that operations write into")
    done: dict[int, Array] = {}
    stack = [value]
    while stack:
        top = stack[-1]
        missing = [] if id(top) in done else [other for other in _values(top.arguments) if id(other) not in done]
        if missing:
            stack += missing
            continue
        stack.pop()
        if id(top) not in done:
            done[id(top)] = _one(top, leaves, definitions, done)
    return done[id(value)]


def _values(arguments: Sequence[Any]) -> list[Value]:
    return [argument for argument in arguments if isinstance(argument, Value)]


def _one(value: Value, leaves: Mapping[int, Array], definitions: Mapping[str, Definition], done: Mapping[int, Array]) -> Array:
    if value.made_by == LEAF:
        return leaves[value.tensor]
    if value.type.quantised and value.made_by not in {SLICE, "permute"} and not _copies(value):
        raise NoGolden(f"a result of type {value.type.label}")
    if value.made_by in PRODUCTS and value.arguments[0].type.quantised and math.prod(value.ne) < ENOUGH:
        raise NoGolden(f"a product of {math.prod(value.ne)} elements of a quantised type, which may cancel")
    arguments = [done[id(argument)] if isinstance(argument, Value) else given(argument) for argument in value.arguments]
    if value.made_by == SLICE:
        _, ne, start, steps = value.arguments
        return sliced(arguments[0], ne, start, steps)
    name = value.made_by.replace("_inplace", "")
    if name not in definitions:
        raise NoGolden(f"ggml_{name} has no definition here")
    try:
        with np.errstate(all="ignore"):
            result = definitions[name].compute(*arguments)
    except NOT_DEFINED as error:
        raise NoGolden(f"the definition of {name} does not reach these arguments: {error}") from error
    wanted = value.ne[::-1]
    if result.size != int(np.prod(wanted)):
        raise NoGolden(f"the definition of {name} makes {result.shape}, ggml {wanted}")
    return rounded(result.reshape(wanted), value.type)


def given(argument: Any) -> Any:
    """A number as ggml is given it: all that are not whole are f32 in its functions."""
    with np.errstate(over="ignore"):
        return float(np.float32(argument)) if isinstance(argument, float) else argument


def _copies(value: Value) -> bool:
    """Whether a result has the numbers of its source: blocks copied to blocks of the same type are not quantised anew."""
    return value.made_by in COPIES and isinstance(value.arguments[0], Value) and value.arguments[0].type is value.type


def sliced(parent: Array, ne: Sequence[int], start: Sequence[int], steps: Sequence[int]) -> Array:
    """A part of an array; sizes, starts and steps are fastest dimension first."""
    ranges = tuple(slice(first, first + (count - 1) * step + 1, step) for first, count, step in zip(start, ne, steps, strict=True))
    return parent[ranges[::-1]]


BEYOND = {Type.F32: 2.0**128 - 2.0**103, Type.BF16: 2.0**128 - 2.0**119}
"""From here on a number is rounded to infinity: half a step behind the largest of the type (IEEE 754, ties to even)."""


def rounded(values: Array, kind: Type) -> Array:
    """Values as a result of that type holds them; those of f32 and bf16 that are finite there stay as exact as they are."""
    if kind in BEYOND:
        return np.where(np.abs(values) >= BEYOND[kind], np.copysign(np.inf, values), values)
    if kind is Type.F16:
        return values.astype(np.float16).astype(np.float64)
    if kind in WHOLE_NUMBERS:
        return np.trunc(values).astype(np.int64)
    return values
