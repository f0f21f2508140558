"""The expression of ``-k``: words found in a name, joined by ``and``, ``or``, ``not`` and parentheses, as pytest has it."""

from __future__ import annotations

import re
from collections.abc import Callable

from lab.errors import ConfigError, ConfigProblem

Matcher = Callable[[str], bool]
MOST_WORDS = 200
TOKEN = re.compile(r"\s*(?:(\()|(\))|([^\s()]+))")


def keyword_matcher(expression: str) -> Matcher:
    """A function that tells whether a name matches; an empty expression matches every name.

    Raises:
        ConfigError: the expression does not parse.
    """
    if not expression.strip():
        return lambda _name: True
    tokens = [match[0].strip() for match in TOKEN.finditer(expression)]
    if len(tokens) > MOST_WORDS:
        raise _refused(expression, f"its word {MOST_WORDS + 1}, so long is none")
    matcher, rest = _either(tokens, expression)
    if rest:
        raise _refused(expression, rest[0])
    return matcher


def _either(tokens: list[str], expression: str) -> tuple[Matcher, list[str]]:
    left, tokens = _both(tokens, expression)
    while tokens[:1] == ["or"]:
        right, tokens = _both(tokens[1:], expression)
        left = _joined(any, left, right)
    return left, tokens


def _both(tokens: list[str], expression: str) -> tuple[Matcher, list[str]]:
    left, tokens = _one(tokens, expression)
    while tokens[:1] == ["and"]:
        right, tokens = _one(tokens[1:], expression)
        left = _joined(all, left, right)
    return left, tokens


def _one(tokens: list[str], expression: str) -> tuple[Matcher, list[str]]:
    match tokens:
        case ["not", *rest]:
            inner, rest = _one(rest, expression)
            return (lambda name: not inner(name)), rest
        case ["(", *rest]:
            inner, rest = _either(rest, expression)
            if rest[:1] != [")"]:
                raise _refused(expression, "the end, where a ) is missing")
            return inner, rest[1:]
        case [word, *rest] if word not in {"and", "or", ")"}:
            return (lambda name: word.lower() in name.lower()), rest
        case _:
            raise _refused(expression, tokens[0] if tokens else "the end")


def _joined(rule: Callable[[list[bool]], bool], left: Matcher, right: Matcher) -> Matcher:
    return lambda name: rule([left(name), right(name)])


def _refused(expression: str, at: str) -> ConfigError:
    problem = ConfigProblem("-k", f"{expression!r} cannot be read at {at}", "words joined by and, or, not and parentheses")
    return ConfigError("command line", [problem])
