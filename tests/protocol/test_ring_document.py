"""The ring's document says of our guest library what its sources say."""

from __future__ import annotations

import re

import pytest

from lab import paths
from lab.apir.protocol_gen import BATCH_COMMAND_SIZE, RING_COMMAND_OFFSET

pytestmark = pytest.mark.protocol

DOCUMENT = (paths.BACKEND_IMPL / "protocol" / "RING.md").read_text(encoding="utf-8")
GUEST = paths.BACKEND_IMPL / "guest"
LINE = 64


def constant(file: str, pattern: str) -> int:
    """The one number that the pattern finds in a source file of the guest library."""
    (found,) = re.findall(pattern, (GUEST / file).read_text(encoding="utf-8"))
    return int(found)


def test_slots_are_told_as_they_are_made() -> None:
    slots = constant(
        "ring_transport.cpp", r"RingShape shape\{(\d+), \(batch_command_size \+ ring_command_offset \+ 63\) / 64 \* 64\}"
    )
    size = -(-(BATCH_COMMAND_SIZE + RING_COMMAND_OFFSET) // LINE) * LINE
    assert f"makes {slots} slots of {size:,} bytes" in DOCUMENT


def test_turns_are_told_as_they_are_taken() -> None:
    replies = constant("reply_wait.cpp", r"constexpr int turn = (\d+);")
    assert f"lucky {replies} times in a row" in DOCUMENT
