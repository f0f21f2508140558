from __future__ import annotations

import pytest

from lab.bundle.outcome import REFERENCE_REFUSES, Blame, CaseResult, FindingKind, Outcome
from lab.ops.upstream_cases import ListedCase, Mode
from lab.ops.upstream_judge import Sweep, findings_of

WANTED = tuple(ListedCase(f"ADD(a={n})", "ADD", f"a={n}", supported=n != 3) for n in range(1, 4))


def results(*outcomes: Outcome, message: str = "") -> dict[str, CaseResult]:
    pairs = zip(WANTED, outcomes, strict=False)
    return {one.case: CaseResult(one.case, one.op, one.params, outcome, message) for one, outcome in pairs}


def kinds(sweep: Sweep, *, mode: Mode = Mode.TEST, ops: tuple[str, ...] = (), min_cases: int = 1) -> list[FindingKind]:
    return [finding.kind for finding in findings_of(sweep, WANTED, mode, ops=ops, min_cases=min_cases)]


PASS, FAIL, UNSUPPORTED = Outcome.PASS, Outcome.FAIL, Outcome.UNSUPPORTED


def test_all_cases_as_the_native_library_has_them_is_no_finding() -> None:
    assert kinds(Sweep(results(PASS, PASS, UNSUPPORTED)), ops=("ADD",)) == []


@pytest.mark.parametrize(
    ("sweep", "found"),
    [
        (Sweep(results(PASS, FAIL, UNSUPPORTED)), [FindingKind.CASE_FAILED]),
        (Sweep(results(PASS, Outcome.HANG, UNSUPPORTED)), [FindingKind.INTERRUPTED]),
        (Sweep(results(PASS, UNSUPPORTED, UNSUPPORTED)), [FindingKind.LOST_SUPPORT]),
        (Sweep(results(PASS, PASS, PASS)), [FindingKind.CLAIMED_SUPPORT]),
        (
            Sweep(results(UNSUPPORTED, UNSUPPORTED, UNSUPPORTED)),
            [FindingKind.ALL_UNSUPPORTED, FindingKind.TOO_FEW_CASES, FindingKind.LOST_SUPPORT],
        ),
        (Sweep(results(PASS, PASS)), [FindingKind.MISSING_CASE]),
        (Sweep(results(PASS, PASS), stopped="the time was over"), [FindingKind.INTERRUPTED]),
        (Sweep(results(PASS, PASS, UNSUPPORTED), foreign=["CPU"]), [FindingKind.NO_SUCH_DEVICE]),
        (Sweep(results(PASS, PASS, UNSUPPORTED), surplus=["ADD(a=9)"]), [FindingKind.SURPLUS_CASE]),
        (Sweep(results(PASS, PASS, UNSUPPORTED), unexplained=["status 3"]), [FindingKind.PROGRAM_FAILED]),
        (Sweep(), [FindingKind.MISSING_CASE, FindingKind.NO_CASES]),
    ],
)
def test_each_thing_that_can_be_wrong_is_found(sweep: Sweep, found: list[FindingKind]) -> None:
    assert kinds(sweep) == found


@pytest.mark.parametrize("mode", [Mode.TEST, Mode.SUPPORT, Mode.PERF])
def test_words_in_front_of_a_row_excuse_no_refusal(mode: Mode) -> None:
    refusing = Sweep(results(PASS, UNSUPPORTED, UNSUPPORTED, message="ggml-virtgpu: skipping large tensors for speed"))
    assert kinds(refusing, mode=mode) == [FindingKind.LOST_SUPPORT]


def test_case_that_the_reference_alone_refuses_is_not_lost_but_may_be_claimed() -> None:
    alone = results(PASS, UNSUPPORTED, message=REFERENCE_REFUSES)
    assert kinds(Sweep({**results(PASS, PASS, UNSUPPORTED), **alone})) == []
    assert kinds(Sweep(results(PASS, UNSUPPORTED, UNSUPPORTED, message=REFERENCE_REFUSES))) == [FindingKind.CLAIMED_SUPPORT]


@pytest.mark.parametrize(
    "message", ["skipping large tensors for speed", "not supported [ADD]", "not supported [out->type != FP32]"]
)
def test_grad_has_reasons_of_its_own_to_refuse_a_case(message: str) -> None:
    assert kinds(Sweep(results(PASS, UNSUPPORTED, UNSUPPORTED, message=message)), mode=Mode.GRAD) == []


def test_operation_without_cases_and_too_few_of_them_are_found() -> None:
    whole = Sweep(results(PASS, PASS, UNSUPPORTED))
    assert kinds(whole, ops=("ADD", "MUL")) == [FindingKind.OP_WITHOUT_CASES]
    assert kinds(whole, min_cases=4) == [FindingKind.TOO_FEW_CASES]
    assert kinds(Sweep(results(PASS, PASS), stopped="the time was over"), min_cases=4) == [FindingKind.INTERRUPTED]


@pytest.mark.parametrize(("mode", "found"), [
    (Mode.TEST, [FindingKind.TOO_FEW_CASES]), (Mode.PERF, [FindingKind.TOO_FEW_CASES]), (Mode.GRAD, [FindingKind.TOO_FEW_CASES]),
    (Mode.SUPPORT, []),
])  # fmt: skip
def test_refused_cases_count_only_where_nothing_but_support_is_asked_about(mode: Mode, found: list[FindingKind]) -> None:
    whole = Sweep(results(PASS, PASS, UNSUPPORTED))
    assert kinds(whole, mode=mode, min_cases=3) == found
    assert kinds(whole, mode=mode, min_cases=2) == []


def test_a_lost_case_is_told_with_its_class() -> None:
    finding = next(iter(findings_of(Sweep(results(PASS, Outcome.HOST_CRASH, UNSUPPORTED)), WANTED, Mode.TEST, ops=(), min_cases=1)))
    assert finding.blame is Blame.PRODUCT
    assert finding.text.startswith("ADD(a=2): host crash: ")
