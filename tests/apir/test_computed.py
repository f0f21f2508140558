"""Which bytes of a recorded conversation a replay may give back with another rounding: those that were computed last."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import pytest

from lab.apir import protocol_gen as gen
from lab.apir.loopback import HostLibrary
from lab.apir.replay import Replay
from lab.apir.trace import Batched, Command
from tests.apir.test_replay import Computing, command, encoded, floats

pytestmark = pytest.mark.protocol

BUFFER, OTHER_BUFFER, KEPT, ROUNDED = 8, 9, 3, 29
RESULT = gen.TensorRecord(id=1, buffer=BUFFER, op=ROUNDED, data=64)
ELSEWHERE = dataclasses.replace(RESULT, id=2, data=128, op=0)
GRAPH = encoded(gen.Graph((1,), (RESULT, ELSEWHERE)))
DIFFERS = "data_out differs from byte 4 on"


def called(call: gen.Call, request: Any, reply: bytes = b"", **more: Any) -> Command:
    return dataclasses.replace(command(call, request, reply), **more)


def set_tensor(offset: int, size: int, **more: Any) -> Command:
    return called(gen.Call.BUFFER_SET_TENSOR, gen.BufferSetTensorRequest(BUFFER, RESULT, 2, offset, size), **more)


def copied(source: gen.TensorRecord, destination: gen.TensorRecord, *, done: bool = True) -> Command:
    request = gen.BufferCpyTensorRequest(BUFFER, source, destination)
    return called(gen.Call.BUFFER_CPY_TENSOR, request, encoded(gen.BufferCpyTensorReply(done)))


def patched(tensor: gen.TensorRecord, position: int) -> Command:
    changes = encoded(gen.GraphChanges((position,), (tensor,)))
    request = gen.GraphPatchRequest(KEPT, 2, len(changes))
    return command(gen.Call.GRAPH_PATCH, request, encoded(gen.GraphPatchReply(True, 0)), changes)


def read_back(*between: Command, tensor: gen.TensorRecord = RESULT, offset: int = 0) -> str:
    """What is told of a tensor whose second number comes back other by its rounding, with these calls since it was computed."""
    kept = command(gen.Call.GRAPH_KEEP, gen.GraphKeepRequest(2, len(GRAPH), False, ()), encoded(gen.GraphKeepReply(0, KEPT)), GRAPH)
    request = gen.BufferGetTensorRequest(BUFFER, tensor, 2, offset, 8)
    get = called(gen.Call.BUFFER_GET_TENSOR, request, data_bytes=8, data_out=floats(1.0, 2.0))
    *_, answer = Replay(cast("HostLibrary", Computing(1.0, 2.001)), {ROUNDED: 5e-4}).play((kept, *between, get))
    return "".join(answer.differences)


CLEAR = called(gen.Call.BUFFER_CLEAR, gen.BufferClearRequest(BUFFER, 0))
FREE = called(gen.Call.BUFFER_FREE_BUFFER, gen.BufferFreeBufferRequest(BUFFER))
INLINE = called(gen.Call.SET_TENSOR_INLINE, gen.SetTensorInlineRequest(BUFFER, RESULT, 0, 8))
WIDE = gen.WideTensorRecord(id=1, buffer=BUFFER, data=RESULT.data)
RUN = called(gen.Call.GRAPH_RUN, gen.GraphRunRequest(KEPT), encoded(gen.GraphRunReply(True, 0)))
SET = set_tensor(0, 8)
BATCH = dataclasses.replace(
    called(gen.Call.BUFFER_GET_BASE, gen.BufferGetBaseRequest(BUFFER)),
    along=(Batched(0, gen.Call.BUFFER_SET_TENSOR, SET.payload),),
)


@pytest.mark.parametrize(
    "between",
    [
        (SET,), (set_tensor(4, 4),), (INLINE,), (CLEAR,), (FREE,), (BATCH,), (copied(ELSEWHERE, RESULT),), (RUN, SET),
        (called(gen.Call.WIDE_SET_TENSOR, gen.WideSetTensorRequest(BUFFER, WIDE, 2, 0, 8)),),
        (called(gen.Call.WIDE_CPY_TENSOR, gen.WideCpyTensorRequest(BUFFER, dataclasses.replace(WIDE, data=1), WIDE), b"\1\0\0\0"),),
    ],
    ids=["set", "set in part", "inline", "clear", "free", "along", "copy", "set again", "wide set", "wide copy"],
)  # fmt: skip
def test_what_was_written_since_has_no_tolerance(between: tuple[Command, ...]) -> None:
    assert read_back(*between) == DIFFERS


@pytest.mark.parametrize(
    "between",
    [
        (), (set_tensor(0, 4),), (set_tensor(8, 8),), (dataclasses.replace(SET, return_code=5),),
        (copied(ELSEWHERE, RESULT, done=False),),
        (called(gen.Call.BUFFER_CLEAR, gen.BufferClearRequest(OTHER_BUFFER, 0)),), (copied(RESULT, ELSEWHERE),),
        (SET, RUN), (CLEAR, patched(RESULT, 0)), (dataclasses.replace(SET, payload=SET.payload[:-1]),),
    ],
    ids=["nothing", "before", "behind", "refused", "not copied", "another buffer", "copied away", "run", "patched", "malformed"],
)  # fmt: skip
def test_what_was_computed_last_has_that_of_its_op(between: tuple[Command, ...]) -> None:
    assert read_back(*between) == ""


def test_copy_of_a_result_is_as_good_as_that() -> None:
    assert read_back(tensor=ELSEWHERE) == DIFFERS
    assert read_back(copied(RESULT, ELSEWHERE), tensor=ELSEWHERE) == ""
    assert read_back(SET, copied(RESULT, ELSEWHERE), tensor=ELSEWHERE) == DIFFERS


def test_bytes_are_counted_from_where_they_are_read() -> None:
    assert read_back(set_tensor(4, 4), offset=4) == ""
    assert read_back(set_tensor(8, 4), offset=4) == DIFFERS


@pytest.mark.parametrize(("position", "told"), [(0, ""), (1, ""), (7, DIFFERS)])
def test_patch_computes_where_the_changed_records_lie(position: int, told: str) -> None:
    moved = dataclasses.replace(RESULT, id=1, data=256)
    assert read_back(patched(moved, position), tensor=moved) == told
