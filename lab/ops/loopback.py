"""Cases computed through a host library in this process, over the wire's own messages: no guest, no QEMU, no component.

In the host root, this is the quickest way to see one case again::

    python3 -m lab.ops.loopback --host-library PATH --ggml-library PATH --threads N --seed N CASE…

It tells the cases' lines of ``lab.guest.agent.ops``, so digests can be compared; ``--values FILE`` gets the results.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.apir.loopback import HostLibrary, loaded_host_library
from lab.apir.protocol_gen import (
    BackendGraphComputeReply,
    BackendGraphComputeRequest,
    BufferClearRequest,
    BufferFreeBufferRequest,
    BufferGetTensorRequest,
    BufferSetTensorRequest,
    BufferTypeAllocBufferReply,
    BufferTypeAllocBufferRequest,
    BufferTypeGetAllocSizeReply,
    BufferTypeGetAllocSizeRequest,
    Call,
    DeviceGetBufferTypeReply,
    DeviceGetBufferTypeRequest,
    DeviceSupportsOpReply,
    DeviceSupportsOpRequest,
    Graph,
    OpRecord,
    RawTensor,
    TensorRecord,
)
from lab.apir.wire import Writer
from lab.errors import LabError
from lab.ggml.library import Ggml, GgmlError, TensorStruct, loaded_ggml
from lab.ggml.tensor import Context
from lab.ggml.types import Bytes, Type
from lab.guest.agent.ops import row_of
from lab.ops.catalog import case_named
from lab.ops.engine import Engine, ordered

ALIGNMENT = 128
STATUS_FAILED = 1


def sources_of(struct: TensorStruct) -> list[int]:
    """Addresses of a tensor's sources."""
    return [address for address in struct.src if address]


def raw_record(address: int, *, whole: bool) -> RawTensor:
    """A tensor as it lies in memory; ``whole`` with its sources and view, which are looked at for being there only."""
    struct = TensorStruct.from_address(address)
    return RawTensor(
        type=struct.type,
        ne=tuple(struct.ne),
        nb=tuple(struct.nb),
        op=struct.op,
        op_params=tuple(struct.op_params),
        flags=struct.flags,
        src=tuple(source or 0 for source in struct.src) if whole else (0,) * 10,
        view_src=(struct.view_src or 0) if whole else 0,
        view_offs=struct.view_offs,
        name=struct.name,
    )


def op_record(address: int) -> OpRecord:
    """A tensor with its sources and its view source, as questions about it have them."""
    struct = TensorStruct.from_address(address)
    view = raw_record(struct.view_src, whole=False) if struct.view_src else None
    return OpRecord(
        raw_record(address, whole=True), None, view, tuple(raw_record(source, whole=False) for source in sources_of(struct))
    )


def wire_record(address: int, bases: dict[int, int]) -> TensorRecord:
    """A tensor of a graph. ``bases`` maps buffers to where their data begin here."""
    struct = TensorStruct.from_address(address)
    buffer = struct.buffer or 0
    return TensorRecord(
        id=address,
        type=struct.type,
        buffer=buffer,
        ne=tuple(struct.ne),
        nb=tuple(struct.nb),
        op=struct.op,
        op_params=tuple(struct.op_params),
        flags=struct.flags,
        src=tuple(source or 0 for source in struct.src),
        view_src=struct.view_src or 0,
        view_offs=struct.view_offs,
        data=(struct.data or 0) - bases[buffer],
        name=struct.name,
    )


@dataclass(frozen=True, slots=True)
class LoopbackBuffer:
    """A buffer on the host; its handle is its address here, and its data begin at ``base``, which is no memory."""

    library: HostLibrary
    address: int
    base: int
    size: int

    def clear(self, value: int) -> None:
        """Set every byte."""
        self.library.call(Call.BUFFER_CLEAR, BufferClearRequest(self.address, value))

    def write(self, data: Bytes, offset: int = 0) -> None:
        """Copy bytes in, through the data page."""
        page = self.library.data_page
        for start in range(0, len(data), page.size):
            part = bytes(data[start : start + page.size])
            page.memory[: len(part)] = part
            request = BufferSetTensorRequest(self.address, self._arena(), page.number, offset + start, len(part))
            self.library.call(Call.BUFFER_SET_TENSOR, request)

    def read(self, offset: int = 0, size: int | None = None) -> Bytes:
        """Bytes of it, through the data page."""
        page, parts = self.library.data_page, []
        end = self.size if size is None else offset + size
        for start in range(offset, end, page.size):
            count = min(page.size, end - start)
            request = BufferGetTensorRequest(self.address, self._arena(), page.number, start, count)
            self.library.call(Call.BUFFER_GET_TENSOR, request)
            parts.append(bytes(page.memory[:count]))
        return b"".join(parts)

    def offset_of(self, tensor: int) -> int:
        """Where a tensor's data begin."""
        return int(TensorStruct.from_address(tensor).data) - self.base

    def _arena(self) -> TensorRecord:
        ne = (self.size, 1, 1, 1)
        return TensorRecord(id=1, type=int(Type.I8), buffer=self.address, ne=ne, nb=(1, self.size, self.size, self.size), data=0)


@dataclass(frozen=True, slots=True)
class LoopbackDevice:
    """The device behind a host library."""

    ggml: Ggml
    library: HostLibrary

    def supports(self, tensor: int) -> bool:
        """Ask the host library."""
        reply = self.library.call(Call.DEVICE_SUPPORTS_OP, DeviceSupportsOpRequest(op_record(tensor)))
        return isinstance(reply, DeviceSupportsOpReply) and reply.supported


@dataclass(slots=True)
class Loopback:
    """Computes on the device behind a host library."""

    device: LoopbackDevice
    buffer_type: int
    bases: dict[int, int]

    @contextlib.contextmanager
    def allocated(self, context: Context, _arena_context: Context) -> Iterator[LoopbackBuffer]:
        """One buffer with the tensors of a context; views are bound where their sources are."""
        offsets, size = {}, 0
        for tensor in context.tensors():
            if not TensorStruct.from_address(tensor).view_src:
                offsets[tensor] = size
                size += -(-self._alloc_size(tensor) // ALIGNMENT) * ALIGNMENT
        library = self.device.library
        reply = library.call(Call.BUFFER_TYPE_ALLOC_BUFFER, BufferTypeAllocBufferRequest(self.buffer_type, size))
        if not isinstance(reply, BufferTypeAllocBufferReply) or not reply.buffer:
            raise GgmlError("buffer_type_alloc_buffer", f"no {size} bytes")
        base = (max(self.bases.values(), default=0) + (1 << 40)) & ~0xFFF
        self.bases[reply.buffer] = base
        try:
            for tensor in context.tensors():
                struct = TensorStruct.from_address(tensor)
                source = TensorStruct.from_address(struct.view_src) if struct.view_src else None
                struct.buffer = source.buffer if source else reply.buffer
                struct.data = source.data + struct.view_offs if source else base + offsets[tensor]
            yield LoopbackBuffer(library, reply.buffer, base, size)
        finally:
            del self.bases[reply.buffer]
            library.call(Call.BUFFER_FREE_BUFFER, BufferFreeBufferRequest(reply.buffer))

    def _alloc_size(self, tensor: int) -> int:
        """What the device wants for it: more than its bytes for rows that it fills up, or for what it notes behind a result."""
        request = BufferTypeGetAllocSizeRequest(self.buffer_type, op_record(tensor))
        reply = self.device.library.call(Call.BUFFER_TYPE_GET_ALLOC_SIZE, request)
        if not isinstance(reply, BufferTypeGetAllocSizeReply):
            raise GgmlError("buffer_type_get_alloc_size", f"{reply}")
        return reply.size

    def compute(self, graph: int) -> None:
        """Send the graph and wait for its status."""
        ggml, page = self.device.ggml, self.device.library.data_page
        nodes = [ggml.made("ggml_graph_node", graph, index) for index in range(ggml.call("ggml_graph_n_nodes", graph))]
        writer = Writer()
        Graph(tuple(nodes), tuple(wire_record(tensor, self.bases) for tensor in reachable(nodes))).encode(writer)
        page.memory[: len(writer.data)] = writer.data
        request = BackendGraphComputeRequest(page.number, len(writer.data))
        reply = self.device.library.call(Call.BACKEND_GRAPH_COMPUTE, request)
        if not isinstance(reply, BackendGraphComputeReply) or reply.status:
            raise GgmlError("backend_graph_compute", f"{reply}")


def reachable(nodes: Sequence[int]) -> list[int]:
    """The nodes and every tensor that they need, each once."""
    seen: dict[int, None] = {}
    pending = list(nodes)
    while pending:
        tensor = pending.pop()
        if tensor not in seen:
            seen[tensor] = None
            struct = TensorStruct.from_address(tensor)
            pending += [*sources_of(struct), *([struct.view_src] if struct.view_src else [])]
    return list(seen)


@contextlib.contextmanager
def opened_loopback(host_library: Path, ggml_library: str, threads: int) -> Iterator[Loopback]:
    """A host library that drives a backend library.

    Raises:
        LabError: it cannot be loaded or initialised.
    """
    config = {"ggml.library.path": ggml_library, "ggml.library.reg": "ggml_backend_init", "ggml.threads": str(threads)}
    with loaded_host_library(host_library, config) as library:
        reply = library.call(Call.DEVICE_GET_BUFFER_TYPE, DeviceGetBufferTypeRequest())
        if not isinstance(reply, DeviceGetBufferTypeReply):
            raise GgmlError("device_get_buffer_type", f"{reply}")
        yield Loopback(LoopbackDevice(loaded_ggml(), library), reply.buft, {})


def main(words: Sequence[str] | None = None) -> int:
    """Compute the cases and tell their lines."""
    parser = argparse.ArgumentParser(prog="lab.ops.loopback")
    parser.add_argument("--host-library", type=Path, required=True)
    parser.add_argument("--ggml-library", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--values", type=Path)
    parser.add_argument("cases", nargs="+")
    arguments = parser.parse_args(words)
    try:
        cases = ordered(case_named(name) for name in arguments.cases)
        with contextlib.ExitStack() as stack:
            values = stack.enter_context(arguments.values.open("ab", buffering=0)) if arguments.values else None
            loopback = stack.enter_context(opened_loopback(arguments.host_library, arguments.ggml_library, arguments.threads))
            for result in Engine(loopback, arguments.seed).run(cases):
                sys.stdout.write(json.dumps(row_of(result, values)) + "\n")
    except LabError as error:
        sys.stderr.write(f"{error}\n")
        return STATUS_FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
