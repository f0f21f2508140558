"""Which backends and devices ggml's registry holds, in its order, as one line of JSON.

A program, run with the python3 of the root or guest whose ggml is asked (``python3 listing.py devices``), because only
there the answer is the one that any ggml program gets. ``python3 listing.py scores FILE…`` asks CPU variants for their
own score (``ggml_backend_score``; 0: does not run on this processor). ``hold`` is ``devices``, but the process stays, with its
backends loaded, until it is told to end by SIGTERM: so it can be looked at. ``lab.ggml.registry`` makes values of the answer.
Function names and device type numbers are those of ``ggml-backend.h`` of libggml 0.27.

It is shipped into guests by itself. An emulated one pays half a second for ``dataclasses`` and ``typing``: it does without.
"""

from __future__ import annotations

import ctypes
import json
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GENERATIONS = (1, 0)
"""Numbers of the library's SONAME, the newest first."""
DEVICE_TYPES = ("CPU", "GPU", "IGPU", "ACCEL", "META")


def list_devices() -> list[dict[str, object]]:
    """Load every backend that ggml finds and list the devices: the fields of ``lab.ggml.registry.Device``."""
    ggml, base = _loaded("libggml"), _loaded("libggml-base")
    ggml.ggml_backend_dev_count.restype = ctypes.c_size_t
    ggml.ggml_backend_load_all()
    device_at = _function(ggml.ggml_backend_dev_get, ctypes.c_void_p, ctypes.c_size_t)
    name_of = _function(base.ggml_backend_dev_name, ctypes.c_char_p, ctypes.c_void_p)
    description_of = _function(base.ggml_backend_dev_description, ctypes.c_char_p, ctypes.c_void_p)
    type_of = _function(base.ggml_backend_dev_type, ctypes.c_int, ctypes.c_void_p)
    registry_of = _function(base.ggml_backend_dev_backend_reg, ctypes.c_void_p, ctypes.c_void_p)
    registry_name_of = _function(base.ggml_backend_reg_name, ctypes.c_char_p, ctypes.c_void_p)
    devices: list[dict[str, object]] = []
    for index in range(ggml.ggml_backend_dev_count()):
        device = device_at(index)
        kind = type_of(device)
        one = {
            "index": index,
            "registry": registry_name_of(registry_of(device)).decode(),
            "name": name_of(device).decode(),
            "description": description_of(device).decode(errors="replace"),
            "type": DEVICE_TYPES[kind] if 0 <= kind < len(DEVICE_TYPES) else str(kind),
        }
        devices.append(one)
    return devices


def _loaded(name: str) -> ctypes.CDLL:
    for number in GENERATIONS[:-1]:
        try:
            return ctypes.CDLL(f"{name}.so.{number}", mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
    return ctypes.CDLL(f"{name}.so.{GENERATIONS[-1]}", mode=ctypes.RTLD_GLOBAL)


def score_of(library: str) -> int:
    """The score that a backend library gives itself on this processor; 0 when it does not run here or will not load."""
    try:
        score = ctypes.CDLL(library).ggml_backend_score
    except (OSError, AttributeError):
        return 0
    score.restype = ctypes.c_int
    return int(score())


def _function(function: Any, result: Any, *arguments: Any) -> Any:
    function.restype = result
    function.argtypes = arguments
    return function


def main(arguments: list[str]) -> int:
    """Answer ``devices``, ``hold`` or ``scores FILE…`` with one line of JSON, the last of the output."""
    if arguments == ["hold"]:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # before backends start threads, which inherit it
    match arguments:
        case ["devices" | "hold"]:
            answer: dict[str, object] = {"devices": list_devices()}
        case ["scores", *libraries]:
            answer = {"scores": {library: score_of(library) for library in libraries}}
        case _:
            print("usage: listing.py devices | hold | scores FILE…", file=sys.stderr)  # noqa: T201 - this is a program here
            return 2
    print(json.dumps(answer), flush=True)  # noqa: T201 - this is a program here
    if arguments == ["hold"]:
        signal.sigwait({signal.SIGTERM})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
