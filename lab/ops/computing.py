"""What the engine needs of what computes: a backend of ggml, or a host library with no guest between."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from lab.ggml.library import Ggml
from lab.ggml.tensor import Context
from lab.ggml.types import Bytes


class Asked(Protocol):
    """A device, as far as it is asked."""

    @property
    def ggml(self) -> Ggml:
        """The library that describes tensors."""

    def supports(self, tensor: int) -> bool:
        """Whether it computes this operation."""


class Memory(Protocol):
    """A buffer of a device. Tensors in it have its ``address`` as their buffer."""

    @property
    def address(self) -> int:
        """What tensors' ``buffer`` is."""

    @property
    def size(self) -> int:
        """Bytes."""

    def clear(self, value: int) -> None:
        """Set every byte."""

    def write(self, data: Bytes, offset: int = 0) -> None:
        """Copy bytes into it."""

    def read(self, offset: int = 0, size: int | None = None) -> Bytes:
        """Bytes of it."""

    def offset_of(self, tensor: int) -> int:
        """Where in it a tensor's data begin."""


class Computing(Protocol):
    """What computes: a backend of ggml, or a host library with no guest between."""

    @property
    def device(self) -> Asked:
        """Of what it is."""

    def allocated(self, context: Context, arena_context: Context) -> AbstractContextManager[Memory]:
        """Memory with all tensors of a context in it, for as long as it is entered."""

    def compute(self, graph: int) -> None:
        """Compute a graph and wait for it."""
