from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lab.bundle import read_bundle
from lab.bundle.schema import RunRecord, Status
from lab.cli.app import app
from lab.scenario.plan import Choice
from lab.scenario.runner import RunOutcome
from tests.reports.realistic import write_bundle
from tests.scenario.fakes import SCENARIO


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/there/index.html"), "No space left"),
        (KeyboardInterrupt(), "interrupted"),
    ],
    ids=["full disk", "interrupted"],
)
@pytest.mark.parametrize("command", ["run", "bench", "trace record"])
def test_run_whose_page_is_not_written_is_not_lost(
    command: str, error: BaseException, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.toml").write_text(SCENARIO)
    record = RunRecord.model_construct(run="the-run", status=Status.PASSED, exit=0, variants=())

    def nothing_written(_folder: Path) -> Path:
        raise error

    for module in ("app", "trace"):
        monkeypatch.setattr(f"lab.cli.{module}.run", lambda *_, **__: RunOutcome(tmp_path / "the-run", record))
    monkeypatch.setattr("lab.cli.page.rendered_report", nothing_written)
    files = [] if command == "bench" else [str(tmp_path / "small.toml")]
    ended = CliRunner().invoke(app, [*command.split(), *files, "--json"])
    answer = json.loads(ended.stdout)
    assert ended.exit_code == answer["exit"] == 2
    assert told in answer["error"]
    assert (answer["run"], answer["dir"]) == ("the-run", str(tmp_path / "the-run"))
    assert f"the run is in {tmp_path / 'the-run'}, without its page: lab report" in ended.stderr


@pytest.mark.parametrize("command", ["run", "bench", "trace record"])
def test_what_a_run_found_is_told(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.toml").write_text(SCENARIO)
    folder = write_bundle(tmp_path, failing=True)
    for module in ("app", "trace"):
        monkeypatch.setattr(f"lab.cli.{module}.run", lambda *_, **__: RunOutcome(folder, read_bundle(folder).run))
    files = [] if command == "bench" else [str(tmp_path / "small.toml")]
    ended = CliRunner().invoke(app, [*command.split(), *files])
    assert ended.exit_code == 1
    assert "calls differ: guest pid 300 sent 6303 commands" in ended.stdout


def test_a_recording_of_nothing_ends_with_one_line_that_names_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.toml").write_text(SCENARIO)
    folder = write_bundle(tmp_path, failing=False)
    monkeypatch.setattr("lab.cli.trace.run", lambda *_, **__: RunOutcome(folder, read_bundle(folder).run))
    ended = CliRunner().invoke(app, ["trace", "record", str(tmp_path / "small.toml"), "--json"])
    (line,) = [json.loads(text) for text in ended.stdout.splitlines() if text.startswith("{")]
    assert (ended.exit_code, line["exit"]) == (2, 2)
    assert (line["dir"], line["traces"]) == (str(folder), [])
    assert "nothing was recorded" in line["error"]


def test_nobody_can_ask_for_a_recording_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.toml").write_text(SCENARIO)
    folder = write_bundle(tmp_path, failing=False)
    asked: list[Choice] = []

    def noted(_plan: object, choice: Choice, *_: object) -> RunOutcome:
        asked.append(choice)
        return RunOutcome(folder, read_bundle(folder).run)

    monkeypatch.setattr("lab.cli.trace.run", noted)
    words = ["--set", "host.trace=false", "--set", "guest.cpus=1"]
    CliRunner().invoke(app, ["trace", "record", str(tmp_path / "small.toml"), *words])
    (choice,) = asked
    assert choice.settings == ("host.trace=false", "guest.cpus=1", "host.trace=true"), "the last one holds"
