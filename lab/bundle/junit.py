"""``junit.xml``: the same verdict in the form that CI systems read. One suite per variant, one test per case and fact."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

from lab.bundle.outcome import REFERENCE_REFUSES, Blame, Outcome
from lab.bundle.reader import Bundle, by_variant
from lab.bundle.rows import CaseRow, FactRow, FindingRow
from lab.bundle.schema import Status, VariantRecord

NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, however they are written."""
ENDS = {"failures": "failure", "errors": "error", "skipped": "skipped"}
"""What a suite counts its tests by: each once, by the first of these elements that it has."""


def junit_xml(bundle: Bundle) -> str:
    """The bundle as JUnit XML."""
    root = ET.Element("testsuites", name=bundle.run.run)
    cases, facts, findings = by_variant(bundle.cases), by_variant(bundle.facts), by_variant(bundle.findings)
    for variant in bundle.run.variants:
        here = (variant.name, variant.variant)
        suite = ET.SubElement(root, "testsuite", name=".".join(here), time=f"{variant.wall_s:.3f}", timestamp=bundle.run.started)
        _fill(suite, variant, cases.get(here, ()), facts.get(here, ()), findings.get(here, ()))
    totals = {key: str(sum(int(suite.get(key, "0")) for suite in root)) for key in ("tests", *ENDS)}
    root.attrib.update(totals)
    for element in root.iter():
        element.attrib.update({key: NOT_IN_XML.sub("", text) for key, text in element.attrib.items()})
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _fill(
    suite: ET.Element, variant: VariantRecord, cases: Sequence[CaseRow], facts: Sequence[FactRow], findings: Sequence[FindingRow]
) -> None:
    name = suite.get("name", "")
    for case in cases:
        _case(suite, name, case)
    for fact in facts:
        _fact(suite, name, fact)
    _verdict(suite, name, variant, findings)
    ends = Counter(next((tag for tag in ENDS.values() if test.find(tag) is not None), "") for test in suite)
    suite.attrib.update({"tests": str(len(suite)), **{key: str(ends[tag]) for key, tag in ENDS.items()}})


def _case(suite: ET.Element, name: str, case: CaseRow) -> None:
    test = ET.SubElement(
        suite, "testcase", classname=f"{name}.{case.op}", name=case.case, time=f"{case.since_previous_ms / 1000:.6f}"
    )
    outcome = Outcome(case.outcome)
    if case.expected and outcome in {Outcome.FAIL, Outcome.SKIPPED}:
        ET.SubElement(test, "skipped", message=f"expected ({case.expected}): {case.reason} ({case.link}) {case.message}")
    elif outcome is Outcome.UNSUPPORTED:
        alone = case.message == REFERENCE_REFUSES
        ET.SubElement(test, "skipped", message=case.message if alone else "unsupported by the remote device")
    elif outcome.blame is not None:
        tag = "failure" if outcome is Outcome.FAIL else "error"
        ET.SubElement(test, tag, type=outcome, message=case.message)


def _fact(suite: ET.Element, name: str, fact: FactRow) -> None:
    test = ET.SubElement(suite, "testcase", classname=f"{name}.{fact.check}", name=fact.name)
    text = f"expected {fact.expected}, seen {fact.seen}"
    if not fact.ok and fact.enforced:
        ET.SubElement(test, "failure", message=text)
    elif not fact.ok:
        ET.SubElement(test, "system-out").text = NOT_IN_XML.sub("", f"not held against the run: {text}")


def _verdict(suite: ET.Element, name: str, variant: VariantRecord, findings: Iterable[FindingRow]) -> None:
    """One test for the variant itself, which holds the findings: there is a test even where nothing ran."""
    test = ET.SubElement(suite, "testcase", classname=name, name="verdict", time=f"{variant.wall_s:.3f}")
    if variant.status is Status.SKIPPED:
        ET.SubElement(test, "skipped", message=variant.reason)
    for finding in findings:
        tag = "failure" if finding.blame == Blame.PRODUCT else "error"
        ET.SubElement(test, tag, type=finding.finding, message=finding.text)
    if variant.status in {Status.ERROR, Status.INTERRUPTED, Status.RUNNING} and not len(test):
        ET.SubElement(test, "error", type=variant.status, message=variant.reason or variant.status)
