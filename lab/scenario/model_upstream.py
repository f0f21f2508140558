"""The check of kind ``upstream``: ``test-backend-ops`` in any mode, in as many processes as it takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, model_validator

from lab.ops.upstream_cases import Mode
from lab.scenario.section import CheckTable, Patterns, Seconds, Words


class UpstreamCheck(CheckTable):
    """Cases of ``test-backend-ops``, cut into batches of which each has a process of its own; can be resumed after a cut."""

    kind: Literal["upstream"]
    mode: Annotated[Mode, Field(strict=False)] = Mode.TEST
    """``test`` compares with the guest's CPU, ``support`` asks, ``perf`` measures, ``grad`` compares gradients."""
    ops: Words = ()
    """Operations, by ggml's names; all if absent."""
    reference: Literal["guest", "host"] = "guest"
    """What ``test`` compares with: the guest's own CPU, or a device of the host's on the other capset, which another build of
    ggml-cpu computes at native speed than the one under test. An emulated guest takes minutes for one case of attention."""
    patterns: Patterns = ()
    """Regular expressions (Python's); a case is chosen when its parameters begin with one of them. All if absent."""
    min_cases: Annotated[int, Field(ge=1)] = 1
    """Fewer cases computed than these are a finding; refused ones count in mode ``support`` only."""
    shards: Annotated[int, Field(ge=1, le=8)] = 1
    """Processes in the guest at the same time, each with a batch of its own."""
    batch: Annotated[int, Field(ge=1, le=25000)] = 500
    """Cases of one process. Fewer cost more starts of the program, each some 5 to 20 s in an emulated guest."""
    restarts: Annotated[int, Field(ge=0)] = 100
    """How many processes may end before their last case (crash, hang, lost worker); each costs the case that it was at."""
    deadline_s: Seconds = 3600.0
    case_deadline_s: Seconds = 120.0
    """How long no result may come, the program's start included."""

    @model_validator(mode="after")
    def _compares(self) -> UpstreamCheck:
        """Only ``test`` compares with anything."""
        if self.reference == "host" and self.mode is not Mode.TEST:
            raise ValueError(f'reference = "host" is for mode = "test"; {self.mode} compares with no reference')
        return self

    @property
    def summary(self) -> str:
        """The check in a line."""
        what = ", ".join(self.ops) if self.ops else "every operation"
        at_once = f", {self.shards} processes at once" if self.shards > 1 else ""
        beside = ", compared with the host's" if self.reference == "host" else ""
        return f"test-backend-ops {self.mode}: at least {self.min_cases} cases of {what}, {self.batch} a process{at_once}{beside}"


SETTINGS_OF_THE_WAY = frozenset({"shards", "batch", "restarts", "deadline_s", "case_deadline_s"})
"""Keys that change how the cases are run and not which: a run that is resumed may have other ones."""


def has_host_reference(checks: Iterable[object]) -> bool:
    """Whether one of the checks compares with a device of the host's: its boot is made for that, and for one capset."""
    return any(isinstance(check, UpstreamCheck) and check.reference == "host" for check in checks)
