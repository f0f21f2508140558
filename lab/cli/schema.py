"""``lab schema``: what scenario files may say, for editors and for readers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from lab.bundle.writer import write_whole
from lab.cli.answer import answering, print_json
from lab.paths import SCENARIOS
from lab.scenario.json_schema import expectations_schema, scenario_schema
from lab.scenario.reference import reference, with_reference

SCHEMA = SCENARIOS / "scenario.schema.json"
EXPECTATIONS_SCHEMA = SCENARIOS / "expectations.schema.json"
PAGE = SCENARIOS / "README.md"


def schema(
    *,
    expectations: Annotated[bool, typer.Option("--expectations", help="That of expectations, not of scenarios.")] = False,
    keys: Annotated[bool, typer.Option("--reference", help="Tables of all keys for readers, not the schema.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Write the files in scenarios/ anew.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON, with the schema in it.")] = False,
) -> None:
    """The JSON Schema of scenario files: what keys there are, their values, defaults and meaning."""
    with answering(as_json=as_json):
        answer: dict[str, Any]
        if write:
            texts = made()
            for path, text in texts.items():
                write_whole(path, text)
            answer, shown = {"written": [str(path) for path in texts]}, "".join(f"{path}\n" for path in texts)
        elif keys:
            answer, shown = {"reference": reference()}, f"{reference()}\n"
        else:
            text = expectations_schema() if expectations else scenario_schema()
            answer, shown = {"schema": json.loads(text)}, text
        if as_json:
            print_json({**answer, "exit": 0})
        else:
            sys.stdout.write(shown)


def made() -> dict[Path, str]:
    """The files that are made from the models, as they have to be."""
    return {
        SCHEMA: scenario_schema(),
        EXPECTATIONS_SCHEMA: expectations_schema(),
        PAGE: with_reference(PAGE.read_text(encoding="utf-8")),
    }
