"""Cases of the catalog that failed together, and of which each was computed alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from lab.deadline import Deadline
from lab.ops.session import Reference
from tests.scenario.fakes import Script
from tests.scenario.test_catalog_check import CASES, FakeHost, Running, agent, outcomes, said, texts
from tests.scenario.test_catalog_check import running as running  # noqa: PLC0414 - a fixture

WHY = "2 cases together: graph_compute failed"
TEXT = f"program failed [product] the remote device failed with cases from MUL() on, and computed each alone: {WHY}"


class Failing(FakeHost):
    """Natively, too, some cases failed together."""

    def __init__(self, *together: str) -> None:
        super().__init__()
        self.together = together

    def reference(self, cases: Sequence[str], deadline: Deadline) -> Reference:
        known = super().reference(cases, deadline)
        rows = {case: replace(row, text="no memory" if case in self.together else "") for case, row in known.rows.items()}
        return replace(known, rows=rows)


def together(*cases: str) -> Callable[[str], str]:
    return lambda case: said(case, text=WHY) if case in cases else said(case)


@pytest.mark.parametrize("natively", [(), ("ADD()",)])
def test_a_batch_that_failed_fails_the_run_although_each_case_is_right(running: Running, natively: tuple[str, ...]) -> None:
    bundle = running(Script(agent=agent(together("MUL()", "SUB()")), host=Failing(*natively)))
    assert outcomes(bundle) == dict.fromkeys(CASES, "pass")
    assert (bundle.run.exit, texts(bundle)) == (1, TEXT)


def test_what_the_library_could_not_do_natively_either_is_no_finding(running: Running) -> None:
    bundle = running(Script(agent=agent(together("MUL()", "SUB()")), host=Failing("MUL()", "SUB()")))
    assert (bundle.run.exit, texts(bundle)) == (0, "")
