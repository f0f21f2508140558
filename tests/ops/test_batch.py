"""What an upload writes into a buffer, however its data are put together, and what a strided result is read as."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from lab.errors import LabError
from lab.ggml.arrays import decoded
from lab.ggml.library import Ggml
from lab.ggml.tensor import Shape, packed_bytes
from lab.ggml.types import Bytes, Type
from lab.ops.batch import UNWRITTEN, Batch, Buffers, Upload, read_in_pieces
from lab.ops.compare import difference, tolerance_of
from lab.ops.computing import Computing


@dataclass
class Ram:
    """A buffer that remembers how it was written."""

    size: int
    content: bytearray = field(default_factory=bytearray)
    writes: list[tuple[int, int]] = field(default_factory=list)
    reads: list[tuple[int, int]] = field(default_factory=list)
    address: int = 1

    def __post_init__(self) -> None:
        self.content = bytearray(self.size)

    def clear(self, value: int) -> None:
        self.content[:] = bytes((value,)) * self.size

    def write(self, data: Bytes, offset: int = 0) -> None:
        self.content[offset : offset + len(data)] = data
        self.writes.append((offset, len(data)))

    def read(self, offset: int = 0, size: int | None = None) -> Bytes:
        end = self.size if size is None else offset + size
        self.reads.append((offset, end - offset))
        return self.content[offset:end]

    def offset_of(self, tensor: int) -> int:
        return tensor


PARTS = ((0, 3), (8, 100), (128, 700), (1000, 5), (1024, 64), (1500, 2000), (3600, 17))


@pytest.mark.parametrize("transfer", [0, 1, 511, 1500, 4000])
@pytest.mark.parametrize("staged", [64, 256, 1024, 1 << 16])
def test_every_byte_is_written_once_and_gaps_hold_what_no_case_has(transfer: int, staged: int) -> None:
    home, expected = Ram(4000), bytearray(bytes((UNWRITTEN,)) * 4000)
    upload = Upload(home, bytearray(staged), transfer)
    for number, (offset, count) in enumerate(PARTS):
        data = bytes((number + 1,)) * count
        expected[offset : offset + count] = data
        upload.put(offset, memoryview(data))
    upload.end()
    assert home.content == expected
    ends = [0, *(start + count for start, count in home.writes)]
    assert [start for start, _ in home.writes] == ends[:-1]
    assert ends[-1] == 4000
    counts = {1: [1] * 20 + [3980], 511: [511] * 7 + [423], 1500: [1500, 1500, 1000], 4000: [4000]}
    assert [count for _, count in home.writes] == counts.get(transfer, [count for _, count in home.writes])
    assert read_in_pieces(home, transfer) == expected
    assert [count for _, count in home.reads] == counts.get(transfer, [4000])


@pytest.mark.parametrize("kind", [Type.F32, Type.F16, Type.BF16])
def test_a_part_that_was_never_written_is_not_taken_for_zeros(kind: Type) -> None:
    unwritten = decoded(kind, bytes((UNWRITTEN,)) * 8)[0]
    expected = np.array([1.0, 0.0, -1.0, 0.0])
    got = np.array([1.0, unwritten, -1.0, 0.0])
    assert not difference(got, expected, kind, tolerance_of("PAD", kind)).acceptable


def test_small_data_go_together_and_large_ones_as_they_are() -> None:
    home = Ram(1 << 20)
    upload = Upload(home, bytearray(1 << 16), 0)
    for number in range(100):
        upload.put(128 * number, b"x" * 100)
    upload.put(1 << 17, b"y" * (1 << 19))
    upload.end()
    assert (1 << 17, 1 << 19) in home.writes
    assert len(home.writes) < 16


def test_results_are_made_unlike_any_before_each_round() -> None:
    nodes, backend = Ram(64), SimpleNamespace(device=SimpleNamespace(ggml=None))
    batch = Batch(cast(Computing, backend), Buffers(Ram(8), Ram(8), nodes), (), 0, 0, 1, bytearray(64))
    for number in range(2):
        nodes.write(b"the results of a round before this one, of some batch or another")
        batch.fill(number)
        assert set(nodes.content) == {UNWRITTEN}


def test_data_that_come_in_another_order_are_refused() -> None:
    upload = Upload(Ram(64), bytearray(64), 0)
    upload.put(32, b"later")
    with pytest.raises(LabError, match="byte 8 of a buffer"):
        upload.put(8, b"earlier")


class Bytewise:
    """As much of ggml as tells that elements are single bytes."""

    def call(self, _name: str, _kind: int) -> int:
        return 1


def test_a_strided_tensor_is_read_element_by_element() -> None:
    memory, ggml = bytes(range(200)), cast(Ggml, Bytewise())
    whole = Shape(Type.I8, (4, 3, 2, 1), (1, 4, 12, 24))
    assert bytes(packed_bytes(ggml, whole, memory, 10)) == memory[10:34]
    rows = Shape(Type.I8, (4, 3, 2, 1), (1, 10, 50, 100))
    starts = [10 * row + 50 * plane for plane in range(2) for row in range(3)]
    assert bytes(packed_bytes(ggml, rows, memory, 0)) == b"".join(memory[start : start + 4] for start in starts)
    turned = Shape(Type.I8, (3, 4, 1, 1), (10, 1, 40, 40))
    assert bytes(packed_bytes(ggml, turned, memory, 5)) == bytes(5 + 10 * i + j for j in range(4) for i in range(3))
    with pytest.raises(LabError, match="ends at byte 204 of 200"):
        packed_bytes(ggml, rows, memory, 130)
