"""What the model-like graph said by everybody who computed it in a benchmark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab.bench.answer import token_answers
from lab.bench.figures import Rows
from lab.bench.standard import configurations
from lab.bundle.outcome import Blame, FindingKind
from lab.bundle.schema import RESULTS, BenchRecord
from lab.bundle.writer import CheckWriter, new_bundle
from lab.scenario.checks.bench import Bench, told
from lab.scenario.model_bench import BenchCheck

OTHER = "token/shared/vm_other"
BOTH = "results of the model-like graph by both implementations, shared"
NAMES = ("token", "rebuilt")


def said(subject: str, digest: str, name: str = "token", splits: int = 1) -> dict[str, Any]:
    phase = "tokens shared" if subject.startswith("token/") else "tokens"
    place = {"phase": phase, "subject": subject, "name": name, "ns": [1000]}
    return {**place, "nodes": 730, "splits": splits, "digest": digest}


OURS = [said(f"token/shared/{one}", "ab", name) for one in configurations() for name in NAMES]
THEIRS = [said(OTHER, "ab", name) for name in NAMES]


def judged(
    folder: Path, rows: list[dict[str, Any]], **check: str
) -> tuple[list[tuple[str, str, str]], dict[str, tuple[bool, bool]]]:
    """Findings, and of each fact whether it is as expected and whether the run is held to it."""
    bench = Bench(None, BenchCheck(kind="bench").model_copy(update=check), rows)  # type: ignore[arg-type] # rows only
    with new_bundle(folder, "bench") as bundle:
        writer = CheckWriter(bundle, "bench", "default", "bench")
        told(bench, BenchRecord(answer={}, tokens=tuple(token_answers(Rows(rows)))), writer)
        lines = map(json.loads, (bundle.folder / RESULTS).read_text().splitlines())
        facts = {one["name"]: (one["ok"], one["enforced"]) for one in lines if one["kind"] == "fact"}
        return [(one.kind, one.blame, one.text) for one in writer.findings], facts


def test_same_results_of_both_implementations_are_a_fact(tmp_path: Path) -> None:
    found, facts = judged(tmp_path, [*OURS, *THEIRS], guest_library="theirs.so")
    assert found == []
    assert facts == {
        "results of the model-like graph over all extensions, shared": (True, True),
        f"results of the model-like graph, {OTHER}": (True, True),
        BOTH: (True, True),
    }


def test_nothing_is_told_to_be_the_same_as_what_nobody_computed(tmp_path: Path) -> None:
    for alone in (OURS, THEIRS):
        assert BOTH not in judged(tmp_path, alone)[1]


@pytest.mark.parametrize("name", NAMES)
def test_second_guest_library_that_computes_something_else_is_told(tmp_path: Path, name: str) -> None:
    theirs = [said(OTHER, "cd", name) for _ in range(2)]
    ((kind, blame, text),), facts = judged(tmp_path, [*OURS, *theirs], guest_library="theirs.so")
    assert (kind, blame) == (FindingKind.CASE_FAILED, Blame.PRODUCT)
    assert text == "the model-like graph says other things with the second guest library than with ours (shared): ab, cd"
    assert facts[BOTH] == (False, True)


def test_results_by_another_host_library_are_told_and_not_held_against_anybody(tmp_path: Path) -> None:
    theirs = [said(OTHER, "cd", name) for name in NAMES]
    found, facts = judged(tmp_path, [*OURS, *theirs], guest_library="theirs.so", host_library="theirs too.so")
    assert (found, facts[BOTH]) == ([], (False, False))


def test_results_of_which_the_guests_processor_computed_a_part_are_told_and_not_held_against_anybody(tmp_path: Path) -> None:
    theirs = [said(OTHER, "cd", name, splits=3) for name in NAMES]
    found, facts = judged(tmp_path, [*OURS, *theirs], guest_library="theirs.so")
    assert (found, facts[BOTH]) == ([], (False, False))


@pytest.mark.parametrize(("subject", "blame"), [("loopback/copied", Blame.PRODUCT), ("native", Blame.LAB), (OTHER, Blame.PRODUCT)])
def test_results_that_are_others_each_time_are_told(tmp_path: Path, subject: str, blame: Blame) -> None:
    rows = [said(subject, "ab"), said(subject, "cd")]
    ((kind, whose, text),), _ = judged(tmp_path, rows)
    assert (kind, whose) == (FindingKind.CASE_FAILED, blame)
    assert text == f"{subject}: the model-like graph says different things each time that it is computed: ab, cd"


def test_loopback_and_native_are_not_compared_with_each_other(tmp_path: Path) -> None:
    found, facts = judged(tmp_path, [said("loopback/copied", "ab"), said("native", "cd")])
    assert found == []
    assert set(facts.values()) == {(True, True)}
