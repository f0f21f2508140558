"""Building a case's operations on ggml's API, while writing down what is asked for, in words a golden can be computed from.

A ``Value`` is a tensor and how it came to be: a leaf with its filling, a slice, or a function of ggml with its arguments. The
golden oracle reads that record and never ggml's own operation codes, so an error in what ggml makes of it is seen, too.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lab.errors import LabError
from lab.ggml.library import TensorStruct
from lab.ggml.tensor import DIMENSIONS, Context, block_of
from lab.ggml.types import Type
from lab.ops.data import UNIFORM, Fill

LEAF = "leaf"
SLICE = "slice"
SINKS = "+sinks"

LAYOUT = re.compile(r"(?:of(?P<of>[\dx]+))?(?:at(?P<at>[\dx]+))?(?:by(?P<by>[\dx]+))?(?:p(?P<axes>[0-3]{4})|(?P<swapped>t))?")
"""How a source lies in memory. Nothing: one element after another. ``slice``: cut out of a larger tensor. ``step``: every second
row. ``p0213``: with dimensions swapped as ``ggml_permute`` does, ``t`` as ``ggml_transpose`` does. ``of22x48``: the first part of a
tensor of those sizes, or with ``at0x1`` that from there on, or with ``by1x2`` every so many; and permuted then. In the first
dimension every element is taken (``by`` begins with 1), and blocks stay whole.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A tensor, what made it, and from what. ``written`` says that an operation writes into this leaf."""

    tensor: int
    made_by: str
    arguments: tuple[Any, ...]
    type: Type
    ne: tuple[int, ...]
    fill: Fill = UNIFORM
    written: bool = False

    @property
    def nb(self) -> tuple[int, ...]:
        """Strides in bytes."""
        return tuple(TensorStruct.from_address(self.tensor).nb)


class UnbuildableCase(LabError):
    """Parameters that make no case: ggml would end the process over them."""


@dataclass(slots=True)
class Builder:
    """Makes the tensors of one case: leaves that are only read, leaves that are written to, and everything computed.

    Args:
        leaves: the context of leaves that are only read.
        targets: the context of leaves that operations write into.
        nodes: the context of operations.
    """

    leaves: Context
    targets: Context
    nodes: Context
    made: list[Value] = field(default_factory=list)

    def leaf(self, kind: Type, ne: Sequence[int], fill: Fill = UNIFORM, *, written: bool = False) -> Value:
        """A contiguous tensor with data. Raises ``UnbuildableCase`` for a filling that has too few numbers for it."""
        sizes = (*ne, *(1,) * (4 - len(ne)))
        if math.prod(sizes) and (why := fill.lacks(sizes[0])):
            raise UnbuildableCase(f"no data of the sizes {sizes}: {why}")
        tensor = (self.targets if written else self.leaves).new_tensor(kind, sizes)
        value = Value(tensor, LEAF, (), kind, sizes, fill, written)
        self.made.append(value)
        return value

    def source(self, kind: Type, ne: Sequence[int], layout: str = "", fill: Fill = UNIFORM, *, written: bool = False) -> Value:
        """A tensor of the given sizes that lies in memory as ``layout`` says."""
        sizes = (*ne, *(1,) * (4 - len(ne)))
        if not layout:
            return self.leaf(kind, sizes, fill, written=written)
        if layout == "slice":
            step = block_of(self.leaves.ggml, kind).elements
            parent = self.leaf(kind, (sizes[0] + step, sizes[1] + 1, sizes[2], sizes[3] + 1), fill, written=written)
            return self.slice(parent, sizes, (step, 1, 0, 1))
        if layout == "step":
            parent = self.leaf(kind, (sizes[0], 2 * sizes[1], sizes[2], sizes[3]), fill, written=written)
            return self.slice(parent, sizes, steps=(1, 2, 1, 1))
        return self._laid_out(kind, sizes, layout, fill, written=written)

    def _laid_out(self, kind: Type, sizes: tuple[int, ...], layout: str, fill: Fill, *, written: bool) -> Value:
        """A source whose layout says of what tensor it is a part, or how that is permuted."""
        words = LAYOUT.fullmatch(layout)
        if words is None:
            raise UnbuildableCase(f"{layout!r} is no layout")
        axes = tuple(int(axis) for axis in words["axes"] or ("1023" if words["swapped"] else "0123"))
        inner = tuple(sizes[axis] for axis in axes)
        value = self.leaf(kind, four(words["of"], inner), fill, written=written)
        if words["of"]:
            value = self.slice(value, inner, four(words["at"], (0, 0, 0, 0)), four(words["by"], (1, 1, 1, 1)))
        if words["swapped"]:
            return self.call("transpose", value)
        return self.call("permute", value, *axes) if words["axes"] else value

    def slice(
        self, parent: Value, ne: Sequence[int], start: Sequence[int] = (0, 0, 0, 0), steps: Sequence[int] = (1, 1, 1, 1)
    ) -> Value:
        """A view: ``ne`` elements from ``start``, every ``steps``-th. The first dimension has no steps, and whole blocks alone.

        Raises:
            UnbuildableCase: there is no such view.
        """
        sizes = (*ne, *(1,) * (4 - len(ne)))
        block = block_of(self.leaves.ggml, parent.type)
        if steps[0] != 1 or min(steps) < 1:
            raise UnbuildableCase(f"a slice by {tuple(steps)}: the first step is 1, the others are 1 or more")
        if start[0] % block.elements or sizes[0] % block.elements:
            raise UnbuildableCase(f"a slice of {sizes} from {tuple(start)} parts blocks of {block.elements} elements")
        for dimension in range(4):
            if start[dimension] + (sizes[dimension] - 1) * steps[dimension] >= parent.ne[dimension]:
                raise UnbuildableCase(f"a slice of {sizes} from {tuple(start)} does not fit into {parent.ne}")
        nb = parent.nb
        offset = start[0] // block.elements * block.size + sum(start[d] * nb[d] for d in (1, 2, 3))
        strides = [nb[d] * steps[d] for d in (1, 2, 3)]
        tensor = self.nodes.operation("view_4d", parent.tensor, *sizes, *strides, offset)
        return Value(tensor, SLICE, (parent, tuple(sizes), tuple(start), tuple(steps)), parent.type, sizes)

    def call(self, name: str, *arguments: Any) -> Value:
        """The operation ``ggml_<name>``; arguments are values, None for no tensor, numbers, types, or lists of int32."""
        foreign = tuple(_foreign(argument) for argument in arguments)
        tensor = self.nodes.operation(name, *foreign)
        struct = TensorStruct.from_address(tensor)
        return Value(tensor, name, arguments, Type(struct.type), tuple(struct.ne))

    def setting(self, name: str, value: Value, *arguments: Any) -> None:
        """Call a function that changes how an operation just made is computed, but not what, such as ``ggml_prec_set_acc``."""
        self.nodes.ggml.call(name, value.tensor, *(_foreign(argument) for argument in arguments))

    def with_sinks(self, name: str, value: Value, sinks: Value) -> Value:
        """The operation with attention sinks added by function ``name``; its record says so."""
        self.nodes.ggml.call(name, value.tensor, sinks.tensor)
        return replace(value, made_by=f"{value.made_by}{SINKS}", arguments=(*value.arguments, sinks))


def four(text: str | None, default: Sequence[int]) -> tuple[int, ...]:
    """Four numbers such as ``22x48``, with those that are not said as the default has them; all of it for no text.

    Raises:
        UnbuildableCase: there are more.
    """
    given = tuple(map(int, text.split("x"))) if text else ()
    if len(given) > DIMENSIONS:
        raise UnbuildableCase(f"{text!r} are more than {DIMENSIONS} numbers")
    return (*given, *tuple(default)[len(given) :])


def _foreign(argument: Any) -> Any:
    if isinstance(argument, Value):
        return argument.tensor
    if isinstance(argument, list):
        return (ctypes.c_int32 * len(argument))(*argument)
    return int(argument) if isinstance(argument, Type) else argument
