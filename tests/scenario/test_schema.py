from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from typer.testing import CliRunner

from lab.cli.app import app
from lab.cli.schema import made
from lab.paths import SCENARIOS
from lab.scenario.expectations import Expectation, When
from lab.scenario.json_schema import scenario_schema
from lab.scenario.model import Build, Defaults, Guest, Host, ScenarioFile, Thresholds, VariantTable
from lab.scenario.model_checks import CHECK_KINDS
from lab.scenario.reference import _table, reference


@pytest.mark.parametrize("path", sorted(made()), ids=lambda path: path.name)
def test_files_made_from_the_models_are_up_to_date(path: Any) -> None:
    assert path.read_text(encoding="utf-8") == made()[path], "run lab schema --write"


def test_every_key_is_in_the_schema_with_its_description() -> None:
    schema = json.loads(scenario_schema())
    assert set(schema["properties"]) == set(ScenarioFile.model_fields)
    assert schema["additionalProperties"] is False
    for model in (Host, Guest, *CHECK_KINDS.values()):
        properties = schema["$defs"][model.__name__]["properties"]
        assert set(properties) == set(model.model_fields)
    assert "best variant" in schema["$defs"]["Host"]["properties"]["ggml_library"]["description"]
    assert schema["$defs"]["Capset"]["enum"] == ["venus", "apir"]


def tables_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The tables that a value may be or hold, and those within them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from tables_in(field.annotation)
    for inner in get_args(annotation):
        yield from tables_in(inner)


@pytest.mark.parametrize("model", [*CHECK_KINDS.values(), ScenarioFile], ids=lambda model: model.__name__)
def test_every_table_within_another_has_its_keys_in_the_reference(model: type[BaseModel]) -> None:
    """But for ``[defaults]``, which the page tells in words."""
    page = reference()
    for table in set(tables_in(model)) - {Defaults}:
        assert " ".join((table.__doc__ or "").split()).replace("``", "`") in page, table


def unknown_keys(value: Any, schema: dict[str, Any], whole: dict[str, Any], path: str = "") -> Iterator[str]:  # noqa: C901
    """Keys that a document has and its schema has not, or the other way round: as much of JSON Schema as our own uses."""
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    for choices in ("anyOf", "oneOf"):
        if choices in schema:
            found = [list(unknown_keys(value, one, whole, path)) for one in schema[choices]]
            if all(found):
                yield from min(found, key=len)
            return
    if isinstance(value, dict):
        yield from (f"{path}.{key} is missing" for key in schema.get("required", ()) if key not in value)
        known = schema.get("properties", {})
        for key, inner in value.items():
            extra = schema.get("additionalProperties", True)
            if key in known:
                yield from unknown_keys(inner, known[key], whole, f"{path}.{key}")
            elif extra is False or schema.get("type") not in {"object", None}:
                yield f"{path}.{key}"
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from unknown_keys(inner, schema.get("items", {}), whole, f"{path}[{number}]")


def test_the_projects_scenarios_fit_the_schema_and_a_wrong_key_does_not() -> None:
    schema = json.loads(scenario_schema())
    files = sorted(SCENARIOS.glob("*.toml"))
    assert files
    for path in files:
        assert list(unknown_keys(tomllib.loads(path.read_text()), schema, schema)) == [], path
    wrong = {"guest": {"cpsu": 1}, "defaults": {"checks": {"ops": {"min_case": 1}}}, "variants": [{"name": "v", "hots": {}}]}
    assert list(unknown_keys(wrong, schema, schema)) == [
        ".name is missing",
        ".guest.cpsu",
        ".defaults.checks.ops.min_case",
        ".variants[0].hots",
    ]


def test_schema_and_reference_are_printed() -> None:
    done = CliRunner().invoke(app, ["schema"])
    assert done.output == scenario_schema()
    assert '"Expectation"' in CliRunner().invoke(app, ["schema", "--expectations"]).output
    assert "| `memory_mib` | whole number | `2048` |" in CliRunner().invoke(app, ["schema", "--reference"]).output


@pytest.mark.parametrize("model", [ScenarioFile, Host, Guest, Build, Thresholds, VariantTable, Expectation, When])
def test_every_key_is_documented(model: type[BaseModel]) -> None:
    rows = [line for line in "\n".join(_table("x", model)).splitlines() if line.startswith("| `")]
    assert len(rows) == len(model.model_fields)
    assert [row for row in rows if row.endswith("| |")] == []
