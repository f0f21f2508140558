"""What a run may not be gone on with: results that were computed by something else, or of which nobody knows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.apir.protocol_gen import ReturnCode
from lab.bundle import read_bundle
from lab.bundle.outcome import FindingKind
from lab.bundle.schema import Status
from lab.errors import AbnormalShutdown
from tests.scenario.fakes import Script
from tests.scenario.upstream_runs import CASES, KILLED, SCENARIO, Program, Running, counted_once, killed_lab


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return Running(tmp_path)


class Failing(Program):
    def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
        super().__call__(command, on_line)
        return 1


@pytest.mark.parametrize(
    ("program", "script", "text", "kind"),
    [
        (Program, Script(mapped_ids={"host library": "another"}), SCENARIO, FindingKind.WRONG_LIBRARY),
        (Program, Script(guest_records=0, host_records=0), SCENARIO, FindingKind.NO_CALLS),
        (Program, Script(guest_records=4), SCENARIO, FindingKind.CALLS_DIFFER),
        (Program, Script(capset=10), SCENARIO, FindingKind.WRONG_CAPSET),
        (Failing, Script(), SCENARIO, FindingKind.PROGRAM_FAILED),
        (Program, Script(), SCENARIO + "thresholds = { cases_per_s = 1e9 }\n", FindingKind.TOO_SLOW),
    ],
)
def test_results_that_a_finding_is_against_are_not_kept(
    running: Running, program: type[Program], script: Script, text: str, kind: FindingKind
) -> None:
    first = running(program(), script=script, text=text)
    assert kind in {row.finding for row in first.findings}
    again = Program()
    second = running(again, earlier=first, text=text)
    assert second.run.status is Status.ERROR, "a run that failed must not pass without having run anything"
    assert f"it found '{kind}', so its results are not kept" in second.findings[0].text
    assert "run it without --resume" in second.findings[0].text
    assert (again.processes, second.cases) == (0, ())


def test_a_worker_that_was_lost_between_cases_is_a_finding_that_no_row_has(running: Running) -> None:
    first = running(Program(), script=Script(last_status=ReturnCode.WORKER_LOST))
    assert {row.finding for row in first.findings} == {FindingKind.WORKER_LOST}
    assert "found 'worker lost'" in running(Program(), earlier=first).findings[0].text


def test_a_worker_that_was_lost_with_a_case_is_in_that_cases_row(running: Running) -> None:
    cut = running(Program({"ADD(n=2)": lambda: KILLED}), script=Script(last_status=ReturnCode.WORKER_LOST))
    assert FindingKind.WORKER_LOST in {row.finding for row in cut.findings}
    whole = running(Program(), earlier=cut)
    assert (whole.run.status, [row.case for row in whole.findings]) == (Status.FAILED, ["ADD(n=2)"])
    assert counted_once(whole)


def test_results_of_processes_that_nobody_looked_at_are_not_kept(running: Running) -> None:
    cut = killed_lab(running(Program()), 5)
    lines = (cut.folder / "results.jsonl").read_text().splitlines(keepends=True)
    (cut.folder / "results.jsonl").write_text("".join(line for line in lines if '"kind":"fact"' not in line))
    refused = running(Program(), earlier=read_bundle(cut.folder))
    assert refused.run.status is Status.ERROR
    assert "nobody looked at the libraries that upstream-test ran with" in refused.findings[0].text


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (SCENARIO, Status.ERROR),
        (SCENARIO.replace('kind = "upstream"', 'kind = "upstream"\nmode = "support"'), Status.PASSED),
        (f"call_records = false\n{SCENARIO}", Status.PASSED),
    ],
    ids=["computed", "asked", "recorded by nobody"],
)
def test_results_that_no_recorded_call_computed_are_not_kept(running: Running, text: str, status: Status) -> None:
    """Calls are judged at the end of a run, to which one that is killed does not come."""
    cut = killed_lab(running(Program(), text=text), 5)
    lines = [line for line in (cut.folder / "calls.jsonl").read_text().splitlines(keepends=True) if "graph" not in line]
    (cut.folder / "calls.jsonl").write_text("".join(lines))
    whole = running(Program(), text=text, earlier=read_bundle(cut.folder))
    assert whole.run.status is status, [row.text for row in whole.findings]
    if status is Status.ERROR:
        assert "it recorded no remote call that computes a graph" in whole.findings[0].text
        assert whole.cases == ()


def test_results_of_a_component_that_records_nothing_are_kept(running: Running) -> None:
    """The guest's records are fetched at the end, to which a run that is killed does not come."""
    (running.folder / "theirs.so").touch()
    text = f'{SCENARIO}\n[implementation]\ncomponent = "{running.folder}/theirs.so"\n'
    cut = killed_lab(running(Program(), text=text, script=Script(host_records=None)), 5)
    (cut.folder / "calls.jsonl").write_text("")
    whole = running(Program(), text=text, script=Script(host_records=None), earlier=read_bundle(cut.folder))
    assert whole.run.status is Status.PASSED, [row.text for row in whole.findings]


def test_an_end_that_rows_do_not_explain_is_written_down_before_the_next_process_starts(running: Running) -> None:
    class FirstFails(Program):
        def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
            if self.processes:
                (results,) = running.folder.rglob("results.jsonl")
                seen.append(FindingKind.PROGRAM_FAILED in results.read_text())
            return 1 if not super().__call__(command, on_line) and self.processes == 1 else 0

    seen: list[bool] = []
    running(FirstFails(), text=SCENARIO.replace("shards = 2", "shards = 1"))
    assert seen
    assert all(seen)


def test_what_proves_kept_results_is_kept_with_them(running: Running) -> None:
    first = running(Program())
    second = running(Program(), earlier=first)
    third = running(Program(), earlier=second)
    assert third.run.status is Status.PASSED, [row.text for row in third.findings]
    assert {fact.run for fact in third.facts} == {first.run.run}
    assert [fact.name for fact in third.facts] == [fact.name for fact in first.facts if fact.check == "upstream-test"]


def test_a_machine_that_did_not_go_down_says_nothing_of_results(running: Running) -> None:
    first = running(Program(), script=Script(exit_error=AbnormalShutdown("QEMU had to be killed")))
    assert [row.finding for row in first.findings] == [FindingKind.WRONG_STATE]
    assert running(Program(), earlier=first).run.status is Status.PASSED


TWO = SCENARIO + '\n[[variants]]\nname = "one"\n\n[[variants]]\nname = "other"\nguest = { cpus = 1 }\n'


def test_what_a_killed_run_had_not_come_to_is_run_whole(running: Running) -> None:
    cut = killed_lab(running(Program(), text=TWO), 5)
    record = json.loads((cut.folder / "run.json").read_text())
    record["variants"] = record["variants"][:1]
    (cut.folder / "run.json").write_text(json.dumps(record))
    whole = running(Program(), text=TWO, earlier=read_bundle(cut.folder))
    assert whole.run.status is Status.PASSED, [row.text for row in whole.findings]
    assert Counter((row.variant, row.run) for row in whole.cases) == {
        ("one", cut.run.run): 5,
        ("one", ""): len(CASES) - 5,
        ("other", ""): len(CASES),
    }
    renamed = running(Program(), text=TWO.replace('"other"', '"another"'), earlier=whole)
    assert "--resume: another: it has no such variant" in renamed.findings[0].text


@pytest.mark.parametrize("status", ["interrupted", "running"])
@pytest.mark.parametrize("text", [SCENARIO, TWO])
def test_a_run_that_was_cut_off_before_its_first_boot_is_gone_on_with_as_the_one_before_it(
    running: Running, text: str, status: str
) -> None:
    first = running(Program(), text=text)
    second = running(Program(), text=text, earlier=first, script=Script(boot_error=KeyboardInterrupt()))
    assert second.run.status is Status.INTERRUPTED
    record = json.loads((second.folder / "run.json").read_text()) | {"status": status}
    (second.folder / "run.json").write_text(json.dumps(record))
    third = running(program := Program(), text=text, earlier=read_bundle(second.folder))
    assert third.run.status is Status.PASSED, [row.text for row in third.findings]
    assert Counter(row.run for row in third.cases) == {first.run.run: len(first.cases)}
    assert program.processes == 0
    record["variants"][0]["kept"]["payloads"][0]["build_id"] = "another"
    (second.folder / "run.json").write_text(json.dumps(record))
    assert running(Program(), text=text, earlier=read_bundle(second.folder)).run.status is Status.ERROR


def test_results_by_another_accelerator_are_not_kept(running: Running) -> None:
    cut = killed_lab(running(Program()), 5)
    record = json.loads((cut.folder / "run.json").read_text())
    record["variants"][0]["accel"] = "other"
    (cut.folder / "run.json").write_text(json.dumps(record))
    again = Program()
    refused = running(again, earlier=read_bundle(cut.folder))
    assert refused.run.status is Status.ERROR
    assert "the accelerator was other, here it is tcg" in refused.findings[0].text
    assert again.processes == 0
    assert [(one.run, one.kept) for one in refused.run.resumed] == [(cut.run.run, 0)]


@pytest.mark.parametrize("role", ["host root", "guest image", "library of another time"])
def test_results_by_another_root_image_or_library_are_not_kept(running: Running, role: str) -> None:
    cut = killed_lab(running(Program()), 5)
    record = json.loads((cut.folder / "run.json").read_text())
    record["built"] = [one | ({"key": "another"} if one["role"] == role else {}) for one in record["built"]]
    if role.startswith("library"):
        record["boots"][0]["payloads"].append({"role": role, "path": "/x", "sha256": "0", "build_id": "another"})
    (cut.folder / "run.json").write_text(json.dumps(record))
    refused = running(Program(), earlier=read_bundle(cut.folder))
    assert refused.run.status is Status.ERROR
    assert f"the {role} was another, here it is" in refused.findings[0].text


def test_results_by_another_vulkan_driver_are_not_kept(running: Running) -> None:
    text = SCENARIO.replace("\n[[checks]]", '\n[host]\nggml_library = "vulkan"\n\n[[checks]]', 1)
    cut = killed_lab(running(Program(), text=text), 5)
    assert running(Program(), text=text, earlier=cut).run.status is Status.PASSED
    record = json.loads((cut.folder / "run.json").read_text())
    environment = dict(record["boots"][0]["environment"])
    record["boots"][0]["environment"] = list((environment | {"VK_DRIVER_FILES": "/other.json"}).items())
    (cut.folder / "run.json").write_text(json.dumps(record))
    refused = running(Program(), text=text, earlier=read_bundle(cut.folder))
    assert refused.run.status is Status.ERROR
    assert "VK_DRIVER_FILES was '/other.json', here it is" in refused.findings[0].text


@pytest.mark.parametrize("left", [1, 5])
def test_run_that_keeps_results_has_no_rate_of_cases(running: Running, left: int) -> None:
    text = SCENARIO + "thresholds = { cases_per_s = 1e9 }\n"
    cut = killed_lab(running(Program(), text=text), len(CASES) - left)
    assert running(Program(), earlier=cut, text=text).run.status is Status.PASSED
