"""Emit the golden vectors: a sample of every message, its bytes, and a C++ program's worth of the same samples.

The bytes come from the Python codec and are checked in (``golden_gen.json``), so a change of either codec shows as a difference;
that they are the bytes which real peers speak is proved elsewhere, by recorded conversations.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Protocol, cast

from backend_impl.protocol.emit_cpp import BANNER, camel
from backend_impl.protocol.schema import LIST, Schema, Struct
from lab.apir.wire import Writer


class Encodable(Protocol):
    """A message of the generated codec."""

    def encode(self, writer: Writer) -> None:
        """Append it."""


class Samples:
    """Makes sample values, each different from the ones before, the same in every run."""

    def __init__(self, schema: Schema, codec: ModuleType) -> None:
        self._schema = schema
        self._codec = codec
        self._structs = {struct.name: struct for struct in schema.structs}
        self._next = 0

    def scalar(self, kind: str) -> int | bool:
        """A value of a scalar type, with its highest bit set now and then."""
        self._next += 1
        size = {"u8": 8, "i32": 32, "u32": 32, "i64": 64, "u64": 64}.get(kind)
        if size is None:
            return self._next % 2 == 1
        value = (self._next * 0x9E3779B97F4A7C15 + 0x1234567) % (1 << size)
        return value - (1 << size) if kind.startswith("i") and value >> (size - 1) else value

    def struct(self, struct: Struct) -> object:
        """A filled struct."""
        values: dict[str, object] = {}
        for field in struct.fields:
            if field.type == "char":
                self._next += 1
                values[field.name] = f"name {self._next}".encode()
            elif field.count > 1:
                values[field.name] = tuple(self.scalar(field.type) for _ in range(field.count))
            else:
                values[field.name] = self.scalar(field.type)
        return getattr(self._codec, camel(struct.name))(**values)

    def op(self) -> object:
        """An op with a handle, a view source and two sources."""
        raw = self._structs["raw_tensor"]
        tensor = dataclasses.replace(cast("Any", self.struct(raw)), buffer=1, view_src=2, src=(3, 4, *(0,) * 8))
        return self._codec.OpRecord(tensor, self.scalar("u64"), self.struct(raw), (self.struct(raw), self.struct(raw)))

    def item(self, kind: str) -> object:
        """A value of any type of the schema."""
        listed = LIST.fullmatch(kind)
        if listed:
            return (self.item(listed.group(1)), self.item(listed.group(1)))
        if kind == "string":
            self._next += 1
            return f"text {self._next}"
        if kind == "op":
            return self.op()
        return self.struct(self._structs[kind]) if kind in self._structs else self.scalar(kind)

    def messages(self) -> Iterator[tuple[str, Encodable]]:
        """Every message by name."""
        for message in self._schema.all_messages():
            values = {field.name: self.item(field.type) for field in message.fields}
            yield message.name, getattr(self._codec, camel(message.name))(**values)


def encoded(message: Encodable) -> bytes:
    """Bytes of a message."""
    writer = Writer()
    message.encode(writer)
    return writer.data


def emit_json(schema: Schema, codec: ModuleType) -> str:
    """The vectors: hex by name of the message."""
    vectors = {name: encoded(message).hex() for name, message in Samples(schema, codec).messages()}
    return json.dumps(vectors, indent=1) + "\n"


def emit_cpp(schema: Schema, codec: ModuleType) -> str:
    """A header with a function that visits every message, filled, with its golden bytes."""
    return "\n".join(cpp_lines(schema, codec)) + "\n"


def cpp_lines(schema: Schema, codec: ModuleType) -> Iterator[str]:
    """Its lines."""
    yield BANNER
    yield "#pragma once"
    yield ""
    yield '#include "apir_gen.hpp"'
    yield ""
    yield "namespace apir {"
    yield ""
    yield "// Calls visit(name, filled message, golden bytes in hex) for every message of the protocol."
    yield "template <typename Visit> void visit_golden(Visit &&visit) {"
    for name, message in Samples(schema, codec).messages():
        yield "    {"
        yield f"        {camel(name)} m;"
        for line in assignments("m", message):
            yield f"        {line}"
        yield f'        visit("{name}", m, "{encoded(message).hex()}");'
        yield "    }"
    yield "}"
    yield ""
    yield "} // namespace apir"


def assignments(target: str, value: Any) -> Iterator[str]:
    """Statements that give ``target`` the value."""
    for field in dataclasses.fields(value):
        item, place = getattr(value, field.name), f"{target}.{field.name}"
        if isinstance(item, tuple):
            yield from sequence(place, item)
        elif dataclasses.is_dataclass(item):
            yield from assignments(place, item)
        elif isinstance(item, bytes):
            yield f'std::strcpy({place}, "{item.decode()}");'
        else:
            yield f"{place} = {literal(item)};"


def sequence(place: str, items: tuple[Any, ...]) -> Iterator[str]:
    """Statements that fill an array or a vector."""
    if place.rsplit(".", maxsplit=1)[-1] in {"nodes", "tensors", "positions", "dropped"}:
        yield f"{place}.resize({len(items)});"
    for index, item in enumerate(items):
        if dataclasses.is_dataclass(item):
            yield from assignments(f"{place}[{index}]", item)
        else:
            yield f"{place}[{index}] = {literal(item)};"


def literal(value: object) -> str:
    """A C++ literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return (
            f"{value}u" if 0 <= value < 2**32 else f"{value}ull" if value >= 0 else f"{value}" if value > -(2**31) else f"{value}ll"
        )
    return f'"{value}"'
