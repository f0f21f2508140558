"""What the liar can be told, read as it reads that itself (backend_impl/liar/lies.cpp): what it refuses need no guest find out."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from lab.errors import ConfigProblem
from lab.ops.catalog import FAMILY_OF
from lab.scenario.problem import meant
from lab.scenario.section import HONEST

SPACE = " \t\r"
OP, LAST = "op", "last"
LONGEST_NUMBER = 100
RESULT = ("nth", "once")
"""Keys of lies about results, which can be counted."""
KEYS = {
    "flip": ("bit", "element", *RESULT),
    "wrong": ("element", *RESULT),
    "stale": RESULT,
    "fail": RESULT,
    "deny": (),
    "claim": (),
    "slow": ("ms", *RESULT),
    "hang": RESULT,
    "crash": RESULT,
    "leak": ("bytes", *RESULT),
}
"""Of each kind of lie, beside the op, which any may have."""
NEEDED = {"flip": "bit", "slow": "ms", "leak": "bytes"}
"""The key that has to be there."""
BEYOND_CATALOG = (
    "ADD1 ADD_REL_POS CUSTOM DIAG_MASK_ZERO FLASH_ATTN_BACK GET_REL_POS IM2COL_BACK MAP_CUSTOM1 MAP_CUSTOM2 MAP_CUSTOM3 NONE "
    "PERMUTE POOL_2D_BACK RESHAPE TRANSPOSE VIEW WIN_PART WIN_UNPART"
)
GGML_OPS = frozenset(FAMILY_OF) - {"GRAPH"} | frozenset(BEYOND_CATALOG.split())
"""All operations of ggml's, by the names that tensors have: UNARY and GLU are none, for each of theirs has its own."""


def parts_of(text: str) -> tuple[str, ...]:
    """Lies one by one, or that the liar is to be honest; comments and what is empty are left out."""
    parts = (part.strip(SPACE) for line in text.split("\n") for part in line.partition("#")[0].split(";"))
    return tuple(part for part in parts if part)


def mistakes(key: str, text: str) -> Iterator[ConfigProblem]:
    """What is wrong with what the liar is told at a key path of the scenario."""
    told = parts_of(text)
    lies = [part for part in told if part != HONEST]
    if not told:
        yield ConfigProblem(key, "tells the liar nothing", f"{HONEST!r} is what an honest one is told")
    if lies and HONEST in told:
        yield ConfigProblem(key, f"{HONEST!r} stands alone")
    for lie in lies:
        for message, hint in _of_lie(lie):
            yield ConfigProblem(key, f"{lie!r}: {message}", hint)


def _of_lie(lie: str) -> Iterator[tuple[str, str | None]]:
    """A message and a hint for each mistake in one lie."""
    word, colon, rest = lie.partition(":")
    word = word.strip(SPACE)
    if word not in KEYS:
        yield f"there is no lie {word!r}", meant(word, [*KEYS, HONEST])
        return
    seen: list[str] = []
    for pair in rest.split(",") if colon else ():
        name, equals, value = (part.strip(SPACE) for part in pair.partition("="))
        if not equals:
            yield f"{name!r} is no key=value", None
        elif name in seen:
            yield f"{name} stands twice", None
        elif name not in (OP, *KEYS[word]):
            yield f"{word} has no key {name!r}", meant(name, (OP, *KEYS[word]))
        else:
            yield from _of_value(name, value)
        seen.append(name)
    if word in NEEDED and NEEDED[word] not in seen:
        yield f"it needs {NEEDED[word]}=N", None


def _of_value(key: str, value: str) -> Iterator[tuple[str, str | None]]:
    match key:
        case "op":
            if value not in GGML_OPS:
                near = get_close_matches(value.upper(), GGML_OPS, 1)
                yield f"ggml has no op {value!r}", f"did you mean {near[0]}?" if near else "lab ops lists most of them"
        case "once":
            if not value.startswith("/"):
                yield "once has to be an absolute path", None
        case _ if not (value.isascii() and value.isdigit() and len(value) <= LONGEST_NUMBER and int(value) < 1 << 64):
            if (key, value) != ("element", LAST):
                yield f"{key} is {value!r}, which is no number", None
        case "nth" if int(value) == 0:
            yield "nth counts from 1", None
