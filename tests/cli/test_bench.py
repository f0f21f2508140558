from __future__ import annotations

import math
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lab.bench.standard import LOOPBACK, OTHER, WAYS
from lab.bench.targets import judged
from lab.bundle.schema import BENCH, BenchRecord, RunRecord, TargetRecord
from lab.bundle.writer import new_bundle
from lab.cli.app import app
from lab.cli.bench import DASH, FLOORS, LATENCIES, TITLES, BenchOptions, _latencies, bench_answer, bench_plan, chosen, tell_bench
from lab.errors import ConfigError
from lab.scenario.book import opened_record
from lab.scenario.checks.bench import target_record
from lab.scenario.model_bench import BenchCheck, Part, Place, Thoroughness
from lab.scenario.plan import Choice, PlannedScenario
from tests.bench.realistic import ANSWER, token, uncounted_token, write_bench

CONTRACT = {"loopback", "vm", "vm_execbuffer", "vm_02", "floor_us", "ioctl_us", "copy_floor_gib_s"}


def test_options_are_laid_over_the_scenarios_check(tmp_path: Path) -> None:
    library = tmp_path / "libggml-virtgpu.so"
    shutil.copyfile(sys.executable, library)
    options = BenchOptions(quick=True, enforce=True, idle_s=60.0, place="vm", parts=("calls", "idle"), guest_library=library)
    (entry,) = bench_plan(Choice(), options)
    (check,) = entry.variants[0].scenario.checks
    assert isinstance(check, BenchCheck)
    assert (check.effort, check.enforce, check.idle_s, check.places) == (Thoroughness.QUICK, True, 60.0, (Place.VM,))
    assert check.parts == (Part.CALLS, Part.IDLE)
    assert (check.guest_library, check.host_library) == (str(library), None)


def test_without_options_everything_is_measured_with_full_effort() -> None:
    check = chosen(BenchCheck(kind="bench", effort=Thoroughness.QUICK, parts=(Part.CALLS,)), BenchOptions())
    assert check == BenchCheck(kind="bench", effort=Thoroughness.FULL, parts=tuple(Part))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (BenchOptions(place="moon"), "--only"),
        (BenchOptions(place=""), "--only: there is no ''"),
        (BenchOptions(parts=("moon",)), "--part"),
        (BenchOptions(host_library=Path("/no/such.so")), "--host-library"),
        *((BenchOptions(idle_s=idle_s), "--idle") for idle_s in (0.0, -1.0, 0.0001, 600.0, math.nan, math.inf)),
    ],
)
def test_wrong_option_is_named(options: BenchOptions, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        bench_plan(Choice(), options)


def test_what_was_set_of_the_check_stays_so() -> None:
    (entry,) = bench_plan(Choice(('checks[0].parts=["calls"]', "checks[0].effort=quick")), BenchOptions())
    (check,) = entry.variants[0].scenario.checks
    assert isinstance(check, BenchCheck)
    assert (check.parts, check.effort) == (("calls",), "quick")
    (entry,) = bench_plan(Choice(('checks[0].parts=["calls"]',)), BenchOptions(parts=("pause",)))
    (check,) = entry.variants[0].scenario.checks
    assert isinstance(check, BenchCheck)
    assert (check.parts, check.effort) == (("pause",), "full")


@pytest.mark.parametrize("option", ["guest_library", "host_library"])
def test_file_that_is_no_library_is_refused_by_its_option(tmp_path: Path, option: str) -> None:
    path = tmp_path / "lib.so"
    path.write_text("INPUT(libreal.so)")
    with pytest.raises(ConfigError, match=f"--{option.replace('_', '-')}: {path} is no library"):
        bench_plan(Choice(), BenchOptions(**{option: path}))  # type: ignore[arg-type] # a path


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"place": "loopback", "guest_library": True}, "a second implementation is measured in a guest alone"),
        ({"place": "loopback", "host_library": True}, "a second implementation is measured in a guest alone"),
        ({"parts": ("idle",), "host_library": True}, "in every part but idle; asked for: loopback and vm, idle"),
        ({"place": "loopback", "parts": ("pause", "idle")}, "pause and idle can be measured in a guest alone"),
        ({"parts": ("calls",), "idle_s": 9.0}, "--idle: no idle context is watched in loopback and vm, calls"),
        ({"place": "loopback", "idle_s": 9.0}, "--idle: no idle context is watched in loopback, census"),
    ],
)
def test_what_would_be_left_out_without_a_word_is_refused(options: dict[str, Any], told: str) -> None:
    library = Path(sys.executable)
    given = {key: library if value is True else value for key, value in options.items()}
    with pytest.raises(ConfigError, match=told):
        bench_plan(Choice(), BenchOptions(**given))
    assert bench_plan(Choice(), BenchOptions(**{**given, "place": "vm", "parts": ("calls", "idle")}))


def test_all_wrong_options_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        bench_plan(Choice(), BenchOptions(place="moon", parts=("sun",)))
    assert [problem.key for problem in caught.value.problems] == ["--only", "--part"]


def test_idleness_is_watched_for_as_long_as_the_deadline_has_room_for() -> None:
    assert bench_plan(Choice(), BenchOptions(idle_s=287.0))
    longer = Choice(("checks[0].deadline_s=100",))
    with pytest.raises(ConfigError, match=r"from 1 to 5\)"):
        bench_plan(longer, BenchOptions(idle_s=6.0))
    assert bench_plan(longer, BenchOptions(idle_s=5.0))
    with pytest.raises(ConfigError, match=r"from 1 to 2\)"):
        bench_plan(Choice(("timeout_s=50", "checks[0].deadline_s=100")), BenchOptions(idle_s=3.0))
    with pytest.raises(ConfigError, match="leave it out, or raise deadline_s"):
        bench_plan(Choice(("checks[0].deadline_s=15",)), BenchOptions(idle_s=1.0))


def test_bundle_of_a_benchmark_runs_the_same_benchmark_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copyfile(sys.executable, tmp_path / "their lib.so")
    monkeypatch.chdir(tmp_path)
    seen = []

    def opened(plan: Sequence[PlannedScenario], choice: Choice, *_: object, **__: object) -> None:
        with new_bundle(tmp_path, "bench") as bundle:
            seen.append(opened_record(bundle, plan, choice))
        raise ConfigError("here", [], hint="nothing is booted")

    monkeypatch.setattr("lab.cli.app.run", opened)
    line = "--quick --check --only vm --part calls --part idle --idle 9.0 --guest-library"
    CliRunner().invoke(app, ["bench", *line.split(), "their lib.so", "--set", "guest.cpus=1"])
    (record,) = seen
    again = [*line.split(), f"{tmp_path}/their lib.so", "--set", "guest.cpus=1"]
    assert (record.command, record.options) == ("bench", tuple(again))
    script = (tmp_path / record.run / "reproduce.sh").read_text()
    assert script.endswith(f'exec "$lab" bench {shlex.join(again)} "$@"\n')
    assert "--dry-run" not in script


def test_answer_has_the_contracts_keys_measured_or_not(tmp_path: Path) -> None:
    run = RunRecord.model_construct(run="r", status="passed", exit=0)
    assert set(bench_answer(tmp_path, run, None)) > CONTRACT
    assert bench_answer(tmp_path, run.model_copy(update={"exit": 2}), None)["exit"] == 2
    record = BenchRecord(answer=ANSWER, targets=tuple(target_record(one) for one in judged(ANSWER)))
    answer: dict[str, Any] = bench_answer(tmp_path, run, record)
    assert set(answer) > CONTRACT
    assert answer["vm"]["empty_call_us"]["p50"] == 4.0
    assert {one["met"] for one in answer["targets"]} == {True, False, None}


def test_figures_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_bench(tmp_path)
    tell_bench(BenchRecord.model_validate_json((tmp_path / BENCH).read_text()))
    said = capsys.readouterr().out
    for words in ("empty call", "4 / 40 [3.6]", "the ioctl alone", "not met", "a token of a model-like graph", "busy"):
        assert words in said
    assert "of fewer than 100 samples" not in said


def wide(p50: float) -> dict[str, Any]:
    return {"p50": p50, "p99": 98_765.4 if p50 > 1 else 0.345, "spread": {"min": 0.93 * p50}, "samples": 8}


@pytest.mark.parametrize("missing", [(), (OTHER,)], ids=["two implementations", "one"])
def test_every_way_has_a_column_of_which_nothing_is_cut_off_on_a_pipe(
    missing: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    answer = {key: value for key, value in ANSWER.items() if key not in missing}
    ways = [way for way in (LOOPBACK, *WAYS, OTHER) if way in answer]
    answer |= {way: answer[way] | dict.fromkeys(LATENCIES, wide(0.123 if way == LOOPBACK else 987.6)) for way in ways}
    answer |= dict.fromkeys(FLOORS, wide(876.5)) | {"floor_us": wide(0.123)}
    tell_bench(BenchRecord(answer=answer, targets=tuple(target_record(one) for one in judged(answer))))
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith("set 4 B + empty call")]
    assert line.count("988 / 98765* [918]") == len(ways) - 1
    assert sum("of fewer than 100 samples" in line for line in lines) == 1
    heads = [line for line in lines if line.split()[:2] == ["loopback", "guest"]]
    assert [all(TITLES[way] in head for way in ways) for head in heads] == [True, True]


def test_rates_are_shown_with_three_figures(capsys: pytest.CaptureFixture[str]) -> None:
    copied, shared, loop, both = ({"1MiB": rate} for rate in (0.796482, 0.596482, 0.996482, 0.896482))
    way = ANSWER["vm"] | {"set_gib_s": copied, "set_shared_gib_s": shared}
    tell_bench(
        BenchRecord(answer={"vm": way, "copy_floor_set_gib_s": loop, "both_ends_set_gib_s": both, "both_ends_get_gib_s": shared})
    )
    line, get = [line for line in capsys.readouterr().out.splitlines() if "et 1MiB" in line]
    assert get.split()[-1] == "0.596"
    assert line.split() == ["set", "1MiB", "0.796", "[0.596]", "0.996,", "0.896"]


def test_call_is_told_beside_its_own_floor(capsys: pytest.CaptureFixture[str]) -> None:
    ways = {"vm": {"empty_call_us": wide(4.0)}, "vm_execbuffer": {"empty_call_us": wide(80.0)}}
    for word, ratio in ((0.5, "8.0"), (0.0, DASH)):
        tell_bench(BenchRecord(answer={**ways, "floor_us": wide(word), "ioctl_us": wide(40.0)}))
        (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("empty call")]
        assert line.split()[-2:] == [ratio, "2.0"]


def test_target_is_met_or_not_or_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    targets = [TargetRecord(label=f"of {met}", expected="much", seen_text="some", met=met) for met in (True, False, None)]
    tell_bench(BenchRecord(answer={}, targets=tuple(targets)))
    told = [line.split() for line in capsys.readouterr().out.splitlines() if " of " in line and "much" in line]
    seen = ["some", "much"]
    assert told == [["met", "of", "True", *seen], ["not", "met", "of", "False", *seen], [DASH, "of", "None", *seen]]


def test_token_has_calls_of_its_own_where_it_is_described_anew(capsys: pytest.CaptureFixture[str]) -> None:
    tell_bench(BenchRecord(answer=ANSWER, tokens=(token("all", "copied", 2, 1000.0),)))
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("all ")]
    assert [line.split()[place] for place in (2, 6)] == ["2", "3"]


def test_check_of_a_file_that_is_enforced_stays_so() -> None:
    assert chosen(BenchCheck(kind="bench", enforce=True), BenchOptions()).enforce


def test_token_that_was_not_counted_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    tell_bench(BenchRecord(answer=ANSWER, tokens=(uncounted_token(),)))
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("all ")]
    spread, rebuilt = (f"[{DASH.join(ends)}]" for ends in (("1,170", "1,560"), ("2,340", "3,120")))
    assert line.split() == ["all", "copied", DASH, DASH, "1,300", spread, DASH, "2,600", rebuilt]


def test_what_a_repeated_graph_sends_and_an_idle_context_takes_is_told_of_every_way(capsys: pytest.CaptureFixture[str]) -> None:
    ways = [way for way in (LOOPBACK, *WAYS) if way in ANSWER]
    idle = {"guest": 0.01, "worker": 0.002, "qemu": 3.0, "qemu_more": 0.0312, "qemu_more_spread": {"min": -1.1122, "max": 1.8712}}
    tell_bench(BenchRecord(answer={way: ANSWER[way] | {"idle_percent": idle} for way in ways} | {"vm_02": {}}))
    told = {
        name: line.removeprefix(name).split()
        for line in capsys.readouterr().out.splitlines()
        for name in ("1000-node graph again, commands", "1000-node graph again, bytes sent", "idle, added to QEMU, % of a core")
        if line.startswith(name)
    }
    assert list(told.values()) == [[one, one, one, DASH] for one in ("1", "312,000")] + [3 * ["0.03", f"[-1.1{DASH}1.9]"] + [DASH]]


def test_token_of_a_bundle_without_spreads_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    known = {key: value for key, value in uncounted_token().items() if not key.endswith(("_min", "_max"))}
    tell_bench(BenchRecord(answer=ANSWER, tokens=(known,)))
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("all ")]
    assert line.split() == ["all", "copied", DASH, DASH, "1,300", DASH, "2,600"]


@pytest.mark.parametrize(("missing", "column"), [((), "guest"), (("vm", "vm_execbuffer", "vm_02"), "the second")])
def test_floors_stand_in_the_guests_column(missing: tuple[str, ...], column: str) -> None:
    answer = {key: value for key, value in ANSWER.items() if key not in missing}
    ways = [way for way in TITLES if way in answer]
    table = _latencies(answer, ways)
    filled = [str(one.header) for one in table.columns if str(list(one.cells)[len(LATENCIES)])]
    assert filled == ["", column]


def test_what_a_guests_library_said_commands_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    tell_bench(BenchRecord(answer={}, warnings=("vm/copied said: ggml-virtgpu: \x1b]0;title\x07\x9b2J\r",)))
    said = capsys.readouterr().out
    assert "ggml-virtgpu: \u241b]0;title\u2407" in said
    assert not {"\x1b", "\x07", "\x9b", "\r"} & set(said)
