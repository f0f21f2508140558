"""Runs cases on a device, many at a time: one upload, one graph, one download for a batch.

The same code runs in the guest on the remote device and on the host on the library itself, so that bits can be compared. A
batch has three buffers: leaves that are only read, leaves that operations write into, and results. The last two are
overwritten before each round with bytes that no case has, so a result that was never computed is not the one of before.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

import numpy as np

from lab.errors import LabError
from lab.ggml.library import Ggml, TensorStruct
from lab.ggml.tensor import VIEWS, Context, Shape, block_of, new_context, packed_bytes
from lab.ggml.types import Bytes, Type
from lab.ops.build import Builder, Value
from lab.ops.case import Case
from lab.ops.catalog import case_named
from lab.ops.data import Source, filled

CONTEXT_BYTES = 8 << 20
CASE_BYTES = 2 << 20
"""Room that one case's tensors may take in a context: a batch ends when less is left."""
BATCH_BYTES = 8 << 20
GRAPH_MARGIN = 4096
BATCH_CASES = 128
UNWRITTEN = 0xA5
DIGEST_BYTES = 16
COMPUTED, UNSUPPORTED, ERROR = "computed", "unsupported", "error"
SMALLEST = "SCALE(ne=1,x=2.0)"
"""Computed when a case was not, to tell a device that cannot do the case from one that does nothing any more."""


class DeviceLost(LabError):
    """The device does not even compute the smallest case any more: what it says of any other means nothing."""


class Asked(Protocol):
    """A device, as far as it is asked."""

    @property
    def ggml(self) -> Ggml:
        """The library that describes tensors."""

    def supports(self, tensor: int) -> bool:
        """Whether it computes this operation."""


class Memory(Protocol):
    """A buffer of a device. Tensors in it have its ``address`` as their buffer."""

    @property
    def address(self) -> int:
        """What tensors' ``buffer`` is."""

    @property
    def size(self) -> int:
        """Bytes."""

    def clear(self, value: int) -> None:
        """Set every byte."""

    def write(self, data: Bytes, offset: int = 0) -> None:
        """Copy bytes into it."""

    def read(self, offset: int = 0, size: int | None = None) -> Bytes:
        """Bytes of it."""

    def offset_of(self, tensor: int) -> int:
        """Where in it a tensor's data begin."""


class Computing(Protocol):
    """What computes: a backend of ggml, or a host library with no guest between."""

    @property
    def device(self) -> Asked:
        """Of what it is."""

    def allocated(self, context: Context, arena_context: Context) -> AbstractContextManager[Memory]:
        """Memory with all tensors of a context in it, for as long as it is entered."""

    def compute(self, graph: int) -> None:
        """Compute a graph and wait for it."""


@dataclass(frozen=True, slots=True)
class Output:
    """One result: its type, its sizes, and its elements without gaps."""

    type: Type
    ne: tuple[int, ...]
    data: Bytes


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a case: ``outcome`` is computed, unsupported or error; ``outputs`` are those of every round."""

    case: str
    outcome: str
    outputs: tuple[Output, ...] = ()
    text: str = ""
    duration_ns: int = 0
    batch: int = 0

    @property
    def digest(self) -> str:
        """Of types, sizes and every bit of the results; empty when there are none."""
        if self.outcome != COMPUTED:
            return ""
        digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
        for output in self.outputs:
            digest.update(f"{int(output.type)}:{output.ne};".encode())
            digest.update(output.data.data)
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Built:
    """A case whose tensors exist: its leaves in the order in which they are filled, and its results."""

    case: Case
    leaves: tuple[Value, ...]
    outputs: tuple[Value, ...]
    nodes: tuple[int, ...]
    supported: bool


@dataclass(frozen=True, slots=True)
class Contexts:
    """A batch's contexts: for leaves, leaves that are written to, results and graphs, and the buffers' arenas."""

    leaves: Context
    targets: Context
    nodes: Context
    arenas: Context

    @property
    def full(self) -> bool:
        """Whether another case might not fit."""
        return min(context.free_bytes for context in (self.leaves, self.targets, self.nodes)) < CASE_BYTES


@contextlib.contextmanager
def new_contexts(ggml: Ggml) -> Iterator[Contexts]:
    """Empty contexts. Each of the first three has an anchor: ggml binds views only where something is allocated."""
    with contextlib.ExitStack() as stack:
        contexts = [stack.enter_context(new_context(ggml, size)) for size in (*(CONTEXT_BYTES,) * 3, 1 << 16)]
        for context in contexts[:3]:
            context.new_tensor(Type.F32, (1,))
        yield Contexts(*contexts)


def built_case(contexts: Contexts, case: Case, device: Asked | None, before: int) -> Built:
    """Make a case's tensors.

    Args:
        contexts: where.
        case: which.
        device: asked whether it computes every operation; None asks nobody.
        before: the tensor of ``contexts.nodes`` that was made last, 0 for none.
    """
    builder = Builder(contexts.leaves, contexts.targets, contexts.nodes)
    made = case.family.build(builder, case.op, case.parameters)
    outputs = made if isinstance(made, tuple) else (made,)
    nodes = tuple(contexts.nodes.tensors(before))
    supported = device is None or all(
        device.supports(tensor) for tensor in nodes if _operation_name(device.ggml, tensor) not in VIEWS
    )
    return Built(case, tuple(builder.made), outputs, nodes, supported)


_OPERATION_NAMES: dict[int, str] = {}


def _operation_name(ggml: Ggml, tensor: int) -> str:
    number = TensorStruct.from_address(tensor).op
    if number not in _OPERATION_NAMES:
        _OPERATION_NAMES[number] = ggml.text("ggml_op_desc", tensor)
    return _OPERATION_NAMES[number]


def leaf_data(ggml: Ggml, built: Built, seed: int, number: int) -> Iterator[tuple[Value, Bytes]]:
    """The bytes of a case's leaves in one round."""
    source = Source(built.case.id, seed, number)
    for leaf in built.leaves:
        yield leaf, filled(source, leaf.type, leaf.ne, block_of(ggml, leaf.type), leaf.fill)


@dataclass(frozen=True, slots=True)
class Buffers:
    """A batch's memory on the device."""

    leaves: Memory
    targets: Memory
    nodes: Memory

    def home_of(self, tensor: int) -> Memory:
        """The buffer in which a tensor lies."""
        address = TensorStruct.from_address(tensor).buffer
        return next(buffer for buffer in (self.nodes, self.targets, self.leaves) if buffer.address == address)


@dataclass(slots=True)
class Engine:
    """Computes cases on one backend.

    Args:
        backend: where.
        seed: of the data.
        batch_cases: how many cases travel together at most; 1 shows which case ends the process.
    """

    backend: Computing
    seed: int
    batch_cases: int = BATCH_CASES
    batches: int = 0

    def run(self, cases: Iterable[Case]) -> Iterator[Result]:
        """Results in the order of the cases. Raises what ``run_batches`` does."""
        for done in self.run_batches(cases):
            yield from done

    def run_batches(self, cases: Iterable[Case]) -> Iterator[list[Result]]:
        """Results in the order of the cases, those of a batch together.

        Raises:
            DeviceLost: nothing is computed any more; the results of the batch in which it happened do not come.
        """
        for (rounds, transfer), group in groupby(cases, key=lambda case: case.travels):
            pending = list(group)
            while pending:
                done = self._run_batch(pending, rounds, transfer)
                if any(result.outcome != COMPUTED for result in done):
                    self.require_life()
                del pending[: len(done)]
                yield done

    def require_life(self) -> None:
        """Compute the smallest case, asking nobody whether it is supported. Raises ``DeviceLost`` when that fails."""
        with new_contexts(self.backend.device.ggml) as contexts:
            built = built_case(contexts, case_named(SMALLEST), None, last_tensor(contexts.nodes))
            try:
                self._compute(contexts, (built,), 1, 0)
            except LabError as error:
                raise DeviceLost(f"the device computes nothing any more: {error.message}") from error

    def _run_batch(self, cases: Sequence[Case], rounds: int, transfer: int) -> list[Result]:
        """As many of the cases, from the first, as travel together. When they fail together, each is tried alone."""
        self.batches += 1
        limit = 1 if transfer else self.batch_cases
        with new_contexts(self.backend.device.ggml) as contexts:
            built, results = self._build(contexts, cases[:limit])
            able = [one for one in built if one.supported]
            try:
                results |= self._compute(contexts, able, rounds, transfer)
            except LabError as error:
                self.require_life()
                if len(able) == 1:
                    results[able[0].case.id] = self._result(able[0].case, ERROR, error.message)
                    able = []
            else:
                able = []
        for one in able:
            results[one.case.id] = self._run_batch([one.case], rounds, transfer)[0]
        return [results[case.id] for case in cases[: len(results)]]

    def _result(self, case: Case, outcome: str, text: str = "") -> Result:
        return Result(case.id, outcome, text=text, batch=self.batches)

    def _build(self, contexts: Contexts, cases: Sequence[Case]) -> tuple[list[Built], dict[str, Result]]:
        """Build cases until the batch is full. Those that cannot be, or are not supported, have their result already."""
        built: list[Built] = []
        results: dict[str, Result] = {}
        size, device = 0, self.backend.device
        last = last_tensor(contexts.nodes)
        for case in cases:
            if results and (size > BATCH_BYTES or contexts.full):
                break
            results[case.id] = self._result(case, UNSUPPORTED)
            try:
                one = built_case(contexts, case, device, last)
            except LabError as error:
                results[case.id] = self._result(case, ERROR, error.message)
                last = last_tensor(contexts.nodes, last)
                continue
            built.append(one)
            last = one.nodes[-1] if one.nodes else last
            size += sum(int(device.ggml.call("ggml_nbytes", leaf.tensor)) for leaf in one.leaves)
        return built, results

    def _compute(self, contexts: Contexts, built: Sequence[Built], rounds: int, transfer: int) -> dict[str, Result]:
        """Allocate, then fill, compute and collect once a round."""
        if not built:
            return {}
        device = self.backend.device
        three = (contexts.leaves, contexts.targets, contexts.nodes)
        tensors = sum(len(one.nodes) + len(one.leaves) for one in built)
        graph_bytes = int(device.ggml.call("ggml_graph_overhead_custom", 2 * tensors, False)) + GRAPH_MARGIN
        with contextlib.ExitStack() as stack:
            buffers = Buffers(*(stack.enter_context(self.backend.allocated(context, contexts.arenas)) for context in three))
            place = stack.enter_context(new_context(device.ggml, graph_bytes))
            graph = place.new_graph([value.tensor for one in built for value in one.outputs], 2 * tensors)
            batch = Batch(self.backend, buffers, tuple(built), graph, transfer, self.seed)
            collected: dict[str, list[Output]] = {one.case.id: [] for one in built}
            spent_ns = 0
            for number in range(rounds):
                batch.fill(number)
                spent_ns += batch.compute()
                for case, output in batch.outputs():
                    collected[case.id].append(output)
        share = spent_ns // len(built)
        return {name: Result(name, COMPUTED, tuple(got), duration_ns=share, batch=self.batches) for name, got in collected.items()}


class Image:
    """What a buffer is to hold: data at their places, and bytes that no case has everywhere else."""

    def __init__(self, size: int) -> None:
        self._bytes = np.empty(size, np.uint8)
        self._end = 0

    def put(self, start: int, data: Bytes) -> None:
        """Data at a place, which is mostly behind that of the data before."""
        if start < self._end:
            self._bytes[self._end :] = UNWRITTEN
            self._end = self._bytes.size
        else:
            self._bytes[self._end : start] = UNWRITTEN
            self._end = start + data.nbytes
        self._bytes[start : start + data.nbytes] = data

    def whole(self) -> Bytes:
        """All of it."""
        self._bytes[self._end :] = UNWRITTEN
        self._end = self._bytes.size
        return self._bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases whose tensors lie in the device's memory, and the graph that computes them all."""

    backend: Computing
    buffers: Buffers
    built: tuple[Built, ...]
    graph: int
    transfer: int
    seed: int

    def fill(self, number: int) -> None:
        """Write a round's data; results are made unlike any."""
        buffers, ggml = self.buffers, self.backend.device.ggml
        leaves, targets = Image(buffers.leaves.size), Image(buffers.targets.size)
        for one in self.built:
            for leaf, data in leaf_data(ggml, one, self.seed, number):
                home, image = (buffers.targets, targets) if leaf.written else (buffers.leaves, leaves)
                image.put(home.offset_of(leaf.tensor), data)
        buffers.nodes.clear(UNWRITTEN)
        for buffer, image in ((buffers.leaves, leaves), (buffers.targets, targets)):
            whole = image.whole()
            for start, end in pieces(buffer.size, self.transfer):
                buffer.write(whole[start:end], start)

    def compute(self) -> int:
        """Compute the graph; returns the nanoseconds it took."""
        started = time.perf_counter_ns()
        self.backend.compute(self.graph)
        return time.perf_counter_ns() - started

    def outputs(self) -> Iterator[tuple[Case, Output]]:
        """Every result of every case, in order."""
        homes = [(one.case, value.tensor, self.buffers.home_of(value.tensor)) for one in self.built for value in one.outputs]
        used = {id(home): home for _, _, home in homes}
        memory = {key: read_in_pieces(home, self.transfer) for key, home in used.items()}
        for case, tensor, home in homes:
            shape = Shape.of(tensor)
            data = packed_bytes(self.backend.device.ggml, shape, memory[id(home)], home.offset_of(tensor))
            yield case, Output(shape.type, shape.ne, data)


def last_tensor(context: Context, after: int | None = None) -> int:
    """The tensor that was made last, looking from ``after`` on."""
    last = after or 0
    for tensor in context.tensors(after):
        last = tensor
    return last


def pieces(size: int, transfer: int) -> Iterator[tuple[int, int]]:
    """How a buffer is moved: whole, or twice ``transfer`` bytes and then the rest."""
    start = 0
    for length in (transfer, transfer) if transfer else ():
        if start + length < size:
            yield start, start + length
            start += length
    yield start, size


def read_in_pieces(buffer: Memory, transfer: int) -> Bytes:
    """All bytes of a buffer."""
    return np.concatenate([buffer.read(start, end - start) for start, end in pieces(buffer.size, transfer)])


def ordered(cases: Iterable[Case]) -> list[Case]:
    """The cases in the order in which most of them travel together."""
    return sorted(cases, key=lambda case: case.travels)
