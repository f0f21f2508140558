"""``lab expectations``: what is known to go wrong, brought up to date by what a run has shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lab.bundle import read_bundle
from lab.bundle.writer import write_whole
from lab.cli.answer import answering, print_json
from lab.cli.words import given_path
from lab.scenario.proposals import edits, says_nothing
from lab.visible import visible

expectations = typer.Typer(
    name="expectations", help="Known failures of scenarios, and what must not be lost.", no_args_is_help=True
)


@expectations.callback()
def room() -> None:
    """Known failures of scenarios, and what must not be lost."""


@expectations.command()
def update(
    bundle: Annotated[Path, typer.Argument(parser=given_path, help="A run bundle.", show_default=False)],
    *,
    write: Annotated[bool, typer.Option("--write", help="Change the files, besides showing how.")] = False,
    supported: Annotated[bool, typer.Option("--supported", help="Begin lists of supported cases where there are none.")] = False,
    json: Annotated[bool, typer.Option("--json", help="End with one line of JSON.")] = False,
) -> None:
    """Propose an edit of the expectations: entries to add and to remove. Added ones need a reason and a link before they hold."""
    with answering(as_json=json, empty={"files": [], "written": False}):
        read = read_bundle(bundle)
        proposed = [edit for edit in edits(read, list_supported=supported) if edit.diff]
        for edit in proposed:
            typer.echo(visible(edit.diff), nl=False)
            if write:
                edit.path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(edit.path, edit.after)
        if json:
            files = [{"path": str(edit.path), "diff": edit.diff} for edit in proposed]
            print_json({"files": files, "written": write, "exit": 0})
        elif says_nothing(read):
            typer.echo("this run says nothing of expectations: none of its variants with cases came to its end")
        elif not proposed:
            typer.echo("the expectations are up to date with this run")
