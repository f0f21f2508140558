"""Parse and check the protocol's schema.

``load`` reads a file into frozen values and reports everything wrong with it at once, each with its key path, such as
``calls[3].reply[0].type``.
"""

from __future__ import annotations

import keyword
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from lab.errors import ConfigError, ConfigProblem

Version = tuple[int, int]

SCALARS = ("bool", "u8", "i32", "u32", "i64", "u64")
MESSAGE_ONLY = ("string", "op")
SCALAR_BYTES = {"char": 1, "i32": 4, "u32": 4, "i64": 8, "u64": 8}
FIRST_EXTENSION = 64
NEGOTIATION = "negotiate"
BITS = 64
LIST = re.compile(r"list<(\w+)>")
CPP_KEYWORDS = frozenset(
    {"bool", "case", "char", "const", "default", "delete", "double", "enum", "extern", "float", "int", "long", "namespace", "new"}
    | {"operator", "private", "public", "register", "short", "signed", "static", "struct", "switch", "template", "this", "typedef"}
    | {"union", "unsigned", "void", "volatile"}
)
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


class Frozen(BaseModel):
    """A table of the file: immutable, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Protocol(Frozen):
    """Name and version of the protocol."""

    name: str
    major: int
    minor: int
    doc: str


class Constant(Frozen):
    """A named number."""

    name: str
    value: int
    doc: str


class EnumValue(Frozen):
    """One member of an enum."""

    name: str
    value: int
    doc: str


class Enum(Frozen):
    """A closed set of named numbers of one type."""

    name: str
    type: Literal["u32", "i32"]
    doc: str
    values: tuple[EnumValue, ...]


class StructField(Frozen):
    """A field of a struct with C layout: ``count`` items of ``type`` at ``offset`` bytes."""

    name: str
    type: str
    offset: int
    doc: str
    count: int = 1


class Struct(Frozen):
    """A struct with C layout; bytes that no field covers are stale."""

    name: str
    size: int
    doc: str
    fields: tuple[StructField, ...]


class Field(Frozen):
    """An item of a message. ``optional``: an older peer leaves it out, then it reads as zero."""

    name: str
    type: str
    doc: str
    optional: bool = False
    since: Version | None = None


class Message(Frozen):
    """Items one after another."""

    name: str
    doc: str
    fields: tuple[Field, ...]


class Extension(Frozen):
    """Something beyond the base protocol: ``1 << bit`` in a negotiation. ``by``: who of the host's side has it."""

    name: str
    bit: int
    since: Version
    by: Literal["component", "host_library"]
    doc: str


class Call(Frozen):
    """A Forward call with its request and reply."""

    name: str
    number: int
    doc: str
    since: Version = (0, 1)
    deprecated: Version | None = None
    extension: str | None = None
    request: tuple[Field, ...] = ()
    reply: tuple[Field, ...] = ()


class Schema(Frozen):
    """The whole protocol."""

    protocol: Protocol
    constants: tuple[Constant, ...] = ()
    enums: tuple[Enum, ...] = ()
    structs: tuple[Struct, ...] = ()
    messages: tuple[Message, ...] = ()
    calls: tuple[Call, ...] = ()
    extensions: tuple[Extension, ...] = ()
    retired_calls: tuple[int, ...] = ()

    def all_messages(self) -> tuple[Message, ...]:
        """Messages, then the request and the reply of each call under the names ``<call>_request`` and ``<call>_reply``."""
        made = list(self.messages)
        for call in self.calls:
            made.append(Message(name=f"{call.name}_request", doc=f"Request of call {call.number}. {call.doc}", fields=call.request))
            made.append(Message(name=f"{call.name}_reply", doc=f"Reply of call {call.number}.", fields=call.reply))
        return tuple(made)


def load(path: Path) -> Schema:
    """Read a schema.

    Raises:
        ConfigError: with all problems of the file, each with its key path.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(path, [ConfigProblem("", str(error))]) from error
    try:
        schema = Schema.model_validate(with_tuples(raw))
    except ValidationError as error:
        problems = [ConfigProblem(key_path(entry["loc"]), entry["msg"]) for entry in error.errors()]
        raise ConfigError(path, problems) from error
    found = tuple(problems_of(schema))
    if found:
        raise ConfigError(path, found)
    return schema


def with_tuples(value: object) -> object:
    """TOML's arrays as tuples, for the strict models."""
    if isinstance(value, dict):
        return {key: with_tuples(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(with_tuples(item) for item in value)
    return value


def key_path(location: tuple[int | str, ...]) -> str:
    """``("calls", 3, "name")`` as ``calls[3].name``."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def problems_of(schema: Schema) -> Iterator[ConfigProblem]:
    """Everything that the types alone cannot refuse."""
    yield from name_problems(schema)
    yield from number_problems(schema)
    yield from extension_problems(schema)
    yield from struct_problems(schema)
    yield from message_problems(schema)


def name_problems(schema: Schema) -> Iterator[ConfigProblem]:
    """Names are snake_case and unique in their kind; everything is documented."""
    kinds: dict[str, tuple[Constant | Enum | Struct | Message | Call | Extension, ...]] = {
        "constants": schema.constants,
        "enums": schema.enums,
        "structs": schema.structs,
        "messages": schema.messages,
        "calls": schema.calls,
        "extensions": schema.extensions,
    }
    for kind, items in kinds.items():
        yield from named_problems(kind, tuple((item.name, item.doc) for item in items))
    for index, enum in enumerate(schema.enums):
        yield from named_problems(f"enums[{index}].values", tuple((value.name, value.doc) for value in enum.values))
    for index, struct in enumerate(schema.structs):
        yield from named_problems(f"structs[{index}].fields", tuple((field.name, field.doc) for field in struct.fields))


def named_problems(place: str, items: tuple[tuple[str, str], ...]) -> Iterator[ConfigProblem]:
    """Problems of one list of named things."""
    seen: set[str] = set()
    for index, (name, doc) in enumerate(items):
        if not NAME.fullmatch(name):
            yield ConfigProblem(f"{place}[{index}].name", f"'{name}' is not snake_case")
        if keyword.iskeyword(name) or name in CPP_KEYWORDS:
            yield ConfigProblem(f"{place}[{index}].name", f"'{name}' is a word of Python or C++")
        if name in seen:
            yield ConfigProblem(f"{place}[{index}].name", f"'{name}' stands here twice")
        if not doc.strip():
            yield ConfigProblem(f"{place}[{index}].doc", "is empty")
        seen.add(name)


def number_problems(schema: Schema) -> Iterator[ConfigProblem]:
    """Numbers are unique, not retired, below 64 exactly for the calls of the base protocol; versions are not of the future."""
    numbers = [call.number for call in schema.calls]
    for index, call in enumerate(schema.calls):
        place = f"calls[{index}]"
        if call.number in numbers[:index]:
            yield ConfigProblem(f"{place}.number", f"{call.number} is taken")
        if call.number in schema.retired_calls:
            yield ConfigProblem(f"{place}.number", f"{call.number} is retired and never used again")
        if call.number < 0:
            yield ConfigProblem(f"{place}.number", "is negative")
        if (call.number >= FIRST_EXTENSION) != (call.extension is not None):
            yield ConfigProblem(f"{place}.extension", f"calls from {FIRST_EXTENSION} up, and only they, name their extension")
        yield from version_problems(place, call, (schema.protocol.major, schema.protocol.minor))
    for index, enum in enumerate(schema.enums):
        yield from value_problems(f"enums[{index}]", enum)


def extension_problems(schema: Schema) -> Iterator[ConfigProblem]:
    """Bits are unique and fit; calls name extensions that exist."""
    bits = [extension.bit for extension in schema.extensions]
    for index, extension in enumerate(schema.extensions):
        place = f"extensions[{index}]"
        if extension.bit in bits[:index]:
            yield ConfigProblem(f"{place}.bit", f"{extension.bit} is taken")
        if not 0 <= extension.bit < BITS:
            yield ConfigProblem(f"{place}.bit", f"{extension.bit} is not one of {BITS}")
        if extension.since > (schema.protocol.major, schema.protocol.minor):
            yield ConfigProblem(f"{place}.since", "is later than the protocol's own version")
    known = {NEGOTIATION, *(extension.name for extension in schema.extensions)}
    for index, call in enumerate(schema.calls):
        if call.extension is not None and call.extension not in known:
            yield ConfigProblem(f"calls[{index}].extension", f"there is no extension '{call.extension}'")


def version_problems(place: str, call: Call, current: Version) -> Iterator[ConfigProblem]:
    """No version is later than the protocol's own."""
    for key, version in (("since", call.since), ("deprecated", call.deprecated)):
        if version is not None and version > current:
            yield ConfigProblem(f"{place}.{key}", f"{version[0]}.{version[1]} is later than the protocol's own version")


def value_problems(place: str, enum: Enum) -> Iterator[ConfigProblem]:
    """Values of an enum are unique and of its type."""
    values = [value.value for value in enum.values]
    for position, value in enumerate(values):
        if value in values[:position]:
            yield ConfigProblem(f"{place}.values[{position}].value", f"{value} is taken")
        if enum.type == "u32" and value < 0:
            yield ConfigProblem(f"{place}.values[{position}].value", f"{value} is not a u32")


def struct_problems(schema: Schema) -> Iterator[ConfigProblem]:
    """Fields of a struct lie inside it, aligned, one behind the other."""
    for index, struct in enumerate(schema.structs):
        end = 0
        for position, field in enumerate(struct.fields):
            place = f"structs[{index}].fields[{position}]"
            size = SCALAR_BYTES.get(field.type)
            if size is None:
                yield ConfigProblem(f"{place}.type", f"'{field.type}' is not one of {', '.join(SCALAR_BYTES)}")
                continue
            if field.count < 1:
                yield ConfigProblem(f"{place}.count", "is less than 1")
            if field.offset < end:
                yield ConfigProblem(f"{place}.offset", f"{field.offset} overlaps the field before, which ends at {end}")
            if field.offset % size:
                yield ConfigProblem(f"{place}.offset", f"{field.offset} is not a multiple of {size}")
            end = field.offset + size * field.count
            if end > struct.size:
                yield ConfigProblem(f"{place}.offset", f"ends at {end}, beyond the struct's {struct.size}")


def message_problems(schema: Schema) -> Iterator[ConfigProblem]:
    """Types of items are known; what is optional comes last; names of items are unique."""
    places = [(f"messages[{i}].fields", message.fields) for i, message in enumerate(schema.messages)]
    for i, call in enumerate(schema.calls):
        places += [(f"calls[{i}].request", call.request), (f"calls[{i}].reply", call.reply)]
    structs = tuple(struct.name for struct in schema.structs)
    for place, fields in places:
        yield from named_problems(place, tuple((field.name, field.doc) for field in fields))
        optional = False
        for position, field in enumerate(fields):
            listed = LIST.fullmatch(field.type)
            known = (*SCALARS, *structs) if listed else (*SCALARS, *MESSAGE_ONLY, *structs)
            if (listed.group(1) if listed else field.type) not in known:
                yield ConfigProblem(f"{place}[{position}].type", f"'{field.type}' is not a type")
            if optional and not field.optional:
                yield ConfigProblem(f"{place}[{position}].optional", "stands behind an optional item and is not optional itself")
            optional = optional or field.optional
