"""Runs of the small scenario on a platform without a machine, and their bundles in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lab.bundle import Bundle, read_bundle
from lab.bundle.schema import VariantRecord
from lab.scenario.listener import SilentListener
from lab.scenario.plan import Choice, planned
from lab.scenario.runner import run
from tests.scenario.fakes import SCENARIO, FakePlatform, Script

Running = Callable[..., Bundle]


def run_small(folder: Path, script: Script, text: str = SCENARIO, **choice: tuple[str, ...]) -> Bundle:
    path = folder / "small.toml"
    path.write_text(text)
    chosen = Choice(**choice)
    outcome = run(planned([path], chosen), chosen, folder / "runs", SilentListener(), FakePlatform(script, folder).platform())
    bundle = read_bundle(outcome.folder)
    assert bundle.run == outcome.record, "run.json on disk is what the run says"
    assert bundle.cut_lines == 0
    return bundle


def variant(bundle: Bundle, name: str = "venus") -> VariantRecord:
    return next(one for one in bundle.run.variants if one.variant == name)


def texts(bundle: Bundle) -> str:
    return "\n".join(f"{row.finding} [{row.blame}] {row.text}" for row in bundle.findings)
