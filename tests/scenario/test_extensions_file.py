"""The scenario of extensions leaves out each one that the protocol has."""

from __future__ import annotations

from lab import paths
from lab.apir.protocol_gen import Extension
from lab.scenario.plan import Choice, planned

FILE = paths.PROJECT / "scenarios" / "extensions.toml"
VARIABLE = "GGML_VIRTGPU_EXTENSIONS"


def test_every_extension_is_left_out_once_from_one_boot() -> None:
    (entry,) = planned([FILE], Choice())
    chosen = [variant.scenario.guest.environment[VARIABLE] for variant in entry.variants]
    assert sorted(map(str, chosen)) == sorted(["all", "none", *(f"-{name.lower()}" for name in Extension.__members__)])
    assert len(entry.boots) == 1
    assert len({variant.scenario.checks for variant in entry.variants}) == 1
