"""Digests of cases, run in the host root: by an honest library, or one that writes beside a result which is a part of something."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lab.ggml.device import Backend, Buffer, OpenDevice, device_of_library, opened_backend
from lab.ggml.library import TensorStruct, loaded_ggml
from lab.ggml.tensor import Context
from lab.ops.catalog import case_named
from lab.ops.engine import Engine, ordered

BESIDE = b"\1\2"


@dataclass
class Spilling:
    """A backend that overwrites the first element of what a result is a part of."""

    inner: Backend
    buffers: list[Buffer] = field(default_factory=list)

    @property
    def device(self) -> OpenDevice:
        return self.inner.device

    @contextlib.contextmanager
    def allocated(self, context: Context, arenas: Context) -> Iterator[Buffer]:
        with self.inner.allocated(context, arenas) as buffer:
            self.buffers.append(buffer)
            yield buffer
            self.buffers.remove(buffer)

    def compute(self, graph: int) -> None:
        self.inner.compute(graph)
        ggml = self.device.ggml
        for index in range(ggml.call("ggml_graph_n_nodes", graph)):
            whole = TensorStruct.from_address(ggml.made("ggml_graph_node", graph, index)).view_src
            for buffer in self.buffers:
                if whole and TensorStruct.from_address(whole).buffer == buffer.address:
                    buffer.write(BESIDE, buffer.offset_of(whole))


def digests(library: str, cases: Sequence[str], *, spills: bool) -> dict[str, str]:
    with opened_backend(device_of_library(loaded_ggml(), library), threads=1) as backend:
        engine = Engine(Spilling(backend) if spills else backend, 1)
        return {result.case: result.digest for result in engine.run(ordered(map(case_named, cases)))}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(digests(sys.argv[1], sys.argv[3:], spills=sys.argv[2] == "spills")) + "\n")
