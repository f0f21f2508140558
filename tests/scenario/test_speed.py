from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lab.bundle import read_bundle
from lab.bundle.outcome import Outcome
from lab.bundle.schema import SPEED
from lab.bundle.writer import CheckWriter, new_bundle
from lab.errors import ConfigError
from lab.ops.agent_rows import AgentRow
from lab.ops.upstream import Ending, ExpectedCases, RowStream
from lab.scenario.checks.catalog import INTERRUPTED, CatalogRun
from lab.scenario.checks.ops import OpsRun
from lab.scenario.checks.speed import counterparts, judge
from lab.scenario.listener import SilentListener
from lab.scenario.model_catalog import SpeedCheck
from lab.scenario.model_checks import OpsCheck
from lab.scenario.plan import Choice, planned
from lab.scenario.runner import run
from tests.scenario.fakes import HEADER_LINE, OURS, FakePlatform, Script, row
from tests.scenario.test_catalog_check import FakeHost, Step, agent, said

TEXTS = tuple(f"SCALE(type=f32,ne=[{size},10,10,10],scale=2.000000,bias=0.000000,inplace=0)" for size in (1, 2, 3))
CHECK = SpeedCheck(kind="speed", at_least=5.0)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[CheckWriter]:
    with new_bundle(tmp_path, "speed") as bundle:
        yield CheckWriter(bundle, "ops", "venus", "speed")


def upstream(texts: tuple[str, ...] = TEXTS) -> OpsRun:
    run = OpsRun(OpsCheck(kind="ops", ops=("SCALE",)), ExpectedCases(TEXTS), RowStream(OURS.name, lambda _result: None))
    for text in texts:
        run.stream.feed(row(text))
    run.ending = Ending(0)
    return run


def engine(writer: CheckWriter, seconds: float) -> CatalogRun:
    cases = counterparts(TEXTS)
    run = CatalogRun(CHECK.catalog(cases), cases, OURS.name, writer)
    run.rows = {case: AgentRow(case, "computed", "aa") for case in cases}
    run.ending, run.seconds = None, seconds
    return run


def told(writer: CheckWriter) -> list[str]:
    return [f"{finding.kind} [{finding.blame}] {finding.text}" for finding in writer.findings]


def test_quick_enough_passes_and_both_speeds_are_kept(tmp_path: Path, writer: CheckWriter) -> None:
    judge(CHECK, upstream(), 12.0, engine(writer, 2.0), writer)
    assert told(writer) == []
    (lines,) = (path.read_text(encoding="utf-8").splitlines() for path in tmp_path.glob(f"*/{SPEED}"))
    assert lines[1:] == ["ops,venus,test-backend-ops,3,12.0,0.25,1.0", "ops,venus,lab.ops,3,2.0,1.5,6.0"]


def test_too_slow_is_a_finding(writer: CheckWriter) -> None:
    judge(CHECK, upstream(), 12.0, engine(writer, 3.0), writer)
    (text,) = told(writer)
    assert text.startswith("too slow [lab] cases per second of the engine over those of test-backend-ops, 3 cases: 4.00")
    judge(CHECK, upstream(), 12.0, engine(writer, 12 / 4.999), writer)
    assert "3 cases: 4.999 (" in told(writer)[1]


def test_what_cannot_be_compared_is_a_finding(writer: CheckWriter) -> None:
    judge(CHECK, None, 0.0, None, writer)
    judge(CHECK, upstream(TEXTS[:2]), 12.0, engine(writer, 1.0), writer)
    cut = upstream()
    cut.ending = Ending(None, Outcome.HANG, "no result came")
    judge(CHECK, cut, 12.0, engine(writer, 1.0), writer)
    for at_once in ({"processes": 2}, {"jobs": 3}):
        several = replace(upstream(), check=OpsCheck(kind="ops", ops=("SCALE",), **at_once))
        judge(CHECK, several, 12.0, engine(writer, 1.0), writer)
    ended = engine(writer, 1.0)
    ended.ending = INTERRUPTED
    for theirs, ours in ((upstream(), ended), (upstream(), None), (None, engine(writer, 1.0))):
        judge(CHECK, theirs, 12.0, ours, writer)
    assert len(told(writer)) == 8
    assert "test-backend-ops has 3 results, the engine 3 of 3 cases" in told(writer)[5]
    assert "2 processes with 1 threads each, the engine one" in told(writer)[3]
    assert "1 processes with 3 threads each, the engine one" in told(writer)[4]
    assert "has to stand before this one" in told(writer)[0]
    assert "test-backend-ops has 2 results, the engine 3 of 3 cases" in told(writer)[1]


def test_the_engine_is_timed_alone_and_what_it_computes_with_is_proved_afterwards(tmp_path: Path) -> None:
    starts: list[str] = []

    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        starts.append(command)
        yield from agent()(cases, command)

    text = 'name = "small"\n[[checks]]\nkind = "ops"\nops = ["SCALE"]\n[[checks]]\nkind = "speed"\nat_least = 0.001\n'
    (tmp_path / "small.toml").write_text(text)
    lines = (HEADER_LINE, *(row(text) for text in TEXTS))
    script = Script(ops=lines, expected=TEXTS, agent=steps, host=FakeHost())
    platform = FakePlatform(script, tmp_path).platform()
    outcome = run(planned([tmp_path / "small.toml"], Choice()), Choice(), tmp_path / "runs", SilentListener(), platform)
    bundle = read_bundle(outcome.folder)
    assert outcome.record.exit == 0, [finding.text for finding in bundle.findings]
    assert ["--hold" in start for start in starts] == [False, True]
    assert len((outcome.folder / SPEED).read_text(encoding="utf-8").splitlines()) == 3
    assert {case.case for case in bundle.cases if case.check == "speed"} == set(counterparts(TEXTS))
    proved = [fact for fact in bundle.facts if fact.check == "speed" and "mapped in guest program" in fact.name]
    assert [fact.ok for fact in proved] == [True]


def test_a_case_that_both_sides_refuse_is_as_quick_as_it_is_told(tmp_path: Path) -> None:
    refused = counterparts(TEXTS)[0]
    text = 'name = "small"\n[[checks]]\nkind = "ops"\nops = ["SCALE"]\n[[checks]]\nkind = "speed"\nat_least = 0.001\n'
    (tmp_path / "small.toml").write_text(text)
    rows = (row(TEXTS[0], supported="0", error="not supported"), *(row(text) for text in TEXTS[1:]))

    def told(case: str) -> str:
        return said(case, outcome="unsupported", digest="") if case == refused else said(case)

    host = FakeHost(unsupported=frozenset({refused}))
    script = Script(ops=(HEADER_LINE, *rows), expected=TEXTS, refused=frozenset({TEXTS[0]}), agent=agent(told), host=host)
    platform = FakePlatform(script, tmp_path).platform()
    outcome = run(planned([tmp_path / "small.toml"], Choice()), Choice(), tmp_path / "runs", SilentListener(), platform)
    assert [finding.text for finding in read_bundle(outcome.folder).findings] == []


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ("", "no check of kind ops stands before it"),
        ('[[checks]]\nkind = "ops"\nops = ["ADD"]\njobs = 2\n', "the check of kind ops before it computes several cases at once"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_booted(tmp_path: Path, before: str, told: str) -> None:
    path = tmp_path / "small.toml"
    path.write_text(f'name = "small"\n{before}[[checks]]\nkind = "speed"\n[[checks]]\nkind = "ops"\nops = ["ADD"]\n')
    with pytest.raises(ConfigError, match=told):
        planned([path], Choice())
