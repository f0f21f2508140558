"""What tables of a scenario file are made of: the frozen, strict table, and values that are checked where they stand."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from lab.elf import NotElf, build_id
from lab.host.capability import CAPABILITY_NAMES
from lab.scenario.problem import meant

BUILTIN = "builtin"
HOST_LIBRARIES = ("cpu", "vulkan")
LIAR = "liar"
HONEST = "honest"
"""What is told to the liar when it is not to lie."""
VIRGLRENDERER_WORDS = ("auto", "preload", "plain")
LIBRARY_WORDS = (BUILTIN, *HOST_LIBRARIES, LIAR, *VIRGLRENDERER_WORDS)
"""What may stand where otherwise a path does."""
PATH_HINT = 'a path, relative to the scenario file; "builtin" is ours'
LIBRARY_HINT = f"{', '.join(HOST_LIBRARIES)} or the path of a ggml backend library"
VIRGLRENDERER_NAME = "libvirglrenderer.so"
VIRGLRENDERER_HINT = f"{', '.join(VIRGLRENDERER_WORDS)} or the path of a libvirglrenderer.so.1, or of a folder with one"
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LONGEST_S = 1e7
"""The system's clocks wait for no longer than some 9e9 s, and nobody for a hundredth of that."""


class Section(BaseModel):
    """A table of a scenario file: frozen, strictly typed, no unknown keys, and no number without end, which TOML has words for."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, defer_build=True, use_attribute_docstrings=True, allow_inf_nan=False
    )


def absolute_path(value: str, info: ValidationInfo, hint: str) -> Path:
    """``value`` as an absolute path, at which there need be nothing; relative ones start at the scenario file's folder."""
    folder = info.context.get("folder", Path()) if info.context else Path()
    try:
        path = (folder / Path(value).expanduser()).resolve()
        path.exists()  # looks at the file system, which refuses some paths
    except (OSError, RuntimeError, ValueError) as error:
        context = {"path": repr(value), "why": str(error), "hint": hint}
        raise PydanticCustomError("no_path", "{path} is no path: {why}", context) from error
    return path


def existing_file(value: str, info: ValidationInfo, hint: str) -> str:
    """``value`` as an absolute path, which must name a file."""
    path = absolute_path(value, info, hint)
    if not path.is_file():
        raise PydanticCustomError("no_file", "there is no file {path}", {"path": str(path), "hint": hint})
    return str(path)


def existing_library(value: str, info: ValidationInfo, hint: str) -> str:
    """``value`` as the absolute path of an ELF file."""
    path = existing_file(value, info, hint)
    try:
        build_id(Path(path))
    except (OSError, NotElf) as error:
        raise PydanticCustomError(
            "no_elf", "{path} is no library: {why}", {"path": path, "why": str(error), "hint": hint}
        ) from error
    return path


def known_image(value: str, info: ValidationInfo) -> str:
    """The name of an image there is a recipe for."""
    images = info.context.get("images") if info.context else None
    if images is not None and value not in images:
        raise PydanticCustomError(
            "no_image", "there is no image {name}", {"name": repr(value), "hint": meant(value, sorted(images))}
        )
    return value


def known_capability(value: str) -> str:
    """The name of a capability that ``lab doctor`` tells of."""
    if value not in CAPABILITY_NAMES:
        hint = meant(value, CAPABILITY_NAMES)
        raise PydanticCustomError("no_capability", "there is no capability {name}", {"name": repr(value), "hint": hint})
    return value


def found_library(value: str, name: str, info: ValidationInfo, hint: str) -> str:
    """The library that a path stands for: the file itself, or the one in a folder that has its well-known name.

    Folders that cannot be read, or are gone meanwhile, as in a tree that is being built, have none.
    """
    path = absolute_path(value, info, hint)
    if not path.is_dir():
        return existing_file(value, info, hint)
    versioned = re.compile(rf"{re.escape(name)}(\.\d+)*")
    files = (Path(folder, one) for folder, _, names in os.walk(path) for one in names if versioned.fullmatch(one))
    found = sorted({file.resolve() for file in files if file.is_file()})
    if len(found) == 1:
        return str(found[0])
    if not found:
        text = "there is no {name} in the folder {path}"
        raise PydanticCustomError("no_library_there", text, {"name": name, "path": str(path), "hint": "name the file itself"})
    text = "there are several {name} in the folder {path}"
    listed = "name one of " + ", ".join(map(str, found))
    raise PydanticCustomError("many_libraries", text, {"name": name, "path": str(path), "hint": listed})


def known_virglrenderer(value: str, info: ValidationInfo) -> str:
    """One of the words for the host root's own, or the path of a library or of a folder with one."""
    return value if value in VIRGLRENDERER_WORDS else found_library(value, VIRGLRENDERER_NAME, info, VIRGLRENDERER_HINT)


def known_ggml_library(value: str, info: ValidationInfo) -> str:
    """``cpu``, ``vulkan`` or the path of a file that exists."""
    if not value:
        raise PydanticCustomError("no_library", "a host ggml library is needed", {"hint": LIBRARY_HINT})
    return value if value in HOST_LIBRARIES else existing_file(value, info, LIBRARY_HINT)


def known_host_library(value: str, info: ValidationInfo) -> str:
    """``liar``, or any other ggml library."""
    return value if value == LIAR else known_ggml_library(value, info)


def word(name: str) -> str:
    """A name that can be part of a path, an id and a command line."""
    if not NAME.fullmatch(name):
        text = "{name} is no name: lower-case letters, digits and - only, 64 of them at most"
        raise PydanticCustomError("no_name", text, {"name": repr(name)})
    return name


def variable_value(value: object) -> str | Literal[False]:
    """The value of an environment variable, or ``false`` for one that must not be set."""
    if isinstance(value, str) or value is False:
        return value
    raise PydanticCustomError("no_variable", "input should be text, or false to take the variable away", {})


def known_variables(environment: dict[str, str | Literal[False]]) -> dict[str, str | Literal[False]]:
    """Variables, each of which must have a name that a shell takes too."""
    for name in environment:
        if not VARIABLE.fullmatch(name):
            hint = "letters, digits and _, no digit first"
            raise PydanticCustomError("no_variable_name", "{name} is no name of a variable", {"name": repr(name), "hint": hint})
    return environment


def regular_expressions(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Patterns, each of which must be a regular expression."""
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise PydanticCustomError(
                "no_regex", "{pattern} is no regular expression: {why}", {"pattern": repr(pattern), "why": str(error)}
            ) from error
    return patterns


Seconds = Annotated[float, Field(gt=0, le=LONGEST_S)]
Words = Annotated[tuple[str, ...], Field(strict=False)]
Pattern = Annotated[str, AfterValidator(lambda value: regular_expressions((value,))[0])]
Patterns = Annotated[tuple[str, ...], Field(strict=False), AfterValidator(regular_expressions)]
Requirements = Annotated[tuple[Annotated[str, AfterValidator(known_capability)], ...], Field(strict=False)]
Environment = Annotated[
    dict[str, Annotated[str | Literal[False], PlainValidator(variable_value, json_schema_input_type=str | Literal[False])]],
    AfterValidator(known_variables),
]


class CheckThresholds(Section):
    """What a check is held against; worse is a finding of the product."""

    wall_s: Seconds | None = None
    """How long it may take."""
    cases_per_s: Annotated[float, Field(gt=0)] | None = None
    """How many cases a second it must have, its start-up included. Not judged where an earlier run's results are kept."""
    call_p50_us: Annotated[float, Field(gt=0)] | None = None
    """Median of the durations of its remote calls, as the guest sees them."""
    call_p99_us: Annotated[float, Field(gt=0)] | None = None
    """The duration that 99 of 100 of its remote calls do not exceed."""


class CheckTable(Section):
    """A kind of check: what all of them have."""

    thresholds: CheckThresholds = CheckThresholds()
    """What is too slow."""
