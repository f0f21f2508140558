"""Emit the C++ codec: ``backend_impl/wire/apir_gen.hpp``."""

from __future__ import annotations

from collections.abc import Iterator

from backend_impl.protocol.schema import LIST, SCALARS, Call, Enum, Extension, Field, Message, Schema, Struct

BANNER = "// Generated from backend_impl/protocol/apir.toml by `python -m backend_impl.protocol`. Do not edit."

CPP_TYPES = {
    "bool": "bool",
    "u8": "uint8_t",
    "i32": "int32_t",
    "u32": "uint32_t",
    "i64": "int64_t",
    "u64": "uint64_t",
    "char": "char",
    "string": "std::string",
    "op": "OpRecord",
}
METHODS = {"bool": "boolean", "u8": "u8", "i32": "i32", "u32": "u32", "i64": "i64", "u64": "u64"}
SMALLEST = {"bool": 4, "u8": 4, "i32": 4, "u32": 4, "i64": 8, "u64": 8}


def camel(name: str) -> str:
    """``buffer_set_tensor`` as ``BufferSetTensor``."""
    return "".join(part.capitalize() for part in name.split("_"))


def emit(schema: Schema) -> str:
    """The whole header as text."""
    return "\n".join(lines(schema)) + "\n"


def lines(schema: Schema) -> Iterator[str]:
    """Its lines."""
    yield BANNER
    yield "#pragma once"
    yield ""
    for header in ("array", "cstdint", "cstring", "string", "vector"):
        yield f"#include <{header}>"
    yield ""
    yield '#include "reader.hpp"'
    yield '#include "short_copies.hpp"'
    yield '#include "writer.hpp"'
    yield ""
    yield "namespace apir {"
    yield ""
    yield f"inline constexpr uint32_t protocol_major = {schema.protocol.major};"
    yield f"inline constexpr uint32_t protocol_minor = {schema.protocol.minor};"
    yield "// Longest string that is accepted from the other side, in bytes without the NUL."
    yield "inline constexpr size_t max_string = 4095;"
    for constant in schema.constants:
        yield f"// {constant.doc}"
        yield f"inline constexpr uint32_t {constant.name} = {constant.value};"
    for enum in schema.enums:
        yield from enum_lines(enum)
    yield from extension_lines(schema.extensions)
    yield from call_lines(schema.calls)
    for struct in schema.structs:
        yield from struct_lines(struct)
    yield ""
    yield "} // namespace apir"
    yield ""
    yield '#include "op_record.hpp"'
    yield ""
    yield "namespace apir {"
    for message in schema.all_messages():
        yield from message_lines(message, schema)
    yield ""
    yield "} // namespace apir"


def enum_lines(enum: Enum) -> Iterator[str]:
    """An enum class and its names."""
    yield ""
    yield f"// {enum.doc}"
    yield f"enum class {camel(enum.name)} : {CPP_TYPES[enum.type]} {{"
    for value in enum.values:
        yield f"    {value.name} = {value.value}, // {value.doc}"
    yield "};"


def extension_lines(extensions: tuple[Extension, ...]) -> Iterator[str]:
    """The extensions' bits and names."""
    yield ""
    yield "// Extensions, as bits of a negotiation."
    yield "enum class Extension : uint64_t {"
    for extension in extensions:
        yield f"    {extension.name} = uint64_t{{1}} << {extension.bit}, // {extension.doc}"
    yield "};"
    yield ""
    yield "struct NamedExtension {"
    yield "    Extension extension;"
    yield "    const char *name;"
    yield "};"
    yield f"inline constexpr std::array<NamedExtension, {len(extensions)}> all_extensions = {{{{"
    for extension in extensions:
        yield f'    {{Extension::{extension.name}, "{extension.name}"}},'
    yield "}};"
    for by in ("component", "host_library"):
        names = [f"uint64_t(Extension::{extension.name})" for extension in extensions if extension.by == by]
        yield f"inline constexpr uint64_t {by}_extensions = {' | '.join(names) or '0'};"


def call_lines(calls: tuple[Call, ...]) -> Iterator[str]:
    """The numbers of all calls and their names."""
    yield ""
    yield "// Forward calls."
    yield "enum class Call : uint32_t {"
    for call in calls:
        yield f"    {call.name} = {call.number}, // {call.doc}"
    yield "};"
    yield ""
    yield "inline constexpr std::array all_calls = {"
    for call in calls:
        yield f"    Call::{call.name},"
    yield "};"
    yield ""
    yield '// Name of a Forward call; "unknown" for a number that no call has.'
    yield "constexpr const char *call_name(uint32_t number) {"
    yield "    switch (number) {"
    for call in calls:
        yield f'    case {call.number}: return "{call.name}";'
    yield '    default: return "unknown";'
    yield "    }"
    yield "}"


def struct_lines(struct: Struct) -> Iterator[str]:
    """A struct with C layout, its writer and its reader."""
    name = camel(struct.name)
    yield ""
    yield f"// {struct.doc}"
    yield f"struct {name} {{"
    yield f"    static constexpr size_t wire_size = {struct.size};"
    for field in struct.fields:
        array = f"[{field.count}]" if field.count > 1 else ""
        yield f"    {CPP_TYPES[field.type]} {field.name}{array} = {{}}; // {field.doc}"
    yield "};"
    yield ""
    yield f"inline void write(Writer &writer, const {name} &value) {{"
    yield f"    uint8_t *at = writer.room({name}::wire_size);"
    yield "    if (at == nullptr) return;"
    yield f"    std::memset(at, 0, {name}::wire_size);"
    for field in struct.fields:
        if field.type == "char":
            yield "    // Up to the NUL: what is behind it is stale and stays here."
            yield f"    copy_name(at + {field.offset}, value.{field.name});"
        else:
            yield f"    std::memcpy(at + {field.offset}, &value.{field.name}, sizeof value.{field.name});"
    yield "}"
    yield ""
    yield f"inline bool read(Reader &reader, {name} &value) {{"
    yield f"    value = {name}{{}};"
    yield f"    const uint8_t *at = reader.bytes({name}::wire_size);"
    yield "    if (at == nullptr) return false;"
    for field in struct.fields:
        yield f"    std::memcpy(&value.{field.name}, at + {field.offset}, sizeof value.{field.name});"
        if field.type == "char":
            yield f"    value.{field.name}[sizeof value.{field.name} - 1] = 0;"
    yield "    return true;"
    yield "}"


def cpp_type(field_type: str) -> str:
    """C++ type of a message's item."""
    listed = LIST.fullmatch(field_type)
    if listed:
        return f"std::vector<{cpp_type(listed.group(1))}>"
    return CPP_TYPES.get(field_type, camel(field_type))


def message_lines(message: Message, schema: Schema) -> Iterator[str]:
    """A message with its writer and reader."""
    name = camel(message.name)
    yield ""
    yield f"// {message.doc}"
    yield f"struct {name} {{"
    for field in message.fields:
        yield f"    {cpp_type(field.type)} {field.name}{{}}; // {field.doc}"
    yield "};"
    yield ""
    unnamed = "" if message.fields else "[[maybe_unused]] "
    yield f"inline void write({unnamed}Writer &writer, {unnamed}const {name} &value) {{"
    for field in message.fields:
        yield from write_lines(field)
    yield "}"
    yield ""
    yield f"inline bool read(Reader &reader, {name} &value) {{"
    yield f"    value = {name}{{}};"
    for field in message.fields:
        yield from read_lines(field, schema)
    yield "    return !reader.failed();"
    yield "}"


def write_lines(field: Field) -> Iterator[str]:
    """Statements that write one item."""
    listed = LIST.fullmatch(field.type)
    if listed:
        yield f"    writer.u32(static_cast<uint32_t>(value.{field.name}.size()));"
        yield f"    for (const auto &item : value.{field.name}) {write_call(listed.group(1), 'item')};"
    else:
        yield f"    {write_call(field.type, f'value.{field.name}')};"


def write_call(item_type: str, value: str) -> str:
    """The expression that writes one value."""
    if item_type in SCALARS:
        return f"writer.{METHODS[item_type]}({value})"
    return f"writer.string({value})" if item_type == "string" else f"write(writer, {value})"


def read_lines(field: Field, schema: Schema) -> Iterator[str]:
    """Statements that read one item."""
    listed = LIST.fullmatch(field.type)
    if listed:
        item = listed.group(1)
        smallest = SMALLEST.get(item) or next(struct.size for struct in schema.structs if struct.name == item)
        yield f"    value.{field.name}.resize(reader.count({smallest}));"
        target = f"for (auto &item : value.{field.name}) "
        yield f"    {target}{f'item = reader.{METHODS[item]}()' if item in SCALARS else 'read(reader, item)'};"
        return
    condition = "if (reader.remaining() != 0) " if field.optional else ""
    if field.type in SCALARS:
        yield f"    {condition}value.{field.name} = reader.{METHODS[field.type]}();"
    elif field.type == "string":
        yield f"    {condition}value.{field.name} = reader.string(max_string);"
    else:
        yield f"    {condition}read(reader, value.{field.name});"
