"""What can be broken on the way from a guest's program to the host, and what has to come of it.

Waits are limited by the protocol's documents: 2 s for the handshake, 60 s for loading the host library (which fails at once when
it fails, so the shorter limit holds for those faults, too), 1 s from the death of a worker to the end of its calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

HANDSHAKE_S = 2.0
WORKER_DEATH_S = 1.0
NO_FILE = r"VIRGL_APIR_BACKEND_LIBRARY on the host names no loadable file"
NO_ANSWER = r"no answer to the handshake within 2000 ms: the host has no APIR component, or VIRGL_ROUTE_VENUS_TO_APIR is not set"


class Fault(StrEnum):
    """Everything that a fault check can be about."""

    HOST_LIBRARY_MISSING = "host-library-missing"
    HOST_LIBRARY_WRONG_FILE = "host-library-wrong-file"
    HOST_LIBRARY_WRONG_SYMBOL = "host-library-wrong-symbol"
    GGML_LIBRARY_MISSING = "ggml-library-missing"
    GGML_LIBRARY_WRONG_SYMBOL = "ggml-library-wrong-symbol"
    NO_VENUS_CAPSET = "no-venus-capset"
    NO_APIR_CAPSET = "no-apir-capset"
    FLAT_DEVICE = "2d-device"
    NO_DEVICE = "no-device"
    ROUTE_NOT_SET = "route-not-set"
    NO_COMPONENT = "no-component"
    NO_WINDOW = "no-window"
    WORKER_KILLED = "worker-killed"
    RENDER_SERVER_KILLED = "render-server-killed"
    CPU_HOST_LIBRARY = "cpu-host-library"

    @property
    def expectation(self) -> Expectation:
        """What has to come of it."""
        return EXPECTATIONS[self]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a fault must lead to.

    Attributes:
        message: regular expression for what names the cause, on standard error of the guest's program (of QEMU, for a machine
            that must not start); empty for a fault that nobody must notice.
        limit_s: how long the program may wait at most.
        works: the remote device computes all the same.
        libraries: library paths as the host is to see them while the fault lasts: ``host`` and ``ggml``, each ``None`` for no file.
        neighbour: another program's context on the same machine works, and must go on doing so.
        starts: QEMU starts with it at all.
    """

    message: str
    limit_s: float = HANDSHAKE_S
    works: bool = False
    libraries: Mapping[str, str | None] | None = None
    neighbour: bool = False
    starts: bool = True


TEXT_FILE = "/etc/passwd"
OTHER_LIBRARY = "/usr/lib/x86_64-linux-gnu/libm.so.6"
EXPECTATIONS: Mapping[Fault, Expectation] = {
    Fault.HOST_LIBRARY_MISSING: Expectation(NO_FILE, libraries={"host": None}, neighbour=True),
    Fault.HOST_LIBRARY_WRONG_FILE: Expectation(NO_FILE, libraries={"host": TEXT_FILE}, neighbour=True),
    Fault.HOST_LIBRARY_WRONG_SYMBOL: Expectation(
        r"the host library lacks a symbol: VIRGL_APIR_BACKEND_LIBRARY", libraries={"host": OTHER_LIBRARY}, neighbour=True
    ),
    Fault.GGML_LIBRARY_MISSING: Expectation(
        r"cannot open the ggml library: APIR_LLAMA_CPP_GGML_LIBRARY_PATH", libraries={"ggml": None}, neighbour=True
    ),
    Fault.GGML_LIBRARY_WRONG_SYMBOL: Expectation(
        r"the ggml library lacks the registration symbol", libraries={"ggml": OTHER_LIBRARY}, neighbour=True
    ),
    Fault.NO_VENUS_CAPSET: Expectation(r"the device has no capset 4"),
    Fault.NO_APIR_CAPSET: Expectation(r"the device has no capset 10", neighbour=True),
    Fault.FLAT_DEVICE: Expectation(r"the device is 2-D only \(the VM needs virtio-gpu-gl\)"),
    Fault.NO_DEVICE: Expectation(r"no render node of a virtio-gpu device"),
    Fault.ROUTE_NOT_SET: Expectation(NO_ANSWER),
    Fault.NO_COMPONENT: Expectation(NO_ANSWER),
    Fault.NO_WINDOW: Expectation(r"venus requires enabled blob and hostmem options", starts=False),
    Fault.WORKER_KILLED: Expectation(
        r"device lost: the host's worker process has ended; every later call fails", WORKER_DEATH_S, neighbour=True
    ),
    Fault.RENDER_SERVER_KILLED: Expectation("", works=True, neighbour=True),
    Fault.CPU_HOST_LIBRARY: Expectation("", works=True, neighbour=True),
}
