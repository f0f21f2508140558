"""A bundle as a smoke run leaves it, made by the real writer from seeded figures: for the report's tests and for looking at it."""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lab.bundle.junit import junit_xml
from lab.bundle.outcome import Blame, CaseResult, Finding, FindingKind, Outcome
from lab.bundle.reader import read_bundle
from lab.bundle.reproduce import reproduce_script
from lab.bundle.rows import CallRow
from lab.bundle.schema import (
    JUNIT,
    REPRODUCE,
    BootRecord,
    CallsRecord,
    CapabilityRecord,
    CaseCounts,
    DeviceRecord,
    HostRecord,
    MappedRecord,
    PackagesRecord,
    PayloadRecord,
    RunRecord,
    ScenarioRecord,
    Status,
    VariantRecord,
)
from lab.bundle.writer import BundleWriter, CheckWriter, new_bundle

OPS = {
    "ADD": 41,
    "MUL": 36,
    "SUB": 36,
    "SCALE": 5,
    "CPY": 26,
    "CONT": 21,
    "CONCAT": 32,
    "GET_ROWS": 20,
    "SET_ROWS": 11,
    "MUL_MAT": 40,
    "RMS_NORM": 21,
    "SOFT_MAX": 32,
    "ROPE": 24,
    "ARGSORT": 10,
    "SUM_ROWS": 5,
    "FLASH_ATTN_EXT": 8,
}
COMMANDS = {
    # command: calls, median µs, spread, share of computing
    "buffer_set_tensor": (2600, 190, 0.25, 0.05),
    "buffer_get_tensor": (740, 200, 0.25, 0.05),
    "backend_graph_compute": (370, 420, 0.7, 0.5),
    "buffer_type_alloc_buffer": (740, 260, 0.3, 0.1),
    "buffer_free_buffer": (740, 230, 0.3, 0.05),
    "buffer_get_base": (740, 180, 0.2, 0.01),
    "device_supports_op": (368, 175, 0.2, 0.02),
    "device_get_memory": (3, 180, 0.1, 0.01),
    "load_library": (2, 76000, 0.05, 0.98),
    "handshake": (2, 320, 0.1, 0.02),
}
BUILD_ID = "6d3b87a1abd3136545c86eace4943f949aeba5fc"


def write_bundle(parent: Path, *, failing: bool = False, variants: tuple[str, ...] = ("venus", "apir")) -> Path:
    """A whole bundle below ``parent``, the caller's own; with ``failing`` the second variant has a wrong result and a lost guest.

    It is written once, for that takes a second: each is a copy, of one name, that of the time when the first was made.
    """
    name, files = _written(failing=failing, variants=variants)
    folder = parent / name
    folder.mkdir(parents=True)
    for path, content in files:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


@functools.cache
def _written(*, failing: bool, variants: tuple[str, ...]) -> tuple[str, tuple[tuple[Path, bytes], ...]]:
    """The name of a bundle by the real writer, and its files."""
    with tempfile.TemporaryDirectory() as parent:
        folder = _write(Path(parent), failing=failing, variants=variants)
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        return folder.name, tuple((path.relative_to(folder), path.read_bytes()) for path in files)


def _write(parent: Path, *, failing: bool, variants: tuple[str, ...]) -> Path:
    random = np.random.default_rng(7)
    with new_bundle(parent, "smoke") as bundle:
        records = []
        for number, variant in enumerate(variants):
            bad = failing and number == 1
            logs = bundle.logs(variant)
            for name in ("serial.log", "qemu.log", "component.log", "host-library.log", "test-backend-ops.log"):
                (logs / name).write_text(f"{name} of {variant}\n")
            results, findings = _results(bundle, variant, random, bad=bad)
            count = _calls(bundle, variant, random)
            records.append(_variant(variant, number, results, findings, count))
        record = _run(bundle, tuple(records))
        bundle.describe(record)
        folder = bundle.folder
    (folder / REPRODUCE).write_text(reproduce_script(record))
    (folder / "scenario" / "smoke.toml").write_text('name = "smoke"\n')
    (folder / JUNIT).write_text(junit_xml(read_bundle(folder)))
    return folder


def _results(
    bundle: BundleWriter, variant: str, random: np.random.Generator, *, bad: bool
) -> tuple[list[CaseResult], list[Finding]]:
    state = CheckWriter(bundle, "smoke", variant, "state")
    for name, value in (
        ("guest kernel", "6.12.57+deb13-amd64"),
        ("guest module virtio_gpu", "loaded"),
        ("sha256 of the shipped guest library", "5f" * 32),
        ("build id of the guest library mapped in guest program", BUILD_ID),
        ("build id of the component mapped in QEMU", BUILD_ID[::-1]),
    ):
        state.fact(name, value, value, ok=True)
    state.fact("empty call, p50", "≤ 5 µs", "4.25 µs", ok=True)
    ops = CheckWriter(bundle, "smoke", variant, "ops")
    for result in _cases(random, bad=bad):
        ops.case(result)
    if bad:
        ops.finding(
            Finding(FindingKind.CASE_FAILED, Blame.PRODUCT, "ADD(type=f16,…): [ADD] ERR = 1.0 > 0.0000001 test failed", "ADD(…)")
        )
        text = (
            "host crash: QEMU ended with signal 11; the first case without a result is FLASH_ATTN_EXT(hsk=64,nh=4,kv=113,nb=3);"
            " the last call record is backend_graph_compute (number 4711 of worker 4242, 391 µs, status 4)"
        )
        ops.finding(Finding(FindingKind.INTERRUPTED, Blame.PRODUCT, text))
        ops.finding(Finding(FindingKind.CALLS_DIFFER, Blame.LAB, "guest pid 300 sent 6303 commands, the worker counted 6302"))
    return ops.results, ops.findings


def _cases(random: np.random.Generator, *, bad: bool) -> Iterator[CaseResult]:
    for op, count in OPS.items():
        for index in range(count):
            params = (
                f"type=f{16 if index % 3 else 32},ne=[10,5,{index % 5 + 1},3],nr=[1,{index % 4 + 1},2,1],nf=1,perm1={index % 2}"
            )
            outcome, message = Outcome.PASS, ""
            if bad and op == "ADD" and index == 7:
                outcome, message = Outcome.FAIL, "[ADD] ERR = 1.000000 > 0.000000100 test failed"
            elif bad and op == "ROPE" and index < 3:
                outcome = Outcome.UNSUPPORTED
            elif bad and op == "FLASH_ATTN_EXT" and index == 5:
                outcome, message = Outcome.HOST_CRASH, "QEMU ended with signal 11"
            elif bad and op == "FLASH_ATTN_EXT" and index > 5:
                return
            yield CaseResult(f"{op}({params})#{index}", op, params, outcome, message, round(float(random.lognormal(2.6, 0.6)), 3))


def _calls(bundle: BundleWriter, variant: str, random: np.random.Generator) -> int:
    at, seq = 1_000_000_000, 0
    for command, (count, median_us, spread, computing) in COMMANDS.items():
        for _ in range(count):
            duration = int(median_us * 1000 * random.lognormal(0, spread) * (8 if random.random() < 0.01 else 1))
            compute = int(duration * computing * random.uniform(0.7, 1.0))
            status = {"handshake": 0xAB1E, "load_library": 0}.get(command, 4)
            bundle.call(
                CallRow(
                    "smoke", variant, "both", 77, seq, command, at, duration, duration // 40, duration // 12, compute, status, 9, 6
                ),
                flush=False,
            )  # fmt: skip
            at, seq = at + duration, seq + 1
    return seq


def _variant(variant: str, number: int, results: list[CaseResult], findings: list[Finding], calls: int) -> VariantRecord:
    counts = {"ok": 0, "fail": 0, "unsupported": 0, "error": 0}
    for result in results:
        counts[result.outcome.column] += 1
    return VariantRecord(
        name="smoke",
        variant=variant,
        status=Status.FAILED if findings else Status.PASSED,
        cases=CaseCounts(**counts),
        device=DeviceRecord(registry="ggml-virtgpu", name="[virtgpu] CPU", type="GPU", description="CPU of the host"),
        reference=DeviceRecord(registry="CPU", name="CPU", type="CPU", index=1),
        accel="tcg",
        capset=variant.partition("-")[0],
        boot_s=9.8 if number == 0 else 0.0,
        wall_s=41.7 if number == 0 else 28.9,
        calls=CallsRecord(count=calls, p50_us=196.0, p99_us=920.0, guest_counted=calls, host_counted=calls),
        boot=0,
        expected_cases=sum(OPS.values()),
        mapped=(
            MappedRecord(process="guest program", path="/run/virtgpu-lab/libggml-virtgpu.so", build_id=BUILD_ID),
            MappedRecord(process="QEMU", path="/usr/lib/x86_64-linux-gnu/libvirglrenderer.so.1.8.0", build_id="0a" * 20),
        ),
        reason=findings[0].text if findings else "",
        logs=f"logs/{variant}",
    )


def _run(bundle: BundleWriter, variants: tuple[VariantRecord, ...]) -> RunRecord:
    failed = any(variant.status is Status.FAILED for variant in variants)
    return RunRecord(
        run=bundle.run,
        name="smoke",
        status=Status.FAILED if failed else Status.PASSED,
        exit=1 if failed else 0,
        started="2026-01-31T06:15:00Z",
        ended="2026-01-31T06:16:20Z",
        wall_s=80.2,
        lab_version="0.1.0",
        commit="35106f0c6a2c4a9fa9d57f9d47c4a6f1c7c1a001",
        python="3.11.2",
        argv=("lab", "run", "scenarios/smoke.toml"),
        host=HostRecord(
            kernel="6.1.0-30-amd64", distribution="Debian GNU/Linux 12 (bookworm)", processor="AMD EPYC", cores=2, memory_mib=7950
        ),
        capabilities=(
            CapabilityRecord(name="kvm", ok=False, probed="a guest under KVM said nothing for 4 s", hint="needs nesting"),
            CapabilityRecord(name="qemu", ok=True, probed="QEMU emulator version 11.1.3"),
        ),
        scenarios=(
            ScenarioRecord(
                name="smoke",
                description="The main road in minutes: both capsets from one boot, 368 small cases of 16 ops, every call timed",
                path="scenarios/smoke.toml",
                sha256="ab" * 32,
                copy_path="scenario/smoke.toml",
            ),
        ),
        built=(
            PackagesRecord(
                role="host root",
                name="host-root",
                key="0123456789abcdef",
                packages=(
                    ("libggml0", "0.27.0-1~bpo13+1"),
                    ("libvirglrenderer1", "1.1.0-2"),
                    ("qemu-system-x86", "1:11.1.3+ds-1~bpo13+1"),
                ),
            ),
        ),
        boots=(
            BootRecord(
                variants=tuple(variant.variant for variant in variants),
                argv=("qemu-system-x86_64", "-nodefaults", "-device", "virtio-gpu-gl-pci,blob=true,hostmem=1024M,venus=true"),
                environment=(("LD_PRELOAD", "/cache/native/libapir-preload.so"), ("VIRGL_ROUTE_VENUS_TO_APIR", "1")),
                accel="tcg",
                boot_s=9.8,
                capsets=(1, 2, 4, 10),
                kernel="6.12.57+deb13-amd64",
                payloads=(PayloadRecord(role="guest library", path="/cache/ours.so", sha256="5f" * 32, build_id=BUILD_ID),),
            ),
        ),
        variants=variants,
    )  # fmt: skip


if __name__ == "__main__":
    from reports.render import rendered_report

    target = Path(sys.argv[1])
    print(rendered_report(write_bundle(target, failing="failing" in sys.argv)))  # noqa: T201 - a program for looking at it
