"""What the engine makes of a batch that fails as a whole, on a device that is played."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from lab.errors import LabError
from lab.ops import engine
from lab.ops.case import Case
from lab.ops.catalog import case_named
from lab.ops.engine import Engine
from lab.ops.result import COMPUTED, ERROR, UNSUPPORTED, Result

CASES = tuple(map(case_named, ("ADD()", "MUL()", "SUB()")))
TOGETHER = "3 cases together: graph 1 failed"


@dataclass
class Played(Engine):
    """Computes nothing; graphs of these numbers fail, and so does each that has the broken case."""

    fails: frozenset[int] = frozenset({1})
    broken: str = ""
    graphs: list[tuple[str, ...]] = field(default_factory=list)

    def require_life(self) -> None:
        pass

    def _build(self, _contexts: Any, cases: Sequence[Case]) -> Any:
        return [SimpleNamespace(case=case, supported=True) for case in cases], {
            case.id: self._result(case, UNSUPPORTED) for case in cases
        }

    def _compute(self, _contexts: Any, built: Sequence[Any], _rounds: int, _transfer: int) -> dict[str, Result]:
        names = tuple(one.case.id for one in built)
        self.graphs.append(names)
        if len(self.graphs) in self.fails or self.broken in names:
            raise LabError(f"graph {len(self.graphs)} failed")
        return {name: Result(name, COMPUTED, batch=self.batches) for name in names}


@pytest.fixture(autouse=True)
def _no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def none(_ggml: object) -> Iterator[None]:
        yield None

    monkeypatch.setattr(engine, "new_contexts", none)


def played(**words: Any) -> Played:
    backend: Any = SimpleNamespace(device=SimpleNamespace(ggml=None))
    return Played(backend, 1, **words)


def told(one: Played, *cases: Case) -> list[tuple[str, str]]:
    return [(result.outcome, result.text) for result in one.run(cases or CASES)]


def test_batch_that_fails_although_each_of_its_cases_is_computed_alone_is_told() -> None:
    one = played()
    assert told(one) == [(COMPUTED, TOGETHER)] * 3
    assert one.graphs == [("ADD()", "MUL()", "SUB()"), ("ADD()",), ("MUL()",), ("SUB()",)]


def test_batch_that_fails_for_one_of_its_cases_is_told_by_that_one() -> None:
    expected = [(COMPUTED, ""), (ERROR, "graph 3 failed"), (COMPUTED, "")]
    assert told(played(broken="MUL()")) == expected
    assert told(played(fails=frozenset({1, 3}))) == expected


def test_case_that_fails_alone_is_tried_once() -> None:
    one = played()
    assert told(one, CASES[0]) == [(ERROR, "graph 1 failed")]
    assert one.graphs == [("ADD()",)]
    assert told(played(fails=frozenset())) == [(COMPUTED, "")] * 3
