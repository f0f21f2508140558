"""Which way the work really went: capset, data path, command ring, extensions, proved by the contexts served and the commands sent.

A setting says what was asked for. A guest library that passed over it would compute the same results on the other way, and a
run that is there to show both would show one of them twice. A guest library that gets no ring goes on by EXECBUFFER, and one
whose extensions are refused by what protocol 0.2 has, with the same results.

What the guest's records tell of each extension: ``ring`` has a call that makes it; ``graph_ids``, ``device_summary``,
``wide_shapes`` and ``buffer_base`` have commands that come in the place of others; ``timing`` fills in times. ``batch`` has a
command of its own only where several small writes of copied data follow one another, for fewer of them, and one larger write, go
along with the next command, which is recorded under its own name; ``pipes`` only where 128 KiB and more are copied.
``asynchronous`` has none: it shows where 6 to 8 MiB of data are copied without ``pipes``, which then go in pieces.
``liveness`` and ``bunched_fences`` have none either, and the one of ``devices`` is recorded as the call that it carries: these
three are not proved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from lab.apir.protocol_gen import BATCH_COMMAND_SIZE, EXTENSION_OF, Call, Extension
from lab.bundle.outcome import Blame, FindingKind
from lab.bundle.schema import CallsRecord
from lab.scenario.checks.state import Fact
from lab.scenario.environment import EXTENSIONS, HOST_RING, RING
from lab.scenario.model import Capset, DataPath, Scenario
from lab.scenario.model_catalog import CatalogCheck
from lab.scenario.section import BUILTIN

MAKING = {DataPath.SHARED: ("device_buffer_from_ptr",), DataPath.COPIED: ("buffer_type_alloc_buffer", "alloc_with_base")}
"""The commands that make a buffer, on either path."""
NOT_SHARED = "a device that does not compute in the host's memory, as most GPUs, has only copied data: guest.data_path"
NEGOTIATION, MAKING_RING = "negotiate", "ring_create"
"""What a guest library of ours sends once a context, and what it offers its ring by where the negotiation gave one."""
COMMANDS = {
    extension: tuple(call.name.lower() for call, owner in EXTENSION_OF.items() if owner is extension)
    for extension in (
        Extension.WIDE_SHAPES,
        Extension.GRAPH_IDS,
        Extension.DEVICE_SUMMARY,
        Extension.BATCH,
        Extension.PIPES,
        Extension.BUFFER_BASE,
    )
}
"""The commands of extensions of which the guest's records have some by their names."""
WITHOUT = {
    Extension.WIDE_SHAPES: ("device_supports_op", "buffer_type_get_alloc_size"),
    Extension.GRAPH_IDS: ("backend_graph_compute", "wide_graph_compute"),
    Extension.DEVICE_SUMMARY: ("device_get_name", "buffer_type_get_name"),
    Extension.BUFFER_BASE: ("buffer_get_base",),
}
"""What a guest library of ours sends in the place of an extension's commands where it does not have that extension."""
TRANSFERS = ("buffer_set_tensor", "buffer_get_tensor", "wide_set_tensor", "wide_get_tensor")
LARGEST_PIECE = 6 << 20
"""So many bytes of a tensor at most does a guest library of ours move by one of these, with the extension ``asynchronous``."""
LEAST_ONE_BY_ONE = 8 << 20
"""Fewer of them it moves by one of these without that extension: transfers between the two, without ``pipes``, show which it is."""
COPIED_ONLY = (*COMMANDS[Extension.BATCH], *COMMANDS[Extension.PIPES], *COMMANDS[Extension.BUFFER_BASE])
"""Commands that blob-backed data has no use for."""
NONE, SOME = "none", "some"


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
        made = [command for commands in MAKING.values() for command in commands if command in sent]
        seen, right = ", ".join(made) or NONE, MAKING[guest.data_path]
        expected = seen if made and set(made) <= set(right) else " or ".join(right)
        name, kind = f"commands that made buffers ({guest.data_path})", FindingKind.WRONG_DATA_PATH
        yield Fact(name, expected, seen, kind, Blame.PRODUCT, NOT_SHARED if guest.data_path is DataPath.SHARED else "")
    yield from ring_facts(scenario, calls, built_in=built_in)
    yield from extension_facts(scenario, calls, built_in=built_in)


def sides_of_others(scenario: Scenario, *, built_in: bool) -> frozenset[str]:
    """Of guest and host those whose records of calls are not written by code of ours, and so perhaps not at all."""
    ours = scenario.implementation
    chosen = {"guest": ours.guest.path == BUILTIN, "host": not built_in and ours.component.path == BUILTIN}
    return frozenset(side for side, own in chosen.items() if not own)


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
    return ring != "off" and Extension.RING in asked_extensions(str(extensions or "all"))


def asked_extensions(text: str) -> Extension:
    """The extensions that a value of the guest's variable asks for."""
    words = text.split(",")
    asked = Extension(0)
    for extension in Extension:
        name = name_of(extension)
        if f"-{name}" not in words and (words == ["all"] or name in words or words[0].startswith("-")):
            asked |= extension
    return asked


def ring_is_ours(scenario: Scenario, *, built_in: bool) -> bool:
    """Whether guest library and component are ours, and the host's variables do not forbid rings."""
    ours, host = scenario.implementation, scenario.host.environment
    allowed = host.get(f"{HOST_RING}_{scenario.guest.capset.upper()}", host.get(HOST_RING))
    return not built_in and ours.guest.path == ours.component.path == BUILTIN and allowed != "0"


def extension_facts(scenario: Scenario, calls: CallsRecord, *, built_in: bool) -> Iterator[Fact]:
    """That extensions were used, or were not, where the scenario's variables say something of them.

    One that is off has none of its commands, whosever the libraries are. One that is on has its commands and not only those of
    0.2 in their place; that is asked of guest library, component and host library of ours, together.
    """
    text = scenario.guest.environment.get(EXTENSIONS) or None
    if text is None:
        return
    asked, sent = asked_extensions(str(text)), {one.command for one in calls.commands if one.count}
    for extension, commands in COMMANDS.items():
        if extension not in asked:
            yield way_fact(f"commands of {name_of(extension)}, which is off", NONE, listed(commands, sent))
    if Extension.TIMING not in asked:
        yield way_fact("replies that tell the host's times", NONE, some(calls.timed))
    if extensions_are_ours(scenario, built_in=built_in):
        yield from used_facts(scenario, calls, asked, sent)


def used_facts(scenario: Scenario, calls: CallsRecord, asked: Extension, sent: Collection[str]) -> Iterator[Fact]:
    """That extensions that were asked for were used, as far as the records tell."""
    for extension, others in WITHOUT.items():
        own, other = (listed(commands, sent) for commands in (COMMANDS[extension], others))
        if extension in asked and (own, other) != (NONE, NONE):
            seen = SOME if own != NONE else f"{NONE}, but {other}"
            yield way_fact(f"commands of {name_of(extension)}", SOME, seen)
    if Extension.TIMING in asked:
        yield way_fact("replies that tell the host's times", SOME, some(calls.timed))
    largest = max((one.most_bytes for one in calls.commands if one.command in TRANSFERS), default=0)
    if Extension.ASYNCHRONOUS in asked and largest:
        limit = f"at most {LARGEST_PIECE} bytes"
        seen = limit if largest <= LARGEST_PIECE + BATCH_COMMAND_SIZE else f"{largest} bytes"
        yield way_fact("largest transfer by one command (asynchronous)", limit, seen)
    for command in promised_commands(scenario):
        if EXTENSION_OF[Call[command.upper()]] in asked:
            yield way_fact(f"{command} commands, to which the cases lead", SOME, some(command in sent))


def promised_commands(scenario: Scenario) -> tuple[str, ...]:
    """What the scenario's checks say that their cases lead to on its data path."""
    promised = dict.fromkeys(command for check in scenario.checks if isinstance(check, CatalogCheck) for command in check.sends)
    copied = scenario.guest.data_path is DataPath.COPIED
    return tuple(command for command in promised if copied or command not in COPIED_ONLY)


def extensions_are_ours(scenario: Scenario, *, built_in: bool) -> bool:
    """Whether guest library, component and host library are ours."""
    ours = scenario.implementation
    return not built_in and ours.guest.path == ours.component.path == ours.host.path == BUILTIN


def way_fact(name: str, expected: str, seen: str) -> Fact:
    """A fact of how commands travelled."""
    return Fact(name, expected, seen, FindingKind.WRONG_COMMAND_PATH, Blame.PRODUCT)


def listed(commands: Sequence[str], sent: Collection[str]) -> str:
    """Those of the commands that were sent, in words."""
    return ", ".join(command for command in commands if command in sent) or NONE


def some(count: int) -> str:
    """Whether there are any, in a word."""
    return SOME if count else NONE


def name_of(extension: Extension) -> str:
    """An extension's name as the guest's variable has it."""
    return str(extension.name).lower()


def capset_name(number: int) -> str:
    """The capset's name, or its number when it has none."""
    return next((capset.value for capset in Capset if capset.id == number), str(number))
