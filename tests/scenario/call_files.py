"""Call record files as both sides would have written them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.metrics.calls import HEADER, RECORD


@dataclass(frozen=True)
class Made:
    """What both sides' files of a context have in common; the first call is ``first_call``, all others compute graphs.

    With the status of a ring's offer, negotiation and offer come before them.
    """

    session: int
    capset: int
    first_call: int
    ring: int | None = None


def write_calls(path: Path, side: int, made: Made, count: int | None, last_status: int = 4) -> None:
    """A call record file with ``count`` records, and those of a ring's offer; None where there is to be none."""
    if count is None:
        return
    count += 0 if made.ring is None else 2
    header = np.zeros((), HEADER)
    header["magic"], header["version"], header["side"], header["record_size"] = b"APIRCALL", 2, side, RECORD.itemsize
    header["session"], header["counted"], header["written"], header["capset"] = made.session, count, count, made.capset
    header["pid"], header["monotonic_ns"] = 9, made.session
    records = np.zeros(count, RECORD)
    opening = [(made.first_call, 4)] if made.ring is None else [(64, 4), (72, made.ring), (made.first_call, 4)]
    for index in range(count):
        call, status = opening[index] if index < len(opening) else (22, 4)
        status = last_status if index == count - 1 else status
        records[index] = (index, 1000 * (index + 1), 50_000 + index, 900, 2, call, 3, status, 340, 16, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header.tobytes() + records.tobytes())
