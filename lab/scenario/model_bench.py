"""The check that measures: the transport benchmark."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from lab.scenario.section import CheckTable, Seconds, existing_library


class Thoroughness(StrEnum):
    """How much a benchmark measures: ``quick`` looks, ``full`` is for figures that are quoted."""

    QUICK = "quick"
    FULL = "full"


class Place(StrEnum):
    """Where is measured: guest and host library joined in one process, or in a booted guest."""

    LOOPBACK = "loopback"
    VM = "vm"


def a_library(value: str, info: ValidationInfo) -> str:
    """The path of a library that exists."""
    return existing_library(value, info, "a path, relative to the scenario file, of a library to compare with")


class Part(StrEnum):
    """What can be measured by itself: the first word of a phase's name.

    ``census`` counts what everything sends, ``calls`` are latencies, ``rates`` graphs and calls per second, ``pause`` is the first
    call after a second of idleness.
    """

    CENSUS = "census"
    CALLS = "calls"
    RATES = "rates"
    PAUSE = "pause"
    TRANSFERS = "transfers"
    TOKENS = "tokens"
    IDLE = "idle"


OF_GUESTS = frozenset({Part.PAUSE, Part.IDLE})
"""Parts that a loopback has nothing of."""


class BenchCheck(CheckTable):
    """Latencies, rates and what a token costs, beside the floors of the machine; ``bench.json`` in the variant's logs has it.

    The guest records no calls while they are timed. The host does, unless the scenario says ``VIRGL_APIR_CALL_LOG = false`` in
    ``[host.environment]``, or ``call_records = false``: the figures warn of it. Both sides' records of a benchmark are
    not compared.
    """

    kind: Literal["bench"]
    effort: Annotated[Thoroughness, Field(strict=False)] = Thoroughness.FULL
    """How much is measured: ``quick`` looks, ``full`` is for figures that are quoted."""
    places: Annotated[tuple[Annotated[Place, Field(strict=False)], ...], Field(strict=False, min_length=1)] = (
        Place.LOOPBACK,
        Place.VM,
    )
    """Where: ``loopback`` (both libraries in one process) and ``vm``."""
    parts: Annotated[tuple[Annotated[Part, Field(strict=False)], ...], Field(strict=False, min_length=1)] = tuple(Part)
    """What is measured; all if absent."""
    idle_s: Seconds | None = None
    """How long a context is watched that has nothing to do; by effort if absent."""
    guest_library: Annotated[str, AfterValidator(a_library)] | None = None
    """A second guest library, measured in turns with the scenario's own."""
    host_library: Annotated[str, AfterValidator(a_library)] | None = None
    """A second host library, which serves the second implementation."""
    enforce: bool = False
    """Whether a target that is not met, or was to be measured and was not, fails the variant. Figures of a busy machine are no
    reason to."""
    deadline_s: Seconds = 1500.0
    """For all of it. What was measured until then is kept."""

    @property
    def watches_idleness(self) -> bool:
        """Whether contexts that have nothing to do are watched."""
        return Place.VM in self.places and Part.IDLE in self.parts

    @property
    def in_vain(self) -> str:
        """What it asks for and does not measure where it measures; empty for nothing."""
        in_guest = Place.VM in self.places
        if (self.guest_library or self.host_library) and (not in_guest or set(self.parts) == {Part.IDLE}):
            return "a second implementation is measured in a guest alone, and in every part but idle"
        if not in_guest and OF_GUESTS.issuperset(self.parts):
            return f"{' and '.join(dict.fromkeys(self.parts))} can be measured in a guest alone"
        return ""

    @model_validator(mode="after")
    def measures_what_it_names(self) -> Self:
        """What would be left out without a word is refused."""
        if self.in_vain:
            raise PydanticCustomError("in_vain", "{what}", {"what": self.in_vain, "hint": 'add "vm" to places, or parts to parts'})
        return self

    @property
    def summary(self) -> str:
        """The check in a line."""
        second = " beside a second implementation" if self.guest_library or self.host_library else ""
        return f"{self.effort} benchmark of {' and '.join(self.places)}{second}"
