"""The Python codec: round trips, truncation at every byte, and refusal of lengths that cannot be."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend_impl.protocol.emit_cpp import camel
from lab.apir import protocol_gen as gen
from lab.apir.wire import MAX_STRING, Reader, Writer
from lab.errors import WireError
from lab.paths import PROJECT

pytestmark = pytest.mark.protocol

u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)
i32 = st.integers(-(2**31), 2**31 - 1)
names = st.binary(max_size=63).filter(lambda raw: 0 not in raw)


@st.composite
def tensor_records(draw: st.DrawFn) -> gen.TensorRecord:
    four = st.tuples(u32, u32, u32, u32)
    return gen.TensorRecord(
        id=draw(u64), type=draw(u32), buffer=draw(u64), ne=draw(four), nb=draw(four), op=draw(u32),
        op_params=draw(st.tuples(*[i32] * 16)), flags=draw(i32), src=draw(st.tuples(*[u64] * 10)),
        view_src=draw(u64), view_offs=draw(u64), data=draw(u64), name=draw(names),
    )  # fmt: skip


def encoded(message: gen.Graph | gen.BufferSetTensorRequest | gen.DeviceGetPropsReply | gen.OpRecord) -> bytes:
    writer = Writer()
    message.encode(writer)
    return writer.data


@given(st.lists(u64, max_size=3), st.lists(tensor_records(), max_size=3))
def test_graph_round_trip(nodes: list[int], tensors: list[gen.TensorRecord]) -> None:
    graph = gen.Graph(tuple(nodes), tuple(tensors))
    reader = Reader(encoded(graph))
    assert gen.Graph.decode(reader) == graph
    assert reader.remaining == 0


@given(u64, tensor_records(), u32, u64, u64)
def test_set_tensor_round_trip(buffer: int, tensor: gen.TensorRecord, resource: int, offset: int, size: int) -> None:
    request = gen.BufferSetTensorRequest(buffer, tensor, resource, offset, size)
    assert gen.BufferSetTensorRequest.decode(Reader(encoded(request))) == request


def test_graph_truncated_at_every_byte_is_refused() -> None:
    data = encoded(gen.Graph((1, 2), (gen.TensorRecord(id=1), gen.TensorRecord(id=2))))
    for size in range(len(data)):
        with pytest.raises(WireError):
            gen.Graph.decode(Reader(data[:size]))


def test_count_beyond_the_message_is_refused_before_anything_is_made() -> None:
    with pytest.raises(WireError, match="4294967295 items"):
        gen.Graph.decode(Reader(b"\xff\xff\xff\xff" + bytes(64)))


@pytest.mark.parametrize(
    "data",
    [
        (0).to_bytes(8, "little"),
        (5).to_bytes(8, "little") + b"abcde\0\0\0",
        (2**64 - 1).to_bytes(8, "little") + b"abc\0",
        (4).to_bytes(8, "little") + b"ab",
    ],
    ids=["empty", "no NUL", "endless", "short"],
)
def test_bad_string_is_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        Reader(data).string()


def test_a_string_ends_at_its_nul_and_has_the_length_that_the_schema_allows() -> None:
    assert Reader((8).to_bytes(8, "little") + b"name\0ol\0").string() == "name"
    longest = MAX_STRING
    assert Reader((longest + 1).to_bytes(8, "little") + b"n" * longest + b"\0").string() == "n" * longest
    with pytest.raises(WireError, match=f"a string of {longest + 2} bytes"):
        Reader((longest + 2).to_bytes(8, "little") + b"n" * longest + bytes(5)).string()


def test_any_byte_but_zero_is_a_yes_whatever_is_behind_it() -> None:
    assert [Reader(data).boolean() for data in (b"\2\0\0\0", b"\x80xyz", b"\0xyz")] == [True, True, False]


def test_list_that_cannot_be_there_is_refused_by_the_size_of_its_items() -> None:
    assert Reader(b"\2\0\0\0" + bytes(16)).count(8) == 2
    with pytest.raises(WireError, match="3 items of 8 bytes in 16 bytes"):
        Reader(b"\3\0\0\0" + bytes(16)).count(8)


def test_a_missing_optional_item_reads_false() -> None:
    old = bytes([1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0])
    assert gen.DeviceGetPropsReply.decode(Reader(old)) == gen.DeviceGetPropsReply(True, False, True, False, False)


def test_op_with_view_and_sources_round_trip() -> None:
    tensor = gen.RawTensor(buffer=9, view_src=7, src=(5, 6, 0, 8, *(0,) * 6))
    op = gen.OpRecord(tensor, 3, gen.RawTensor(type=1), (gen.RawTensor(type=2), gen.RawTensor(type=3)))
    data = encoded(op)
    assert len(data) == 336 * 4 + 8
    assert gen.OpRecord.decode(Reader(data)) == op


GOLDEN = json.loads((PROJECT / "backend_impl" / "protocol" / "golden_gen.json").read_text(encoding="utf-8"))


def message_class(name: str) -> type[gen.Graph]:
    # Any message has the same two methods; Graph stands for all of them.
    found: type[gen.Graph] = getattr(gen, camel(name))
    return found


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_bytes_decode_and_encode_again(name: str) -> None:
    data = bytes.fromhex(GOLDEN[name])
    reader = Reader(data)
    message = message_class(name).decode(reader)
    assert reader.remaining == 0
    assert encoded(message) == data


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_bytes_cut_anywhere_are_refused(name: str) -> None:
    data = bytes.fromhex(GOLDEN[name])
    optional = {16} if name == "device_get_props_reply" else set()
    for size in set(range(len(data))) - optional:
        with pytest.raises(WireError):
            message_class(name).decode(Reader(data[:size]))
