"""The native parts inside the host root: their own tests, with and without sanitizers, and recorded conversations played."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from lab import paths
from lab.apir.protocol_gen import BatchedCall, BatchRequest, BufferSetTensorRequest, Call, CommandHeader, CommandType
from lab.apir.trace import Command, Row, read_trace, shown
from lab.apir.wire import Reader, Writer
from lab.deadline import Deadline
from lab.errors import ConfigError
from lab.host.native import NativePayloads, Sanitizers, cmake_options, fuzz_smoke, native_payloads, native_tests, work_folder
from lab.host.progress import SilentProgress
from lab.host.root import Bind, HostRoot
from lab.process import Finished, finish
from tests.backends import BACKENDS, GENERATION

BUILD_S = 1500.0
CPU_LIBRARY = f"{BACKENDS}/libggml-cpu-x64.so"
SOURCES = paths.BACKEND_IMPL / "tests"
UNSANITIZED = {"ring-interleavings"}
"""What is left out under sanitizers (ring.cmake)."""
ONE_THREADED = {"fuzz-mutate"}
"""What is left out under ThreadSanitizer (fuzz/CMakeLists.txt)."""
RECORDED = {"guest-golden"}
"""What is left out with another ggml than that of the recordings (guest.cmake)."""
VULKAN_FINDINGS = paths.BACKEND_IMPL / "fuzz" / "corpus" / "vulkan"
TRACES = sorted((paths.PROJECT / "tests" / "data" / "traces").glob("*.jsonl"))

of_recorded_ggml = pytest.mark.skipif(GENERATION != 0, reason="recorded with ggml 0.27: ops of 1.0 have other numbers")


@pytest.fixture(scope="module")
def payloads(root: HostRoot) -> NativePayloads:
    return native_payloads(root, SilentProgress(), Deadline.after(BUILD_S))


@pytest.fixture(scope="module")
def tested(root: HostRoot) -> Finished:
    return native_tests(root, SilentProgress(), Deadline.after(BUILD_S))


def passed(done: Finished) -> set[str]:
    """The names of CTest's tests that ran and passed."""
    return set(re.findall(r"Test +#\d+: (\S+) \.+ +Passed", done.output))


def of_sources() -> set[str]:
    """The test of each source of one: CTest says nothing of what a list of CMake's has left out."""
    tests = {source.stem.removesuffix("_test").replace("_", "-") for source in SOURCES.glob("*_test.cpp")}
    return tests if GENERATION == 0 else tests - RECORDED


@pytest.mark.protocol
@pytest.mark.compiled_beforehand("tests")
def test_native_tests_pass(tested: Finished) -> None:
    assert tested.exit_status == 0, tested.output
    # Those of which CMake has to find a program, a library or a driver first, and one of each other list.
    found = {
        "host-rules",
        "host-rules-vulkan",
        *(f"vulkan-{message.stem}" for message in VULKAN_FINDINGS.glob("*.msg") if GENERATION == 0),
    }
    listed = {"bench-loopback-shared", "buffer-soak", "fuzz-host", "guest-api-2-in-a-program-of-3", "guest-soak", "plant-leak"}
    assert of_sources() | found | listed <= passed(tested)


@pytest.mark.native
@pytest.mark.compiled_beforehand("sanitized")
def test_native_tests_pass_under_sanitizers(root: HostRoot) -> None:
    done = native_tests(root, SilentProgress(), Deadline.after(BUILD_S), sanitizers=Sanitizers.MEMORY)
    assert done.exit_status == 0, done.output
    assert of_sources() - UNSANITIZED | {"host-mutations", "host-strides"} <= passed(done)


@pytest.mark.native
@pytest.mark.compiled_beforehand("thread-sanitized")
def test_native_tests_pass_under_thread_sanitizer(root: HostRoot) -> None:
    done = native_tests(root, SilentProgress(), Deadline.after(BUILD_S), sanitizers=Sanitizers.THREADS)
    assert done.exit_status == 0, done.output
    # It sees the planted missing locks.
    wanted = of_sources() - UNSANITIZED - ONE_THREADED
    assert wanted | {"host-threads", "plant-missing_lock", "plant-guest-unlocked_pool"} <= passed(done)


@pytest.mark.native
@pytest.mark.compiled_beforehand("sanitized")
def test_a_minute_of_fuzzing_finds_nothing(root: HostRoot) -> None:
    done = fuzz_smoke(root, SilentProgress(), Deadline.after(BUILD_S))
    assert done.exit_status == 0, done.output
    # libFuzzer ran, and saw its way through what it was to try.
    assert len(re.findall(r"stat::number_of_executed_units: +[1-9]", done.output)) == 5, done.output
    assert len(re.findall(r"DONE +cov: [1-9]", done.output)) == 5, done.output


def replayed(root: HostRoot, payloads: NativePayloads, trace: Path, ggml_library: Path | str = CPU_LIBRARY) -> Finished:
    argv = (
        "python3", "-m", "lab.apir.replay", str(trace),
        "--host-library", str(payloads.host_library), "--ggml-library", str(ggml_library),
    )  # fmt: skip
    binds = (Bind(paths.PROJECT), Bind(payloads.folder), Bind(trace.parent))
    return finish(root.enter(argv, binds=binds, env={"HOME": "/tmp"}, cwd=paths.PROJECT), deadline=Deadline.after(60))


@of_recorded_ggml
@pytest.mark.protocol
@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_recorded_conversation_gets_the_same_answers(root: HostRoot, payloads: NativePayloads, trace: Path) -> None:
    done = replayed(root, payloads, trace)
    assert done.exit_status == 0, done.output
    total = json.loads(done.output.splitlines()[-1])
    assert total["played"] >= 16
    assert total["different"] == 0


def played_again(root: HostRoot, payloads: NativePayloads, folder: str, tmp_path: Path) -> tuple[tuple[Row, ...], set[str]]:
    """The rows of our own recording in that folder, and what its calls are, all of which got the same answers again."""
    work = work_folder(root, cmake_options())
    (recorded,) = (work / folder).glob("trace-*.jsonl")
    for file in (recorded, work / "libtest-two-devices.so"):
        shutil.copy(file, tmp_path)
    done = replayed(root, payloads, tmp_path / recorded.name, tmp_path / "libtest-two-devices.so")
    assert done.exit_status == 0, done.output
    *answers, total = (json.loads(line) for line in done.output.splitlines() if line.startswith("{"))
    assert total == {"played": len(answers), "different": 0}
    return read_trace(recorded), {answer["name"] for answer in answers}


@pytest.mark.protocol
@pytest.mark.usefixtures("tested")
@pytest.mark.compiled_beforehand("tests")
def test_our_own_recording_gets_the_same_answers(root: HostRoot, payloads: NativePayloads, tmp_path: Path) -> None:
    rows, names = played_again(root, payloads, "traces-conversation", tmp_path)
    wide = {
        "wide_supports_op",
        "wide_get_alloc_size",
        "wide_set_tensor",
        "wide_get_tensor",
        "wide_cpy_tensor",
        "graph_keep",
    }
    assert wide <= names
    assert any(isinstance(row, Command) and row.device == 1 for row in rows)


@pytest.mark.protocol
@pytest.mark.usefixtures("tested")
@pytest.mark.compiled_beforehand("tests")
def test_our_own_recording_of_writes_that_went_along(root: HostRoot, payloads: NativePayloads, tmp_path: Path) -> None:
    rows, _ = played_again(root, payloads, "traces-writes_along", tmp_path)
    along = [(row.name, len(each.data)) for row in rows if isinstance(row, Command) for each in row.along]
    assert along == [("buffer_set_tensor", 8192), ("buffer_get_tensor", 8192)] * 2


def put_together(first: dict[str, Any], second: dict[str, Any], resource: int) -> dict[str, Any]:
    """A row with both writes in one batch, the first one's data in another resource."""
    calls = []
    for row in (first, second):
        reader = Reader(bytes.fromhex(row["command"]))
        CommandHeader.decode(reader)
        calls.append(BufferSetTensorRequest.decode(reader))
    calls[0] = dataclasses.replace(calls[0], resource=resource)
    writer = Writer()
    CommandHeader(
        CommandType.FORWARD, Call.BATCH, CommandHeader.decode(Reader(bytes.fromhex(second["command"]))).reply_resource
    ).encode(writer)
    BatchRequest(len(calls)).encode(writer)
    for call in calls:
        request = Writer()
        call.encode(request)
        BatchedCall(0, Call.BUFFER_SET_TENSOR, len(request.data)).encode(writer)
        writer.raw(request.data)
    return second | {"command": writer.data.hex(), "call": int(Call.BATCH), "data_along": [first["data_in"]]}


@of_recorded_ggml
@pytest.mark.protocol
@pytest.mark.parametrize("right", [True, False])
def test_data_that_went_along_is_played(root: HostRoot, payloads: NativePayloads, tmp_path: Path, right: bool) -> None:
    rows = [json.loads(line) for line in TRACES[0].read_text(encoding="utf-8").splitlines()]
    at = next(i for i, row in enumerate(rows) if row.get("call") == 17)
    rows[at : at + 2] = [put_together(rows[at], rows[at + 1], resource=77)]
    if not right:
        (data,) = rows[at]["data_along"]
        rows[at]["data_along"] = [bytes([b ^ 1 for b in bytes.fromhex(data)]).hex()]
    path = tmp_path / "along.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = read_trace(path)[at]
    assert isinstance(command, Command)
    assert "behind buffer_set_tensor [128 bytes]" in shown(command)
    done = replayed(root, payloads, path)
    assert (json.loads(done.output.splitlines()[-1])["different"] == 0) == right, done.output
    rows[at]["data_along"] = []
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(ConfigError, match=f"line {at + 1}"):
        read_trace(path)


@of_recorded_ggml
@pytest.mark.protocol
@pytest.mark.parametrize(("key", "call"), [("data_out", 18), ("return_code", 17)])
def test_a_changed_recording_is_told_apart(root: HostRoot, payloads: NativePayloads, tmp_path: Path, key: str, call: int) -> None:
    rows = [json.loads(line) for line in TRACES[0].read_text(encoding="utf-8").splitlines()]
    row = next(row for row in rows if row.get("call") == call)
    row[key] = row[key] + 1 if isinstance(row[key], int) else bytes([b ^ 1 for b in bytes.fromhex(row[key])]).hex()
    changed = tmp_path / "changed.jsonl"
    changed.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = replayed(root, payloads, changed)
    assert done.exit_status == 1
    assert json.loads(done.output.splitlines()[-1])["different"] == 1
