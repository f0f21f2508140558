"""Play a recorded conversation against a host library, in-process, and say where the answers differ.

Handles are other in every run: those that the recorded host gave are replaced by those that this one gives. Judged are return
codes, the status of graphs and the bytes that tensors give back; facts about the device, sizes, handles and bases are shown
and not judged, for they may differ without fault, and so is the return code of negotiate, which was the component's.
``python -m lab.apir.replay`` is what ``lab trace replay`` runs inside the host root; it needs the standard library only.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import json
import math
import struct
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from lab.apir.computed import COPIES, Computed, Records
from lab.apir.loopback import HostLibrary, guest_code, loaded_host_library
from lab.apir.protocol_gen import (
    REPLIES,
    REQUESTS,
    BatchedCall,
    BatchRequest,
    BufferGetTensorRequest,
    Call,
    DeviceBufferFromPtrReply,
    Graph,
    GraphChanges,
    GraphKeepRequest,
    GraphPatchRequest,
    OnDeviceRequest,
    OpRecord,
    Reply,
    ReturnCode,
    TensorRecord,
    WideGetTensorRequest,
    WideGraph,
    WideGraphChanges,
    WideTensorRecord,
)
from lab.apir.trace import Batched, Command, Ioctl, Row, read_trace
from lab.apir.wire import Reader, Writer
from lab.errors import LabError, WireError
from lab.figure import beside
from lab.ggml.generation import loaded

TYPE_F32 = 0
# ggml's tolerances (normalised mean square error) for ops whose rounding depends on the CPU variant.
TOLERANCE = {"MUL_MAT": 5e-4, "SOFT_MAX": 1e-6, "SUM_ROWS": 1e-6}
DEFAULT_RESOURCE_BYTES = 1 << 20
MOST_RESOURCE_BYTES = 1 << 36
"""Data or a blob of more than this is somebody's word alone: there was no such resource, and the answer says so."""
# The ops of TOLERANCE are old and stand early; a number beyond GGML_OP_COUNT (101 in 0.27) must not be asked for.
KNOWN_OPS = 64
UNRECORDED = "; what the guest wrote into that memory itself is in no recording: one with guest.data_path=copied has it"
"""Why a graph that reads rows by their numbers may be refused: these are whatever earlier graphs have left there."""
GRAPHS: dict[int, type[Records]] = {Call.BACKEND_GRAPH_COMPUTE: Graph, Call.WIDE_GRAPH_COMPUTE: WideGraph}
HANDLES = frozenset({"buffer", "buft", "graph"})
GETS: dict[int, type[BufferGetTensorRequest | WideGetTensorRequest]] = {
    Call.BUFFER_GET_TENSOR: BufferGetTensorRequest,
    Call.WIDE_GET_TENSOR: WideGetTensorRequest,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One command played: what is wrong with the answer (empty: nothing), what merely differs, and how long it took."""

    index: int
    name: str
    differences: tuple[str, ...]
    remarks: tuple[str, ...]
    duration_ns: int


class Replay:
    """A conversation being played."""

    def __init__(self, library: HostLibrary, tolerance_of: dict[int, float]) -> None:
        self._library = library
        self._tolerance_of = tolerance_of
        self._handles: dict[int, int] = {}
        self._computed = Computed()
        self._sent: Records | None = None
        self._wide_graphs: set[int] = set()
        self._in_place: set[int] = set()
        self._unrecorded = False

    def play(self, rows: tuple[Row, ...]) -> Iterator[Answer]:
        """Play all Forward calls in order; what a call needs of the set-up is made before it."""
        for index, row in enumerate(rows):
            if isinstance(row, Ioctl):
                if row.blob is not None and 0 < row.blob[1] <= MOST_RESOURCE_BYTES:
                    self._library.new_resource(row.blob[1], row.blob[0])
            elif is_played(row):
                yield self._answer(index, row)

    def _answer(self, index: int, command: Command) -> Answer:
        self._make_resources(command)
        self._unrecorded = False
        reply = self._library.resources[command.header.reply_resource]
        payload = self._translated_payload(command)
        done = command.return_code == ReturnCode.OK
        for each in command.along:
            self._put(each.call, each.payload, each.data, each.data_resource)
            self._computed.follow(each.call, each.payload, self._sent, carried_out=done)
        self._put(command.call, command.payload, command.data_in, command.data_resource)
        done = done and (command.call not in COPIES or any(command.reply))  # else it says that it did not copy
        self._computed.follow(cast("int", command.call), command.payload, self._sent, carried_out=done)
        start = time.perf_counter_ns()
        number = cast("int", command.call) if command.device is None else Call.ON_DEVICE
        number = Call.BATCH if command.along else number
        code, answer = self._library.dispatch(number, payload, reply)
        duration_ns = time.perf_counter_ns() - start
        differences: list[str] = []
        remarks: list[str] = []
        if guest_code(code) != command.return_code:
            told = f"return code {guest_code(code)}, recorded {command.return_code}{UNRECORDED * self._unrecorded}"
            # The component negotiates itself, too: it says yes where a host library without extensions refuses.
            (remarks if number == Call.NEGOTIATE else differences).append(told)
        else:
            differences += self._reply_differences(command, answer, remarks)
            differences += self._data_differences(command)
        return Answer(index, command.name, tuple(differences), tuple(remarks), duration_ns)

    def _put(self, call: int | None, payload: bytes, data: bytes, resource: int | None) -> None:
        """What a call sends in a data resource, to where the host finds it."""
        self._sent = None
        if not data or resource is None:
            return
        kind = self._records_of(call, payload)
        data = data if kind is None else self._translated_graph(data, kind)
        if resource not in self._library.resources:
            self._library.new_resource(max(len(data), DEFAULT_RESOURCE_BYTES), resource)
        self._library.resources[resource].memory[: len(data)] = data

    def _records_of(self, call: int | None, payload: bytes) -> type[Records] | None:
        """What kind of records lies in a call's data; None: plain bytes."""
        if call == Call.GRAPH_KEEP:
            return WideGraph if GraphKeepRequest.decode(Reader(payload)).wide else Graph
        if call == Call.GRAPH_PATCH:
            wide = GraphPatchRequest.decode(Reader(payload)).graph in self._wide_graphs
            return WideGraphChanges if wide else GraphChanges
        return None if call is None else GRAPHS.get(call)

    def _make_resources(self, command: Command) -> None:
        for number, size in ((command.header.reply_resource, 0), (command.data_resource, command.data_bytes)):
            if number is not None and number not in self._library.resources and size <= MOST_RESOURCE_BYTES:
                self._library.new_resource(max(size, DEFAULT_RESOURCE_BYTES), number)

    def _handle(self, recorded: int) -> int:
        return self._handles.get(recorded, recorded)

    def _translated_payload(self, command: Command) -> bytes:
        writer = Writer()
        call = cast("int", command.call)
        if command.along:
            BatchRequest(len(command.along) + 1).encode(writer)
            for each in (*command.along, Batched(command.device or 0, call, command.payload)):
                payload = self._translated_request(each.call, each.payload)
                BatchedCall(each.device, each.call, len(payload)).encode(writer)
                writer.raw(payload)
            return writer.data
        if command.device is not None:
            OnDeviceRequest(command.device, call).encode(writer)
        writer.raw(self._translated_request(call, command.payload))
        return writer.data

    def _translated_request(self, call: int, payload: bytes) -> bytes:
        """A request's bytes for this host; what follows the request, as data in the command does, stays as it is.

        One that does not decode is played as the guest sent it: the answer to that is what it was recorded for.
        """
        if call not in REQUESTS:
            return payload
        reader, writer = Reader(payload), Writer()
        try:
            message = REQUESTS[Call(call)].decode(reader)
        except WireError:
            return payload
        self._translated(message).encode(writer)
        return writer.data + payload[reader.offset :]

    def _translated(self, message: Any) -> Any:
        """A message with this host's handles in the place of the recorded one's."""
        changes: dict[str, object] = {}
        for name in message.__dataclass_fields__:
            value = getattr(message, name)
            if name in HANDLES | {"handle"} and isinstance(value, int):
                changes[name] = self._handle(value)
            elif isinstance(value, TensorRecord | WideTensorRecord | OpRecord):
                changes[name] = self._translated(value)
            elif name == "dropped":
                changes[name] = tuple(self._handle(number) for number in value)
        return dataclasses.replace(message, **changes)

    def _translated_graph(self, data: bytes, kind: type[Records]) -> bytes:
        try:
            graph: Any = kind.decode(Reader(data))
        except WireError:
            return data
        self._sent = graph
        self._unrecorded = any(tensor.buffer in self._in_place for tensor in graph.tensors)
        writer = Writer()
        dataclasses.replace(graph, tensors=tuple(self._translated(tensor) for tensor in graph.tensors)).encode(writer)
        return writer.data

    def _reply_differences(self, command: Command, answer: bytes, remarks: list[str]) -> Iterator[str]:
        if command.call not in REPLIES or command.return_code != ReturnCode.OK:
            return
        kind = REPLIES[Call(command.call)]
        try:
            recorded = kind.decode(Reader(command.reply))
        except WireError as error:
            if answer != command.reply:
                yield f"the recorded reply does not decode: {error}"
            return
        try:
            new = kind.decode(Reader(answer))
        except WireError as error:
            yield f"the reply does not decode: {error}"
            return
        yield from self._field_differences(command, recorded, new, remarks)

    def _field_differences(self, command: Command, recorded: Reply, new: Reply, remarks: list[str]) -> Iterator[str]:
        if isinstance(recorded, DeviceBufferFromPtrReply):
            self._in_place.add(recorded.buffer)
        for name in recorded.__dataclass_fields__:
            before, now = getattr(recorded, name), getattr(new, name)
            if name in HANDLES:
                self._handles[before] = now
                if name == "graph" and self._sent is not None:
                    self._computed.keep(before, self._sent)
                if name == "graph" and self._records_of(command.call, command.payload) is WideGraph:
                    self._wide_graphs.add(before)
                if (before == 0) != (now == 0):
                    yield f"{name} {now}, recorded {before}"
            elif before != now and name == "status":
                yield f"graph status {now}, recorded {before}"
            elif before != now:
                remarks.append(f"{name} {now}, recorded {before}")

    def _data_differences(self, command: Command) -> Iterator[str]:
        kind = GETS.get(cast("int", command.call))
        if kind is None or command.data_resource is None or command.return_code != ReturnCode.OK:
            return
        got = bytes(self._library.resources[command.data_resource].memory[: command.data_bytes])
        if got == command.data_out:
            return
        if len(got) != len(command.data_out):
            yield f"data_out has {len(got)} bytes, recorded {len(command.data_out)}"
            return
        tolerance = self._tolerance(kind.decode(Reader(command.payload)), got, command.data_out)
        error = nmse(got, command.data_out) if tolerance else math.inf
        if not error <= tolerance:
            first = next(at for at, (a, b) in enumerate(zip(got, command.data_out, strict=True)) if a != b)
            told = f", NMSE {beside(error, tolerance, '{:.3g}'.format)} > {tolerance:.3g}" if tolerance else ""
            yield f"data_out differs from byte {first} on{told}"

    def _tolerance(self, request: BufferGetTensorRequest | WideGetTensorRequest, got: bytes, recorded: bytes) -> float:
        """Of what a tensor gave back: none where bytes differ that were not computed, but written."""
        made = self._computed.of(request.tensor)
        if made is None or request.tensor.type != TYPE_F32:
            return 0.0
        for begin, end in made.written:
            first, behind = max(begin - request.offset, 0), max(end - request.offset, 0)
            if got[first:behind] != recorded[first:behind]:
                return 0.0
        return self._tolerance_of.get(made.by.op, 0.0)


def is_played(row: Row) -> bool:
    """Whether a row is played: a Forward call that was answered."""
    return isinstance(row, Command) and row.call is not None and row.return_code is not None


def nmse(got: bytes, wanted: bytes) -> float:
    """Normalised mean square error of two arrays of f32."""
    count = len(wanted) // 4
    ours, theirs = struct.unpack(f"<{count}f", got[: 4 * count]), struct.unpack(f"<{count}f", wanted[: 4 * count])
    scale = sum(value * value for value in theirs)
    error = sum((a - b) ** 2 for a, b in zip(ours, theirs, strict=True))
    return error / scale if scale else (0.0 if error == 0 else math.inf)


def tolerances() -> dict[int, float]:
    """``TOLERANCE`` by the op numbers of the ggml that is loaded here."""
    base = loaded("libggml-base")
    base.ggml_op_name.restype = ctypes.c_char_p
    numbered = {}
    for number in range(KNOWN_OPS):
        name = base.ggml_op_name(number).decode()
        if name in TOLERANCE:
            numbered[number] = TOLERANCE[name]
    return numbered


def main() -> int:
    """Entry point: a line of JSON per command, then the sum; 1 when an answer differs, 2 when nothing could be played."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--host-library", type=Path, required=True)
    parser.add_argument("--ggml-library", required=True)
    parser.add_argument("--registration", default="ggml_backend_init")
    parser.add_argument("--threads", default="1")
    options = parser.parse_args()
    config = {
        "ggml.library.path": options.ggml_library,
        "ggml.library.reg": options.registration,
        "ggml.threads": options.threads,
    }
    try:
        rows = read_trace(options.trace)
        with loaded_host_library(options.host_library, config) as library:
            answers = []
            for answer in Replay(library, tolerances()).play(rows):
                print(json.dumps(dataclasses.asdict(answer)), flush=True)  # noqa: T201 - a program's output
                answers.append(answer)
    except LabError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a program's message
        return 2
    wrong = sum(bool(answer.differences) for answer in answers)
    print(json.dumps({"played": len(answers), "different": wrong}))  # noqa: T201 - a program's output
    return 2 if not answers else int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
