"""The script that runs a bundle's run again: which files it takes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lab.bundle.reproduce import reproduce_script
from lab.bundle.schema import FileRecord, RunRecord, ScenarioRecord, Status
from lab.elf import sha256


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
