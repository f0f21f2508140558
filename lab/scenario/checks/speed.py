"""The engine beside ``test-backend-ops``: the same graphs in the same guest, cases per second from start to end."""

from __future__ import annotations

from collections.abc import Sequence

from lab.bundle.outcome import Blame, Finding, FindingKind
from lab.bundle.writer import CheckWriter
from lab.figure import beside
from lab.ops.counterpart import counterpart
from lab.scenario.checks.catalog import CatalogRun
from lab.scenario.checks.ops import OpsRun
from lab.scenario.model_catalog import SpeedCheck

UPSTREAM, ENGINE = "test-backend-ops", "lab.ops"


def counterparts(cases: Sequence[str]) -> tuple[str, ...]:
    """Ids of the catalog's cases that are equal to these of ``test-backend-ops``. Raises ``NoCounterpart``."""
    return tuple(counterpart(text).id for text in cases)


def judge(check: SpeedCheck, upstream: OpsRun | None, upstream_s: float, run: CatalogRun | None, writer: CheckWriter) -> None:
    """Write down both speeds and their ratio, and a finding when that is too small or cannot be told.

    Args:
        check: what is asked for.
        upstream: the run of ``test-backend-ops``; None when there was none before.
        upstream_s: from its start to its end.
        run: the engine's run of the same cases.
        writer: gets it.
    """
    if upstream is None or run is None:
        text = "there is nothing to compare the engine with: a check of kind ops has to stand before this one, and to have run"
        writer.finding(Finding(FindingKind.NO_CASES, Blame.LAB, text))
        return
    if upstream.check.processes > 1 or upstream.check.jobs > 1:
        at_once = f"{upstream.check.processes} processes with {upstream.check.jobs} threads each"
        text = f"speeds are not comparable: the check of kind ops has {at_once}, the engine one of each"
        writer.finding(Finding(FindingKind.NO_CASES, Blame.LAB, text))
        return
    theirs, ours = len(upstream.stream.results), len(run.rows)
    if upstream.ending.cut_off is not None or run.cut_off or theirs != ours or not ours:
        text = f"speeds are not comparable: test-backend-ops has {theirs} results, the engine {ours} of {len(run.cases)} cases"
        writer.finding(Finding(FindingKind.NO_CASES, Blame.LAB, text))
        return
    ratio = upstream_s / run.seconds
    writer.speed(UPSTREAM, theirs, upstream_s, 1.0)
    writer.speed(ENGINE, ours, run.seconds, ratio)
    name = f"cases per second of the engine over those of test-backend-ops, {ours} cases"
    times = beside(ratio, check.at_least, "{:.2f}".format)
    told = f"{times} ({ours / run.seconds:.1f} in {run.seconds:.2f} s, {theirs / upstream_s:.1f} in {upstream_s:.2f} s)"
    if not writer.fact(name, f"at least {check.at_least:g}", told, ok=ratio >= check.at_least):
        writer.finding(Finding(FindingKind.TOO_SLOW, Blame.LAB, f"{name}: {told}, at least {check.at_least:g} is asked for"))
