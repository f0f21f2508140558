"""Tables from TOML text and back: what the standard library reads with conditions, and does not write."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

TOO_DEEP = "tables or lists are nested too deeply"
BARE = re.compile(r"[A-Za-z0-9_-]+")
DELETE = "\x7f"
DEEPEST = 64
"""So many tables and lists may stand within each other: beyond that is nothing that somebody wrote."""


def toml_tables(text: str) -> dict[str, Any]:
    """The tables of a TOML text. Raises ``ValueError`` for what is none, is nested too deeply, or has numbers without end."""
    try:
        tables = tomllib.loads(text)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    level: list[Any] = [tables]
    for _ in range(DEEPEST):
        inner = (value for one in level for value in (one.values() if isinstance(one, dict) else one))
        level = [value for value in inner if isinstance(value, dict | list)]
        if not level:
            return tables
    raise ValueError(TOO_DEEP)


def toml_text(tables: Mapping[str, Any]) -> str:
    """The tables, plain values before tables, otherwise in their order."""
    return "\n".join(_lines(tables, ())).lstrip("\n") + "\n"


def toml_value(value: Any) -> str:
    """One value on one line."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False).replace(DELETE, "\\u007f")
        case Mapping():
            return "{ " + ", ".join(f"{_key(key)} = {toml_value(inner)}" for key, inner in value.items()) + " }" if value else "{}"
        case list() | tuple():
            return f"[{', '.join(map(toml_value, value))}]"
        case _:
            return str(value)


def _lines(tables: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    inner = {key: value for key, value in tables.items() if isinstance(value, Mapping)}
    listed = {key: value for key, value in tables.items() if _is_list_of_tables(value)}
    for key, value in tables.items():
        if key not in inner and key not in listed:
            yield f"{_key(key)} = {toml_value(value)}"
    for key, table in inner.items():
        yield f"\n[{_header((*path, key))}]"
        yield from _lines(table, (*path, key))
    for key, items in listed.items():
        for item in items:
            yield f"\n[[{_header((*path, key))}]]"
            yield from _lines(item, (*path, key))


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _header(path: tuple[str, ...]) -> str:
    return ".".join(map(_key, path))


def _key(key: str) -> str:
    return key if BARE.fullmatch(key) else toml_value(key)
