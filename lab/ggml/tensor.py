"""Contexts, tensors and graphs: what a computation is described with before any device sees it."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lab.ggml.library import Ggml, GgmlError, GoneOperation, InitParams, TensorStruct
from lab.ggml.operations import GONE
from lab.ggml.types import Block, Bytes, Type

DIMENSIONS = 4
MOST_ELEMENTS = 1 << 60
NO_OPERATION = 0
VIEWS = frozenset({"RESHAPE", "VIEW", "PERMUTE", "TRANSPOSE"})
"""Operations that compute nothing: another look at the same bytes."""

IntArray = ctypes.c_int64 * DIMENSIONS


@dataclass(frozen=True, slots=True)
class Shape:
    """A tensor's type, sizes and strides as they are in ``struct ggml_tensor``; strides in bytes."""

    type: Type
    ne: tuple[int, ...]
    nb: tuple[int, ...]

    @classmethod
    def of(cls, tensor: int) -> Shape:
        """Read a tensor's."""
        struct = TensorStruct.from_address(tensor)
        return cls(Type(struct.type), tuple(struct.ne), tuple(struct.nb))


@dataclass(frozen=True, slots=True)
class Context:
    """``struct ggml_context`` without data of its own. Made by ``new_context``."""

    ggml: Ggml
    address: int
    size: int

    def new_tensor(self, kind: Type, ne: Sequence[int]) -> int:
        """A tensor without data. ``ne`` has one to four sizes, the first one's elements lie side by side."""
        fits = 1 <= len(ne) <= DIMENSIONS and min(ne) >= 0 and math.prod(ne) < MOST_ELEMENTS
        if not fits or ne[0] % block_of(self.ggml, kind).elements:
            raise GgmlError("ggml_new_tensor", f"no tensor of type {kind.label} has the sizes {tuple(ne)}")
        return self.ggml.made("ggml_new_tensor", self.address, int(kind), len(ne), (ctypes.c_int64 * len(ne))(*ne))

    def operation(self, name: str, *arguments: Any) -> int:
        """Make the tensor of an operation: ``operation("add", a, b)`` is ``ggml_add(context, a, b)``.

        Raises:
            GoneOperation: this ggml has it no longer.
            GgmlError: ggml made none.
        """
        if name in GONE and name not in self.ggml.operations:
            raise GoneOperation(f"ggml_{name}", f"ggml {self.ggml.text('ggml_version')} has it no longer")
        tensor = self.ggml.operations[name](self.address, *arguments)
        if not tensor:
            raise GgmlError(f"ggml_{name}", "returned nothing")
        return int(tensor)

    def new_graph(self, outputs: Sequence[int], capacity: int) -> int:
        """A graph that computes ``outputs``, with room for ``capacity`` tensors."""
        graph = self.ggml.made("ggml_new_graph_custom", self.address, capacity, False)
        for tensor in outputs:
            self.ggml.call("ggml_build_forward_expand", graph, tensor)
        return graph

    def tensors(self, after: int | None = None) -> Iterator[int]:
        """Tensors of the context in the order they were made, all or those made after one."""
        ggml = self.ggml
        tensor = (
            ggml.call("ggml_get_next_tensor", self.address, after) if after else ggml.call("ggml_get_first_tensor", self.address)
        )
        while tensor:
            yield tensor
            tensor = ggml.call("ggml_get_next_tensor", self.address, tensor)

    @property
    def free_bytes(self) -> int:
        """How much more fits. ggml ends the process when it is exceeded, so ask."""
        return int(self.size - self.ggml.call("ggml_used_mem", self.address))


@contextlib.contextmanager
def new_context(ggml: Ggml, size: int) -> Iterator[Context]:
    """A context of ``size`` bytes for descriptions of tensors and graphs, freed at the end."""
    address = ggml.init(InitParams(size, None, True))
    if not address:
        raise GgmlError("ggml_init", f"no {size} bytes")
    try:
        yield Context(ggml, int(address), size)
    finally:
        ggml.call("ggml_free", address)


@functools.cache
def block_of(ggml: Ggml, kind: Type) -> Block:
    """Elements and bytes of a block of the type, as the loaded library has them."""
    return Block(int(ggml.call("ggml_blck_size", int(kind))), int(ggml.call("ggml_type_size", int(kind))))


def packed_bytes(ggml: Ggml, shape: Shape, memory: Bytes, offset: int) -> Bytes:
    """The elements of a tensor, in order and without the gaps between them, from a copy of its buffer.

    Raises:
        GgmlError: the tensor reaches beyond ``memory``.
    """
    block = block_of(ggml, shape.type)
    counts = (shape.ne[0] // block.elements, *shape.ne[1:])
    if 0 in counts:
        return b""
    end = offset + sum((count - 1) * stride for count, stride in zip(counts, shape.nb, strict=True)) + block.size
    if end > len(memory):
        raise GgmlError("ggml_backend_tensor_get", f"a tensor ends at byte {end} of {len(memory)}")
    view = memoryview(memory)
    size = math.prod(counts) * block.size
    if end - offset == size and shape.nb == packed_strides(counts, block):
        return view[offset:end]
    step, length = (counts[0], counts[0] * block.size) if shape.nb[0] == block.size else (1, block.size)
    starts = [offset]
    for count, stride in zip((*counts[:0:-1], counts[0] // step), (*shape.nb[:0:-1], shape.nb[0]), strict=True):
        starts = [start + index * stride for start in starts for index in range(count)]
    return b"".join([view[start : start + length] for start in starts])


def packed_strides(counts: Sequence[int], block: Block) -> tuple[int, ...]:
    """Strides in bytes of ``counts`` blocks that lie one after another."""
    return tuple(math.prod(counts[:dimension]) * block.size for dimension in range(DIMENSIONS))
