"""The scenario of extensions leaves out each one that the protocol has."""

from __future__ import annotations

from lab import paths
from lab.apir.protocol_gen import Extension
from lab.ops.catalog import case_named
from lab.scenario.checks.way import LARGEST_PIECE, LEAST_ONE_BY_ONE
from lab.scenario.model import DataPath
from lab.scenario.model_catalog import CatalogCheck
from lab.scenario.model_checks import OpsCheck
from lab.scenario.plan import Choice, planned

FILE = paths.PROJECT / "scenarios" / "extensions.toml"
VARIABLE = "GGML_VIRTGPU_EXTENSIONS"
WRITE_BEHIND = "GGML_VIRTGPU_WRITE_BEHIND"


ALONE = ("graph_ids", "batch", "asynchronous", "pipes")
"""Those that are of use without another, but for the ring, which has a scenario of its own."""


def test_every_extension_is_left_out_once_from_one_boot() -> None:
    (entry,) = planned([FILE], Choice())
    guests = [variant.scenario.guest for variant in entry.variants if WRITE_BEHIND not in variant.scenario.guest.environment]
    chosen = {path: [str(guest.environment[VARIABLE]) for guest in guests if guest.data_path == path] for path in DataPath}
    without = [f"-{name.lower()}" for name in Extension.__members__]
    assert sorted(chosen[DataPath.COPIED]) == sorted(["all", "none", *without, *ALONE])
    assert sorted(chosen[DataPath.SHARED]) == ["all", "none"]
    assert chosen[DataPath.AUTO] == []
    assert len(entry.boots) == 1
    assert len({variant.scenario.checks for variant in entry.variants}) == 1


def test_writes_are_awaited_later_with_all_extensions_and_with_none() -> None:
    (entry,) = planned([FILE], Choice())
    environments = [variant.scenario.guest.environment for variant in entry.variants]
    later = [environment for environment in environments if WRITE_BEHIND in environment]
    assert later == [{VARIABLE: "all", WRITE_BEHIND: "on"}, {VARIABLE: "none", WRITE_BEHIND: "on"}]


def test_cases_are_the_smoke_scenarios_operations_and_what_shows_an_extension() -> None:
    (entry,), (smoke,) = planned([FILE], Choice()), planned([FILE.with_name("smoke.toml")], Choice())
    (check,) = entry.variants[0].scenario.checks
    assert isinstance(check, CatalogCheck)
    cases = [case_named(text) for text in check.cases]
    wanted = {op for other in smoke.variants[0].scenario.checks if isinstance(other, OpsCheck) for op in other.ops}
    assert wanted
    assert {case.op for case in cases} == wanted | {"GRAPH"}
    assert check.min_cases == len(cases)
    assert set(check.sends) == {"graph_run", "batch", "pipe_set_tensor", "pipe_get_tensor"}
    assert {case.op for case in cases if case.travels[0] > 1} == {"ADD", "MUL_MAT", "GRAPH"}
    assert any(LARGEST_PIECE < case.travels[1] < LEAST_ONE_BY_ONE for case in cases), "a transfer that goes in pieces"
