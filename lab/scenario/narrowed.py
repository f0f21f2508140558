"""A scenario with only some of its cases: what ``lab run FILE --case ID`` makes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lab.ops.case import BadCaseId
from lab.ops.catalog import case_named
from lab.ops.upstream import op_of
from lab.scenario.model import Scenario
from lab.scenario.model_catalog import CatalogCheck
from lab.scenario.model_checks import AnyCheck, OpsCheck, StateCheck

OCCURRENCE = re.compile(r"#\d+$")
WRITTEN = re.compile(r"[A-Z0-9_]+\(\w+=.*\)(#\d+)?")


def narrowed(scenario: Scenario, cases: Sequence[str]) -> Scenario | None:
    """The scenario with checks of these cases only, and that of the state; None when it has no check that runs one of them.

    Args:
        scenario: as its file has it.
        cases: ids of the catalog, or cases as ``test-backend-ops`` writes them.

    Raises:
        BadCaseId: an id is of neither kind.
    """
    theirs = tuple(text for text in cases if is_upstream(text, scenario))
    ours = tuple(text for text in cases if text not in theirs)
    for text in ours:
        case_named(text)
    checks = tuple(_narrowed(scenario.checks, ours, tuple(OCCURRENCE.sub("", text) for text in theirs)))
    if all(isinstance(check, StateCheck) for check in checks):
        return None
    return scenario.model_copy(update={"checks": checks})


def lost(scenario: Scenario, cases: Sequence[str]) -> tuple[str, ...]:
    """Those of the cases that no check of the scenario runs."""
    return tuple(text for text in cases if not _runs(scenario, OpsCheck if is_upstream(text, scenario) else CatalogCheck))


def of_upstream(scenario: Scenario, cases: Sequence[str]) -> tuple[str, ...]:
    """Those of the cases that ``test-backend-ops`` runs: whether it has them only shows then."""
    return tuple(text for text in cases if is_upstream(text, scenario)) if _runs(scenario, OpsCheck) else ()


def _runs(scenario: Scenario, kind: type[OpsCheck | CatalogCheck]) -> bool:
    return any(isinstance(check, kind) for check in scenario.checks)


def is_upstream(text: str, scenario: Scenario) -> bool:
    """Whether a case is written as ``test-backend-ops`` does: its sizes stand in square brackets, which no id of ours has.

    One without sizes is taken for upstream's when it is no id of the catalog's and the scenario has a check for it.
    """
    if "[" in text or not any(isinstance(check, OpsCheck) for check in scenario.checks):
        return "[" in text
    try:
        case_named(text)
    except BadCaseId:
        return WRITTEN.fullmatch(text) is not None
    return False


def _narrowed(checks: Sequence[AnyCheck], ours: tuple[str, ...], theirs: tuple[str, ...]) -> Iterator[AnyCheck]:
    for check in checks:
        if isinstance(check, StateCheck):
            yield check
        elif isinstance(check, CatalogCheck) and ours:
            whole = {"ops": (), "include": (), "exclude": (), "share": 1.0, "min_cases": 1, "sends": ()}
            yield check.model_copy(update={**whole, "cases": ours})
        elif isinstance(check, OpsCheck) and theirs:
            patterns = tuple(re.escape(text.partition("(")[2].removesuffix(")")) + "$" for text in theirs)
            ops = tuple(dict.fromkeys(map(op_of, theirs)))
            yield check.model_copy(update={"ops": ops, "patterns": patterns, "min_cases": 1})
