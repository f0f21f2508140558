"""Libraries and components of others: what they do is proved by the records of whoever writes some."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.scenario.checks.way import sides_of_others
from lab.scenario.plan import Choice, planned
from tests.scenario.fakes import SCENARIO, Script
from tests.scenario.small_runs import Running, texts

SHARED = SCENARIO.replace("[guest]", '[guest]\ndata_path = "shared"')


def of_others(folder: Path, *sides: str) -> str:
    """The scenario with these sides' files from elsewhere."""
    (folder / "theirs.so").touch()
    return SHARED + "\n[implementation]\n" + "".join(f'{side} = "{folder}/theirs.so"\n' for side in sides)


@pytest.mark.parametrize(
    ("records", "finding"),
    [
        ({}, ""),
        ({"host_records": 1}, "no calls [product] 3 cases were computed, but none of 1 remote calls computes a graph"),
        ({"host_records": 3}, "no calls [product] 3 cases were computed one by one, but only 2 remote calls compute a graph"),
        ({"host_records": 0}, "no calls [product] 3 cases have results, but no remote call was recorded"),
        (
            {"host_records": 0, "listing_records": 5, "listing_served": True},
            "no calls [product] 3 cases have results, but no remote",
        ),
        ({"first_call": 88}, "commands that made buffers (shared): expected device_buffer_from_ptr, seen alloc_with_base"),
        ({"capset": 10}, "capset of the contexts served: expected venus, seen apir"),
    ],
    ids=["right", "no graph", "too few graphs", "no calls", "the listing's calls", "data path", "capset"],
)
def test_guest_library_that_records_nothing_is_judged_by_what_the_host_records(
    running: Running, tmp_path: Path, records: dict[str, Any], finding: str
) -> None:
    bundle = running(Script(**{"guest_records": None, **records}), of_others(tmp_path, "guest"), variants=("venus",))
    assert finding in texts(bundle)
    assert (bundle.run.exit, bool(texts(bundle))) == (bool(finding), bool(finding))
    assert bundle.run.variants[0].calls.count == 0, "of how long calls took nobody knows"


@pytest.mark.parametrize(
    ("records", "finding"),
    [
        ({}, ""),
        ({"guest_records": 1}, "no calls [product] 3 cases were computed, but none of 1 remote calls computes a graph"),
        ({"first_call": 88}, "commands that made buffers (shared): expected device_buffer_from_ptr, seen alloc_with_base"),
        ({"capset": 10}, "capset of the contexts served: expected venus, seen apir"),
    ],
    ids=["right", "no graph", "data path", "capset"],
)
def test_component_that_records_nothing_is_judged_by_what_the_guest_records(
    running: Running, tmp_path: Path, records: dict[str, Any], finding: str
) -> None:
    bundle = running(Script(**{"host_records": None, **records}), of_others(tmp_path, "component"), variants=("venus",))
    assert finding in texts(bundle)
    assert (bundle.run.exit, bool(texts(bundle))) == (bool(finding), bool(finding))
    assert bundle.run.variants[0].calls.count == records.get("guest_records", 5)


@pytest.mark.parametrize(("recorded", "finding"), [("true", "call_records = false asks for no such proof"), ("false", "")])
def test_where_nobody_records_anything_that_has_to_be_allowed(
    running: Running, tmp_path: Path, recorded: str, finding: str
) -> None:
    text = f"call_records = {recorded}\n{of_others(tmp_path, 'guest', 'component')}"
    bundle = running(Script(guest_records=None, host_records=None), text, variants=("venus",))
    assert (bundle.run.exit, texts(bundle).count("\n") + bool(texts(bundle))) == (bool(finding), bool(finding))
    assert finding in texts(bundle)


@pytest.mark.parametrize(
    ("script", "sides", "finding"),
    [
        (Script(guest_records=None), (), "served 5 commands that no guest record tells of"),
        (Script(host_records=None), ("guest",), "sent 5 commands of which no host record tells"),
        (Script(guest_records=None), ("component",), "served 5 commands that no guest record tells of"),
        (Script(guest_records=4), ("guest",), "sent 4 commands"),
        (Script(host_records=4), ("component",), "sent 5 commands"),
    ],
    ids=["ours", "our component", "our guest library", "a guest library that records", "a component that records"],
)
def test_records_of_ours_may_not_lack_and_those_that_are_there_have_to_agree(
    running: Running, tmp_path: Path, script: Script, sides: tuple[str, ...], finding: str
) -> None:
    bundle = running(script, of_others(tmp_path, *sides) if sides else SHARED, variants=("venus",))
    assert bundle.run.exit == 1
    assert f"calls differ [product] {finding}" in texts(bundle) or finding in texts(bundle)


def test_virglrenderer_that_has_the_component_is_others(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(of_others(tmp_path, "guest"))
    (entry,) = planned([tmp_path / "small.toml"], Choice(variants=("venus",)))
    scenario = entry.variants[0].scenario
    assert sides_of_others(scenario, built_in=False) == {"guest"}
    assert sides_of_others(scenario, built_in=True) == {"guest", "host"}
