"""Cases whose tensors exist: made in contexts of their own, asked of a device, and filled."""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lab.ggml.library import Ggml, TensorStruct
from lab.ggml.tensor import VIEWS, Context, block_of, new_context
from lab.ggml.types import Bytes, Type
from lab.ops.build import Builder, UnbuildableCase, Value
from lab.ops.case import Case
from lab.ops.computing import Asked
from lab.ops.data import Source, filled

NO_PARAMETERS = (LookupError, ValueError, TypeError, ArithmeticError, ctypes.ArgumentError)
"""What parameters lead to whose words or counts nobody expected: an id may have any."""
CONTEXT_BYTES = 8 << 20
CASE_BYTES = 2 << 20
"""Room that one case's tensors may take in a context: a batch ends when less is left."""


@dataclass(frozen=True, slots=True)
class Built:
    """A case whose tensors exist: its leaves in the order in which they are filled, and its results.

    ``outputs`` are the results, and behind them what they are a part of where an operation writes into that.
    """

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

    Raises:
        LabError: the parameters make no case, such as a type that there is not.
    """
    builder = Builder(contexts.leaves, contexts.targets, contexts.nodes)
    with parameters_of_a_case():
        made = case.family.build(builder, case.op, case.parameters)
    results = made if isinstance(made, tuple) else (made,)
    outputs = (*results, *wholes(builder.made, results))
    nodes = tuple(contexts.nodes.tensors(before))
    supported = device is None or all(
        device.supports(tensor) for tensor in nodes if _operation_name(device.ggml, tensor) not in VIEWS
    )
    return Built(case, tuple(builder.made), outputs, nodes, supported)


@contextlib.contextmanager
def parameters_of_a_case() -> Iterator[None]:
    """For what is made of parameters. Raises ``UnbuildableCase`` where they lead to what nobody expected."""
    try:
        yield
    except NO_PARAMETERS as error:
        raise UnbuildableCase(f"its parameters make no case: {type(error).__name__}: {error}") from error


def wholes(leaves: Iterable[Value], results: Sequence[Value]) -> Iterator[Value]:
    """Leaves that are written to of which no result shows all: what lies beside a result must stay what it was."""
    shown = max(math.prod(result.ne) for result in results)
    return (leaf for leaf in leaves if leaf.written and math.prod(leaf.ne) > shown)


_OPERATION_NAMES: dict[int, str] = {}


def _operation_name(ggml: Ggml, tensor: int) -> str:
    number = TensorStruct.from_address(tensor).op
    if number not in _OPERATION_NAMES:
        _OPERATION_NAMES[number] = ggml.text("ggml_op_desc", tensor)
    return _OPERATION_NAMES[number]


def leaf_data(ggml: Ggml, built: Built, seed: int, number: int) -> Iterator[tuple[Value, Bytes]]:
    """The bytes of a case's leaves in one round. Raises ``LabError`` for parameters that no data can be made for."""
    source = Source(built.case.id, seed, number)
    for leaf in built.leaves:
        with parameters_of_a_case():
            data = filled(source, leaf.type, leaf.ne, block_of(ggml, leaf.type), leaf.fill)
        yield leaf, data


def last_tensor(context: Context, after: int | None = None) -> int:
    """The tensor that was made last, looking from ``after`` on."""
    last = after or 0
    for tensor in context.tensors(after):
        last = tensor
    return last
