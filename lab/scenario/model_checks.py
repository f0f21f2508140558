"""The kinds of check that a scenario file may ask for, each with its parameters. A new kind is a model here, in ``Check``."""

from __future__ import annotations

from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from lab.bundle.outcome import FindingKind, Outcome
from lab.ops.upstream import Selection
from lab.scenario.faults import Fault
from lab.scenario.lie_forms import parts_of
from lab.scenario.model_bench import BenchCheck
from lab.scenario.model_catalog import CatalogCheck, SpeedCheck
from lab.scenario.model_llama import LlamaCheck
from lab.scenario.model_upstream import UpstreamCheck
from lab.scenario.section import HONEST, CheckTable, Pattern, Patterns, Seconds, Section


class StateCheck(CheckTable):
    """Are guest and host in the state that every other check takes for granted?"""

    kind: Literal["state"]
    deadline_s: Seconds = 60.0
    """For all of it."""

    @property
    def summary(self) -> str:
        """The check in a line."""
        return "state of guest and host"


class OpsCheck(CheckTable):
    """Ops computed on the remote device and compared with the guest's own CPU backend."""

    kind: Literal["ops"]
    program: Literal["test-backend-ops"] = "test-backend-ops"
    """The only one so far: upstream's own."""
    ops: Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
    """Operations by ggml's names, as in ops = ["ADD", "MUL_MAT"]."""
    patterns: Patterns = ()
    """Regular expressions; a case is chosen when its parameters begin with one of them. All if absent."""
    min_cases: Annotated[int, Field(ge=1)] = 1
    """Fewer cases computed than these are a finding; refused ones do not count."""
    jobs: Annotated[int, Field(ge=1, le=64)] = 1
    """Threads of one process that compute cases at once, each in a context of ggml's own (``-j``)."""
    processes: Annotated[int, Field(ge=1, le=16)] = 1
    """Processes in the guest that compute all of the cases at the same time."""
    deadline_s: Seconds = 300.0
    """For all of it."""
    case_deadline_s: Seconds = 60.0
    """How long no result may come, the program's start included."""

    @property
    def summary(self) -> str:
        """The check in a line."""
        at_once = f", {self.processes} processes at once" if self.processes > 1 else ""
        threads = f", {self.jobs} threads each" if self.jobs > 1 else ""
        return f"{self.program}: at least {self.min_cases} cases of {', '.join(self.ops)}{at_once}{threads}"

    @property
    def selection(self) -> Selection:
        """The chosen cases."""
        return Selection(self.ops, self.patterns)


class FaultCheck(CheckTable):
    """Something of the way to the host is missing, wrong or killed: a program in the guest must live on, told why and in time."""

    kind: Literal["fault"]
    fault: Annotated[Fault, Field(strict=False)]
    """What is missing, wrong or killed."""
    deadline_s: Seconds = 90.0
    """For all of it."""

    @property
    def summary(self) -> str:
        """The check in a line."""
        return f"fault: {self.fault}"


class Caught(Section):
    """A case that has to be reported."""

    case: str
    """Its id, as the judge writes it."""
    outcome: Annotated[Outcome, Field(strict=False)] = Outcome.FAIL
    """How it has to end."""
    says: Pattern = ""
    """Regular expression that must be found in what is said of it, its finding included."""
    finding: Annotated[FindingKind, Field(strict=False)] | None = None
    """Kind of a finding that has to name it."""


class LieCheck(CheckTable):
    """The host's ggml library, the liar, lies: another check must report the cases that are lied about, and no others."""

    kind: Literal["lie"]
    lies: Annotated[str, Field(min_length=1)]
    """What the liar is told: ``honest``, or lies such as ``flip:op=ADD,bit=0; deny:op=ROPE`` (backend_impl/liar/lies.hpp)."""
    judge: Annotated[CatalogCheck | OpsCheck, Field(discriminator="kind")]
    """The check that has to catch it: of kind ``catalog`` or ``ops``."""
    caught: Annotated[tuple[Caught, ...], Field(strict=False)] = ()
    """Everything that it must report; nothing for the honest liar."""
    guest_signal: Literal["SEGV", "ABRT", "BUS", "ILL"] | None = None
    """Sent to the program in the guest whenever the liar has it wait (``hang``), so that it dies in the middle of that call."""

    @model_validator(mode="after")
    def _is_to_be_caught(self) -> Self:
        """A lie that nothing has to be reported of would pass where it is believed."""
        if self.told and not self.caught:
            hint = 'caught = [{ case = "ADD()" }] for a lie about ADD()'
            raise PydanticCustomError("nothing_caught", "tells lies, and nothing has to be reported of them", {"hint": hint})
        return self

    @property
    def told(self) -> tuple[str, ...]:
        """Its lies one by one; none of the honest liar."""
        return tuple(part for part in parts_of(self.lies) if part != HONEST)

    @property
    def deadline_s(self) -> float:
        """That of the check which judges."""
        return self.judge.deadline_s

    @property
    def summary(self) -> str:
        """The check in a line."""
        return f"lie: {self.lies}"


AnyCheck = StateCheck | OpsCheck | CatalogCheck | SpeedCheck | UpstreamCheck | FaultCheck | BenchCheck | LlamaCheck | LieCheck
Check = Annotated[AnyCheck, Field(discriminator="kind")]


def with_one_bench(checks: tuple[AnyCheck, ...]) -> tuple[AnyCheck, ...]:
    """The checks, of which one at most is a benchmark: a variant has one set of its files."""
    if sum(isinstance(check, BenchCheck) for check in checks) > 1:
        hint = "one check can measure several parts and places; other settings are another variant's"
        raise PydanticCustomError("two_benches", "has two checks of kind bench, of which one variant can have one", {"hint": hint})
    return checks


def with_cases_for_speed(checks: tuple[AnyCheck, ...]) -> tuple[AnyCheck, ...]:
    """The checks, of which each of kind ``speed`` has one of kind ``ops`` before it that computes a case at a time."""
    for number, check in enumerate(checks):
        before = [one for one in checks[:number] if isinstance(one, OpsCheck)]
        if isinstance(check, SpeedCheck) and not before:
            text = "[{number}] is of kind speed, and no check of kind ops stands before it"
            raise PydanticCustomError("speed_alone", text, {"number": number, "hint": "it computes the cases of that one again"})
        if isinstance(check, SpeedCheck) and max(before[-1].jobs, before[-1].processes) > 1:
            text = "[{number}] is of kind speed, and the check of kind ops before it computes several cases at once"
            raise PydanticCustomError(
                "speed_of_several", text, {"number": number, "hint": "leave jobs and processes out of that one"}
            )
    return checks


Checks = Annotated[tuple[Check, ...], Field(strict=False), AfterValidator(with_one_bench), AfterValidator(with_cases_for_speed)]
CHECK_KINDS: dict[str, type[BaseModel]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model for model in get_args(AnyCheck)
}
"""The models by the word that ``kind`` has."""
