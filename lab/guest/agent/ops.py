"""Computes cases on one device in one process and tells a JSON line a case.

``python3 -m lab.guest.agent.ops --device NAME --of PATH --seed N --cases FILE``, in the guest on the remote device, or with
``--library PATH --threads N`` on the host on a backend library itself. No other backend library is loaded: ggml's own search opens
all of its CPU builds, which takes an emulated guest a second, and here nothing of them is wanted. Lines, in this order:

* ``{"device": {…}, "pid": n, "others": […]}``: what computes, in which process, and the registry it was found in.
* ``{"case", "outcome", "digest", "ns", "batch"}``, in the order of the cases as ``engine.ordered`` puts them; with ``text``
  for an error, and for cases that failed together and were computed alone; with ``at`` and ``outputs`` (type, sizes, bytes each)
  where values are appended to ``--values``.
* ``{"end": {"cases", "batches", "seconds"}}``. Without it the program was cut off: the first case without a line, or one that
  would have travelled with it, is where. ``--batch 1`` tells which.
  With ``--hold`` the program stays behind it, with its libraries mapped, until SIGTERM: so it can be looked at.
* ``{"ready": {…}}`` alone with ``--probe``: Python runs this program here, and ggml's library loads.
* ``{"lost": text}`` in its place when the device computes nothing any more. The program stays for some seconds then, so that
  whoever reads the line can see what became of the other side while this one lives.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from typing import Any, BinaryIO

from lab.errors import LabError
from lab.ggml.device import OpenDevice, device_named, device_of_library, listed_devices, opened_backend
from lab.ggml.library import Ggml, loaded_ggml
from lab.ops.catalog import case_named
from lab.ops.engine import BATCH_CASES, DeviceLost, Engine, ordered
from lab.ops.result import Result

USAGE = """\
--device NAME    the device that computes, or
--library PATH   the first device of this library
--of PATH        the library of the device; if not given, every one that ggml finds
--symbol NAME    by which the library registers itself; as ggml's own libraries do if not given
--threads N      for a library that computes on threads; others pass over it
--seed N         of the data
--cases FILE     ids, one a line; - is the standard input
--values FILE    gets the results
--batch N        so many cases travel together at most
--hold           stay at the end until SIGTERM
--probe          only say that the program runs here"""
"""Read here by hand: argparse would be a twentieth of an emulated guest's time for a few hundred cases."""
STATUS_REFUSED = 2
STATUS_LOST = 3
STAYS_S = 3.0
HOLDS_S = 60.0


class BadOption(LabError):
    """The command line is wrong."""


@dataclass(frozen=True, slots=True)
class Options:
    """The command line; see ``USAGE``."""

    seed: int
    cases: str
    device: str = ""
    library: str = ""
    of: str | None = None
    symbol: str | None = None
    threads: int | None = None
    values: str | None = None
    batch: int = BATCH_CASES
    hold: bool = False


NUMBERS = frozenset({"seed", "threads", "batch"})


def options_of(words: Sequence[str]) -> Options:
    """The options in the words. Raises ``BadOption``."""
    known = {field.name for field in fields(Options)}
    chosen: dict[str, Any] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        name = word.removeprefix("--")
        if name not in known or name == word or (name != "hold" and not left):
            raise BadOption(f"{word} is no option, or lacks its value; they are\n{USAGE}")
        value = name == "hold" or left.pop(0)
        if name in NUMBERS and not str(value).isdecimal():
            raise BadOption(f"--{name} takes a number, not {value}")
        chosen[name] = int(value) if name in NUMBERS else value
    if not {"seed", "cases"} <= set(chosen) or ("device" in chosen) == ("library" in chosen):
        raise BadOption(f"--seed, --cases and either --device or --library are needed; options are\n{USAGE}")
    return Options(**chosen)


def tell(*lines: dict[str, Any]) -> None:
    """Lines of output, at once: each write is a message of its own to whoever listens far away."""
    sys.stdout.write("".join(json.dumps(line) + "\n" for line in lines))
    sys.stdout.flush()


def read(path: str) -> str:
    """The text of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


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
        row["outputs"] = [[output.type.label, list(output.ne), len(output.data)] for output in result.outputs]
        for output in result.outputs:
            values.write(output.data)
    return row


def chosen_device(ggml: Ggml, arguments: Options) -> OpenDevice:
    """The device that is to compute."""
    if arguments.library:
        return device_of_library(ggml, arguments.library, arguments.symbol)
    return device_named(ggml, arguments.device, arguments.of)


def run(arguments: Options) -> int:
    """Compute the cases of the file."""
    started = time.monotonic()
    if arguments.hold:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    text = sys.stdin.read() if arguments.cases == "-" else read(arguments.cases)
    ids = text.split("\n")
    cases = ordered(case_named(text) for text in ids if text)
    ggml = loaded_ggml()
    device = chosen_device(ggml, arguments)
    with ExitStack() as stack:
        values = stack.enter_context(open(arguments.values, "ab", buffering=0)) if arguments.values else None
        backend = stack.enter_context(opened_backend(device, threads=arguments.threads))
        tell(
            {"device": asdict(device.facts), "pid": os.getpid(), "others": [asdict(other.facts) for other in listed_devices(ggml)]}
        )
        engine = Engine(backend, arguments.seed, batch_cases=arguments.batch)
        count = 0
        for results in engine.run_batches(cases):
            count += len(results)
            tell(*(row_of(result, values) for result in results))
        tell({"end": {"cases": count, "batches": engine.batches, "seconds": round(time.monotonic() - started, 3)}})
        if arguments.hold:
            signal.sigtimedwait({signal.SIGTERM}, HOLDS_S)
    return 0


def main(words: Sequence[str] | None = None) -> int:
    """Parse the command line and run; 2 and a sentence when it cannot."""
    try:
        given = sys.argv[1:] if words is None else words
        if "--help" in given:
            sys.stdout.write(f"{USAGE}\n")
            return 0
        if "--probe" in given:
            tell({"ready": {"python": sys.version.split()[0], "ggml": loaded_ggml().text("ggml_version")}})
            return 0
        return run(options_of(given))
    except DeviceLost as error:
        tell({"lost": error.message})
        time.sleep(STAYS_S)
        return STATUS_LOST
    except (LabError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return STATUS_REFUSED


if __name__ == "__main__":
    sys.exit(main())
