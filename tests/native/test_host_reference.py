"""test-backend-ops with another build of ggml-cpu preloaded as its reference, natively: it is used; what cannot be had ends it."""

from __future__ import annotations

import pytest

from lab.deadline import Deadline
from lab.host.native import NativePayloads, native_payloads
from lab.host.progress import SilentProgress
from lab.host.root import Bind, HostRoot
from lab.ops.upstream import PROGRAM, parse_row
from lab.process import Finished, finish
from tests.backends import BACKENDS

pytestmark = pytest.mark.native

BUILD_S = 1500.0
RUN_S = 120.0
PLAIN = str(BACKENDS / "libggml-cpu-x64.so")
CASES = r"^(type=f32,ne=\[10,5,4,3\],nr=\[1,1,1,1\]|type_a=(q4_K|f32),type_b=f32,m=16,n=1,k=256,bs=\[1,1\],nr=\[1,1\])"


@pytest.fixture(scope="module")
def payloads(root: HostRoot) -> NativePayloads:
    return native_payloads(root, SilentProgress(), Deadline.after(BUILD_S))


def ran(root: HostRoot, payloads: NativePayloads, **variables: str) -> Finished:
    """The program on the root's own CPU device, compared with what is preloaded."""
    argv = (PROGRAM, "test", "-b", "CPU", "--output", "csv", "-o", "ADD,MUL_MAT", "-p", CASES)
    environment = {"HOME": "/tmp", "LD_PRELOAD": str(payloads.host_reference), "GGML_VIRTGPU_REFERENCE_CAPSET": "apir", **variables}
    words = root.enter(argv, binds=(Bind(payloads.folder),), env=environment)
    return finish(words, deadline=Deadline.after(RUN_S))


def outcomes(done: Finished) -> dict[str, set[bool]]:
    """Whether the cases of each operation passed."""
    rows = [row for row in map(parse_row, done.output.splitlines()) if row is not None]
    return {op: {not row.error for row in rows if row.op == op} for op in {row.op for row in rows}}


def test_another_build_is_compared_with(root: HostRoot, payloads: NativePayloads) -> None:
    library = str(payloads.reference_library)
    done = ran(root, payloads, GGML_VIRTGPU_REFERENCE_LIBRARY=library, GGML_REFERENCE_LIBRARY=PLAIN)
    assert "host-reference: CPU (" in done.output
    assert "with a quantiser" in done.output
    assert outcomes(done) == {"ADD": {True}, "MUL_MAT": {True}}, done.output
    assert done.exit_status == 0


def test_what_the_reference_says_decides(root: HostRoot, payloads: NativePayloads) -> None:
    variables = {"GGML_LIAR_LIBRARY": PLAIN, "GGML_LIAR": "wrong:op=ADD"}
    done = ran(root, payloads, GGML_VIRTGPU_REFERENCE_LIBRARY=str(payloads.liar), **variables)
    assert outcomes(done) == {"ADD": {False}, "MUL_MAT": {True}}, done.output
    assert done.exit_status == 1


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "GGML_VIRTGPU_REFERENCE_LIBRARY is not set"),
        ({"GGML_VIRTGPU_REFERENCE_LIBRARY": "/no/such.so"}, "cannot open /no/such.so"),
        ({"GGML_VIRTGPU_REFERENCE_LIBRARY": PLAIN, "GGML_VIRTGPU_REFERENCE_CAPSET": "2d"}, "GGML_VIRTGPU_REFERENCE_CAPSET is '2d'"),
        ({"GGML_VIRTGPU_REFERENCE_LIBRARY": "REFERENCE"}, "there is no device for the reference on the capset apir"),
    ],
)
def test_what_cannot_be_had_ends_it(root: HostRoot, payloads: NativePayloads, variables: dict[str, str], said: str) -> None:
    given = {name: str(payloads.reference_library) if value == "REFERENCE" else value for name, value in variables.items()}
    done = ran(root, payloads, **given)
    assert f"host-reference: {said}" in done.output
    assert done.exit_status == 1
    assert not outcomes(done)
