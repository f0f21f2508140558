"""Emit the Python codec: ``lab/apir/protocol_gen.py``."""

from __future__ import annotations

from collections.abc import Iterator

from backend_impl.protocol.emit_cpp import camel
from backend_impl.protocol.schema import LIST, NEGOTIATION, SCALARS, Enum, Field, Message, Schema, Struct

BANNER = "# Generated from backend_impl/protocol/apir.toml by `python -m backend_impl.protocol`. Do not edit."
FORMATS = {"i32": "i", "u32": "I", "i64": "q", "u64": "Q"}
METHODS = {"bool": "boolean", "u8": "u8", "i32": "i32", "u32": "u32", "i64": "i64", "u64": "u64", "string": "string", "op": "op"}
PYTHON_TYPES = {"bool": "bool", "string": "str", "op": "OpRecord", "char": "bytes"}
ZEROS = {"bool": "False", "string": '""', "char": 'b""'}

OP_RECORD = '''

@dataclass(frozen=True, slots=True)
class OpRecord:
    """An op in line: the tensor, a handle if it has a buffer, its view source if it has one, its sources up to the first 0."""

    tensor: RawTensor
    handle: int | None = None
    view_src: RawTensor | None = None
    src: tuple[RawTensor, ...] = ()

    def encode(self, writer: Writer) -> None:
        """Append this op."""
        self.tensor.encode(writer)
        if self.handle is not None:
            writer.u64(self.handle)
        for part in (*(() if self.view_src is None else (self.view_src,)), *self.src):
            part.encode(writer)

    @classmethod
    def decode(cls, reader: Reader) -> OpRecord:
        """Read one. Raises WireError."""
        tensor = RawTensor.decode(reader)
        handle = reader.u64() if tensor.buffer else None
        view_src = RawTensor.decode(reader) if tensor.view_src else None
        count = next((index for index, pointer in enumerate(tensor.src) if pointer == 0), len(tensor.src))
        return cls(tensor, handle, view_src, tuple(RawTensor.decode(reader) for _ in range(count)))'''


def emit(schema: Schema) -> str:
    """The whole module as text."""
    return "\n".join(lines(schema)) + "\n"


def lines(schema: Schema) -> Iterator[str]:
    """Its lines."""
    yield BANNER
    yield '"""The protocol\'s numbers and messages; each message encodes itself and is decoded by its class."""'
    yield ""
    yield "from __future__ import annotations"
    yield ""
    yield "import struct"
    yield "from dataclasses import dataclass"
    yield "from enum import IntEnum, IntFlag"
    yield "from typing import ClassVar"
    yield ""
    yield "from lab.apir.wire import Reader, Writer, until_nul"
    yield ""
    yield f"PROTOCOL = ({schema.protocol.major}, {schema.protocol.minor})"
    yield ""
    for constant in schema.constants:
        yield f"{constant.name.upper()} = {constant.value}"
        yield f'"""{constant.doc}"""'
    for enum in schema.enums:
        yield from enum_lines(enum.name, enum)
    yield from extension_lines(schema)
    yield from call_lines(schema)
    yield from owner_lines(schema)
    for struct in schema.structs:
        yield from struct_lines(struct)
    yield from op_lines(schema)
    for message in schema.all_messages():
        yield from message_lines(message)
    yield from table_lines(schema)


def enum_lines(name: str, enum: Enum) -> Iterator[str]:
    """An enum."""
    yield ""
    yield ""
    yield f"class {camel(name)}(IntEnum):"
    yield f'    """{enum.doc}"""'
    yield ""
    for value in enum.values:
        yield f"    {value.name.upper()} = {value.value}"
        yield f'    """{value.doc}"""'


def extension_lines(schema: Schema) -> Iterator[str]:
    """The extensions' bits."""
    yield ""
    yield ""
    yield "class Extension(IntFlag):"
    yield '    """Extensions, as bits of a negotiation."""'
    yield ""
    for extension in schema.extensions:
        yield f"    {extension.name.upper()} = 1 << {extension.bit}"
        yield f"    {docstring(extension.doc)}"
    if not schema.extensions:
        yield "    pass"


def call_lines(schema: Schema) -> Iterator[str]:
    """The numbers of all calls."""
    yield ""
    yield ""
    yield "class Call(IntEnum):"
    yield '    """Forward calls."""'
    yield ""
    for call in schema.calls:
        yield f"    {call.name.upper()} = {call.number}"
        yield f"    {docstring(call.doc)}"


def owner_lines(schema: Schema) -> Iterator[str]:
    """Which extension each call belongs to."""
    yield ""
    yield ""
    yield "EXTENSION_OF: dict[Call, Extension] = {"
    for call in schema.calls:
        if call.extension is not None and call.extension != NEGOTIATION:
            yield f"    Call.{call.name.upper()}: Extension.{call.extension.upper()},"
    yield "}"
    yield '"""The extension that has a call; the others are of the protocol itself, or negotiate."""'


def struct_lines(struct: Struct) -> Iterator[str]:
    """A struct with C layout."""
    yield ""
    yield ""
    yield "@dataclass(frozen=True, slots=True)"
    yield f"class {camel(struct.name)}:"
    yield f'    """{struct.doc}"""'
    yield ""
    yield f'    LAYOUT: ClassVar[struct.Struct] = struct.Struct("{layout(struct)}")'
    for field in struct.fields:
        kind = PYTHON_TYPES.get(field.type, "int")
        if field.count > 1 and field.type != "char":
            yield f"    {field.name}: tuple[int, ...] = (0,) * {field.count}"
        else:
            yield f"    {field.name}: {kind} = {ZEROS.get(field.type, '0')}"
    yield ""
    yield "    def encode(self, writer: Writer) -> None:"
    yield '        """Append this struct; bytes that no field covers are zero."""'
    values = ", ".join(
        f"*self.{field.name}" if field.count > 1 and field.type != "char" else f"self.{field.name}" for field in struct.fields
    )
    yield f"        writer.raw(self.LAYOUT.pack({values}))"
    yield ""
    yield "    @classmethod"
    yield f"    def decode(cls, reader: Reader) -> {camel(struct.name)}:"
    yield '        """Read one. Raises WireError."""'
    yield "        values = cls.LAYOUT.unpack(reader.raw(cls.LAYOUT.size))"
    yield f"        return cls({', '.join(unpacked(struct))})"


def unpacked(struct: Struct) -> Iterator[str]:
    """How each field is taken from the unpacked values."""
    position = 0
    for field in struct.fields:
        if field.type == "char":
            yield f"until_nul(values[{position}])"
            position += 1
        elif field.count > 1:
            yield f"values[{position}:{position + field.count}]"
            position += field.count
        else:
            yield f"values[{position}]"
            position += 1


def layout(struct: Struct) -> str:
    """The struct's format, gaps as pad bytes."""
    text, end = "<", 0
    for field in struct.fields:
        if field.offset > end:
            text += f"{field.offset - end}x"
        size = 1 if field.type == "char" else 4 if field.type in {"i32", "u32"} else 8
        text += f"{field.count}s" if field.type == "char" else f"{field.count if field.count > 1 else ''}{FORMATS[field.type]}"
        end = field.offset + size * field.count
    return text + (f"{struct.size - end}x" if struct.size > end else "")


def op_lines(schema: Schema) -> Iterator[str]:
    """The in-line form of an op; its twin is wire/op_record.hpp."""
    if not any(struct.name == "raw_tensor" for struct in schema.structs):
        return
    yield OP_RECORD


def message_lines(message: Message) -> Iterator[str]:
    """A message."""
    name = camel(message.name)
    yield ""
    yield ""
    yield "@dataclass(frozen=True, slots=True)"
    yield f"class {name}:"
    yield f"    {docstring(message.doc)}"
    yield ""
    for field in message.fields:
        yield f"    {field.name}: {python_type(field.type)}"
    if message.fields:
        yield ""
    yield f"    def encode(self, {'writer' if message.fields else '_writer'}: Writer) -> None:"
    yield '        """Append this message."""'
    for field in message.fields:
        yield from write_lines(field)
    yield ""
    yield "    @classmethod"
    yield f"    def decode(cls, {'reader' if message.fields else '_reader'}: Reader) -> {name}:"
    yield '        """Read one. Raises WireError."""'
    yield f"        return cls({', '.join(read_expression(field) for field in message.fields)})"


def docstring(text: str) -> str:
    """A one-line docstring; raw quotes inside are turned."""
    return '"""' + text.replace('"', "'") + '"""'


def python_type(field_type: str) -> str:
    """Python type of a message's item."""
    listed = LIST.fullmatch(field_type)
    if listed:
        return f"tuple[{python_type(listed.group(1))}, ...]"
    if field_type in SCALARS or field_type in PYTHON_TYPES:
        return PYTHON_TYPES.get(field_type, "int")
    return camel(field_type)


def write_lines(field: Field) -> Iterator[str]:
    """Statements that write one item."""
    listed = LIST.fullmatch(field.type)
    if listed:
        yield f"        writer.u32(len(self.{field.name}))"
        item_type, one = listed.group(1), f"one_of_{field.name}"
        yield f"        for {one} in self.{field.name}:"
        yield f"            {f'writer.{METHODS[item_type]}({one})' if item_type in SCALARS else f'{one}.encode(writer)'}"
    elif field.type in SCALARS or field.type == "string":
        yield f"        writer.{METHODS[field.type]}(self.{field.name})"
    else:
        yield f"        self.{field.name}.encode(writer)"


def read_expression(field: Field) -> str:
    """The expression that reads one item."""
    listed = LIST.fullmatch(field.type)
    if listed:
        item_type = listed.group(1)
        one = f"reader.{METHODS[item_type]}()" if item_type in SCALARS else f"{camel(item_type)}.decode(reader)"
        smallest = (
            "4" if item_type in {"bool", "u8", "i32", "u32"} else "8" if item_type in SCALARS else f"{camel(item_type)}.LAYOUT.size"
        )
        return f"tuple({one} for _ in range(reader.count({smallest})))"
    if field.type in SCALARS or field.type == "string":
        one = f"reader.{METHODS[field.type]}()"
    else:
        one = f"{python_type(field.type)}.decode(reader)"
    if field.optional:
        return f"{one} if reader.remaining else {ZEROS.get(field.type, '0')}"
    return one


def table_lines(schema: Schema) -> Iterator[str]:
    """Requests and replies by call."""
    yield ""
    yield ""
    requests = " | ".join(f"{camel(call.name)}Request" for call in schema.calls)
    replies = " | ".join(f"{camel(call.name)}Reply" for call in schema.calls)
    yield f"Request = {requests}"
    yield f"Reply = {replies}"
    for kind, plural in (("Request", "REQUESTS"), ("Reply", "REPLIES")):
        yield ""
        yield f"{plural}: dict[Call, type[{kind}]] = {{"
        for call in schema.calls:
            yield f"    Call.{call.name.upper()}: {camel(call.name)}{kind},"
        yield "}"
