"""What the program's exit status says when its answer does not reach anybody."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.deadline import Deadline
from lab.paths import PROJECT
from lab.process import finish, spawn
from tests.scenario.fakes import SCENARIO

PROGRAM = """
import sys
from pathlib import Path
import lab.cli.app as app
import lab.scenario.dry_run as dry
from tests.scenario.fakes import HEADER_LINE, TEXTS, FakePlatform, Script, row
folder, error = Path(sys.argv.pop(1)), sys.argv.pop(1)
script = Script(ops=(HEADER_LINE, *(row(text, error=error) for text in TEXTS)))
app.real_platform = dry.real_platform = lambda: FakePlatform(script, folder).platform()
app.main()
"""
LIMIT_S = 120


def lab(folder: Path, *words: str, stdout: int, variables: dict[str, str] | None = None, error: str = "") -> tuple[int, str]:
    """Status and standard error of a command on a platform without a machine, where all cases end with ``error``."""
    (folder / "small.toml").write_text(SCENARIO)
    argv = (sys.executable, "-c", PROGRAM, str(folder), error, *words)
    env = {**os.environ, "PYTHONPATH": str(PROJECT), **(variables or {})}
    done = subprocess.run(argv, stdout=stdout, stderr=subprocess.PIPE, env=env, cwd=folder, timeout=LIMIT_S, check=False)
    return done.returncode, done.stderr.decode()


COMMANDS = {
    "run": ("run", "small.toml", "--out", "runs"),
    "run --json": ("run", "small.toml", "--out", "runs", "--json"),
    "run --dry-run": ("run", "small.toml", "--dry-run"),
    "ops --json": ("ops", "--json"),
    "schema": ("schema",),
    "help": ("--help",),
}
every_command = pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS.keys())


@every_command
def test_an_answer_that_cannot_be_written_is_the_labs_error_in_one_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        status, errors = lab(tmp_path, *words, stdout=full.fileno())
    assert status == 2, errors
    assert "error: standard output: No space left on device" in errors
    assert "Traceback" not in errors
    assert "Exception ignored" not in errors


@contextlib.contextmanager
def pipe_that_nobody_reads() -> Iterator[int]:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


@every_command
def test_a_reader_that_goes_away_leaves_the_status_as_it_is(tmp_path: Path, words: tuple[str, ...]) -> None:
    with pipe_that_nobody_reads() as writer:
        status, errors = lab(tmp_path, *words, stdout=writer)
    assert status == 0, errors
    assert "Traceback" not in errors
    assert "Exception ignored" not in errors


@pytest.mark.parametrize(("file", "error", "exit_status"), [("small.toml", "test failed", 1), ("none.toml", "", 2)])
def test_a_failure_outlasts_its_reader(tmp_path: Path, file: str, error: str, exit_status: int) -> None:
    with pipe_that_nobody_reads() as writer:
        status, errors = lab(tmp_path, "run", file, "--out", "runs", "--json", stdout=writer, error=error)
    assert status == exit_status, errors
    assert "Traceback" not in errors


def test_a_closed_output_is_one_that_nobody_reads(tmp_path: Path) -> None:
    closed = ("sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-c", PROGRAM, str(tmp_path), "", "ops", "--json")
    done = subprocess.run(
        closed, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(PROJECT)}, timeout=LIMIT_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_what_a_terminal_cannot_show_is_replaced(tmp_path: Path) -> None:
    answer = tmp_path / "answer"
    with open(answer, "wb") as file:
        words = ("run", "small.toml", "--out", "läufe", "--json")
        status, errors = lab(tmp_path, *words, stdout=file.fileno(), variables={"PYTHONIOENCODING": "ascii"})
    assert status == 0, errors
    assert "l?ufe" in json.loads(answer.read_bytes().splitlines()[-1])["dir"]


@pytest.mark.parametrize("columns", ["0", "00", "x", ""])
def test_a_terminal_without_columns_hides_nothing(tmp_path: Path, columns: str) -> None:
    argv = (sys.executable, "-c", "from lab.cli import main; main()", "run", str(tmp_path / "none.toml"))
    done = finish(argv, deadline=Deadline.after(60), env={**os.environ, "COLUMNS": columns, "LINES": columns})
    assert "there is no such scenario file" in done.output


@pytest.mark.parametrize(
    ("lost", "file", "exit_status"),
    [("2>&-", "small.toml", 0), ("2>/dev/full", "small.toml", 0), ("", "small.toml", 0), ("", "none.toml", 2)],
    ids=["closed", "full", "nobody reads", "nobody reads of a mistake"],
)
def test_what_is_said_beside_an_answer_need_not_be_heard(tmp_path: Path, lost: str, file: str, exit_status: int) -> None:
    (tmp_path / "small.toml").write_text(SCENARIO)
    program = (sys.executable, "-c", PROGRAM, str(tmp_path), "", "run", file, "--out", "runs", "--json")
    env = {**os.environ, "PYTHONPATH": str(PROJECT)}
    with pipe_that_nobody_reads() as writer:
        done = subprocess.run(
            ("sh", "-c", f'exec "$@" {lost}', "sh", *program),
            stdout=subprocess.PIPE, stderr=writer, env=env, cwd=tmp_path, timeout=LIMIT_S, check=False,
        )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1])["exit"] == done.returncode == exit_status


def test_a_closed_output_gives_its_number_to_no_file_of_a_run() -> None:
    script = "import os; from lab.cli.output import kept_output\nwith kept_output():\n    print(os.open('/', os.O_RDONLY))\n"
    argv = ("sh", "-c", 'exec "$@" <&- 2>&-', "sh", sys.executable, "-c", script)
    done = subprocess.run(argv, stdout=subprocess.PIPE, cwd=PROJECT, timeout=LIMIT_S, check=True)
    assert int(done.stdout) > 2


def test_an_output_that_takes_no_more_for_now_is_waited_for(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    script = "from lab.cli.output import kept_output\nwith kept_output():\n    print('x' * 1000000)\n    raise SystemExit(0)\n"
    with spawn(
        (sys.executable, "-c", f"import os; os.dup2({writer}, 1)\n{script}"), log=tmp_path / "log", pass_fds=(writer,)
    ) as child:
        os.close(writer)
        with os.fdopen(reader, "rb") as read:
            assert read.read(1) == b"x"
            time.sleep(0.5)
            assert len(read.read()) == 1000000
        assert child.wait(Deadline.after(10)) == 0
    assert child.log_tail() == ""
