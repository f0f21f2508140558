"""Runs cases on a device, many at a time: one upload, one graph, one download for a batch.

The same code runs in the guest on the remote device and on the host on the library itself, so that bits can be compared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from lab.errors import LabError
from lab.ggml.library import GoneOperation
from lab.ggml.tensor import new_context
from lab.ops.batch import STAGED_BYTES, Batch, Buffers
from lab.ops.built import Built, Contexts, built_case, last_tensor, new_contexts
from lab.ops.case import Case
from lab.ops.catalog import case_named
from lab.ops.computing import Computing
from lab.ops.result import COMPUTED, ERROR, UNSUPPORTED, Output, Result

BATCH_BYTES = 8 << 20
GRAPH_MARGIN = 4096
BATCH_CASES = 128
SMALLEST = "SCALE(ne=1,x=2.0)"
"""Computed when a case was not, to tell a device that cannot do the case from one that does nothing any more."""


class DeviceLost(LabError):
    """The device does not even compute the smallest case any more: what it says of any other means nothing."""


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
    staged: bytearray = field(default_factory=lambda: bytearray(STAGED_BYTES))

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
        failure: str | None = None
        with new_contexts(self.backend.device.ggml) as contexts:
            built, results = self._build(contexts, cases[:limit])
            able = [one for one in built if one.supported]
            try:
                results |= self._compute(contexts, able, rounds, transfer)
            except LabError as error:
                self.require_life()
                failure = error.message
        if failure is not None:
            results |= {result.case: result for result in self._alone([one.case for one in able], failure, rounds, transfer)}
        return [results[case.id] for case in cases[: len(results)]]

    def _alone(self, cases: Sequence[Case], failure: str, rounds: int, transfer: int) -> list[Result]:
        """Cases that failed together, one by one. Where none is to blame then, each tells how they failed together."""
        if len(cases) == 1:
            return [self._result(cases[0], ERROR, failure)]
        results = [self._run_batch([case], rounds, transfer)[0] for case in cases]
        computed = all(result.outcome == COMPUTED for result in results)
        return [replace(result, text=f"{len(cases)} cases together: {failure}") for result in results] if computed else results

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
                outcome = UNSUPPORTED if isinstance(error, GoneOperation) else ERROR
                results[case.id] = self._result(case, outcome, error.message)
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
            batch = Batch(self.backend, buffers, tuple(built), graph, transfer, self.seed, self.staged)
            collected: dict[str, list[Output]] = {one.case.id: [] for one in built}
            spent_ns = 0
            for number in range(rounds):
                batch.fill(number)
                spent_ns += batch.compute()
                for case, output in batch.outputs():
                    collected[case.id].append(output)
        share = spent_ns // len(built)
        return {name: Result(name, COMPUTED, tuple(got), duration_ns=share, batch=self.batches) for name, got in collected.items()}


def ordered(cases: Iterable[Case]) -> list[Case]:
    """The cases in the order in which most of them travel together."""
    return sorted(cases, key=lambda case: case.travels)
