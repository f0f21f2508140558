"""Computes cases on one device in one process and tells a JSON line a case.

``python3 -m lab.guest.agent.ops --device NAME --seed N --cases FILE``, in the guest on the remote device, or with ``--library
PATH --threads N`` on the host on a backend library itself. Lines, in this order:

* ``{"device": {…}, "pid": n, "others": […]}``: what computes, in which process, and the registry it was found in.
* ``{"case", "outcome", "digest", "ns", "batch"}``, in the order of the cases as ``engine.ordered`` puts them; with ``text``
  for an error; with ``at`` and ``outputs`` (type, sizes, bytes each) where values are appended to ``--values``.
* ``{"end": {"cases", "batches", "seconds"}}``. Without it the program was cut off: the first case without a line, or one that
  would have travelled with it, is where. ``--batch 1`` tells which.
  With ``--hold`` the program stays behind it, with its libraries mapped, until SIGTERM: so it can be looked at.
* ``{"lost": text}`` in its place when the device computes nothing any more. The program stays for some seconds then, so that
  whoever reads the line can see what became of the other side while this one lives.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from lab.errors import LabError
from lab.ggml.device import OpenDevice, device_named, device_of_library, listed_devices, opened_backend
from lab.ggml.library import Ggml, loaded_ggml
from lab.ops.catalog import case_named
from lab.ops.engine import BATCH_CASES, DeviceLost, Engine, Result, ordered

STATUS_REFUSED = 2
STATUS_LOST = 3
STAYS_S = 3.0
HOLDS_S = 60.0


def tell(line: dict[str, Any]) -> None:
    """One line of output, at once."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def row_of(result: Result, values: BinaryIO | None) -> dict[str, Any]:
    """A case's line; its results are appended to ``values``."""
    row: dict[str, Any] = {
        "case": result.case,
        "outcome": result.outcome,
        "digest": result.digest,
        "ns": result.duration_ns,
        "batch": result.batch,
    }
    if result.text:
        row["text"] = result.text
    if values is not None and result.outputs:
        row["at"] = values.tell()
        row["outputs"] = [[output.type.label, list(output.ne), output.data.nbytes] for output in result.outputs]
        for output in result.outputs:
            values.write(output.data.tobytes())
    return row


def chosen_device(ggml: Ggml, arguments: argparse.Namespace) -> OpenDevice:
    """The device that is to compute."""
    if arguments.library:
        return device_of_library(ggml, arguments.library, arguments.symbol)
    return device_named(ggml, arguments.device)


def run(arguments: argparse.Namespace) -> int:
    """Compute the cases of the file."""
    started = time.monotonic()
    if arguments.hold:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    ids = Path(arguments.cases).read_text(encoding="utf-8").split("\n")
    cases = ordered(case_named(text) for text in ids if text)
    ggml = loaded_ggml()
    device = chosen_device(ggml, arguments)
    with ExitStack() as stack:
        values = stack.enter_context(Path(arguments.values).open("ab", buffering=0)) if arguments.values else None
        backend = stack.enter_context(opened_backend(device, threads=arguments.threads))
        tell(
            {"device": asdict(device.facts), "pid": os.getpid(), "others": [asdict(other.facts) for other in listed_devices(ggml)]}
        )
        engine = Engine(backend, arguments.seed, batch_cases=arguments.batch)
        count = 0
        for count, result in enumerate(engine.run(cases), 1):  # noqa: B007 - counted for the last line
            tell(row_of(result, values))
        tell({"end": {"cases": count, "batches": engine.batches, "seconds": round(time.monotonic() - started, 3)}})
        if arguments.hold:
            signal.sigtimedwait({signal.SIGTERM}, HOLDS_S)
    return 0


def main(words: Sequence[str] | None = None) -> int:
    """Parse the command line and run; 2 and a sentence when it cannot."""
    parser = argparse.ArgumentParser(prog="lab.guest.agent.ops")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--device")
    where.add_argument("--library")
    parser.add_argument("--symbol", help="by which the library registers itself; as ggml's own libraries do if not given")
    parser.add_argument("--threads", type=int, help="for a library that computes on threads; others pass over it")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--cases", required=True)
    parser.add_argument("--values")
    parser.add_argument("--batch", type=int, default=BATCH_CASES)
    parser.add_argument("--hold", action="store_true", help="stay at the end until SIGTERM")
    try:
        return run(parser.parse_args(words))
    except DeviceLost as error:
        tell({"lost": error.message})
        time.sleep(STAYS_S)
        return STATUS_LOST
    except (LabError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return STATUS_REFUSED


if __name__ == "__main__":
    sys.exit(main())
