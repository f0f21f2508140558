"""What was expected of a case beforehand, and how cases are counted in the light of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from lab.bundle.outcome import Outcome
from lab.bundle.schema import CaseCounts

COLUMNS = ("ok", "unsupported", "fail", "error")
"""Counters of cases of which nothing was expected, the better before the worse."""


class ExpectedEnd(StrEnum):
    """What can be expected of a case other than to pass or to be unsupported."""

    FAIL = "fail"
    FLAKY = "flaky"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class Expected:
    """An entry of the expectations that holds here.

    Attributes:
        number: its position in the file.
        pattern: the text by which the file chooses cases, for messages.
        matches: whether it is about a case of a check.
        max_rate, retries, min_runs: of a flaky one: how many of its runs may fail, how often a failed case is tried again, and
            how many runs make a rate.
    """

    number: int
    end: ExpectedEnd
    reason: str
    link: str
    pattern: str
    matches: Callable[[str, str], bool]
    max_rate: float = 0.0
    retries: int = 0
    min_runs: int = 1

    @property
    def words(self) -> str:
        """Why, and where it is followed up."""
        return f"{self.reason} ({self.link})"


def column_of(outcomes: Iterable[Outcome], expected: Expected | None) -> str:
    """The counter for a case by all of its runs: its worst end, unless that was expected."""
    ends = set(outcomes)
    if expected is not None and expected.end is ExpectedEnd.SKIP:
        return Outcome.SKIPPED.column
    if expected is not None and ends <= {Outcome.PASS, Outcome.FAIL} and Outcome.FAIL in ends:
        if expected.end is ExpectedEnd.FAIL and ends == {Outcome.FAIL}:
            return "expected"
        if expected.end is ExpectedEnd.FLAKY and Outcome.PASS in ends:
            return "flaky"
    columns = {end.column for end in ends}
    return max(columns, key=COLUMNS.index) if columns <= set(COLUMNS) else Outcome.SKIPPED.column


def counted(ends: Mapping[tuple[str, str], Iterable[Outcome]], expected: Mapping[tuple[str, str], Expected]) -> CaseCounts:
    """Distinct cases by how they ended, all ends of each. Both are by check and case: an id of two checks is two cases."""
    return CaseCounts(**Counter(column_of(outcomes, expected.get(case)) for case, outcomes in ends.items()))
