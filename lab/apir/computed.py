"""What computed the bytes of tensors in a conversation: within an op's rounding they may differ, what was written may not.

Tensors are known by the buffers and addresses of the recorded host. It needs the standard library only, as the player does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lab.apir.protocol_gen import (
    REQUESTS,
    Call,
    Graph,
    GraphChanges,
    TensorRecord,
    WideGraph,
    WideGraphChanges,
    WideTensorRecord,
)
from lab.apir.wire import Reader
from lab.errors import WireError

Record = TensorRecord | WideTensorRecord
Records = Graph | WideGraph | GraphChanges | WideGraphChanges
Place = tuple[int, int]
SETS = frozenset({Call.BUFFER_SET_TENSOR, Call.WIDE_SET_TENSOR, Call.SET_TENSOR_INLINE, Call.PIPE_SET_TENSOR})
COPIES = frozenset({Call.BUFFER_CPY_TENSOR, Call.WIDE_CPY_TENSOR})
ENDS = frozenset({Call.BUFFER_CLEAR, Call.BUFFER_FREE_BUFFER})
"""Calls behind which nothing that was computed is left in a buffer."""
RUNS = frozenset({Call.GRAPH_RUN, Call.GRAPH_PATCH})


@dataclass(frozen=True, slots=True)
class Made:
    """A tensor that was computed, and which of its bytes were written since: from which to which."""

    by: Record
    written: frozenset[Place] = frozenset()


class Computed:
    """What computed the tensors, as far as the conversation has gone."""

    def __init__(self) -> None:
        self._made: dict[Place, Made] = {}
        self._kept: dict[int, tuple[frozenset[int], list[Record]]] = {}

    def of(self, tensor: Record) -> Made | None:
        """What computed a tensor; None: nothing did."""
        return self._made.get(place(tensor))

    def keep(self, number: int, graph: Records) -> None:
        """The graph that was sent last is kept by this number."""
        if isinstance(graph, Graph | WideGraph):
            self._kept[number] = frozenset(graph.nodes), list(graph.tensors)

    def follow(self, call: int, payload: bytes, sent: Records | None, *, carried_out: bool) -> None:
        """A call with the records that it sent. Of one that was not carried out nothing is written, but a graph may be computed."""
        if isinstance(sent, Graph | WideGraph):
            self._compute(frozenset(sent.nodes), sent.tensors)
        if call not in SETS | COPIES | ENDS | RUNS:
            return
        try:
            request: Any = REQUESTS[Call(call)].decode(Reader(payload))
        except WireError:
            return
        if call in RUNS:
            self._run(request.graph, sent)
        elif carried_out and call in SETS:
            self._set(request.tensor, request.offset, request.size)
        elif carried_out and call in COPIES:
            self._copy(request.source, request.destination)
        elif carried_out:
            self._made = {at: made for at, made in self._made.items() if at[0] != request.buffer}

    def _compute(self, nodes: frozenset[int], tensors: tuple[Record, ...] | list[Record]) -> None:
        for tensor in tensors:
            if tensor.id in nodes:
                self._made[place(tensor)] = Made(tensor)

    def _run(self, number: int, changes: Records | None) -> None:
        nodes, tensors = self._kept.get(number, (frozenset(), []))
        if isinstance(changes, GraphChanges | WideGraphChanges):
            changed: tuple[Record, ...] = changes.tensors
            for position, tensor in zip(changes.positions, changed, strict=False):  # what does not fit is refused
                if position < len(tensors):
                    tensors[position] = tensor
        self._compute(nodes, tensors)

    def _set(self, tensor: Record, offset: int, size: int) -> None:
        made = self.of(tensor)
        if made is not None:
            self._made[place(tensor)] = Made(made.by, made.written | {(offset, offset + size)})

    def _copy(self, source: Record, destination: Record) -> None:
        made = self.of(source)
        if made is None:
            self._made.pop(place(destination), None)
        else:
            self._made[place(destination)] = made


def place(tensor: Record) -> Place:
    """Where a tensor lies."""
    return tensor.buffer, tensor.data
