"""The standard benchmark as data: its sizes, ways and configurations, and the phases that they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lab.apir.protocol_gen import Extension
from lab.bench.idleness import ALONE, idle_phases
from lab.bench.plan import Measure, Phase, Subject

RING = "GGML_VIRTGPU_RING"
EXTENSIONS = "GGML_VIRTGPU_EXTENSIONS"
DATA_PATH = "GGML_VIRTGPU_DATA_PATH"
LIBRARY_PATH = "GGML_BACKEND_PATH"
WAYS: Mapping[str, Mapping[str, str]] = {"vm": {RING: "auto"}, "vm_execbuffer": {RING: "off"}, "vm_02": {EXTENSIONS: "none"}}
"""How commands travel: what was negotiated, the submission ioctl in the place of the ring, and all as with a peer of 0.2."""
OTHER = "vm_other"
LOOPBACK = "loopback"
NATIVE = "native"
FLOORS = "floors"
PATHS = ("copied", "shared")
KIB, MIB = 1024, 1024 * 1024
SIZES = {
    "4B": 4, "64B": 64, "1KiB": KIB, "16KiB": 16 * KIB, "256KiB": 256 * KIB, "1MiB": MIB, "4MiB": 4 * MIB, "16MiB": 16 * MIB,
    "64MiB": 64 * MIB, "256MiB": 256 * MIB,
}  # fmt: skip
NODES = (1, 100, 1000)
THREADS = (1, 2, 4)
TURNS_MS = 200
"""Threads that call are watched for as long at least: each of them is to have had several turns, of some 7 ms by the ring.

A full run watches them for longer, so that their beginning weighs less: in 200 ms four threads made some three per cent fewer calls
per second than in 800 (60 repetitions of each).
"""
WORKING_THREADS = (1, 2)
"""Threads that work between their calls, for so many microseconds: two do so side by side, or one is kept from it by the other."""
WORK_US = 200
DIRECTIONS = {"set": "to", "get": "from"}
BURST = 21
"""Submissions one at the heels of the other: fewer than the device's queue has room for."""
MOVED_BYTES = 64 * MIB
"""Bytes that one repetition moves at most, but for one round of anything larger."""
WARM_ROUNDS = 16
"""Rounds of a transfer before it is timed.

Copy loops come one behind the other, and some for the tables of pages before: those before a loop have brought the same memory, an
emulator's table of pages and the host's scheduler to where it gets no quicker. It takes a transfer as many.
"""
TOGETHER_BYTES, MOST_TOGETHER = 2 * MIB, 8
"""Writes that a sample is of: so many bytes of them, and so many of them, at most.

A write may be left to go along with the next call, which then takes the longer: the median of single ones would be that of those
that were left.
"""
CONTRACT_SIZES = ("1MiB", "16MiB", "64MiB", "256MiB")
"""By which transfers are judged. The host's own copying is measured at these."""
LARGE, LARGEST = 16 * MIB, 256 * MIB
"""Transfers from these sizes on are phases of their own."""
OURS, THEIRS, ECHO = "ours", "theirs", "echo"
ALL = "all"
"""The configuration with every extension."""
CENSUS, TOKEN = "census", "token"
"""A word of the phases in which calls are counted, and the first one of the subjects whose tokens are."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How thorough a benchmark is.

    Attributes:
        share: scales the rounds of a repetition.
        repeats: scales the repetitions.
        starts: how often the programs of transfers and rates are started anew.
        idle_s: how long an idle context is watched; see ``lab.bench.idleness`` for its turns.
        largest: bytes of the largest transfer.
    """

    share: float = 1.0
    repeats: float = 1.0
    starts: int = 3
    idle_s: float = 60.0
    largest: int = 256 * MIB

    def rounds(self, number: int) -> int:
        """Rounds of a repetition, one at least."""
        return max(1, round(number * self.share))

    def repetitions(self, number: int) -> int:
        """Repetitions of a phase, two at least: turns are taken forwards and backwards."""
        return max(2, round(number * self.repeats))

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of transfers."""
        return {name: size for name, size in SIZES.items() if size <= self.largest}


FULL = Effort()
QUICK = Effort(share=0.25, repeats=0.15, starts=1, idle_s=3.0, largest=64 * MIB)


@dataclass(frozen=True, slots=True)
class Programs:
    """How the subjects' programs are started where they run.

    Attributes:
        library: command line of the program on the library under test.
        floors: command line of the program that measures the floors; empty where there are none.
        environment: variables of every program.
        calls: folder for call records; empty where none can be written.
        other: variables that make it the second implementation; None without one.
        other_host: which host library that one gets.
    """

    library: tuple[str, ...]
    floors: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    calls: str = ""
    other: Mapping[str, str] | None = None
    other_host: str = THEIRS


def subject(programs: Programs, way: str, path: str, extra: Mapping[str, str] | None = None) -> Subject:
    """A program on the library under test: a way and a data path. Named ``way/path``."""
    environment = {**programs.environment, **WAYS.get(way, {}), DATA_PATH: path, **(extra or {})}
    host = OURS
    if way == OTHER:
        environment |= dict(programs.other or {})
        host = programs.other_host
    return Subject(f"{way}/{path}", programs.library, environment, host)


def recorded(one: Subject, folder: str) -> Subject:
    """The same with call records, where there is a folder for them."""
    return replace(one, calls=f"{folder}/{one.name.replace('/', '-')}") if folder else one


def is_counted(phase: str) -> bool:
    """Whether calls are counted in the phase, by their records: to write those takes time, so its durations tell nothing."""
    return CENSUS in phase.split()


def token_census(path: str) -> str:
    """Name of the phase in which the calls and bytes of tokens are counted, by data path."""
    return f"tokens {CENSUS} {path}"


def named(subjects: Sequence[Subject], word: str) -> tuple[str, ...]:
    """Names of the subjects that hold the word."""
    return tuple(one.name for one in subjects if word in one.name)


SMALL_CALLS = {
    "empty": "empty rounds={}",
    "clear": "clear rounds={}",
    "set_4b": "set size=4 warm=20 rounds={}",
    "set_4b_sent": "set size=4 sent=1 warm=20 rounds={}",
    "get_4b": "get size=4 warm=20 rounds={}",
    "graph_1": "graph nodes=1 warm=20 rounds={}",
}
"""Calls that move next to nothing, where small tensors travel; lines take the rounds.

A small write is left to go along with the next call: ``set_4b_sent`` is one with an empty call behind it, until the host has both.
All find the host awake (``empty`` and ``clear`` without being told): the first call after a pause has a measurement of its own.
"""
ALLOC_FREE = "alloc_free size=65536 rounds={}"
POOL = "GGML_VIRTGPU_BUFFER_POOL_MIB"
UNPOOLED = {"unpooled": "shared", "unpooled-copied": "copied"}
"""Data paths, by their place in names of subjects whose library keeps nothing of freed buffers: each allocation goes to the host.

With what a library keeps by itself, buffers of one size that come and go send no command at all.
"""
COUNTED = {
    **SMALL_CALLS,
    "alloc_free": ALLOC_FREE,
    "graph_1000": "graph nodes=1000 warm=2 rounds={}",
    "set_1MiB": f"set size={MIB} rounds={{}}",
    "get_1MiB": f"get size={MIB} rounds={{}}",
}
COUNTED_ROUNDS = 12
CENSUS_REPETITIONS = 2
"""Once for what is asked only once, and once for what every round sends."""


def calls_phase(programs: Programs, ways: Sequence[str], effort: Effort) -> Phase:
    """Latencies, beside the floors."""
    subjects = [subject(programs, way, path) for way in ways for path in PATHS]
    rounds = effort.rounds(200)
    copied, users = named(subjects, "/copied"), tuple(one.name for one in subjects)
    measures = [Measure(name, line.format(rounds), copied) for name, line in SMALL_CALLS.items()]
    measures.append(Measure("alloc_free", ALLOC_FREE.format(effort.rounds(50)), users))
    fresh = [
        replace(subject(programs, way, path, {POOL: "0"}), name=f"{way}/{name}")
        for way in ways if way != OTHER for name, path in UNPOOLED.items()
    ]  # fmt: skip
    subjects += fresh
    measures.append(Measure("alloc_free", ALLOC_FREE.format(effort.rounds(50)), tuple(one.name for one in fresh)))
    if programs.floors:
        subjects.insert(0, floors(programs))
        measures.insert(0, Measure("word", f"word rounds={10 * rounds}", (FLOORS,)))
        measures.insert(1, Measure("submission", f"submission rounds={rounds}", (FLOORS,)))
        measures.insert(2, Measure("burst", f"burst rounds={BURST}", (FLOORS,)))
    return Phase("calls", tuple(subjects), tuple(measures), effort.repetitions(24))


def floors(programs: Programs) -> Subject:
    """The program that measures the floors."""
    return Subject(FLOORS, programs.floors, dict(programs.environment), ECHO)


def rates_phase(programs: Programs, ways: Sequence[str], effort: Effort) -> Phase:
    """Graphs and calls per second."""
    subjects = tuple(subject(programs, way, "copied") for way in ways)
    graphs = tuple(
        Measure(f"graph_{nodes}", f"graph nodes={nodes} warm=2 rounds={effort.rounds(max(8, 200 // nodes))}") for nodes in NODES[1:]
    )
    rates = tuple(
        Measure(f"threads_{threads}", f"threads threads={threads} ms={max(TURNS_MS, effort.rounds(600))}") for threads in THREADS
    )
    working = tuple(
        Measure(f"working_threads_{threads}", f"threads threads={threads} ms={max(TURNS_MS, effort.rounds(300))} work_us={WORK_US}")
        for threads in WORKING_THREADS
    )
    return Phase("rates", subjects, (*graphs, *rates, *working), effort.repetitions(15))


def pause_phase(programs: Programs, ways: Sequence[str], effort: Effort) -> Phase:
    """The first call after a second without any, beside the smallest command after as long."""
    subjects = [subject(programs, way, "copied") for way in ways]
    measures = [Measure("after_pause", "after_pause rounds=1 pause_ms=1000", tuple(one.name for one in subjects))]
    if programs.floors:
        subjects.insert(0, floors(programs))
        measures.insert(0, Measure("submission_after_pause", "submission rounds=1 pause_ms=1000", (FLOORS,)))
    return Phase("pause", tuple(subjects), tuple(measures), effort.repetitions(8))


def transfer_phases(programs: Programs, ways: Sequence[str], effort: Effort) -> Iterator[Phase]:
    """Tensors in and out, beside the best copy loop.

    A repetition's rate hangs on where its memory happens to lie and on what else the machine does in that second, for ours and for
    the loops, by a factor of two and more: from one to the next the logarithm of it spreads by 0.2 to 0.4 (two processors of an
    EPYC, 60 repetitions of each). So there are many. Of the larger ones, which take an emulator up to seconds each time to prepare,
    there are fewer.
    """
    subjects = [subject(programs, way, path) for way in ways for path in PATHS]
    users = tuple(one.name for one in subjects)
    if programs.floors:
        subjects.insert(0, floors(programs))
    for name, repetitions, sizes in (
        ("transfers", 30, range(LARGE)),
        ("transfers large", 18, range(LARGE, LARGEST)),
        ("transfers largest", 6, range(LARGEST, effort.largest + 1)),
    ):
        chosen = {key: size for key, size in effort.sizes.items() if size in sizes}
        measures = tuple(one for key, size in chosen.items() for one in transfers_of(key, size, programs, users, effort))
        if measures:
            yield Phase(name, tuple(subjects), measures, effort.repetitions(repetitions))


def transfers_of(name: str, size: int, programs: Programs, users: tuple[str, ...], effort: Effort) -> Iterator[Measure]:
    """One size, both directions."""
    rounds = max(1, min(effort.rounds(100), MOVED_BYTES // size))
    for verb, direction in DIRECTIONS.items():
        if programs.floors and size >= MIB:
            line = f"copy size={size} direction={direction} rounds={min(rounds, 4)}"
            yield Measure(f"copy_{verb}_{name}", line, (FLOORS,))
        if programs.floors and name in CONTRACT_SIZES:
            line = f"host_copy size={size} direction={direction} rounds={min(rounds, 4)}"
            yield Measure(f"host_copy_{verb}_{name}", line, (FLOORS,))
        together = max(1, min(MOST_TOGETHER, TOGETHER_BYTES // size)) if verb == "set" else 1
        samples, warm = max(1, rounds // together), -(-WARM_ROUNDS // together)
        yield Measure(f"{verb}_{name}", f"{verb} size={size} together={together} warm={warm} rounds={samples}", users)


def started_anew(phases: Sequence[Phase], starts: int) -> Iterator[Phase]:
    """The phases in turns, so often, with programs of their own each time, and a share of their repetitions.

    What a program finds out about the machine, and where its memory lies, holds for as long as it runs: rates of the same library
    differ by a sixth from one program to the next, the loops' that they are held against, too.
    """
    for start in range(starts):
        for phase in phases:
            name = f"{phase.name} {start + 1}" if starts > 1 else phase.name
            yield replace(phase, name=name, repetitions=max(2, -(-phase.repetitions // starts)))


def census_phase(programs: Programs, ways: Sequence[str]) -> Phase:
    """How many commands and bytes everything sends: the same measurements, few rounds, with call records.

    A second implementation may keep none: then it is told as one that is not counted.
    """
    subjects = tuple(recorded(subject(programs, way, path), programs.calls) for way in ways for path in PATHS)
    measures = tuple(Measure(name, line.format(COUNTED_ROUNDS)) for name, line in COUNTED.items())
    return Phase(CENSUS, subjects, measures, CENSUS_REPETITIONS)


def alone(programs: Programs) -> Subject:
    """A program that has no context, nor our library."""
    return Subject(ALONE, (programs.library[0], "registry", "CPU", "1"), {**programs.environment, LIBRARY_PATH: ""})


def configurations() -> dict[str, str]:
    """What is compared per token: 0.2 alone, each extension alone, all but the ring (by EXECBUFFER), all of them.

    Values are of ``GGML_VIRTGPU_EXTENSIONS``.
    """
    each = {name.lower(): name.lower() for name in Extension.__members__}
    return {"0.2 alone": "none", **each, "all but ring": "-ring", ALL: "all"}


def token_subject(path: str, name: str) -> str:
    """Name of the subject whose tokens are timed: by data path, and configuration or second implementation (``OTHER``)."""
    return f"{TOKEN}/{path}/{name}"


def token_phases(programs: Programs, effort: Effort) -> Iterator[Phase]:
    """A model-like graph, with every configuration: counted, then timed, in turns with a second implementation as that has it."""
    for path in PATHS:
        subjects = tuple(
            replace(subject(programs, "vm", path, {EXTENSIONS: value}), name=token_subject(path, name))
            for name, value in configurations().items()
        )
        counted = tuple(recorded(one, programs.calls) for one in subjects)
        yield Phase(token_census(path), counted, token_measures(COUNTED_ROUNDS), CENSUS_REPETITIONS)
        if programs.other is not None:
            subjects += (replace(subject(programs, OTHER, path), name=token_subject(path, OTHER)),)
        yield Phase(f"tokens {path}", subjects, token_measures(2 * effort.rounds(10)), effort.repetitions(3))


def token_measures(rounds: int) -> tuple[Measure, ...]:
    """Tokens of a graph that stays, and of one that is described and allocated anew for each."""
    return (
        Measure("token", f"token warm=2 rounds={rounds}"),
        Measure("rebuilt", f"token warm=2 rebuild=1 rounds={rounds}"),
    )


def vm_phases(programs: Programs, effort: Effort) -> tuple[Phase, ...]:
    """Everything that is measured in a guest."""
    ways = (*WAYS, *((OTHER,) if programs.other is not None else ()))
    return (
        census_phase(programs, ways),
        calls_phase(programs, ways, effort),
        pause_phase(programs, ways, effort),
        *started_anew((rates_phase(programs, ways, effort), *transfer_phases(programs, ways, effort)), effort.starts),
        *token_phases(programs, effort),
        *idle_phases(alone(programs), {way: subject(programs, way, "copied") for way in WAYS}, effort.idle_s),
    )


def loopback_phases(programs: Programs, native: tuple[str, ...], effort: Effort) -> tuple[Phase, ...]:
    """Everything that is measured without a guest. ``native``: the program on the backend itself."""
    model = Phase(
        "tokens",
        (subject(programs, LOOPBACK, "copied"), Subject(NATIVE, native, dict(programs.environment))),
        (Measure("token", f"token rounds={effort.rounds(20)} warm=2"),),
        effort.repetitions(3),
    )
    return (
        census_phase(programs, (LOOPBACK,)),
        calls_phase(programs, (LOOPBACK,), effort),
        rates_phase(programs, (LOOPBACK,), effort),
        *transfer_phases(programs, (LOOPBACK,), effort),
        model,
    )
