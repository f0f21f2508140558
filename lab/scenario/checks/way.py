"""Which way the work really went: capset, data path, command ring, proved by the contexts served and the commands sent.

A setting says what was asked for. A guest library that passed over it would compute the same results on the other way, and a
run that is there to show both would show one of them twice. A guest library that gets no ring goes on by EXECBUFFER, with the
same results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lab.bundle.outcome import Blame, FindingKind
from lab.bundle.schema import CallsRecord
from lab.scenario.checks.state import Fact
from lab.scenario.environment import EXTENSIONS, HOST_RING, RING
from lab.scenario.model import Capset, DataPath, Scenario
from lab.scenario.section import BUILTIN

MAKING = {DataPath.SHARED: "device_buffer_from_ptr", DataPath.COPIED: "buffer_type_alloc_buffer"}
"""The command that makes a buffer, on either path."""
NEGOTIATION, MAKING_RING = "negotiate", "ring_create"
"""What a guest library of ours sends once a context, and what it offers its ring by where the negotiation gave one."""


def way_facts(scenario: Scenario, capsets: Sequence[int], calls: CallsRecord, *, built_in: bool) -> Iterator[Fact]:
    """What must hold of a variant that had results.

    Args:
        scenario: what was asked for.
        capsets: numbers of the capsets of all contexts that workers served.
        calls: how often each command was sent.
        built_in: the component is that of the host's virglrenderer.
    """
    guest = scenario.guest
    seen = ", ".join(sorted({capset_name(number) for number in capsets})) or "none"
    yield Fact("capset of the contexts served", guest.capset, seen, FindingKind.WRONG_CAPSET, Blame.PRODUCT)
    if guest.data_path in MAKING:
        sent = {one.command for one in calls.commands if one.count}
        seen = ", ".join(command for command in MAKING.values() if command in sent) or "none"
        expected = MAKING[guest.data_path]
        yield Fact(f"commands that made buffers ({guest.data_path})", expected, seen, FindingKind.WRONG_DATA_PATH, Blame.PRODUCT)
    yield from ring_facts(scenario, calls, built_in=built_in)


def ring_facts(scenario: Scenario, calls: CallsRecord, *, built_in: bool) -> Iterator[Fact]:
    """That no context got a ring, or each one did, where the scenario's variables say one or the other.

    The records do not tell what was negotiated, and a component may have no ring: it is required of ours on both sides. The
    host library has no part in it.
    """
    wanted = wanted_ring(scenario)
    if wanted is None:
        return
    sent = {one.command: one.count for one in calls.commands}
    opened = sum(one.count - one.failed for one in calls.commands if one.command == MAKING_RING)
    kind, blame = FindingKind.WRONG_COMMAND_PATH, Blame.PRODUCT
    if not wanted:
        yield Fact("contexts that asked for a command ring", "0", str(sent.get(MAKING_RING, 0)), kind, blame)
    elif ring_is_ours(scenario, built_in=built_in):
        contexts = max(1, sent.get(NEGOTIATION, 0))
        yield Fact("contexts with a command ring", str(contexts), str(opened), kind, blame)


def wanted_ring(scenario: Scenario) -> bool | None:
    """Whether the guest's variables ask for a ring or for none; None where they say nothing of it."""
    ring, extensions = (scenario.guest.environment.get(name) or None for name in (RING, EXTENSIONS))
    if ring is None and extensions is None:
        return None
    words = str(extensions or "all").split(",")
    offered = "-ring" not in words and (words == ["all"] or "ring" in words or words[0].startswith("-"))
    return ring != "off" and offered


def ring_is_ours(scenario: Scenario, *, built_in: bool) -> bool:
    """Whether guest library and component are ours, and the host's variables do not forbid rings."""
    ours, host = scenario.implementation, scenario.host.environment
    allowed = host.get(f"{HOST_RING}_{scenario.guest.capset.upper()}", host.get(HOST_RING))
    return not built_in and ours.guest.path == ours.component.path == BUILTIN and allowed != "0"


def capset_name(number: int) -> str:
    """The capset's name, or its number when it has none."""
    return next((capset.value for capset in Capset if capset.id == number), str(number))
