from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenario.fakes import SCENARIO
from tests.scenario.test_boots_at_once import TWO_BOOTS

pytest_plugins = ["pytester"]

CONFTEST = """
from pathlib import Path

from lab.bundle.schema import CapabilityRecord
from lab.errors import HostError
from lab.pytest_plugin import PLATFORM
from tests.scenario.fakes import HEADER_LINE, TEXTS, FakePlatform, Script, row


def pytest_configure(config):
    {script}
    config.stash[PLATFORM] = FakePlatform(script, Path({folder!r})).platform()
"""
PASSING = "script = Script()"
FAILING = "script = Script(ops=(HEADER_LINE, row(TEXTS[0], error='test failed'), *(row(text) for text in TEXTS[1:])), ops_status=1)"
UNWRITABLE = """script = Script(at_the_end=lambda: [(run / 'index.html').mkdir(exist_ok=True) for run in Path('runs').iterdir()])"""
INTERRUPTED = "import signal; script = Script(ops=(HEADER_LINE, lambda: signal.raise_signal(signal.SIGINT)))"
TOGETHER = """import threading
    together = threading.Barrier(2)
    script = Script(ops=(HEADER_LINE, lambda: together.wait(20) and None, *(row(text) for text in TEXTS)))"""
UNABLE = "script = Script(capabilities=(CapabilityRecord(name='opengl', ok=False, probed='QEMU found no OpenGL'),))"
INI = """
[pytest]
testpaths = tests
pythonpath = {project}
addopts = --strict-markers
markers =
    gpu: needs a real GPU
"""


@pytest.fixture
def project(pytester: pytest.Pytester, tmp_path: Path) -> pytest.Pytester:
    pytester.makeini(INI.format(project=Path(__file__).parent.parent.parent))
    (pytester.path / "scenarios").mkdir()
    (pytester.path / "scenarios" / "small.toml").write_text(SCENARIO)
    (pytester.path / "tests").mkdir()
    (pytester.path / "tests" / "test_plain.py").write_text(
        "import pytest\nfrom lab.errors import HostError\n\n"
        "def test_plain():\n    pass\n\n"
        "@pytest.mark.gpu\ndef test_gpu():\n    raise HostError('render-node', 'nothing at /dev/dri')\n"
    )
    with_script(pytester, tmp_path, PASSING)
    return pytester


def with_script(pytester: pytest.Pytester, folder: Path, script: str) -> None:
    (pytester.path / "conftest.py").write_text(CONFTEST.format(script=script, folder=str(folder)))


def run(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "--lab-out", str(pytester.path / "runs"), *words)


def test_bare_run_boots_nothing(project: pytest.Pytester) -> None:
    run(project).assert_outcomes(passed=1, deselected=3)
    assert not (project.path / "runs").exists()


def test_scenarios_run_when_asked_for(project: pytest.Pytester) -> None:
    run(project, "-m", "scenario").assert_outcomes(passed=2, deselected=2)
    assert len(list((project.path / "runs").glob("*/index.html"))) == 1, "both variants were one run"


def test_named_file_runs_without_a_marker(project: pytest.Pytester) -> None:
    run(project, "scenarios/small.toml").assert_outcomes(passed=2)


def test_boots_of_a_file_run_at_the_same_time_when_asked_to(project: pytest.Pytester, tmp_path: Path) -> None:
    (project.path / "scenarios" / "small.toml").write_text(TWO_BOOTS)
    with_script(project, tmp_path, TOGETHER)
    run(project, "-m", "scenario", "--lab-jobs", "2").assert_outcomes(passed=2, deselected=2)


@pytest.mark.parametrize("jobs", ["0", "65"])
def test_number_of_boots_that_cannot_be_is_told(project: pytest.Pytester, jobs: str) -> None:
    done = project.runpytest_subprocess("-p", "no:cacheprovider", "--lab-jobs", jobs)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: --lab-jobs is from 1 to 64, not {jobs}"])


def test_folder_for_bundles_that_cannot_be_is_told(project: pytest.Pytester) -> None:
    (project.path / "runs").touch()
    done = run(project, "scenarios/small.toml")
    done.assert_outcomes(failed=2)
    assert f"{project.path / 'runs'}: File exists" in done.outlines
    assert "Traceback" not in done.stdout.str()
    assert "lab/bundle" not in done.stdout.str()


def test_run_whose_page_cannot_be_written_is_not_run_again_for_each_variant(project: pytest.Pytester, tmp_path: Path) -> None:
    with_script(project, tmp_path, UNWRITABLE)
    done = run(project, "-m", "scenario")
    done.assert_outcomes(failed=2, deselected=2)
    done.stdout.fnmatch_lines(["*index.html*: Is a directory"])
    assert len(list((project.path / "runs").iterdir())) == 1


def test_interrupted_run_is_told_with_its_bundle(project: pytest.Pytester, tmp_path: Path) -> None:
    with_script(project, tmp_path, INTERRUPTED)
    done = project.runpytest_subprocess("-p", "no:cacheprovider", "--lab-out", "runs", "-m", "scenario")
    assert done.ret == pytest.ExitCode.INTERRUPTED
    done.stdout.fnmatch_lines([f"!* KeyboardInterrupt: what there is of the run: {project.path}/runs/*-small/index.html !*"])


def test_keyword_selects_a_variant(project: pytest.Pytester) -> None:
    run(project, "-m", "scenario", "-k", "apir").assert_outcomes(passed=1, deselected=3)
    (summary,) = (project.path / "runs").glob("*/summary.md")
    assert "apir" in summary.read_text()
    assert "venus" not in summary.read_text()


def test_failure_shows_the_cause_and_the_evidence(project: pytest.Pytester, tmp_path: Path) -> None:
    with_script(project, tmp_path, FAILING)
    result = run(project, "-m", "scenario")
    result.assert_outcomes(failed=2, deselected=2)
    result.stdout.fnmatch_lines(
        [
            "*small/venus: failed*",
            "*case failed (product): ADD(type=f32,ne=[[]1,1,1,1[]]): test failed*",
            "*serial console:*",
            "*the last line of the console*",
            "*logs in *serial.log*",
            "*report: *index.html*",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_what_the_host_cannot_do_is_skipped_with_the_reason(project: pytest.Pytester, tmp_path: Path) -> None:
    with_script(project, tmp_path, UNABLE)
    result = run(project, "-rs", "-m", "scenario or gpu")
    result.assert_outcomes(skipped=3, deselected=1)
    result.stdout.fnmatch_lines(["*nothing at /dev/dri*", "*this host has no opengl: QEMU found no OpenGL*"])


def test_required_capabilities_are_errors_and_run(project: pytest.Pytester, tmp_path: Path) -> None:
    with_script(project, tmp_path, UNABLE)
    run(project, "--require=scenario").assert_outcomes(passed=1, failed=2, deselected=1)
    run(project, "--require=scenario,gpu").assert_outcomes(passed=1, failed=3)


def test_what_needs_nothing_of_the_host_is_skipped_only_where_nothing_is_required(project: pytest.Pytester) -> None:
    file = project.path / "tests" / "test_unmarked.py"
    file.write_text("from lab.errors import HostError\n\ndef test_unmarked():\n    raise HostError('bubblewrap', 'no namespace')\n")
    run(project, "tests/test_unmarked.py").assert_outcomes(skipped=1)
    run(project, "tests/test_unmarked.py", "--require=gpu").assert_outcomes(failed=1)
    run(project, "-m", "gpu", "--require=scenario").assert_outcomes(skipped=1, deselected=4)


def test_unknown_requirement_is_a_usage_error(project: pytest.Pytester) -> None:
    result = run(project, "--require=moon")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--require knows protocol, native, scenario, gpu, not moon*"])


def test_wrong_file_is_told_with_all_its_problems(project: pytest.Pytester) -> None:
    (project.path / "scenarios" / "wrong.toml").write_text('name = "wrong"\ncheks = 1\n')
    result = run(project, "-m", "scenario")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*cheks: unknown key (did you mean checks?)*"])
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


@pytest.mark.parametrize(
    ("words", "outcomes"),
    [
        (("-m", "scenario", "--require=scenario"), {"deselected": 4}),
        (("-m", "not gpu", "--require=scenario"), {"passed": 1, "deselected": 3}),
        (("-m", "nightly"), {"passed": 2, "deselected": 2}),
        (("scenarios/small.toml",), {"passed": 2}),
    ],
)
def test_nightly_scenario_runs_by_its_name_or_marker_alone(
    project: pytest.Pytester, words: tuple[str, ...], outcomes: dict[str, int]
) -> None:
    file = project.path / "scenarios" / "small.toml"
    file.write_text(SCENARIO.replace("\n", "\nnightly = true\n", 1))
    run(project, *words).assert_outcomes(**outcomes)
