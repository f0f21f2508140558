"""``lab trace show`` and ``replay`` on the recorded files, and ``record`` in a real guest, whose files both of them read."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lab.apir.protocol_gen import BatchedCall, BatchRequest, Call, CommandHeader
from lab.apir.trace import Ioctl
from lab.apir.wire import Reader, Writer
from lab.cli.app import app
from lab.cli.trace import Replayed, answers_in, line_of, player_words, replayed
from lab.deadline import Deadline
from lab.errors import BuildError
from lab.host.root import HostRoot
from lab.paths import PROJECT
from lab.process import Finished, finish
from lab.scenario.shipment import Payload
from tests.lacking import LACKED, lacking_library

LAB = (sys.executable, "-c", "from lab.cli import main; main()", "trace")
TRACES = sorted((PROJECT / "tests" / "data" / "traces").glob("*.jsonl"))
TRACE_S = 300.0
SCENARIO = """\
name = "traced"
timeout_s = 180

[[checks]]
kind = "ops"
ops = ["ADD"]
patterns = ['type=f32,ne=\\[10,5,4,3\\],nr=\\[[12],1']
"""


def lab_trace(*words: str | Path) -> tuple[int, str]:
    done = finish((*LAB, *map(str, words)), deadline=Deadline.after(TRACE_S))
    assert "Traceback" not in done.output
    return done.exit_status, done.output


def answer_of(output: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(output.splitlines()[-1])
    return answer


def rows_of(trace: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]


def changed(trace: Path, folder: Path, key: str, value: Any) -> Path:
    """The conversation with another value in the first call that read a tensor."""
    rows = rows_of(trace)
    next(row for row in rows if row.get("call") == 18)[key] = value
    path = folder / "changed.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_show_tells_every_row(trace: Path) -> None:
    status, output = lab_trace("show", trace)
    assert status == 0, output
    rows = rows_of(trace)
    assert len(output.splitlines()) == len(rows)
    assert "device_get_name" in output
    status, output = lab_trace("show", trace, "--json")
    answer = answer_of(output)
    assert (status, answer["exit"]) == (0, 0), output
    assert answer["commands"] == sum(row["kind"] == "command" for row in rows)
    assert answer["commands"] + answer["ioctls"] == len(rows)
    assert answer["calls"].get("backend_graph_compute", 0) == sum(row.get("call") == 22 for row in rows)


BLOB = '{"kind":"ioctl","ioctl":"RESOURCE_CREATE_BLOB","res_handle":1'
NO_ROWS = ['{"kind": "command"}', "[" * 100_000, BLOB.replace("1", "Infinity") + ',"size":1}', BLOB + ',"size":-5}', BLOB + "}"]


@pytest.mark.parametrize("line", NO_ROWS, ids=["too little", "deep", "infinite", "negative", "no size"])
@pytest.mark.parametrize("command", ["show", "replay"])
def test_file_that_is_no_trace_is_told_with_its_line(tmp_path: Path, command: str, line: str) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(TRACES[0].read_text(encoding="utf-8").splitlines(keepends=True)[0] + f"{line}\n")
    status, output = lab_trace(command, path, "--json")
    assert status == 2, output
    assert "line 2: not a row of a trace" in output
    assert answer_of(output)["exit"] == 2


def test_trace_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    status, output = lab_trace("show", tmp_path / "none.jsonl")
    assert (status, output) == (2, f"error: {tmp_path / 'none.jsonl'}: No such file or directory\n")


@pytest.mark.protocol
@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_replay_gets_the_recorded_answers(trace: Path) -> None:
    status, output = lab_trace("replay", trace, "--json")
    answer = answer_of(output)
    assert (status, answer["exit"], answer["different"]) == (0, 0, 0), output
    assert answer["played"] == sum(isinstance(row.get("call"), int) and "return_code" in row for row in rows_of(trace))
    assert answer["duration_us"] > 0


@pytest.mark.protocol
@pytest.mark.skipif(not os.access("/", os.W_OK), reason="only root has files there")
def test_conversation_is_played_from_a_folder_that_would_hide_the_root() -> None:
    with tempfile.NamedTemporaryFile(dir="/", prefix="virtgpu-lab-", suffix=".jsonl") as trace:
        trace.write(TRACES[0].read_bytes())
        trace.flush()
        status, output = lab_trace("replay", trace.name, "--json")
    assert (status, answer_of(output)["different"]) == (0, 0), output


@pytest.mark.protocol
@pytest.mark.parametrize(("key", "value"), [("return_code", 5), ("data_out", "00")])
def test_replay_tells_another_answer_and_ends_with_1(tmp_path: Path, key: str, value: Any) -> None:
    first = next(row for row in rows_of(TRACES[0]) if row.get("call") == 18)
    other = value * (len(first["data_out"]) // 2) if key == "data_out" else value
    path = changed(TRACES[0], tmp_path, key, other)
    status, output = lab_trace("replay", path)
    assert status == 1, output
    assert "buffer_get_tensor: " in output
    assert "1 with another answer" in output
    assert answer_of(lab_trace("replay", path, "--json")[1])["different"] == 1


def row_of(**more: Any) -> dict[str, Any]:
    return {"index": 3, "name": "handshake", "differences": [], "remarks": [], "duration_ns": 1_500_000, **more}


def test_replay_tells_how_long_it_took_and_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (row_of(differences=["another name", "and type"]), row_of(remarks=["memory"]), row_of(remarks=["a handle", "a size"]))
    monkeypatch.setattr("lab.cli.trace.played_again", lambda *_, **_more: Replayed(rows, 1))
    told, line = (CliRunner().invoke(app, ["trace", "replay", str(TRACES[0]), *words]) for words in ((), ("--json",)))
    assert (told.exit_code, line.exit_code) == (1, 1)
    assert told.stdout.splitlines() == [
        "row 3: handshake: another name",
        "row 3: handshake: and type",
        "3 commands played in 4.5 ms: 1 with another answer, 2 with other facts of the device, sizes or handles",
    ]
    assert json.loads(line.stdout) == {"played": 3, "different": 1, "duration_us": 4500.0, "exit": 1}


@pytest.mark.parametrize(("words", "threads"), [((), 3), (("--threads", "5"), 5)])
def test_replay_computes_with_as_many_threads_as_a_run(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], threads: int
) -> None:
    asked: list[int] = []

    def play(*_: Any, threads: int) -> Replayed:
        asked.append(threads)
        return Replayed((row_of(),), 0)

    monkeypatch.setattr("lab.cli.trace.played_again", play)
    monkeypatch.setattr("lab.cli.trace.processor_count", lambda: 3)
    assert CliRunner().invoke(app, ["trace", "replay", str(TRACES[0]), *words]).exit_code == 0
    assert asked == [threads]
    host, ggml = (Payload(name, Path(name), f"/{name}", "", None) for name in ("host.so", "ggml.so"))
    assert player_words(host, ggml, "init", threads)[-2:] == ("--threads", str(threads))


@pytest.mark.parametrize("number", ["0", "513", "many"])
def test_threads_that_no_host_library_has_are_refused(number: str) -> None:
    told = CliRunner().invoke(app, ["trace", "replay", str(TRACES[0]), "--threads", number])
    assert (told.exit_code, "Invalid value for '--threads'" in told.stderr) == (2, True)


def test_blob_is_told_with_its_size_and_its_resource() -> None:
    assert line_of(Ioctl("RESOURCE_CREATE_BLOB", (7, 4096))) == "ioctl resource_create_blob of 4096 bytes: resource 7"
    assert line_of(Ioctl("GET_CAPS", None)) == "ioctl get_caps"


def test_replay_reads_its_answers_among_whatever_a_library_says() -> None:
    answer = row_of()
    output = ["{x", "[{", '{"differences": 1}', json.dumps(answer), '{"played": 1, "different": 0}', "ggml: done"]
    assert answers_in("\n".join(output)) == (answer,)


@pytest.mark.parametrize(("status", "told", "fails"), [(0, 2, True), (1, 2, True), (0, 3, False), (1, 3, False), (2, 3, True)])
def test_replay_that_ends_early_is_none(tmp_path: Path, status: int, told: int, fails: bool) -> None:
    answer = row_of(differences=["x"] * status)
    done = Finished((), status, f"{json.dumps(answer)}\n" * told)
    if not fails:
        assert replayed(tmp_path, done, 3).exit_status == status
        return
    with pytest.raises(BuildError, match=rf"could not be played \(status {status}, {told} of 3 commands\)"):
        replayed(tmp_path, done, 3)


def malformed_along() -> bytes:
    """The payload of a batch whose first call does not decode."""
    writer = Writer()
    BatchRequest(2).encode(writer)
    BatchedCall(0, Call.BUFFER_SET_TENSOR, 4).encode(writer)
    writer.raw(b"\xff\0\0\0")
    BatchedCall(0, Call.DEVICE_GET_NAME, 0).encode(writer)
    return writer.data


@pytest.mark.protocol
@pytest.mark.parametrize(
    ("call", "payload", "more"),
    [
        (Call.BUFFER_SET_TENSOR, b"\xff\0\0\0", {}),
        (Call.ON_DEVICE, b"\xff\0\0\0", {}),
        (Call.BATCH, b"\xff\0\0\0", {}),
        (Call.BATCH, malformed_along(), {}),
        (Call.BUFFER_GET_BASE, bytes(8), {}),
        (Call.BUFFER_CLEAR, bytes(12), {"data_resource": 99, "data_bytes": 1 << 60}),
    ],
    ids=["set", "on a device", "batch", "along", "refused", "data that nobody has"],
)
def test_request_that_the_host_refused_is_refused_again(tmp_path: Path, call: Call, payload: bytes, more: dict[str, int]) -> None:
    rows = rows_of(TRACES[0])
    writer = Writer()
    header = CommandHeader.decode(Reader(bytes.fromhex(next(row for row in rows if row.get("call") == 18)["command"])))
    replace(header, flags=call).encode(writer)
    refused = {"kind": "command", "command": (writer.data + payload).hex(), "call": call, "return_code": 5, "reply": "", **more}
    path = tmp_path / "refused.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (*rows, refused)))
    status, output = lab_trace("replay", path, "--json")
    assert (status, answer_of(output)["different"]) == (0, 0), output


@pytest.mark.protocol
def test_recording_with_less_data_than_was_asked_for_is_another_answer(tmp_path: Path) -> None:
    status, output = lab_trace("replay", changed(TRACES[0], tmp_path, "data_out", "00"))
    assert status == 1, output
    assert re.search(r"buffer_get_tensor: data_out has [0-9]+ bytes, recorded 1\n", output)


@pytest.mark.protocol
def test_replay_of_nothing_ends_with_2(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text(TRACES[0].read_text(encoding="utf-8").splitlines(keepends=True)[0])
    status, output = lab_trace("replay", path, "--json")
    assert (status, answer_of(output)["exit"]) == (2, 2), output
    assert "could not be played" in output


@pytest.mark.protocol
@pytest.mark.parametrize("option", ["--host-library", "--ggml-library"])
def test_library_that_cannot_be_played_against_is_told_with_its_option(root: HostRoot, tmp_path: Path, option: str) -> None:
    status, output = lab_trace("replay", TRACES[0], option, tmp_path / "none.so")
    assert status == 2, output
    assert f"{tmp_path / 'none.so'} cannot be used: No such file or directory\nhint: {option} names it" in output
    library = lacking_library(root, tmp_path)
    status, output = lab_trace("replay", TRACES[0], option, library)
    assert status == 2, output
    assert f"lab trace replay: {option}: {library} needs {LACKED}, which neither the host root nor this machine has" in output


@pytest.mark.scenario
def test_recorded_run_is_shown_and_played_with_equal_answers(tmp_path: Path) -> None:
    path = tmp_path / "traced.toml"
    path.write_text(SCENARIO)
    status, output = lab_trace("record", path, "--out", tmp_path / "runs", "--json")
    answer = answer_of(output)
    assert status == 0, output
    counts = []
    for trace in answer["traces"]:
        shown = answer_of(lab_trace("show", trace, "--json")[1])
        computing = ("backend_graph_compute", "wide_graph_compute", "graph_keep", "graph_run", "graph_patch")
        counts.append(sum(shown["calls"].get(call, 0) for call in computing))
        status, output = lab_trace("replay", trace, "--json")
        assert (status, answer_of(output)["different"]) == (0, 0), output
    assert max(counts) >= answer["scenarios"][0]["cases"]["ok"] > 0
