"""What a scenario file may say. The field descriptions are the documentation of the format.

These models stand at the edge (a file is validated into them, unknown keys refused) and are frozen, so the same values
travel through the rest of the lab. A new section or kind of check is a new model here and nothing else at the edge.
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from lab.ops.upstream import Selection
from lab.qemu.command import Gpu
from lab.scenario.faults import Fault

BUILTIN = "builtin"
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


class Capset(StrEnum):
    """How the guest library asks for the host's component."""

    VENUS = "venus"
    APIR = "apir"

    @property
    def id(self) -> int:
        """virtio-gpu's number of the capset."""
        return 4 if self is Capset.VENUS else 10


class DataPath(StrEnum):
    """Where tensors lie: in blobs that both sides map, or in host memory, copied through the data page."""

    AUTO = "auto"
    SHARED = "shared"
    COPIED = "copied"


class Accel(StrEnum):
    """What runs the guest's instructions. ``auto``: KVM where it was proved to work, else TCG."""

    AUTO = "auto"
    KVM = "kvm"
    TCG = "tcg"


class Display(StrEnum):
    """Where QEMU gets its OpenGL from. ``auto``: egl-headless on a render node, else SDL offscreen on llvmpipe."""

    AUTO = "auto"
    EGL_HEADLESS = "egl-headless"
    SDL_OFFSCREEN = "sdl-offscreen"


class Section(BaseModel):
    """A table of a scenario file: frozen, strictly typed, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def existing_file(value: str, info: ValidationInfo) -> str:
    """``value`` as an absolute path, which must name a file; relative ones start at the scenario file's folder."""
    folder = info.context.get("folder", Path()) if info.context else Path()
    path = (folder / Path(value).expanduser()).resolve()
    if not path.is_file():
        raise PydanticCustomError("no_file", "there is no file {path}", {"path": str(path)})
    return str(path)


def builtin_or_file(value: str, info: ValidationInfo) -> str:
    """``builtin``, or the path of a file that exists."""
    return value if value == BUILTIN else existing_file(value, info)


def known_image(value: str, info: ValidationInfo) -> str:
    """The name of an image there is a recipe for."""
    images = info.context.get("images") if info.context else None
    if images is not None and value not in images:
        raise PydanticCustomError("no_image", "there is no image {name}", {"name": repr(value)})
    return value


def known_ggml_library(value: str, info: ValidationInfo) -> str:
    """``cpu``, ``vulkan`` or the path of a file that exists."""
    if not value:
        raise PydanticCustomError("no_library", "a host ggml library is needed", {})
    return value if value in HOST_LIBRARIES else existing_file(value, info)


def word(name: str) -> str:
    """A name that can be part of a path, an id and a command line."""
    if not NAME.fullmatch(name):
        raise PydanticCustomError("no_name", "{name} is no name: lower-case letters, digits and - only", {"name": repr(name)})
    return name


def variable_value(value: object) -> str | Literal[False]:
    """The value of an environment variable, or ``false`` for one that must not be set."""
    if isinstance(value, str) or value is False:
        return value
    raise PydanticCustomError("no_variable", "input should be text, or false to take the variable away", {})


HOST_LIBRARIES = ("cpu", "vulkan")

Payload = Annotated[str, AfterValidator(builtin_or_file)]
Seconds = Annotated[float, Field(gt=0)]
Words = Annotated[tuple[str, ...], Field(strict=False)]
Environment = dict[str, Annotated[str | Literal[False], PlainValidator(variable_value)]]


class Host(Section):
    """The host side of the machine: what runs the guest and what computes."""

    accel: Annotated[Accel, Field(strict=False)] = Accel.AUTO
    display: Annotated[Display, Field(strict=False)] = Display.AUTO
    ggml_library: Annotated[str, AfterValidator(known_ggml_library)] = "cpu"
    """``cpu`` (the best variant for this processor, by its own score), ``vulkan``, or a path."""
    ggml_registration: str | None = None
    """Symbol that the library registers itself by; ``ggml_backend_init`` if absent."""
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Threads the host library computes with; the host's cores if absent."""
    trace: bool = False
    """Record every command and reply of every context into the bundle, as ``lab trace`` reads them."""
    environment: Environment = {}
    """Variables for QEMU, over the ones the lab sets. ``false`` takes one away."""


class Guest(Section):
    """The guest: what it is made of, and how its programs reach the host."""

    image: Annotated[str, AfterValidator(known_image)] = "guest-6.12"
    cpus: Annotated[int, Field(ge=1, le=256)] = 2
    memory_mib: Annotated[int, Field(ge=256, le=1 << 20)] = 2048
    gpu: Annotated[Gpu, Field(strict=False)] = Gpu.VENUS
    """``venus``; the others are machines for faults: ``blobs`` has no Venus, ``virgl`` no blobs either, ``2d`` no capset at all."""
    window_mib: Annotated[int, Field(ge=0, le=1 << 20)] = 1024
    """Size of the host-visible window, in which shared blobs are mapped; QEMU refuses Venus without one."""
    capset: Annotated[Capset, Field(strict=False)] = Capset.VENUS
    data_path: Annotated[DataPath, Field(strict=False)] = DataPath.AUTO
    environment: Environment = {}
    """Variables for the programs under test, over the ones the lab sets. ``false`` takes one away."""


class Implementation(Section):
    """Whose code is under test: ``builtin`` is ours, a path is anybody's build."""

    guest: Payload = BUILTIN
    host: Payload = BUILTIN
    component: Payload = BUILTIN


class StateCheck(Section):
    """Are guest and host in the state that every other check takes for granted?"""

    kind: Literal["state"]
    deadline_s: Seconds = 60.0

    @property
    def summary(self) -> str:
        """The check in a line."""
        return "state of guest and host"


class OpsCheck(Section):
    """Ops computed on the remote device and compared with the guest's own CPU backend."""

    kind: Literal["ops"]
    program: Literal["test-backend-ops"] = "test-backend-ops"
    ops: Annotated[tuple[str, ...], Field(strict=False, min_length=1)]
    """Operations, by ggml's names."""
    patterns: Words = ()
    """Regular expressions; a case is chosen when its parameters begin with one of them. All if absent."""
    min_cases: Annotated[int, Field(ge=1)] = 1
    jobs: Annotated[int, Field(ge=1, le=64)] = 1
    """Threads of one process that compute cases at once, each in a context of ggml's own (``-j``)."""
    processes: Annotated[int, Field(ge=1, le=16)] = 1
    """Processes in the guest that compute all of the cases at the same time."""
    deadline_s: Seconds = 300.0
    case_deadline_s: Seconds = 60.0
    """How long no result may come, the program's start included."""

    @field_validator("patterns")
    @classmethod
    def _compiles(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise PydanticCustomError(
                    "no_regex", "{pattern} is no regular expression: {why}", {"pattern": repr(pattern), "why": str(error)}
                ) from error
        return patterns

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


class FaultCheck(Section):
    """Something of the way to the host is missing, wrong or killed: a program in the guest must live on, told why and in time."""

    kind: Literal["fault"]
    fault: Annotated[Fault, Field(strict=False)]
    deadline_s: Seconds = 90.0

    @property
    def summary(self) -> str:
        """The check in a line."""
        return f"fault: {self.fault}"


Check = Annotated[StateCheck | OpsCheck | FaultCheck, Field(discriminator="kind")]
Checks = Annotated[tuple[Check, ...], Field(strict=False)]
AxisValue = str | int | float | bool


class VariantTable(Section):
    """One of the scenario's variants by name, where a matrix would make too many: settings laid over those of the file."""

    name: Annotated[str, AfterValidator(word)]
    host: Host = Host()
    guest: Guest = Guest()
    implementation: Implementation = Implementation()
    checks: Checks | None = None
    """In the place of the scenario's own checks."""


class Scenario(Section):
    """One scenario file."""

    name: str
    description: str = ""
    timeout_s: Seconds = 900.0
    """For one boot and all that is checked in it; building images and payloads does not count."""
    matrix: dict[str, Annotated[tuple[AxisValue, ...], Field(strict=False, min_length=1)]] = {}
    """Key path (or its unambiguous last word) → values; every combination is a variant."""
    variants: Annotated[tuple[VariantTable, ...], Field(strict=False)] = ()
    """Variants one by one; with a matrix, every combination of both."""
    host: Host = Host()
    guest: Guest = Guest()
    implementation: Implementation = Implementation()
    checks: Annotated[Checks, Field(validate_default=True)] = ()
    """May be missing when every variant has its own."""

    @field_validator("checks")
    @classmethod
    def _is_not_empty(cls, checks: tuple[Check, ...], info: ValidationInfo) -> tuple[Check, ...]:
        variants = info.data.get("variants", ())
        if not checks and not (variants and all(variant.checks for variant in variants)):
            raise PydanticCustomError("missing", "is missing", {})
        return checks

    @field_validator("name")
    @classmethod
    def _is_a_word(cls, name: str) -> str:
        return word(name)
