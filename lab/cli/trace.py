"""``lab trace``: conversations of guest and host, recorded in a run, read, and played again without a VM.

``show`` needs nothing but the file. ``replay`` plays it against a host library in the host root and ends with 1 when an answer
differs in what is judged: return codes (but negotiate's, which the component answers), the status of graphs, the data that
tensors give back.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from lab import paths
from lab.apir.replay import is_played
from lab.apir.trace import Command, Ioctl, Row, read_trace, shown
from lab.cli.answer import answering, print_json, run_answer, tell_run, told_findings
from lab.cli.display import progress_display
from lab.cli.page import written_page
from lab.cli.words import given_path
from lab.deadline import Deadline
from lab.errors import BuildError, ConfigError, ConfigProblem
from lab.host.allowance import processor_count
from lab.host.native import native_payloads
from lab.host.outside import absolute, outside
from lab.host.root import Bind, host_root
from lab.host.shaders import shader_binds
from lab.ops.said import event_in, fits
from lab.process import Finished, finish
from lab.scenario.calls import TRACES
from lab.scenario.environment import vulkan_here
from lab.scenario.machine import real_platform
from lab.scenario.plan import Choice, planned
from lab.scenario.runner import run
from lab.scenario.shipment import DEFAULT_REGISTRATION, Payload, ggml_library, require_loadable
from lab.visible import visible

SETUP_S = 3600.0
REPLAY_S = 600.0
TRACING = "host.trace=true"
DIFFERENT_EXIT = 1
INSIDE = Path("/run/trace.jsonl")
"""Where the player finds the conversation: by its own name its folder could hide the root, or could not be bound in it."""
MOST_THREADS = 512
"""Of the host library's (GGML_MAX_N_THREADS)."""
HOST_OPTION = "--host-library"
GGML_OPTION = "--ggml-library"
ANSWER = {"index": int, "name": str, "differences": list, "remarks": list, "duration_ns": int}
"""The player's row for a command, by key and type."""

File = Annotated[Path, typer.Argument(parser=given_path, help="A recorded conversation (JSON lines).", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="End with one line of JSON.")]

trace = typer.Typer(name="trace", help="Conversations of guest and host: record, show, replay.", no_args_is_help=True)


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay told: a row for every command played, and its exit status."""

    rows: tuple[dict[str, Any], ...]
    exit_status: int

    @property
    def different(self) -> int:
        """Commands with another answer than the recorded one."""
        return sum(bool(row["differences"]) for row in self.rows)


@trace.command()
def record(
    file: Annotated[Path, typer.Argument(parser=given_path, help="A scenario file.", show_default=False)],
    *,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key.")] = None,
    variants: Annotated[
        list[str] | None, typer.Option("--variant", metavar="ID", help="Only this variant; may be repeated.")
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", parser=given_path, help="Where bundles go.", show_default=False)
    ] = paths.RUNS,
    json_: Json = False,
) -> None:
    """Run a scenario, every command and reply of it recorded in the bundle. Exit status: the run's; 2 if nothing was recorded.

    Data that the guest writes in place goes by no command, and is in no recording; with guest.data_path=copied all of it is.
    """
    choice = Choice((*(settings or ()), TRACING), "", tuple(variants or ()))
    answer: dict[str, Any] = {"traces": []}
    with answering(as_json=json_, empty=answer):
        plan = planned([file], choice)
        with progress_display() as progress:
            outcome = run(plan, choice, out, progress, real_platform())
            traces = sorted(outcome.folder.glob(f"logs/**/{TRACES}/*.jsonl"))
            line = {**run_answer(outcome.folder, outcome.record), "traces": [str(path) for path in traces]}
            page = written_page(outcome.folder, progress, answer, line)
        nothing = not traces and not outcome.record.exit
        if not json_:
            tell_run(outcome.folder, outcome.record, page, told_findings(outcome.folder))
            for path in traces:
                typer.echo(path)
        elif not nothing:
            print_json(line)
        if nothing:
            answer.update(line)
            raise ConfigError(file, [ConfigProblem("", "nothing was recorded: no worker served a context")])
    raise typer.Exit(outcome.record.exit or 0)


@trace.command()
def show(file: File, *, json_: Json = False) -> None:
    """A line for every command: what was asked, what was answered, what data went along, how long it took."""
    with answering(as_json=json_, empty={"commands": 0, "calls": {}}):
        rows = read_trace(file)
        if json_:
            print_json(counted(rows))
        else:
            for row in rows:
                typer.echo(visible(line_of(row)))


@trace.command()
def replay(
    file: File,
    *,
    host_library: Annotated[
        Path | None,
        typer.Option(HOST_OPTION, metavar="FILE", help="Whose host library; ours if not given.", show_default=False),
    ] = None,
    library: Annotated[str, typer.Option(GGML_OPTION, metavar="WHICH", help="cpu, vulkan or a path.")] = "cpu",
    registration: Annotated[
        str, typer.Option("--registration", metavar="SYMBOL", help="Of the ggml library.")
    ] = DEFAULT_REGISTRATION,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            min=1,
            max=MOST_THREADS,
            help="As when it was recorded (host.threads); the host's cores if not given. Some sums round otherwise by others.",
            show_default=False,
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Play a conversation against a host library, without a VM. Exit status: 0 equal answers, 1 others, 2 nothing was played."""
    with answering(as_json=json_, empty={"played": 0, "different": 0}):
        commands = sum(map(is_played, read_trace(file)))
        played = played_again(file.resolve(), commands, host_library, library, registration, threads=threads or processor_count())
        if json_:
            durations = [row["duration_ns"] for row in played.rows]
            answer = {"played": len(played.rows), "different": played.different, "duration_us": sum(durations) / 1000}
            print_json({**answer, "exit": played.exit_status})
        else:
            tell_replay(played)
    raise typer.Exit(played.exit_status)


def played_again(
    file: Path, commands: int, host_library: Path | None, library: str, registration: str, *, threads: int
) -> Replayed:
    """Play the conversation, which has so many commands to play, in the host root.

    Raises:
        BuildError: the player ended without playing all of it; its words are in it. Or a library is no ELF file.
        ConfigError: a library needs others that are nowhere.
    """
    deadline = Deadline.after(SETUP_S)
    with progress_display() as progress:
        root = host_root(progress, deadline)
        path = absolute(host_library) if host_library else native_payloads(root, progress, deadline).host_library
        host = Payload.of("host library", path, named_by=HOST_OPTION)
        chosen = ggml_library(library, root, deadline, named_by=GGML_OPTION)
        named = ((option, one.path) for option, one in ((HOST_OPTION, host), (GGML_OPTION, chosen)) if one.of_machine)
        require_loadable(named, root, "lab trace replay", ggml=chosen)
        argv = player_words(host, chosen, registration, threads)
        loaded = outside([host.path], root, ggml=chosen.path if chosen.of_machine else None).binds
        variables = vulkan_here(library, root)
        binds = tuple(dict.fromkeys((Bind(paths.PROJECT), Bind(file, inside=INSIDE), *loaded, *shader_binds(variables))))
        entered = root.enter(argv, binds=binds, env={"HOME": "/tmp", **variables}, cwd=paths.PROJECT)
        with progress.step(f"playing {file.name}"):
            done = finish(entered, deadline=Deadline.after(REPLAY_S))
    return replayed(file, done, commands)


def player_words(host: Payload, ggml: Payload, registration: str, threads: int) -> tuple[str | Path, ...]:
    """The command line of the player. The host library computes with that many threads."""
    return (
        "python3", "-m", "lab.apir.replay", INSIDE, "--host-library", host.inside,
        "--ggml-library", ggml.inside, "--registration", registration, "--threads", str(threads),
    )  # fmt: skip


def replayed(file: Path, done: Finished, commands: int) -> Replayed:
    """What the player told. One that died, or was ended by a library, has not told of every command, whatever its status is."""
    answers = answers_in(done.output)
    if done.exit_status not in {0, DIFFERENT_EXIT} or not answers or len(answers) != commands:
        how = f"status {done.exit_status}, {len(answers)} of {commands} commands"
        raise BuildError(f"{file} could not be played ({how})", output=done.output)
    return Replayed(answers, done.exit_status)


def answers_in(output: str) -> tuple[dict[str, Any], ...]:
    """The rows of the commands that were played, among whatever the libraries said."""
    return tuple(row for row in map(event_in, output.splitlines()) if fits(row, ANSWER))


def counted(rows: tuple[Row, ...]) -> dict[str, Any]:
    """The line of ``lab trace show --json``."""
    commands = [row for row in rows if isinstance(row, Command)]
    calls = Counter(command.name for command in commands)
    return {"commands": len(commands), "ioctls": len(rows) - len(commands), "calls": dict(calls.most_common()), "exit": 0}


def line_of(row: Row) -> str:
    """One row for a reader."""
    if isinstance(row, Ioctl):
        blob = f" of {row.blob[1]} bytes: resource {row.blob[0]}" if row.blob else ""
        return f"ioctl {row.name.lower()}{blob}"
    return shown(row)


def tell_replay(played: Replayed) -> None:
    """Commands whose answers differ, then the sum."""
    for row in played.rows:
        for difference in row["differences"]:
            typer.echo(visible(f"row {row['index']}: {row['name']}: {difference}"))
    remarks = sum(bool(row["remarks"]) for row in played.rows)
    took = sum(row["duration_ns"] for row in played.rows) / 1e6
    typer.echo(
        f"{len(played.rows)} commands played in {took:.1f} ms: {played.different} with another answer, "
        f"{remarks} with other facts of the device, sizes or handles"
    )
