"""Which way the work really went: capset and data path, proved by the contexts that workers served and the commands they got.

A setting says what was asked for. A guest library that passed over it would compute the same results on the other way, and a
run that is there to show both would show one of them twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lab.bundle.outcome import Blame, FindingKind
from lab.bundle.schema import CallsRecord
from lab.scenario.checks.state import Fact
from lab.scenario.model import Capset, DataPath, Guest

MAKING = {DataPath.SHARED: "device_buffer_from_ptr", DataPath.COPIED: "buffer_type_alloc_buffer"}
"""The command that makes a buffer, on either path."""


def way_facts(guest: Guest, capsets: Sequence[int], calls: CallsRecord) -> Iterator[Fact]:
    """What must hold of a variant that had results.

    Args:
        guest: what was asked for.
        capsets: numbers of the capsets of all contexts that workers served.
        calls: how often each command was sent.
    """
    seen = ", ".join(sorted({capset_name(number) for number in capsets})) or "none"
    yield Fact("capset of the contexts served", guest.capset, seen, FindingKind.WRONG_CAPSET, Blame.PRODUCT)
    if guest.data_path in MAKING:
        sent = {one.command for one in calls.commands if one.count}
        seen = ", ".join(command for command in MAKING.values() if command in sent) or "none"
        expected = MAKING[guest.data_path]
        yield Fact(f"commands that made buffers ({guest.data_path})", expected, seen, FindingKind.WRONG_DATA_PATH, Blame.PRODUCT)


def capset_name(number: int) -> str:
    """The capset's name, or its number when it has none."""
    return next((capset.value for capset in Capset if capset.id == number), str(number))
