"""The JSON Schema of scenario files, for editors; made from the models, whose descriptions are its texts."""

from __future__ import annotations

import json
from typing import Any

from lab.scenario.expectations import ExpectationsFile
from lab.scenario.model import ScenarioFile
from lab.scenario.model_checks import CHECK_KINDS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def scenario_schema() -> str:
    """The schema as it is checked in: ``scenarios/scenario.schema.json``."""
    schema = ScenarioFile.model_json_schema()
    definitions = schema["$defs"]
    for kind, model in CHECK_KINDS.items():
        of_kind = definitions[model.__name__]
        parameters = {key: value for key, value in of_kind["properties"].items() if key != "kind"}
        # [defaults], or a file that is extended, may say what otherwise must be said
        of_kind["required"] = ["kind"]
        definitions["Defaults"]["properties"]["checks"].setdefault("properties", {})[kind] = {
            "type": "object", "properties": parameters, "additionalProperties": False,
        }  # fmt: skip
    definitions["Defaults"]["properties"]["checks"]["additionalProperties"] = False
    schema["required"] = ["name"]
    return _text("A scenario of virtgpu-lab", schema)


def expectations_schema() -> str:
    """The schema as it is checked in: ``scenarios/expectations.schema.json``."""
    return _text("Expectations of a scenario of virtgpu-lab", ExpectationsFile.model_json_schema())


def _text(title: str, schema: dict[str, Any]) -> str:
    return json.dumps({"$schema": DIALECT, **schema, "title": title}, indent=1, ensure_ascii=False) + "\n"
