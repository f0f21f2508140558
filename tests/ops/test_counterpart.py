"""The smoke scenario's cases of test-backend-ops and the catalog's: all mapped, to graphs that are the same to the last stride."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from lab import paths
from lab.deadline import Deadline
from lab.host.root import Bind, HostRoot
from lab.ops.catalog import all_cases
from lab.ops.counterpart import NoCounterpart, counterpart
from lab.ops.native import PYTHON, PYTHON_WORDS
from lab.ops.upstream import expected_cases, program_argv
from lab.process import finish
from lab.scenario.file import load
from lab.scenario.model_checks import OpsCheck

GRAPHS: dict[str, str] = json.loads((paths.PROJECT / "tests/data/graphs/smoke.json").read_text(encoding="utf-8"))
RUN_S = 120.0


def test_every_case_has_its_own_counterpart_in_the_catalog() -> None:
    ids = [counterpart(text).id for text in GRAPHS]
    assert len(set(ids)) == len(ids) == 368
    assert set(ids) <= {case.id for case in all_cases()}


@pytest.mark.protocol
def test_the_recorded_cases_are_those_that_the_smoke_scenario_selects(root: HostRoot) -> None:
    checks = load(paths.PROJECT / "scenarios/smoke.toml").checks
    chosen = next(check for check in checks if isinstance(check, OpsCheck))
    argv = root.enter(program_argv("CPU", chosen.selection))
    done = finish(argv, deadline=Deadline.after(RUN_S))
    listed = expected_cases(done.output.splitlines(), done.exit_status).ids
    assert set(listed) == set(GRAPHS)


def signatures(root: HostRoot, ids: list[str], tmp_path: Path) -> dict[str, str]:
    """What our cases build, by id."""
    words = (PYTHON, "tests/ops/graph_signature.py")
    argv = root.enter(words, binds=(Bind(paths.PROJECT), Bind(tmp_path)), env=PYTHON_WORDS, cwd=paths.PROJECT)
    done = subprocess.run(argv, input="\n".join(ids), text=True, capture_output=True, check=True, timeout=RUN_S)
    return dict(line.split("\t") for line in done.stdout.splitlines())


@pytest.mark.protocol
def test_counterparts_are_the_same_graphs(root: HostRoot, tmp_path: Path) -> None:
    built = signatures(root, [counterpart(text).id for text in GRAPHS], tmp_path)
    different = {text: built[counterpart(text).id] for text, graph in GRAPHS.items() if built[counterpart(text).id] != graph}
    assert different == {}


@pytest.mark.protocol
def test_another_parameter_is_another_graph(root: HostRoot, tmp_path: Path) -> None:
    pairs = (("ROPE(dims=32)", "ROPE()"), ("ADD(lb=p1203)", "ADD()"), ("SUM_ROWS(ne=33)", "SUM_ROWS(ne=32)"))
    built = signatures(root, [case for pair in pairs for case in pair], tmp_path)
    assert [pair for pair in pairs if built[pair[0]] == built[pair[1]]] == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("TANH(type=f32)", "TANH is not among"),
        ("SCALE(type=f32,ne=[1,1,1,1],scale=2.0,bias=0.0)", "says nothing of inplace"),
        ("SCALE(type=f32,ne=[1,1,1,1],scale=2.0,bias=0.0,inplace=0,fused=1)", "nothing is known of fused"),
        ("GET_ROWS(type=f32,n=1,m=1,r=1,be1=1,be2=1,v=1,vs0=0,offset_cols=0)", "v is 1, not 0"),
    ],
)
def test_a_case_that_is_not_known_to_the_last_parameter_has_none(text: str, why: str) -> None:
    with pytest.raises(NoCounterpart, match=why):
        counterpart(text)
