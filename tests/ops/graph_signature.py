"""What a graph computes, in words that do not depend on where anything lies: operations, parameters, types, sizes, strides.

As a program it tells those of the catalog's cases whose ids come on its standard input: ``ID<tab>signature`` a line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lab.ggml.library import TensorStruct, loaded_ggml
from lab.ops.built import built_case, new_contexts
from lab.ops.catalog import case_named

VIEWS = frozenset({36, 37, 38, 39})
"""ggml_op's numbers of RESHAPE, VIEW, PERMUTE and TRANSPOSE in libggml 0.27: they compute nothing."""


def signature(nodes: Iterable[int], tensor: Callable[[int], Any]) -> str:
    """The computing nodes of a graph, each with all that it is made of."""
    return "; ".join(described(node, tensor) for node in nodes if tensor(node).op and tensor(node).op not in VIEWS)


def described(address: int, tensor: Callable[[int], Any]) -> str:
    """A tensor and its sources."""
    one = tensor(address)
    sizes = "x".join(map(str, one.ne))
    strides = ",".join(map(str, one.nb))
    place = f" view+{one.view_offs}" if one.view_src else ""
    words = f"{one.type}:{sizes}:{strides}{place}"
    if not one.op:
        return f"({words})"
    parameters = ",".join(map(str, trimmed(list(one.op_params))))
    sources = " ".join(described(source, tensor) for source in one.src if source)
    return f"{one.op}[{parameters}]({words} <- {sources})"


def trimmed(values: Sequence[int]) -> Sequence[int]:
    """Without the zeros at the end."""
    end = len(values)
    while end and not values[end - 1]:
        end -= 1
    return values[:end]


def main() -> None:
    ggml = loaded_ggml()
    for text in sys.stdin.read().splitlines():
        with new_contexts(ggml) as contexts:
            built = built_case(contexts, case_named(text), None, 0)
            sys.stdout.write(f"{text}\t{signature(built.nodes, TensorStruct.from_address)}\n")


if __name__ == "__main__":
    main()
