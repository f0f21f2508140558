"""What arguments of operations no case of the catalog depends on: numbers and tensors that could be others unnoticed.

As a program it tells ``OP function argument``, a line each, of goldens that stay within their tolerance in all cases, whatever
number or tensor is changed on its way into the definition. Run in the host root.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lab.ggml.library import loaded_ggml
from lab.ggml.types import WHOLE_NUMBERS, Type
from lab.ops import judge
from lab.ops.case import Case
from lab.ops.catalog import all_cases
from lab.ops.compare import difference, tolerance_of
from lab.ops.golden import Definition, NoGolden

Key = tuple[str, str, int]


def others(argument: Any) -> list[Any]:
    """What an argument could be as well; nothing of words and whole numbers, of which most are shapes."""
    if isinstance(argument, float):
        return [argument * 1.25 if argument else 0.5, argument + 1, argument - 1]
    if isinstance(argument, np.ndarray) and argument.dtype.kind == "f":
        return [np.where(np.isfinite(argument), argument * 1.1 + 0.01, argument), np.roll(argument, 1)]
    return [np.roll(argument, 1)] if isinstance(argument, np.ndarray) else []


class Changing:
    """Definitions, of which one argument can be another: the ``variant``-th of what it could be."""

    def __init__(self) -> None:
        self.called: dict[tuple[str, int], int] = {}
        self.changed: tuple[str, int] | None = None
        self.variant = 0

    def over(self, name: str, inner: Callable[..., Any]) -> Callable[..., Any]:
        def compute(*arguments: Any) -> Any:
            for place, argument in enumerate(arguments):
                choices = others(argument)
                if choices:
                    self.called[name, place] = max(len(choices), self.called.get((name, place), 0))
                if choices and self.changed == (name, place):
                    chosen = choices[min(self.variant, len(choices) - 1)]
                    arguments = (*arguments[:place], chosen, *arguments[place + 1 :])
            return inner(*arguments)

        return compute


def unnoticed() -> Iterator[Key]:
    changing, ggml = Changing(), loaded_ggml()
    for name, one in judge.DEFINITIONS.items():
        judge.DEFINITIONS[name] = Definition(changing.over(name, one.compute), one.source)

    def goldens(case: Case) -> list[tuple[Any, Type]]:
        return list(judge.goldens(ggml, case, 1))

    open_keys: dict[Key, bool] = {}
    for case in all_cases():
        changing.changed, changing.called = None, {}
        try:
            right = goldens(case)
        except NoGolden:
            continue
        for (name, place), variants in tuple(changing.called.items()):
            key = case.op, name, place
            if not open_keys.setdefault(key, True):
                continue
            changing.changed = name, place
            for changing.variant in range(variants):
                try:
                    open_keys[key] = open_keys[key] and not differ(case, right, goldens(case))
                except NoGolden:  # another shape, for one
                    continue
    yield from (key for key, still_open in open_keys.items() if still_open)


def differ(case: Case, right: list[tuple[Any, Type]], got: list[tuple[Any, Type]]) -> bool:
    allowed = {
        kind: 0.0 if kind in WHOLE_NUMBERS else max(tolerance_of(case.op, kind), judge.LOOSER.get(case.op, 0.0))
        for _, kind in right
    }
    pairs = zip(right, got, strict=True)
    return any(a.size and not difference(b, a, kind, allowed[kind]).acceptable for (a, kind), (b, _) in pairs)


if __name__ == "__main__":
    for op, name, place in unnoticed():
        sys.stdout.write(f"{op} {name} {place}\n")
