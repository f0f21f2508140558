"""What a replay makes of a host that answers otherwise, without a host library."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import math
import mmap
import struct
from pathlib import Path
from typing import Any, cast

import pytest

from lab.apir import protocol_gen as gen
from lab.apir.loopback import HostLibrary, Resource, loaded_host_library
from lab.apir.replay import Replay, nmse
from lab.apir.trace import Batched, Command, Ioctl
from lab.apir.wire import Reader, Writer
from lab.errors import RemoteFailed

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
    cleared = command(gen.Call.BUFFER_CLEAR, gen.BufferClearRequest(buffer, 1), b"")
    first, *others = Replay(cast("HostLibrary", Refusing()), {}).play((given, computed, cleared))
    assert first.differences == ()
    differences = [difference for answer in others for difference in answer.differences]
    assert [difference.startswith("return code 5, recorded 4") for difference in differences] == [True, True]
    assert ["guest.data_path=copied" in difference for difference in differences] == [told, False]


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
        return 0, bytes(16)


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
    source = dataclasses.replace(tensor, id=2, op=0)  # computed in place: it is no node
    graph, request = encoded(gen.Graph((1,), (tensor, source))), gen.BufferGetTensorRequest(ON_HOST, tensor, 2, 0, 8)
    computed = command(gen.Call.BACKEND_GRAPH_COMPUTE, gen.BackendGraphComputeRequest(2, len(graph)), bytes(4), graph)
    read = dataclasses.replace(command(gen.Call.BUFFER_GET_TENSOR, request, b""), data_bytes=8, data_out=floats(1.0, 2.0))
    _, answer = Replay(cast("HostLibrary", Computing(*numbers)), {29: 5e-4}).play((computed, read))
    assert "".join(answer.differences) == told
    assert (nmse(floats(0.0), floats(0.0)), nmse(floats(1e-9), floats(0.0))) == (0.0, math.inf)


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


def test_tolerance_is_of_numbers_alone() -> None:
    tensor = dataclasses.replace(gen.TensorRecord.decode(Reader(bytes(1024))), id=1, buffer=ON_HOST, op=29, type=26)
    graph, request = encoded(gen.Graph((1,), (tensor,))), gen.BufferGetTensorRequest(ON_HOST, tensor, 2, 0, 8)
    computed = command(gen.Call.BACKEND_GRAPH_COMPUTE, gen.BackendGraphComputeRequest(2, len(graph)), bytes(4), graph)
    read = dataclasses.replace(command(gen.Call.BUFFER_GET_TENSOR, request, b""), data_bytes=8, data_out=floats(1.0, 2.0))
    _, answer = Replay(cast("HostLibrary", Computing(1.0, 2.001)), {29: 5e-4}).play((computed, read))
    assert answer.differences == ("data_out differs from byte 4 on",)


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


@pytest.mark.parametrize(("recorded", "now", "told"), [(7, 0, True), (0, 7, True), (7, 8, False), (0, 0, False)])
def test_buffer_that_one_host_alone_gives_is_another_answer(recorded: int, now: int, told: bool) -> None:
    library = Noting(gen.BufferTypeAllocBufferReply(now))
    (answer,) = Replay(cast("HostLibrary", library), {}).play((allocated(recorded),))
    assert answer.differences == ((f"buffer {now}, recorded {recorded}",) if told else ())


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


@pytest.mark.parametrize(
    ("call", "device", "judged"),
    [(gen.Call.NEGOTIATE, None, False), (gen.Call.NEGOTIATE, 0, True), (gen.Call.DEVICE_GET_DEVICE_COUNT, None, True)],
)
def test_refusal_to_negotiate_is_told_and_not_judged(call: gen.Call, device: int | None, judged: bool) -> None:
    request = gen.NegotiateRequest(1, 1, 0) if call == gen.Call.NEGOTIATE else gen.DeviceGetDeviceCountRequest()
    row = dataclasses.replace(command(call, request, encoded(gen.NegotiateReply(1))), device=device)
    (answer,) = Replay(cast("HostLibrary", Refusing()), {}).play((row,))
    told = ("return code 5, recorded 4",)
    assert (answer.differences, answer.remarks) == ((told, ()) if judged else ((), told))


class Symbols:
    """What ``ctypes`` gives of a host library: its initialisation ends with this code, its replies that far behind their page."""

    def __init__(self, code: int, end: int | None) -> None:
        self.left = 0

        def dispatcher(*words: Any) -> int:
            words[-1]._obj.value = None if end is None else words[5] - 4 + end
            return 0

        def deinit(_context: int) -> None:
            self.left += 1

        self.apir_backend_initialize = lambda *_: code
        self.apir_backend_dispatcher = dispatcher
        self.apir_backend_deinit = deinit


@pytest.mark.parametrize(("end", "fits"), [(3, False), (4, True), (64, True), (65, False), (None, False)])
def test_host_library_that_says_its_reply_ends_beyond_the_page_is_told(
    monkeypatch: pytest.MonkeyPatch, end: int | None, fits: bool
) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda _path: Symbols(gen.InitCode.SUCCESS, end))
    with loaded_host_library(Path("/x.so"), {}) as library:
        page = library.new_resource(64)
        if fits:
            assert library.dispatch(3, b"", page) == (0, bytes((end or 4) - 4))
            return
        with pytest.raises(RemoteFailed, match=r"its reply ends -?[0-9]+ bytes behind the start of a page of 64"):
            library.dispatch(3, b"", page)


@pytest.mark.parametrize("code", [gen.InitCode.SUCCESS, gen.InitCode.SUCCESS - 1])
def test_host_library_is_left_whether_it_could_be_initialised_or_not(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    symbols = Symbols(code, None)
    monkeypatch.setattr("ctypes.CDLL", lambda _path: symbols)
    refused = contextlib.nullcontext() if code == gen.InitCode.SUCCESS else pytest.raises(RemoteFailed, match="initialize")
    with refused, loaded_host_library(Path("/x.so"), {}):
        assert symbols.left == 0
    assert symbols.left == 1


def test_host_library_is_told_the_size_that_a_resource_has_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctypes.CDLL", lambda _path: Symbols(gen.InitCode.SUCCESS, None))
    with loaded_host_library(Path("/x.so"), {"key": "value"}) as library:
        told = [library._callbacks.get_config(1, key) for key in (b"key", b"apir.resource.size.1", b"other")]
        assert [value and ctypes.string_at(value) for value in told] == [b"value", None, None]
        for size in (64, 128):
            library.new_resource(size, 1)
            assert ctypes.string_at(library._callbacks.get_config(1, b"apir.resource.size.1")) == str(size).encode()
        assert library.new_resource(64).number == 2
        address = library._callbacks.get_shmem_ptr(1, 2)
        library.resources[2].memory[:4] = b"here"
        assert (ctypes.string_at(address), library._callbacks.get_shmem_ptr(1, 3)) == (b"here", None)


def test_calls_name_the_handles_of_this_host_in_batches_and_on_devices_too() -> None:
    tensor = gen.TensorRecord(id=1, buffer=7)
    first, last = (gen.BufferSetTensorRequest(7, tensor, resource, 0, 8) for resource in (4, 2))
    clear, asked = gen.BufferClearRequest(7, 1), gen.DeviceSupportsOpRequest(gen.OpRecord(gen.RawTensor(buffer=7), 7))
    along = (Batched(0, gen.Call.BUFFER_SET_TENSOR, encoded(first), b"together"),)
    rows = (
        allocated(7),
        dataclasses.replace(command(gen.Call.BUFFER_SET_TENSOR, last, b"", b"the last"), along=along, device=2),
        dataclasses.replace(command(gen.Call.BUFFER_CLEAR, clear, b""), device=3),
        command(gen.Call.DEVICE_SUPPORTS_OP, asked, encoded(gen.DeviceSupportsOpReply(True))),
    )
    library = Noting(gen.BufferTypeAllocBufferReply(70), gen.BackendGraphComputeReply(0))
    assert len(list(Replay(cast("HostLibrary", library), {}).play(rows[:3]))) == 3
    ours = dataclasses.replace(tensor, buffer=70)
    sets = [encoded(dataclasses.replace(one, buffer=70, tensor=ours)) for one in (first, last)]
    heads = [encoded(gen.BatchedCall(device, gen.Call.BUFFER_SET_TENSOR, len(sets[0]))) for device in (0, 2)]
    batch = encoded(gen.BatchRequest(2)) + heads[0] + sets[0] + heads[1] + sets[1]
    on_device = encoded(gen.OnDeviceRequest(3, gen.Call.BUFFER_CLEAR)) + encoded(gen.BufferClearRequest(70, 1))
    assert library.sent[1:] == [(gen.Call.BATCH, batch), (gen.Call.ON_DEVICE, on_device)]
    assert [library.resources[number].memory[:8] for number in (4, 2)] == [b"together", b"the last"]
    library = Noting(gen.BufferTypeAllocBufferReply(70), gen.DeviceSupportsOpReply(True))
    list(Replay(cast("HostLibrary", library), {}).play((rows[0], rows[3])))
    # what a guest calls a buffer in a tensor of its own is nothing of the host's
    assert library.sent[1] == (rows[3].call, encoded(gen.DeviceSupportsOpRequest(dataclasses.replace(asked.op, handle=70))))


@pytest.mark.parametrize("wide", [False, True])
def test_graphs_are_kept_changed_and_dropped_by_the_numbers_of_this_host(wide: bool) -> None:
    tensor: Any = (gen.WideTensorRecord if wide else gen.TensorRecord)(id=1, buffer=7, ne=(2, 3, 4, 5), data=64, name=b"t")
    kinds: tuple[Any, Any] = (gen.WideGraph, gen.WideGraphChanges) if wide else (gen.Graph, gen.GraphChanges)
    graph, changes = (kind((number,), (tensor,)) for kind, number in zip(kinds, (1, 0), strict=True))
    kept = gen.GraphKeepReply(0, 9)
    rows = (
        allocated(7),
        command(gen.Call.GRAPH_KEEP, gen.GraphKeepRequest(2, 1, wide, ()), encoded(kept), encoded(graph)),
        command(gen.Call.GRAPH_PATCH, gen.GraphPatchRequest(9, 2, 1), encoded(gen.GraphPatchReply(True, 0)), encoded(changes)),
        command(gen.Call.GRAPH_KEEP, gen.GraphKeepRequest(2, 1, wide, (9,)), encoded(kept), encoded(graph)),
    )
    ours = gen.GraphKeepReply(0, 90)
    library = Noting(gen.BufferTypeAllocBufferReply(70), ours, gen.GraphPatchReply(True, 0), ours)
    translated = [dataclasses.replace(one, tensors=(dataclasses.replace(tensor, buffer=70),)) for one in (graph, changes)]
    answers = Replay(cast("HostLibrary", library), {}).play(rows)
    assert next(answers).differences == ()
    for data, answer in zip((*map(encoded, translated), encoded(translated[0])), answers, strict=True):
        assert answer.differences == ()
        assert library.resources[2].memory[: len(data)] == data
    assert library.sent[2] == (gen.Call.GRAPH_PATCH, encoded(gen.GraphPatchRequest(90, 2, 1)))
    assert library.sent[3] == (gen.Call.GRAPH_KEEP, encoded(gen.GraphKeepRequest(2, 1, wide, (90,))))
