"""The catalog's check over a fake guest: each way in which a case, a program or a guest can end has its class and its case."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lab.bundle import Bundle, read_bundle
from lab.bundle.outcome import FindingKind
from lab.deadline import Deadline, poll
from lab.errors import LabError
from lab.ops.agent_rows import AgentRow
from lab.ops.catalog import all_cases, drawn_share
from lab.ops.native import Files, Judged
from lab.ops.session import Reference
from lab.ops.verdict import EXCUSES
from lab.scenario.checks.catalog import chosen_cases
from lab.scenario.listener import SilentListener
from lab.scenario.model_catalog import CatalogCheck
from lab.scenario.plan import Choice, planned
from lab.scenario.runner import run
from tests.scenario.fakes import OURS, REFERENCE, FakePlatform, Script, die

CASES = ("ADD()", "MUL()", "SUB()", "SCALE(x=2.0)")
SCENARIO = """\
name = "small"
timeout_s = 60
[[checks]]
kind = "catalog"
cases = ["ADD()", "MUL()", "SUB()", "SCALE(x=2.0)"]
min_cases = 4
deadline_s = 20
case_deadline_s = 5
"""
GOOD = Judged(True, "NMSE 0", True, "NMSE 0")
WRONG = Judged(False, "NMSE 0.5, the first at [3, 0, 0, 0]", False, "NMSE 0.5")


@dataclass
class FakeHost:
    """Knows what every case must be; what was fetched is judged as it is told to."""

    unsupported: frozenset[str] = frozenset()
    wrong: frozenset[str] = frozenset()
    fetched: Judged = WRONG
    asked: list[tuple[str, ...]] = field(default_factory=list)
    computed: list[tuple[str, ...]] = field(default_factory=list)

    def reference(self, cases: Sequence[str], deadline: Deadline) -> Reference:
        assert not deadline.expired
        self.computed.append(tuple(cases))
        rows = {case: native_row(case, supported=case not in self.unsupported) for case in cases}
        return Reference(REFERENCE, rows, {case: WRONG if case in self.wrong else GOOD for case in cases})

    def judge(self, fetched: Files, cases: Sequence[str], deadline: Deadline) -> Mapping[str, Judged]:
        assert fetched.values.exists()
        assert not deadline.expired
        self.asked.append(tuple(cases))
        return dict.fromkeys(cases, self.fetched)

    def parcel(self, deadline: Deadline) -> bytes:
        assert not deadline.expired
        return b"a program"


def native_row(case: str, *, supported: bool = True) -> AgentRow:
    return AgentRow(case, "computed", f"digest of {case}") if supported else AgentRow(case, "unsupported")


Step = str | Callable[[], None]


def said(case: str, **changed: Any) -> str:
    row = {"case": case, "outcome": "computed", "digest": f"digest of {case}", "ns": 1000, "batch": 1, **changed}
    return json.dumps(row) + "\n"


def opening(device: dict[str, Any] | None = None) -> str:
    facts = device or asdict(OURS)
    return json.dumps({"device": facts, "pid": 7, "others": [asdict(REFERENCE), facts]}) + "\n"


END = json.dumps({"end": {"cases": 4, "batches": 1, "seconds": 0.1}}) + "\n"


def agent(rows: Callable[[str], Step] = said, killers: Iterable[str] = (), death: Sequence[Step] = ()):  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Tells a row for every case; a batch with a killer among it ends in ``death`` before its rows."""

    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        batch = int(re.search(r"--batch (\d+)", command)[1])  # type: ignore[index]
        yield opening()
        for start in range(0, len(cases), batch):
            together = cases[start : start + batch]
            if set(killers) & set(together):
                yield from death
                return
            yield from (rows(case) for case in together)
        yield END

    return steps


Running = Callable[..., Bundle]


@pytest.fixture
def running(tmp_path: Path) -> Running:
    def run_script(script: Script, text: str = SCENARIO) -> Bundle:
        path = tmp_path / "small.toml"
        path.write_text(text)
        fake = FakePlatform(script, tmp_path)
        script.host = script.host or FakeHost()
        outcome = run(planned([path], Choice()), Choice(), tmp_path / "runs", SilentListener(), fake.platform())
        return read_bundle(outcome.folder)

    return run_script


def outcomes(bundle: Bundle) -> dict[str, str]:
    return {case.case: case.outcome for case in bundle.cases}


def texts(bundle: Bundle) -> str:
    return "\n".join(f"{row.finding} [{row.blame}] {row.text}" for row in bundle.findings)


def test_a_run_passes_and_leaves_digests_and_a_truth_table(running: Running) -> None:
    bundle = running(Script(agent=agent()))
    assert bundle.run.exit == 0, texts(bundle)
    assert outcomes(bundle) == dict.fromkeys(CASES, "pass")
    assert {case.case: case.digest for case in bundle.cases} == {case: f"digest of {case}" for case in CASES}
    assert {(row.case, row.native, row.remote, row.agree) for row in bundle.support} == {
        (case, "yes", "yes", True) for case in CASES
    }
    (record,) = bundle.run.variants
    assert record.reference is not None
    assert (record.reference.side, record.expected_cases, record.cases.ok) == ("host", 4, 4)
    assert all(fact.ok for fact in bundle.facts)
    assert any("mapped in guest program" in fact.name for fact in bundle.facts)


def test_a_wrong_digest_is_fetched_judged_and_fails(running: Running) -> None:
    host = FakeHost()

    def rows(case: str) -> str:
        return said(case, digest="other") if case == "SUB()" else said(case)

    bundle = running(Script(agent=agent(rows), host=host))
    assert bundle.run.exit == 1
    assert host.asked == [("SUB()",)]
    (failed,) = (case for case in bundle.cases if case.outcome == "fail")
    assert failed.case == "SUB()"
    assert "other bits than the host library's own (other for digest of SUB()); run again: the same wrong bits" in failed.message
    assert "the first at [3, 0, 0, 0]" in failed.message
    assert "case failed [product] SUB()" in texts(bundle)


def denied(case: str) -> str:
    return said(case, outcome="unsupported", digest="") if case == "MUL()" else said(case)


@pytest.mark.parametrize(("host", "rows"), [
    pytest.param(FakeHost(), denied, id="denied"),
    pytest.param(FakeHost(unsupported=frozenset({"MUL()"})), said, id="claimed"),
])  # fmt: skip
def test_support_that_one_side_alone_claims_fails_once(running: Running, host: FakeHost, rows: Callable[[str], str]) -> None:
    bundle = running(Script(agent=agent(rows), host=host))
    assert bundle.run.exit == 1
    assert outcomes(bundle)["MUL()"] == "fail"
    assert [(row.finding, row.case) for row in bundle.findings] == [("lost support", "MUL()")]
    assert [row.case for row in bundle.support if not row.agree] == ["MUL()"]


def test_a_library_that_is_wrong_natively_too_fails(running: Running) -> None:
    bundle = running(Script(agent=agent(), host=FakeHost(wrong=frozenset({"ADD()"}))))
    assert outcomes(bundle)["ADD()"] == "fail"
    assert "golden: NMSE 0.5" in texts(bundle)


def test_an_excuse_is_told_with_its_reason(running: Running) -> None:
    case = EXCUSES[0].case
    text = SCENARIO.replace('"ADD()"', f'"{case}"')
    bundle = running(Script(agent=agent(), host=FakeHost(wrong=frozenset({case}))), text)
    assert bundle.run.exit == 0
    assert EXCUSES[0].reason in next(row.message for row in bundle.cases if row.case == case)


def test_a_case_that_kills_the_program_is_a_guest_crash_and_the_others_go_on(running: Running) -> None:
    script = Script(agent=agent(killers=("SUB()",), death=("Segmentation fault\n",)), agent_status=139)
    bundle = running(script)
    assert outcomes(bundle) == {**dict.fromkeys(CASES, "pass"), "SUB()": "guest crash"}
    assert "interrupted [product] guest crash: SUB(): the program was ended by signal 11; it said: Segmentation fault" in texts(
        bundle
    )


def test_a_case_that_ends_the_worker_is_a_host_crash(running: Running) -> None:
    script = Script(agent_status=3)
    lost = json.dumps({"lost": "the device computes nothing any more: graph_compute failed"}) + "\n"

    def come() -> None:
        script.workers = (*script.workers, 5000 + len(script.workers))

    def go() -> None:
        script.workers = script.workers[:-1]

    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        yield come
        yield from agent(killers=("SUB()",), death=(go, lost))(cases, command)

    script.agent = steps
    bundle = running(script)
    assert outcomes(bundle) == {**dict.fromkeys(CASES, "pass"), "SUB()": "host crash"}
    assert re.search(r"host crash: SUB\(\): worker 5\d+ is gone; the device computes nothing any more", texts(bundle))


def test_a_worker_that_is_gone_when_it_is_looked_at_leaves_the_proof_to_the_next_start(running: Running) -> None:
    script, starts = Script(agent_status=3), []
    lost = json.dumps({"lost": "the device computes nothing any more"}) + "\n"

    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        starts.append(cases)
        script.workers = () if len(starts) == 1 else (5000,)
        yield from agent(killers=("SUB()",), death=(lost,))(cases, command)

    script.agent = steps
    bundle = running(script)
    assert len(starts) > 1
    assert {fact.ok for fact in bundle.facts if "mapped in worker" in fact.name} == {True}
    assert FindingKind.WRONG_LIBRARY not in {row.finding for row in bundle.findings}


def test_a_worker_that_ends_before_it_is_looked_at_is_a_host_crash_where_programs_have_workers(running: Running) -> None:
    script, starts = Script(agent_status=3), []
    lost = json.dumps({"lost": "the device computes nothing any more"}) + "\n"

    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        starts.append(cases)
        script.workers = () if "SUB()" in cases else (5000 + len(starts),)
        yield from agent(killers=("SUB()",), death=(lost,))(cases, command)

    script.agent = steps
    bundle = running(script)
    assert outcomes(bundle) == {**dict.fromkeys(CASES, "pass"), "SUB()": "host crash"}
    assert "host crash: SUB(): the worker is gone, which nobody has seen; the device computes nothing any more" in texts(bundle)


def test_a_check_without_any_worker_proves_nothing(running: Running) -> None:
    bundle = running(Script(agent=agent(), workers=()))
    assert bundle.run.exit == 2
    assert "no start of the program, with its worker, lived long enough to prove which libraries computed" in texts(bundle)
    assert not [fact for fact in bundle.facts if "mapped in worker" in fact.name]


def test_a_device_that_is_lost_although_its_worker_lives_fails_the_case(running: Running) -> None:
    script = Script(agent_status=3)
    lost = json.dumps({"lost": "nothing any more"}) + "\n"

    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        script.workers = (*script.workers, 5000 + len(script.workers))
        yield from agent(killers=("MUL()",), death=(lost,))(cases, command)

    script.agent = steps
    bundle = running(script)
    assert outcomes(bundle)["MUL()"] == "fail"
    assert "the worker is alive; nothing any more" in texts(bundle)


def test_nothing_is_said_of_a_worker_that_nobody_saw(running: Running) -> None:
    lost = json.dumps({"lost": "nothing any more"}) + "\n"
    bundle = running(Script(agent=agent(killers=("MUL()",), death=(lost,)), agent_status=3, workers=()))
    assert outcomes(bundle)["MUL()"] == "fail"
    assert "no worker was seen when the program had begun; nothing any more" in texts(bundle)


def test_time_of_the_boot_that_is_over_is_no_hang_of_a_case(running: Running) -> None:
    def late() -> None:
        poll("what does not come", lambda: None, Deadline.after(0.5))

    bundle = running(Script(agent=agent(killers=("SUB()",), death=(late,))), SCENARIO.replace("timeout_s = 60", "timeout_s = 0.5"))
    assert bundle.run.exit == 2
    assert set(outcomes(bundle).values()) <= {"pass", "lab error"}
    assert "lab error: the scenario's timeout_s (0.5 s for one boot and all that is checked in it) was over" in texts(bundle)


def test_silence_is_a_hang_of_the_case_that_was_running(running: Running) -> None:
    script = Script(agent_status=137)

    def wait() -> None:
        before = len(script.killed)
        limit = Deadline.after(10)
        while len(script.killed) == before:
            limit.require("the program being ended")

    script.agent = agent(killers=("SUB()",), death=(wait,))
    bundle = running(script, SCENARIO.replace("case_deadline_s = 5", "case_deadline_s = 0.3"))
    assert outcomes(bundle) == {**dict.fromkeys(CASES, "pass"), "SUB()": "hang"}
    assert "hang: SUB(): no result came for 0 s" in texts(bundle)
    assert "kill -KILL 7" in script.killed


def test_an_end_that_does_not_come_again_one_by_one_is_a_finding(running: Running) -> None:
    starts: list[str] = []

    def once(cases: Sequence[str], command: str) -> Iterable[Step]:
        starts.append(command)
        yield from agent(killers=("SUB()",) if len(starts) == 1 else (), death=("Aborted\n",))(cases, command)

    bundle = running(Script(agent=once, agent_status=134))
    assert outcomes(bundle) == dict.fromkeys(CASES, "pass")
    assert bundle.run.exit == 1
    assert "it happened in one of 4 cases from ADD() on, and not again one by one" in texts(bundle)


BREAKPOINT = "kernel oops: [ 2.0] Oops: int3: 0000 [#1] PREEMPT SMP"


@pytest.mark.parametrize(("reason", "blame"), [("QEMU ended with exit status -11", "product"), (BREAKPOINT, "lab")])
def test_a_lost_guest_names_the_case_that_was_next(running: Running, reason: str, blame: str) -> None:
    script, outcome = Script(), "host crash" if reason.startswith("QEMU") else "guest crash"

    def steps(_cases: Sequence[str], _command: str) -> Iterable[Step]:
        yield opening()
        yield said("ADD()")
        yield die(script, reason)

    script.agent = steps
    bundle = running(script)
    assert outcomes(bundle) == {"ADD()": "pass", "MUL()": outcome}
    assert f"interrupted [{blame}] {outcome}: {reason}; the first case without a result is" in texts(bundle)
    assert f"interrupted [{blame}] {outcome}: MUL(): {reason}" in texts(bundle)
    assert bundle.run.exit == (1 if blame == "product" else 2)


def test_a_lost_case_is_a_finding(running: Running) -> None:
    def steps(cases: Sequence[str], command: str) -> Iterable[Step]:
        yield from (step for step in agent()(cases, command) if step != said("SUB()"))

    bundle = running(Script(agent=steps))
    assert bundle.run.exit == 1
    assert "missing case [product]" in texts(bundle)
    assert "too few cases [product] 3 cases were computed, at least 4 were asked for" in texts(bundle)


def test_everything_unsupported_is_no_pass(running: Running) -> None:
    rows = agent(lambda case: said(case, outcome="unsupported", digest=""))
    bundle = running(Script(agent=rows, host=FakeHost(unsupported=frozenset(CASES))))
    assert bundle.run.exit == 1
    assert "all unsupported [product]" in texts(bundle)


def test_a_refused_case_does_not_count_as_computed(running: Running) -> None:
    bundle = running(Script(agent=agent(denied), host=FakeHost(unsupported=frozenset({"MUL()"}))))
    assert outcomes(bundle)["MUL()"] == "unsupported"
    assert texts(bundle) == "too few cases [product] 3 cases were computed, at least 4 were asked for"


def test_a_program_on_another_device_proves_nothing(running: Running) -> None:
    def steps(_cases: Sequence[str], _command: str) -> Iterable[Step]:
        yield opening(asdict(REFERENCE))

    bundle = running(Script(agent=steps))
    assert bundle.run.exit == 1
    assert "no such device [product] cases were computed by 'CPU' of registry CPU, not ggml-virtgpu" in texts(bundle)
    assert bundle.cases == ()


def test_a_host_without_a_reference_is_the_labs_error(running: Running) -> None:
    class Broken(FakeHost):
        def reference(self, cases: Sequence[str], deadline: Deadline) -> Reference:
            raise LabError(f"no backend library for {len(cases)} cases in {deadline.remaining_s:.0f} s")

    bundle = running(Script(agent=agent(), host=Broken()))
    assert bundle.run.exit == 2
    assert "no backend library for 4 cases" in texts(bundle)
    assert "lab error: there was nothing to compare with; the first case without a result is ADD()" in texts(bundle)
    assert "the lab was interrupted" not in texts(bundle)


def test_a_share_is_drawn_by_the_seed_and_patterns_choose() -> None:
    check = CatalogCheck(kind="catalog", share=0.1, seed=3)
    assert chosen_cases(check) == drawn_share(all_cases(), 3, 0.1)
    some = chosen_cases(CatalogCheck(kind="catalog", ops=("ADD", "MUL"), include=("type=f16",), exclude=("layout",)))
    assert {case.op for case in some} == {"ADD", "MUL"}
    assert all("type=f16" in case.id and "layout" not in case.id for case in some)


def test_an_operation_without_cases_is_told(running: Running) -> None:
    text = SCENARIO.replace(
        'cases = ["ADD()", "MUL()", "SUB()", "SCALE(x=2.0)"]', 'ops = ["ADD", "MUL"]\ninclude = ["^ADD\\\\(\\\\)$"]'
    )
    bundle = running(Script(agent=agent()), text.replace("min_cases = 4", "min_cases = 1"))
    assert "op without cases [lab] no case of MUL was chosen" in texts(bundle)
    assert outcomes(bundle) == {"ADD()": "pass"}
