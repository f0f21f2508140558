"""The pages about file formats, made from the models: every key with its type, default and description."""

from __future__ import annotations

import enum
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from lab.scenario.expectations import Expectation, Supported, When
from lab.scenario.model import Build, Guest, Host, Implementation, Matrix, ScenarioFile, Thresholds, VariantTable
from lab.scenario.model_catalog import Cost
from lab.scenario.model_checks import CHECK_KINDS, Caught
from lab.scenario.section import CheckThresholds
from lab.scenario.toml_text import toml_value

KIND = {"kind": "Which kind of check."}
BEGIN, END = "<!-- keys: made by lab schema --reference -->", "<!-- end of keys -->"


def reference() -> str:
    """The tables of keys, as ``scenarios/README.md`` has them between its marks."""
    tables: list[tuple[str, type[BaseModel]]] = [
        ("The file", ScenarioFile), ("`[host]`", Host), ("`[guest]`", Guest), ("`[implementation]`", Implementation),
        ("One side of an implementation", Build), ("`[matrix]`", Matrix), ("`[[variants]]`", VariantTable),
        ("`[thresholds]`", Thresholds), ("`thresholds` of a check", CheckThresholds),
        *((f'`[[checks]]` with `kind = "{kind}"`', model) for kind, model in CHECK_KINDS.items()),
        ("`cost` of a `catalog` check", Cost), ("`caught` of a `lie` check", Caught),
        ("Expectations: `[[expect]]`", Expectation), ("Expectations: `when`", When), ("Expectations: `[[supported]]`", Supported),
    ]  # fmt: skip
    return "\n".join(line for title, model in tables for line in _table(title, model))


def with_reference(page: str) -> str:
    """The page with its tables made anew."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{reference()}\n{END}{rest.partition(END)[2]}"


def _table(title: str, model: type[BaseModel]) -> Iterator[str]:
    yield f"\n### {title}\n"
    yield f"{' '.join((model.__doc__ or '').split()).replace('``', '`')}\n"
    yield "| key | value | default | |"
    yield "|---|---|---|---|"
    for key, field in model.model_fields.items():
        told = " ".join((field.description or _of_table(field) or KIND.get(key, "")).split()).replace("``", "`")
        yield f"| `{key}` | {_type(field.annotation)} | {_default(field)} | {told} |".replace("|  |", "| |")


def _of_table(field: FieldInfo) -> str:
    """What the table that a key stands for says of itself."""
    model = field.annotation
    return model.__doc__ or "" if isinstance(model, type) and issubclass(model, BaseModel) else ""


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be given"
    value = field.get_default(call_default_factory=True)
    if value is None or value is PydanticUndefined or value in ((), {}, "") or isinstance(value, BaseModel):
        return ""
    return f"`{toml_value(str(value) if isinstance(value, enum.Enum) else value)}`"


def _type(annotation: Any) -> str:  # noqa: PLR0911 - one answer per kind of type
    """A type in a reader's words."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(inner[0])
    if origin is Literal:
        return " \\| ".join(f"`{toml_value(word)}`" for word in inner)
    if origin in {Union, types.UnionType}:
        return " or ".join(dict.fromkeys(_type(one) for one in inner if one is not type(None)))
    if origin is tuple:
        return f"list: {_type(inner[0])}"
    if origin is dict:
        return "table"
    if isinstance(annotation, type) and issubclass(annotation, enum.StrEnum):
        return " \\| ".join(f"`{word}`" for word in annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    return {str: "text", int: "whole number", float: "number", bool: "`true` \\| `false`"}.get(annotation, "value")
