"""``lab schema``: what scenario files may say, for editors and for readers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lab.bundle.writer import write_whole
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
) -> None:
    """The JSON Schema of scenario files: what keys there are, their values, defaults and meaning."""
    if write:
        for path, text in made().items():
            write_whole(path, text)
            typer.echo(path)
        return
    sys.stdout.write(f"{reference()}\n" if keys else expectations_schema() if expectations else scenario_schema())


def made() -> dict[Path, str]:
    """The files that are made from the models, as they have to be."""
    return {
        SCHEMA: scenario_schema(),
        EXPECTATIONS_SCHEMA: expectations_schema(),
        PAGE: with_reference(PAGE.read_text(encoding="utf-8")),
    }
