from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.bundle import Bundle, read_bundle
from lab.bundle.expected import Expected, ExpectedEnd, column_of
from lab.bundle.outcome import Blame, Finding, FindingKind, Outcome
from lab.bundle.schema import Status
from lab.bundle.writer import CheckWriter, new_bundle
from lab.errors import ConfigError
from lab.scenario.expectations import expectations_path, load_expectations
from lab.scenario.expected_cases import findings_of
from lab.scenario.listener import SilentListener
from lab.scenario.plan import Choice, planned
from lab.scenario.runner import run
from reports import rendered_report
from tests.scenario.fakes import HEADER_LINE, SCENARIO, TEXTS, FakePlatform, Script, row

ENTRY = '\n[[expect]]\ncase = "ops/ADD(type=f32,ne=[2*"\nreason = "known"\nlink = "https://example.org/1"\n'
FAIL = ENTRY + 'kind = "fail"\n'
FLAKY = ENTRY + 'kind = "flaky"\nmax_rate = 0.5\nretries = 2\n'
SKIP = ENTRY + 'kind = "skip"\n'
BAD = row(TEXTS[1], error="NMSE = 0.5")
UNSUPPORTED = row(TEXTS[1], supported="0", error="not supported")

Running = Callable[..., Bundle]


@pytest.fixture
def running(tmp_path: Path) -> Running:
    def run_script(script: Script, expectations: str, settings: tuple[str, ...] = (), text: str = SCENARIO) -> Bundle:
        path = tmp_path / "small.toml"
        path.write_text(text)
        known = expectations_path(path, "small")
        known.parent.mkdir(exist_ok=True)
        known.write_text(expectations)
        choice = Choice(settings, variants=("venus",))
        machine = Path(tempfile.mkdtemp(dir=tmp_path))
        platform = FakePlatform(script, machine).platform()
        return read_bundle(run(planned([path], choice), choice, tmp_path / "runs", SilentListener(), platform).folder)

    return run_script


def told(bundle: Bundle) -> str:
    return "\n".join(f"{one.finding} [{one.blame}] {one.text}" for one in bundle.findings)


def with_case(second: str, status: int = 1) -> Script:
    return Script(ops=(HEADER_LINE, row(TEXTS[0]), second, row(TEXTS[2])), ops_status=status)


def ends(script: Script, status: int) -> Callable[[], None]:
    """A step behind which the program ends with the status."""

    def step() -> None:
        script.ops_status = status

    return step


def counts(bundle: Bundle) -> dict[str, int]:
    return {name: number for name, number in bundle.run.variants[0].cases.model_dump().items() if number}


def test_expected_failure_leaves_exit_0_and_is_counted_as_such(running: Running) -> None:
    bundle = running(with_case(BAD), FAIL)
    assert told(bundle) == ""
    assert (bundle.run.status, bundle.run.exit) == (Status.PASSED, 0)
    assert counts(bundle) == {"ok": 2, "expected": 1}
    (case,) = (one for one in bundle.cases if one.expected)
    assert (case.outcome, case.expected, case.reason, case.link) == ("fail", "fail", "known", "https://example.org/1")
    junit = (bundle.folder / "junit.xml").read_text()
    assert 'message="expected (fail): known (https://example.org/1) NMSE = 0.5"' in junit
    assert 'failures="0"' in junit


def test_failure_that_nobody_expects_is_a_finding(running: Running) -> None:
    bundle = running(with_case(BAD), FAIL.replace("ne=[2", "ne=[1"))
    assert bundle.run.exit == 1
    assert f"case failed [product] {TEXTS[1]}" in told(bundle)
    assert counts(bundle) == {"ok": 2, "fail": 1}


def test_unexpected_pass_is_a_finding(running: Running) -> None:
    bundle = running(Script(), FAIL)
    assert bundle.run.exit == 1
    assert f"unexpected pass [product] ops/{TEXTS[1]} passes, and is expected to fail: known (https://example.org/1)" in told(
        bundle
    )


@pytest.mark.parametrize("entry", [FAIL, FLAKY])
def test_case_that_is_expected_to_be_computed_and_is_unsupported_has_lost_its_support(running: Running, entry: str) -> None:
    bundle = running(with_case(UNSUPPORTED, 0), entry)
    assert bundle.run.exit == 1
    assert f"lost support [product] ops/{TEXTS[1]} is unsupported, and is expected to be computed" in told(bundle)


def test_expectation_that_matches_nothing_is_a_finding_where_its_condition_holds(running: Running) -> None:
    nothing = FAIL.replace("ADD", "NOTHING")
    bundle = running(Script(), nothing)
    assert bundle.run.exit == 1
    assert "unused expectation [product] no case fits the expectation ops/NOTHING(type=f32,ne=[2* (fail): known" in told(bundle)
    assert running(Script(), nothing + 'when = { capset = "apir" }\n').run.exit == 0


def test_run_of_a_part_has_no_unused_expectations(running: Running) -> None:
    assert running(Script(), FAIL.replace("ADD", "NOTHING"), ("checks[1].min_cases=2",)).run.exit == 0


def test_flaky_case_is_run_again_until_it_passes(running: Running) -> None:
    script = with_case(BAD)
    script.later = [(HEADER_LINE, BAD), (HEADER_LINE, row(TEXTS[1]), row(TEXTS[0]), ends(script, 0))]
    bundle = running(script, FLAKY.replace("0.5", "0.7"))
    assert told(bundle) == ""
    assert (bundle.run.exit, counts(bundle)) == (0, {"ok": 2, "flaky": 1})
    assert [(one.outcome, one.attempt) for one in bundle.cases if one.expected] == [("fail", 1), ("fail", 2), ("pass", 3)]
    assert len([one for one in bundle.cases if not one.expected]) == 2, "only what was named is kept of a further run"
    assert r"ne=\[2,1,1,1\]$" in script.commands[1]


def test_flaky_rate_above_its_bound_is_a_finding(running: Running) -> None:
    script = with_case(BAD)
    script.later = [(HEADER_LINE, BAD), (HEADER_LINE, row(TEXTS[1]), ends(script, 0))]
    bundle = running(script, FLAKY.replace("0.5", "0.004"))
    assert bundle.run.exit == 1
    assert "too flaky [product] 2 of 3 runs of ops/ADD(type=f32,ne=[2* failed, at most 0.4% are expected to" in told(bundle)


def test_flaky_case_that_always_fails_is_a_failure(running: Running) -> None:
    script = with_case(BAD)
    script.later = [(HEADER_LINE, BAD)] * 2
    bundle = running(script, FLAKY)
    assert bundle.run.exit == 1
    assert f"case failed [product] ops/{TEXTS[1]} failed in all of 3 runs, and is expected to be flaky" in told(bundle)
    assert counts(bundle) == {"ok": 2, "fail": 1}
    assert len(script.commands) == 3, "no more often than retries say"


def test_flaky_case_that_passes_is_run_until_there_is_a_rate(running: Running) -> None:
    script = Script(later=[(HEADER_LINE, row(TEXTS[1]))] * 9)
    bundle = running(script, FLAKY + "min_runs = 4\n")
    assert (bundle.run.exit, len(script.commands)) == (0, 4)
    assert counts(bundle) == {"ok": 3}


def test_program_that_dies_on_a_further_run_is_a_finding(running: Running) -> None:
    script = with_case(BAD)
    script.later = [(HEADER_LINE, ends(script, 139))]
    bundle = running(script, FLAKY)
    assert "interrupted [product] while flaky cases ran again: guest crash: " in told(bundle)
    assert bundle.run.exit == 1


@pytest.mark.parametrize(
    ("lines", "status", "finding"),
    [
        ((row(TEXTS[1]),), 1, "program failed [product] while flaky cases ran again: test-backend-ops ended with status 1,"),
        (
            (row(TEXTS[1]), row(TEXTS[1], device="CPU")),
            0,
            "no such device [product] while flaky cases ran again: 1 rows are of device 'CPU'",
        ),
    ],
)
def test_a_pass_on_a_further_run_with_which_something_is_wrong_is_none(
    running: Running, lines: tuple[str, ...], status: int, finding: str
) -> None:
    script = with_case(BAD)
    script.later = [(HEADER_LINE, *lines, ends(script, status))]
    bundle = running(script, FLAKY)
    assert finding in told(bundle)
    assert bundle.run.exit == 1


def test_skipped_case_is_left_out_and_not_counted_as_passed(running: Running) -> None:
    script = Script(ops=(HEADER_LINE, row(TEXTS[0]), row(TEXTS[2])))
    bundle = running(script, SKIP)
    assert told(bundle) == ""
    assert (bundle.run.exit, counts(bundle)) == (0, {"ok": 2, "skipped": 1})
    assert r"(?!(?:type=f32,ne=\[2,1,1,1\])$)" in script.commands[0]
    assert [(one.outcome, one.message) for one in bundle.cases if one.expected] == [("skipped", "known (https://example.org/1)")]


def test_case_that_cannot_be_left_out_alone_is_run_and_not_counted_as_passed(running: Running) -> None:
    script = Script()
    bundle = running(script, SKIP.replace("ne=[2*", "ne=[1*"))
    assert told(bundle) == ""
    assert "(?!" not in script.commands[0], "MUL has the same parameters, and is to run"
    assert counts(bundle) == {"ok": 2, "skipped": 1}


def test_supported_cases_must_be_there_and_be_supported(running: Running, tmp_path: Path) -> None:
    listed = tmp_path / "expectations" / "cpu.txt"
    listed.parent.mkdir()
    known = '[[supported]]\ncases = "cpu.txt"\n'
    listed.write_text("".join(f"ops/{text}\n" for text in TEXTS))
    assert running(Script(), known).run.exit == 0
    bundle = running(with_case(UNSUPPORTED, 0), known)
    assert f"lost support [product] 1 of 3 cases that were supported are not, the first is ops/{TEXTS[1]}" in told(bundle)
    assert bundle.run.exit == 1
    listed.write_text("# from a run\n\nops/SUB(type=f32)\n")
    bundle = running(Script(), known)
    assert "missing case [product] 1 of 1 cases that were supported did not run, the first is ops/SUB(type=f32)" in told(bundle)
    assert running(Script(), known, ("checks[1].min_cases=2",)).run.exit == 0


def test_a_list_that_is_no_text_or_holds_no_case_stops_a_run_before_anything_is_started(running: Running, tmp_path: Path) -> None:
    listed = tmp_path / "expectations" / "cpu.txt"
    listed.parent.mkdir()
    listed.write_bytes(b"ops/ADD(type=f32)\xe9\n")
    script = Script()
    with pytest.raises(ConfigError, match=r"line 2: supported\[0\]\.cases: .*cpu\.txt cannot be read: it is no text in UTF-8"):
        running(script, '[[supported]]\ncases = "cpu.txt"\n')
    listed.write_text("# no case\n\n")
    with pytest.raises(ConfigError, match=r"line 2: supported\[0\]\.cases: .*cpu\.txt has no case that could be lost"):
        running(script, '[[supported]]\ncases = "cpu.txt"\n')
    assert script.boots == 0


def test_a_list_that_goes_while_the_run_is_on_costs_nothing(running: Running, tmp_path: Path) -> None:
    listed = tmp_path / "expectations" / "cpu.txt"
    listed.parent.mkdir()
    listed.write_text(f"ops/{TEXTS[0]}\n")
    bundle = running(Script(at_the_end=listed.unlink), '[[supported]]\ncases = "cpu.txt"\n')
    assert (bundle.run.exit, told(bundle)) == (0, "")


def test_bundle_keeps_the_expectations_where_its_copy_of_the_scenario_finds_them(running: Running) -> None:
    bundle = running(with_case(BAD), FAIL)
    (scenario,) = bundle.run.scenarios
    assert scenario.expectations is not None
    assert load_expectations(expectations_path(bundle.folder / scenario.copy_path, "small")).file.expect[0].reason == "known"


def test_copies_of_a_bundle_can_be_run_when_nothing_else_is_left(running: Running, tmp_path: Path) -> None:
    library = tmp_path / "lib" / "libggml-virtgpu.so"
    library.parent.mkdir()
    shutil.copyfile(sys.executable, library)
    for name, case in (("a", TEXTS[0]), ("b", TEXTS[1])):
        listed = tmp_path / name / "cpu.txt"
        listed.parent.mkdir()
        listed.write_text(f"# known\nops/{case}\n")
    supported = "".join(f'[[supported]]\ncases = "../{name}/cpu.txt"\n' for name in "ab")
    bundle = running(Script(), SKIP + supported, text=f'{SCENARIO}\n[implementation]\nguest = "lib"\n')
    for name in ("a", "b", "expectations"):
        shutil.rmtree(tmp_path / name)
    (entry,) = planned([bundle.folder / bundle.run.scenarios[0].copy_path], Choice(variants=("venus",)))
    assert entry.scenario.implementation.guest.path == str(library)
    known = entry.variants[0].expectations
    assert known.file.expect[0].reason == "known"
    assert [known.lists[one.cases] for one in known.file.supported] == [[f"ops/{TEXTS[0]}"], [f"ops/{TEXTS[1]}"]]
    script = (bundle.folder / "reproduce.sh").read_text()
    for path in (tmp_path / "expectations" / "small.toml", tmp_path / "a" / "cpu.txt", tmp_path / "b" / "cpu.txt"):
        assert f"sha256sum < {path} " in script


WRONG = """\
[[expect]]
case = "ops/A"
pattern = "b"
kind = "fial"
reason = ""
link = "x"

[[expect]]
pattern = "("
kind = "flaky"
reason = "r"
link = " "
when = { capset = "apri", kernel = "six", veriant = "x" }

[[expect]]
kind = "fail"
reason = "r"
link = "l"

[[expect]]
case = "x"
kind = "fail"
max_rate = 0.5
retries = 0
reason = "r"

[[supported]]
cases = "no-such-list.txt"

[[expct]]
"""


def test_every_problem_of_an_expectations_file_is_told_with_line_key_and_hint(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(WRONG)
    with pytest.raises(ConfigError) as caught:
        load_expectations(path)
    for expected in (
        "line 4: expect[0].kind: input should be 'fail', 'flaky' or 'skip', not 'fial' (one of fail, flaky, skip)",
        "line 5: expect[0].reason: is empty (say why, or where it is followed up)",
        "line 9: expect[1].pattern: '(' is no regular expression",
        "line 12: expect[1].link: is empty",
        "line 13: expect[1].when.capset: input should be 'venus' or 'apir', not 'apri'",
        "line 13: expect[1].when.kernel: 'six' is no condition on a version (as in",
        "line 13: expect[1].when.veriant: unknown key (did you mean variant?)",
        "line 15: expect[2]: needs either case or pattern",
        "line 24: expect[3].retries: input should be greater than or equal to 1",
        "line 20: expect[3].link: is missing (Where it is followed up)",
        f"supported[0].cases: there is no file {tmp_path}/no-such-list.txt",
        "expct: unknown key (did you mean expect?)",
    ):
        assert expected in str(caught.value), expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('kind = "fail"\nmax_rate = 0.5\n', "expect[0]: max_rate is for flaky entries, which need one"),
        ('kind = "flaky"\n', "expect[0]: max_rate is for flaky entries, which need one"),
        ('kind = "skip"\npattern = "x"\n', "expect[0]: needs either case or pattern"),
    ],
)
def test_entry_that_makes_no_sense_is_refused(tmp_path: Path, lines: str, expected: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(ENTRY + lines)
    with pytest.raises(ConfigError) as caught:
        load_expectations(path)
    assert expected in str(caught.value)


def test_wrong_expectations_stop_a_run_before_anything_is_started(running: Running) -> None:
    script = Script()
    with pytest.raises(ConfigError, match="is empty"):
        running(script, FAIL.replace("known", ""))
    assert script.boots == 0


@pytest.mark.parametrize(
    ("outcomes", "end", "column"),
    [
        ((Outcome.PASS,), None, "ok"),
        ((Outcome.PASS, Outcome.FAIL), None, "fail"),
        ((Outcome.FAIL, Outcome.HANG), None, "error"),
        ((Outcome.FAIL,), ExpectedEnd.FAIL, "expected"),
        ((Outcome.PASS,), ExpectedEnd.FAIL, "ok"),
        ((Outcome.PASS, Outcome.FAIL), ExpectedEnd.FAIL, "fail"),
        ((Outcome.HANG,), ExpectedEnd.FAIL, "error"),
        ((Outcome.FAIL, Outcome.PASS), ExpectedEnd.FLAKY, "flaky"),
        ((Outcome.FAIL, Outcome.FAIL), ExpectedEnd.FLAKY, "fail"),
        ((Outcome.FAIL, Outcome.HOST_CRASH), ExpectedEnd.FLAKY, "error"),
        ((Outcome.FAIL, Outcome.PASS, Outcome.HANG), ExpectedEnd.FLAKY, "error"),
        ((Outcome.PASS,), ExpectedEnd.SKIP, "skipped"),
        ((Outcome.SKIPPED,), ExpectedEnd.SKIP, "skipped"),
    ],
)
def test_each_case_is_counted_once(outcomes: tuple[Outcome, ...], end: ExpectedEnd | None, column: str) -> None:
    expected = None if end is None else Expected(0, end, "", "", "", lambda _check, _case: True)
    assert column_of(outcomes, expected) == column


@pytest.mark.parametrize(
    ("kind", "covered"), [(FindingKind.CASE_FAILED, True), (FindingKind.FAULT_MISHANDLED, True), (FindingKind.INTERRUPTED, False)]
)
def test_only_the_failure_of_its_case_is_what_an_entry_expects(tmp_path: Path, kind: FindingKind, covered: bool) -> None:
    entry = Expected(0, ExpectedEnd.FAIL, "known", "l", "A", lambda check, case: (check, case) == ("fault", "A"))
    with new_bundle(tmp_path, "x") as bundle:
        writer = CheckWriter(bundle, "s", "v", "fault", (entry,))
        writer.finding(Finding(kind, Blame.PRODUCT, "wrong", "A"))
        writer.finding(Finding(kind, Blame.PRODUCT, "wrong", "B"))
    assert [one.case for one in writer.findings] == (["B"] if covered else ["A", "B"])


@pytest.mark.parametrize(
    ("end", "outcomes", "kinds"),
    [
        (ExpectedEnd.FAIL, (Outcome.PASS, Outcome.FAIL), [FindingKind.UNEXPECTED_PASS]),
        (ExpectedEnd.FLAKY, (Outcome.PASS, Outcome.FAIL), [FindingKind.TOO_FLAKY]),
        (None, (Outcome.PASS, Outcome.UNSUPPORTED), [FindingKind.LOST_SUPPORT]),
    ],
)
def test_one_of_two_processes_is_enough(end: ExpectedEnd | None, outcomes: tuple[Outcome, ...], kinds: list[FindingKind]) -> None:
    entries = [] if end is None else [Expected(0, end, "", "", "", lambda _check, _case: True, max_rate=0.4, min_runs=2)]
    assert [one.kind for one in findings_of({("ops", "A"): outcomes}, entries, ("ops/A",), whole=True)] == kinds


def test_report_shows_what_was_expected(running: Running) -> None:
    bundle = running(with_case(BAD), FAIL)
    page = rendered_report(bundle.folder).read_text()
    assert 'expected (fail): known, <a href="https://example.org/1">' in page
    assert "as its expectations say: 1 failed, 0 flaky, 0 skipped." in (bundle.folder / "summary.md").read_text()
