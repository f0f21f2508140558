"""What a replay makes of a host that answers otherwise, without a host library."""

from __future__ import annotations

import dataclasses
import math
import mmap
import struct
from typing import Any, cast

import pytest

from lab.apir import protocol_gen as gen
from lab.apir.loopback import HostLibrary, Resource
from lab.apir.replay import Replay
from lab.apir.trace import Command, Ioctl
from lab.apir.wire import Reader, Writer

pytestmark = pytest.mark.protocol

IN_PLACE, ON_HOST = 7, 8


class Refusing:
    """A host library that gives buffers and refuses all else."""

    def __init__(self) -> None:
        self.resources: dict[int, Resource] = {}

    def new_resource(self, size: int, number: int) -> None:
        self.resources[number] = Resource(number, size, mmap.mmap(-1, size))

    def dispatch(self, call: int, _payload: bytes, _reply: Resource) -> tuple[int, bytes]:
        if call == gen.Call.DEVICE_BUFFER_FROM_PTR:
            return 0, encoded(gen.DeviceBufferFromPtrReply(70, 71))
        return 1, b""


def encoded(message: Any) -> bytes:
    writer = Writer()
    message.encode(writer)
    return writer.data


def command(call: gen.Call, request: Any, reply: bytes, data: bytes = b"") -> Command:
    header = gen.CommandHeader(gen.CommandType.FORWARD, call, 1)
    return Command(header, call.name.lower(), call, encoded(request), gen.ReturnCode.OK, reply, 2, len(data), data)


@pytest.mark.parametrize(("buffer", "told"), [(IN_PLACE, True), (ON_HOST, False)])
def test_graph_on_memory_that_the_guest_wrote_itself_is_refused_with_the_reason(buffer: int, told: bool) -> None:
    tensor = dataclasses.replace(gen.TensorRecord.decode(Reader(bytes(1024))), id=1, buffer=buffer)
    graph = encoded(gen.Graph((1,), (tensor,)))
    given = command(
        gen.Call.DEVICE_BUFFER_FROM_PTR,
        gen.DeviceBufferFromPtrRequest(3, 64, 64),
        encoded(gen.DeviceBufferFromPtrReply(IN_PLACE, 5)),
    )
    computed = command(gen.Call.BACKEND_GRAPH_COMPUTE, gen.BackendGraphComputeRequest(2, len(graph)), bytes(4), graph)
    first, last = Replay(cast("HostLibrary", Refusing()), {}).play((given, computed))
    assert first.differences == ()
    (difference,) = last.differences
    assert difference.startswith("return code 5, recorded 4")
    assert ("guest.data_path=copied" in difference) is told


@pytest.mark.parametrize(("size", "made"), [(0, False), (4096, True), (1 << 62, False)])
def test_blob_that_nobody_can_have_made_is_none(size: int, made: bool) -> None:
    library = Refusing()
    assert list(Replay(cast("HostLibrary", library), {}).play((Ioctl("RESOURCE_CREATE_BLOB", (5, size)),))) == []
    assert (5 in library.resources) is made


class Computing(Refusing):
    """A host library that says yes to all, and gives these numbers."""

    def __init__(self, *numbers: float) -> None:
        super().__init__()
        self.numbers = floats(*numbers)

    def dispatch(self, call: int, _payload: bytes, _reply: Resource) -> tuple[int, bytes]:
        if call == gen.Call.BUFFER_GET_TENSOR:
            self.resources[2].memory[: len(self.numbers)] = self.numbers
        return 0, bytes(4)


def floats(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


@pytest.mark.parametrize(
    ("numbers", "op", "told"),
    [
        ((1.0, 2.0), 29, ""), ((1.0, 2.001), 29, ""), ((1.0, 2.001), 2, "data_out differs from byte 4 on"),
        ((1.0, 2.2), 29, "data_out differs from byte 4 on, NMSE 0.008 > 0.0005"),
        ((1.0, math.nan), 29, "data_out differs from byte 6 on, NMSE nan > 0.0005"),
    ],
)  # fmt: skip
def test_numbers_may_differ_by_the_tolerance_of_what_computed_them(numbers: tuple[float, ...], op: int, told: str) -> None:
    tensor = dataclasses.replace(gen.TensorRecord.decode(Reader(bytes(1024))), id=1, buffer=ON_HOST, op=op)
    graph, request = encoded(gen.Graph((1,), (tensor,))), gen.BufferGetTensorRequest(ON_HOST, tensor, 2, 0, 8)
    computed = command(gen.Call.BACKEND_GRAPH_COMPUTE, gen.BackendGraphComputeRequest(2, len(graph)), bytes(4), graph)
    read = dataclasses.replace(command(gen.Call.BUFFER_GET_TENSOR, request, b""), data_bytes=8, data_out=floats(1.0, 2.0))
    _, answer = Replay(cast("HostLibrary", Computing(*numbers)), {29: 5e-4}).play((computed, read))
    assert "".join(answer.differences) == told


def test_another_status_of_a_graph_and_another_length_of_data_are_told() -> None:
    graph = encoded(gen.Graph((), ()))
    request, failed = gen.BackendGraphComputeRequest(2, len(graph)), encoded(gen.BackendGraphComputeReply(1))
    computed = command(gen.Call.BACKEND_GRAPH_COMPUTE, request, failed, graph)
    tensor = gen.TensorRecord.decode(Reader(bytes(1024)))
    read = command(gen.Call.BUFFER_GET_TENSOR, gen.BufferGetTensorRequest(ON_HOST, tensor, 2, 0, 8), b"")
    short = dataclasses.replace(read, data_bytes=8, data_out=floats(1.0))
    answers = Replay(cast("HostLibrary", Computing(1.0, 2.0)), {}).play((computed, short))
    assert [answer.differences for answer in answers] == [
        ("graph status 0, recorded 1",),
        ("data_out has 8 bytes, recorded 4",),
    ]


class Noting(Refusing):
    """A host library that answers with these replies, one after the other, and notes what it was sent."""

    def __init__(self, *replies: Any) -> None:
        super().__init__()
        self.replies = [encoded(reply) for reply in replies]
        self.sent: list[tuple[int, bytes]] = []

    def dispatch(self, call: int, payload: bytes, _reply: Resource) -> tuple[int, bytes]:
        self.sent.append((call, payload))
        return 0, self.replies.pop(0) if self.replies else b""


def allocated(buffer: int) -> Command:
    return command(
        gen.Call.BUFFER_TYPE_ALLOC_BUFFER, gen.BufferTypeAllocBufferRequest(3, 64), encoded(gen.BufferTypeAllocBufferReply(buffer))
    )


@pytest.mark.parametrize(
    ("recorded", "now", "told"),
    [
        (bytes(8), b"\0", ["the reply does not decode: 8 bytes are wanted and 1 left at byte 0"]),
        (b"\0\0", bytes(8), ["the recorded reply does not decode: 8 bytes are wanted and 2 left at byte 0"]),
        (b"\0\0", b"\0\0", []),
    ],
)
def test_reply_that_does_not_decode_is_another_answer_than_one_that_does(recorded: bytes, now: bytes, told: list[str]) -> None:
    library = Noting()
    library.replies = [now, encoded(gen.BufferTypeAllocBufferReply(7))]
    rows = (dataclasses.replace(allocated(7), reply=recorded), allocated(7))
    assert [list(answer.differences) for answer in Replay(cast("HostLibrary", library), {}).play(rows)] == [told, []]
