"""Results that no remote call computed: the program that lists the devices calls in every run, and proves nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.apir.protocol_gen import Call
from lab.scenario.calls import COMPUTING
from tests.scenario.fakes import HEADER_LINE, TEXTS, Script, row
from tests.scenario.small_runs import Running, texts
from tests.scenario.upstream_runs import CASES, Program
from tests.scenario.upstream_runs import SCENARIO as SWEEP
from tests.scenario.upstream_runs import Running as Sweeps

LISTING_ALONE: dict[str, Any] = {"listing_records": 5, "listing_served": True, "guest_records": 0, "host_records": 0}
NO_GRAPH: dict[str, Any] = {"listing_records": 5, "listing_served": True, "guest_records": 1, "host_records": 1}
"""Each program makes one call, which makes a buffer."""
SUPPORT = SWEEP.replace('kind = "upstream"', 'kind = "upstream"\nmode = "support"')


@pytest.mark.parametrize(
    ("records", "text"),
    [
        (
            LISTING_ALONE,
            "3 cases have results, but no remote call was recorded besides those of the program that lists the devices",
        ),
        (NO_GRAPH, "3 cases were computed, but none of 1 remote calls computes a graph"),
        (
            {**NO_GRAPH, "guest_records": 3, "host_records": 3},
            "3 cases were computed one by one, but only 2 remote calls compute a graph",
        ),
        ({"listing_records": 5, "listing_served": True}, ""),
    ],
)
def test_results_need_calls_of_the_program_that_computes(running: Running, records: dict[str, Any], text: str) -> None:
    bundle = running(Script(**records), variants=("venus",))
    assert (bundle.run.exit, texts(bundle)) == ((1, f"no calls [product] {text}") if text else (0, ""))


@pytest.mark.parametrize(("records", "found"), [(NO_GRAPH, False), (LISTING_ALONE, True)])
def test_cases_that_are_not_supported_need_calls_and_no_graphs(running: Running, records: dict[str, Any], *, found: bool) -> None:
    rows = (HEADER_LINE, row(TEXTS[0], supported="0"))
    bundle = running(Script(ops=rows, **records), variants=("venus",))
    assert ("no calls [product] 1 cases have results" in texts(bundle)) is found
    assert "computes a graph" not in texts(bundle)


@pytest.mark.parametrize(
    ("text", "records", "found"),
    [(SWEEP, NO_GRAPH, True), (SUPPORT, NO_GRAPH, False), (SUPPORT, LISTING_ALONE, True)],
    ids=["computed", "asked", "not even asked"],
)
def test_what_is_supported_is_asked_and_not_computed(tmp_path: Path, text: str, records: dict[str, Any], *, found: bool) -> None:
    bundle = Sweeps(tmp_path)(Program(), text=text, script=Script(**records))
    assert len(bundle.cases) == len(CASES)
    assert ("no calls [product]" in texts(bundle)) is found, texts(bundle)


def test_a_check_without_cases_needs_no_calls(running: Running) -> None:
    text = 'name = "small"\n[[checks]]\nkind = "state"\n'
    assert texts(running(Script(**LISTING_ALONE), text)) == ""


def test_every_command_about_a_graph_computes_one() -> None:
    assert {call.name.lower() for call in Call if "GRAPH" in call.name} == COMPUTING
