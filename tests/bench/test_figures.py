from __future__ import annotations

from typing import Any

import pytest

from lab.bench.answer import MADE_OF_EMPTY, answered, empty_call, ratios
from lab.bench.figures import Rate, Rows, best_copy, both_ends, call_rates, gib_per_s, latency_of
from lab.bench.standard import FLOORS
from lab.bench.targets import judged


def row(subject: str, name: str, ns: list[int], phase: str = "calls", **more: Any) -> dict[str, Any]:
    return {"phase": phase, "subject": subject, "name": name, "repetition": 0, "measure": name, "ns": ns, **more}


@pytest.mark.parametrize(
    ("registers", "by_two", "host", "processors", "rate"),
    [
        (4.0, 8.0, 16.0, 2, 2 / (1 / 4 + 1 / 16)),  # as much work by one thread as by two
        (4.0, 6.0, 16.0, 2, 6.0),  # one thread's is less work; by two it takes as long as they take
        (4.0, 10.0, 16.0, 2, 2 / (1 / 5 + 1 / 16)),  # two threads' is less
        (4.0, 8.0, 16.0, 16, 8.0),  # processors enough
        (4.0, 8.0, 5.0, 16, 5.0),  # the host is slower than the guest
        (4.0, 8.0, 16.0, 1, 1 / (1 / 4 + 1 / 16)),
    ],
)
def test_copying_of_both_ends_is_shared_out_among_the_processors(
    registers: float, by_two: float, host: float, processors: int, rate: float
) -> None:
    def ns(gib_s: float) -> list[int]:
        return [round(1e9 / gib_s)]

    row = {"size": 1 << 30, "memcpy": ns(1.0), "registers": ns(registers), "two_threads_registers": ns(by_two)}
    assert both_ends([row], host, processors) == pytest.approx(rate, rel=1e-6)
    assert both_ends([], host, processors) is None


def test_what_took_no_time_by_the_clock_has_no_rate() -> None:
    assert gib_per_s([{"ns": [0, 1_000_000_000, 0], "size": 1 << 30}, {"ns": [0], "size": 1 << 30}]) == Rate(1.0, 1.0, 1.0)
    assert gib_per_s([{"ns": [0, 0], "size": 1 << 30}]) is None
    assert best_copy([{"size": 1 << 30, "memcpy": [0, 0], "past_caches": [500_000_000]}]) == ("past_caches", 2.0)
    assert best_copy([{"size": 1 << 30, "memcpy": [0, 0]}]) is None


def test_latency_pools_samples_and_spreads_medians() -> None:
    latency = latency_of([[1000, 2000, 3000], [5000, 6000, 7000], []])
    assert latency is not None
    assert (latency.samples, latency.repetitions) == (6, 2)
    assert latency.p50 == 4.0
    assert (latency.least, latency.most) == (2.0, 6.0)
    assert latency.p99 == pytest.approx(6.95)
    assert latency_of([]) is None


def test_rates_are_medians() -> None:
    mib = 1 << 20
    rows = [
        row("a", "set_1MiB", samples, size=mib) for samples in ([1_000_000, 1_000_000, 9_000_000], [2_000_000], [4_000_000] * 3)
    ]
    rate = gib_per_s(rows)
    assert rate is not None
    assert [mib / (1 << 30) / one for one in (rate.median, rate.least, rate.most)] == pytest.approx([0.004, 0.004, 0.001])
    copies = [{"size": mib, "memcpy": [4_000_000], "avx2": [2_000_000, 2_000_000]}]
    assert best_copy(copies) == ("avx2", pytest.approx(mib / (1 << 30) / 0.002))
    assert best_copy([]) is None


def test_loops_are_whatever_a_row_has_samples_of() -> None:
    place = {"phase": "transfers", "subject": "floors", "name": "copy_set_1MiB", "repetition": 0, "load": 0.1, "size": 1 << 30}
    rows = [{**place, "pieces": [3_000_000], "two_threads_registers": [1_000_000]}, {**place, "pieces": [1], "later": [500_000]}]
    assert best_copy(rows) == ("later", 2000.0)
    assert best_copy(rows[:1]) == ("two_threads_registers", 1000.0)
    assert best_copy([*rows, {**place, "later": 1}]) == ("later", 2000.0), "a row that says something else by that name"


def test_threads_tell_the_slowest() -> None:
    rates = call_rates([{"calls": [100, 50], "ns": 1_000_000_000}, {"calls": [100, 100], "ns": 1_000_000_000}])
    assert rates == (Rate(175.0, 150.0, 200.0), 0.75)
    assert call_rates([{"calls": [0, 0], "ns": 1}]) == (Rate(0.0, 0.0, 0.0), 0.0)
    assert call_rates([]) is None


def census(name: str, commands: int, subject: str = "vm/copied") -> list[dict[str, Any]]:
    return [row(subject, name, [1] * 4, "census", commands=commands, bytes_out=100 * commands, bytes_in=0)]


def test_census_is_of_a_round() -> None:
    sent = Rows(census("empty", 4)).sent("vm/copied", "empty", "census")
    assert sent is not None
    assert (sent.commands, sent.bytes_out) == (1.0, 100.0)
    assert Rows([row("vm/copied", "empty", [1], "census")]).sent("vm/copied", "empty", "census") is None


def test_interrupts_are_those_of_all_rounds_where_somebody_counted() -> None:
    counted = [row("vm/copied", "empty", [100] * 80) | {"rounds": 100, "interrupts": most} for most in (4, 8)]
    uncounted = row("vm_02/copied", "empty", [100])
    answer = answered(Rows([*counted, row("vm/copied", "empty", [100] * 80), uncounted]), 2)
    assert answer["vm"]["interrupts_per_call"] == 0.06
    assert "interrupts_per_call" not in answer["vm_02"]


def test_what_a_loopback_sends_is_told_like_a_guests() -> None:
    answer = answered(Rows([*census("graph_1000", 4, "loopback/copied"), *census("graph_1000", 8, "vm/copied")]), 2)
    assert answer["loopback"]["sent"] == {"copied": {"graph_1000": {"commands": 1.0, "bytes_out": 100.0, "bytes_in": 0.0}}}
    assert answer["vm"]["sent"]["copied"]["graph_1000"]["commands"] == 2.0


def test_subjects_without_call_records_are_known() -> None:
    token = {"nodes": 730, "digest": "ab"}
    lacking = [
        row("vm/copied", "set_1MiB", [1], "census", size=1 << 20),
        row("token/shared/all", "token", [1], "tokens census shared", **token),
    ]
    timed = [row(subject, "token", [1], "tokens", **token) for subject in ("loopback/copied", "token/copied/all")]
    rows = Rows([*lacking, *lacking, *census("empty", 1, "vm/shared"), *timed])
    assert rows.uncounted() == ("vm/copied", "token/shared/all")
    assert set(answered(rows, 2)["vm"]["sent"]) == {"shared"}


def test_empty_call_must_travel() -> None:
    timed = [row("vm/copied", "empty", [100]), row("vm/copied", "clear", [900])]
    cached = Rows([*timed, *census("empty", 0), *census("clear", 4)])
    assert empty_call(cached, "vm") is not None
    assert empty_call(cached, "vm")[0] == "clear"  # type: ignore[index] # it is there
    both = Rows([*timed, *census("empty", 4), *census("clear", 4)])
    assert empty_call(both, "vm")[0] == "empty"  # type: ignore[index] # it is there
    neither = Rows([*timed, *census("empty", 0), *census("clear", 0)])
    assert empty_call(neither, "vm") is None
    assert "empty_call_us" not in answered(neither, 2)["vm"]


@pytest.mark.parametrize(("commands", "told"), [(4, True), (0, False), (8, False)])
def test_figures_of_an_empty_call_that_does_not_travel_are_left_out(commands: int, told: bool) -> None:
    called = {"phase": "rates", "subject": "vm/copied", "ns": 10}
    threads = [called | {"name": f"threads_{n}", "calls": [9] * n} for n in (1, 4)]
    threads += [called | {"name": f"working_threads_{n}", "calls": [9] * n, "longest_ns": [4] * n} for n in (1, 2)]
    sent = row("vm/copied", "set_4b_sent", [1000])
    timed = [row("vm/copied", "clear", [900]), sent, row("vm/copied", "after_pause", [9000], "pause"), *threads]
    answer = answered(Rows([*timed, *census("empty", commands), *census("clear", 4)]), 2)
    assert [key in answer["vm"] for key in MADE_OF_EMPTY] == [told] * len(MADE_OF_EMPTY)
    assert answer["vm"].get("left_out", []) == ([] if told else list(MADE_OF_EMPTY))
    assert "empty_call_us" in answer["vm"]
    verdicts = {one.target.figure: one.met for one in judged(answer)}
    assert [verdicts[key] is None for key in ("vm.after_pause_us.p50", "vm.calls_per_s.4", "vm.slowest_thread_share.4")] == [
        not told
    ] * 3


def test_answer_has_the_keys_of_the_contract() -> None:
    rows = [
        row("vm/copied", "empty", [5000]),
        row("vm/copied", "set_4b", [6000]),
        row("vm/copied", "graph_1", [20_000]),
        row("vm/shared", "alloc_free", [90_000]),
        row("vm/unpooled", "alloc_free", [150_000]),
        row("vm/unpooled-copied", "alloc_free", [120_000]),
        row("vm/copied", "set_1MiB", [1_000_000], "transfers", size=1 << 20),
        row("vm/copied", "get_1MiB", [2_000_000], "transfers", size=1 << 20),
        row("vm/copied", "graph_100", [100_000], "rates"),
        {"phase": "rates", "subject": "vm/copied", "name": "threads_2", "calls": [10, 20], "ns": 1_000_000_000},
        *(
            {
                "phase": "rates",
                "subject": "vm/copied",
                "name": "working_threads_2",
                "calls": [3, 4],
                "ns": 1_000_000_000,
                "longest_ns": [1_000_000, longest],
            }
            for longest in (2_000_000, 9_000_000, 3_000_000)
        ),
        row("floors", "word", [500]),
        row("floors", "submission", [30_000], answered_ns=[60_000]),
        row("floors", "burst", [6_000]),
        row("floors", "submission_after_pause", [100_000], "pause", answered_ns=[200_000]),
        {"phase": "transfers", "subject": "floors", "name": "copy_set_1MiB", "size": 1 << 20, "memcpy": [1_000_000]},
        {"phase": "transfers", "subject": "floors", "name": "copy_get_1MiB", "size": 1 << 20, "memcpy": [500_000]},
        {
            "phase": "transfers",
            "subject": "floors",
            "name": "host_copy_set_1MiB",
            "size": 1 << 20,
            "memcpy": [900_000],
            "past_caches": [250_000],
        },
        {"phase": "idle vm", "subject": "vm/copied", "name": "idle", "cpu_ns": 1_000_000, "ns": 1_000_000_000, "worker_cpu_ns": 0},
    ]
    answer = answered(Rows(rows), 2)
    assert answer["vm"]["empty_call_us"]["p50"] == 5.0
    assert answer["vm"]["empty_call_us"]["p99"] == 5.0
    assert (answer["vm"]["alloc_free_us"]["p50"], answer["vm"]["alloc_free_unpooled_us"]["p50"]) == (90.0, 150.0)
    assert answer["vm"]["alloc_free_unpooled_copied_us"]["p50"] == 120.0
    assert answer["vm"]["set_gib_s"] == {"1MiB": 0.976562}
    assert answer["vm"]["get_gib_s"] == {"1MiB": 0.488281}
    assert answer["vm"]["graphs_per_s"] == {"1": 50_000.0, "100": 10_000.0}
    assert answer["vm"]["calls_per_s"] == {"2": 30.0}
    assert (answer["vm"]["working_calls_per_s"], answer["vm"]["working_longest_ms"]) == ({"2": 7.0}, {"2": 3.0})
    assert answer["vm"]["idle_percent"] == {"guest": 0.1, "worker": 0.0, "seconds": 1.0}
    assert (answer["floor_us"]["p50"], answer["ioctl_us"]["p50"]) == (0.5, 30.0)
    assert (answer["ioctl_answered_us"]["p50"], answer["ioctl_in_a_row_us"]["p50"]) == (60.0, 6.0)
    assert (answer["ioctl_after_pause_us"]["p50"], answer["ioctl_answered_after_pause_us"]["p50"]) == (100.0, 200.0)
    assert answer["copy_floor_gib_s"] == {"1MiB": 1.95312}
    assert (answer["host_copy_set_gib_s"], answer["both_ends_set_gib_s"]) == ({"1MiB": 3.90625}, {"1MiB": 0.976562})
    assert "both_ends_get_gib_s" not in answer
    assert "loopback" not in answer


@pytest.mark.parametrize(("ns", "sent"), [(30, False), (499, False), (500, True), (9000, True)])
def test_second_implementation_that_answers_by_itself_is_compared_by_what_it_sends(ns: int, *, sent: bool) -> None:
    rows = [row("floors", "word", [500]), row("vm/copied", "clear", [2000])]
    for way, took in (("vm", 1000), ("vm_other", ns)):
        rows += [row(f"{way}/copied", "empty", [took]), row(f"{way}/copied", "after_pause", [took], "pause")]
        rows.append({"phase": "rates", "subject": f"{way}/copied", "name": "threads_1", "calls": [1000], "ns": 1000 * took})
    rows.append(row("vm_other/copied", "clear", [3000]))
    answer = answered(Rows(rows), 2)
    assert ("after_pause_us" in answer["vm_other"], "calls_per_s" in answer["vm_other"]) == (sent, sent)
    assert answer["vm_other"]["empty_call_us"]["call"] == ("empty" if sent else "clear")


@pytest.mark.parametrize(("ns", "met"), [(1_250_625_000, False), (1_244_000_000, True)])
def test_transfer_is_judged_by_more_figures_than_are_shown(ns: int, *, met: bool) -> None:
    size = 1 << 30
    rows = [
        row("vm/copied", "set_1MiB", [ns], "transfers", size=size),
        {"phase": "transfers", "subject": "floors", "name": "copy_set_1MiB", "size": size, "memcpy": [995_520_000]},
    ]
    (one,) = (verdict for verdict in judged(answered(Rows(rows), 2)) if verdict.met is not None)
    assert (one.target.label, one.met) == ("set 1MiB, copied, ring", met)


@pytest.mark.parametrize(
    ("name", "answer", "key"),
    [
        ("empty", {"level": "info"}, "ns"),
        ("empty", {"ns": []}, "ns"),
        ("set_1MiB", {"ns": [5]}, "size"),
        ("threads_2", {"ns": 5}, "calls"),
        ("threads_2", {"ns": 0, "calls": [1, 1]}, "ns"),
        ("idle", {"ns": 5}, "cpu_ns"),
        ("token", {"ns": [5], "nodes": 730}, "digest"),
        ("rebuilt", {"ns": [5], "nodes": 730}, "digest"),
        ("empty", {"ns": [1 << 2000]}, "ns"),
        ("empty", {"ns": [5], "rounds": "many", "interrupts": 1}, "rounds"),
        ("empty", {"ns": [5], "commands": 1, "bytes_out": 1}, "bytes_in"),
        ("working_threads_2", {"ns": 5, "calls": [1], "longest_ns": ["1"]}, "longest_ns"),
        ("idle", {"ns": 5, "cpu_ns": 5, "worker_cpu_ns": "5"}, "worker_cpu_ns"),
        ("token", {"ns": [5], "nodes": 730, "digest": "ab", "splits": [1]}, "splits"),
        ("submission", {"ns": [5], "answered_ns": 5}, "answered_ns"),
        ("copy_set_1MiB", {"size": 1 << 20, "memcpy": [5], "avx2": ["5"]}, "avx2"),
        ("copy_set_1MiB", {"memcpy": [5]}, "size"),
    ],
)
def test_answer_without_what_its_figures_are_made_of_is_a_failure_and_no_figure(
    name: str, answer: dict[str, Any], key: str
) -> None:
    others = "token/copied/all" if name in {"token", "rebuilt"} else "vm/copied"
    subject = FLOORS if name.startswith(("submission", "copy")) else others
    whole = [
        row("token/copied/all", one, [1000], "tokens copied", digest="ab", nodes=730) for one in ("token", "rebuilt") if one != name
    ]
    rows = Rows([*whole, {"phase": "calls", "subject": subject, "name": name, **answer}])
    (failure,) = rows.failures
    assert failure.startswith(f"{subject} {name}: the answer has no {key} that a figure is made of")
    assert answered(rows, 2)["tokens"] == ([] if subject.startswith("token") else answered(Rows(whole), 2)["tokens"])


def test_digests_of_all_repetitions_of_a_token_are_kept() -> None:
    tokens = [
        row("token/copied/all", name, [1000], "tokens copied", digest=digest, nodes=730)
        for name, digest in (("token", "cd"), ("token", "ab"), ("rebuilt", "ef"), ("rebuilt", "ab"))
    ]
    native = row("native", "token", [1000], "tokens", digest="gh", nodes=730)
    (one,) = answered(Rows([*tokens, native]), 2)["tokens"]
    assert (one["digest"], one["digests"]) == ("ab", ["ab", "cd", "ef"])


def test_token_without_call_records_keeps_its_time_and_its_results() -> None:
    rows = [row("token/shared/all", name, [1000], "tokens shared", nodes=730, digest="ab") for name in ("token", "rebuilt")]
    (one,) = answered(Rows(rows), 2)["tokens"]
    assert (one["us"], one["digests"]) == (1.0, ["ab"])
    assert (one["calls"], one["bytes"], one["rebuilt_calls"]) == (None, None, None)


def test_tokens_are_timed_where_their_calls_are_not_counted() -> None:
    counts = {"commands": 20, "bytes_out": 100, "bytes_in": 1}
    rows = [
        row("token/copied/all", name, ns, phase, digest=phase, nodes=730, **more)
        for name in ("token", "rebuilt")
        for phase, ns, more in (("tokens census copied", [9000] * 10, counts), ("tokens copied", [1000], {}))
    ]
    (one,) = answered(Rows(rows), 2)["tokens"]
    assert (one["us"], one["rebuilt_us"], one["digests"]) == (1.0, 1.0, ["tokens copied"])
    assert (one["calls"], one["bytes"], one["rebuilt_calls"]) == (2.0, 10, 2.0)


def test_tokens_have_the_spread_of_their_repetitions() -> None:
    rows = [
        row("token/copied/all", name, [ns * 1000 - 50_000, ns * 1000, ns * 1000 + 900_000], "tokens copied", digest="ab", nodes=730)
        for name, least in (("token", 100), ("rebuilt", 300))
        for ns in range(least, least + 11)
    ]
    (one,) = answered(Rows(rows), 2)["tokens"]
    assert (one["us"], one["us_min"], one["us_max"]) == (105.0, 100.0, 110.0)
    assert (one["rebuilt_us"], one["rebuilt_us_min"], one["rebuilt_us_max"]) == (305.0, 300.0, 310.0)


def test_ratios_have_a_spread() -> None:
    ours = {
        "empty_call_us": {"p50": 5.0, "spread": {"min": 4.0, "max": 6.0}},
        "set_gib_s": {"1MiB": 2.0, "4B": 1.0},
        "working_longest_ms": {"1": 1.0, "2": 3.0},
        "set_gib_s_spread": {"1MiB": {"min": 1.0, "max": 3.0}, "4B": {"min": 1.0, "max": 1.0}},
    }
    theirs = {
        "empty_call_us": {"p50": 200.0, "spread": {"min": 160.0, "max": 240.0}},
        "set_gib_s": {"1MiB": 0.5},
        "working_longest_ms": {"2": 150.0},
        "set_gib_s_spread": {"1MiB": {"min": 0.25, "max": 0.5}},
    }
    found = ratios(ours, theirs)
    assert found["empty_call_us"] == {"p50": 0.025, "least": 0.0167, "most": 0.0375}
    assert found["set_gib_s"] == {"1MiB": 4.0}
    assert found["working_longest_ms"] == {"2": 0.02}
    assert found["set_gib_s_spread"] == {"1MiB": {"least": 2.0, "most": 12.0}}


def test_commands_and_bytes_have_ratios_where_both_send_some() -> None:
    def counted(commands: float, size: float) -> dict[str, float]:
        return {"commands": commands, "bytes_out": size, "bytes_in": 8.0}

    ours = {"sent": {"copied": {"graph_1000": counted(1, 24), "set_4b": counted(0, 0), "empty": counted(1, 24)}}}
    theirs = {"sent": {"copied": {"graph_1000": counted(2, 312), "set_4b": counted(1, 392), "get_4b": counted(1, 400)}}}
    found = ratios(ours, theirs)
    assert found["commands_per_round"] == {"graph_1000, copied": 0.5, "set_4b, copied": 0.0}
    assert found["bytes_per_round"] == {"graph_1000, copied": 0.1, "set_4b, copied": 0.02}
    assert ratios(ours, {}) == {}


def test_second_implementation_alone_has_no_ratios() -> None:
    answer = answered(
        Rows([{"error": "it ended", "subject": "vm/copied", "phase": "calls"}, row("vm_other/copied", "empty", [900])]), 2
    )
    assert "vm" not in answer
    assert answer["vm_other"]["empty_call_us"]["p50"] == 0.9
    assert "ratios" not in answer


def test_tokens_of_both_implementations_are_compared_by_path() -> None:
    rows = [
        row(f"token/{path}/{name}", measure, [ns], f"tokens {path}", digest="same", nodes=730)
        for path, ns_of in (("copied", {"all": 1000, "vm_other": 4000}), ("shared", {"all": 3000, "vm_other": 2000}))
        for name, ns in ns_of.items()
        for measure in ("token", "rebuilt")
    ]
    answer = answered(Rows(rows), 2)
    found = {key: one["p50"] for key, one in answer["ratios"].items()}
    assert found == {"token_us": 0.25, "rebuilt_us": 0.25, "token_shared_us": 1.5, "rebuilt_shared_us": 1.5}
    assert [one["extensions"] for one in answer["tokens"]] == ["all", "all"]


def test_both_implementations_are_told_by_the_same_empty_call() -> None:
    ours = [row("vm/copied", "empty", [1000]), row("vm/copied", "clear", [2000])]
    theirs = [row("vm_other/copied", "empty", [8000]), row("vm_other/copied", "clear", [4000])]
    answer = answered(Rows([*ours, *theirs]), 2)
    assert (answer["vm_other"]["empty_call_us"]["call"], answer["vm_other"]["empty_call_us"]["p50"]) == ("empty", 8.0)
    assert answer["ratios"]["empty_call_us"]["p50"] == 0.125
    other = answered(Rows([*ours, theirs[1]]), 2)
    assert other["vm_other"]["empty_call_us"]["call"] == "clear"
    assert "empty_call_us" not in other["ratios"]
