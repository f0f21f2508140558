"""What the engine makes of cases, run in the host root, by a backend that fails or refuses some of them, or ends."""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from unittest import mock

from lab.errors import LabError
from lab.ggml.device import Backend, Buffer, device_of_library, opened_backend
from lab.ggml.library import Ggml, TensorStruct, loaded_ggml
from lab.ggml.tensor import VIEWS, Context
from lab.ops.case import Case
from lab.ops.catalog import case_named
from lab.ops.engine import DeviceLost, Engine, ordered

FAILS = "SQR"
COMPUTES: dict[str, Callable[[str], bool]] = {
    "refuses": lambda _op: False,
    "dead": lambda _op: False,
    "no views": lambda op: op not in VIEWS,
}


@dataclass
class Failing:
    """A backend that says yes to what ``computes`` names, cannot compute squares, and is ``dead`` after these where it ``dies``."""

    inner: Backend
    computes: Callable[[str], bool]
    dies: bool
    dead: bool

    @property
    def device(self) -> Failing:
        return self

    @property
    def ggml(self) -> Ggml:
        return self.inner.device.ggml

    def supports(self, tensor: int) -> bool:
        return self.computes(self.ggml.text("ggml_op_desc", tensor)) and self.inner.device.supports(tensor)

    def allocated(self, context: Context, arenas: Context) -> AbstractContextManager[Buffer]:
        return self.inner.allocated(context, arenas)

    def compute(self, graph: int) -> None:
        nodes = [self.ggml.made("ggml_graph_node", graph, at) for at in range(self.ggml.call("ggml_graph_n_nodes", graph))]
        squares = any(self.ggml.text("ggml_op_desc", node) == FAILS for node in nodes)
        self.dead |= self.dies and squares
        if squares or self.dead:
            raise LabError(f"no {len(nodes)} nodes, the last of {TensorStruct.from_address(nodes[-1]).ne[0]}")
        self.inner.compute(graph)


def told(backend: Failing, cases: list[Case]) -> Iterator[list[object]]:
    try:
        for result in Engine(backend, 1).run(cases):
            yield [result.case, result.outcome, result.batch, result.duration_ns]
    except DeviceLost as error:
        yield ["lost", error.message, 0, 0]


if __name__ == "__main__":
    # each look at the clock is a microsecond later
    clock = mock.patch("time.perf_counter_ns", itertools.count(0, 1000).__next__)
    with contextlib.ExitStack() as stack:
        inner = stack.enter_context(opened_backend(device_of_library(loaded_ggml(), sys.argv[1]), threads=1))
        stack.enter_context(clock)
        word = sys.argv[2]
        failing = Failing(inner, COMPUTES.get(word, lambda _op: True), word == "dies", word == "dead")
        sys.stdout.write(json.dumps(list(told(failing, ordered(map(case_named, sys.argv[3:]))))) + "\n")
