"""How much memory the loopback takes for a case's tensors: what the device says that it wants."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from lab.apir.loopback import HostLibrary
from lab.apir.protocol_gen import (
    BufferTypeAllocBufferReply,
    BufferTypeAllocBufferRequest,
    BufferTypeGetAllocSizeReply,
    BufferTypeGetAllocSizeRequest,
    Call,
    DeviceSupportsOpReply,
    OpRecord,
)
from lab.ggml.library import Ggml, GgmlError, TensorStruct
from lab.ggml.tensor import Context
from lab.ggml.types import Type
from lab.ops.loopback import ALIGNMENT, Loopback, LoopbackDevice, op_record

BUFFER, BUFFER_TYPE = 7, 5


@dataclass
class Host:
    """Wants ``wanted`` bytes for every tensor, and notes what it was asked for."""

    wanted: int
    asked: list[OpRecord] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def call(self, call: Call, request: object) -> object:
        if isinstance(request, BufferTypeGetAllocSizeRequest):
            assert request.buft == BUFFER_TYPE
            self.asked.append(request.op)
            return BufferTypeGetAllocSizeReply(self.wanted) if self.wanted else DeviceSupportsOpReply(supported=True)
        if isinstance(request, BufferTypeAllocBufferRequest):
            self.sizes.append(request.size)
            return BufferTypeAllocBufferReply(BUFFER)
        assert call is Call.BUFFER_FREE_BUFFER
        return None


@dataclass
class Tensors:
    structs: list[TensorStruct]

    def tensors(self) -> list[int]:
        return [ctypes.addressof(struct) for struct in self.structs]


def tensor(*, view_of: TensorStruct | None = None) -> TensorStruct:
    struct = TensorStruct()
    struct.type, struct.name = int(Type.F32), b"a"
    struct.ne[:], struct.nb[:] = (4, 1, 1, 1), (4, 16, 16, 16)
    if view_of is not None:
        struct.view_src = ctypes.addressof(view_of)
        struct.src[0] = ctypes.addressof(view_of)
    return struct


def loopback(host: Host) -> Loopback:
    return Loopback(LoopbackDevice(cast("Ggml", None), cast("HostLibrary", host)), BUFFER_TYPE, {})


def test_a_buffer_has_what_the_device_wants_for_each_tensor() -> None:
    first, second = tensor(), tensor()
    view = tensor(view_of=first)
    context: Any = Tensors([first, second, view])
    host = Host(wanted=ALIGNMENT + 1)
    with loopback(host).allocated(cast("Context", context), cast("Context", context)) as buffer:
        assert host.sizes == [4 * ALIGNMENT]
        assert second.data - first.data == 2 * ALIGNMENT
        assert view.data == first.data == buffer.base
    assert len(host.asked) == 2  # a view lies in what it looks into


def test_a_device_that_does_not_say_is_told() -> None:
    context: Any = Tensors([tensor()])
    with pytest.raises(GgmlError, match="buffer_type_get_alloc_size"), loopback(Host(wanted=0)).allocated(context, context):
        pass


def test_a_question_about_a_tensor_has_its_sources_and_its_view_source() -> None:
    first = tensor()
    first.nb[1] = 32
    record = op_record(ctypes.addressof(tensor(view_of=first)))
    assert [source.nb[1] for source in record.src] == [32]
    assert record.view_src is not None
    assert record.view_src.nb[1] == 32
