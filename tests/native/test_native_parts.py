"""The native parts inside the host root: their own tests, with and without sanitizers, and recorded conversations played."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from lab import paths
from lab.apir.trace import Command, read_trace
from lab.deadline import Deadline
from lab.host.native import NativePayloads, cmake_options, fuzz_smoke, native_payloads, native_tests, work_folder
from lab.host.progress import SilentProgress
from lab.host.root import Bind, HostRoot
from lab.process import Finished, finish

BUILD_S = 1500.0
CPU_LIBRARY = "/usr/lib/x86_64-linux-gnu/ggml/backends0/libggml-cpu-x64.so"
TRACES = sorted((paths.PROJECT / "tests" / "data" / "traces").glob("*.jsonl"))


@pytest.fixture(scope="module")
def payloads(root: HostRoot) -> NativePayloads:
    return native_payloads(root, SilentProgress(), Deadline.after(BUILD_S))


@pytest.fixture(scope="module")
def tested(root: HostRoot) -> Finished:
    return native_tests(root, SilentProgress(), Deadline.after(BUILD_S))


@pytest.mark.protocol
@pytest.mark.compiled_beforehand("tests")
def test_native_tests_pass(tested: Finished) -> None:
    assert tested.exit_status == 0, tested.output


@pytest.mark.native
@pytest.mark.compiled_beforehand("sanitized")
def test_native_tests_pass_under_sanitizers(root: HostRoot) -> None:
    done = native_tests(root, SilentProgress(), Deadline.after(BUILD_S), sanitize=True)
    assert done.exit_status == 0, done.output


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


@pytest.mark.protocol
@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_recorded_conversation_gets_the_same_answers(root: HostRoot, payloads: NativePayloads, trace: Path) -> None:
    done = replayed(root, payloads, trace)
    assert done.exit_status == 0, done.output
    total = json.loads(done.output.splitlines()[-1])
    assert total["played"] >= 16
    assert total["different"] == 0


@pytest.mark.protocol
@pytest.mark.usefixtures("tested")
@pytest.mark.compiled_beforehand("tests")
def test_our_own_recording_gets_the_same_answers(root: HostRoot, payloads: NativePayloads, tmp_path: Path) -> None:
    work = work_folder(root, cmake_options())
    (recorded,) = (work / "traces").glob("trace-*.jsonl")
    for file in (recorded, work / "libtest-two-devices.so"):
        shutil.copy(file, tmp_path)
    done = replayed(root, payloads, tmp_path / recorded.name, tmp_path / "libtest-two-devices.so")
    assert done.exit_status == 0, done.output
    *answers, total = (json.loads(line) for line in done.output.splitlines() if line.startswith("{"))
    assert total == {"played": len(answers), "different": 0}
    names = {answer["name"] for answer in answers}
    wide = {
        "wide_supports_op",
        "wide_get_alloc_size",
        "wide_set_tensor",
        "wide_get_tensor",
        "wide_cpy_tensor",
        "graph_keep",
    }
    assert wide <= names
    assert any(isinstance(row, Command) and row.device == 1 for row in read_trace(recorded))


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
