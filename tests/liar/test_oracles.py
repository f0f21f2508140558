"""Each lie through our host library, and the oracle that catches it; the honest liar is believed by all of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lab.bundle.outcome import FindingKind, Outcome
from lab.deadline import Deadline
from lab.errors import HostError
from lab.host.native import native_payloads
from lab.host.progress import SilentProgress
from lab.host.root import cached_host_root
from lab.ops.agent_rows import AgentFailed
from lab.ops.catalog import all_cases, cases_of
from lab.ops.session import MAX_FETCHED
from lab.ops.verdict import EXCUSES
from tests.liar.trial import OTHER, Known, Trial, Verdict

pytestmark = pytest.mark.native

BUILD_S = 1500.0
OPERATIONS = tuple(dict.fromkeys(case.op for case in all_cases()))
EXCUSED = {excuse.case for excuse in EXCUSES}
ONE_OF_EACH = tuple(next(case.id for case in cases_of(op) if case.id not in EXCUSED) for op in OPERATIONS)
ADD, PRODUCT, TWICE = "ADD()", "MUL_MAT(n=4)", "ADD(b=10,rounds=2)"
NEVER = "CPY(type=iq1_s,to=iq1_s,ne=256x4)"
"""No CPU backend copies this one."""
CASES = (ADD, PRODUCT, TWICE, NEVER, "ROPE(dims=32)", "MUL(a=1,b=1)", "ARGSORT(ne=16x10)")
CAUGHT_BY = {"transparency": "other bits than", "golden": "golden: ", "NMSE": "against another build"}


def heard(message: str) -> set[str]:
    """The oracles that have something to say."""
    return {oracle for oracle, words in CAUGHT_BY.items() if words in message}


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    root = cached_host_root()
    if root is None:
        raise HostError("host root", "it is not in the cache", hint="lab setup")
    return Trial(root, native_payloads(root, SilentProgress(), Deadline.after(BUILD_S)), tmp_path_factory.mktemp("trial"))


@pytest.fixture(scope="module")
def known(trial: Trial) -> Known:
    return trial.known(tuple(dict.fromkeys((*CASES, *ONE_OF_EACH))))


def only(verdict: Verdict, *cases: str) -> None:
    """These cases failed, all others passed, and the liar did lie."""
    assert verdict.failed - {NEVER} == set(cases)
    assert any("lies about" in line for line in verdict.told.said)


def test_honest_liar_is_believed(trial: Trial, known: Known) -> None:
    verdict = trial.verdict("honest", tuple(dict.fromkeys((*CASES, *ONE_OF_EACH))), known)
    assert verdict.failed == {NEVER}
    assert verdict.cases[NEVER].outcome is Outcome.UNSUPPORTED
    assert verdict.findings == ()
    assert verdict.told.said == []


def test_wrong_element_of_any_operation_is_caught_by_every_oracle(trial: Trial, known: Known) -> None:
    with_golden = {case for case, said in known.judged.items() if said.golden_ok is not None}
    assert len(ONE_OF_EACH) >= 109
    assert len(with_golden) >= 100
    for part in (ONE_OF_EACH[:MAX_FETCHED], ONE_OF_EACH[MAX_FETCHED:]):
        verdict = trial.verdict("wrong:element=last", part, known)
        assert verdict.failed == set(part)
        for case in part:
            assert heard(verdict.message(case)) == set(CAUGHT_BY) - (set() if case in with_golden else {"golden"})


def test_more_wrong_results_than_are_fetched_fail_all_the_same(trial: Trial, known: Known) -> None:
    assert len(ONE_OF_EACH) > MAX_FETCHED
    verdict = trial.verdict("wrong", ONE_OF_EACH, known)
    assert verdict.failed == set(ONE_OF_EACH)


def test_operation_that_is_wrong_altogether_is_caught(trial: Trial, known: Known) -> None:
    verdict = trial.verdict("wrong:op=MUL_MAT", CASES, known)
    only(verdict, PRODUCT)
    assert heard(verdict.message(PRODUCT)) == {"transparency", "golden", "NMSE"}
    assert "elements beyond their bound, the first at [0, 0, 0, 0]" in verdict.message(PRODUCT)


def test_lowest_bit_is_caught_by_transparency_alone(trial: Trial, known: Known) -> None:
    verdict = trial.verdict("flip:op=ADD,bit=0,element=17", CASES, known)
    only(verdict, ADD, TWICE)
    assert heard(verdict.message(ADD)) == {"transparency"}
    assert verdict.evidence.fetched[ADD].against_ok is True
    assert "1 ULP" in verdict.evidence.fetched[ADD].against


def test_lowest_bit_of_any_operation_is_caught(trial: Trial, known: Known) -> None:
    verdict = trial.verdict("flip:bit=0,element=last", ONE_OF_EACH, known)
    assert verdict.failed == set(ONE_OF_EACH)


def test_highest_bit_is_caught_by_every_oracle(trial: Trial, known: Known) -> None:
    verdict = trial.verdict("flip:op=ADD,bit=30,nth=1", (ADD,), known)
    only(verdict, ADD)
    assert heard(verdict.message(ADD)) == {"transparency", "golden", "NMSE"}


def test_only_the_nth_result_is_reported(trial: Trial, known: Known) -> None:
    some = ("MUL(a=1,b=1)", TWICE, ADD)
    verdict = trial.verdict("wrong:op=ADD,nth=2", some, known)
    only(verdict, TWICE)


def test_lie_that_is_told_natively_too_is_caught_by_the_others(trial: Trial) -> None:
    lies = "wrong:op=MUL_MAT,element=3;wrong:op=ROPE"
    known = trial.known(CASES, own=str(trial.payloads.liar), lies=lies)
    verdict = trial.verdict(lies, CASES, known)
    only(verdict, PRODUCT, "ROPE(dims=32)")
    assert all(heard(verdict.message(case)) == {"golden", "NMSE"} for case in (PRODUCT, "ROPE(dims=32)"))
    assert "the first at [3, 0, 0, 0]" in verdict.message(PRODUCT)


def test_lie_that_everybody_tells_is_caught_by_the_golden(trial: Trial) -> None:
    liar, lies = str(trial.payloads.liar), "wrong:op=ADD,element=0"
    verdict = trial.verdict(lies, CASES, trial.known(CASES, own=liar, other=liar, lies=lies))
    only(verdict, ADD, TWICE)
    assert heard(verdict.message(ADD)) == {"golden"}


def test_lie_that_the_native_library_alone_tells_is_no_pass(trial: Trial) -> None:
    known = trial.known(CASES, own=str(trial.payloads.liar), other=OTHER, lies="flip:op=ADD,bit=0")
    verdict = trial.verdict("honest", CASES, known)
    assert verdict.failed - {NEVER} == {ADD, TWICE}


def test_denied_support_is_lost_support_and_no_mere_lack(trial: Trial, known: Known) -> None:
    verdict = trial.verdict("deny:op=ROPE", CASES, known)
    only(verdict, "ROPE(dims=32)")
    assert verdict.cases["ROPE(dims=32)"].outcome is Outcome.FAIL
    (finding,) = verdict.findings
    assert (finding.kind, finding.case) == (FindingKind.LOST_SUPPORT, "ROPE(dims=32)")
    assert "the host library computes it, the remote device refuses it" in finding.text


def test_claimed_support_is_a_finding(trial: Trial, known: Known) -> None:
    verdict = trial.verdict("claim:op=CPY", CASES, known)
    assert verdict.cases[NEVER].outcome is Outcome.FAIL
    (finding,) = verdict.findings
    assert (finding.kind, finding.case) == (FindingKind.LOST_SUPPORT, NEVER)
    assert "the host library refuses it, the remote device computes it" in finding.text


@pytest.mark.parametrize("lies", ["stale:op=ADD", "stale:op=ADD,nth=2"])
def test_result_that_was_never_computed_is_not_taken_for_the_one_before(trial: Trial, known: Known, lies: str) -> None:
    verdict = trial.verdict(lies, (TWICE,), known)
    only(verdict, TWICE)
    assert heard(verdict.message(TWICE)) == {"transparency", "golden", "NMSE"}


@pytest.mark.parametrize(
    ("kind", "ops"),
    [
        ("cache", ("SET_ROWS", "GET_ROWS")),
        ("mlp", ("RMS_NORM", "MUL", "MUL_MAT", "SWIGLU", "ADD")),
        ("attention", ("MUL_MAT", "SOFT_MAX", "CONT")),
        ("views", ("SCALE", "MUL", "CONT", "CONCAT")),
    ],
)
def test_operation_in_the_middle_of_a_graph_that_is_not_computed_is_caught(trial: Trial, kind: str, ops: Sequence[str]) -> None:
    cases = [case.id for case in cases_of("GRAPH") if f"kind={kind}," in case.id]
    known = trial.known(cases)
    for op in ops:
        assert trial.verdict(f"stale:op={op}", cases, known).failed == set(cases)


def test_lie_that_is_told_once_is_not_forgotten_when_the_result_is_fetched(trial: Trial, known: Known) -> None:
    verdict = trial.verdict(f"wrong:op=MUL_MAT,once={trial.folder / 'mark'}", CASES, known)
    only(verdict, PRODUCT)
    assert heard(verdict.message(PRODUCT)) == {"transparency"}
    assert verdict.evidence.fetched[PRODUCT].golden_ok is True


def test_failed_graph_fails_the_case_and_no_other(trial: Trial, known: Known) -> None:
    verdict = trial.verdict("fail:op=MUL_MAT", CASES, known)
    only(verdict, PRODUCT)
    assert verdict.cases[PRODUCT].outcome is Outcome.FAIL
    assert "the remote device failed: " in verdict.message(PRODUCT)


@pytest.mark.parametrize(("lies", "outcome"), [("hang:op=MUL_MAT", Outcome.HANG), ("crash:op=MUL_MAT", Outcome.HOST_CRASH)])
def test_end_of_the_host_library_has_its_class_and_its_case(trial: Trial, known: Known, lies: str, outcome: Outcome) -> None:
    verdict = trial.verdict(lies, CASES, known)
    only(verdict, PRODUCT)
    assert verdict.cases[PRODUCT].outcome is outcome
    assert verdict.findings == ()


def test_malformed_configuration_is_the_labs_error_and_names_itself(trial: Trial, known: Known) -> None:
    with pytest.raises(AgentFailed, match="the agent did not start: ") as caught:
        trial.verdict("flop:bit=1", CASES, known)
    assert "GGML_LIAR: 'flop:bit=1': there is no lie 'flop'" in str(caught.value)
