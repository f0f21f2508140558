"""The commands of ``lab``. Each reads its options, calls the rooms below, and answers; nothing is decided here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lab import __version__, paths
from lab.cli.answer import (
    EMPTY,
    answered_usage,
    answering,
    print_json,
    run_answer,
    tell_capabilities,
    tell_coverage,
    tell_dry_run,
    tell_run,
    tell_setup,
    told_findings,
)
from lab.cli.bench import EMPTY as NOTHING_MEASURED
from lab.cli.bench import BenchOptions, bench_answer, bench_plan, bench_record, tell_bench
from lab.cli.cases import LIBRARY_OPTION, SEED_OPTION, answer_cases, require_cases
from lab.cli.compare import EMPTY as NOTHING_COMPARED
from lab.cli.compare import compare
from lab.cli.display import progress_display
from lab.cli.expectations import expectations
from lab.cli.history import EMPTY as NO_HISTORY
from lab.cli.history import history
from lab.cli.output import forget_no_size, kept_output
from lab.cli.page import written_page
from lab.cli.schema import schema
from lab.cli.setup import set_up
from lab.cli.trace import trace
from lab.cli.words import given_path
from lab.errors import ConfigError, ConfigProblem
from lab.interruption import deadly
from lab.ops.coverage import coverage
from lab.scenario.boots_at_once import MOST_JOBS
from lab.scenario.dry_run import dry_run
from lab.scenario.machine import capability_records, real_platform
from lab.scenario.model import Guest
from lab.scenario.plan import Choice, planned
from lab.scenario.resume import earlier_run
from lab.scenario.runner import RunOutcome, run
from lab.visible import is_utf8
from reports import newest_bundle, rendered_report

DEFAULT_IMAGE = str(Guest.model_fields["image"].default)

app = typer.Typer(
    name="lab",
    help="Boots guests with virtio-gpu, remotes real ggml ops to the host, and judges what comes back.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.add_typer(trace)
app.add_typer(expectations)
app.command()(schema)
app.command()(compare)
app.command()(history)

Files = Annotated[list[Path], typer.Argument(parser=given_path, help="Scenario files, or folders of them.", show_default=False)]
Settings = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key, as in guest.cpus=4.")]
Keyword = Annotated[str, typer.Option("-k", metavar="EXPR", help="Only matching scenario/variant: words, and, or, not.")]
Variants = Annotated[list[str] | None, typer.Option("--variant", metavar="ID", help="Only this variant; may be repeated.")]
Cases = Annotated[list[str] | None, typer.Option("--case", metavar="ID", help="Only this case; may be repeated.")]
Json = Annotated[bool, typer.Option("--json", help="End with one line of JSON.")]
Image = Annotated[str, typer.Option("--image", metavar="NAME", help="Guest image, by the name of its recipe in images/.")]


@app.command()
def doctor(*, json: Json = False, image: Image = DEFAULT_IMAGE) -> None:
    """What this host can do: yes or no, how it was probed, what to do about a no."""
    with answering(as_json=json, empty={"capabilities": []}):
        with progress_display() as progress, progress.step("looking at what this host can do"):
            capabilities = capability_records(image)
        if json:
            print_json({"capabilities": [one.model_dump() for one in capabilities]})
        else:
            tell_capabilities(capabilities)


@app.command()
def setup(
    *,
    image: Image = DEFAULT_IMAGE,
    refresh: Annotated[bool, typer.Option("--refresh", help="Build root and image anew from what the mirror has today.")] = False,
    update_lock: Annotated[
        bool, typer.Option("--update-lock", help="Write the lock files of root and image in images/ anew.")
    ] = False,
    json: Json = False,
) -> None:
    """Host root, guest image and native payloads: from the cache, else built."""
    with answering(as_json=json):
        with progress_display() as progress:
            made = set_up(image, progress, refresh=refresh, update_lock=update_lock)
        if json:
            print_json(made)
        else:
            tell_setup(made)


@app.command()
def ops(
    *,
    cases: Annotated[
        list[str] | None,
        typer.Option("--case", metavar="ID", help="Compute this case with no guest, three oracles; may be repeated."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(SEED_OPTION, metavar="N", help="Of the data that --case computes with (1).", show_default=False)
    ] = None,
    library: Annotated[
        str | None,
        typer.Option(
            LIBRARY_OPTION,
            metavar="LIBRARY",
            help="cpu (the default), vulkan or a path: the ggml library behind the host library that --case computes with.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """The op catalog: cases per operation, what upstream has and the catalog lacks. With --case: what three oracles say of it."""
    if cases:
        answer_cases(cases, 1 if seed is None else seed, "cpu" if library is None else library, as_json=json)
    with answering(as_json=json, empty={"cases": 0, "ops": {}, "missing": []}):
        require_cases({SEED_OPTION: seed, LIBRARY_OPTION: library})
        known = coverage()
        if json:
            missing = [{"op": one.op, "why": one.why} for one in known.missing]
            print_json({"cases": known.cases, "ops": dict(known.per_op), "missing": missing})
        else:
            tell_coverage(known)


@app.command()
def bench(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rounds: a look, not figures to quote.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Exit with status 1 when a target is not met, 2 when it was not measured.")
    ] = False,
    guest_library: Annotated[
        Path | None, typer.Option("--guest-library", metavar="PATH", parser=given_path, help="A second guest library.")
    ] = None,
    host_library: Annotated[
        Path | None, typer.Option("--host-library", metavar="PATH", parser=given_path, help="A second host library.")
    ] = None,
    only: Annotated[str | None, typer.Option("--only", metavar="PLACE", help="Measure in one place: loopback or vm.")] = None,
    parts: Annotated[
        list[str] | None,
        typer.Option("--part", metavar="PART", help="Only census, calls, rates, pause, transfers, tokens or idle."),
    ] = None,
    idle: Annotated[float | None, typer.Option("--idle", metavar="SECONDS", help="How long an idle context is watched.")] = None,
    settings: Settings = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", parser=given_path, help="Where bundles go.", show_default=False)
    ] = paths.RUNS,
    json: Json = False,
) -> None:
    """The transport benchmark, loopback and VM; a second implementation is measured in turns with ours and printed as ratios."""
    asked = BenchOptions(quick, check, idle, only, tuple(parts or ()), guest_library, host_library)
    choice = Choice(tuple(settings or ()), command="bench", options=asked.words)
    with answering(as_json=json, empty=(answer := dict(NOTHING_MEASURED))):
        plan = bench_plan(choice, asked)
        with progress_display() as progress:
            outcome = run(plan, choice, out, progress, real_platform())
            record = bench_record(outcome.folder, outcome.record)
            line = bench_answer(outcome.folder, outcome.record, record)
            page = written_page(outcome.folder, progress, answer, line)
        if record is not None and not json:
            tell_bench(record)
        if json:
            print_json(line)
        else:
            tell_run(outcome.folder, outcome.record, page, told_findings(outcome.folder))
    raise typer.Exit(outcome.record.exit or 0)


@app.command(name="run")
def run_command(
    files: Files,
    *,
    keyword: Keyword = "",
    settings: Settings = None,
    variants: Variants = None,
    cases: Cases = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", parser=given_path, help="Where bundles go.", show_default=False)
    ] = paths.RUNS,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume", metavar="BUNDLE", parser=given_path, help="Go on with a run that was cut off.", show_default=False
        ),
    ] = None,
    dry: Annotated[bool, typer.Option("--dry-run", help="Print what would be started, and start none of it.")] = False,
    jobs: Annotated[int, typer.Option("-j", metavar="N", min=1, max=MOST_JOBS, help="Boots at the same time.")] = 1,
    json: Json = False,
) -> None:
    """Run scenarios. Exit status: 0 all as expected, 1 the product failed, 2 the lab failed, 3 nothing could run here."""
    choice = Choice(tuple(settings or ()), keyword, tuple(variants or ()), tuple(cases or ()))
    with answering(as_json=json, empty=(answer := dict(EMPTY))):
        plan = planned(files, choice)
        earlier = earlier_run(resume, plan) if resume else None
        if dry:
            tell_dry_run(dry_run(plan, out), as_json=json)
            return
        with progress_display(in_lines=jobs > 1) as progress:
            outcome = run(plan, choice, out, progress, real_platform(), earlier=earlier, jobs=jobs)
            page = written_page(outcome.folder, progress, answer, run_answer(outcome.folder, outcome.record))
        _answer_run(outcome, page, as_json=json)
    raise typer.Exit(outcome.record.exit or 0)


@app.command()
def shell(
    file: Annotated[Path, typer.Argument(parser=given_path, help="A scenario file.", show_default=False)],
    *,
    settings: Settings = None,
    variant: Annotated[str, typer.Option("--variant", metavar="ID", help="Which variant; the first if not given.")] = "",
    command: Annotated[str, typer.Option("--command", "-c", help="Run this in the guest instead of a shell.")] = "",
    json: Json = False,
) -> None:
    """Boot a scenario and give a shell in its guest, with the guest library shipped and its variables set.

    At a terminal, Enter ~ . leaves a guest that does not answer, as with ssh.
    """
    with deadly():
        from lab.cli.shell import guest_shell  # noqa: PLC0415 - SSH, which other commands need at a boot alone

    choice = Choice(tuple(settings or ()), "", (variant,) if variant else ())
    with answering(as_json=json):
        plan = planned([file], choice)
        status = guest_shell(plan[0].variants[0], command)
        if json:
            print_json({"exit": status})
    raise typer.Exit(status)


@app.command()
def report(
    bundles: Annotated[
        list[Path] | None, typer.Argument(parser=given_path, help="Run bundles; the newest if none.", show_default=False)
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Write the report pages of bundles, also of those that were cut off."""
    pages: list[str] = []
    with answering(as_json=json, empty=(answer := {"reports": pages})):
        for folder in bundles or [_newest()]:
            pages.append(str(rendered_report(folder)))
            if not json:
                typer.echo(pages[-1])
        if json:
            print_json(answer)


@app.callback(invoke_without_command=True)
def options(
    *,
    version: Annotated[bool, typer.Option("--version", help="Show the version.", is_eager=True)] = False,
) -> None:
    """Options that stand before a command."""
    with answering(as_json="--json" in sys.argv):
        refuse_what_is_no_text(sys.argv[1:])
    if version:
        typer.echo(f"virtgpu-lab {__version__}")
        raise typer.Exit


def refuse_what_is_no_text(words: Sequence[str]) -> None:
    """What a run was asked for is written into its bundle. Raises ``ConfigError`` for an argument that cannot be."""
    problems = [
        ConfigProblem(repr(word), "is no text in UTF-8", "rename it, or write it otherwise") for word in words if not is_utf8(word)
    ]
    if problems:
        raise ConfigError("lab", problems)


def main() -> None:
    """The program ``lab``."""
    forget_no_size()
    with (
        kept_output(),
        answered_usage({"run": EMPTY, "bench": NOTHING_MEASURED, "compare": NOTHING_COMPARED, "history": NO_HISTORY}),
    ):
        app()


def _answer_run(outcome: RunOutcome, page: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(run_answer(outcome.folder, outcome.record))
        return
    tell_run(outcome.folder, outcome.record, page, told_findings(outcome.folder))


def _newest() -> Path:
    found = newest_bundle(paths.RUNS)
    if found is None:
        raise ConfigError(paths.RUNS, [ConfigProblem("", "there is no run yet", "lab run scenarios/smoke.toml makes one")])
    return found
