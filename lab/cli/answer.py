"""What a command leaves behind: tables for people, one line of JSON for programs, errors with their hint and no traceback."""

from __future__ import annotations

import contextlib
import errno
import json
import shlex
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lab.bundle import read_bundle
from lab.bundle.schema import CapabilityRecord, RunRecord, Status, VariantRecord
from lab.errors import LabError
from lab.interruption import interruptible
from lab.ops.coverage import Coverage
from lab.scenario.dry_run import ShownBoot
from lab.visible import visible
from reports.render import duration_text

INTERRUPTED_EXIT = 2
STYLES = {
    Status.PASSED: "green",
    Status.FAILED: "red",
    Status.ERROR: "yellow",
    Status.INTERRUPTED: "yellow",
    Status.SKIPPED: "dim",
    Status.RUNNING: "yellow",
}
RUN_KEYS = ("name", "variant", "status", "cases", "accel", "capset", "boot_s", "wall_s")
CASE_KEYS = ("ok", "fail", "unsupported", "error")
EXPECTED_KEYS = ("expected", "flaky", "skipped")
"""Counters of cases that ended as the scenario's expectations say; told where there are any."""
MAX_FINDINGS = 12
PIPE_COLUMNS = 132
ROOM = "make room; what was measured until then is in the bundle, which lab report shows"
SURROUNDINGS = {
    errno.ENOSPC: ROOM,
    errno.EDQUOT: ROOM,
    errno.EFBIG: ROOM,
    errno.EROFS: "name a folder that can be written to",
    errno.EACCES: "name a file or folder that this user may use",
    errno.EPERM: "name a file or folder that this user may use",
    errno.ENOENT: "name a file or folder that can be there",
    errno.ENOTDIR: "name a folder in the place of a file",
    errno.EEXIST: "name a folder in the place of a file",
    errno.EISDIR: "name a file in the place of a folder",
    errno.ENAMETOOLONG: "name a shorter path",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
}
"""Errors of the system that the user's surroundings cause, and what to do about them. Others are mistakes of the lab's own."""
EMPTY: dict[str, Any] = {"run": None, "dir": None, "scenarios": []}
"""The line of a ``lab run`` that ran nothing."""


@contextlib.contextmanager
def answering(*, as_json: bool, empty: dict[str, Any] | None = None) -> Iterator[None]:
    """Run a command: errors of the lab become a message and the exit status they stand for.

    A mistake of the lab's own, which is none of its errors, is told with its traceback. With ``as_json`` an error still ends with
    a line of JSON: ``empty``, with the exit status and the message in it.

    Raises:
        typer.Exit: with the exit status, after an error.
    """
    try:
        with interruptible():
            yield
    except LabError as error:
        tell_error(error)
        status = error.exit_status
        message = str(error)
    except Exception as error:  # noqa: BLE001 - the outermost place, and it tells all that is known
        if isinstance(error, OSError) and error.errno in SURROUNDINGS:
            refused = LabError(f"{error.filename or 'writing'}: {error.strerror}", hint=SURROUNDINGS[error.errno])
            tell_error(refused)
            message = str(refused)
        else:
            traceback.print_exc()
            message = f"{type(error).__name__}: {error}"
        status = LabError.exit_status
    except KeyboardInterrupt:
        Console(stderr=True).print(Text("interrupted", style="yellow"))
        status, message = INTERRUPTED_EXIT, "interrupted"
    else:
        return
    if as_json:
        print_json({**(empty or {}), "exit": status, "error": message})
    raise typer.Exit(status)


@contextlib.contextmanager
def answered_usage(empties: Mapping[str, dict[str, Any]]) -> Iterator[None]:
    """Run the program: words that typer refuses, which no command gets to see, end with a line of JSON as well where one is wanted.

    Args:
        empties: lines of commands, by name, that have nothing to tell; of others it is the exit status and the message alone.

    Raises:
        SystemExit: as typer did, which has told on standard error what was wrong.
    """
    try:
        yield
    except SystemExit as ended:
        # typer has no public name for its usage errors: of all that it ends for, they alone have a message of their own
        message = getattr(ended.__context__, "format_message", None)
        if message is not None and "--json" in sys.argv:
            command = getattr(getattr(ended.__context__, "ctx", None), "info_name", None)
            print_json({**empties.get(command or "", {}), "exit": ended.code, "error": message()})
        raise


def tell_error(error: LabError) -> None:
    """Message and hint, on standard error."""
    console = Console(stderr=True, soft_wrap=True)
    console.print(Text.assemble(("error: ", "bold red"), visible(error.message)))
    for note in getattr(error, "__notes__", ()):
        console.print(Text(visible(note), style="yellow"))
    if error.hint:
        console.print(Text.assemble(("hint: ", "bold cyan"), visible(error.hint)))


def print_json(answer: dict[str, Any]) -> None:
    """One line of JSON, the last of the output."""
    sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def answer_console() -> Console:
    """Standard output: as wide as the terminal, and wide enough for its tables where there is none."""
    return Console(soft_wrap=True) if sys.stdout.isatty() else Console(soft_wrap=True, width=PIPE_COLUMNS)


def run_answer(folder: Path, record: RunRecord) -> dict[str, Any]:
    """The line of ``lab run --json``."""
    return {
        "run": record.run,
        "dir": str(folder),
        "exit": record.exit,
        "scenarios": [variant_answer(variant) for variant in record.variants],
    }


def variant_answer(variant: VariantRecord) -> dict[str, Any]:
    """One variant in that line."""
    whole = variant.model_dump(mode="json")
    answer = {key: whole[key] for key in RUN_KEYS}
    answer["cases"] = {key: whole["cases"][key] for key in CASE_KEYS}
    if any(expected := {key: whole["cases"][key] for key in EXPECTED_KEYS}.values()):
        answer["expected"] = dict(zip(EXPECTED_KEYS, expected, strict=True))
    answer["device"] = variant.device.model_dump(include={"registry", "name", "type"}) if variant.device else None
    answer["reference"] = variant.reference.model_dump(include={"registry", "name"}) if variant.reference else None
    answer["calls"] = variant.calls.model_dump(include={"count", "p50_us", "p99_us"})
    return answer


def told_findings(folder: Path) -> list[tuple[str, str, str]]:
    """What a run found, as ``tell_run`` takes it: where, the kind, a sentence."""
    return [(f"{row.scenario}/{row.variant}", row.finding, row.text) for row in read_bundle(folder).findings]


def tell_run(folder: Path, record: RunRecord, page: Path | None, findings: Sequence[tuple[str, str, str]]) -> None:
    """The verdict, a table of variants, the findings, and where the report is."""
    console = answer_console()
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("scenario", "variant", "status"):
        table.add_column(column, no_wrap=True)
    for column in ("ok", "fail", "unsup.", "error", "calls", "p50", "p99", "boot", "wall"):
        table.add_column(column, justify="right", no_wrap=True)
    for variant in record.variants:
        table.add_row(*_row(variant))
    console.print(table)
    for name, kind, text in findings[:MAX_FINDINGS]:
        console.print(Text.assemble((f"{kind}: ", "bold"), f"{visible(text)} ", (f"({name})", "dim")))
    if len(findings) > MAX_FINDINGS:
        console.print(Text(f"and {len(findings) - MAX_FINDINGS} findings more", style="dim"))
    for variant in record.variants:
        if any((variant.cases.expected, variant.cases.flaky, variant.cases.skipped)):
            words = f"{variant.cases.expected} failed, {variant.cases.flaky} flaky, {variant.cases.skipped} skipped"
            console.print(Text.assemble((f"{variant.name}/{variant.variant} as expected: ", "bold"), words))
        if variant.reason and variant.status is Status.SKIPPED:
            console.print(Text.assemble((f"{variant.name}/{variant.variant} skipped: ", "bold"), visible(variant.reason)))
    console.print(
        Text.assemble((record.status, f"bold {STYLES[record.status]}"), f" · exit {record.exit} · {record.wall_s or 0:.1f} s")
    )
    console.print(Text(f"report: {page or folder}", style="bold"))


def _row(variant: VariantRecord) -> tuple[Text | str, ...]:
    calls = variant.calls
    return (
        variant.name,
        variant.variant,
        Text(variant.status, style=STYLES[variant.status]),
        str(variant.cases.ok),
        str(variant.cases.fail),
        str(variant.cases.unsupported),
        str(variant.cases.error),
        str(calls.count),
        duration_text(calls.p50_us),
        duration_text(calls.p99_us),
        f"{variant.boot_s:.1f} s",
        f"{variant.wall_s:.1f} s",
    )


def tell_capabilities(capabilities: Sequence[CapabilityRecord]) -> None:
    """One line each: yes or no, how it was probed, what to do about a no."""
    console = answer_console()
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("", "capability", "how it was probed, and what to do about a no"):
        table.add_column(column, overflow="fold")
    for capability in capabilities:
        mark = Text("yes", style="green") if capability.ok else Text("no", style="yellow")
        told = capability.probed + (f"\n→ {capability.hint}" if capability.hint and not capability.ok else "")
        table.add_row(mark, capability.name, Text(visible(told)))
    console.print(table)


def tell_coverage(known: Coverage) -> None:
    """Cases per operation, and what upstream tests and the catalog lacks."""
    console = answer_console()
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("operation")
    table.add_column("cases", justify="right")
    for op, cases in known.per_op:
        table.add_row(op, str(cases))
    console.print(table)
    for one in known.missing:
        console.print(Text.assemble((one.op, "yellow"), f" is missing: {one.why}"))
    console.print(
        f"{known.cases} cases of {len(known.per_op)} operations, {len(known.missing)} that test-backend-ops tests missing"
    )


def tell_setup(made: Mapping[str, str]) -> None:
    """Where everything is."""
    console = answer_console()
    for name, path in made.items():
        console.print(Text.assemble((f"{name.replace('_', ' '):14}", "dim"), path))


def tell_dry_run(boots: Sequence[ShownBoot], *, as_json: bool) -> None:
    """The plan: environments and command lines that can be copied, and what would be checked."""
    for boot in boots:
        for variant in boot.variants:
            print(f"# {variant.name}/{variant.variant}")  # noqa: T201 - the answer
            for name, value in variant.guest_environment:
                print(f"#   in the guest: {name}={value}")  # noqa: T201 - the answer
            for check in variant.checks:
                print(f"#   check: {check}")  # noqa: T201 - the answer
            for line in variant.held_against:
                print(f"#   {line}")  # noqa: T201 - the answer
        if boot.unmet:
            print(f"# cannot run here: {boot.unmet}")  # noqa: T201 - the answer
        for name, value in boot.environment:
            print(f"# QEMU's environment: {name}={shlex.quote(value)}")  # noqa: T201 - the answer
        print(shlex.join(boot.argv))  # noqa: T201 - the answer
    if as_json:
        print_json({**EMPTY, "exit": 0, "boots": [asdict(boot) for boot in boots]})
