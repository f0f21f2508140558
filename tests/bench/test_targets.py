from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from lab import paths
from lab.bench.answer import answered
from lab.bench.figures import GIB, Rows
from lab.bench.plan import Measure, Phase, Subject
from lab.bench.standard import CONTRACT_SIZES, FULL, MIB, WAYS, Programs, loopback_phases, vm_phases
from lab.bench.targets import DEFERRED_BYTES, SUBMISSION, Necessity, Target, judged, looked_up, targets, verdict
from lab.scenario.checks.bench import target_record
from lab.scenario.model_bench import OF_GUESTS, BenchCheck, Part


def test_absolute_bound_is_met_and_refused() -> None:
    target = Target("empty", "vm.empty.p50", 5)
    assert verdict(target, {"vm": {"empty": {"p50": 5.0}}}).met is True
    assert verdict(target, {"vm": {"empty": {"p50": 5.1}}}).met is False
    assert verdict(target, {"vm": {}}).met is None


def test_multiple_of_a_floor_or_an_absolute_bound() -> None:
    target = Target("empty", "e.p50", 2, "ioctl.p50", or_limit=60)
    assert verdict(target, {"e": {"p50": 59}, "ioctl": {"p50": 10}}).met is True
    assert verdict(target, {"e": {"p50": 61}, "ioctl": {"p50": 10}}).met is False
    assert verdict(target, {"e": {"p50": 99}, "ioctl": {"p50": 50}}).met is True
    assert verdict(target, {"e": {"p50": 99}}).met is None


def test_rates_must_not_be_below() -> None:
    target = Target("set", "set.1MiB", 0.8, "copy.1MiB", at_least=True)
    assert verdict(target, {"set": {"1MiB": 0.8}, "copy": {"1MiB": 1.0}}).met is True
    assert verdict(target, {"set": {"1MiB": 0.79}, "copy": {"1MiB": 1.0}}).met is False
    assert verdict(target, {"set": {"1MiB": 0.88}, "copy": {"1MiB": 1.1}}).met is True, "a product that is a last bit above it"
    share = Target("threads", "calls.4", 1, at_least=True, per="calls.1")
    assert verdict(share, {"calls": {"4": 90.0, "1": 100.0}}).met is False
    assert verdict(share, {"calls": {"4": 100.0, "1": 100.0}}).met is True


def test_quotient_without_its_divisor_is_not_told() -> None:
    share = Target("threads", "calls.4", 1, at_least=True, per="calls.1")
    for calls in ({"4": 90.0}, {"4": 90.0, "1": 0.0}, {"1": 90.0}):
        assert (verdict(share, {"calls": calls}).seen, verdict(share, {"calls": calls}).met) == (None, None)
    assert verdict(share, {"calls": {"4": 90.0, "1": 60.0}}).seen == 1.5


GUEST = Programs(("bench",), ("floors",), calls="calls")


def synthetic(phase: Phase, measure: Measure, subject: Subject) -> dict[str, Any]:
    """A row as the program would answer: a microsecond for everything, a command a round."""
    word, *pairs = measure.line.split()
    asked = {key: value for key, _, value in (pair.partition("=") for pair in pairs)}
    rounds = int(asked.get("rounds", 1))
    row: dict[str, Any] = {"phase": phase.name, "subject": subject.name, "name": measure.name, "ns": [1000] * rounds}
    if "size" in asked:
        row["size"] = int(asked["size"])
    match word:
        case "submission":
            row["answered_ns"] = [2000] * rounds
        case "copy" | "host_copy":
            row |= dict.fromkeys(("memcpy", "registers"), row.pop("ns"))
        case "threads":
            row |= {"calls": [100] * int(asked["threads"]), "ns": 1_000_000}
            row |= {"longest_ns": [1000]} if "work_us" in asked else {}
        case "idle":
            row |= {"ns": int(asked["ms"]) * 1_000_000, "cpu_ns": 0, "worker_cpu_ns": 0, "qemu_cpu_ns": 0}
        case "token":
            row |= {"nodes": 730, "digest": "ab"}
    return row | ({"commands": rounds, "bytes_out": 20 * rounds, "bytes_in": 0} if subject.calls else {})


def synthetic_rows() -> Iterator[dict[str, Any]]:
    for phase in (*vm_phases(GUEST, FULL), *loopback_phases(Programs(("bench",), calls="calls"), ("native",), FULL)):
        for measure in phase.measures:
            for subject in phase.subjects:
                if measure.subjects is None or subject.name in measure.subjects:
                    yield synthetic(phase, measure, subject)


def test_full_benchmark_judges_every_target() -> None:
    answer = answered(Rows(synthetic_rows()), 2)
    assert [one.target.label for one in judged(answer) if one.met is None] == []
    needs = [need.figure for one in targets() for need in one.needs]
    assert len(set(needs)) == 7 + 2 * len(CONTRACT_SIZES)
    assert [figure for figure in needs if looked_up(answer, figure) is None] == []


@pytest.mark.parametrize("place", ["loopback", "vm"])
@pytest.mark.parametrize("part", ["census", "calls", "rates", "pause", "transfers", "tokens", "idle"])
def test_part_and_place_of_a_target_are_what_it_is_measured_by(part: str, place: str) -> None:
    rows = [
        row
        for row in synthetic_rows()
        if row["phase"].split()[0] == part and row["subject"].startswith(("loopback/", "native")) == (place == "loopback")
    ]
    verdicts = judged(answered(Rows(rows), 2))
    measured = [one.target for one in verdicts if one.met is not None]
    assert measured == [one for one in targets() if (one.part, one.place) == (part, place)]


def test_parts_that_no_asked_place_measures_are_refused() -> None:
    measured = {phase.name.split()[0] for phase in loopback_phases(Programs(("bench",)), ("native",), FULL)}
    assert set(Part) - measured == OF_GUESTS
    with pytest.raises(ValidationError, match="idle can be measured in a guest alone"):
        BenchCheck(kind="bench", parts=("idle",), places=("loopback",))
    for parts, places in ((("idle", "calls"), ("loopback",)), (("idle",), ("loopback", "vm")), (("pause",), ("vm",))):
        BenchCheck(kind="bench", parts=parts, places=places)


def test_rates_and_shares_have_a_least_and_everything_else_a_most() -> None:
    least = {one.label for one in targets() if one.unit == "GiB/s" or "÷" in one.label}
    assert {one.label for one in targets() if one.at_least} == least
    assert len(least) == 2 * len(CONTRACT_SIZES) * 3 + 3 + 1


BOUNDS = {
    "empty_call_us.p50": {0.5, 2, 5}, "empty_call_us.p99": {5, 50}, "set_4b_us.p50": {2.2, 8}, "set_4b_sent_us.p50": {2.2, 8},
    "graph_1_us.p50": {2.5, 25}, "after_pause_us.p50": {200}, "sent.copied.graph_1000.bytes_out": {1024},
    "sent.shared.set_1MiB.commands": {0}, "sent.shared.get_1MiB.commands": {0}, "calls_per_s.4": {1},
    "slowest_thread_share.4": {0.5},
    **{f"alloc_free_{kind}us.p50": {100, 200} for kind in ("", "unpooled_", "unpooled_copied_")},
    **{f"{verb}_gib_s.{size}": {0.8} for verb in ("set", "get") for size in CONTRACT_SIZES},
    **{f"idle_percent.{side}": {0.5} for side in ("guest", "worker", "qemu_more")},
}  # fmt: skip
"""What is asked for, by figures of any way: each change of it is meant."""


def test_no_bound_is_loosened_by_the_way() -> None:
    found: dict[str, set[float]] = {}
    for one in targets():
        found.setdefault(one.figure.partition(".")[2], set()).add(one.limit)
    assert found == BOUNDS
    assert {one.or_limit for one in targets()} == {None, 60}
    enough = [one.figure for one in targets() if one.or_limit is not None]
    assert enough == ["vm_execbuffer.empty_call_us.p50", "vm_02.empty_call_us.p50"]


def test_figure_that_was_watched_for_too_short_is_not_judged() -> None:
    target = Target("idle", "idle.worker", 0.5, over="idle.seconds", least_s=59)
    assert verdict(target, {"idle": {"worker": 0.4, "seconds": 60.0}}).met is True
    assert verdict(target, {"idle": {"worker": 0.6, "seconds": 59.0}}).met is False
    assert verdict(target, {"idle": {"worker": 9.0, "seconds": 3.0}}).met is None
    assert verdict(target, {"idle": {"worker": 9.0}}).met is None
    seconds = [{"worker": 9.0, "seconds": 3.0}, {"seconds": 3.0}, {"seconds": 60.0}, {}, {"worker": 0.4, "seconds": 60.0}]
    assert [verdict(target, {"idle": idle}).too_short for idle in seconds] == [True, True, False, False, False]
    watched = [one for one in targets() if one.label.startswith("idle context")]
    assert len(watched) == 3 * 3
    assert {(one.over.partition(".")[2], one.least_s) for one in watched[:6]} == {("idle_percent.seconds", 59)}
    assert {(one.over.partition(".")[2], one.least_s) for one in watched[6:]} == {("idle_percent.qemu_more_seconds", 29.4)}


@pytest.mark.parametrize("way", ["vm", "vm_execbuffer", "vm_02"])
@pytest.mark.parametrize(("percent", "met"), [(0.5, True), (0.51, False)])
def test_idle_context_of_every_way_has_the_same_bound(way: str, percent: float, *, met: bool) -> None:
    answer = {way: {"idle_percent": {"guest": percent, "worker": percent, "qemu_more": percent}}}
    answer[way]["idle_percent"] |= {"seconds": 60.0, "qemu_more_seconds": 30.0}
    seen = [one for one in judged(answer) if one.met is not None]
    assert [one.met for one in seen] == [met] * 3
    assert {one.target.label.rpartition(", ")[2] for one in seen} == {{"vm": "ring", "vm_02": "0.2"}.get(way, "EXECBUFFER")}
    # What was not watched is not told as met.
    assert {one.met for one in judged({}) if one.target.label.startswith("idle context")} == {None}


@pytest.mark.parametrize("way", ["vm", "vm_execbuffer", "loopback"])
def test_graph_that_is_known_takes_a_kilobyte_at_most(way: str) -> None:
    for sent, met in ((1024, True), (1025, False)):
        answer = {way: {"sent": {"copied": {"graph_1000": {"commands": 1.0, "bytes_out": sent}}}}}
        (seen,) = (one for one in judged(answer) if one.met is not None)
        assert (seen.target.label.startswith("1000-node graph again, bytes sent, "), seen.met) == (True, met)


def test_quietest_repetition_is_told_and_does_not_decide() -> None:
    seen = verdict(Target("empty", "e.p50", 5), {"e": {"p50": 9, "spread": {"min": 4.0}}})
    assert (seen.met, seen.quietest) == (False, 4.0)


def test_target_that_is_missed_by_little_reads_otherwise_than_its_bound() -> None:
    answer = {"vm": {"empty_call_us": {"p50": 5.0003, "p99": 50.0}}, "vm_execbuffer": {"empty_call_us": {"p50": 101.0004}}}
    told_of = {one.label: one for one in map(target_record, judged({**answer, "ioctl_us": {"p50": 50.5}}))}
    ring, tail, floor = (told_of[f"empty call, {which}"] for which in ("p50, ring", "p99, ring", "p50, EXECBUFFER"))
    assert (ring.met, ring.expected, ring.seen_text) == (False, "≤ 5 µs", "5.0003 µs")
    assert (tail.met, tail.expected, tail.seen_text) == (True, "≤ 50 µs", "50 µs")
    assert (floor.met, floor.expected.partition(" (")[0], floor.seen_text) == (False, "≤ 101 µs", "101.0004 µs")


def test_bound_below_the_bare_exchange_is_told_to_be_out_of_reach_and_not_met() -> None:
    target = Target("empty", "e.p50", 2, "ioctl.p50", needs=(Necessity("answered.p50", "the exchange"),))
    answer = {"e": {"p50": 105.0}, "ioctl": {"p50": 50.0}, "answered": {"p50": 101.0}}
    assert (verdict(target, answer).met, verdict(target, answer).out_of_reach) == (False, True)
    within = answer | {"answered": {"p50": 99.0}}
    assert (verdict(target, within).met, verdict(target, within).out_of_reach) == (False, False)
    disproved = answer | {"e": {"p50": 100.5}}
    assert (verdict(target, disproved).met, verdict(target, disproved).out_of_reach) == (False, False)
    met = answer | {"e": {"p50": 100.0}}
    assert (verdict(target, met).met, verdict(target, met).out_of_reach) == (True, False)
    unknown = {key: value for key, value in answer.items() if key != "answered"}
    assert (verdict(target, unknown).best, verdict(target, unknown).out_of_reach) == (None, False)


def test_one_floor_that_the_bound_has_no_room_for_is_enough_and_is_named() -> None:
    target = Target(
        "empty", "e.p99", 5, "ioctl.p50", needs=(Necessity("answered.p99", "the exchange"), Necessity("ioctl.p99", "a part of it"))
    )
    answer = {"e": {"p99": 600.0}, "ioctl": {"p50": 80.0, "p99": 500.0}, "answered": {"p99": 700.0}}
    disproved_and_not = verdict(target, answer)
    assert (disproved_and_not.out_of_reach, disproved_and_not.best, disproved_and_not.need) == (True, 500.0, "a part of it")
    both = verdict(target, answer | {"e": {"p99": 800.0}})
    assert (both.out_of_reach, both.best, both.need) == (True, 700.0, "the exchange")
    neither = verdict(target, answer | {"ioctl": {"p50": 80.0, "p99": 399.0}})
    assert (neither.out_of_reach, neither.need) == (False, "the exchange")
    only_the_part = verdict(target, answer | {"answered": {}})
    assert (only_the_part.out_of_reach, only_the_part.need) == (True, "a part of it")


@pytest.mark.parametrize("way", ["vm_execbuffer", "vm_02"])
def test_call_after_a_pause_cannot_take_less_than_the_quickest_ioctl_after_one(way: str) -> None:
    floors = {"ioctl_answered_after_pause_us": {"p50": 900.0}, "ioctl_after_pause_us": {"p50": 800.0, "spread": {"min": 350.0}}}
    answer = {way: {"after_pause_us": {"p50": 500.0}}, **floors}
    (seen,) = (one for one in judged(answer) if one.met is not None)
    assert (seen.out_of_reach, seen.best) == (True, 350.0)
    assert seen.need.startswith("the quickest of all bare ioctls")
    floors["ioctl_after_pause_us"] = {"p50": 800.0, "spread": {"min": 199.0}}
    (seen,) = (one for one in judged(answer | floors) if one.met is not None)
    assert (seen.met, seen.out_of_reach) == (False, False)


def test_transfer_cannot_be_quicker_than_the_loop_and_an_exchange() -> None:
    target = Target(
        "set", "set.1MiB", 0.8, "copy.1MiB", at_least=True, needs=(Necessity("answered.p50", "the exchange"),), size=MIB
    )
    # 1 MiB at 4 GiB/s: 244 µs; four fifths of that rate leave 61 µs for all else
    slow, quick = ({"set": {"1MiB": 3.0}, "copy": {"1MiB": 4.0}, "answered": {"p50": us}} for us in (62.0, 60.0))
    assert verdict(target, slow).best == pytest.approx(MIB / GIB / ((244.14 + 62.0) / 1e6), rel=1e-3)
    assert (verdict(target, slow).out_of_reach, verdict(target, quick).out_of_reach) == (True, False)


def test_transfers_are_held_against_the_loop_of_their_direction() -> None:
    floors = {f"copy_floor_{verb}_gib_s": dict.fromkeys(CONTRACT_SIZES, rate) for verb, rate in (("set", 5.0), ("get", 7.0))}
    rates = {f"{verb}_gib_s": dict.fromkeys(CONTRACT_SIZES, 5.0) for verb in ("set", "get")}
    met = [
        (one.target.label.split()[0], one.met) for one in judged({**floors, **dict.fromkeys(WAYS, rates)}) if one.met is not None
    ]
    assert met == [("set", True)] * 12 + [("get", False)] * 12


def test_by_the_ring_nothing_but_the_copying_is_out_of_reach() -> None:
    needed = {need.whole for one in targets() if one.figure.startswith(("vm.", "loopback.")) for need in one.needs}
    assert needed == {True}


@pytest.mark.parametrize(
    ("way", "size", "submission"),
    [("EXECBUFFER", "16MiB", True), ("0.2", "16MiB", True), ("0.2", "1MiB", True), ("EXECBUFFER", "1MiB", False)],
)
def test_what_goes_out_need_not_be_answered_before_the_program_goes_on_nor_sent_where_it_is_left_to(
    way: str, size: str, submission: bool
) -> None:
    labels = {verb: f"{verb} {size}, copied, {way}" for verb in ("set", "get")}
    needs = {verb: [need.figure for one in targets() if one.label == label for need in one.needs] for verb, label in labels.items()}
    assert needs == {
        "set": [*(["ioctl_us.p50"] if submission else []), f"both_ends_set_gib_s.{size}"],
        "get": ["ioctl_answered_us.p50", f"both_ends_get_gib_s.{size}"],
    }


def test_writes_that_are_left_to_go_along_are_those_that_the_guest_library_leaves() -> None:
    source = (paths.BACKEND_IMPL / "guest" / "copied_buffer.cpp").read_text()
    assert "constexpr size_t most_deferred = size_t{1} << 20;" in source
    assert DEFERRED_BYTES == 1 << 20


def test_transfer_cannot_be_quicker_than_all_processors_at_the_copying_of_both_ends() -> None:
    (target,) = (one for one in targets() if one.label == "set 256MiB, copied, ring")
    answer = {"vm": {"set_gib_s": {"256MiB": 4.3}}, "copy_floor_set_gib_s": {"256MiB": 6.9}}
    assert (verdict(target, answer).met, verdict(target, answer).out_of_reach) == (False, False)
    ruled, room, beaten = ({"both_ends_set_gib_s": {"256MiB": rate}} for rate in (5.5, 5.6, 4.2))
    assert (verdict(target, answer | ruled).out_of_reach, verdict(target, answer | ruled).best) == (True, 5.5)
    assert verdict(target, answer | ruled).need.startswith("guest's and host's copying")
    assert not verdict(target, answer | room).out_of_reach
    assert not verdict(target, answer | beaten).out_of_reach


def test_protocol_alone_is_held_to_the_bounds_of_the_ioctl_but_for_what_extensions_save() -> None:
    def bare(one: Target) -> Target:
        return replace(one, label="", figure=one.figure.partition(".")[2], per="", over=one.over.partition(".")[2])

    def of(way: str, name: str) -> dict[str, Target]:
        found = (one for one in targets() if one.figure.startswith(f"{way}."))
        return {one.label.removesuffix(name): bare(one) for one in found}

    execbuffer, plain = of("vm_execbuffer", "EXECBUFFER"), of("vm_02", "0.2")
    written = "tensor_set 4 B, p50, "
    assert (execbuffer[written].needs, [need.figure for need in plain[written].needs]) == ((), ["ioctl_us.p50"])
    del execbuffer[written], plain[written]
    left = "set 1MiB, copied, "
    assert plain[left] == replace(execbuffer[left], needs=(SUBMISSION, *execbuffer[left].needs))
    del execbuffer[left], plain[left]
    assert plain.items() < execbuffer.items()
    assert {label for label in execbuffer if label not in plain} == {
        "1000-node graph again, bytes sent, ",
        "set 4 B + empty call, p50, ",
    }
    assert all(one.per == one.figure.replace("_s.4", "_s.1") for one in targets() if one.per)


def test_every_target_names_a_figure_of_its_own() -> None:
    known = [target.label for target in targets()]
    assert len(set(known)) == len(known)
    assert looked_up({"a": {"b": 1}}, "a.b") == 1.0
    assert looked_up({"a": {"b": "x"}}, "a.b") is None
