# Generated from backend_impl/protocol/apir.toml by `python -m backend_impl.protocol`. Do not edit.
"""The protocol's numbers and messages; each message encodes itself and is decoded by its class."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import ClassVar

from lab.apir.wire import Reader, Writer, until_nul

PROTOCOL = (0, 2)

VENUS_CAPSET = 4
"""virtio-gpu capability set of Venus, routed to APIR while VIRGL_ROUTE_VENUS_TO_APIR is set."""
APIR_CAPSET = 10
"""virtio-gpu capability set of APIR itself."""
VENUS_COMMAND_OFFSET = 331
"""Added to the command type unless the guest chose the APIR capset; a component accepts both forms on both."""
HANDSHAKE_MAGIC = 43806
"""Return code of a HandShake that was understood."""
BLOB_GRANULARITY = 16384
"""Sizes of shared blobs are rounded up to a multiple of this, in bytes."""
REPLY_PAGE_SIZE = 16384
"""Size of a reply resource, in bytes."""
DATA_PAGE_SIZE = 25362432
"""Size of the data resource, in bytes; smaller where the window has no room for it. Today's peer brings a blob of its own for larger transfers; ours carries tensors in pieces, and brings one for larger graphs only."""
COMMAND_BUFFER_SIZE = 4096
"""A command, header included, is at most this long, in bytes; only one with calls that go along with another (batch) may be longer."""
BATCH_COMMAND_SIZE = 16384
"""A command of the extension batch, header included, is at most this long, in bytes: a token of a language model has some ten small writes, of 7 KiB together."""
HANDSHAKE_WAIT_MS = 2000
"""How long the guest waits for the reply to HandShake."""
LOAD_LIBRARY_WAIT_MS = 60000
"""How long the guest waits for the reply to LoadLibrary."""
REPLY_TIMING_SIZE = 16
"""Bytes at the end of a reply resource that belong to the extension timing."""
UNAWAITED_RING = 1
"""Ring of a context (ring_idx of a submission) whose fences a component with the extension bunched_fences completes late, in every context: nobody may wait for them."""
FIRST_EXTENSION_CALL = 64
"""Forward calls from this number up are extensions; a peer without them refuses with any code other than ok."""
MAX_SOURCES = 10
"""Sources of a tensor (GGML_MAX_SRC)."""
TENSOR_FLAG_COMPUTE = 16
"""GGML_TENSOR_FLAG_COMPUTE: a graph node without it is skipped in silence."""
MAX_DEVICES = 16
"""Devices of a host library that a guest offers (extension devices)."""
GRAPH_WAIT_MS = 600000
"""How long a guest waits for a graph where nobody watches over the worker (without extension liveness)."""
RING_ASLEEP_OFFSET = 0
"""u32 in a command ring: 1 while the worker sleeps, or is about to. It stores 1 and 0; who publishes a command swaps 1 for 0 and then owes the doorbell."""
RING_STATE_OFFSET = 64
"""u32 in a command ring: ring_state. Written by the host's side alone once the ring was accepted."""
RING_SLOTS_OFFSET = 128
"""Where the slots of a command ring begin."""
RING_TURN_OFFSET = 0
"""u64 in a slot: ticket t when it is free for command number t, t + 1 when that command stands in it. Written with release order behind the rest of the slot, read with acquire."""
RING_SIZE_OFFSET = 8
"""u32 in a slot: length of the command."""
RING_COMMAND_OFFSET = 16
"""Where the command's bytes begin in a slot: the same as those of an EXECBUFFER submission."""
RING_MOST_SLOTS = 1024
"""Slots of a command ring at most; their number is a power of two from 2 up."""
RING_LARGEST_SLOT = 65600
"""Bytes of a slot at most; a multiple of 64."""
PIPE_PUT_OFFSET = 0
"""u32 in a pipe: bytes of the transfer that were put into its area so far. Written by whoever fills it, with release order."""
PIPE_TAKEN_OFFSET = 64
"""u32 in a pipe: bytes of the transfer that were taken out of its area so far. Written by whoever empties it, with release order."""
PIPE_WORDS_SIZE = 128
"""Bytes of a pipe that belong to its words: its area begins behind them."""
PIPE_GIVEN_UP = 4294967295
"""What a guest that gives a transfer up writes into its word: the host ends the call, which has failed."""
PIPE_LARGEST = 1073741824
"""Bytes of one transfer through a pipe at most."""


class CommandType(IntEnum):
    """First word of a command."""

    HANDSHAKE = 0
    """exchange protocol versions"""
    LOAD_LIBRARY = 1
    """open the host library and initialise it"""
    FORWARD = 2
    """a call of the host library; its number stands in `flags`"""


class ReturnCode(IntEnum):
    """What a reply's first word holds, less 1, for Forward."""

    NO_DISPATCH = 1
    """the host library has no dispatch function, or is not initialised"""
    OK = 4
    """the call was carried out"""
    CALL_FAILED = 5
    """the host library refused or failed the call"""
    UNKNOWN_CALL = 10
    """the host library has no such call"""
    WORKER_LOST = 64
    """ours: the process that serves the context has ended; the context is lost for good"""


class LoadCode(IntEnum):
    """Return code of LoadLibrary. The causes are looked for in this order: 1 (ours), 3, 2, 4, 5, 6 and above."""

    OK = 0
    """opened and initialised"""
    NOT_SENT = 1
    """made by the guest itself: the command could not be sent; ours also: another major version"""
    ALREADY_LOADED = 2
    """this context loaded it before (as reply); made by the guest itself: no reply in time"""
    VARIABLE_MISSING = 3
    """neither configuration key nor environment variable names the host library"""
    CANNOT_OPEN = 4
    """not a regular file, or not loadable"""
    SYMBOL_MISSING = 5
    """it lacks a function of the host library's interface"""
    INIT_FAILED = 6
    """this and above: 6 + what apir_backend_initialize returned (init error n arrives as 12 + n)"""


class InitCode(IntEnum):
    """What apir_backend_initialize returns: success, or 6 + n."""

    SUCCESS = 6
    """initialised"""
    CANNOT_OPEN_BACKEND = 7
    """n = 1: the backend library cannot be opened"""
    CANNOT_OPEN_GGML = 8
    """n = 2: the ggml library cannot be opened, or its variable is missing"""
    BACKEND_SYMBOLS = 9
    """n = 3: the backend library lacks symbols"""
    GGML_SYMBOLS = 10
    """n = 4: the ggml library lacks the registration symbol"""
    BACKEND_FAILED = 11
    """n = 5: the backend failed"""
    REGISTRATION_FAILED = 12
    """n = 6: the registration function gave nothing"""
    ALREADY_INITIALISED = 13
    """n = 7: this context was initialised before"""
    NO_DEVICE = 14
    """n = 8: the ggml library offers no device"""
    BACKEND_INIT_FAILED = 15
    """n = 9: the device gave no backend"""


class DispatchCode(IntEnum):
    """What apir_backend_dispatcher returns to the component, which adds 4 for the guest."""

    OK = 0
    """carried out"""
    FAILED = 1
    """bad handle, unknown resource, range beyond, undecodable graph"""
    UNKNOWN = 6
    """no such call"""


class RingState(IntEnum):
    """State of a command ring."""

    OFFERED = 0
    """laid out by the guest, not yet accepted"""
    OPEN = 1
    """the worker takes commands from it"""
    CLOSED = 2
    """the worker found nonsense in it and takes no more; commands in it are lost"""
    DEAD = 3
    """the worker has ended; commands in it and under way are lost"""


class DeviceType(IntEnum):
    """ggml's kinds of device."""

    CPU = 0
    """system memory"""
    GPU = 1
    """dedicated memory"""
    IGPU = 2
    """integrated, system memory"""
    ACCEL = 3
    """to be used together with the CPU"""
    META = 4
    """made of several devices"""


class GraphStatus(IntEnum):
    """ggml_status of a graph."""

    ABORTED = 1
    """ended by the abort callback"""
    OK = 0
    """computed"""
    FAILED = -1
    """not computed"""
    ALLOC_FAILED = -2
    """out of memory"""


class Extension(IntFlag):
    """Extensions, as bits of a negotiation."""

    LIVENESS = 1 << 0
    """Every command gets a reply: worker_lost within 1 s of the end of the process that serves the context. It is ended when neither a command nor a node of a graph was finished for the component's stall limit. So a guest needs no limit of its own on a graph."""
    WIDE_SHAPES = 1 << 1
    """Tensor records with dimensions and strides of 64 bits, in calls 66 to 71. A host library may bound what it computes: ours takes dimensions up to 2^31 - 513 and strides up to 2^48."""
    DEVICES = 1 << 2
    """All devices of the host library, up to max_devices: on_device addresses a call to one of them. Without it, and in calls not so wrapped, device 0 is meant."""
    RING = 1 << 3
    """Commands go through a ring in a shared resource that the worker looks at while there is work; EXECBUFFER remains as its doorbell and for whoever has no ring. Replies come as ever. protocol/RING.md tells all of it."""
    GRAPH_IDS = 1 << 4
    """A graph is sent once and computed again by its number (calls 80 to 82). The host keeps it, decoded and checked, until the guest says that it is dropped, a buffer that it refers to is freed, or the context ends; a host that has no more room for graphs computes without keeping."""
    DEVICE_SUMMARY = 1 << 5
    """All that is constant about a device and its default buffer type in one call (83)."""
    BATCH = 1 << 6
    """Several calls in one command (84), with small tensor data in the command itself (85): what a guest does not have to have an answer to goes along with the next call."""
    ASYNCHRONOUS = 1 << 7
    """A guest may have many commands on their way, each with its own reply resource: the component takes them all and carries them out in the order of submission. So a guest computes and transfers without waiting, and its events are places in that order."""
    TIMING = 1 << 8
    """The last reply_timing_size bytes of the reply resource tell of each Forward call behind the negotiation how long it waited on the host and how long it was carried out: two u64, in nanoseconds, as `reply_timing` has them, written before `notify`. The reply itself ends before them."""
    BUNCHED_FENCES = 1 << 9
    """Fences of a context's unawaited_ring are completed late and in bunches, within some 15 ms: they say nothing of a command. A submission without a fence is answered with an interrupt as soon as it was taken; those that are fenced there get one for many."""
    PIPES = 1 << 10
    """Tensor data goes through a ring of bytes in a data resource that one side fills while the other empties it (calls 86 and 87): one command for all of it, however much there is. protocol/PIPES.md tells all of it. A host library has it only behind a component that looks after a call of any length and serves no other context meanwhile."""
    BUFFER_BASE = 1 << 11
    """A buffer is made, and its base told, by one call (88): ggml asks for the base of every buffer at once."""


class Call(IntEnum):
    """Forward calls."""

    DEVICE_GET_DEVICE_COUNT = 0
    """Number of devices of the host library. All calls of 0.2 address device 0, whatever it is."""
    DEVICE_GET_COUNT = 1
    """The same as device_get_device_count."""
    DEVICE_GET_NAME = 2
    """Name of the host's device. The guest, not the host, puts '[virtgpu] ' before it."""
    DEVICE_GET_DESCRIPTION = 3
    """Description of the host's device."""
    DEVICE_GET_TYPE = 4
    """Kind of the host's device."""
    DEVICE_GET_MEMORY = 5
    """Memory of the host's device, read anew each time."""
    DEVICE_SUPPORTS_OP = 6
    """Whether the host's device can compute an op."""
    DEVICE_GET_BUFFER_TYPE = 7
    """The device's default buffer type."""
    DEVICE_GET_PROPS = 8
    """What the device can. The guest zeroes bytes 4 to 23 of the reply resource first, so that a missing fifth item reads false."""
    DEVICE_BUFFER_FROM_PTR = 9
    """A buffer that lives in a shared resource. The guest frees it before it closes the resource."""
    BUFFER_TYPE_GET_NAME = 10
    """Name of a buffer type."""
    BUFFER_TYPE_GET_ALIGNMENT = 11
    """Alignment of tensors in buffers of a type."""
    BUFFER_TYPE_GET_MAX_SIZE = 12
    """Largest buffer of a type."""
    BUFFER_TYPE_IS_HOST = 13
    """Always false: what is the host's memory is not the guest's."""
    BUFFER_TYPE_ALLOC_BUFFER = 14
    """Allocates a buffer on the host. It lives until buffer_free_buffer or the end of the context."""
    BUFFER_TYPE_GET_ALLOC_SIZE = 15
    """Bytes that a tensor takes in a buffer of a type, padding included."""
    BUFFER_GET_BASE = 16
    """Base of a buffer in the guest's eyes: a number, made up by our host library, as aligned as the real one is, and not 0."""
    BUFFER_SET_TENSOR = 17
    """Copies bytes from offset 0 of a resource into a tensor."""
    BUFFER_GET_TENSOR = 18
    """Copies bytes of a tensor to offset 0 of a resource."""
    BUFFER_CPY_TENSOR = 19
    """Copies a tensor to another on the host. The source's buffer may be a foreign one: then the answer is false."""
    BUFFER_CLEAR = 20
    """Fills a buffer with one byte."""
    BUFFER_FREE_BUFFER = 21
    """Frees a buffer; its handle is never given again. The guest waits for the reply before it closes a shared resource."""
    BACKEND_GRAPH_COMPUTE = 22
    """Computes the graph that lies at offset 0 of a resource."""
    NEGOTIATE = 64
    """Offers extensions; asked once, after LoadLibrary. A peer without extensions refuses, and then none is used."""
    ON_DEVICE = 65
    """Carries out another call on the device that it names; reply and return code are that call's. Only calls that address a device need it: 2 to 9, 22, 66, 71 and 80 to 83. Handles say by themselves where they belong. Neither itself nor negotiate may be wrapped."""
    WIDE_SUPPORTS_OP = 66
    """As device_supports_op. Sources keep their places: one that is missing in between is told. The op's view_offs is told. Of its sources, whose view_src is not, it is 0 where it is a multiple of the alignment of the device's buffer type, and may be what is left of it by that where the alignment is a whole number of elements."""
    WIDE_GET_ALLOC_SIZE = 67
    """As buffer_type_get_alloc_size."""
    WIDE_SET_TENSOR = 68
    """As buffer_set_tensor."""
    WIDE_GET_TENSOR = 69
    """As buffer_get_tensor."""
    WIDE_CPY_TENSOR = 70
    """As buffer_cpy_tensor."""
    WIDE_GRAPH_COMPUTE = 71
    """As backend_graph_compute."""
    RING_CREATE = 72
    """Offers a command ring that the guest has laid out in a resource. The worker takes commands from it from this call's reply on, until the resource is closed. A context has at most one; a second is refused while there is one. Comes by EXECBUFFER."""
    RING_KICK = 73
    """The doorbell: wakes a worker that sleeps over its ring. Comes by EXECBUFFER, its reply resource is 0, and it gets no reply."""
    GRAPH_KEEP = 80
    """As backend_graph_compute or wide_graph_compute, and the host keeps the graph for graph_run."""
    GRAPH_RUN = 81
    """Computes a kept graph again, on the device that it was kept for."""
    GRAPH_PATCH = 82
    """Changes records of a kept graph, checks the whole graph again and computes it. A change that is refused ends the kept graph."""
    DEVICE_SUMMARY = 83
    """What calls 2 to 5, 7, 8 and 10 to 12 say, of a device and its default buffer type."""
    BATCH = 84
    """Carries out several calls, one after the other, up to the first that fails, whose return code is this call's. The reply is the last one's; the others' are dropped. Ours has room for 24 bytes of a reply that is dropped: a call with a longer one fails, and the batch with it."""
    SET_TENSOR_INLINE = 85
    """As buffer_set_tensor, with the bytes in the command."""
    PIPE_SET_TENSOR = 86
    """As wide_set_tensor, the bytes out of a pipe that the guest fills from when it sends this call on. The reply comes when all were taken."""
    PIPE_GET_TENSOR = 87
    """As wide_get_tensor, the bytes into a pipe that the guest empties from when it sends this call on. The reply comes when all were put in."""
    ALLOC_WITH_BASE = 88
    """As buffer_type_alloc_buffer, and then as buffer_get_base."""


EXTENSION_OF: dict[Call, Extension] = {
    Call.ON_DEVICE: Extension.DEVICES,
    Call.WIDE_SUPPORTS_OP: Extension.WIDE_SHAPES,
    Call.WIDE_GET_ALLOC_SIZE: Extension.WIDE_SHAPES,
    Call.WIDE_SET_TENSOR: Extension.WIDE_SHAPES,
    Call.WIDE_GET_TENSOR: Extension.WIDE_SHAPES,
    Call.WIDE_CPY_TENSOR: Extension.WIDE_SHAPES,
    Call.WIDE_GRAPH_COMPUTE: Extension.WIDE_SHAPES,
    Call.RING_CREATE: Extension.RING,
    Call.RING_KICK: Extension.RING,
    Call.GRAPH_KEEP: Extension.GRAPH_IDS,
    Call.GRAPH_RUN: Extension.GRAPH_IDS,
    Call.GRAPH_PATCH: Extension.GRAPH_IDS,
    Call.DEVICE_SUMMARY: Extension.DEVICE_SUMMARY,
    Call.BATCH: Extension.BATCH,
    Call.SET_TENSOR_INLINE: Extension.BATCH,
    Call.PIPE_SET_TENSOR: Extension.PIPES,
    Call.PIPE_GET_TENSOR: Extension.PIPES,
    Call.ALLOC_WITH_BASE: Extension.BUFFER_BASE,
}
"""The extension that has a call; the others are of the protocol itself, or negotiate."""


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """A tensor on the wire. Bytes 12 to 15, 296 to 303 and those behind the name's NUL are stale. In calls 17 to 19 src, view_src and view_offs are dangling."""

    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<QI4xQ4I4II16ii10QQQQ64s8x")
    id: int = 0
    type: int = 0
    buffer: int = 0
    ne: tuple[int, ...] = (0,) * 4
    nb: tuple[int, ...] = (0,) * 4
    op: int = 0
    op_params: tuple[int, ...] = (0,) * 16
    flags: int = 0
    src: tuple[int, ...] = (0,) * 10
    view_src: int = 0
    view_offs: int = 0
    data: int = 0
    name: bytes = b""

    def encode(self, writer: Writer) -> None:
        """Append this struct; bytes that no field covers are zero."""
        writer.raw(
            self.LAYOUT.pack(
                self.id,
                self.type,
                self.buffer,
                *self.ne,
                *self.nb,
                self.op,
                *self.op_params,
                self.flags,
                *self.src,
                self.view_src,
                self.view_offs,
                self.data,
                self.name,
            )
        )

    @classmethod
    def decode(cls, reader: Reader) -> TensorRecord:
        """Read one. Raises WireError."""
        values = cls.LAYOUT.unpack(reader.raw(cls.LAYOUT.size))
        return cls(
            values[0],
            values[1],
            values[2],
            values[3:7],
            values[7:11],
            values[11],
            values[12:28],
            values[28],
            values[29:39],
            values[39],
            values[40],
            values[41],
            until_nul(values[42]),
        )


@dataclass(frozen=True, slots=True)
class RawTensor:
    """struct ggml_tensor of ggml 0.27 as it lies in the guest's memory. Its pointers are the guest's and never followed."""

    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<I4xQ4q4QI16ii10QQQQ64sQ8x")
    type: int = 0
    buffer: int = 0
    ne: tuple[int, ...] = (0,) * 4
    nb: tuple[int, ...] = (0,) * 4
    op: int = 0
    op_params: tuple[int, ...] = (0,) * 16
    flags: int = 0
    src: tuple[int, ...] = (0,) * 10
    view_src: int = 0
    view_offs: int = 0
    data: int = 0
    name: bytes = b""
    extra: int = 0

    def encode(self, writer: Writer) -> None:
        """Append this struct; bytes that no field covers are zero."""
        writer.raw(
            self.LAYOUT.pack(
                self.type,
                self.buffer,
                *self.ne,
                *self.nb,
                self.op,
                *self.op_params,
                self.flags,
                *self.src,
                self.view_src,
                self.view_offs,
                self.data,
                self.name,
                self.extra,
            )
        )

    @classmethod
    def decode(cls, reader: Reader) -> RawTensor:
        """Read one. Raises WireError."""
        values = cls.LAYOUT.unpack(reader.raw(cls.LAYOUT.size))
        return cls(
            values[0],
            values[1],
            values[2:6],
            values[6:10],
            values[10],
            values[11:27],
            values[27],
            values[28:38],
            values[38],
            values[39],
            values[40],
            until_nul(values[41]),
            values[42],
        )


@dataclass(frozen=True, slots=True)
class WideTensorRecord:
    """A tensor with 64-bit shape (extension wide_shapes). Otherwise as tensor_record."""

    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<QIIQ4q4Q16ii4x10QQQQ64s")
    id: int = 0
    type: int = 0
    op: int = 0
    buffer: int = 0
    ne: tuple[int, ...] = (0,) * 4
    nb: tuple[int, ...] = (0,) * 4
    op_params: tuple[int, ...] = (0,) * 16
    flags: int = 0
    src: tuple[int, ...] = (0,) * 10
    view_src: int = 0
    view_offs: int = 0
    data: int = 0
    name: bytes = b""

    def encode(self, writer: Writer) -> None:
        """Append this struct; bytes that no field covers are zero."""
        writer.raw(
            self.LAYOUT.pack(
                self.id,
                self.type,
                self.op,
                self.buffer,
                *self.ne,
                *self.nb,
                *self.op_params,
                self.flags,
                *self.src,
                self.view_src,
                self.view_offs,
                self.data,
                self.name,
            )
        )

    @classmethod
    def decode(cls, reader: Reader) -> WideTensorRecord:
        """Read one. Raises WireError."""
        values = cls.LAYOUT.unpack(reader.raw(cls.LAYOUT.size))
        return cls(
            values[0],
            values[1],
            values[2],
            values[3],
            values[4:8],
            values[8:12],
            values[12:28],
            values[28],
            values[29:39],
            values[39],
            values[40],
            values[41],
            until_nul(values[42]),
        )


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
        return cls(tensor, handle, view_src, tuple(RawTensor.decode(reader) for _ in range(count)))


@dataclass(frozen=True, slots=True)
class CommandHeader:
    """What every command begins with. For Forward, `flags` is the call's number."""

    type: int
    flags: int
    reply_resource: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(self.type)
        writer.u32(self.flags)
        writer.u32(self.reply_resource)

    @classmethod
    def decode(cls, reader: Reader) -> CommandHeader:
        """Read one. Raises WireError."""
        return cls(reader.u32(), reader.u32(), reader.u32())


@dataclass(frozen=True, slots=True)
class Version:
    """Request and reply of HandShake."""

    major: int
    minor: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(self.major)
        writer.u32(self.minor)

    @classmethod
    def decode(cls, reader: Reader) -> Version:
        """Read one. Raises WireError."""
        return cls(reader.u32(), reader.u32())


@dataclass(frozen=True, slots=True)
class Capset:
    """Data of the APIR capset. Nothing may be required of it: on capset 4 these bytes may be Venus's."""

    version: int
    supports_blob_resources: int
    reserved0: int
    reserved1: int
    reserved2: int
    reserved3: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(self.version)
        writer.u32(self.supports_blob_resources)
        writer.u32(self.reserved0)
        writer.u32(self.reserved1)
        writer.u32(self.reserved2)
        writer.u32(self.reserved3)

    @classmethod
    def decode(cls, reader: Reader) -> Capset:
        """Read one. Raises WireError."""
        return cls(reader.u32(), reader.u32(), reader.u32(), reader.u32(), reader.u32(), reader.u32())


@dataclass(frozen=True, slots=True)
class Graph:
    """Content of the data resource of backend_graph_compute: the nodes, their sources and what those are views of, each once."""

    nodes: tuple[int, ...]
    tensors: tuple[TensorRecord, ...]

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(len(self.nodes))
        for one_of_nodes in self.nodes:
            writer.u64(one_of_nodes)
        writer.u32(len(self.tensors))
        for one_of_tensors in self.tensors:
            one_of_tensors.encode(writer)

    @classmethod
    def decode(cls, reader: Reader) -> Graph:
        """Read one. Raises WireError."""
        return cls(
            tuple(reader.u64() for _ in range(reader.count(8))),
            tuple(TensorRecord.decode(reader) for _ in range(reader.count(TensorRecord.LAYOUT.size))),
        )


@dataclass(frozen=True, slots=True)
class WideGraph:
    """Content of the data resource of wide_graph_compute."""

    nodes: tuple[int, ...]
    tensors: tuple[WideTensorRecord, ...]

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(len(self.nodes))
        for one_of_nodes in self.nodes:
            writer.u64(one_of_nodes)
        writer.u32(len(self.tensors))
        for one_of_tensors in self.tensors:
            one_of_tensors.encode(writer)

    @classmethod
    def decode(cls, reader: Reader) -> WideGraph:
        """Read one. Raises WireError."""
        return cls(
            tuple(reader.u64() for _ in range(reader.count(8))),
            tuple(WideTensorRecord.decode(reader) for _ in range(reader.count(WideTensorRecord.LAYOUT.size))),
        )


@dataclass(frozen=True, slots=True)
class ReplyTiming:
    """What the end of a reply resource holds with the extension timing."""

    queue_ns: int
    compute_ns: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.queue_ns)
        writer.u64(self.compute_ns)

    @classmethod
    def decode(cls, reader: Reader) -> ReplyTiming:
        """Read one. Raises WireError."""
        return cls(reader.u64(), reader.u64())


@dataclass(frozen=True, slots=True)
class GraphChanges:
    """Content of the data resource of graph_patch, for a graph that was sent as a `graph`: what replaces the records of which places."""

    positions: tuple[int, ...]
    tensors: tuple[TensorRecord, ...]

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(len(self.positions))
        for one_of_positions in self.positions:
            writer.u32(one_of_positions)
        writer.u32(len(self.tensors))
        for one_of_tensors in self.tensors:
            one_of_tensors.encode(writer)

    @classmethod
    def decode(cls, reader: Reader) -> GraphChanges:
        """Read one. Raises WireError."""
        return cls(
            tuple(reader.u32() for _ in range(reader.count(4))),
            tuple(TensorRecord.decode(reader) for _ in range(reader.count(TensorRecord.LAYOUT.size))),
        )


@dataclass(frozen=True, slots=True)
class WideGraphChanges:
    """The same for a graph that was sent as a `wide_graph`."""

    positions: tuple[int, ...]
    tensors: tuple[WideTensorRecord, ...]

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(len(self.positions))
        for one_of_positions in self.positions:
            writer.u32(one_of_positions)
        writer.u32(len(self.tensors))
        for one_of_tensors in self.tensors:
            one_of_tensors.encode(writer)

    @classmethod
    def decode(cls, reader: Reader) -> WideGraphChanges:
        """Read one. Raises WireError."""
        return cls(
            tuple(reader.u32() for _ in range(reader.count(4))),
            tuple(WideTensorRecord.decode(reader) for _ in range(reader.count(WideTensorRecord.LAYOUT.size))),
        )


@dataclass(frozen=True, slots=True)
class BatchedCall:
    """What each call of a batch begins with."""

    device: int
    call: int
    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(self.device)
        writer.u32(self.call)
        writer.u32(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> BatchedCall:
        """Read one. Raises WireError."""
        return cls(reader.u32(), reader.u32(), reader.u32())


@dataclass(frozen=True, slots=True)
class DeviceGetDeviceCountRequest:
    """Request of call 0. Number of devices of the host library. All calls of 0.2 address device 0, whatever it is."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> DeviceGetDeviceCountRequest:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class DeviceGetDeviceCountReply:
    """Reply of call 0."""

    count: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.i32(self.count)

    @classmethod
    def decode(cls, reader: Reader) -> DeviceGetDeviceCountReply:
        """Read one. Raises WireError."""
        return cls(reader.i32())


@dataclass(frozen=True, slots=True)
class DeviceGetCountRequest:
    """Request of call 1. The same as device_get_device_count."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> DeviceGetCountRequest:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class DeviceGetCountReply:
    """Reply of call 1."""

    count: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.i32(self.count)

    @classmethod
    def decode(cls, reader: Reader) -> DeviceGetCountReply:
        """Read one. Raises WireError."""
        return cls(reader.i32())


@dataclass(frozen=True, slots=True)
class DeviceGetNameRequest:
    """Request of call 2. Name of the host's device. The guest, not the host, puts '[virtgpu] ' before it."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> DeviceGetNameRequest:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class DeviceGetNameReply:
    """Reply of call 2."""

    name: str

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.string(self.name)

    @classmethod
    def decode(cls, reader: Reader) -> DeviceGetNameReply:
        """Read one. Raises WireError."""
        return cls(reader.string())


@dataclass(frozen=True, slots=True)
class DeviceGetDescriptionRequest:
    """Request of call 3. Description of the host's device."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> DeviceGetDescriptionRequest:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class DeviceGetDescriptionReply:
    """Reply of call 3."""

    description: str

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.string(self.description)

    @classmethod
    def decode(cls, reader: Reader) -> DeviceGetDescriptionReply:
        """Read one. Raises WireError."""
        return cls(reader.string())


@dataclass(frozen=True, slots=True)
class DeviceGetTypeRequest:
    """Request of call 4. Kind of the host's device."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> DeviceGetTypeRequest:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class DeviceGetTypeReply:
    """Reply of call 4."""

    type: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(self.type)

    @classmethod
    def decode(cls, reader: Reader) -> DeviceGetTypeReply:
        """Read one. Raises WireError."""
        return cls(reader.u32())


@dataclass(frozen=True, slots=True)
class DeviceGetMemoryRequest:
    """Request of call 5. Memory of the host's device, read anew each time."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> DeviceGetMemoryRequest:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class DeviceGetMemoryReply:
    """Reply of call 5."""

    free: int
    total: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.free)
        writer.u64(self.total)

    @classmethod
    def decode(cls, reader: Reader) -> DeviceGetMemoryReply:
        """Read one. Raises WireError."""
        return cls(reader.u64(), reader.u64())


@dataclass(frozen=True, slots=True)
class DeviceSupportsOpRequest:
    """Request of call 6. Whether the host's device can compute an op."""

    op: OpRecord

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        self.op.encode(writer)

    @classmethod
    def decode(cls, reader: Reader) -> DeviceSupportsOpRequest:
        """Read one. Raises WireError."""
        return cls(OpRecord.decode(reader))


@dataclass(frozen=True, slots=True)
class DeviceSupportsOpReply:
    """Reply of call 6."""

    supported: bool

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.boolean(self.supported)

    @classmethod
    def decode(cls, reader: Reader) -> DeviceSupportsOpReply:
        """Read one. Raises WireError."""
        return cls(reader.boolean())


@dataclass(frozen=True, slots=True)
class DeviceGetBufferTypeRequest:
    """Request of call 7. The device's default buffer type."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> DeviceGetBufferTypeRequest:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class DeviceGetBufferTypeReply:
    """Reply of call 7."""

    buft: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buft)

    @classmethod
    def decode(cls, reader: Reader) -> DeviceGetBufferTypeReply:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class DeviceGetPropsRequest:
    """Request of call 8. What the device can. The guest zeroes bytes 4 to 23 of the reply resource first, so that a missing fifth item reads false."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> DeviceGetPropsRequest:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class DeviceGetPropsReply:
    """Reply of call 8."""

    asynchronous: bool
    host_buffer: bool
    buffer_from_host_ptr: bool
    events: bool
    mmap_support: bool

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.boolean(self.asynchronous)
        writer.boolean(self.host_buffer)
        writer.boolean(self.buffer_from_host_ptr)
        writer.boolean(self.events)
        writer.boolean(self.mmap_support)

    @classmethod
    def decode(cls, reader: Reader) -> DeviceGetPropsReply:
        """Read one. Raises WireError."""
        return cls(
            reader.boolean(), reader.boolean(), reader.boolean(), reader.boolean(), reader.boolean() if reader.remaining else False
        )


@dataclass(frozen=True, slots=True)
class DeviceBufferFromPtrRequest:
    """Request of call 9. A buffer that lives in a shared resource. The guest frees it before it closes the resource."""

    resource: int
    size: int
    max_tensor_size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(self.resource)
        writer.u64(self.size)
        writer.u64(self.max_tensor_size)

    @classmethod
    def decode(cls, reader: Reader) -> DeviceBufferFromPtrRequest:
        """Read one. Raises WireError."""
        return cls(reader.u32(), reader.u64(), reader.u64())


@dataclass(frozen=True, slots=True)
class DeviceBufferFromPtrReply:
    """Reply of call 9."""

    buffer: int
    buft: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)
        writer.u64(self.buft)

    @classmethod
    def decode(cls, reader: Reader) -> DeviceBufferFromPtrReply:
        """Read one. Raises WireError."""
        return cls(reader.u64(), reader.u64())


@dataclass(frozen=True, slots=True)
class BufferTypeGetNameRequest:
    """Request of call 10. Name of a buffer type."""

    buft: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buft)

    @classmethod
    def decode(cls, reader: Reader) -> BufferTypeGetNameRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class BufferTypeGetNameReply:
    """Reply of call 10."""

    name: str

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.string(self.name)

    @classmethod
    def decode(cls, reader: Reader) -> BufferTypeGetNameReply:
        """Read one. Raises WireError."""
        return cls(reader.string())


@dataclass(frozen=True, slots=True)
class BufferTypeGetAlignmentRequest:
    """Request of call 11. Alignment of tensors in buffers of a type."""

    buft: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buft)

    @classmethod
    def decode(cls, reader: Reader) -> BufferTypeGetAlignmentRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class BufferTypeGetAlignmentReply:
    """Reply of call 11."""

    alignment: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.alignment)

    @classmethod
    def decode(cls, reader: Reader) -> BufferTypeGetAlignmentReply:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class BufferTypeGetMaxSizeRequest:
    """Request of call 12. Largest buffer of a type."""

    buft: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buft)

    @classmethod
    def decode(cls, reader: Reader) -> BufferTypeGetMaxSizeRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class BufferTypeGetMaxSizeReply:
    """Reply of call 12."""

    max_size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.max_size)

    @classmethod
    def decode(cls, reader: Reader) -> BufferTypeGetMaxSizeReply:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class BufferTypeIsHostRequest:
    """Request of call 13. Always false: what is the host's memory is not the guest's."""

    buft: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buft)

    @classmethod
    def decode(cls, reader: Reader) -> BufferTypeIsHostRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class BufferTypeIsHostReply:
    """Reply of call 13."""

    is_host: bool

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.boolean(self.is_host)

    @classmethod
    def decode(cls, reader: Reader) -> BufferTypeIsHostReply:
        """Read one. Raises WireError."""
        return cls(reader.boolean())


@dataclass(frozen=True, slots=True)
class BufferTypeAllocBufferRequest:
    """Request of call 14. Allocates a buffer on the host. It lives until buffer_free_buffer or the end of the context."""

    buft: int
    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buft)
        writer.u64(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> BufferTypeAllocBufferRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64(), reader.u64())


@dataclass(frozen=True, slots=True)
class BufferTypeAllocBufferReply:
    """Reply of call 14."""

    buffer: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)

    @classmethod
    def decode(cls, reader: Reader) -> BufferTypeAllocBufferReply:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class BufferTypeGetAllocSizeRequest:
    """Request of call 15. Bytes that a tensor takes in a buffer of a type, padding included."""

    buft: int
    op: OpRecord

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buft)
        self.op.encode(writer)

    @classmethod
    def decode(cls, reader: Reader) -> BufferTypeGetAllocSizeRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64(), OpRecord.decode(reader))


@dataclass(frozen=True, slots=True)
class BufferTypeGetAllocSizeReply:
    """Reply of call 15."""

    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> BufferTypeGetAllocSizeReply:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class BufferGetBaseRequest:
    """Request of call 16. Base of a buffer in the guest's eyes: a number, made up by our host library, as aligned as the real one is, and not 0."""

    buffer: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)

    @classmethod
    def decode(cls, reader: Reader) -> BufferGetBaseRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class BufferGetBaseReply:
    """Reply of call 16."""

    base: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.base)

    @classmethod
    def decode(cls, reader: Reader) -> BufferGetBaseReply:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class BufferSetTensorRequest:
    """Request of call 17. Copies bytes from offset 0 of a resource into a tensor."""

    buffer: int
    tensor: TensorRecord
    resource: int
    offset: int
    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)
        self.tensor.encode(writer)
        writer.u32(self.resource)
        writer.u64(self.offset)
        writer.u64(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> BufferSetTensorRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64(), TensorRecord.decode(reader), reader.u32(), reader.u64(), reader.u64())


@dataclass(frozen=True, slots=True)
class BufferSetTensorReply:
    """Reply of call 17."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> BufferSetTensorReply:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class BufferGetTensorRequest:
    """Request of call 18. Copies bytes of a tensor to offset 0 of a resource."""

    buffer: int
    tensor: TensorRecord
    resource: int
    offset: int
    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)
        self.tensor.encode(writer)
        writer.u32(self.resource)
        writer.u64(self.offset)
        writer.u64(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> BufferGetTensorRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64(), TensorRecord.decode(reader), reader.u32(), reader.u64(), reader.u64())


@dataclass(frozen=True, slots=True)
class BufferGetTensorReply:
    """Reply of call 18."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> BufferGetTensorReply:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class BufferCpyTensorRequest:
    """Request of call 19. Copies a tensor to another on the host. The source's buffer may be a foreign one: then the answer is false."""

    buffer: int
    source: TensorRecord
    destination: TensorRecord

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)
        self.source.encode(writer)
        self.destination.encode(writer)

    @classmethod
    def decode(cls, reader: Reader) -> BufferCpyTensorRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64(), TensorRecord.decode(reader), TensorRecord.decode(reader))


@dataclass(frozen=True, slots=True)
class BufferCpyTensorReply:
    """Reply of call 19."""

    copied: bool

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.boolean(self.copied)

    @classmethod
    def decode(cls, reader: Reader) -> BufferCpyTensorReply:
        """Read one. Raises WireError."""
        return cls(reader.boolean())


@dataclass(frozen=True, slots=True)
class BufferClearRequest:
    """Request of call 20. Fills a buffer with one byte."""

    buffer: int
    value: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)
        writer.u8(self.value)

    @classmethod
    def decode(cls, reader: Reader) -> BufferClearRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64(), reader.u8())


@dataclass(frozen=True, slots=True)
class BufferClearReply:
    """Reply of call 20."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> BufferClearReply:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class BufferFreeBufferRequest:
    """Request of call 21. Frees a buffer; its handle is never given again. The guest waits for the reply before it closes a shared resource."""

    buffer: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)

    @classmethod
    def decode(cls, reader: Reader) -> BufferFreeBufferRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class BufferFreeBufferReply:
    """Reply of call 21."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> BufferFreeBufferReply:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class BackendGraphComputeRequest:
    """Request of call 22. Computes the graph that lies at offset 0 of a resource."""

    resource: int
    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(self.resource)
        writer.u64(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> BackendGraphComputeRequest:
        """Read one. Raises WireError."""
        return cls(reader.u32(), reader.u64())


@dataclass(frozen=True, slots=True)
class BackendGraphComputeReply:
    """Reply of call 22."""

    status: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.i32(self.status)

    @classmethod
    def decode(cls, reader: Reader) -> BackendGraphComputeReply:
        """Read one. Raises WireError."""
        return cls(reader.i32())


@dataclass(frozen=True, slots=True)
class NegotiateRequest:
    """Request of call 64. Offers extensions; asked once, after LoadLibrary. A peer without extensions refuses, and then none is used."""

    version: int
    offered: int
    session: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(self.version)
        writer.u64(self.offered)
        writer.u64(self.session)

    @classmethod
    def decode(cls, reader: Reader) -> NegotiateRequest:
        """Read one. Raises WireError."""
        return cls(reader.u32(), reader.u64(), reader.u64())


@dataclass(frozen=True, slots=True)
class NegotiateReply:
    """Reply of call 64."""

    accepted: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.accepted)

    @classmethod
    def decode(cls, reader: Reader) -> NegotiateReply:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class OnDeviceRequest:
    """Request of call 65. Carries out another call on the device that it names; reply and return code are that call's. Only calls that address a device need it: 2 to 9, 22, 66, 71 and 80 to 83. Handles say by themselves where they belong. Neither itself nor negotiate may be wrapped."""

    device: int
    call: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(self.device)
        writer.u32(self.call)

    @classmethod
    def decode(cls, reader: Reader) -> OnDeviceRequest:
        """Read one. Raises WireError."""
        return cls(reader.u32(), reader.u32())


@dataclass(frozen=True, slots=True)
class OnDeviceReply:
    """Reply of call 65."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> OnDeviceReply:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class WideSupportsOpRequest:
    """Request of call 66. As device_supports_op. Sources keep their places: one that is missing in between is told. The op's view_offs is told. Of its sources, whose view_src is not, it is 0 where it is a multiple of the alignment of the device's buffer type, and may be what is left of it by that where the alignment is a whole number of elements."""

    tensors: tuple[WideTensorRecord, ...]

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(len(self.tensors))
        for one_of_tensors in self.tensors:
            one_of_tensors.encode(writer)

    @classmethod
    def decode(cls, reader: Reader) -> WideSupportsOpRequest:
        """Read one. Raises WireError."""
        return cls(tuple(WideTensorRecord.decode(reader) for _ in range(reader.count(WideTensorRecord.LAYOUT.size))))


@dataclass(frozen=True, slots=True)
class WideSupportsOpReply:
    """Reply of call 66."""

    supported: bool

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.boolean(self.supported)

    @classmethod
    def decode(cls, reader: Reader) -> WideSupportsOpReply:
        """Read one. Raises WireError."""
        return cls(reader.boolean())


@dataclass(frozen=True, slots=True)
class WideGetAllocSizeRequest:
    """Request of call 67. As buffer_type_get_alloc_size."""

    buft: int
    tensors: tuple[WideTensorRecord, ...]

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buft)
        writer.u32(len(self.tensors))
        for one_of_tensors in self.tensors:
            one_of_tensors.encode(writer)

    @classmethod
    def decode(cls, reader: Reader) -> WideGetAllocSizeRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64(), tuple(WideTensorRecord.decode(reader) for _ in range(reader.count(WideTensorRecord.LAYOUT.size))))


@dataclass(frozen=True, slots=True)
class WideGetAllocSizeReply:
    """Reply of call 67."""

    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> WideGetAllocSizeReply:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class WideSetTensorRequest:
    """Request of call 68. As buffer_set_tensor."""

    buffer: int
    tensor: WideTensorRecord
    resource: int
    offset: int
    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)
        self.tensor.encode(writer)
        writer.u32(self.resource)
        writer.u64(self.offset)
        writer.u64(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> WideSetTensorRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64(), WideTensorRecord.decode(reader), reader.u32(), reader.u64(), reader.u64())


@dataclass(frozen=True, slots=True)
class WideSetTensorReply:
    """Reply of call 68."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> WideSetTensorReply:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class WideGetTensorRequest:
    """Request of call 69. As buffer_get_tensor."""

    buffer: int
    tensor: WideTensorRecord
    resource: int
    offset: int
    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)
        self.tensor.encode(writer)
        writer.u32(self.resource)
        writer.u64(self.offset)
        writer.u64(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> WideGetTensorRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64(), WideTensorRecord.decode(reader), reader.u32(), reader.u64(), reader.u64())


@dataclass(frozen=True, slots=True)
class WideGetTensorReply:
    """Reply of call 69."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> WideGetTensorReply:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class WideCpyTensorRequest:
    """Request of call 70. As buffer_cpy_tensor."""

    buffer: int
    source: WideTensorRecord
    destination: WideTensorRecord

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)
        self.source.encode(writer)
        self.destination.encode(writer)

    @classmethod
    def decode(cls, reader: Reader) -> WideCpyTensorRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64(), WideTensorRecord.decode(reader), WideTensorRecord.decode(reader))


@dataclass(frozen=True, slots=True)
class WideCpyTensorReply:
    """Reply of call 70."""

    copied: bool

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.boolean(self.copied)

    @classmethod
    def decode(cls, reader: Reader) -> WideCpyTensorReply:
        """Read one. Raises WireError."""
        return cls(reader.boolean())


@dataclass(frozen=True, slots=True)
class WideGraphComputeRequest:
    """Request of call 71. As backend_graph_compute."""

    resource: int
    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(self.resource)
        writer.u64(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> WideGraphComputeRequest:
        """Read one. Raises WireError."""
        return cls(reader.u32(), reader.u64())


@dataclass(frozen=True, slots=True)
class WideGraphComputeReply:
    """Reply of call 71."""

    status: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.i32(self.status)

    @classmethod
    def decode(cls, reader: Reader) -> WideGraphComputeReply:
        """Read one. Raises WireError."""
        return cls(reader.i32())


@dataclass(frozen=True, slots=True)
class RingCreateRequest:
    """Request of call 72. Offers a command ring that the guest has laid out in a resource. The worker takes commands from it from this call's reply on, until the resource is closed. A context has at most one; a second is refused while there is one. Comes by EXECBUFFER."""

    resource: int
    slots: int
    slot_size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(self.resource)
        writer.u32(self.slots)
        writer.u32(self.slot_size)

    @classmethod
    def decode(cls, reader: Reader) -> RingCreateRequest:
        """Read one. Raises WireError."""
        return cls(reader.u32(), reader.u32(), reader.u32())


@dataclass(frozen=True, slots=True)
class RingCreateReply:
    """Reply of call 72."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> RingCreateReply:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class RingKickRequest:
    """Request of call 73. The doorbell: wakes a worker that sleeps over its ring. Comes by EXECBUFFER, its reply resource is 0, and it gets no reply."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> RingKickRequest:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class RingKickReply:
    """Reply of call 73."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> RingKickReply:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class GraphKeepRequest:
    """Request of call 80. As backend_graph_compute or wide_graph_compute, and the host keeps the graph for graph_run."""

    resource: int
    size: int
    wide: bool
    dropped: tuple[int, ...]

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(self.resource)
        writer.u64(self.size)
        writer.boolean(self.wide)
        writer.u32(len(self.dropped))
        for one_of_dropped in self.dropped:
            writer.u64(one_of_dropped)

    @classmethod
    def decode(cls, reader: Reader) -> GraphKeepRequest:
        """Read one. Raises WireError."""
        return cls(reader.u32(), reader.u64(), reader.boolean(), tuple(reader.u64() for _ in range(reader.count(8))))


@dataclass(frozen=True, slots=True)
class GraphKeepReply:
    """Reply of call 80."""

    status: int
    graph: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.i32(self.status)
        writer.u64(self.graph)

    @classmethod
    def decode(cls, reader: Reader) -> GraphKeepReply:
        """Read one. Raises WireError."""
        return cls(reader.i32(), reader.u64())


@dataclass(frozen=True, slots=True)
class GraphRunRequest:
    """Request of call 81. Computes a kept graph again, on the device that it was kept for."""

    graph: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.graph)

    @classmethod
    def decode(cls, reader: Reader) -> GraphRunRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64())


@dataclass(frozen=True, slots=True)
class GraphRunReply:
    """Reply of call 81."""

    known: bool
    status: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.boolean(self.known)
        writer.i32(self.status)

    @classmethod
    def decode(cls, reader: Reader) -> GraphRunReply:
        """Read one. Raises WireError."""
        return cls(reader.boolean(), reader.i32())


@dataclass(frozen=True, slots=True)
class GraphPatchRequest:
    """Request of call 82. Changes records of a kept graph, checks the whole graph again and computes it. A change that is refused ends the kept graph."""

    graph: int
    resource: int
    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.graph)
        writer.u32(self.resource)
        writer.u64(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> GraphPatchRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64(), reader.u32(), reader.u64())


@dataclass(frozen=True, slots=True)
class GraphPatchReply:
    """Reply of call 82."""

    known: bool
    status: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.boolean(self.known)
        writer.i32(self.status)

    @classmethod
    def decode(cls, reader: Reader) -> GraphPatchReply:
        """Read one. Raises WireError."""
        return cls(reader.boolean(), reader.i32())


@dataclass(frozen=True, slots=True)
class DeviceSummaryRequest:
    """Request of call 83. What calls 2 to 5, 7, 8 and 10 to 12 say, of a device and its default buffer type."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> DeviceSummaryRequest:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class DeviceSummaryReply:
    """Reply of call 83."""

    name: str
    description: str
    type: int
    free: int
    total: int
    buffer_from_host_ptr: bool
    mmap_support: bool
    buft: int
    buft_name: str
    alignment: int
    max_size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.string(self.name)
        writer.string(self.description)
        writer.u32(self.type)
        writer.u64(self.free)
        writer.u64(self.total)
        writer.boolean(self.buffer_from_host_ptr)
        writer.boolean(self.mmap_support)
        writer.u64(self.buft)
        writer.string(self.buft_name)
        writer.u64(self.alignment)
        writer.u64(self.max_size)

    @classmethod
    def decode(cls, reader: Reader) -> DeviceSummaryReply:
        """Read one. Raises WireError."""
        return cls(
            reader.string(),
            reader.string(),
            reader.u32(),
            reader.u64(),
            reader.u64(),
            reader.boolean(),
            reader.boolean(),
            reader.u64(),
            reader.string(),
            reader.u64(),
            reader.u64(),
        )


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """Request of call 84. Carries out several calls, one after the other, up to the first that fails, whose return code is this call's. The reply is the last one's; the others' are dropped. Ours has room for 24 bytes of a reply that is dropped: a call with a longer one fails, and the batch with it."""

    count: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u32(self.count)

    @classmethod
    def decode(cls, reader: Reader) -> BatchRequest:
        """Read one. Raises WireError."""
        return cls(reader.u32())


@dataclass(frozen=True, slots=True)
class BatchReply:
    """Reply of call 84."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> BatchReply:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class SetTensorInlineRequest:
    """Request of call 85. As buffer_set_tensor, with the bytes in the command."""

    buffer: int
    tensor: TensorRecord
    offset: int
    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)
        self.tensor.encode(writer)
        writer.u64(self.offset)
        writer.u64(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> SetTensorInlineRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64(), TensorRecord.decode(reader), reader.u64(), reader.u64())


@dataclass(frozen=True, slots=True)
class SetTensorInlineReply:
    """Reply of call 85."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> SetTensorInlineReply:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class PipeSetTensorRequest:
    """Request of call 86. As wide_set_tensor, the bytes out of a pipe that the guest fills from when it sends this call on. The reply comes when all were taken."""

    buffer: int
    tensor: WideTensorRecord
    resource: int
    area: int
    room: int
    offset: int
    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)
        self.tensor.encode(writer)
        writer.u32(self.resource)
        writer.u32(self.area)
        writer.u32(self.room)
        writer.u64(self.offset)
        writer.u64(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> PipeSetTensorRequest:
        """Read one. Raises WireError."""
        return cls(
            reader.u64(), WideTensorRecord.decode(reader), reader.u32(), reader.u32(), reader.u32(), reader.u64(), reader.u64()
        )


@dataclass(frozen=True, slots=True)
class PipeSetTensorReply:
    """Reply of call 86."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> PipeSetTensorReply:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class PipeGetTensorRequest:
    """Request of call 87. As wide_get_tensor, the bytes into a pipe that the guest empties from when it sends this call on. The reply comes when all were put in."""

    buffer: int
    tensor: WideTensorRecord
    resource: int
    area: int
    room: int
    offset: int
    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)
        self.tensor.encode(writer)
        writer.u32(self.resource)
        writer.u32(self.area)
        writer.u32(self.room)
        writer.u64(self.offset)
        writer.u64(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> PipeGetTensorRequest:
        """Read one. Raises WireError."""
        return cls(
            reader.u64(), WideTensorRecord.decode(reader), reader.u32(), reader.u32(), reader.u32(), reader.u64(), reader.u64()
        )


@dataclass(frozen=True, slots=True)
class PipeGetTensorReply:
    """Reply of call 87."""

    def encode(self, _writer: Writer) -> None:
        """Append this message."""

    @classmethod
    def decode(cls, _reader: Reader) -> PipeGetTensorReply:
        """Read one. Raises WireError."""
        return cls()


@dataclass(frozen=True, slots=True)
class AllocWithBaseRequest:
    """Request of call 88. As buffer_type_alloc_buffer, and then as buffer_get_base."""

    buft: int
    size: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buft)
        writer.u64(self.size)

    @classmethod
    def decode(cls, reader: Reader) -> AllocWithBaseRequest:
        """Read one. Raises WireError."""
        return cls(reader.u64(), reader.u64())


@dataclass(frozen=True, slots=True)
class AllocWithBaseReply:
    """Reply of call 88."""

    buffer: int
    base: int

    def encode(self, writer: Writer) -> None:
        """Append this message."""
        writer.u64(self.buffer)
        writer.u64(self.base)

    @classmethod
    def decode(cls, reader: Reader) -> AllocWithBaseReply:
        """Read one. Raises WireError."""
        return cls(reader.u64(), reader.u64())


Request = (
    DeviceGetDeviceCountRequest
    | DeviceGetCountRequest
    | DeviceGetNameRequest
    | DeviceGetDescriptionRequest
    | DeviceGetTypeRequest
    | DeviceGetMemoryRequest
    | DeviceSupportsOpRequest
    | DeviceGetBufferTypeRequest
    | DeviceGetPropsRequest
    | DeviceBufferFromPtrRequest
    | BufferTypeGetNameRequest
    | BufferTypeGetAlignmentRequest
    | BufferTypeGetMaxSizeRequest
    | BufferTypeIsHostRequest
    | BufferTypeAllocBufferRequest
    | BufferTypeGetAllocSizeRequest
    | BufferGetBaseRequest
    | BufferSetTensorRequest
    | BufferGetTensorRequest
    | BufferCpyTensorRequest
    | BufferClearRequest
    | BufferFreeBufferRequest
    | BackendGraphComputeRequest
    | NegotiateRequest
    | OnDeviceRequest
    | WideSupportsOpRequest
    | WideGetAllocSizeRequest
    | WideSetTensorRequest
    | WideGetTensorRequest
    | WideCpyTensorRequest
    | WideGraphComputeRequest
    | RingCreateRequest
    | RingKickRequest
    | GraphKeepRequest
    | GraphRunRequest
    | GraphPatchRequest
    | DeviceSummaryRequest
    | BatchRequest
    | SetTensorInlineRequest
    | PipeSetTensorRequest
    | PipeGetTensorRequest
    | AllocWithBaseRequest
)
Reply = (
    DeviceGetDeviceCountReply
    | DeviceGetCountReply
    | DeviceGetNameReply
    | DeviceGetDescriptionReply
    | DeviceGetTypeReply
    | DeviceGetMemoryReply
    | DeviceSupportsOpReply
    | DeviceGetBufferTypeReply
    | DeviceGetPropsReply
    | DeviceBufferFromPtrReply
    | BufferTypeGetNameReply
    | BufferTypeGetAlignmentReply
    | BufferTypeGetMaxSizeReply
    | BufferTypeIsHostReply
    | BufferTypeAllocBufferReply
    | BufferTypeGetAllocSizeReply
    | BufferGetBaseReply
    | BufferSetTensorReply
    | BufferGetTensorReply
    | BufferCpyTensorReply
    | BufferClearReply
    | BufferFreeBufferReply
    | BackendGraphComputeReply
    | NegotiateReply
    | OnDeviceReply
    | WideSupportsOpReply
    | WideGetAllocSizeReply
    | WideSetTensorReply
    | WideGetTensorReply
    | WideCpyTensorReply
    | WideGraphComputeReply
    | RingCreateReply
    | RingKickReply
    | GraphKeepReply
    | GraphRunReply
    | GraphPatchReply
    | DeviceSummaryReply
    | BatchReply
    | SetTensorInlineReply
    | PipeSetTensorReply
    | PipeGetTensorReply
    | AllocWithBaseReply
)

REQUESTS: dict[Call, type[Request]] = {
    Call.DEVICE_GET_DEVICE_COUNT: DeviceGetDeviceCountRequest,
    Call.DEVICE_GET_COUNT: DeviceGetCountRequest,
    Call.DEVICE_GET_NAME: DeviceGetNameRequest,
    Call.DEVICE_GET_DESCRIPTION: DeviceGetDescriptionRequest,
    Call.DEVICE_GET_TYPE: DeviceGetTypeRequest,
    Call.DEVICE_GET_MEMORY: DeviceGetMemoryRequest,
    Call.DEVICE_SUPPORTS_OP: DeviceSupportsOpRequest,
    Call.DEVICE_GET_BUFFER_TYPE: DeviceGetBufferTypeRequest,
    Call.DEVICE_GET_PROPS: DeviceGetPropsRequest,
    Call.DEVICE_BUFFER_FROM_PTR: DeviceBufferFromPtrRequest,
    Call.BUFFER_TYPE_GET_NAME: BufferTypeGetNameRequest,
    Call.BUFFER_TYPE_GET_ALIGNMENT: BufferTypeGetAlignmentRequest,
    Call.BUFFER_TYPE_GET_MAX_SIZE: BufferTypeGetMaxSizeRequest,
    Call.BUFFER_TYPE_IS_HOST: BufferTypeIsHostRequest,
    Call.BUFFER_TYPE_ALLOC_BUFFER: BufferTypeAllocBufferRequest,
    Call.BUFFER_TYPE_GET_ALLOC_SIZE: BufferTypeGetAllocSizeRequest,
    Call.BUFFER_GET_BASE: BufferGetBaseRequest,
    Call.BUFFER_SET_TENSOR: BufferSetTensorRequest,
    Call.BUFFER_GET_TENSOR: BufferGetTensorRequest,
    Call.BUFFER_CPY_TENSOR: BufferCpyTensorRequest,
    Call.BUFFER_CLEAR: BufferClearRequest,
    Call.BUFFER_FREE_BUFFER: BufferFreeBufferRequest,
    Call.BACKEND_GRAPH_COMPUTE: BackendGraphComputeRequest,
    Call.NEGOTIATE: NegotiateRequest,
    Call.ON_DEVICE: OnDeviceRequest,
    Call.WIDE_SUPPORTS_OP: WideSupportsOpRequest,
    Call.WIDE_GET_ALLOC_SIZE: WideGetAllocSizeRequest,
    Call.WIDE_SET_TENSOR: WideSetTensorRequest,
    Call.WIDE_GET_TENSOR: WideGetTensorRequest,
    Call.WIDE_CPY_TENSOR: WideCpyTensorRequest,
    Call.WIDE_GRAPH_COMPUTE: WideGraphComputeRequest,
    Call.RING_CREATE: RingCreateRequest,
    Call.RING_KICK: RingKickRequest,
    Call.GRAPH_KEEP: GraphKeepRequest,
    Call.GRAPH_RUN: GraphRunRequest,
    Call.GRAPH_PATCH: GraphPatchRequest,
    Call.DEVICE_SUMMARY: DeviceSummaryRequest,
    Call.BATCH: BatchRequest,
    Call.SET_TENSOR_INLINE: SetTensorInlineRequest,
    Call.PIPE_SET_TENSOR: PipeSetTensorRequest,
    Call.PIPE_GET_TENSOR: PipeGetTensorRequest,
    Call.ALLOC_WITH_BASE: AllocWithBaseRequest,
}

REPLIES: dict[Call, type[Reply]] = {
    Call.DEVICE_GET_DEVICE_COUNT: DeviceGetDeviceCountReply,
    Call.DEVICE_GET_COUNT: DeviceGetCountReply,
    Call.DEVICE_GET_NAME: DeviceGetNameReply,
    Call.DEVICE_GET_DESCRIPTION: DeviceGetDescriptionReply,
    Call.DEVICE_GET_TYPE: DeviceGetTypeReply,
    Call.DEVICE_GET_MEMORY: DeviceGetMemoryReply,
    Call.DEVICE_SUPPORTS_OP: DeviceSupportsOpReply,
    Call.DEVICE_GET_BUFFER_TYPE: DeviceGetBufferTypeReply,
    Call.DEVICE_GET_PROPS: DeviceGetPropsReply,
    Call.DEVICE_BUFFER_FROM_PTR: DeviceBufferFromPtrReply,
    Call.BUFFER_TYPE_GET_NAME: BufferTypeGetNameReply,
    Call.BUFFER_TYPE_GET_ALIGNMENT: BufferTypeGetAlignmentReply,
    Call.BUFFER_TYPE_GET_MAX_SIZE: BufferTypeGetMaxSizeReply,
    Call.BUFFER_TYPE_IS_HOST: BufferTypeIsHostReply,
    Call.BUFFER_TYPE_ALLOC_BUFFER: BufferTypeAllocBufferReply,
    Call.BUFFER_TYPE_GET_ALLOC_SIZE: BufferTypeGetAllocSizeReply,
    Call.BUFFER_GET_BASE: BufferGetBaseReply,
    Call.BUFFER_SET_TENSOR: BufferSetTensorReply,
    Call.BUFFER_GET_TENSOR: BufferGetTensorReply,
    Call.BUFFER_CPY_TENSOR: BufferCpyTensorReply,
    Call.BUFFER_CLEAR: BufferClearReply,
    Call.BUFFER_FREE_BUFFER: BufferFreeBufferReply,
    Call.BACKEND_GRAPH_COMPUTE: BackendGraphComputeReply,
    Call.NEGOTIATE: NegotiateReply,
    Call.ON_DEVICE: OnDeviceReply,
    Call.WIDE_SUPPORTS_OP: WideSupportsOpReply,
    Call.WIDE_GET_ALLOC_SIZE: WideGetAllocSizeReply,
    Call.WIDE_SET_TENSOR: WideSetTensorReply,
    Call.WIDE_GET_TENSOR: WideGetTensorReply,
    Call.WIDE_CPY_TENSOR: WideCpyTensorReply,
    Call.WIDE_GRAPH_COMPUTE: WideGraphComputeReply,
    Call.RING_CREATE: RingCreateReply,
    Call.RING_KICK: RingKickReply,
    Call.GRAPH_KEEP: GraphKeepReply,
    Call.GRAPH_RUN: GraphRunReply,
    Call.GRAPH_PATCH: GraphPatchReply,
    Call.DEVICE_SUMMARY: DeviceSummaryReply,
    Call.BATCH: BatchReply,
    Call.SET_TENSOR_INLINE: SetTensorInlineReply,
    Call.PIPE_SET_TENSOR: PipeSetTensorReply,
    Call.PIPE_GET_TENSOR: PipeGetTensorReply,
    Call.ALLOC_WITH_BASE: AllocWithBaseReply,
}
