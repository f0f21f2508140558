from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from lab.bundle.outcome import Outcome
from lab.cli import cases
from lab.cli.cases import answer_cases, case_again, computed_again
from lab.errors import BuildError, ConfigError
from lab.host.progress import SilentProgress
from lab.host.root import HostRoot
from lab.ops.agent_rows import AgentRow
from lab.ops.result import COMPUTED, ERROR
from lab.ops.verdict import Evidence
from tests.lacking import LACKED, lacking_library

FAILED = Evidence("CPU", {"SUB()": AgentRow("SUB()", COMPUTED, "ab")}, {"SUB()": AgentRow("SUB()", ERROR)}, {}, {})


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ({"ADD()": Outcome.ERROR}, 2),
        ({"SUB()": Outcome.FAIL}, 1),
        ({"ADD()": Outcome.ERROR, "SUB()": Outcome.FAIL}, 1),
    ],
    ids=["told nothing of", "failed", "both"],
)
def test_case_that_is_not_as_it_must_be_is_no_success_and_has_the_status_of_whose_fault_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], outcomes: dict[str, Outcome], status: int
) -> None:
    monkeypatch.setattr(cases, "computed_again", lambda asked, *_: tuple(case_again(case, FAILED) for case in asked))
    with pytest.raises(typer.Exit) as ended:
        answer_cases(list(outcomes), 1, "cpu", as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (ended.value.exit_code, told["exit"]) == (status, status)
    assert {one["case"]: one["outcome"] for one in told["results"]} == outcomes


@pytest.mark.parametrize(
    ("native", "remote", "told"),
    [("ab", "ab", "the same bits (ab)"), ("ab", "cd", "cd for ab"), ("ab", "", "none for ab"), ("", "", "nothing was computed")],
)
def test_bits_that_there_are_none_of_are_not_the_same(native: str, remote: str, told: str) -> None:
    def rows(digest: str) -> dict[str, AgentRow]:
        return {"ADD()": AgentRow("ADD()", COMPUTED if digest else ERROR, digest)}

    again = case_again("ADD()", Evidence("CPU", rows(native), rows(remote), {}, {}))
    assert again.as_json()["transparency"] == told


@pytest.mark.protocol
def test_library_that_cannot_be_computed_with_is_told_with_its_option(root: HostRoot, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"none\.so cannot be used: No such file or directory\n.*--library names it"):
        computed_again(["ADD(a=1,b=1)"], 1, str(tmp_path / "none.so"), SilentProgress())
    library = lacking_library(root, tmp_path)
    with pytest.raises(ConfigError, match=f"lab ops: --library: {library} needs {LACKED}, which neither the host root"):
        computed_again(["ADD(a=1,b=1)"], 1, str(library), SilentProgress())
