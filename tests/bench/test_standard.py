"""The standard benchmark's phases: every size of a transfer once, beside its loop, and the dear ones less often."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lab.bench.idleness import TURNS
from lab.bench.plan import Phase
from lab.bench.standard import (
    CONTRACT_SIZES,
    FULL,
    LARGE,
    LARGEST,
    MIB,
    MOVED_BYTES,
    PATHS,
    QUICK,
    SIZES,
    THREADS,
    TOKEN,
    TURNS_MS,
    WAYS,
    WORK_US,
    Effort,
    Programs,
    configurations,
    is_counted,
    loopback_phases,
    rates_phase,
    token_census,
    transfer_phases,
    vm_phases,
)

GUEST = Programs(library=("apir-bench",), floors=("apir-floors",), calls="calls")


def test_larger_transfers_are_phases_of_their_own() -> None:
    phases = tuple(transfer_phases(GUEST, ("vm",), FULL))
    timed = {f"{verb}_{name}": size for name, size in SIZES.items() for verb in ("set", "get")}
    assert [one.name for one in phases] == ["transfers", "transfers large", "transfers largest"]
    for phase, least, beyond in zip(phases, (0, LARGE, LARGEST), (LARGE, LARGEST, 2 * LARGEST), strict=True):
        own = {name: size for name, size in timed.items() if least <= size < beyond}
        loops = {f"copy_{name}" for name, size in own.items() if size >= MIB}
        hosts = {f"host_copy_{name}" for name in own if name.split("_")[1] in CONTRACT_SIZES}
        assert {one.name for one in phase.measures} == {*own, *loops, *hosts}
    assert [one.repetitions for one in phases] == sorted({one.repetitions for one in phases}, reverse=True)
    names = [one.name for phase in phases for one in phase.measures]
    assert len(names) == len(set(names))


def test_quick_look_has_no_phase_without_measures() -> None:
    phases = tuple(transfer_phases(GUEST, ("vm",), QUICK))
    assert [one.name for one in phases] == ["transfers", "transfers large"]
    assert all(one.measures for one in phases)
    assert all(one.subjects is not None for phase in phases for one in phase.measures)


def asked(phase: Phase, way: str) -> list[tuple[str, str, str]]:
    """What is asked of a way: measurement, data path, line."""
    return [
        (measure.name, path, measure.line)
        for measure in phase.measures
        for path in PATHS
        if f"{way}/{path}" in (measure.subjects or [one.name for one in phase.subjects])
    ]


@pytest.mark.parametrize("way", WAYS)
def test_every_way_is_asked_the_same(way: str) -> None:
    phases = {one.name: one for one in vm_phases(GUEST, FULL) if not one.name.startswith("idle")}
    shared = ("census", "calls", "pause", "rates 1", "transfers 2", "transfers large 1", "transfers largest 3")
    assert [asked(phases[name], way) for name in shared] == [asked(phases[name], "vm") for name in shared]
    assert all(asked(phases[name], way) for name in shared)


@pytest.mark.parametrize("effort", [FULL, QUICK])
def test_threads_have_several_turns(effort: Effort) -> None:
    lines = [one.line for one in rates_phase(GUEST, ("vm",), effort).measures if one.name.startswith("threads_")]
    watched = [int(line.split("ms=")[1]) for line in lines]
    assert len(watched) == len(THREADS)
    assert min(watched) >= TURNS_MS


def test_threads_that_work_in_between_are_watched() -> None:
    working = [one.line for one in rates_phase(GUEST, ("vm",), QUICK).measures if one.name.startswith("working_")]
    assert [line.split()[1] for line in working] == ["threads=1", "threads=2"]
    assert all(line.endswith(f"work_us={WORK_US}") for line in working)


def test_programs_of_rates_and_transfers_are_started_anew() -> None:
    phases = {one.name: one for one in vm_phases(GUEST, FULL)}
    names = [name for name in phases if name.startswith(("rates", "transfers"))]
    transfers = tuple(transfer_phases(GUEST, tuple(WAYS), FULL))
    assert names == [f"{part} {start}" for start in (1, 2, 3) for part in ("rates", *(one.name for one in transfers))]
    for before in transfers:
        each = [phases[f"{before.name} {start}"] for start in (1, 2, 3)]
        assert all((one.subjects, one.measures) == (before.subjects, before.measures) for one in each)
        assert before.repetitions <= sum(one.repetitions for one in each) < before.repetitions + 3
    assert {one.name for one in vm_phases(GUEST, QUICK)} >= {"rates", "transfers"}


def test_idle_contexts_are_watched_one_after_the_other() -> None:
    idle = [one for one in vm_phases(GUEST, FULL) if one.name.startswith("idle")]
    ways = [f"{way}/copied" for way in WAYS]
    asked = [(one.subjects[0].name, one.measures[0].line) for one in idle]
    turn = [(who, "idle ms=5000") for way in ways for who in ("alone/idle", way)]
    assert asked == [*((way, "idle ms=60000") for way in ways), *TURNS * turn, ("alone/idle", "idle ms=5000")]
    assert {(len(one.subjects), len(one.measures), one.repetitions) for one in idle} == {(1, 1, 1)}
    assert len({one.name for one in idle}) == len(idle)
    assert {one.name.split()[0] for one in idle} == {"idle"}
    alone = idle[-1].subjects[0]
    assert alone.argv[1:] == ("registry", "CPU", "1")
    assert alone.environment["GGML_BACKEND_PATH"] == ""
    assert [(one.measures[0].name, one.measures[0].watched) for one in (idle[0], idle[-1])] == [("idle", True), ("idle_turn", True)]
    assert all(one.measures[0].limit_s > FULL.idle_s for one in idle[:3])


@pytest.mark.parametrize(
    ("idle_s", "turns", "stretch"), [(0.1, 1, 100), (3.0, 1, 3000), (10.0, 1, 5000), (30.0, 3, 5000), (600.0, 6, 5000)]
)
def test_shorter_looks_at_idleness_have_fewer_turns(idle_s: float, turns: int, stretch: int) -> None:
    phases = [one for one in vm_phases(GUEST, replace(QUICK, idle_s=idle_s)) if one.name.startswith("idle turn")]
    assert len(phases) == 2 * len(WAYS) * turns + 1
    assert {one.measures[0].line for one in phases} == {f"idle ms={stretch}"}


def test_ways_differ_by_their_variables() -> None:
    (census,) = [one for one in vm_phases(GUEST, FULL) if one.name == "census"]
    seen = {one.name: {**one.environment} for one in census.subjects}
    for path in PATHS:
        assert seen[f"vm/{path}"] == {"GGML_VIRTGPU_RING": "auto", "GGML_VIRTGPU_DATA_PATH": path}
        assert seen[f"vm_02/{path}"] == {"GGML_VIRTGPU_EXTENSIONS": "none", "GGML_VIRTGPU_DATA_PATH": path}
        assert seen[f"vm_execbuffer/{path}"] == {"GGML_VIRTGPU_RING": "off", "GGML_VIRTGPU_DATA_PATH": path}


@pytest.mark.parametrize("effort", [FULL, QUICK])
def test_turns_are_taken_forwards_and_backwards(effort: Effort) -> None:
    assert all(one.repetitions > 1 for one in vm_phases(GUEST, effort) if len(one.subjects) > 1)


def test_programs_get_the_host_library_that_they_are_for() -> None:
    phases = vm_phases(replace(GUEST, other={"LIBRARY": "theirs"}), FULL)
    hosts = {(one.name.split("/")[0], one.name.endswith("vm_other"), one.host) for phase in phases for one in phase.subjects}
    ours = {(way, False, "ours") for way in (*WAYS, TOKEN)}
    assert hosts == {*ours, ("vm_other", False, "theirs"), (TOKEN, True, "theirs"), ("floors", False, "echo"), ("alone", False, "")}


@pytest.mark.parametrize("phases", [vm_phases(GUEST, FULL), loopback_phases(GUEST, ("native",), FULL)], ids=["vm", "loopback"])
def test_calls_are_recorded_where_they_are_counted_and_nowhere_else(phases: tuple[Phase, ...]) -> None:
    assert any(is_counted(one.name) for one in phases)
    assert [(one.name, {bool(subject.calls) for subject in one.subjects}) for one in phases] == [
        (one.name, {is_counted(one.name)}) for one in phases
    ]
    folders = [subject.calls for one in phases for subject in one.subjects if subject.calls]
    assert len(set(folders)) == len(folders)


def test_calls_of_a_second_implementation_are_counted_where_it_keeps_records() -> None:
    (census,) = [one for one in vm_phases(replace(GUEST, other={"LIBRARY": "theirs"}), QUICK) if one.name == "census"]
    theirs = {one.name: one for one in census.subjects if one.name.startswith("vm_other/")}
    assert set(theirs) == {f"vm_other/{path}" for path in PATHS}
    assert all(one.calls and one.environment["LIBRARY"] == "theirs" for one in theirs.values())


def test_loopback_is_counted_as_the_guest_is() -> None:
    both = vm_phases(GUEST, QUICK), loopback_phases(GUEST, ("native",), QUICK)
    (guest,), (alone,) = ([one for one in phases if one.name == "census"] for phases in both)
    assert asked(alone, "loopback") == asked(guest, "vm")
    assert {name for name, _, _ in asked(alone, "loopback")} >= {"empty", "graph_1000", "set_1MiB"}
    assert alone.repetitions == guest.repetitions


def test_tokens_are_compared_with_all_extensions_but_the_ring() -> None:
    known = configurations()
    assert known["all but ring"] == "-ring"
    assert next(iter(known)) == "0.2 alone"
    assert list(known)[-1] == "all"


@pytest.mark.parametrize("path", PATHS)
def test_tokens_that_are_timed_are_counted_too(path: str) -> None:
    phases = {one.name: one for one in vm_phases(GUEST, QUICK)}
    timed, counted = phases[f"tokens {path}"], phases[token_census(path)]
    assert [one.name for one in timed.measures] == [one.name for one in counted.measures]
    assert [(one.name, one.environment) for one in timed.subjects] == [(one.name, one.environment) for one in counted.subjects]
    assert all(one.name.startswith(f"{TOKEN}/{path}/") for one in timed.subjects)


@pytest.mark.parametrize("path", PATHS)
def test_tokens_are_timed_in_turns_with_a_second_implementation(path: str) -> None:
    alone = {one.name: one for one in vm_phases(GUEST, QUICK)}
    both = {one.name: one for one in vm_phases(replace(GUEST, other={"LIBRARY": "theirs"}), QUICK)}
    *ours, theirs = both[f"tokens {path}"].subjects
    assert tuple(ours) == alone[f"tokens {path}"].subjects
    assert (theirs.name, theirs.environment["LIBRARY"], theirs.host) == (f"{TOKEN}/{path}/vm_other", "theirs", "theirs")
    assert both[token_census(path)] == alone[token_census(path)]


def test_what_costs_something_once_is_counted_without_it_and_a_graph_anew_is_one() -> None:
    phases = {one.name: one for one in vm_phases(GUEST, FULL)}
    assert [phases[name].repetitions for name in ("census", *map(token_census, PATHS))] == [2] * 3
    lines = {one.name: one.line.split() for name in ("tokens copied", "pause") for one in phases[name].measures}
    assert [name for name, words in lines.items() if "rebuild=1" in words] == ["rebuilt"]
    assert [name for name, words in lines.items() if "pause_ms=1000" in words] == ["submission_after_pause", "after_pause"]


def test_buffers_are_allocated_from_what_is_kept_and_by_the_host() -> None:
    (calls,) = [one for one in vm_phases(replace(GUEST, other={"LIBRARY": "theirs"}), FULL) if one.name == "calls"]
    kept, fresh = (one.subjects for one in calls.measures if one.name == "alloc_free")
    assert fresh == tuple(f"{way}/{name}" for way in ("vm", "vm_execbuffer", "vm_02") for name in ("unpooled", "unpooled-copied"))
    paths = {one.name: one.environment["GGML_VIRTGPU_DATA_PATH"] for one in calls.subjects if one.name in fresh}
    assert {path for name, path in paths.items() if name.endswith("copied")} == {"copied"}
    assert {path for name, path in paths.items() if not name.endswith("copied")} == {"shared"}
    assert set(kept or ()) == {f"{way}/{path}" for way in ("vm", "vm_execbuffer", "vm_02", "vm_other") for path in PATHS}
    environment = {one.name: one.environment.get("GGML_VIRTGPU_BUFFER_POOL_MIB") for one in calls.subjects}
    assert {name for name, pool in environment.items() if pool == "0"} == set(fresh or ())


def test_small_calls_find_the_host_awake() -> None:
    (calls,) = [one for one in vm_phases(GUEST, FULL) if one.name == "calls"]
    told = {one.name: "warm=20" in one.line.split() for one in calls.measures if not set(one.subjects or ()) <= {"floors"}}
    assert {name for name, warm in told.items() if not warm} == {"empty", "clear", "alloc_free"}


def test_transfers_are_as_warm_as_the_copy_loops() -> None:
    measures = [one for phase in vm_phases(GUEST, FULL) if phase.name.startswith("transfers") for one in phase.measures]
    lines = {one.name: dict(word.split("=") for word in one.line.split()[1:]) for one in measures}
    transfers = {name: line for name, line in lines.items() if name.startswith(("set_", "get_"))}
    warm = {name: int(line["warm"]) * int(line["together"]) for name, line in transfers.items()}
    assert set(warm.values()) == {16}
    assert len(warm) == 20
    assert all("warm" not in line for name, line in lines.items() if name.startswith(("copy_", "host_copy_")))


def test_writes_are_timed_with_those_that_take_them_along() -> None:
    measures = [one for phase in transfer_phases(GUEST, ("vm",), FULL) for one in phase.measures]
    lines = {one.name: dict(word.split("=") for word in one.line.split()[1:]) for one in measures}
    together = {name: int(line["together"]) for name, line in lines.items() if name.startswith("set_")}
    fewer = {name: count for name, count in together.items() if count != 8}
    assert fewer == {"set_1MiB": 2, "set_4MiB": 1, "set_16MiB": 1, "set_64MiB": 1, "set_256MiB": 1}
    calls = {name: int(lines[name]["rounds"]) * count for name, count in together.items()}
    assert all(calls[name] <= int(lines[name.replace("set", "get")]["rounds"]) for name in calls)
    assert {int(line["together"]) for name, line in lines.items() if name.startswith("get_")} == {1}
    moved = {int(line["size"]) * int(line["together"]) * int(line["rounds"]) for line in lines.values() if "together" in line}
    assert max(moved) == LARGEST, "one round of the largest, and no more than 64 MiB of the others"
    assert sorted(moved)[-2] <= MOVED_BYTES


def test_host_copies_what_transfers_are_judged_by() -> None:
    lines = [one for phase in transfer_phases(GUEST, ("vm",), FULL) for one in phase.measures if one.name.startswith("host_copy_")]
    assert {one.name for one in lines} == {f"host_copy_{verb}_{size}" for verb in ("set", "get") for size in CONTRACT_SIZES}
    assert all(one.subjects == ("floors",) for one in lines)
    copies = [one for phase in transfer_phases(GUEST, ("vm",), FULL) for one in phase.measures if "copy_" in one.name]
    for verb, direction in (("set", "to"), ("get", "from")):
        assert {one.line.split()[2] for one in copies if f"_{verb}_" in one.name} == {f"direction={direction}"}
    assert not [
        one
        for phase in transfer_phases(Programs(library=("x",)), ("vm",), FULL)
        for one in phase.measures
        if "host_copy" in one.name
    ]
