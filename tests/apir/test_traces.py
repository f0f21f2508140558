"""Recorded conversations of another implementation decode, and encode again to the same bytes (but for the stale ones)."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from lab.apir import protocol_gen as gen
from lab.apir.trace import ANSWER, Command, read_trace, shown
from lab.apir.wire import Reader, Writer
from lab.errors import ConfigError

pytestmark = pytest.mark.protocol

TRACES = sorted((Path(__file__).parents[1] / "data" / "traces").glob("*.jsonl"))
TENSOR_FIELD_BYTES = {17: [8], 18: [8], 19: [8, 312]}


def commands(path: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["kind"] == "command" and "call" in row]


def without_stale_tensor_bytes(data: bytes, starts: list[int]) -> bytes:
    out = bytearray(data)
    for start in starts:
        record = out[start : start + 304]
        name_end = record.index(0, 232)
        for first, last in ((12, 16), (name_end, 304)):
            out[start + first : start + last] = bytes(last - first)
    return bytes(out)


def graph_starts(data: bytes) -> list[int]:
    nodes = int.from_bytes(data[:4], "little")
    first = 4 + 8 * nodes + 4
    count = int.from_bytes(data[first - 4 : first], "little")
    return [first + 304 * index for index in range(count)]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_requests_encode_to_the_recorded_bytes(path: Path) -> None:
    seen = 0
    for row in commands(path):
        data = bytes.fromhex(row["command"])
        if not isinstance(row["call"], int):
            continue
        message = gen.REQUESTS[gen.Call(row["call"])].decode(Reader(data[12:]))
        writer = Writer()
        message.encode(writer)
        starts = TENSOR_FIELD_BYTES.get(row["call"], [])
        assert writer.data == (without_stale_tensor_bytes(data[12:], starts) if starts else data_without_stale(row, data[12:]))
        seen += 1
    assert seen >= 16


def data_without_stale(row: dict[str, Any], data: bytes) -> bytes:
    """Of the other calls only clear's byte and the ops' raw names have stale bytes."""
    if row["call"] == gen.Call.BUFFER_CLEAR:
        return data[:9] + bytes(3)
    if row["call"] == gen.Call.BUFFER_TYPE_GET_ALLOC_SIZE:
        return raw_tensors_without_stale(data)
    return data


def raw_tensors_without_stale(data: bytes) -> bytes:
    reader = Reader(data)
    message = gen.BufferTypeGetAllocSizeRequest.decode(reader)
    assert reader.remaining == 0
    out = bytearray(data)
    handle = 8 if message.op.handle is not None else 0
    for start in (8, *(8 + 336 * (index + 1) + handle for index in range(len(message.op.src)))):
        record = out[start : start + 336]
        name_end = record.index(0, 256)
        for first, last in ((4, 8), (name_end, 320), (328, 336)):
            out[start + first : start + last] = bytes(last - first)
    return bytes(out)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_replies_decode_whole(path: Path) -> None:
    for row in commands(path):
        if not isinstance(row["call"], int) or not row.get("reply"):
            continue
        reader = Reader(bytes.fromhex(row["reply"]))
        gen.REPLIES[gen.Call(row["call"])].decode(reader)
        assert reader.remaining == 0


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_graphs_encode_to_the_recorded_bytes(path: Path) -> None:
    seen = 0
    for row in commands(path):
        if row["call"] != gen.Call.BACKEND_GRAPH_COMPUTE:
            continue
        data = bytes.fromhex(row["data_in"])
        writer = Writer()
        gen.Graph.decode(Reader(data)).encode(writer)
        assert writer.data == without_stale_tensor_bytes(data, graph_starts(data))
        seen += 1
    assert seen > 0


def test_a_changed_byte_is_noticed() -> None:
    row = next(row for row in commands(TRACES[0]) if row["call"] == gen.Call.BUFFER_SET_TENSOR)
    data = bytearray.fromhex(row["command"])[12:]
    data[16] ^= 1
    writer = Writer()
    gen.BufferSetTensorRequest.decode(Reader(bytes(data))).encode(writer)
    assert writer.data != without_stale_tensor_bytes(bytes.fromhex(row["command"])[12:], [8])


REQUEST = gen.OnDeviceRequest(2, gen.Call.BUFFER_CLEAR)


def recorded(**more: object) -> str:
    writer = Writer()
    gen.CommandHeader(gen.CommandType.FORWARD, gen.Call.ON_DEVICE, 7).encode(writer)
    REQUEST.encode(writer)
    gen.BufferClearRequest(5, 1).encode(writer)
    return json.dumps({"kind": "command", "command": writer.data.hex(), "call": gen.Call.ON_DEVICE, **more})


def test_a_call_on_a_device_is_read_as_the_call_itself(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(recorded(return_code=4, reply="", start_ns=1, duration_ns=2500) + "\n")
    (command,) = read_trace(path)
    assert isinstance(command, Command)
    assert (command.call, command.device, command.name) == (gen.Call.BUFFER_CLEAR, 2, "buffer_clear")
    assert gen.BufferClearRequest.decode(Reader(command.payload)) == gen.BufferClearRequest(5, 1)
    assert shown(command).split() == ["buffer_clear", "code", "4", "on", "device", "2", "(buffer=5,", "value=1)", "2.5", "us"]


@pytest.mark.parametrize("value", ["4", [4], 4.5, -1, 1 << 64])
@pytest.mark.parametrize("key", ["return_code", "data_resource", "data_bytes", "start_ns", "duration_ns"])
def test_number_that_is_none_is_told_with_its_line(tmp_path: Path, key: str, value: object) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(recorded(return_code=4, reply="") + "\n" + recorded(**{key: value}) + "\n")
    with pytest.raises(ConfigError, match=f"line 2: not a row of a trace: {key} is no number"):
        read_trace(path)


def test_what_is_no_trace_is_not_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "trace.jsonl"
    os.mkfifo(pipe)

    def write() -> None:
        with contextlib.suppress(BrokenPipeError), open(pipe, "wb", buffering=0) as end:
            written.extend(end.write(bytes(1 << 16)) for _ in range(64))

    written: list[int] = []
    writing = threading.Thread(target=write)
    writing.start()
    with pytest.raises(ConfigError, match=r"is no trace: it begins with '\\x00'"):
        read_trace(pipe)
    writing.join()
    assert sum(written) < 1 << 20


def test_the_command_that_killed_the_worker_is_read_and_a_row_cut_in_the_middle_is_not(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    whole = recorded(return_code=4, reply="")
    begun = recorded().removesuffix("}")
    path.write_text(whole + "\n" + begun)
    first, last = read_trace(path)
    assert isinstance(first, Command)
    assert isinstance(last, Command)
    assert (first.return_code, last.return_code, last.call) == (4, None, gen.Call.BUFFER_CLEAR)
    for length in (1, 20, len(begun) - 3):
        path.write_text(whole + "\n" + begun[:length])
        assert len(read_trace(path)) == 1


def test_answer_that_is_cut_off_is_none(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    begun, answered = (
        json.dumps(json.loads(text), separators=(",", ":")).removesuffix("}")
        for text in (recorded(), recorded(return_code=4, reply="0a0b", data_out="0c0d"))
    )
    for length in (len(begun), *range(len(begun + ANSWER), len(answered) + 1)):
        path.write_text(answered[:length])
        (command,) = read_trace(path)
        assert isinstance(command, Command)
        assert (command.call, command.return_code, command.reply, command.data_out) == (gen.Call.BUFFER_CLEAR, None, b"", b"")
    path.write_text(answered + "}")
    assert [command.return_code for command in read_trace(path) if isinstance(command, Command)] == [4]


def sent(call: gen.Call, payload: bytes) -> str:
    writer = Writer()
    gen.CommandHeader(gen.CommandType.FORWARD, call, 7).encode(writer)
    return json.dumps({"kind": "command", "command": (writer.data + payload).hex(), "call": call, "return_code": 5, "reply": ""})


@pytest.mark.parametrize("call", [gen.Call.BUFFER_SET_TENSOR, gen.Call.GRAPH_KEEP, gen.Call.ON_DEVICE, gen.Call.BATCH])
def test_request_that_does_not_decode_is_shown_for_what_it_is(tmp_path: Path, call: gen.Call) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(sent(call, b"\xff\0") + "\n" + sent(gen.Call.DEVICE_GET_NAME, b"") + "\n")
    first, last = (shown(command) for command in read_trace(path) if isinstance(command, Command))
    assert first.startswith(call.name.lower())
    assert "(malformed: " in first
    assert last.startswith("device_get_name")


def together(device: int, *calls: gen.BufferClearRequest | gen.BufferSetTensorRequest, **more: object) -> str:
    writer = Writer()
    gen.BatchRequest(len(calls)).encode(writer)
    for call in calls:
        request = Writer()
        call.encode(request)
        number = gen.Call.BUFFER_CLEAR if isinstance(call, gen.BufferClearRequest) else gen.Call.BUFFER_SET_TENSOR
        gen.BatchedCall(device, number, len(request.data)).encode(writer)
        writer.raw(request.data)
    return json.dumps({**json.loads(sent(gen.Call.BATCH, writer.data)), **more}) + "\n"


CLEAR, SET = gen.BufferClearRequest(5, 1), gen.BufferSetTensorRequest(5, gen.TensorRecord(id=1), 3, 0, 2)


def test_a_batch_is_read_as_its_last_call_behind_those_before_it(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(together(0, SET, CLEAR, data_along=["abcd"]) + together(2, CLEAR, SET))
    first, last = (command for command in read_trace(path) if isinstance(command, Command))
    assert (first.name, first.device, [each.data for each in first.along]) == ("buffer_clear", None, [b"\xab\xcd"])
    assert "behind buffer_set_tensor [2 bytes] (buffer=5, value=1)" in shown(first)
    assert (last.name, last.device, last.along[0].data_resource) == ("buffer_set_tensor", 2, None)
    assert "behind buffer_clear on device 2 (buffer=5, " in shown(last)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (together(0, CLEAR, SET, data_along=["00"]), "data of buffer_clear, which names no data resource"),
        (together(0, SET, SET, data_along=[]), "zip"),
        (together(0, SET, SET, data_along=["00", "00"]), "zip"),
    ],
    ids=["whose", "too little", "too much"],
)
def test_data_along_that_belong_to_no_call_are_told_with_their_line(tmp_path: Path, row: str, why: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(recorded(return_code=4, reply="") + "\n" + row)
    with pytest.raises(ConfigError, match=f"line 2: not a row of a trace: {why}"):
        read_trace(path)


def test_call_along_that_does_not_decode_names_no_data_resource(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    writer = Writer()
    gen.BatchRequest(2).encode(writer)
    for payload in (b"\xff\0\0\0", b""):
        gen.BatchedCall(0, gen.Call.BUFFER_SET_TENSOR if payload else gen.Call.DEVICE_GET_NAME, len(payload)).encode(writer)
        writer.raw(payload)
    batch = sent(gen.Call.BATCH, writer.data)
    path.write_text(batch + "\n")
    (command,) = read_trace(path)
    assert isinstance(command, Command)
    assert (command.name, [each.data_resource for each in command.along]) == ("device_get_name", [None])
    path.write_text(batch.removesuffix("}") + ', "data_along": ["00"]}\n')
    with pytest.raises(ConfigError, match="line 1: not a row of a trace: data of buffer_set_tensor, which names no data resource"):
        read_trace(path)


def test_no_rows_are_a_trace_and_no_calls_are_no_batch(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("")
    assert read_trace(path) == ()
    path.write_text(together(0))
    (command,) = read_trace(path)
    assert isinstance(command, Command)
    assert (command.name, command.along) == ("batch", ())
