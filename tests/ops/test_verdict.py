from __future__ import annotations

from dataclasses import replace

import pytest

from lab.bundle.outcome import FindingKind, Outcome
from lab.ggml.registry import Device
from lab.ops.agent_rows import LOST, AgentRow
from lab.ops.native import Judged
from lab.ops.verdict import EXCUSES, Evidence, findings, refused_reference, results, to_fetch, truth_table

CASE = "ADD(type=f16)"
GOOD = Judged(True, "NMSE 0", True, "NMSE 0")
WRONG_GOLDEN = Judged(True, "NMSE 0", False, "NMSE 0.5, first at [3, 0, 0, 0]")
WRONG_ERROR = Judged(False, "NMSE 0.5", None, "no definition")


NO_ORACLE = Judged(None, "", None, "no definition")


def row(outcome: str = "computed", digest: str = "aa", case: str = CASE) -> AgentRow:
    return AgentRow(case, outcome, digest if outcome == "computed" else "", text="it said so")


def evidence(native: AgentRow, remote: AgentRow, judged: Judged | None = GOOD, fetched: Judged | None = None) -> Evidence:
    known, got = ({native.case: one} if one else {} for one in (judged, fetched))
    return Evidence("CPU", {native.case: native}, {remote.case: remote}, known, got)


def verdict(given: Evidence) -> tuple[Outcome, str]:
    (result,) = results(tuple(given.remote), given)
    return result.outcome, result.message


def test_same_bits_that_both_oracles_accept_pass() -> None:
    assert verdict(evidence(row(), row())) == (Outcome.PASS, "")


def test_other_bits_fail_although_they_are_close_enough() -> None:
    outcome, message = verdict(evidence(row(), row(digest="bb"), fetched=GOOD))
    assert outcome is Outcome.FAIL
    assert "other bits" in message


@pytest.mark.parametrize("said", [WRONG_GOLDEN, WRONG_ERROR], ids=["golden", "error"])
def test_same_bits_fail_when_the_library_itself_is_wrong(said: Judged) -> None:
    outcome, message = verdict(evidence(row(), row(), said))
    assert outcome is Outcome.FAIL
    assert "NMSE 0.5" in message


def test_bits_that_are_compared_with_themselves_alone_are_no_pass() -> None:
    outcome, message = verdict(evidence(row(), row(), NO_ORACLE))
    assert outcome is Outcome.ERROR
    assert message == "nothing to compare with but the host library itself: no definition"
    assert verdict(evidence(row(), row(), replace(NO_ORACLE, golden_ok=True))) == (Outcome.PASS, "")
    assert verdict(evidence(row(), row(), replace(NO_ORACLE, against_ok=True))) == (Outcome.PASS, "")
    assert verdict(evidence(row(), row(digest="bb"), fetched=NO_ORACLE))[0] is Outcome.FAIL


def test_excuse_holds_where_no_oracle_looked() -> None:
    case = EXCUSES[0].case
    assert verdict(evidence(row(case=case), row(case=case, digest="bb"), fetched=NO_ORACLE))[0] is Outcome.PASS


def test_results_that_nobody_judged_fail() -> None:
    assert verdict(evidence(row(), row(), None))[0] is Outcome.FAIL
    assert verdict(evidence(row(), row(digest="bb")))[0] is Outcome.FAIL


@pytest.mark.parametrize(("native", "remote"), [("computed", "unsupported"), ("unsupported", "computed")])
def test_support_claimed_or_denied_wrongly_fails(native: str, remote: str) -> None:
    given = evidence(row(native), row(remote))
    assert verdict(given)[0] is Outcome.FAIL
    (found,) = findings((CASE,), given)
    assert (found.kind, found.case) == (FindingKind.LOST_SUPPORT, CASE)
    says = {"computed": "computes", "unsupported": "refuses"}
    assert found.text == f"{CASE}: the host library {says[native]} it, the remote device {says[remote]} it"


@pytest.mark.parametrize(("native", "remote"), [("error", "computed"), ("unsupported", "error"), ("error", "unsupported")])
def test_what_one_side_says_of_its_support_alone_is_no_lost_support(native: str, remote: str) -> None:
    assert findings((CASE,), evidence(row(native), row(remote))) == ()


def test_excused_refusal_is_no_lost_support_and_no_pass() -> None:
    case = EXCUSES[0].case
    given = evidence(row(case=case), row("unsupported", case=case))
    outcome, message = verdict(given)
    assert (outcome, EXCUSES[0].reason in message) == (Outcome.UNSUPPORTED, True)
    assert findings((case,), given) == ()
    claimed = evidence(row("unsupported", case=case), row(case=case))
    assert verdict(claimed)[0] is Outcome.FAIL
    assert [found.kind for found in findings((case,), claimed)] == [FindingKind.LOST_SUPPORT]
    for library in ("Metal", "CUDA"):  # CUDA's excuse is of the error alone
        elsewhere = replace(given, library=library)
        assert verdict(elsewhere)[0] is Outcome.FAIL
        assert [found.kind for found in findings((case,), elsewhere)] == [FindingKind.LOST_SUPPORT]


def test_unsupported_on_both_sides_is_unsupported() -> None:
    assert verdict(evidence(row("unsupported"), row("unsupported"))) == (Outcome.UNSUPPORTED, "")


def test_a_case_that_ended_the_process_has_the_outcome_that_was_found_out() -> None:
    lost = AgentRow(CASE, LOST, text="the worker is gone", lost_as=Outcome.HOST_CRASH)
    assert verdict(evidence(row(), lost)) == (Outcome.HOST_CRASH, "the worker is gone")


def test_an_error_of_the_device_fails_and_one_of_the_reference_is_the_labs() -> None:
    assert verdict(evidence(row(), row("error")))[0] is Outcome.FAIL
    assert verdict(evidence(row("error"), row()))[0] is Outcome.ERROR
    assert verdict(evidence(row("error"), row("error")))[0] is Outcome.ERROR


def test_missing_case_is_a_finding() -> None:
    (found,) = findings((CASE, "SUB()"), evidence(row(), row()))
    assert (found.kind, found.case) == (FindingKind.MISSING_CASE, "SUB()")


def test_an_excuse_covers_its_case_and_library_only() -> None:
    case = EXCUSES[0].case
    given = evidence(row(case=case), row(case=case, digest="bb"), fetched=WRONG_GOLDEN)
    assert verdict(given)[0] is Outcome.PASS
    assert EXCUSES[0].reason in verdict(given)[1]
    assert verdict(replace(given, library="Vulkan"))[0] is Outcome.FAIL  # by another oracle than its excuse is for
    assert verdict(evidence(row(case=case), row(case=case))) == (Outcome.PASS, "")


def test_other_digests_are_fetched() -> None:
    assert to_fetch({CASE: row()}, {CASE: row()}) == ()
    assert to_fetch({CASE: row()}, {CASE: row(digest="bb")}) == (CASE,)
    assert to_fetch({}, {CASE: row()}) == (CASE,)
    assert to_fetch({CASE: row()}, {CASE: row("unsupported")}) == ()


def test_truth_table_tells_both_sides() -> None:
    (line,) = truth_table({CASE: row()}, {CASE: row("unsupported")})
    assert (line.native, line.remote, line.agree) == (True, False, False)


def test_reference_that_is_the_remote_device_is_refused() -> None:
    own, remote = Device(0, "CPU", "CPU", "", "CPU"), Device(0, "ggml-virtgpu", "[virtgpu] CPU", "", "GPU")
    assert refused_reference(own, remote, "ggml-virtgpu") == ()
    assert refused_reference(remote, remote, "ggml-virtgpu")[0].kind is FindingKind.WRONG_REFERENCE
    assert refused_reference(own, own, "ggml-virtgpu")[0].kind is FindingKind.NO_SUCH_DEVICE
