"""Judges results against another computation of the same cases and against the numpy goldens.

A program, because it needs ggml to build cases and to decode blocks: ``python3 -m lab.ops.judge --seed N --rows FILE --values FILE
[--reference-rows FILE --reference-values FILE]``, with files as ``lab.guest.agent.ops`` writes them. It tells a JSON line a case::

    {"case", "against": difference or null, "golden": difference or null, "why": reason for no golden}
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lab.ggml.arrays import Array
from lab.ggml.library import Ggml, loaded_ggml
from lab.ggml.types import WHOLE_NUMBERS, Bytes, Type, typed
from lab.ops import golden_elementwise, golden_recurrent, golden_rows, golden_spatial
from lab.ops.built import built_case, leaf_data, new_contexts
from lab.ops.case import ROUNDS, Case
from lab.ops.catalog import case_named
from lab.ops.compare import Difference, difference, tolerance_of
from lab.ops.golden import NoGolden, evaluated, numbers_of
from lab.ops.result import Output

DEFINITIONS = {
    **golden_elementwise.DEFINITIONS,
    **golden_recurrent.DEFINITIONS,
    **golden_rows.DEFINITIONS,
    **golden_spatial.DEFINITIONS,
}

LOOSER = {
    **dict.fromkeys(("GELU", "GELU_QUICK", "GEGLU", "GEGLU_QUICK"), 1e-4),
    **dict.fromkeys(("GELU_ERF", "GEGLU_ERF"), 1e-6),
    **dict.fromkeys(("FLASH_ATTN_EXT", "MUL_MAT", "MUL_MAT_ID"), 5e-4),
    **dict.fromkeys(("CONV_TRANSPOSE_1D", "CONV_TRANSPOSE_2D"), 1e-5),
}
"""NMSE allowed against goldens where ggml's own arithmetic is coarser than f32: GELU's tables in f16, what 1 + erf(x) loses below
-3, signals rounded to f16.

Hundreds of seeds were tried: a result of a single element has no others to hide behind.
"""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the oracles say of one case; ``against`` and ``golden`` are of the worst result, None where there is none."""

    case: str
    against: Difference | None
    golden: Difference | None
    why: str = ""

    def as_row(self) -> dict[str, Any]:
        """For a line of JSON."""
        return {
            "case": self.case,
            "against": self.against and {**self.against.as_row(), "ok": self.against.acceptable, "text": self.against.text},
            "golden": self.golden and {**self.golden.as_row(), "ok": self.golden.acceptable, "text": self.golden.text},
            "why": self.why,
        }


def judged(ggml: Ggml, case: Case, seed: int, outputs: Sequence[Output], reference: Sequence[Output] = ()) -> Judgement:
    """Compare a case's results with a reference's, if there is one, and with the goldens. Results of no elements are like any."""
    if not any(len(output.data) for output in outputs):
        return Judgement(case.id, None, None, "its results have no elements")
    against = None
    if reference:
        against = worst(
            [
                difference(
                    canonical(case, one_numbers(ggml, got)),
                    canonical(case, one_numbers(ggml, other)),
                    got.type,
                    tolerance_of(case.op, got.type),
                )
                for got, other in zip(outputs, reference, strict=True)
            ]
        )
    try:
        return Judgement(case.id, against, worst(list(against_goldens(ggml, case, seed, outputs))))
    except NoGolden as error:
        return Judgement(case.id, against, None, str(error))


def one_numbers(ggml: Ggml, output: Output) -> Array:
    """An output's numbers."""
    return numbers_of(ggml, output.type, output.ne, output.data)


def canonical(case: Case, values: Array) -> Array:
    """Results without what means nothing: the order of TOP_K's indices."""
    return np.sort(values, axis=-1) if case.op == "TOP_K" else values


def worst(differences: Sequence[Difference]) -> Difference | None:
    """The one to report."""
    return max(differences, key=lambda one: (not one.acceptable, one.nmse), default=None)


def goldens(ggml: Ggml, case: Case, seed: int) -> Iterator[tuple[Array, Type]]:
    """What a case's results must be, round by round. Raises ``NoGolden``."""
    with new_contexts(ggml) as contexts:
        built = built_case(contexts, case, None, 0)
        for number in range(case.parameters[ROUNDS]):
            leaves = {
                leaf.tensor: numbers_of(ggml, leaf.type, leaf.ne, data) for leaf, data in leaf_data(ggml, built, seed, number)
            }
            for value in built.outputs:
                try:
                    yield evaluated(value, leaves, DEFINITIONS), value.type
                except NoGolden:
                    if len(built.outputs) == 1 or value is built.outputs[0]:
                        raise
                    yield np.empty(0), value.type


def against_goldens(ggml: Ggml, case: Case, seed: int, outputs: Sequence[Output]) -> Iterator[Difference]:
    """Differences between results and goldens. Raises ``NoGolden`` when there are none."""
    for (wanted, kind), got in zip(goldens(ggml, case, seed), outputs, strict=True):
        if not wanted.size:
            continue
        allowed = 0.0 if kind in WHOLE_NUMBERS else max(tolerance_of(case.op, kind), LOOSER.get(case.op, 0.0))
        yield difference(canonical(case, one_numbers(ggml, got)), wanted, kind, allowed)


@dataclass(frozen=True, slots=True)
class Recorded:
    """Rows and values that the agent wrote."""

    rows: Mapping[str, Mapping[str, Any]]
    values: Bytes

    @classmethod
    def read(cls, rows: Path, values: Path) -> Recorded:
        """Read both files."""
        lines = (json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines() if line.startswith('{"case"'))
        data = np.memmap(values, np.uint8, "r").data if values.stat().st_size else b""
        return cls({line["case"]: line for line in lines}, data)

    def outputs(self, case: str) -> tuple[Output, ...]:
        """A case's results; none when it has none."""
        row = self.rows.get(case, {})
        start, outputs = row.get("at", 0), []
        for label, ne, size in row.get("outputs", ()):
            outputs.append(Output(typed(label), tuple(ne), self.values[start : start + size]))
            start += size
        return tuple(outputs)


def main(words: Sequence[str] | None = None) -> int:
    """Judge every case of the rows that has results."""
    parser = argparse.ArgumentParser(prog="lab.ops.judge")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--values", type=Path, required=True)
    parser.add_argument("--reference-rows", type=Path)
    parser.add_argument("--reference-values", type=Path)
    arguments = parser.parse_args(words)
    ggml = loaded_ggml()
    own = Recorded.read(arguments.rows, arguments.values)
    given = arguments.reference_rows is not None
    reference = Recorded.read(arguments.reference_rows, arguments.reference_values) if given else None
    for name in own.rows:
        if outputs := own.outputs(name):
            other = reference.outputs(name) if reference else ()
            sys.stdout.write(json.dumps(judged(ggml, case_named(name), arguments.seed, outputs, other).as_row()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
