"""The agent's work through a host library in this process; run in the host root. Its lines are those of ``lab.guest.agent.ops``.

A case's line has ``private_kib``, too: what this process, in which the host library is, has to itself behind it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from lab.errors import LabError
from lab.ggml.registry import Device
from lab.guest.agent.ops import row_of, tell
from lab.metrics.memory import private_kib
from lab.ops.catalog import case_named
from lab.ops.engine import BATCH_CASES, Engine, ordered
from lab.ops.loopback import opened_loopback

STATUS_REFUSED = 2
DEVICE = Device(0, "loopback", "the device behind the host library", "", "GPU")


def run(arguments: argparse.Namespace) -> None:
    started = time.monotonic()
    cases = ordered(case_named(text) for text in Path(arguments.cases).read_text(encoding="utf-8").split("\n"))
    with ExitStack() as stack:
        values = stack.enter_context(Path(arguments.values).open("ab", buffering=0)) if arguments.values else None
        loopback = stack.enter_context(opened_loopback(arguments.host_library, arguments.ggml_library, 1))
        tell({"device": asdict(DEVICE), "pid": os.getpid(), "others": []})
        engine = Engine(loopback, arguments.seed, batch_cases=arguments.batch)
        for result in engine.run(cases):
            tell({**row_of(result, values), "private_kib": private_kib("self")})
    tell({"end": {"cases": len(cases), "batches": engine.batches, "seconds": round(time.monotonic() - started, 3)}})


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host-library", type=Path, required=True)
    parser.add_argument("--ggml-library", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--cases", required=True)
    parser.add_argument("--values")
    parser.add_argument("--batch", type=int, default=BATCH_CASES)
    try:
        run(parser.parse_args())
    except LabError as error:
        sys.stderr.write(f"{error}\n")
        return STATUS_REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
