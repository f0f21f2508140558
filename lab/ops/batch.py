"""Cases that travel together: one upload, one graph, one download.

A batch has three buffers: leaves that are only read, leaves that operations write into, and results. The last two are
overwritten before each round with bytes that no case has, so a result that was never computed is not the one of before.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from lab.errors import LabError
from lab.ggml.library import TensorStruct
from lab.ggml.tensor import Shape, packed_bytes
from lab.ggml.types import Bytes
from lab.ops.built import Built, leaf_data
from lab.ops.case import Case
from lab.ops.computing import Computing, Memory
from lab.ops.result import Output

STAGED_BYTES = 1 << 19
SMALL, IN_A_ROW = 1024, 20
"""Writes of so few bytes go along with other commands, of which one holds 16 KiB; a row of so many of them does not fit into it."""
UNWRITTEN = 0x7F
"""In every type of floats a number that no result is near (in f32 and bf16 3e38), or none: of 0xA5 they would be next to 0."""
UNWRITTEN_BYTE = bytes((UNWRITTEN,))


@dataclass(frozen=True, slots=True)
class Buffers:
    """A batch's memory on the device."""

    leaves: Memory
    targets: Memory
    nodes: Memory

    def home_of(self, tensor: int) -> Memory:
        """The buffer in which a tensor lies."""
        address = TensorStruct.from_address(tensor).buffer
        return next(buffer for buffer in (self.nodes, self.targets, self.leaves) if buffer.address == address)


class Upload:
    """Writes a buffer from its first byte on: small data together, large ones as they are; in between, bytes that no case has.

    Args:
        home: the buffer.
        staged: where small data are put together. One serves for all buffers: memory that is new to the process costs an
            emulated guest more than what is written there.
        transfer: not 0 for a buffer that is written as ``pieces`` cuts it.
    """

    def __init__(self, home: Memory, staged: bytearray, transfer: int) -> None:
        self._home = home
        self._memory = bytearray(home.size) if transfer else staged
        self._transfer = transfer
        self._start = self._used = 0

    def put(self, offset: int, data: Bytes) -> None:
        """Data at a place behind that of the data before. Raises ``LabError`` for another place."""
        self._skip_to(offset)
        large = not self._transfer and len(data) >= len(self._memory) // 4
        if large or self._used + len(data) > len(self._memory):
            self._send()
        if large:
            self._home.write(data, offset)
            self._start += len(data)
        else:
            self._memory[self._used : self._used + len(data)] = data
            self._used += len(data)

    def end(self) -> None:
        """Nothing more comes."""
        self._skip_to(self._home.size)
        self._send()

    def _skip_to(self, offset: int) -> None:
        left = offset - self._start - self._used
        if left < 0:
            raise LabError(f"data for byte {offset} of a buffer come when {-left} bytes behind it are written")
        while left:
            count = min(left, len(self._memory) - self._used)
            self._memory[self._used : self._used + count] = UNWRITTEN_BYTE * count
            self._used += count
            left -= count
            if left:
                self._send()

    def _send(self) -> None:
        whole = memoryview(self._memory)[: self._used]
        for start, end in pieces(self._used, self._transfer):
            self._home.write(whole[start:end], self._start + start)
        self._start += self._used
        self._used = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases whose tensors lie in the device's memory, and the graph that computes them all."""

    backend: Computing
    buffers: Buffers
    built: tuple[Built, ...]
    graph: int
    transfer: int
    seed: int
    staged: bytearray

    def fill(self, number: int) -> None:
        """Write a round's data; results are made unlike any."""
        buffers, ggml = self.buffers, self.backend.device.ggml
        buffers.nodes.clear(UNWRITTEN)
        data = [each for one in self.built for each in leaf_data(ggml, one, self.seed, number)]
        for home, written in ((buffers.leaves, False), (buffers.targets, True)):
            upload = Upload(home, self.staged, self.transfer)
            for leaf, content in data:
                if leaf.written is written:
                    upload.put(home.offset_of(leaf.tensor), content)
            upload.end()

    def compute(self) -> int:
        """Compute the graph; returns the nanoseconds it took."""
        started = time.perf_counter_ns()
        self.backend.compute(self.graph)
        return time.perf_counter_ns() - started

    def outputs(self) -> Iterator[tuple[Case, Output]]:
        """Every result of every case, in order."""
        homes = [(one.case, value.tensor, self.buffers.home_of(value.tensor)) for one in self.built for value in one.outputs]
        used = {id(home): home for _, _, home in homes}
        memory = {key: read_in_pieces(home, self.transfer) for key, home in used.items()}
        for case, tensor, home in homes:
            shape = Shape.of(tensor)
            data = packed_bytes(self.backend.device.ggml, shape, memory[id(home)], home.offset_of(tensor))
            yield case, Output(shape.type, shape.ne, data)


def pieces(size: int, transfer: int) -> Iterator[tuple[int, int]]:
    """How a buffer is moved: whole, or twice ``transfer`` bytes, small ones ``IN_A_ROW`` times, and then the rest."""
    start = 0
    for _ in range(IN_A_ROW if transfer <= SMALL else 2) if transfer else ():
        if start + transfer < size:
            yield start, start + transfer
            start += transfer
    yield start, size


def read_in_pieces(buffer: Memory, transfer: int) -> Bytes:
    """All bytes of a buffer."""
    if not transfer:
        return buffer.read()
    return b"".join([buffer.read(start, end - start) for start, end in pieces(buffer.size, transfer)])
