"""The catalog through our host library in one process: bit for bit what the backend library computes without it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from lab import paths
from lab.deadline import Deadline
from lab.host.native import NativePayloads, native_payloads
from lab.host.progress import SilentProgress
from lab.host.root import Bind, HostRoot
from lab.ops.agent_rows import AgentRow, row_from
from lab.ops.catalog import all_cases
from lab.ops.native import PYTHON_WORDS, ROW_START, NativeRun
from lab.ops.verdict import EXCUSES, truth_table
from lab.process import finish
from tests.backends import BACKENDS

pytestmark = pytest.mark.protocol

LIBRARY = f"{BACKENDS}/libggml-cpu-haswell.so"
EXCUSED = {excuse.case for excuse in EXCUSES}
CASES = tuple(case.id for case in all_cases() if case.parameters["transfer"] <= 1 << 20 and case.id not in EXCUSED)
RUN_S = 300.0


@pytest.fixture(scope="module")
def payloads(root: HostRoot) -> NativePayloads:
    return native_payloads(root, SilentProgress(), Deadline.after(1500.0))


def through(root: HostRoot, payloads: NativePayloads, cases: Sequence[str], seed: int = 1) -> dict[str, AgentRow]:
    program = ("python3", "-m", "lab.ops.loopback", "--host-library", str(payloads.host_library), "--ggml-library", LIBRARY)
    rows = {}
    for start in range(0, len(cases), 500):
        words = (*program, "--seed", str(seed), *cases[start : start + 500])
        binds = (Bind(paths.PROJECT), Bind(payloads.folder))
        done = finish(root.enter(words, binds=binds, env=PYTHON_WORDS, cwd=paths.PROJECT), deadline=Deadline.after(RUN_S))
        assert done.exit_status == 0, done.output[-2000:]
        rows |= {row.case: row for row in map(row_from, map(json.loads, told(done.output)))}
    return rows


def told(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith(ROW_START)]


@pytest.fixture(scope="module")
def native(root: HostRoot, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, AgentRow]:
    def enter(argv: Sequence[str], place: Path, env: Mapping[str, str]) -> Sequence[str]:
        return root.enter(argv, binds=(Bind(paths.PROJECT), Bind(place, writable=True)), env=env, cwd=paths.PROJECT)

    run = NativeRun(enter, tmp_path_factory.mktemp("native"), 1)
    return run.compute(LIBRARY, CASES, "own", Deadline.after(RUN_S), threads=1).rows


def test_every_case_that_is_computed_has_the_same_bits(
    root: HostRoot, payloads: NativePayloads, native: Mapping[str, AgentRow]
) -> None:
    remote = through(root, payloads, CASES)
    assert set(remote) == set(CASES)
    both = [case for case, row in remote.items() if row.supported and native[case].supported]
    assert [case for case in both if remote[case].digest != native[case].digest] == []
    assert len(both) >= 4000
    claimed = [line.case for line in truth_table(native, remote) if line.remote and not line.native]
    assert claimed == []


def test_two_runs_of_a_seed_have_the_same_digests(root: HostRoot, payloads: NativePayloads) -> None:
    some = CASES[::40]
    first, second = (through(root, payloads, some) for _ in range(2))
    assert {case: row.digest for case, row in first.items()} == {case: row.digest for case, row in second.items()}
    assert sum(bool(row.digest) for row in first.values()) >= 100


def test_other_data_have_other_bits(root: HostRoot, payloads: NativePayloads, native: Mapping[str, AgentRow]) -> None:
    some = [case for case in CASES if case.startswith("ADD(")]
    remote = through(root, payloads, some, seed=2)
    assert all(row.digest != native[case].digest for case, row in remote.items())
