"""A ggml program that tells what it lives through: the remote device while there is one, its CPU backend in any case.

Run in a guest as ``python3 survivor.py MODE``, with ``GGML_BACKEND_PATH`` naming the library under test. A line of JSON per event:

* ``loaded``: how long that library took to load, and the devices that are there now.
* ``remote``: an ADD on the remote device, when there is one.
* ``computing``, ``lost`` (mode ``heavy``): graphs of seconds on the remote device, over and over, until one fails.
* ``again`` (mode ``heavy``): an ADD on the same device behind that, when everything that was on it has been given back.
* ``count`` (mode ``steady``): so many ADDs on the remote device were right, until SIGTERM ends it.
* ``cpu``: an ADD on the guest's own CPU backend, at the end of every mode.

What ggml and the library say goes to standard error. Signatures are those of libggml 0.27.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import sys
import time
from dataclasses import dataclass
from typing import Any

F32 = 0
CPU_TYPE = 0
VALUES = 256
HEAVY_SIDE = 1024
HEAVY_NODES = 24
CONTEXT_BYTES = 1 << 20
COUNT_EVERY = 5
POINTERS = {
    "ggml_backend_load": "p",
    "ggml_backend_dev_get": "z",
    "ggml_backend_dev_init": "pp",
    "ggml_backend_dev_backend_reg": "p",
    "ggml_new_tensor_2d": "piqq",
    "ggml_add": "ppp",
    "ggml_mul_mat": "ppp",
    "ggml_new_graph": "p",
    "ggml_backend_alloc_ctx_tensors": "pp",
}
TEXTS = {"ggml_backend_dev_name": "p", "ggml_backend_reg_name": "p"}
OTHERS = {
    "ggml_build_forward_expand": "pp",
    "ggml_backend_graph_compute": "pp",
    "ggml_backend_tensor_set": "ppzz",
    "ggml_backend_tensor_get": "ppzz",
    "ggml_backend_dev_type": "p",
    "ggml_backend_dev_count": "",
    "ggml_backend_load_all": "",
    "ggml_backend_buffer_free": "p",
    "ggml_backend_free": "p",
    "ggml_free": "p",
}
LETTERS: dict[str, Any] = {"p": ctypes.c_void_p, "z": ctypes.c_size_t, "i": ctypes.c_int, "q": ctypes.c_int64}


class InitParams(ctypes.Structure):
    """``struct ggml_init_params``."""

    _fields_ = (("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool))


class Ggml:
    """ggml's functions by name."""

    def __init__(self) -> None:
        self._libraries = [ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL) for name in ("libggml.so.0", "libggml-base.so.0")]
        for table, result in ((POINTERS, ctypes.c_void_p), (TEXTS, ctypes.c_char_p), (OTHERS, ctypes.c_int)):
            for name, letters in table.items():
                function = self.function(name)
                function.restype = result
                function.argtypes = tuple(LETTERS[letter] for letter in letters)
        init = self.function("ggml_init")
        init.restype, init.argtypes = ctypes.c_void_p, (InitParams,)

    def function(self, name: str) -> Any:
        """The function, of whichever library has it."""
        return next(getattr(library, name) for library in self._libraries if hasattr(library, name))

    def __call__(self, name: str, *arguments: Any) -> Any:
        """Call it."""
        return self.function(name)(*arguments)


@dataclass(frozen=True, slots=True)
class Device:
    """A device of the registry."""

    address: int
    name: str
    registry: str
    type: int


def devices(ggml: Ggml) -> list[Device]:
    """What the registry holds now, in its order."""
    found = []
    for index in range(ggml("ggml_backend_dev_count")):
        address = ggml("ggml_backend_dev_get", index)
        registry = ggml("ggml_backend_reg_name", ggml("ggml_backend_dev_backend_reg", address))
        name = ggml("ggml_backend_dev_name", address)
        found.append(Device(address, name.decode(), registry.decode(), ggml("ggml_backend_dev_type", address)))
    return found


class Work:
    """A graph on a device: ADD of two small tensors, or a chain of large MUL_MATs. ``ready`` is False when it was refused."""

    def __init__(self, ggml: Ggml, device: Device, *, heavy: bool = False) -> None:
        self._ggml = ggml
        self._context = ggml("ggml_init", InitParams(CONTEXT_BYTES, None, True))
        self._count = HEAVY_SIDE * HEAVY_SIDE if heavy else VALUES
        rows = HEAVY_SIDE if heavy else 1
        shape = (F32, self._count // rows, rows)
        self._a, self._b = (ggml("ggml_new_tensor_2d", self._context, *shape) for _ in range(2))
        self._graph = ggml("ggml_new_graph", self._context)
        self._result = self._a
        for _ in range(HEAVY_NODES if heavy else 1):
            self._result = ggml("ggml_mul_mat" if heavy else "ggml_add", self._context, self._result, self._b)
        ggml("ggml_build_forward_expand", self._graph, self._result)
        self._backend = ggml("ggml_backend_dev_init", device.address, None)
        self._buffer = ggml("ggml_backend_alloc_ctx_tensors", self._context, self._backend) if self._backend else None
        self.ready = bool(self._buffer)

    def compute(self) -> int:
        """Compute the graph once; its status."""
        return int(self._ggml("ggml_backend_graph_compute", self._backend, self._graph))

    def fill(self, a: float, b: float) -> None:
        """Set all elements of both tensors."""
        for tensor, value in ((self._a, a), (self._b, b)):
            data = struct.pack("<f", value) * self._count
            self._ggml("ggml_backend_tensor_set", tensor, data, 0, len(data))

    def added(self, a: float, b: float) -> bool:
        """Compute ``a`` + ``b`` and look at every element."""
        self.fill(a, b)
        if self.compute() != 0:
            return False
        data = (ctypes.c_float * self._count)()
        self._ggml("ggml_backend_tensor_get", self._result, data, 0, ctypes.sizeof(data))
        return list(data) == [a + b] * self._count

    def free(self) -> None:
        """Give everything back."""
        if self._buffer:
            self._ggml("ggml_backend_buffer_free", self._buffer)
        if self._backend:
            self._ggml("ggml_backend_free", self._backend)
        self._ggml("ggml_free", self._context)


def tell(event: str, **facts: object) -> None:
    """One line of JSON."""
    sys.stdout.write(json.dumps({"event": event, **facts}) + "\n")
    sys.stdout.flush()


def add_once(ggml: Ggml, device: Device) -> bool:
    """An ADD on the device, right or not."""
    work = Work(ggml, device)
    right = work.ready and work.added(1.5, 2.25)
    work.free()
    return right


def until_lost(ggml: Ggml, device: Device) -> None:
    """Long graphs until one fails; then everything is given back, which a lost device must survive, too."""
    work = Work(ggml, device, heavy=True)
    status = -1
    if work.ready:
        work.fill(1.0, 0.0)
        status = 0
    graphs = 0
    while status == 0:
        tell("computing", graphs=graphs)
        status = work.compute()
        graphs += 1
    tell("lost", status=status, graphs=graphs)
    work.free()


def until_told(ggml: Ggml, device: Device) -> None:
    """Small ADDs until SIGTERM."""
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    work = Work(ggml, device)
    right = wrong = 0
    while work.ready and not told and not wrong:
        if work.added(float(right), 1.0):
            right += 1
        else:
            wrong += 1
        if right % COUNT_EVERY == 0 or wrong:
            tell("count", right=right, wrong=wrong)
        time.sleep(0.02)
    work.free()
    tell("end", right=right, wrong=wrong)


def main(mode: str) -> int:
    """Entry point: ``once``, ``heavy`` or ``steady``."""
    library = os.environ.pop("GGML_BACKEND_PATH")
    ggml = Ggml()
    ggml("ggml_backend_load_all")
    start = time.monotonic()
    ggml("ggml_backend_load", os.fsencode(library) + b"\0")
    load_s = time.monotonic() - start
    all_devices = devices(ggml)
    tell("loaded", load_s=round(load_s, 4), devices=[f"{one.registry}: {one.name}" for one in all_devices])
    remote = next((one for one in all_devices if one.registry == "ggml-virtgpu"), None)
    if remote is not None:
        tell("remote", right=add_once(ggml, remote))
        if mode == "heavy":
            until_lost(ggml, remote)
            tell("again", right=add_once(ggml, remote))
        elif mode == "steady":
            until_told(ggml, remote)
    cpu = next(one for one in all_devices if one.registry == "CPU" and one.type == CPU_TYPE)
    tell("cpu", right=add_once(ggml, cpu))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
