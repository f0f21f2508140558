"""What the catalog's cases cost: time and memory by several runs of each, and that every run has the right result."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lab.bundle.outcome import Blame, Finding, FindingKind, Outcome
from lab.bundle.writer import CheckWriter, new_bundle
from lab.ops.agent_rows import AgentRow, AgentStream
from lab.ops.result import COMPUTED, ERROR, UNSUPPORTED
from lab.ops.session import Reference
from lab.scenario.checks import catalog_cost
from lab.scenario.checks.catalog import CatalogRun
from lab.scenario.checks.catalog_cost import cost_findings
from lab.scenario.model_catalog import Cost
from tests.scenario.fakes import REFERENCE
from tests.scenario.test_catalog_check import GOOD
from tests.scenario.test_lies import JUDGE, result


class Alone:
    """A program that is told how much its worker has behind each run, and how long each takes."""

    workers = frozenset({1})

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        *,
        kib: tuple[int | None, ...],
        ms: tuple[int, ...],
        ended: bool = True,
        ends: Mapping[int, tuple[str, str]] | None = None,
    ) -> None:
        samples = iter(kib)
        monkeypatch.setattr(catalog_cost, "private_kib", lambda _pid: next(samples))
        self.ms, self.ended, self.ends = ms, ended, ends or {}

    def alone(self, cases: Any, on_row: Any) -> AgentStream:
        for at, (case, ms) in enumerate(zip(cases, self.ms, strict=False)):
            on_row(AgentRow(case, *self.ends.get(at, (COMPUTED, "d")), ms * 1_000_000, text="no memory"))
        return AgentStream(ended=self.ended, remarks=["gone"])


def cost_run(*cases: str) -> CatalogRun:
    """A run in which these cases were right; the reference has their digests."""
    rows = {case: AgentRow(case, COMPUTED, "d", 1_000_000) for case in cases}
    nobody: Any = None
    run = CatalogRun(JUDGE, cases, "remote", nobody, Reference(REFERENCE, rows, dict.fromkeys(cases, GOOD)))
    run.results |= {case: result(case, Outcome.PASS) for case in cases}
    return run


COST = Cost(runs=3, or_ms=50, times_native=20)


def costs(program: Alone, mul: Outcome = Outcome.FAIL) -> list[tuple[FindingKind, str | None]]:
    run = cost_run("ADD()", "MUL()")
    run.results["MUL()"] = result("MUL()", mul)
    return [(one.kind, one.case) for one in cost_findings(run, COST, program)]


def test_costs_of_right_results_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert costs(Alone(monkeypatch, kib=(10, 60, 130), ms=(900, 40, 900))) == []
    assert costs(Alone(monkeypatch, kib=(10, 90, 180), ms=(40, 40, 40))) == [(FindingKind.MEMORY_GROWTH, "ADD()")]
    assert costs(Alone(monkeypatch, kib=(10, 10, 10), ms=(51, 60, 70))) == [(FindingKind.TOO_SLOW, "ADD()")]


@pytest.mark.parametrize(
    ("ends", "why"),
    [
        ({1: (COMPUTED, "e")}, "other bits than the host library's own (e for d)"),
        ({2: (ERROR, "")}, "the remote device failed: no memory"),
        (dict.fromkeys(range(3), (ERROR, "")), "the remote device failed: no memory"),
        ({0: (UNSUPPORTED, "")}, "the host library computes it, the remote device refuses it"),
    ],
    ids=["other bits", "failed", "always failed", "refused"],
)
def test_case_that_has_another_result_when_its_cost_is_measured_fails(
    monkeypatch: pytest.MonkeyPatch, ends: dict[int, tuple[str, str]], why: str
) -> None:
    program = Alone(monkeypatch, kib=(10,) * 3, ms=(40,) * 3, ends=ends)
    (finding,) = cost_findings(cost_run("ADD()"), COST, program)
    assert (finding.kind, finding.blame, finding.case) == (FindingKind.CASE_FAILED, Blame.PRODUCT, "ADD()")
    assert finding.text.startswith(f"ADD(): right at first, and not when what it costs was measured: {why}")


def test_case_with_an_excuse_may_have_another_result_when_its_cost_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Alone(monkeypatch, kib=(10,) * 3, ms=(40,) * 3, ends={1: (COMPUTED, "e")})
    assert list(cost_findings(cost_run("COUNT_EQUAL()"), COST, program)) == []


def test_costs_are_among_what_is_wrong_with_a_run(tmp_path: Path) -> None:
    slow = Finding(FindingKind.TOO_SLOW, Blame.PRODUCT, "ADD(): 900 ms", "ADD()")
    with new_bundle(tmp_path, "lies") as bundle:
        run = CatalogRun(JUDGE, ("ADD()",), "remote", CheckWriter(bundle, "lies", "default", "catalog"), ending=None)
        run.results["ADD()"], run.costs = result("ADD()", Outcome.PASS), (slow,)
        assert list(run.findings("none")) == [slow]


def test_measurement_that_did_not_come_about_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    assert costs(Alone(monkeypatch, kib=(10,), ms=(40,), ended=False)) == [(FindingKind.INTERRUPTED, None)]
    assert costs(Alone(monkeypatch, kib=(), ms=())) == [(FindingKind.INTERRUPTED, "ADD()")]
    program = Alone(monkeypatch, kib=(), ms=(40, 40, 40))
    program.workers = frozenset()
    assert costs(program) == [(FindingKind.INTERRUPTED, None)]
    of_both = {"kib": (10, 10, 10, 10, 10, 10), "ms": (40,) * 6}
    assert costs(Alone(monkeypatch, **of_both), Outcome.PASS) == []
    assert costs(Alone(monkeypatch, **of_both | {"kib": (10, 10, 10, 10, 10, None)}), Outcome.PASS) == [
        (FindingKind.INTERRUPTED, None)
    ]
