"""Devices, backends and buffers of ggml's registry."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from lab.ggml.library import Ggml, GgmlError, TensorStruct
from lab.ggml.listing import DEVICE_TYPES
from lab.ggml.registry import Device
from lab.ggml.tensor import Context
from lab.ggml.types import Bytes, Type

SUCCESS = 0


@dataclass(frozen=True, slots=True)
class OpenDevice:
    """A device of the registry as ggml's functions take it, with what it says of itself."""

    ggml: Ggml
    address: int
    facts: Device

    def supports(self, tensor: int) -> bool:
        """Whether the device can compute this operation."""
        return bool(self.ggml.call("ggml_backend_dev_supports_op", self.address, tensor))

    @property
    def buffer_type(self) -> int:
        """The device's default buffer type."""
        return self.ggml.made("ggml_backend_dev_buffer_type", self.address)


def listed_devices(ggml: Ggml) -> tuple[OpenDevice, ...]:
    """The registry's devices, of the backends loaded so far, in its order."""
    devices = []
    for index in range(ggml.call("ggml_backend_dev_count")):
        address = ggml.made("ggml_backend_dev_get", index)
        kind = ggml.call("ggml_backend_dev_type", address)
        registry = ggml.made("ggml_backend_dev_backend_reg", address)
        facts = Device(
            index=index,
            registry=ggml.text("ggml_backend_reg_name", registry),
            name=ggml.text("ggml_backend_dev_name", address),
            description=ggml.text("ggml_backend_dev_description", address),
            type=DEVICE_TYPES[kind] if 0 <= kind < len(DEVICE_TYPES) else str(kind),
        )
        devices.append(OpenDevice(ggml, address, facts))
    return tuple(devices)


def device_named(ggml: Ggml, name: str, library: str | None = None) -> OpenDevice:
    """The first device of that name: of a backend library, which is the only one loaded then, or of every one that ggml finds."""
    if library is None:
        ggml.call("ggml_backend_load_all")
    elif not ggml.call("ggml_backend_load", os.fsencode(library)):
        raise GgmlError("ggml_backend_load", f"{library} is no backend library")
    devices = listed_devices(ggml)
    for device in devices:
        if device.facts.name == name:
            return device
    raise GgmlError("ggml_backend_dev_get", f"no device {name!r}; there are {[device.facts.name for device in devices]}")


def device_of_library(ggml: Ggml, path: str, symbol: str | None = None) -> OpenDevice:
    """The first device of a backend library, which is loaded for it and joins the registry.

    Args:
        ggml: the registry's library.
        path: of the backend library.
        symbol: the function that gives its registry, where that is not what ggml itself looks for.
    """
    registry = registered(ggml, path, symbol) if symbol else ggml.call("ggml_backend_load", os.fsencode(path))
    if not registry:
        raise GgmlError("ggml_backend_load", f"{path} is no backend library, or does not run on this processor")
    if not ggml.call("ggml_backend_reg_dev_count", registry):
        raise GgmlError("ggml_backend_load", f"{path} has no device")
    address = ggml.made("ggml_backend_reg_dev_get", registry, 0)
    return next(device for device in listed_devices(ggml) if device.address == address)


def registered(ggml: Ggml, path: str, symbol: str) -> int:
    """Load a library and put what a function of it returns into ggml's registry. Raises ``GgmlError``."""
    try:
        function = getattr(ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL), symbol)
    except (OSError, AttributeError) as error:
        raise GgmlError("dlopen", str(error)) from error
    function.restype = ctypes.c_void_p
    registry = function()
    if registry:
        ggml.call("ggml_backend_register", registry)
    return int(registry or 0)


@dataclass(frozen=True, slots=True)
class Backend:
    """A device that computes. Made by ``opened_backend``."""

    device: OpenDevice
    address: int

    def compute(self, graph: int) -> None:
        """Compute a graph and wait for it. Raises ``GgmlError`` for any status but success."""
        status = self.device.ggml.call("ggml_backend_graph_compute", self.address, graph)
        if status != SUCCESS:
            raise GgmlError("ggml_backend_graph_compute", f"status {status}")

    def allocated(self, context: Context, arena_context: Context) -> AbstractContextManager[Buffer]:
        """See ``allocated_buffer``."""
        return allocated_buffer(self.device, context, arena_context)

    def use_threads(self, count: int) -> None:
        """Set the number of threads of a backend that computes on them; others have none, and nothing is done."""
        ggml = self.device.ggml
        registry = ggml.made("ggml_backend_dev_backend_reg", self.device.address)
        address = ggml.call("ggml_backend_reg_get_proc_address", registry, b"ggml_backend_set_n_threads")
        if address:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)(address)(self.address, count)


@contextlib.contextmanager
def opened_backend(device: OpenDevice, *, threads: int | None = None) -> Iterator[Backend]:
    """A backend of the device; freed at the end. ``threads`` is for those that compute on the CPU."""
    ggml = device.ggml
    backend = Backend(device, ggml.made("ggml_backend_dev_init", device.address, None))
    try:
        if threads is not None:
            backend.use_threads(threads)
        yield backend
    finally:
        ggml.call("ggml_backend_free", backend.address)


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory of a device. ``arena`` is a tensor of bytes over all of it, so that one transfer moves everything."""

    ggml: Ggml
    address: int
    base: int
    size: int
    arena: int

    def clear(self, value: int) -> None:
        """Set every byte."""
        self.ggml.call("ggml_backend_buffer_clear", self.address, value)

    def write(self, data: Bytes, offset: int = 0) -> None:
        """Copy bytes into the buffer. Raises ``GgmlError`` when they do not fit."""
        self._require(offset, len(data))
        if len(data):
            self.ggml.call("ggml_backend_tensor_set", self.arena, foreign(data), offset, len(data))

    def read(self, offset: int = 0, size: int | None = None) -> Bytes:
        """Bytes of the buffer, by default all."""
        size = self.size - offset if size is None else size
        self._require(offset, size)
        data = bytearray(size)
        if size:
            self.ggml.call("ggml_backend_tensor_get", self.arena, foreign(data), offset, size)
        return data

    def offset_of(self, tensor: int) -> int:
        """Where in the buffer a tensor's data begin."""
        data = TensorStruct.from_address(tensor).data or 0
        if not self.base <= data <= self.base + self.size:
            raise GgmlError("ggml_backend_tensor_alloc", "the tensor lies in another buffer")
        return int(data - self.base)

    def _require(self, offset: int, size: int) -> None:
        if not 0 <= offset <= offset + size <= self.size:
            raise GgmlError("ggml_backend_tensor_set", f"{size} bytes at {offset} do not fit into {self.size}")


def foreign(data: Bytes) -> Any:
    """Data as a foreign function takes their address, for as long as this value lives. Bytes that may not be written are copied."""
    if isinstance(data, memoryview) and data.readonly:
        data = bytes(data)
    return data if isinstance(data, bytes) else ctypes.byref(ctypes.c_char.from_buffer(data))


@contextlib.contextmanager
def allocated_buffer(device: OpenDevice, context: Context, arena_context: Context) -> Iterator[Buffer]:
    """One buffer with all tensors of ``context`` in it, and views of them bound; freed at the end.

    Args:
        device: whose memory.
        context: a context with tensors that have no data yet.
        arena_context: where the buffer's arena tensor is made.

    Raises:
        GgmlError: the device would not give the memory.
    """
    ggml = device.ggml
    address = ggml.made("ggml_backend_alloc_ctx_tensors_from_buft", context.address, device.buffer_type)
    try:
        base = int(ggml.call("ggml_backend_buffer_get_base", address) or 0)
        size = int(ggml.call("ggml_backend_buffer_get_size", address))
        arena = arena_context.new_tensor(Type.I8, (size,))
        status = ggml.call("ggml_backend_tensor_alloc", address, arena, base)
        if status != SUCCESS:
            raise GgmlError("ggml_backend_tensor_alloc", f"status {status}")
        yield Buffer(ggml, address, base, size, arena)
    finally:
        ggml.call("ggml_backend_buffer_free", address)
