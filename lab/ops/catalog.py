"""Every case the lab has, drawn from the families' tables. Nothing here touches ggml."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from lab.ops.case import Case, Family, Row, case_of, parsed
from lab.ops.families import elementwise, graphs, grid, matrix, recurrent, rows, selected, spatial
from lab.ops.hashes import blake2b

FAMILIES: tuple[Family, ...] = (
    *elementwise.FAMILIES,
    *rows.FAMILIES,
    *matrix.FAMILIES,
    *spatial.FAMILIES,
    *recurrent.FAMILIES,
    *graphs.FAMILIES,
)
FAMILY_OF = {op: family for family in FAMILIES for op in family.ops}

DATA_PAGE = 0x1830000
PIECES = (1, 4, 4091, 4095, 4096, 4097, 16379, 16380, 16381, 16383, 16384, 16385)
"""Transfer sizes around the command of 4 KiB and the reply of 16 KiB, with and without its four bytes of status."""
AROUND_PAGE = (DATA_PAGE - 1, DATA_PAGE, DATA_PAGE + 1)
LONG = DATA_PAGE // 4 + 64
EDGES: tuple[tuple[str, Row], ...] = (
    *(("SCALE", row) for row in grid(ne=((8192,),), x=(2.0,), transfer=PIECES)),
    *(("GET_ROWS", row) for row in grid(type=("f16",), m=(40,), r=(40,), transfer=PIECES)),
    *(("ADD", row) for row in grid(a=((37,),), b=((37,),), transfer=(1, 3, 147))),
    *(("SCALE", row) for row in grid(ne=((LONG,),), x=(2.0,), transfer=AROUND_PAGE)),
    *(("ADD", row) for row in grid(b=((10,), (10, 5, 4, 3)), type=("f32", "f16"), rounds=(2,))),
    *(("MUL_MAT", row) for row in grid(type=("f32", "q4_0"), n=(1, 4), rounds=(2,))),
)
"""Cases of ordinary operations in which the point is the transfers (as ``pieces`` in batch.py cuts them), or running again."""


@functools.cache
def all_cases() -> tuple[Case, ...]:
    """The whole catalog, family by family; every case once."""
    return tuple({case.id: case for case in _drawn()}.values())


def cases_of(op: str) -> tuple[Case, ...]:
    """The catalog's cases of one operation."""
    return tuple(case for case in all_cases() if case.op == op)


def case_named(text: str) -> Case:
    """The case of an id, whether the catalog has it or only its family could. Raises ``BadCaseId``."""
    return parsed(text, FAMILY_OF)


def drawn_share(cases: Sequence[Case], seed: int, share: float) -> tuple[Case, ...]:
    """That part of the cases, at least one of every operation, the same for the same seed."""
    if share >= 1:
        return tuple(cases)

    def rank(case: Case) -> bytes:
        return blake2b(f"{seed}\0{case.id}".encode(), digest_size=8).digest()

    ranked = sorted(cases, key=rank)
    first = {case.op: case for case in reversed(ranked)}
    chosen = {case.id for case in (*ranked[: int(len(ranked) * share)], *first.values())}
    return tuple(case for case in cases if case.id in chosen)


def _drawn() -> Iterator[Case]:
    for family in FAMILIES:
        for op in family.ops:
            for row in family.rows(op):
                yield case_of(family, op, row)
    for op, row in (*EDGES, *selected.rows()):
        yield case_of(FAMILY_OF[op], op, row)
