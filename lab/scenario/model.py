"""What a scenario file may say. The field descriptions are the documentation of the format.

These models stand at the edge (a file is validated into them, unknown keys refused) and are frozen, so the same values
travel through the rest of the lab. A new section is a new model here and nothing else at the edge; checks are in
``model_checks``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from lab.host.native import COMPONENT, GUEST_LIBRARY, HOST_LIBRARY
from lab.qemu.command import Gpu
from lab.scenario.model_checks import Check, Checks
from lab.scenario.section import (
    BUILTIN,
    PATH_HINT,
    Environment,
    Requirements,
    Seconds,
    Section,
    found_library,
    known_host_library,
    known_image,
    known_virglrenderer,
    word,
)


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


class Host(Section):
    """The host side of the machine: what runs the guest and what computes."""

    accel: Annotated[Accel, Field(strict=False)] = Accel.AUTO
    """``kvm``, ``tcg``, or ``auto``: KVM where it was proved to work."""
    display: Annotated[Display, Field(strict=False)] = Display.AUTO
    """Where OpenGL comes from: ``egl-headless`` needs a render node, ``sdl-offscreen`` does without, ``auto`` takes what works."""
    virglrenderer: Annotated[str, AfterValidator(known_virglrenderer)] = "auto"
    """``auto``: the host root's, with our component preloaded into QEMU if it has none built in. ``preload``: always with ours.
    ``plain``: as it is, nothing preloaded. A path (file, or folder with one): one that has APIR built in, in the place of the
    root's."""
    ggml_library: Annotated[str, AfterValidator(known_host_library)] = "cpu"
    """``cpu`` (the best variant for this processor, by its own score), ``vulkan``, a path, or ``liar``: a library of ours that
    wraps ``cpu`` and lies about its results as a check of kind ``lie``, or the variable ``GGML_LIAR``, tells it."""
    ggml_registration: str | None = None
    """Symbol that the library registers itself by; ``ggml_backend_init`` if absent."""
    threads: Annotated[int, Field(ge=1, le=512)] | None = None
    """Threads the host library computes with; the host's cores if absent, as many as affinity and control groups leave."""
    trace: bool = False
    """Record every command and reply of every context into the bundle, as ``lab trace`` reads them."""
    environment: Environment = Field(default_factory=dict)
    """Variables for QEMU, over the ones the lab sets. ``false`` takes one away."""


class Guest(Section):
    """The guest: what it is made of, and how its programs reach the host."""

    image: Annotated[str, AfterValidator(known_image)] = "guest-6.12"
    """By the name of its recipe in images/."""
    kernel: str | None = None
    """Series of the kernel, as in "6.12": chooses the image of that kernel if no image is named, and is checked before booting."""
    cpus: Annotated[int, Field(ge=1, le=255)] = 2
    """Processors of the guest: as many as an APIC without x2APIC can name."""
    memory_mib: Annotated[int, Field(ge=256, le=1 << 20)] = 2048
    """Memory of the guest."""
    gpu: Annotated[Gpu, Field(strict=False)] = Gpu.VENUS
    """``venus``; the others are machines for faults: ``blobs`` has no Venus, ``virgl`` no blobs either, ``2d`` no capset at all."""
    window_mib: Annotated[int, Field(ge=0, le=1 << 20)] = 1024
    """Size of the host-visible window, in which shared blobs are mapped; QEMU refuses Venus without one."""
    capset: Annotated[Capset, Field(strict=False)] = Capset.VENUS
    """Which capset the guest library asks for."""
    data_path: Annotated[DataPath, Field(strict=False)] = DataPath.AUTO
    """Where tensors lie: in blobs that both sides map (``shared``), in host memory (``copied``), or as the library chooses."""
    boot_deadline_s: Seconds | None = None
    """For the guest to answer after QEMU was started; the scenario's timeout_s if absent."""
    environment: Environment = Field(default_factory=dict)
    """Variables for the programs under test, over the ones the lab sets. ``false`` takes one away."""

    @model_validator(mode="before")
    @classmethod
    def _image_of_kernel(cls, tables: Any) -> Any:
        """A kernel chooses an image where no image is named."""
        if isinstance(tables, dict) and isinstance(tables.get("kernel"), str) and "image" not in tables:
            return {**tables, "image": f"guest-{tables['kernel']}"}
        return tables


class Build(Section):
    """One side of an implementation."""

    path: str = BUILTIN
    """``builtin``, or a file, or a folder with one library of the well-known name in it, however deep."""
    build_id: Annotated[str, Field(pattern=r"^[0-9a-f]{8,64}$")] | None = None
    """The build id that it must have, or its beginning; checked before anything boots."""


def as_build(value: Any) -> Any:
    """A text stands for a build of that path."""
    return {"path": value} if isinstance(value, str) else value


Side = Annotated[Build, BeforeValidator(as_build, json_schema_input_type=str | Build)]
LIBRARY_NAMES = {"guest": GUEST_LIBRARY, "host": HOST_LIBRARY, "component": COMPONENT}


class Thresholds(Section):
    """What a variant is held against; worse is a finding of the product."""

    boot_s: Seconds | None = None
    """How long the guest may take to answer; for the variant that a boot is counted for."""
    wall_s: Seconds | None = None
    """How long the variant may take in all."""
    call_p50_us: Annotated[float, Field(gt=0)] | None = None
    """Median of the durations of all its remote calls, as the guest sees them."""
    call_p99_us: Annotated[float, Field(gt=0)] | None = None
    """The duration that 99 of 100 of its remote calls do not exceed."""


class Implementation(Section):
    """Whose code is under test: ``builtin`` is ours, a path is anybody's build.

    Where a guest library or component of others writes no call records, those of the other side are the proof.
    """

    guest: Side = Build()
    """The guest library: ``libggml-virtgpu.so``."""
    host: Side = Build()
    """The host library: ``libggml-virtgpu-backend.so``."""
    component: Side = Build()
    """The APIR component to be preloaded: ``libapir-preload.so``, with an ``apir-worker`` beside it if it needs its own."""

    @field_validator("guest", "host", "component")
    @classmethod
    def _is_there(cls, build: Build, info: ValidationInfo) -> Build:
        if build.path == BUILTIN:
            return build
        return build.model_copy(update={"path": found_library(build.path, LIBRARY_NAMES[str(info.field_name)], info, PATH_HINT)})


AxisValue = str | int | float | bool
Axis = Annotated[tuple[AxisValue, ...], Field(strict=False, min_length=1)]
Entries = Annotated[tuple[dict[str, AxisValue], ...], Field(strict=False)]


class Matrix(Section):
    """Axes, by key path or its unambiguous last word, with their values; every combination is a variant."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=True)  # the setting that a number is for refuses it, in one line
    __pydantic_extra__: dict[str, Axis] = Field(init=False)

    include: Entries = ()
    """Values that are added to every combination they do not contradict; an entry that fits none is a variant of its own."""
    exclude: Entries = ()
    """Combinations with all these values are left out."""


class VariantTable(Section):
    """One of the scenario's variants by name, where a matrix would make too many: settings laid over those of the file."""

    name: Annotated[str, AfterValidator(word)]
    """Its id, or the beginning of its ids where there is a matrix."""
    host: Host = Host()
    guest: Guest = Guest()
    implementation: Implementation = Implementation()
    requires: Requirements | None = None
    """In the place of the scenario's own."""
    thresholds: Thresholds = Thresholds()
    """What is too slow."""
    checks: Checks | None = None
    """In the place of the scenario's own checks."""


class Scenario(Section):
    """One scenario file."""

    name: str
    """What the scenario is called; a file opens with a line such as name = "smoke"."""
    description: str = ""
    """What it is for, in a line."""
    timeout_s: Seconds = 900.0
    """For one boot and all that is checked in it; building images and payloads does not count."""
    nightly: bool = False
    """It takes long: pytest runs it by its name or with -m nightly alone, lab run as any other."""
    call_records: bool = True
    """Record every remote call on both sides. A sweep of many thousand cases has millions, and what they prove (that the remote
    device computed) must be proved otherwise then: by the libraries that its workers have mapped."""
    matrix: Matrix = Matrix()
    """Axes whose combinations are variants."""
    variants: Annotated[tuple[VariantTable, ...], Field(strict=False)] = ()
    """Variants one by one; with a matrix, every combination of both."""
    host: Host = Host()
    guest: Guest = Guest()
    implementation: Implementation = Implementation()
    requires: Requirements = ()
    """Capabilities, by their names in ``lab doctor``, without which it is skipped; those it cannot do without are known."""
    thresholds: Thresholds = Thresholds()
    """What is too slow."""
    checks: Annotated[Checks, Field(validate_default=True)] = ()
    """May be missing when every variant has its own."""

    @field_validator("checks")
    @classmethod
    def _is_not_empty(cls, checks: tuple[Check, ...], info: ValidationInfo) -> tuple[Check, ...]:
        variants = info.data.get("variants", ())
        if not checks and not (variants and all(variant.checks for variant in variants)):
            raise PydanticCustomError("no_checks", "is missing", {"hint": 'add at least [[checks]] with kind = "state"'})
        return checks

    @field_validator("name")
    @classmethod
    def _is_a_word(cls, name: str) -> str:
        return word(name)


class Defaults(Section):
    """Settings that hold where neither the file, nor one that extends it, nor a variant has its own."""

    host: Host = Host()
    guest: Guest = Guest()
    implementation: Implementation = Implementation()
    checks: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Parameters for every check of a kind, by the kind: ``[defaults.checks.ops]``."""


class ScenarioFile(Scenario):
    """All that a scenario file may hold: the scenario, and how it is put together."""

    extends: str = ""
    """Another scenario file, relative to this one. Tables merge key by key, lists are replaced as a whole; name and description
    are not inherited. The other file's relative paths start at its own folder."""
    defaults: Defaults = Defaults()
    """What holds where nothing else is said."""
    add_checks: Checks = ()
    """Checks behind those of the file that is extended (or behind the file's own)."""
