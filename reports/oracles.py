"""What cases were compared with, in the page's words: each kind of check has its own way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lab.bundle.rows import CaseRow
from lab.bundle.schema import VariantRecord
from reports.statistics import kind_of

OPERATION = "one operation with its parameters"
ORACLES = (
    "one operation with its parameters, or one graph, computed on the remote device and held to three oracles: bit for bit what the"
    " reference computed natively on the host, the error against another build of ggml's CPU backend, and goldens in numpy."
)
SIDES = {"guest": "the guest's own CPU backend", "host": "the host's CPU backend"}
ANY_SIDE = "a CPU backend"
SWEEP = "upstream-test"
WORDS = {
    "ops": f"{OPERATION}, computed on the remote device and compared with {SIDES['guest']}.",
    SWEEP: f"{OPERATION}, computed on the remote device and compared with {{reference}}.",
    "upstream-support": f"{OPERATION}: the remote device was asked whether it computes it. Nothing was computed.",
    "upstream-perf": f"{OPERATION}, repeated and timed on the remote device. Its results were compared with nothing.",
    "upstream-grad": f"{OPERATION}, with gradients of the remote device: they were compared with its own finite differences.",
    "catalog": ORACLES,
    "speed": ORACLES,
    "fault": "a fault that was brought about, and whether guest and host took it as they must.",
    "lie": "results that were falsified on purpose, and whether the check that was to find out reported exactly those.",
}
"""What a case is, by the kind of its check."""
COMPARING = frozenset({"ops", SWEEP, "catalog", "speed"})
"""Kinds of check that compare results with those of the device that a variant's record names as its reference."""


def compares(cases: Iterable[CaseRow]) -> bool:
    """Whether any of a variant's cases was compared with its reference."""
    return any(kind_of(case.check) in COMPARING for case in cases)


def comparisons(variants: Iterable[tuple[VariantRecord, Sequence[CaseRow]]]) -> tuple[tuple[str, str], ...]:
    """The kinds of check that have cases, in their order, each with what a case of it is and was compared with."""
    references: dict[str, dict[str, None]] = {}
    for record, cases in variants:
        side = record.reference.side if record.reference else ""
        for kind in dict.fromkeys(kind_of(case.check) for case in cases):
            references.setdefault(kind, {})[SIDES.get(side, ANY_SIDE)] = None
    return tuple((kind, WORDS[kind].format(reference=" or ".join(of))) for kind, of in references.items() if kind in WORDS)
