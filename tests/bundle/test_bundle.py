from __future__ import annotations

import errno
import json
import os
import re
import resource
import shutil
import subprocess
import threading
from dataclasses import asdict, fields
from pathlib import Path

import pytest

from lab.bundle import read_bundle
from lab.bundle.expected import Expected, ExpectedEnd, column_of
from lab.bundle.outcome import Blame, CaseResult, Outcome
from lab.bundle.reader import by_variant, told_calls
from lab.bundle.rows import CallRow, CaseRow, Supported, SupportRow
from lab.bundle.schema import SCHEMA, SPEED, SUPPORT, RunRecord, Status
from lab.bundle.writer import BundleWriter, CheckWriter, new_bundle, write_whole
from lab.errors import ConfigError
from reports import rendered_report
from tests.reports.realistic import OPS, write_bundle


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("runs"), failing=True)


def copied(bundle: Path, target: Path) -> Path:
    return Path(shutil.copytree(bundle, target / "copy"))


def test_bundle_is_read_as_it_was_written(whole: Path) -> None:
    bundle = read_bundle(whole)
    assert bundle.run.status is Status.FAILED
    assert len(bundle.cases) == 2 * sum(OPS.values()) - 2
    assert len(bundle.findings) == 3
    assert {row.blame for row in bundle.findings} == {Blame.PRODUCT, Blame.LAB}
    assert bundle.cut_lines == 0
    assert len(told_calls(by_variant(bundle.calls)["smoke", "venus"])) == bundle.run.variants[0].calls.count


def test_calls_of_every_session_are_read(whole: Path, tmp_path: Path) -> None:
    folder = copied(whole, tmp_path)
    calls = [CallRow("smoke", "venus", "both", session, 0, "c", 1, 2, 0, 0, 0, 4, 1, 1) for session in (0, 1 << 63, (1 << 64) - 1)]
    (folder / "calls.jsonl").write_text("".join(f"{json.dumps(asdict(call))}\n" for call in calls))
    bundle = read_bundle(folder)
    assert (list(bundle.calls), bundle.cut_lines) == (calls, 0)
    rendered_report(folder)


@pytest.mark.parametrize("name", ["results.jsonl", "calls.jsonl"])
def test_rows_cut_off_at_any_byte_cost_one_line_at_most(whole: Path, tmp_path: Path, name: str) -> None:
    folder = copied(whole, tmp_path)
    text = (folder / name).read_bytes()
    before = text[:4000].count(b"\n")
    for size in range(3997, 4003):
        (folder / name).write_bytes(text[:size])
        bundle = read_bundle(folder)
        rows = len(bundle.calls) if name == "calls.jsonl" else len(bundle.cases) + len(bundle.facts) + len(bundle.findings)
        assert rows in {before, before + 1}
        assert bundle.cut_lines <= 1


def test_missing_row_files_are_empty(whole: Path, tmp_path: Path) -> None:
    folder = copied(whole, tmp_path)
    (folder / "results.jsonl").unlink()
    (folder / "calls.jsonl").unlink()
    bundle = read_bundle(folder)
    assert (bundle.cases, bundle.calls) == ((), ())


def test_folder_without_run_json_is_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no run bundle"):
        read_bundle(tmp_path)


def test_later_keys_are_passed_over_and_a_later_schema_refused(whole: Path, tmp_path: Path) -> None:
    folder = copied(whole, tmp_path)
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, "a_later_key": 1}))
    with open(folder / "results.jsonl", "a", encoding="utf-8") as results:
        results.write('{"kind":"a later kind"}\n\n  \n')
    assert (read_bundle(folder).run.name, read_bundle(folder).cut_lines) == ("smoke", 0)
    (folder / "run.json").write_text(json.dumps({**record, "schema_version": SCHEMA + 1}))
    with pytest.raises(ConfigError, match=f"is of schema {SCHEMA + 1}"):
        read_bundle(folder)


def test_further_run_of_a_case_says_nothing_twice_and_the_first_expectation_holds(tmp_path: Path) -> None:
    known = [Expected(n, ExpectedEnd.FLAKY, f"reason {n}", "l", "*", lambda _check, _case: True) for n in (1, 2)]
    result = CaseResult("A()", "A", "", Outcome.PASS)
    with new_bundle(tmp_path, "x") as bundle:
        writer = CheckWriter(bundle, "s", "v", "catalog", known)
        for writer.attempt in (1, 2):
            writer.support("A()", "A", Supported.YES, Supported.YES)
            writer.speed("lab.ops", 8, 2.0, 1.0)
        for _ in range(2):
            writer.keep([result, result])
            writer.case(result)
    assert [len((bundle.folder / name).read_text().splitlines()) for name in (SUPPORT, SPEED)] == [2, 2]
    assert (writer.expected["A()"].reason, writer.kept, len(writer.results)) == ("reason 1", 4, 6)


def test_calls_that_were_joined_are_told_alone() -> None:
    joined, alone = (CallRow("s", "v", side, 1, 0, "c", 1, 2, 0, 0, 0, 4, 1, 1) for side in ("both", "host"))
    assert told_calls([alone, joined]) == (joined,)
    assert told_calls([alone]) == (alone,)


@pytest.mark.parametrize(
    ("ends", "column"),
    [
        ({Outcome.PASS, Outcome.UNSUPPORTED}, "unsupported"),
        ({Outcome.UNSUPPORTED, Outcome.FAIL}, "fail"),
        ({Outcome.FAIL, Outcome.HANG}, "error"),
        ({Outcome.PASS, Outcome.SKIPPED}, "skipped"),
    ],
)
def test_case_of_several_ends_is_counted_by_its_worst(ends: set[Outcome], column: str) -> None:
    assert column_of(ends, None) == column


@pytest.mark.parametrize("name", ["run.json", "results.jsonl", "calls.jsonl", "support.csv"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_what_is_no_file_is_not_waited_for(whole: Path, tmp_path: Path, name: str, kind: str) -> None:
    folder = copied(whole, tmp_path)
    (folder / name).unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(folder / name)
        case "folder":
            (folder / name).mkdir()
        case _:
            (folder / name).symlink_to("/dev/tty")
    with pytest.raises(ConfigError, match=rf"{re.escape(name)}: is no file"):
        read_bundle(folder)


def test_run_json_that_is_no_text_is_refused(whole: Path, tmp_path: Path) -> None:
    folder = copied(whole, tmp_path)
    (folder / "run.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"run\.json: cannot be read"):
        read_bundle(folder)
    (folder / "run.json").unlink()
    (folder / "run.json").symlink_to("/proc/self/mem")  # a file, and reading it fails
    with pytest.raises(ConfigError, match=r"run\.json: cannot be read"):
        read_bundle(folder)


@pytest.mark.parametrize(
    "line",
    [
        '{"kind":"case"}',
        '{"kind":"fact","scenario":1}',
        "[1]",
        "[" * 5000,
        json.dumps(asdict(CaseRow("smoke", "venus", "ops", "A()", "A", "", "great", "", 0.0, 0.0))),
        json.dumps(asdict(CaseRow("smoke", "venus", "ops", "A(\ud800)", "A", "", "pass", "", 0.0, 0.0))),
        json.dumps(asdict(CallRow("smoke", "venus", "both", 1, 0, "c", 1, 10**400, 0, 0, 0, 4, 1, 1))),
        json.dumps(asdict(CallRow("smoke", "venus", "both", 1, 0, "c", 1, -(1 << 64), 0, 0, 0, 4, 1, 1))),
        json.dumps(asdict(CallRow("smoke", "venus", "both", 1, 0, "c", 1, 77, 0, 0, 0, 4, 1, 1))).replace("77", f'"{10**400}"'),
        json.dumps(asdict(CallRow("smoke", "venus", "both", 1 << 64, 0, "c", 1, 1, 0, 0, 0, 4, 1, 1))),
        '{"kind":"case","scenario":"\udcc3',
    ],
    ids=[
        "no keys",
        "wrong type",
        "no table",
        "nested",
        "a later outcome",
        "half a character",
        "endless",
        "below 64 bits",
        "endless and a text",
        "beyond 64 bits",
        "cut within a character",
    ],
)
def test_lines_that_are_no_rows_are_counted_and_left_out(whole: Path, tmp_path: Path, line: str) -> None:
    folder = copied(whole, tmp_path)
    before = read_bundle(folder)
    for name in ("results.jsonl", "calls.jsonl"):
        with open(folder / name, "a", encoding="utf-8", errors="surrogateescape") as rows:
            rows.write(f"{line}\n")
    after = read_bundle(folder)
    assert (after.cases, after.facts, after.calls) == (before.cases, before.facts, before.calls)
    assert after.cut_lines in {1, 2}, "calls of a kind are of a later lab"
    rendered_report(folder)


def test_truth_table_is_read_as_far_as_it_is_one(whole: Path, tmp_path: Path) -> None:
    folder = copied(whole, tmp_path)
    before = read_bundle(folder).cut_lines
    names = ",".join(field.name for field in fields(SupportRow))
    line = "smoke,venus,A(),A,yes,yes,yes\n"
    no = "smoke,venus,B(),B,yes,no,no\nsmoke,venus,C(),C,yes,,yes\nsmoke,venus,D(),D,yes,yes,maybe\n"
    (folder / "support.csv").write_text(f'{names}\n{line}{no}smoke,venus,"{"x" * 140_000}\n{line}')
    bundle = read_bundle(folder)
    assert [(row.case, row.agree) for row in bundle.support] == [("A()", True), ("B()", False)]
    assert bundle.cut_lines == before + 1
    rendered_report(folder)


def test_two_bundles_of_one_second_have_folders_of_their_own(tmp_path: Path) -> None:
    with new_bundle(tmp_path, "x") as one, new_bundle(tmp_path, "x") as other:
        assert one.folder != other.folder
        assert one.run == one.folder.name
        assert other.run == other.folder.name


def test_rows_of_several_threads_stay_whole(tmp_path: Path) -> None:
    with new_bundle(tmp_path, "x") as bundle:
        writer = CheckWriter(bundle, "s", "v", "ops")

        def write() -> None:
            for number in range(200):
                writer.case(CaseResult(f"ADD({'p' * number})", "ADD", "p", Outcome.PASS))

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        lines = (bundle.folder / "results.jsonl").read_text().splitlines()
    assert len(lines) == 800
    assert all(json.loads(line)["kind"] == "case" for line in lines)


def test_whole_file_is_replaced_and_leaves_nothing(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", "old")
    write_whole(tmp_path / "file", "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "new")]


def test_file_that_several_write_at_once_is_always_whole(tmp_path: Path) -> None:
    path, texts, failed = tmp_path / "file", {letter * 200_000 for letter in "abc"}, []
    write_whole(path, "a" * 200_000)

    def write(text: str) -> None:
        try:
            for _ in range(30):
                write_whole(path, text)
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert path.read_text() in texts
    assert (failed, [one.name for one in tmp_path.iterdir()]) == ([], ["file"])


def test_reproduce_script_runs_the_scenario_again(whole: Path, tmp_path: Path) -> None:
    folder = copied(whole, tmp_path)
    project = tmp_path / "project"
    (project / "lab").mkdir(parents=True)
    (project / "lab" / "__init__.py").touch()
    program = project / ".venv" / "bin" / "lab"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\npwd\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    script = ["sh", str(folder / "reproduce.sh"), "--dry-run"]
    environment = {"PATH": "/usr/bin:/bin", "VIRTGPU_LAB_PROJECT": str(project)}
    done = subprocess.run(script, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(project), "run", str(folder / "scenario" / "smoke.toml"), "--dry-run"]
    assert "using the copy in the bundle" in done.stderr


def test_reproduce_script_finds_the_project_around_it_or_says_so(whole: Path, tmp_path: Path) -> None:
    folder = copied(whole, tmp_path)
    script = ["sh", str(folder / "reproduce.sh")]
    done = subprocess.run(script, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "set VIRTGPU_LAB_PROJECT" in done.stderr


def test_outcomes_have_a_column_and_a_blame() -> None:
    assert {outcome.column for outcome in Outcome} == {"ok", "fail", "unsupported", "error", "skipped"}
    assert Outcome.PASS.blame is None
    assert Outcome.ERROR.blame is Blame.LAB
    assert Outcome.HANG.blame is Blame.PRODUCT


def test_run_record_needs_no_more_than_its_name() -> None:
    assert RunRecord(run="r", name="n", status=Status.RUNNING, started="").variants == ()


def test_full_disk_leaves_the_old_file_whole_and_nothing_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_whole(tmp_path / "file", "old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(tmp_path / "file", "new")
    assert Path(caught.value.filename) == tmp_path / "file"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_error_of_a_file_that_cannot_be_written_has_its_own_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as told:
        write_whole(tmp_path / "none" / "summary.md", "text")
    assert told.value.filename == str(tmp_path / "none" / "summary.md")


def test_error_of_a_full_disk_names_the_bundle(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as caught, new_bundle(tmp_path, "full"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert Path(caught.value.filename).parent == tmp_path


def test_error_of_a_disk_that_is_full_when_the_rows_are_closed_names_the_bundle(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(bundle: BundleWriter) -> None:
        bundle.call(CallRow("full", "v", "host", 1, 1, "handshake", 0, 1, None, 0, 1, 0, 0, 0), flush=False)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))

    try:
        with pytest.raises(OSError, match="too large") as caught, new_bundle(tmp_path, "full") as bundle:
            fill(bundle)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert Path(caught.value.filename) == bundle.folder


def test_link_in_the_place_of_a_file_leads_nowhere(whole: Path, tmp_path: Path) -> None:
    folder, outside = copied(whole, tmp_path), tmp_path / "outside"
    outside.write_text("precious")
    for name in (f".index.html.{os.getpid()}-{threading.get_ident()}.new", "index.html", "summary.md"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(outside)
    assert not rendered_report(folder).is_symlink()
    assert outside.read_text() == "precious"
