from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from lab.bundle import Bundle, read_bundle
from lab.bundle.junit import junit_xml
from lab.bundle.outcome import REFERENCE_REFUSES, Blame, FindingKind, Outcome
from lab.bundle.rows import CaseRow, FactRow, FindingRow
from lab.bundle.schema import Status
from tests.reports.realistic import write_bundle


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("runs"), failing=True)


def test_junit_counts_are_those_of_its_tests(whole: Path) -> None:
    root = ET.fromstring((whole / "junit.xml").read_text())  # noqa: S314 - our own file
    suites = {suite.get("name"): suite for suite in root}
    venus, apir = suites["smoke.venus"], suites["smoke.apir"]
    assert (venus.get("failures"), venus.get("errors"), venus.get("skipped")) == ("0", "0", "0")
    assert (apir.get("failures"), apir.get("errors"), apir.get("skipped")) == ("2", "1", "3"), "the verdict has both, and fails"
    assert root.get("tests") == str(len(root.findall("testsuite/testcase")))


@pytest.mark.parametrize(
    ("blames", "counts"),
    [
        ((Blame.PRODUCT,) * 10, ("11", "11", "0", "0")),
        ((Blame.PRODUCT, Blame.LAB), ("3", "3", "0", "0")),
        ((Blame.LAB, Blame.LAB), ("3", "2", "1", "0")),
    ],
    ids=["failures", "both", "errors"],
)
def test_junit_counts_a_test_once_whatever_it_holds(whole: Path, blames: tuple[Blame, ...], counts: tuple[str, ...]) -> None:
    bundle = read_bundle(whole)
    variant = bundle.run.variants[0].model_copy(update={"status": Status.SKIPPED})
    place = (variant.name, variant.variant)
    cases = tuple(CaseRow(*place, "ops", f"ADD({at})", "ADD", "", Outcome.FAIL, "", 0.0, 0.0) for at, _ in enumerate(blames))
    findings = tuple(FindingRow(*place, "ops", FindingKind.CASE_FAILED, blame, "text", None, 0.0) for blame in blames)
    run = bundle.run.model_copy(update={"variants": (variant,)})
    root = ET.fromstring(junit_xml(Bundle(bundle.folder, run, cases, (), findings, (), 0)))  # noqa: S314 - our own text
    assert len(root.findall(".//failure") + root.findall(".//error")) == 2 * len(blames)
    for of in (root, root[0]):
        assert tuple(of.get(key) for key in ("tests", "failures", "errors", "skipped")) == counts


@pytest.mark.parametrize(
    ("outcome", "tags"),
    [(Outcome.FAIL, ["skipped"]), (Outcome.SKIPPED, ["skipped"]), (Outcome.HOST_CRASH, ["error"]), (Outcome.HANG, ["error"])],
)
def test_junit_excuses_of_an_expected_case_no_crash(whole: Path, outcome: Outcome, tags: list[str]) -> None:
    bundle = read_bundle(whole)
    place = (bundle.run.variants[0].name, bundle.run.variants[0].variant, "ops")
    case = CaseRow(*place, "ADD()", "ADD", "", outcome, "m", 1500.0, 0.0, expected="fail", reason="known", link="l")
    root = ET.fromstring(junit_xml(replace(bundle, cases=(case,), facts=(), findings=())))  # noqa: S314 - our own text
    (test,) = root.findall(".//testcase[@name='ADD()']")
    assert ([one.tag for one in test], test.get("time")) == (tags, "1.500000")


def test_junit_tells_who_refuses_a_case(whole: Path) -> None:
    bundle = read_bundle(whole)
    place = (bundle.run.variants[0].name, bundle.run.variants[0].variant, "ops")
    said = ("not supported", REFERENCE_REFUSES)
    cases = tuple(CaseRow(*place, f"ADD(n={at})", "ADD", "", Outcome.UNSUPPORTED, one, 0.0, 0.0) for at, one in enumerate(said))
    root = ET.fromstring(junit_xml(replace(bundle, cases=cases, facts=(), findings=())))  # noqa: S314 - our own text
    assert [one.get("message") for one in root.iter("skipped")] == ["unsupported by the remote device", REFERENCE_REFUSES]


@pytest.mark.parametrize("status", [Status.ERROR, Status.INTERRUPTED, Status.RUNNING])
def test_junit_of_a_variant_without_its_end_is_an_error(whole: Path, status: Status) -> None:
    bundle = read_bundle(whole)
    run = bundle.run.model_copy(update={"variants": (bundle.run.variants[0].model_copy(update={"status": status}),)})
    root = ET.fromstring(junit_xml(Bundle(bundle.folder, run, (), (), (), (), 0)))  # noqa: S314 - our own text
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("1", "0", "1")


def test_junit_holds_a_skipped_variant_and_no_control_characters(whole: Path) -> None:
    bundle = read_bundle(whole)
    skipped = bundle.run.variants[0].model_copy(update={"status": Status.SKIPPED, "reason": "no \x1b[31mGPU\x00"})
    run = bundle.run.model_copy(update={"variants": (skipped,)})
    root = ET.fromstring(junit_xml(Bundle(bundle.folder, run, (), (), (), (), 0)))  # noqa: S314 - our own text
    assert (root.get("skipped"), [one.get("message") for one in root.iter("skipped")]) == ("1", ["no [31mGPU"])


def test_junit_holds_no_character_that_xml_cannot(whole: Path) -> None:
    bundle = read_bundle(whole)
    bad = "A\x01\x00D\ufffe\uffff\ud800\t\U0001f600"
    place = (bundle.run.variants[0].name, bundle.run.variants[0].variant, "ops")
    case = CaseRow(*place, f"case {bad}", f"op {bad}", "", Outcome.FAIL, f"message {bad}", 0.0, 0.0)
    fact = FactRow(*place, f"fact {bad}", "1", bad, ok=False, at_s=0.0)
    text = junit_xml(replace(bundle, cases=(case,), facts=(fact,)))
    root = ET.fromstring(text)  # noqa: S314 - our own text
    tests = {test.get("name"): test for test in root.iter("testcase")}
    assert tests["case AD\t\U0001f600"].get("classname") == f"{place[0]}.{place[1]}.op AD\t\U0001f600"
    assert "fact AD\t\U0001f600" in tests
