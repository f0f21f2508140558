"""The checks that run the lab's own catalog of cases."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from lab.apir.protocol_gen import EXTENSION_OF, Call
from lab.ops.case import BadCaseId
from lab.ops.catalog import FAMILY_OF, case_named
from lab.scenario.problem import meant
from lab.scenario.section import CheckTable, Patterns, Seconds, Section, Words, known_ggml_library

OWN = "own"
UNPROVED = (Call.ON_DEVICE, Call.SET_TENSOR_INLINE, Call.RING_CREATE, Call.RING_KICK)
"""Calls that the guest's records have under another's name or not at all, and the ring's, which is proved by itself."""


def known_reference(value: str, info: ValidationInfo) -> str:
    """``own``, or what a host library may be."""
    return value if value == OWN else known_ggml_library(value, info)


def known_cases(cases: tuple[str, ...]) -> tuple[str, ...]:
    """Ids, each of which must name a case; one that stands twice is one case."""
    for text in cases:
        try:
            case_named(text)
        except BadCaseId as error:
            raise PydanticCustomError("no_case", "{why}", {"why": error.message}) from error
    return tuple(dict.fromkeys(cases))


def known_operations(ops: tuple[str, ...]) -> tuple[str, ...]:
    """Names of operations, of each of which the catalog must have cases."""
    for op in ops:
        if op not in FAMILY_OF:
            near = get_close_matches(op, FAMILY_OF, 1)
            meant = f" (did you mean {near[0]}?)" if near else " (lab ops lists them)"
            raise PydanticCustomError("no_operation", "the catalog has no operation '{op}'{meant}", {"op": op, "meant": meant})
    return ops


def known_commands(commands: tuple[str, ...]) -> tuple[str, ...]:
    """Names of commands, each of which must be an extension's, and one that records have by that name."""
    known = [call.name.lower() for call in EXTENSION_OF if call not in UNPROVED]
    for command in commands:
        if command not in known:
            hint = meant(command, known)
            raise PydanticCustomError(
                "no_command", "no extension has a command '{name}' that is recorded", {"name": command, "hint": hint}
            )
    return commands


class Cost(Section):
    """What right results may cost. For it the cases are computed again one after the other, each alone and several times."""

    runs: Annotated[int, Field(ge=3, le=1000)] = 8
    """How often each case is computed; its quickest run counts."""
    times_native: Annotated[float, Field(gt=0)] = 100.0
    """See ``or_ms``."""
    or_ms: Annotated[float, Field(gt=0)] = 250.0
    """A case is slow when it takes longer than this, and longer than ``times_native`` what it takes natively."""
    worker_kib: Annotated[float, Field(gt=0)] = 64.0
    """How much memory a run of a case may leave in the host's worker process."""


class CatalogCheck(CheckTable):
    """Cases of the lab's own catalog, computed on the remote device and judged by three oracles (``lab ops`` tells the cases)."""

    kind: Literal["catalog"]
    ops: Annotated[Words, AfterValidator(known_operations)] = ()
    """Operations, by ggml's names; all if absent."""
    cases: Annotated[tuple[str, ...], Field(strict=False), AfterValidator(known_cases)] = ()
    """Ids of the only cases that are computed, whether the catalog has them or its families only could; nothing is drawn then."""
    include: Patterns = ()
    """Regular expressions; a case is chosen when one of them is found in its id. All if absent."""
    exclude: Patterns = ()
    """Regular expressions; a case is left out when one of them is found in its id."""
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Part of the cases, drawn by the seed; one of every operation at least."""
    seed: Annotated[int, Field(ge=0, lt=1 << 32)] = 1
    """Of the data that cases compute with, and of the draw."""
    reference: Annotated[str, AfterValidator(known_reference)] = "own"
    """What results must be equal to, bit for bit: ``own`` is the host's ggml library itself, run natively; or ``cpu``, ``vulkan``
    or the path of another library, for a host library that is not trusted to be honest when it is run natively."""
    min_cases: Annotated[int, Field(ge=1)] = 1
    """Fewer cases computed than these are a finding; refused ones do not count."""
    sends: Annotated[tuple[str, ...], Field(strict=False), AfterValidator(known_commands)] = ()
    """Commands of extensions that these cases lead to, as in sends = ["graph_run"]: one of each must have been sent where the
    guest's variables ask for the extension and both sides are ours; ``batch`` with data that are copied only."""
    cost: Cost | None = None
    """Bounds of time and memory; nothing is measured for them if absent."""
    deadline_s: Seconds = 600.0
    """For all of it."""
    case_deadline_s: Seconds = 60.0
    """How long no result may come, the program's start included. Cases travel together, so it holds for as many as do."""

    @property
    def summary(self) -> str:
        """The check in a line."""
        if self.cases:
            return f"{len(self.cases)} cases by id, seed {self.seed}, three oracles"
        part = "the catalog" if self.share == 1 else f"{100 * self.share:.4g}% of the catalog"
        of = f", of {', '.join(self.ops)}" if self.ops else ""
        return f"at least {self.min_cases} cases of {part}{of}, seed {self.seed}, three oracles"


class SpeedCheck(CheckTable):
    """The cases of the ``ops`` check before it again, by the lab's own engine: how many times as many it computes a second.

    Both programs run alone in the same guest and are timed from their start to their end. Each case of the engine's is the
    counterpart of one of ``test-backend-ops``: the same graph.
    """

    kind: Literal["speed"]
    at_least: Annotated[float, Field(gt=0)] = 5.0
    """How many times as many cases per second the engine must compute."""
    seed: Annotated[int, Field(ge=0, lt=1 << 32)] = 1
    """Of the data that cases compute with."""
    deadline_s: Seconds = 300.0
    """For all of it."""
    case_deadline_s: Seconds = 60.0
    """How long no result may come, the program's start included."""

    @property
    def summary(self) -> str:
        """The check in a line."""
        return f"the engine is at least {self.at_least:g} times as quick as test-backend-ops on the cases of the check before"

    def catalog(self, cases: tuple[str, ...]) -> CatalogCheck:
        """The same as a check of the catalog's cases."""
        return CatalogCheck(
            kind="catalog",
            cases=cases,
            seed=self.seed,
            deadline_s=self.deadline_s,
            case_deadline_s=self.case_deadline_s,
        )
