from __future__ import annotations

import errno
import json
import os
import signal
import sys
from pathlib import Path

import pytest
import typer

from lab import paths
from lab.bundle import read_bundle
from lab.cli.answer import EMPTY as RUN
from lab.cli.answer import answering, run_answer
from lab.cli.bench import EMPTY as MEASURED
from lab.deadline import Deadline, poll
from lab.errors import ConfigError
from lab.process import finish, spawn
from tests.reports.realistic import write_bundle

LAB = (sys.executable, "-c", "from lab.cli import main; main()")


def lab(*words: str, cwd: Path | None = None) -> tuple[int, str]:
    done = finish((*LAB, *words), deadline=Deadline.after(60), cwd=cwd)
    return done.exit_status, done.output


def test_help_names_the_commands() -> None:
    status, output = lab("--help")
    assert status == 0
    for command in ("doctor", "setup", "ops", "run", "shell", "trace", "report"):
        assert command in output


def test_commands_start_without_what_only_a_guest_takes() -> None:
    argv = (sys.executable, "-c", "import lab.cli.app, sys; print(*sys.modules)")
    read = finish(argv, deadline=Deadline.after(60), cwd=paths.PROJECT).output.split()
    assert "lab.scenario.machine" in read
    assert not {"paramiko", "testinfra", "lab.qemu.machine"} & set(read)


def test_ops_counts_the_catalog() -> None:
    status, output = lab("ops", "--json")
    answer = json.loads(output.splitlines()[-1])
    assert status == 0
    assert answer["cases"] == sum(answer["ops"].values()) >= 3000
    assert min(answer["ops"].values()) >= 5
    assert len(answer["missing"]) <= 12


def test_options_of_a_case_are_refused_where_none_is_computed() -> None:
    status, output = lab("ops", "--seed", "1", "--library", "vulkan", "--json")
    assert status == json.loads(output.splitlines()[-1])["exit"] == 2
    for option in ("--seed", "--library"):
        assert f"  {option}: says how a case is computed, and none is (name a case with --case ID" in output


def test_missing_scenario_is_told_without_a_traceback(tmp_path: Path) -> None:
    status, output = lab("run", str(tmp_path / "none.toml"), "--json")
    assert status == 2
    assert "there is no such scenario file" in output
    assert "Traceback" not in output
    answer = json.loads(output.splitlines()[-1])
    assert (answer["exit"], answer["run"], answer["scenarios"]) == (2, None, [])


@pytest.mark.parametrize(
    "words",
    [("run", "x\udcff.toml", "--json"), ("run", "-k", "\udcff", "x.toml", "--json"), ("report", "--json", "\udcff")],
    ids=["file", "option", "report"],
)
def test_argument_that_is_no_text_is_told_before_anything_is_made(tmp_path: Path, words: tuple[str, ...]) -> None:
    status, output = lab(*words, cwd=tmp_path)
    assert status == 2
    assert "is no text in UTF-8" in output
    assert "\\udcff" in output
    assert "Traceback" not in output
    assert json.loads(output.splitlines()[-1])["exit"] == 2
    assert not list(tmp_path.iterdir())


def test_wrong_scenario_tells_all_problems(tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text('name = "wrong"\ntimeout_s = "x"\nfoo = 1\n[[checks]]\nkind = "state"\n')
    status, output = lab("run", str(tmp_path / "wrong.toml"))
    assert status == 2
    assert "line 2: timeout_s: input should be a valid number, not 'x'" in output
    assert "line 3: foo: unknown key" in output


def test_file_that_is_no_text_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)))
    status, output = lab("run", str(tmp_path / "binary.toml"))
    assert status == 2
    assert "binary.toml: is no text in UTF-8 (a scenario is a TOML file)" in output


@pytest.mark.parametrize(
    ("number", "told"),
    [(errno.ENOSPC, "hint: make room"), (errno.EACCES, "hint: name a file or folder that this user may use")],
    ids=["full disk", "no rights"],
)
def test_system_that_refuses_is_told_without_a_traceback(number: int, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, answering(as_json=True, empty={"run": None}):
        raise OSError(number, os.strerror(number), "/somewhere/results.jsonl")
    assert ended.value.exit_code == 2
    output, errors = capsys.readouterr()
    assert f"error: /somewhere/results.jsonl: {os.strerror(number)}" in errors
    assert told in errors
    assert json.loads(output)["exit"] == 2


@pytest.mark.parametrize("error", [OSError(errno.EBADF, os.strerror(errno.EBADF)), ValueError("nothing of the lab's")])
def test_mistake_of_the_labs_own_keeps_its_traceback(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, answering(as_json=True, empty={"run": None}):
        raise error
    assert ended.value.exit_code == 2
    output, errors = capsys.readouterr()
    assert "Traceback" in errors
    assert str(error) in errors
    assert json.loads(output) == {"run": None, "exit": 2, "error": f"{type(error).__name__}: {error}"}


def test_operation_that_the_catalog_lacks_is_told_before_anything_boots(tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text('name = "wrong"\n[[checks]]\nkind = "catalog"\nops = ["ADD", "MULMAT"]\n')
    status, output = lab("run", str(tmp_path / "wrong.toml"))
    assert status == 2
    assert "line 4: checks[0].ops: the catalog has no operation 'MULMAT' (did you mean MUL_MAT?)" in output


def test_unknown_option_is_a_usage_error() -> None:
    status, output = lab("run", "--nonsense", "x.toml")
    assert status == 2
    assert "nonsense" in output
    assert not output.splitlines()[-1].startswith("{"), "a line of JSON is for who asks for one"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("run", "--nonsense", "x.toml"), "--nonsense"),
        (("run",), "files"),
        (("nonsense",), "nonsense"),
        (("bench", "--only", "x"), "--only"),
    ],
    ids=["option", "nothing to run", "command", "value"],
)
def test_usage_error_ends_with_a_line_of_json_too(words: tuple[str, ...], named: str) -> None:
    status, output = lab(*words, "--json")
    answer = json.loads(output.splitlines()[-1])
    assert status == answer["exit"] == 2
    assert named in answer["error"]
    assert set(answer) == {"exit", "error"} | set({"run": RUN, "bench": MEASURED}.get(words[0], {}))


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("run", "{}", "--dry-run"), "files"),
        (("run", "x.toml", "--resume", "{}"), "--resume"),
        (("run", "x.toml", "--out", "{}"), "--out"),
        (("bench", "--host-library", "{}"), "--host-library"),
        (("shell", "{}"), "file"),
        (("report", "{}"), "bundles"),
        (("expectations", "update", "{}"), "bundle"),
        (("trace", "show", "{}"), "file"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_empty_path_is_not_the_folder_that_one_is_in(words: tuple[str, ...], named: str) -> None:
    status, output = lab(*(word.format("") for word in words))
    assert status == 2
    assert f"'{named}': an empty path; is a variable unset?" in output


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_bundle_that_cannot_be_gone_on_with_is_told_dry_or_not(tmp_path: Path, words: tuple[str, ...]) -> None:
    scenario = str(paths.SCENARIOS / "upstream-full.toml")
    status, output = lab("run", scenario, "--resume", str(tmp_path), "--out", str(tmp_path / "runs"), *words)
    assert status == 2
    assert "is no run bundle" in output
    assert not (tmp_path / "runs").exists()


def test_folder_for_bundles_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "small.toml").write_text('name = "small"\n[[checks]]\nkind = "state"\n')
    status, output = lab("run", str(tmp_path / "small.toml"), "--out", str(tmp_path / "file"))
    assert status == 2
    assert f"error: {tmp_path / 'file'}: File exists" in output
    assert "Traceback" not in output


def test_cache_that_cannot_be_is_named_with_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(tmp_path / "file"))
    status, output = lab("doctor")
    assert status == 2
    expected = f"VIRTGPU_LAB_CACHE: {tmp_path / 'file'} cannot be made: File exists (name a folder that can be written to)"
    assert expected in output


@pytest.mark.parametrize(("named", "meant"), [("~/there", "home/there"), ("there", "here/there")])
def test_cache_is_named_as_files_and_shells_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, meant: str) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", named)
    assert paths.cache() == tmp_path / meant


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("{}/xdg", "xdg/virtgpu-lab"),
        ("~/xdg", "home/xdg/virtgpu-lab"),
        ("xdg", "home/.cache/virtgpu-lab"),
        ("", "home/.cache/virtgpu-lab"),
    ],
)
def test_cache_of_a_user_is_below_an_absolute_path_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, meant: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("VIRTGPU_LAB_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", named.format(tmp_path))
    assert paths.cache() == tmp_path / meant


def test_cache_in_the_home_of_nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", "~no-such-user/cache")
    status, output = lab("doctor")
    assert status == 2
    assert "VIRTGPU_LAB_CACHE: the home folder in ~no-such-user/cache is not known" in output
    monkeypatch.delenv("VIRTGPU_LAB_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "~no-such-user")
    with pytest.raises(ConfigError, match=r"^XDG_CACHE_HOME: the home folder in ~no-such-user/virtgpu-lab is not known"):
        paths.cache()


def test_cache_and_folders_whose_names_are_no_text_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "f\udcff"
    folder.mkdir()
    (tmp_path / "small.toml").write_text('name = "small"\n[[checks]]\nkind = "state"\n')
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(folder))
    status, output = lab("doctor")
    assert status == 2
    assert "f\\udcff' is no text in UTF-8" in output
    monkeypatch.delenv("VIRTGPU_LAB_CACHE")
    monkeypatch.chdir(folder)
    status, output = lab("run", str(tmp_path / "small.toml"), "--out", "runs")
    assert status == 2
    assert "f\\udcff/runs' is no text in UTF-8" in output
    assert not (folder / "runs").exists()


def test_report_of_a_bundle_is_written_again(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    status, output = lab("report", str(folder), "--json")
    assert status == 0
    assert json.loads(output.splitlines()[-1]) == {"reports": [str(folder / "index.html")]}
    assert (folder / "index.html").is_file()


def test_report_that_was_written_before_one_that_cannot_be_is_told(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    status, output = lab("report", str(folder), str(tmp_path), "--json")
    answer = json.loads(output.splitlines()[-1])
    assert (status, answer["exit"], answer["reports"]) == (2, 2, [str(folder / "index.html")])
    status, output = lab("report", str(folder), str(tmp_path))
    assert (status, str(folder / "index.html") in output) == (2, True)


def test_report_of_no_bundle_is_told(tmp_path: Path) -> None:
    status, output = lab("report", str(tmp_path))
    assert status == 2
    assert "is no run bundle" in output


def test_run_answer_has_the_keys_that_are_promised(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    answer = run_answer(folder, read_bundle(folder).run)
    assert set(answer) == {"run", "dir", "exit", "scenarios"}
    venus = answer["scenarios"][0]
    assert set(venus) == {
        "name", "variant", "status", "cases", "device", "reference", "accel", "capset", "boot_s", "wall_s", "calls",
    }  # fmt: skip
    assert venus["cases"] == {"ok": 368, "fail": 0, "unsupported": 0, "error": 0}
    assert venus["device"] == {"registry": "ggml-virtgpu", "name": "[virtgpu] CPU", "type": "GPU"}
    assert venus["reference"] == {"registry": "CPU", "name": "CPU"}
    assert set(venus["calls"]) == {"count", "p50_us", "p99_us"}
    json.dumps(answer)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_command_ends_with_2_and_says_so(tmp_path: Path, number: signal.Signals) -> None:
    script = (
        "import sys, time, typer\nfrom lab.cli.answer import answering\n"
        "try:\n    with answering(as_json=True, empty={'run': None}):\n        print('ready', flush=True)\n        time.sleep(30)\n"
        "except typer.Exit as ended:\n    sys.exit(ended.exit_code)\n"
    )
    log = tmp_path / "log"
    with spawn((sys.executable, "-c", script), log=log) as child:
        poll("the program", lambda: "ready" in child.log_tail(), Deadline.after(20))
        os.kill(child.pid, number)
        assert child.wait(Deadline.after(10)) == 2
    _, told, line = child.log_tail().splitlines()
    assert (told, json.loads(line)) == ("interrupted", {"run": None, "exit": 2, "error": "interrupted"})


def test_interruption_before_anything_is_begun_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import time\nprint('reading', flush=True)\ntime.sleep(30)\n")
    log, env = tmp_path / "log", {**os.environ, "PYTHONPATH": f"{tmp_path}:{paths.PROJECT}"}
    with spawn((*LAB, "ops"), log=log, env=env) as child:
        poll("the program", lambda: "reading" in child.log_tail(), Deadline.after(20))
        os.kill(child.pid, signal.SIGINT)
        assert child.wait(Deadline.after(10)) == -signal.SIGINT
    assert child.log_tail() == "reading\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_behind_the_answer_leaves_the_status_as_it_is(tmp_path: Path, number: signal.Signals) -> None:
    script = (
        "import atexit, sys, time\nfrom lab.cli import main\n"
        "atexit.register(lambda: (print('ending', flush=True), time.sleep(2)))\n"
        f"sys.argv[1:] = ['report', {str(tmp_path)!r}]\nmain()\n"
    )
    with spawn((sys.executable, "-c", script), log=tmp_path / "log") as child:
        poll("the program's end", lambda: "ending" in child.log_tail(), Deadline.after(20))
        os.kill(child.pid, number)
        assert child.wait(Deadline.after(10)) == 2
    assert "Traceback" not in child.log_tail()


@pytest.mark.parametrize("words", [("run", "x.toml"), ("bench",)])
def test_command_that_is_interrupted_while_it_tells_of_a_run_ends_with_2(tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = write_bundle(tmp_path)
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom lab.cli import answer, app\nfrom lab.scenario.runner import RunOutcome\n"
        "def told(folder):\n    print('ready', flush=True)\n    time.sleep(30)\n"
        f"folder = Path({str(folder)!r})\noutcome = RunOutcome(folder, answer.read_bundle(folder).run)\n"
        "app.planned = app.bench_plan = lambda *_: ()\napp.run = lambda *_, **__: outcome\n"
        "app.rendered_report, answer.read_bundle = lambda folder: folder, told\n"
        f"sys.argv[1:] = {list(words)!r}\napp.main()\n"
    )
    log = tmp_path / "log"
    with spawn((sys.executable, "-c", script), log=log) as child:
        poll("the program", lambda: "ready" in child.log_tail(), Deadline.after(20))
        os.kill(child.pid, signal.SIGINT)
        assert (child.wait(Deadline.after(10)), child.log_tail().splitlines()[-1]) == (2, "interrupted")


@pytest.mark.parametrize(
    ("words", "key", "begins"),
    [((), "schema", '{\n "$schema"'), (("--expectations",), "schema", '{\n "$schema"'), (("--reference",), "reference", "")],
    ids=["scenarios", "expectations", "reference"],
)
def test_schema_ends_with_one_line_of_json_when_asked_to(words: tuple[str, ...], key: str, begins: str) -> None:
    plain, line = lab("schema", *words), lab("schema", *words, "--json")
    assert (plain[0], line[0]) == (0, 0)
    assert plain[1].startswith(begins)
    answer = json.loads(line[1].splitlines()[-1])
    assert set(answer) == {key, "exit"}
    assert answer[key] == (json.loads(plain[1]) if key == "schema" else plain[1].rstrip("\n"))
