"""Sweeps of test-backend-ops in a guest that is played: batches, crashes, hangs, cuts, and runs that go on with another one."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.bundle import Outcome
from lab.bundle.outcome import FindingKind
from lab.bundle.schema import Status
from lab.deadline import Deadline, poll
from lab.errors import ConfigError, GuestLost
from lab.scenario.plan import Choice, planned
from lab.scenario.resume import earlier_run
from reports import rendered_report
from tests.scenario.fakes import HEADER_LINE, Script, row
from tests.scenario.upstream_runs import CASES, KILLED, SCENARIO, Program, Running, counted_once, killed_lab, lost


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return Running(tmp_path)


def test_every_case_is_run_once_in_several_processes(running: Running) -> None:
    program = Program()
    bundle = running(program)
    assert bundle.run.status is Status.PASSED, [row.text for row in bundle.findings]
    assert counted_once(bundle)
    assert program.processes == 3
    assert set(program.ran.values()) == {1, 2}
    assert program.ran["ADD(n=3)"] == 2, "the text that is listed twice"
    assert bundle.run.variants[0].expected_cases == bundle.run.variants[0].cases.ok == len(CASES)
    assert {row.check for row in bundle.cases} == {"upstream-test"}


@pytest.mark.parametrize("case", ["ADD(n=1)", "MUL(n=3)", "MUL(n=3)#2", "ADD(n=5)"])
def test_a_crash_costs_the_case_that_was_running_and_no_other(running: Running, case: str) -> None:
    program = Program({case: lambda: KILLED})
    bundle = running(program)
    assert bundle.run.status is Status.FAILED
    assert counted_once(bundle)
    assert lost(bundle) == {case: Outcome.GUEST_CRASH}
    assert [row.case for row in bundle.findings] == [case]


def test_a_crash_at_every_case_is_bounded(running: Running) -> None:
    program = Program({case: lambda: KILLED for case in CASES})
    bundle = running(program, text=SCENARIO + "restarts = 3\n")
    assert len(lost(bundle)) >= 4
    assert program.processes <= 3 + 4
    assert FindingKind.INTERRUPTED in {row.finding for row in bundle.findings}
    assert "processes ended early, 3 may" in bundle.findings[0].text


def test_a_program_that_never_comes_to_a_case_is_given_up(running: Running) -> None:
    class Stillborn(Program):
        def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
            assert " test " in command
            on_line("pid 7\n")
            self.processes += 1
            return 128 + 6

    program = Stillborn()
    bundle = running(program, text=SCENARIO.replace("shards = 2", "shards = 1"))
    assert program.processes == 3
    assert bundle.cases == ()
    (finding,) = bundle.findings  # the one that speaks against no result: such a run can be taken up again
    assert finding.finding == FindingKind.INTERRUPTED
    assert "3 processes in a row ended before their first case" in finding.text


def hanging(script: Script) -> Callable[[], int]:
    def hang() -> int:
        poll("a SIGKILL", lambda: any("KILL" in command for command in script.killed), Deadline.after(10))
        return KILLED

    return hang


@pytest.mark.parametrize(("ends", "why"), [("crash", "was ended by signal 11"), ("hang", "no result came for 0 s")])
def test_a_process_that_ends_while_it_loads_its_libraries_is_found_although_another_one_has_its_cases(
    running: Running, ends: str, why: str
) -> None:
    script = Script()

    class Loading(Program):
        def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
            if self.processes == 0:
                self.processes += 1
                on_line("pid 7\n")
                return 128 + 11 if ends == "crash" else hanging(script)()
            return super().__call__(command, on_line)

    text = SCENARIO.replace("shards = 2", "shards = 1").replace("case_deadline_s = 10", "case_deadline_s = 0.5")
    bundle = running(Loading(), script=script, text=text)
    assert counted_once(bundle)
    assert bundle.run.exit == 1
    assert [(row.finding, row.blame) for row in bundle.findings] == [(FindingKind.PROGRAM_FAILED, "product")]
    assert bundle.findings[0].text.startswith("a process ended before its first case: ")
    assert why in bundle.findings[0].text


def test_a_hang_is_ended_and_costs_one_case(running: Running) -> None:
    script = Script()
    program = Program({"MUL(n=2)": hanging(script)})
    bundle = running(program, text=SCENARIO.replace("case_deadline_s = 10", "case_deadline_s = 0.3"), script=script)
    assert counted_once(bundle)
    assert lost(bundle) == {"MUL(n=2)": Outcome.HANG}


def test_a_lost_worker_costs_one_case_and_its_process_is_ended(running: Running) -> None:
    script = Script()

    class Losing(Program):
        def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
            self.processes += 1
            if self.processes == 1:
                on_line("pid 7\n")
                on_line(HEADER_LINE)
                on_line(row("ADD(n=1)"))
                on_line("ggml-virtgpu: device lost: the worker is gone; every later call fails\n")
                on_line(row("ADD(n=2)", supported="0", error="not supported"))
                assert "kill -KILL 7" in script.killed
                return KILLED
            return super().__call__(command, on_line)

    bundle = running(Losing(), text=SCENARIO.replace("shards = 2", "shards = 1"), script=script)
    assert counted_once(bundle)
    assert lost(bundle) == {"ADD(n=2)": Outcome.HOST_CRASH}


def test_a_status_that_rows_do_not_explain_is_found(running: Running) -> None:
    class Liar(Program):
        def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
            super().__call__(command, on_line)
            return 1

    bundle = running(Liar())
    assert {row.finding for row in bundle.findings} == {FindingKind.PROGRAM_FAILED}


def test_processes_that_nobody_could_look_at_prove_nothing(running: Running) -> None:
    script = Script()

    class Quick(Program):
        def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
            script.through = True
            return super().__call__(command, on_line)

    bundle = running(Quick(), script=script)
    assert counted_once(bundle)
    assert {(row.finding, row.blame) for row in bundle.findings} == {(FindingKind.WRONG_LIBRARY, "lab")}


def test_processes_without_a_worker_prove_nothing(running: Running) -> None:
    bundle = running(Program(), script=Script(workers=()))
    assert counted_once(bundle)
    assert {(row.finding, row.blame) for row in bundle.findings} == {(FindingKind.WRONG_LIBRARY, "lab")}
    assert "could be looked at while it had a worker" in bundle.findings[0].text


def test_a_guest_that_is_too_busy_to_look_costs_no_process(running: Running) -> None:
    script = Script()

    class Busy(Program):
        def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
            script.busy = self.processes == 0
            return super().__call__(command, on_line)

    program = Busy()
    bundle = running(program, script=script, text=SCENARIO.replace("shards = 2", "shards = 1"))
    assert counted_once(bundle)
    assert program.processes == 3
    assert bundle.run.status is Status.PASSED, [row.text for row in bundle.findings]


def test_a_run_that_is_interrupted_while_it_is_judged_did_not_pass(running: Running) -> None:
    script = Script()

    def interrupt() -> None:
        raise KeyboardInterrupt

    script.at_the_end = interrupt
    bundle = running(Program({"ADD(n=1)": lambda: KILLED}), script=script)
    assert bundle.run.status is Status.INTERRUPTED
    assert [one.status for one in bundle.run.variants] == [Status.INTERRUPTED]


def lose_qemu(script: Script, reason: str) -> Callable[[], int]:
    def step() -> int:
        script.alive = False
        raise GuestLost(reason)

    return step


def test_a_run_whose_qemu_was_killed_is_resumed_and_has_every_case_once(running: Running) -> None:
    script = Script()
    cut = running(Program({"MUL(n=1)": lose_qemu(script, "QEMU ended with exit status -9")}), script=script)
    assert cut.run.status is Status.ERROR
    assert 0 < len(cut.cases) < len(CASES)
    assert lost(cut) == {}, "nobody knows whose fault it was"
    program = Program()
    whole = running(program, earlier=cut)
    assert whole.run.status is Status.PASSED, [row.text for row in whole.findings]
    assert counted_once(whole)
    kept = [row.case for row in cut.cases]
    assert {row.case for row in whole.cases if row.run == cut.run.run} == set(kept)
    resumed = whole.run.resumed
    assert [(one.run, one.status, one.kept) for one in resumed] == [(cut.run.run, Status.ERROR, len(kept))]
    assert sum(program.ran.values()) < len(CASES)


def test_qemu_that_died_by_itself_costs_the_cases_that_ran(running: Running) -> None:
    script = Script()
    bundle = running(Program({"MUL(n=1)": lose_qemu(script, "QEMU ended with exit status -11")}), script=script)
    assert lost(bundle)["MUL(n=1)"] == Outcome.HOST_CRASH


def test_a_lab_that_was_killed_leaves_a_bundle_that_can_be_resumed_again_and_again(running: Running) -> None:
    first = killed_lab(running(Program()), 5)
    assert (first.cut_lines, len(first.cases)) == (1, 5)
    second = killed_lab(running(Program(), earlier=first), 9)
    program = Program()
    third = running(program, earlier=second)
    assert third.run.status is Status.PASSED, [row.text for row in third.findings]
    assert counted_once(third)
    assert [one.kept for one in third.run.resumed] == [5, 4]
    assert [one.run for one in third.run.resumed] == [first.run.run, second.run.run]
    measured_by = Counter(row.run for row in third.cases)
    assert measured_by == {first.run.run: 5, second.run.run: 4, "": 3}
    assert third.run.variants[0].cases.ok == len(CASES)
    rendered_report(third.folder)
    for page in ("index.html", "summary.md"):
        text = (third.folder / page).read_text()
        assert f"{second.run.run}" in text
        assert "(4 results kept)" in text


def test_a_whole_run_has_nothing_left_to_resume(running: Running) -> None:
    program = Program()
    bundle = running(program, earlier=running(Program()))
    assert program.processes == 0
    assert bundle.run.status is Status.PASSED, [row.text for row in bundle.findings]
    assert counted_once(bundle)


def test_a_lost_case_is_kept_and_one_that_the_lab_lost_is_run_again(running: Running) -> None:
    cut = running(Program({"ADD(n=2)": lambda: KILLED}))
    text = (cut.folder / "results.jsonl").read_text()
    (cut.folder / "results.jsonl").write_text(re.sub(r'("case":"MUL\(n=1\)".*?"outcome":)"pass"', r'\1"lab error"', text))
    program = Program()
    whole = running(program, earlier=cut)
    assert lost(whole) == {"ADD(n=2)": Outcome.GUEST_CRASH}
    assert set(program.ran) == {"MUL(n=1)"}
    assert counted_once(whole)


def payload_of(record: dict[str, Any], role: str) -> dict[str, Any]:
    return next(one for one in record["boots"][0]["payloads"] if one["role"] == role)


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        (
            lambda record: payload_of(record, "ggml library").update(build_id="0123"),
            "the ggml library was 0123, here it is id of ggml",
        ),
        (lambda record: record["built"][0].update(key="other"), "the host root was other, here it is rootkey"),
        (lambda record: record["variants"][0].update(variant="another"), "it has no such variant"),
        (lambda record: record.update(boots=[]), "it does not tell which libraries it ran with"),
    ],
)
def test_a_run_made_of_something_else_is_not_gone_on_with(
    running: Running, changed: Callable[[dict[str, Any]], None], difference: str
) -> None:
    cut = killed_lab(running(Program()), 5)
    record = json.loads((cut.folder / "run.json").read_text())
    changed(record)
    (cut.folder / "run.json").write_text(json.dumps(record))
    program = Program()
    refused = running(program, earlier=cut)
    assert refused.run.status is Status.ERROR
    assert difference in refused.findings[0].text
    assert (program.processes, refused.cases) == (0, ())


def test_libraries_are_compared_with_those_of_the_variants_own_boot(running: Running) -> None:
    cut = killed_lab(running(Program()), 5)
    record = json.loads((cut.folder / "run.json").read_text())
    other = json.loads(json.dumps(record["boots"][0]))
    next(one for one in other["payloads"] if one["role"] == "ggml library")["build_id"] = "of another scenario"
    record["boots"].append(other)
    (cut.folder / "run.json").write_text(json.dumps(record))
    assert running(Program(), earlier=cut).run.status is Status.PASSED


def test_another_selection_is_not_gone_on_with_but_other_deadlines_are(running: Running) -> None:
    cut = killed_lab(running(Program()), 5)
    refused = running(Program(), earlier=cut, text=SCENARIO + 'ops = ["ADD"]\n')
    assert "checks[0].ops[0] was None, here it is 'ADD'" in refused.findings[0].text
    other_way = (
        SCENARIO.replace("deadline_s = 20", "deadline_s = 25").replace("shards = 2", "shards = 1").replace("batch = 4", "batch = 2")
    )
    assert running(Program(), earlier=cut, text=other_way).run.status is Status.PASSED


@pytest.mark.parametrize("settings", ["{", "[1]", '{"checks": 3}', '{"checks": [3]}'])
def test_a_run_whose_settings_cannot_be_read_is_not_gone_on_with(running: Running, settings: str) -> None:
    whole = running(Program())
    path = whole.folder / "run.json"
    record = json.loads(path.read_text())
    record["variants"][0]["settings"] = settings
    path.write_text(json.dumps(record))
    refused = running(Program(), earlier=whole)
    assert refused.run.status is Status.ERROR
    assert "its settings cannot be read" in refused.findings[0].text


def test_what_cannot_be_resumed_is_refused(running: Running, tmp_path: Path) -> None:
    whole = running(Program())
    (tmp_path / "state.toml").write_text('name = "state-only"\n[[checks]]\nkind = "state"\n')
    with pytest.raises(ConfigError, match="no check of this run can be resumed"):
        earlier_run(whole.folder, planned([tmp_path / "state.toml"], Choice()))
    with pytest.raises(ConfigError, match="is no run bundle"):
        earlier_run(tmp_path, planned([tmp_path / "sweep.toml"], Choice()))


def test_a_list_that_broke_off_decides_nothing(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lister(Program):
        def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
            assert "case-lister" in command
            on_line("supports: yes\n")
            on_line(row("ADD(n=1)", supported="0", error="not supported"))
            return KILLED

    monkeypatch.setattr("tests.scenario.upstream_runs.LISTED", None)
    bundle = running(Lister())
    assert (bundle.run.exit, bundle.cases) == (2, ())
    assert "ended with status 137 while it listed its cases" in bundle.findings[0].text


def test_a_process_that_crashes_behind_its_last_case_is_found(running: Running) -> None:
    class Crashing(Program):
        def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
            super().__call__(command, on_line)
            return 128 + 11

    bundle = running(Crashing())
    assert counted_once(bundle)
    assert bundle.run.exit == 1
    assert {row.finding for row in bundle.findings} == {FindingKind.PROGRAM_FAILED}
    assert "was ended by signal 11" in bundle.findings[0].text
