from __future__ import annotations

import pytest

from lab.ops.case import BadCaseId, case_of
from lab.ops.catalog import FAMILY_OF, all_cases, case_named, cases_of, drawn_share
from lab.ops.coverage import NO_CASES, UPSTREAM_0_27, coverage, operations_tested
from lab.ops.engine import ordered

CASES = all_cases()


def test_catalog_has_3000_distinct_cases() -> None:
    assert len({case.id for case in CASES}) == len(CASES) >= 3000


def test_every_operation_has_5_cases() -> None:
    assert min(count for _, count in coverage().per_op) >= 5


def test_all_of_upstreams_operations_tested_are_covered() -> None:
    assert len(UPSTREAM_0_27.split()) == 109
    assert coverage().missing == ()


def test_an_operation_that_only_upstream_has_is_told() -> None:
    (missing,) = coverage(("ADD", "WIN_PART")).missing
    assert (missing.op, missing.why) == ("WIN_PART", NO_CASES)


def test_upstreams_own_list_is_read() -> None:
    assert operations_tested("Operations covered (2):\n  ✓ ABS\n  ✓ ADD\n\n  ✗ ADD1\n") == ("ABS", "ADD")


def test_case_is_rebuilt_from_its_id_alone() -> None:
    assert all(case_named(case.id) == case for case in CASES)


def test_ids_are_readable_and_without_defaults() -> None:
    assert case_of(FAMILY_OF["ADD"], "ADD", {"type": "f16", "b": (10, 1, 4), "layout": ""}).id == "ADD(type=f16,b=10x1x4)"
    assert case_named("SCALE(x=0.25)").parameters["x"] == 0.25


@pytest.mark.parametrize(
    "text",
    [
        "NOTHING()", "ADD", "ADD(type=f32)", "ADD(colour=red)", "ADD(type=f16,type=f16)", "ADD(a=10xtwo)", "ADD(b=10x1x4,type=f16)",
        "ADD(rounds=0)", "ADD(transfer=-1)",
    ],
    ids=["operation", "brackets", "default", "parameter", "twice", "value", "order", "rounds", "transfer"],
)  # fmt: skip
def test_a_text_that_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(BadCaseId):
        case_named(text)


def test_a_share_is_drawn_by_the_seed_and_has_every_operation() -> None:
    share = drawn_share(CASES, 7, 0.1)
    assert share == drawn_share(CASES, 7, 0.1) != drawn_share(CASES, 8, 0.1)
    assert {case.op for case in share} == {case.op for case in CASES}
    assert len(CASES) // 10 <= len(share) <= len(CASES) // 10 + 111


def test_sizes_around_the_wires_edges_are_there() -> None:
    transfers = {case.parameters["transfer"] for case in CASES}
    assert {4095, 4096, 4097, 16383, 16384, 16385, 0x182FFFF, 0x1830000, 0x1830001} <= transfers


def test_graphs_run_again_and_in_place_and_strided_cases_are_there() -> None:
    assert any(case.parameters["rounds"] > 1 for case in cases_of("GRAPH"))
    assert any(case.parameters.get("inplace") for case in CASES)
    assert {case.parameters.get("layout") for case in CASES} >= {"slice", "step", "p0213", "p1023"}


def test_cases_that_travel_alike_are_put_together() -> None:
    keys = [(case.parameters["rounds"], case.parameters["transfer"]) for case in ordered(CASES)]
    assert keys == sorted(keys)
