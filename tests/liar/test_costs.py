"""Right results that come late, or leave memory behind: found with the liar, and not found without a lie."""

from __future__ import annotations

import pytest

from lab.bundle.outcome import Finding, FindingKind
from lab.deadline import Deadline
from lab.errors import HostError
from lab.host.native import native_payloads
from lab.host.progress import SilentProgress
from lab.host.root import cached_host_root
from lab.ops.cost import leaking_cases, slow_cases
from tests.liar.trial import Known, Trial, Verdict

pytestmark = pytest.mark.native

BUILD_S = 1500.0
CASES = ("ADD()", "MUL_MAT(n=4)", "MUL(a=1,b=1)")
RUNS = 12
AT_MOST_KIB = 64.0


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    root = cached_host_root()
    if root is None:
        raise HostError("host root", "it is not in the cache", hint="lab setup")
    return Trial(root, native_payloads(root, SilentProgress(), Deadline.after(BUILD_S)), tmp_path_factory.mktemp("trial"))


@pytest.fixture(scope="module")
def known(trial: Trial) -> Known:
    return trial.known(CASES)


def slow(verdict: Verdict) -> list[Finding]:
    evidence = verdict.evidence
    return list(slow_cases(evidence.native, evidence.remote, at_most_times=50, or_ms=100))


def leaking(verdict: Verdict) -> list[Finding]:
    return list(leaking_cases(verdict.told.memory, at_most_kib=AT_MOST_KIB, process="process"))


def test_slow_operation_is_found_and_no_other(trial: Trial, known: Known) -> None:
    # More than 50 times what a machine busy with other work takes natively, milliseconds at times.
    verdict = trial.verdict("slow:op=MUL_MAT,ms=3000", CASES, known, batch=1)
    assert verdict.failed == set()
    (finding,) = slow(verdict)
    assert (finding.kind, finding.case) == (FindingKind.TOO_SLOW, "MUL_MAT(n=4)")
    assert "allowed are 100 ms" in finding.text


def test_leaking_operation_is_found_and_no_other(trial: Trial, known: Known) -> None:
    repeated = [case for case in CASES for _ in range(RUNS)]
    verdict = trial.verdict("leak:op=MUL_MAT,bytes=1048576", repeated, known, batch=1)
    assert verdict.failed == set()
    (finding,) = leaking(verdict)
    assert (finding.kind, finding.case) == (FindingKind.MEMORY_GROWTH, "MUL_MAT(n=4)")
    assert 900 < verdict.told.memory.growth()["MUL_MAT(n=4)"] < 1200


def test_honest_liar_is_neither_slow_nor_leaking(trial: Trial, known: Known) -> None:
    repeated = [case for case in CASES for _ in range(RUNS)]
    verdict = trial.verdict("honest", repeated, known, batch=1)
    assert verdict.failed == set()
    assert slow(verdict) == []
    assert leaking(verdict) == []
    assert len(verdict.told.memory.samples) == len(repeated)
