"""What the truth table of a bundle shows: on how many cases both sides agree, and every case on which they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lab.bundle.rows import CaseRow, Supported, SupportRow

EXCUSED = "excused ("
"""How the message of a case begins that passes although an oracle refused it."""


@dataclass(frozen=True, slots=True)
class OpSupport:
    """An operation of which not every case is computed by both sides."""

    op: str
    cases: int
    native: int
    remote: int
    differ: int


@dataclass(frozen=True, slots=True)
class SupportView:
    """The truth table of a variant."""

    cases: int
    both: int
    neither: int
    unheard: int
    differences: tuple[SupportRow, ...]
    ops: tuple[OpSupport, ...]


def support_view(rows: Sequence[SupportRow]) -> SupportView:
    """Count the lines of a variant."""
    pairs = Counter((row.native, row.remote) for row in rows)
    return SupportView(
        cases=len(rows),
        both=pairs[Supported.YES, Supported.YES],
        neither=pairs[Supported.NO, Supported.NO],
        unheard=sum(count for pair, count in pairs.items() if Supported.UNKNOWN in pair),
        differences=tuple(row for row in rows if not row.agree),
        ops=tuple(one for one in by_operation(rows) if one.native != one.cases or one.remote != one.cases),
    )


def by_operation(rows: Sequence[SupportRow]) -> tuple[OpSupport, ...]:
    """The lines counted by operation, in alphabetical order."""
    grouped: dict[str, list[SupportRow]] = {}
    for row in rows:
        grouped.setdefault(row.op, []).append(row)
    return tuple(
        OpSupport(
            op,
            len(own),
            sum(row.native == Supported.YES for row in own),
            sum(row.remote == Supported.YES for row in own),
            sum(not row.agree for row in own),
        )
        for op, own in sorted(grouped.items())
    )


def excused_cases(cases: Sequence[CaseRow]) -> tuple[CaseRow, ...]:
    """Cases that passed by a named exception."""
    return tuple(case for case in cases if case.outcome == "pass" and case.message.startswith(EXCUSED))
