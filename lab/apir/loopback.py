"""The host library driven in-process: the whole path of an op with no guest, no QEMU and no component.

Runs wherever the host library loads, which is inside its host root; so this module and what it imports need nothing but
the standard library. Shared resources are memory files (``memfd``), as the component's are.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import mmap
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab.apir.protocol_gen import (
    DATA_PAGE_SIZE,
    REPLY_PAGE_SIZE,
    Call,
    DispatchCode,
    InitCode,
    Reply,
    Request,
    ReturnCode,
)
from lab.apir.protocol_gen import REPLIES as REPLY_TYPES
from lab.apir.wire import Reader, Writer
from lab.errors import ConfigError, ConfigProblem, RemoteFailed

GET_CONFIG = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p)
GET_SHMEM_PTR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)
SIZE_KEY = "apir.resource.size."


class Callbacks(ctypes.Structure):
    """What the host library may ask of the component."""

    _fields_ = (("get_config", GET_CONFIG), ("get_shmem_ptr", GET_SHMEM_PTR))


@dataclass(slots=True)
class Resource:
    """A shared resource: ``memory`` is writable and ``size`` bytes long; ``address`` is where it lies."""

    number: int
    size: int
    memory: mmap.mmap = field(repr=False)

    @property
    def address(self) -> int:
        """Where it is mapped in this process."""
        return ctypes.addressof(ctypes.c_char.from_buffer(self.memory))


class HostLibrary:
    """One context of a loaded host library. Made by ``loaded_host_library``."""

    def __init__(self, path: Path, context: int, config: Mapping[str, str]) -> None:
        self.context = context
        self.resources: dict[int, Resource] = {}
        self._numbers = itertools.count(1)
        self._config = {key: ctypes.create_string_buffer(value.encode()) for key, value in config.items()}
        # ctypes does not keep callbacks alive: these attributes do.
        self._get_config = GET_CONFIG(self._config_value)
        self._get_shmem_ptr = GET_SHMEM_PTR(self._shmem_address)
        self._callbacks = Callbacks(self._get_config, self._get_shmem_ptr)
        self._library = ctypes.CDLL(str(path))
        dispatcher = self._library.apir_backend_dispatcher
        dispatcher.restype = ctypes.c_uint32
        dispatcher.argtypes = (
            ctypes.c_uint32,
            ctypes.POINTER(Callbacks),
            ctypes.c_uint32,
            ctypes.c_char_p,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_void_p),
        )
        self._dispatcher: Callable[..., int] = dispatcher
        self._library.apir_backend_initialize.restype = ctypes.c_uint32
        self._library.apir_backend_deinit.restype = None

    def _config_value(self, _context: int, key: bytes) -> int | None:
        name = key.decode(errors="replace")
        if name.startswith(SIZE_KEY) and name not in self._config:
            number = name.removeprefix(SIZE_KEY)
            if number.isdecimal() and int(number) in self.resources:
                self._config[name] = ctypes.create_string_buffer(str(self.resources[int(number)].size).encode())
        value = self._config.get(name)
        return None if value is None else ctypes.addressof(value)

    def _shmem_address(self, _context: int, number: int) -> int | None:
        resource = self.resources.get(number)
        return None if resource is None else resource.address

    def initialise(self) -> int:
        """``apir_backend_initialize``; 6 is success."""
        status: int = self._library.apir_backend_initialize(self.context, ctypes.byref(self._callbacks))
        return status

    def deinit(self) -> None:
        """``apir_backend_deinit``."""
        self._library.apir_backend_deinit(self.context)

    def new_resource(self, size: int, number: int | None = None) -> Resource:
        """A shared resource of ``size`` bytes, zeroed; it lives until the library is left."""
        if number is None:
            number = next(free for free in self._numbers if free not in self.resources)
        descriptor = os.memfd_create(f"resource-{number}")
        try:
            os.ftruncate(descriptor, size)
            memory = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)
        self.resources[number] = Resource(number, size, memory)
        self._config.pop(f"{SIZE_KEY}{number}", None)
        return self.resources[number]

    def dispatch(self, call: int, payload: bytes, reply: Resource) -> tuple[int, bytes]:
        """One call: the dispatcher's code and the payload of the reply, as far as the host library says that it goes."""
        end = ctypes.c_void_p()
        arguments = ctypes.create_string_buffer(payload, max(len(payload), 1))
        start = ctypes.addressof(arguments)
        code = self._dispatcher(
            self.context,
            ctypes.byref(self._callbacks),
            call,
            ctypes.cast(arguments, ctypes.c_char_p),
            start + len(payload),
            reply.address + 4,
            reply.address + reply.size,
            ctypes.byref(end),
        )
        length = (end.value or 0) - (reply.address + 4)
        if not 0 <= length <= reply.size - 4:
            raise RemoteFailed(
                "host library", call_name(call), f"its reply ends {length} bytes behind the start of a page of {reply.size}"
            )
        return int(code), reply.memory[4 : 4 + length]

    def call(self, number: Call, request: Request) -> Reply:
        """One call with its decoded reply. Raises ``RemoteFailed`` for any code but ok."""
        writer = Writer()
        request.encode(writer)
        code, payload = self.dispatch(number, writer.data, self.reply_page)
        if code != DispatchCode.OK:
            raise RemoteFailed("host library", call_name(number), f"code {code}")
        return REPLY_TYPES[number].decode(Reader(payload))

    @property
    def reply_page(self) -> Resource:
        """The reply resource of ``call``."""
        return self._own(0xFFFF0001, REPLY_PAGE_SIZE)

    @property
    def data_page(self) -> Resource:
        """A data resource of the size that guests use."""
        return self._own(0xFFFF0002, DATA_PAGE_SIZE)

    def _own(self, number: int, size: int) -> Resource:
        return self.resources.get(number) or self.new_resource(size, number)


def call_name(number: int) -> str:
    """Name of a call, or its number."""
    return Call(number).name.lower() if number in Call._value2member_map_ else f"call {number}"


def guest_code(code: int) -> int:
    """A dispatcher's code as the guest sees it."""
    return code + ReturnCode.OK


@contextlib.contextmanager
def loaded_host_library(path: Path, config: Mapping[str, str], *, context: int = 1) -> Iterator[HostLibrary]:
    """Load a host library and initialise a context of it; it is de-initialised at the end.

    Args:
        path: the host library.
        config: configuration keys, such as ``ggml.library.path``.
        context: number of the context; several may live in one process.

    Raises:
        ConfigError: it cannot be loaded.
        RemoteFailed: its initialisation failed.
    """
    try:
        library = HostLibrary(path, context, config)
    except (OSError, AttributeError) as error:
        raise ConfigError(path, [ConfigProblem("", f"not a host library: {error}")]) from error
    status = library.initialise()
    try:
        if status != InitCode.SUCCESS:
            name = InitCode(status).name.lower() if status in InitCode._value2member_map_ else str(status)
            raise RemoteFailed("host library", "apir_backend_initialize", name)
        yield library
    finally:
        library.deinit()
