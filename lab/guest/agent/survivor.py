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
HEAVY_SIDE = 2048
TRIED_SIDE = HEAVY_SIDE // 2
"""A chain of so much smaller matrices is an eighth of the work."""
HEAVY_NODES = 3
MOST_NODES = HEAVY_NODES << 11
"""5e13 multiplications, of which the host allows a graph 1e15; the nodes have 2 MiB on the way there."""
TRIED_S = 0.25
"""So long must the eighth take, the quicker time of so many: what a device makes but once, such as its kernels, is in the first."""
TRIALS = 2
COUNT_EVERY = 5
POINTERS = {
    "ggml_backend_load": "p",
    "ggml_backend_dev_get": "z",
    "ggml_backend_dev_init": "pp",
    "ggml_backend_dev_backend_reg": "p",
    "ggml_new_tensor_2d": "piqq",
    "ggml_add": "ppp",
    "ggml_mul_mat": "ppp",
    "ggml_new_graph_custom": "pzi",
    "ggml_backend_alloc_ctx_tensors": "pp",
    "ggml_backend_get_default_buffer_type": "p",
    "ggml_gallocr_new": "p",
}
SIZES = {"ggml_tensor_overhead": "", "ggml_graph_overhead_custom": "zi"}
TRUTHS = {"ggml_gallocr_alloc_graph": "pp"}
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
    "ggml_set_output": "p",
    "ggml_gallocr_free": "p",
}
LETTERS: dict[str, Any] = {"p": ctypes.c_void_p, "z": ctypes.c_size_t, "i": ctypes.c_int, "q": ctypes.c_int64}


class InitParams(ctypes.Structure):
    """``struct ggml_init_params``."""

    _fields_ = (("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool))


def _loaded(name: str) -> ctypes.CDLL:
    """Of ggml 1.x, else of 0.x."""
    try:
        return ctypes.CDLL(f"{name}.so.1", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return ctypes.CDLL(f"{name}.so.0", mode=ctypes.RTLD_GLOBAL)


class Ggml:
    """ggml's functions by name."""

    def __init__(self) -> None:
        self._libraries = [_loaded(name) for name in ("libggml", "libggml-base")]
        results = (
            (POINTERS, ctypes.c_void_p), (SIZES, ctypes.c_size_t), (TRUTHS, ctypes.c_bool),
            (TEXTS, ctypes.c_char_p), (OTHERS, ctypes.c_int),
        )  # fmt: skip
        for table, result in results:
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
    """A graph on a device: ADD of two small tensors, or a chain of ``heavy`` MUL_MATs. ``ready`` is False when it was refused."""

    def __init__(self, ggml: Ggml, device: Device, *, heavy: int = 0, side: int = HEAVY_SIDE) -> None:
        self._ggml = ggml
        nodes = heavy or 1
        tensors, graph = (2 + nodes) * ggml("ggml_tensor_overhead"), ggml("ggml_graph_overhead_custom", 2 + nodes, 0)
        self._context = ggml("ggml_init", InitParams(tensors + graph, None, True))
        self._count = side * side if heavy else VALUES
        rows = side if heavy else 1
        shape = (F32, self._count // rows, rows)
        self._a, self._b = (ggml("ggml_new_tensor_2d", self._context, *shape) for _ in range(2))
        self._graph = ggml("ggml_new_graph_custom", self._context, 2 + nodes, 0)
        self._result = self._a
        for _ in range(nodes):
            self._result = ggml("ggml_mul_mat" if heavy else "ggml_add", self._context, self._result, self._b)
            ggml("ggml_build_forward_expand", self._graph, self._result)  # node by node: it goes down a chain by recursion
        self._backend = ggml("ggml_backend_dev_init", device.address, None)
        self._buffer = self._allocator = None
        self.ready = bool(self._backend) and (self._share() if heavy else self._place())

    def _place(self) -> bool:
        """Give every tensor memory of its own."""
        self._buffer = self._ggml("ggml_backend_alloc_ctx_tensors", self._context, self._backend)
        return bool(self._buffer)

    def _share(self) -> bool:
        """Give the chain's results memory in turns, so that a long one needs no more than a short one; the data keeps its own."""
        for tensor in (self._a, self._b):
            self._ggml("ggml_set_output", tensor)
        self._allocator = self._ggml("ggml_gallocr_new", self._ggml("ggml_backend_get_default_buffer_type", self._backend))
        return bool(self._ggml("ggml_gallocr_alloc_graph", self._allocator, self._graph))

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
        if self._allocator:
            self._ggml("ggml_gallocr_free", self._allocator)
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


def tried(ggml: Ggml, device: Device, nodes: int) -> tuple[int, float]:
    """Status and seconds of a chain of the smaller matrices."""
    work = Work(ggml, device, heavy=nodes, side=TRIED_SIDE)
    times: list[float] = []
    status = filled(work)
    while status == 0 and len(times) < TRIALS:
        start = time.monotonic()
        status = work.compute()
        times.append(time.monotonic() - start)
    work.free()
    return status, min(times, default=0.0)


def filled(work: Work) -> int:
    """Give a chain numbers that stay finite; its status."""
    if not work.ready:
        return -1
    work.fill(1.0, 0.0)
    return 0


def until_lost(ggml: Ggml, device: Device) -> None:
    """Graphs of two seconds or more until one fails; then everything is given back, which a lost device must survive, too.

    How many nodes that takes is the device's to say: what is done to a graph that is under way must not come behind its end.
    """
    nodes = HEAVY_NODES
    status, took_s = tried(ggml, device, nodes)
    while status == 0 and took_s < TRIED_S and nodes < MOST_NODES:
        nodes *= 2
        status, took_s = tried(ggml, device, nodes)
    work = Work(ggml, device, heavy=nodes)
    status = status or filled(work)
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
