"""Recorded conversations: JSON lines, one ioctl or one command each, in order.

Fields of a command (``tests/data/traces`` has recorded ones): ``command`` the submission's bytes, ``call`` Forward number or name,
``return_code``, ``reply`` the payload behind ``notify``, ``data_resource`` and ``data_bytes``, ``data_in`` and ``data_out``,
``data_along`` a list of what the calls before the last one of a batch send in data resources, one by one; bytes in hex. Our own
recordings (``VIRGL_APIR_TRACE``) add ``start_ns`` and ``duration_ns``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lab.apir.protocol_gen import (
    REPLIES,
    REQUESTS,
    BatchedCall,
    BatchRequest,
    Call,
    CommandHeader,
    OnDeviceRequest,
    Reply,
    Request,
)
from lab.apir.wire import Reader
from lab.errors import ConfigError, ConfigProblem, WireError

HEADER_BYTES = 12
ROW_START = "{"
"""What else begins otherwise may be an image of a disk, or have no end: it is not read on."""
ANSWER = ',"return_code"'
"""With what the answer in a row begins, as it is recorded."""
MALFORMED = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, WireError)
"""What reading a row raises of content that is none."""


@dataclass(frozen=True, slots=True)
class Ioctl:
    """A DRM ioctl of the guest library; ``blob`` is (resource, size in bytes) for a created blob."""

    name: str
    blob: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Batched:
    """A call of a batch, on a device. ``data``: what it sends in a data resource."""

    device: int
    call: int
    payload: bytes
    data: bytes = b""

    @property
    def data_resource(self) -> int | None:
        """Which data resource the call names; None: none, nor does a request that does not decode."""
        if self.call not in REQUESTS:
            return None
        try:
            request = REQUESTS[Call(self.call)].decode(Reader(self.payload))
        except WireError:
            return None
        resource = getattr(request, "resource", None)
        return None if resource is None else int(resource)


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its answer; ``call`` is None for HandShake and LoadLibrary, ``return_code`` for one never answered.

    Where on_device carries a call, ``call`` and ``payload`` are the carried one's, ``device`` the one that is addressed
    (None: the call stands for itself). Of a batch they are the last call's, and ``along`` are the calls before it.
    """

    header: CommandHeader
    name: str
    call: int | None
    payload: bytes
    return_code: int | None
    reply: bytes
    data_resource: int | None = None
    data_bytes: int = 0
    data_in: bytes = b""
    data_out: bytes = b""
    start_ns: int | None = None
    duration_ns: int | None = None
    device: int | None = None
    along: tuple[Batched, ...] = ()


Row = Ioctl | Command


def read_trace(path: Path) -> tuple[Row, ...]:
    """Read a recorded conversation. Of a last line that was cut off the command is read if it is whole, else nothing.

    Raises:
        ConfigError: the file cannot be read, or a line is no row of a trace; with the number of the line.
    """
    try:
        with open(path, encoding="utf-8") as file:
            begin = file.read(1)
            if begin not in {ROW_START, ""}:
                raise ConfigError(path, [ConfigProblem("", f"is no trace: it begins with {begin!r}, not with a row of JSON")])
            lines = (begin + file.read()).splitlines(keepends=True)
    except OSError as error:
        raise ConfigError(path, [ConfigProblem("", error.strerror or str(error))]) from error
    except UnicodeDecodeError as error:
        raise ConfigError(path, [ConfigProblem("", str(error))]) from error
    return tuple(rows(path, lines))


def rows(path: Path, lines: list[str]) -> Iterator[Row]:
    """Rows of the lines."""
    for number, line in enumerate(lines, 1):
        if number == len(lines) and not line.endswith("\n") and not is_json(line):
            yield from unfinished(line)
            return
        try:
            yield row(json.loads(line))
        except MALFORMED as error:
            raise ConfigError(path, [ConfigProblem("", f"not a row of a trace: {error}", line=number)]) from error


def unfinished(line: str) -> Iterator[Row]:
    """The command that a killed process was at, whose request is written before it is carried out; nothing of less than that.

    Its answer is written in one piece: one that is cut off is none.
    """
    with contextlib.suppress(*MALFORMED):
        yield row(json.loads(line.partition(ANSWER)[0] + "}"))


def is_json(line: str) -> bool:
    """Whether a line is whole."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def row(raw: dict[str, Any]) -> Row:
    """One row of its JSON object."""
    if raw["kind"] == "ioctl":
        blob = (required(raw, "res_handle"), required(raw, "size")) if raw["ioctl"] == "RESOURCE_CREATE_BLOB" else None
        return Ioctl(str(raw["ioctl"]), blob)
    data = bytes.fromhex(raw["command"])
    header = CommandHeader.decode(Reader(data))
    call = raw.get("call", header.flags)
    payload, device = data[HEADER_BYTES:], None
    along: tuple[Batched, ...] = ()
    with contextlib.suppress(WireError):  # a guest sends what it likes, and what it sent is what is read here
        if call == Call.ON_DEVICE:
            reader = Reader(payload)
            address = OnDeviceRequest.decode(reader)
            call, device, payload = address.call, address.device, payload[reader.offset :]
        elif call == Call.BATCH:
            *along_list, last = batched(payload)
            along = with_data(along_list, raw.get("data_along"))
            call, payload = last.call, last.payload
            device = last.device or None
    return Command(
        header=header,
        name=call_name(call),
        call=call if isinstance(call, int) else None,
        payload=payload,
        return_code=number(raw, "return_code"),
        reply=bytes.fromhex(raw.get("reply", "")),
        data_resource=number(raw, "data_resource"),
        data_bytes=number(raw, "data_bytes") or 0,
        data_in=bytes.fromhex(raw.get("data_in", "")),
        data_out=bytes.fromhex(raw.get("data_out", "")),
        start_ns=number(raw, "start_ns"),
        duration_ns=number(raw, "duration_ns"),
        device=device,
        along=along,
    )


def number(raw: dict[str, Any], key: str) -> int | None:
    """A field that is a number where it is there. Raises ValueError for what is none, or has more than 64 bits."""
    value = raw.get(key)
    if value is not None and not (isinstance(value, int) and 0 <= value < 1 << 64):
        raise ValueError(f"{key} is no number of 64 bits")
    return value


def required(raw: dict[str, Any], key: str) -> int:
    """A field that is a number and must be there. Raises ValueError where it is not."""
    value = number(raw, key)
    if value is None:
        raise ValueError(f"{key} is missing")
    return value


def call_name(call: object) -> str:
    """``buffer_set_tensor``; what is no number of a call stays as it is."""
    return Call(call).name.lower() if isinstance(call, int) and call in Call._value2member_map_ else str(call)


def batched(payload: bytes) -> tuple[Batched, ...]:
    """The calls of a batch, at least one. Raises WireError when they are not all there."""
    reader = Reader(payload)
    calls = []
    for _ in range(BatchRequest.decode(reader).count):
        head = BatchedCall.decode(reader)
        calls.append(Batched(head.device, head.call, reader.raw(head.size)))
    if not calls:
        raise WireError("a batch of no calls", 0)
    return tuple(calls)


def with_data(along: Sequence[Batched], data: Sequence[str] | None) -> tuple[Batched, ...]:
    """The calls before the last one of a batch, each with its data in hex. Raises ValueError when it cannot be theirs."""
    if data is None:
        return tuple(along)
    calls = tuple(replace(each, data=bytes.fromhex(text)) for each, text in zip(along, data, strict=True))
    for each in calls:
        if each.data and each.data_resource is None:
            raise ValueError(f"data of {call_name(each.call)}, which names no data resource")
    return calls


def shown(command: Command) -> str:
    """One line for a reader: what was asked, what was answered, what went along, and how long it took."""
    parts = [f"{command.name:28}", f"{code_text(command):>8}"]
    if command.along:
        parts.append(f"behind {', '.join(along_text(each) for each in command.along)}")
    if command.device is not None:
        parts.append(f"on device {command.device}")
    if command.call is not None and command.call in REQUESTS:
        parts.append(f"({fields_in(REQUESTS[Call(command.call)], command.payload)})")
        if command.reply:
            parts.append(f"-> ({fields_in(REPLIES[Call(command.call)], command.reply)})")
    if command.data_resource is not None:
        parts.append(f"[{command.data_bytes} bytes in resource {command.data_resource}]")
    if command.duration_ns is not None:
        parts.append(f"{command.duration_ns / 1000:.1f} us")
    return " ".join(parts)


def along_text(each: Batched) -> str:
    """A call that went along, with how much data, for a reader."""
    return f"{call_name(each.call)} [{len(each.data)} bytes]" if each.data else call_name(each.call)


def code_text(command: Command) -> str:
    """The return code for a reader."""
    return "no reply" if command.return_code is None else f"code {command.return_code}"


def fields_in(kind: type[Request | Reply], data: bytes) -> str:
    """The fields of a message, or that it is none."""
    try:
        return fields_of(kind.decode(Reader(data)))
    except WireError as error:
        return f"malformed: {error}"


def fields_of(message: Any) -> str:
    """The fields of a message that fit on a line: a tensor by its name and shape."""
    return ", ".join(f"{name}={value_text(getattr(message, name))}" for name in message.__dataclass_fields__)


def value_text(value: Any) -> str:
    """A field's value, short."""
    if hasattr(value, "ne"):
        shape = "x".join(str(size) for size in value.ne)
        return f"{value.name.decode(errors='replace') or 'tensor'}[{shape}] type {value.type}"
    if hasattr(value, "tensor"):
        return f"op {value.tensor.op} {value_text(value.tensor)} of {len(value.src)} sources"
    if isinstance(value, int) and not isinstance(value, bool) and value > 0xFFFFFFFF:  # noqa: PLR2004 - beyond 32 bits it is a handle
        return hex(value)
    return str(value)
