"""The script that runs a bundle's run again: which files it takes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from lab.bundle.reproduce import reproduce_script
from lab.bundle.schema import FileRecord, RunRecord, ScenarioRecord, Status
from lab.bundle.writer import new_bundle
from lab.elf import sha256
from lab.errors import ConfigError
from lab.scenario import load
from lab.scenario.book import opened_record, options_anywhere
from lab.scenario.expand import expand
from lab.scenario.plan import Choice, planned
from lab.scenario.source import read_source, rooted_settings, whole_tables
from lab.scenario.toml_text import toml_text
from tests.scenario.test_source import PATHS_OF_CHECKS


def written(folder: Path, text: str, name: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("changed", ["own", "base", "expectations", "list"])
def test_reproduce_script_takes_the_bundles_copy_when_a_file_of_the_scenario_has_changed(tmp_path: Path, changed: str) -> None:
    files = {name: written(tmp_path, name, name) for name in ("own", "base", "expectations", "list")}
    records = {name: FileRecord(path=str(path), sha256=sha256(path)) for name, path in files.items()}
    record = RunRecord(
        run="r", name="n", status=Status.PASSED, started="now",
        scenarios=(
            ScenarioRecord(
                name="own", path=records["own"].path, sha256=records["own"].sha256, copy_path="scenario/own.toml",
                bases=(records["base"],), expectations=records["expectations"], lists=(records["list"],),
            ),
        ),
    )  # fmt: skip
    chosen = reproduce_script(record).partition('cd "$project"\n')[2].partition("exec")[0] + 'echo "$scenario0"\n'

    def taken() -> str:
        return subprocess.run(["sh", "-c", f"bundle=B\n{chosen}"], capture_output=True, text=True, check=True).stdout.strip()

    assert taken() == str(tmp_path / "own")
    written(tmp_path, "changed", changed)
    assert taken() == "B/scenario/own.toml"


def test_reproduce_script_quotes_what_it_was_given(tmp_path: Path) -> None:
    own = written(tmp_path, "own", "it's $HOME.toml")
    record = RunRecord(
        run="r", name="n", status=Status.PASSED, started="now", commit="abc+", options=("-k", "a or $b"),
        scenarios=(ScenarioRecord(name="own", path=str(own), sha256=sha256(own), copy_path="scenario/own.toml"),),
    )  # fmt: skip
    script = reproduce_script(record)
    assert '[ "$now" = abc ]' in script
    chosen = script.partition('cd "$project"\n')[2].replace('exec "$lab"', "printf '%s\\n'")
    told = subprocess.run(["sh", "-euc", chosen, "sh"], capture_output=True, text=True, check=True)
    assert (told.stdout.splitlines(), told.stderr) == (["run", str(own), "-k", "a or $b"], "")


def test_reproduce_script_of_a_benchmark_takes_the_projects_scenario_and_says_when_it_has_changed(tmp_path: Path) -> None:
    sha = sha256(written(tmp_path, "own", "bench"))
    record = RunRecord(
        run="r", name="n", status=Status.PASSED, started="now", command="bench", options=("--part", "calls"),
        scenarios=(ScenarioRecord(name="bench", path=str(tmp_path / "bench"), sha256=sha, copy_path="scenario/bench.toml"),),
    )  # fmt: skip
    script = reproduce_script(record)
    notes, _, command = script.partition('cd "$project"\n')[2].partition("exec ")
    assert command == '"$lab" bench --part calls "$@"\n'

    def noted() -> str:
        return subprocess.run(["sh", "-eu", "-c", notes], capture_output=True, text=True, check=True).stderr.strip()

    assert noted() == ""
    written(tmp_path, "changed", "bench")
    assert noted() == "note: bench: the scenario file has changed since the run"


def test_reproduce_script_takes_a_relative_project_and_ends_where_there_is_none(tmp_path: Path) -> None:
    script = tmp_path / "bundle" / "reproduce.sh"
    script.parent.mkdir()
    script.write_text(reproduce_script(RunRecord(run="r", name="n", status=Status.PASSED, started="now")))
    written_program = tmp_path / "project" / ".venv" / "bin" / "lab"
    for folder in (tmp_path / "project" / "lab", written_program.parent, tmp_path / "elsewhere"):
        folder.mkdir(parents=True)
    (tmp_path / "project" / "lab" / "__init__.py").touch()
    written_program.write_text("#!/bin/sh\npwd\n")
    written_program.chmod(0o755)

    def told(project: str) -> tuple[int, str]:
        environment = {"PATH": "/usr/bin:/bin", "VIRTGPU_LAB_PROJECT": project}
        done = subprocess.run(
            ["sh", str(script)], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=20
        )
        return done.returncode, done.stdout.strip() or done.stderr.splitlines()[-1]

    assert told("project") == told("project/lab") == (0, str(tmp_path / "project"))
    assert told("nowhere") == (2, "VIRTGPU_LAB_PROJECT: there is no folder nowhere")
    assert told("elsewhere") == (2, "no project in or around elsewhere: set VIRTGPU_LAB_PROJECT to its folder")


def test_settings_hold_for_a_copy_elsewhere(tmp_path: Path) -> None:
    for folder in ("far", "elsewhere"):
        (tmp_path / folder).mkdir()
    path = written(tmp_path, f'name = "own"\n{PATHS_OF_CHECKS}', "far/own.toml")
    shutil.copy("/proc/self/exe", tmp_path / "far" / "far.so")
    given = {
        "checks.0.reference=./far.so": f"checks.0.reference={tmp_path}/far/far.so",
        'checks[3].judge.reference="../far/far.so"': f"checks[3].judge.reference={tmp_path}/far/../far/far.so",
        "implementation.guest={ path = 'far.so' }": f'implementation.guest={{ path = "{tmp_path}/far/far.so" }}',
        'matrix."implementation.host"=["builtin", "far.so"]': f'matrix."implementation.host"=["builtin", "{tmp_path}/far/far.so"]',
        "checks[4].parts=['tokens']": "checks[4].parts=['tokens']",
        "guest={ cpus = 2 }": "guest={ cpus = 2 }",
        "host.virglrenderer=plain": "host.virglrenderer=plain",
        "host.environment.X=far.so": "host.environment.X=far.so",
        "variants=[]": "variants=[]",
    }
    source = read_source(path, tuple(given))
    assert rooted_settings(tuple(given), source) == tuple(given.values())
    copy = written(tmp_path, toml_text(whole_tables(source)), "elsewhere/own.toml")
    there, here = expand(read_source(copy, tuple(given.values()))), expand(source)
    assert [one.scenario for one in there] == [one.scenario for one in here]
    with pytest.raises(ConfigError, match=r"there is no file .*elsewhere/far\.so"):
        load(copy, tuple(given))
    overwritten = ("guest.cpus=3", "guest={}", "checks[0].kind=state", "checks=[]")
    assert rooted_settings(overwritten, read_source(path, overwritten)) == overwritten


@pytest.mark.parametrize("settings", [("implementation.guest=../build/lib.so",), ("implementation.guest.path=../build/lib.so",)])
def test_options_of_a_run_hold_for_the_bundles_copy(tmp_path: Path, settings: tuple[str, ...]) -> None:
    for folder in ("build", "runs"):
        (tmp_path / folder).mkdir()
    shutil.copy("/proc/self/exe", tmp_path / "build" / "lib.so")
    path = written(tmp_path / "runs", 'name = "own"\n[[checks]]\nkind = "state"\n', "own.toml")
    choice = Choice(settings)
    with new_bundle(tmp_path / "bundles", "own") as bundle:
        record = opened_record(bundle, planned([path], choice), choice)
    set_, option = record.options
    (entry,) = planned([bundle.folder / record.scenarios[0].copy_path], Choice((option,)))
    assert (set_, entry.scenario.implementation.guest.path) == ("--set", str(tmp_path / "build" / "lib.so"))


def test_settings_that_mean_another_path_for_each_file_stay_as_they_are(tmp_path: Path) -> None:
    choice = Choice(("implementation.guest=lib.so", "guest.cpus=1"))
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        shutil.copy("/proc/self/exe", tmp_path / folder / "lib.so")
        written(tmp_path / folder, f'name = "{folder}"\n[[checks]]\nkind = "state"\n', "own.toml")
    both = planned([tmp_path / "a", tmp_path / "b"], choice)
    assert options_anywhere(both, choice) == choice.words
    assert options_anywhere(both[:1], choice) == ("--set", f"implementation.guest={tmp_path}/a/lib.so", "--set", "guest.cpus=1")
