from __future__ import annotations

import json

import pytest
import typer

from lab.bundle.outcome import Outcome
from lab.cli import cases
from lab.cli.cases import answer_cases, case_again
from lab.ops.verdict import Evidence

NOTHING = Evidence("CPU", {}, {}, {}, {})


def test_case_that_the_program_did_not_tell_of_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cases, "computed_again", lambda asked, *_: tuple(case_again(case, NOTHING) for case in asked))
    with pytest.raises(typer.Exit) as ended:
        answer_cases(["ADD()"], 1, "cpu", as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert (ended.value.exit_code, told["exit"]) == (1, 1)
    assert [(one["case"], one["outcome"]) for one in told["results"]] == [("ADD()", Outcome.ERROR)]
