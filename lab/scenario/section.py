"""What tables of a scenario file are made of: the frozen, strict table, and values that are checked where they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationInfo
from pydantic_core import PydanticCustomError

from lab.scenario.problem import meant

BUILTIN = "builtin"
HOST_LIBRARIES = ("cpu", "vulkan")
LIBRARY_WORDS = (BUILTIN, *HOST_LIBRARIES)
"""What may stand where otherwise a path does."""
PATH_HINT = 'a path, relative to the scenario file; "builtin" is ours'
LIBRARY_HINT = f"{', '.join(HOST_LIBRARIES)} or the path of a ggml backend library"
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


class Section(BaseModel):
    """A table of a scenario file: frozen, strictly typed, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


def existing_file(value: str, info: ValidationInfo, hint: str) -> str:
    """``value`` as an absolute path, which must name a file; relative ones start at the scenario file's folder."""
    folder = info.context.get("folder", Path()) if info.context else Path()
    path = (folder / Path(value).expanduser()).resolve()
    if not path.is_file():
        raise PydanticCustomError("no_file", "there is no file {path}", {"path": str(path), "hint": hint})
    return str(path)


def builtin_or_file(value: str, info: ValidationInfo) -> str:
    """``builtin``, or the path of a file that exists."""
    return value if value == BUILTIN else existing_file(value, info, PATH_HINT)


def known_image(value: str, info: ValidationInfo) -> str:
    """The name of an image there is a recipe for."""
    images = info.context.get("images") if info.context else None
    if images is not None and value not in images:
        raise PydanticCustomError(
            "no_image", "there is no image {name}", {"name": repr(value), "hint": meant(value, sorted(images))}
        )
    return value


def known_ggml_library(value: str, info: ValidationInfo) -> str:
    """``cpu``, ``vulkan`` or the path of a file that exists."""
    if not value:
        raise PydanticCustomError("no_library", "a host ggml library is needed", {"hint": LIBRARY_HINT})
    return value if value in HOST_LIBRARIES else existing_file(value, info, LIBRARY_HINT)


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


def regular_expressions(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Patterns, each of which must be a regular expression."""
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise PydanticCustomError(
                "no_regex", "{pattern} is no regular expression: {why}", {"pattern": repr(pattern), "why": str(error)}
            ) from error
    return patterns


Payload = Annotated[str, AfterValidator(builtin_or_file)]
Seconds = Annotated[float, Field(gt=0)]
Words = Annotated[tuple[str, ...], Field(strict=False)]
Patterns = Annotated[tuple[str, ...], Field(strict=False), AfterValidator(regular_expressions)]
Environment = dict[str, Annotated[str | Literal[False], PlainValidator(variable_value)]]
