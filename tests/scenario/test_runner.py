from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.bundle.reader import told_calls
from lab.bundle.schema import CapabilityRecord, Status
from lab.deadline import Deadline
from lab.errors import ConfigError, ConfigProblem, HostError
from lab.ggml.registry import Device
from lab.host.progress import Progress
from lab.host.root import HostRoot
from lab.scenario.listener import SilentListener
from lab.scenario.model import Scenario
from lab.scenario.plan import Choice, planned
from lab.scenario.platform import Ingredients
from lab.scenario.requirements import HostAbilities
from lab.scenario.runner import run
from lab.scenario.shipment import GUEST_LIBRARY
from tests.scenario.fakes import (
    HEADER_LINE,
    KERNEL,
    OURS,
    REFERENCE,
    SCENARIO,
    SHA,
    TEXTS,
    FakeGuest,
    FakePlatform,
    FakeShell,
    Script,
    row,
)
from tests.scenario.small_runs import Running, texts, variant


def test_run_passes_and_says_what_ran(running: Running) -> None:
    script = Script()
    bundle = running(script)
    assert bundle.run.status is Status.PASSED
    assert bundle.run.exit == 0
    assert texts(bundle) == ""
    for record in bundle.run.variants:
        assert record.cases.ok == 3
        assert record.device is not None
        assert record.reference is not None
        assert (record.device.registry, record.reference.registry) == ("ggml-virtgpu", "CPU")
        assert record.calls.count == record.calls.guest_counted == record.calls.host_counted == 5
        assert record.expected_cases == 3
    assert len(bundle.cases) == 6
    assert all(fact.ok for fact in bundle.facts)
    assert len(bundle.facts) > 40


def test_one_boot_serves_both_variants_and_counts_in_the_first(running: Running) -> None:
    script = Script()
    bundle = running(script)
    assert (script.boots, script.torn_down) == (1, 1)
    assert variant(bundle).boot_s == 9.5
    assert variant(bundle, "apir").boot_s == 0.0
    assert bundle.run.boots[0].variants == ("venus", "apir")
    assert dict(bundle.run.boots[0].environment)["VIRGL_APIR_ADVERTISE_CAPSET"] == "1"


def test_capset_10_is_not_advertised_to_a_run_without_it(running: Running) -> None:
    bundle = running(Script(), variants=("venus",))
    assert [one.variant for one in bundle.run.variants] == ["venus"]
    assert "VIRGL_APIR_ADVERTISE_CAPSET" not in dict(bundle.run.boots[0].environment)


def test_paths_given_to_qemu_are_absolute_wherever_bundles_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SCENARIO)
    fake = FakePlatform(Script(), tmp_path)
    run(planned([Path("small.toml")], Choice()), Choice(), Path("runs"), SilentListener(), fake.platform())
    (plan,) = fake.plans
    assert dict(plan.variables)["VIRGL_APIR_CALL_LOG"].startswith(f"{tmp_path}/runs/")


def test_call_records_of_the_guest_that_cannot_be_read_hide_no_failure(running: Running, tmp_path: Path) -> None:
    def spoil() -> None:
        (tmp_path / "guest-1" / "venus" / "guest-0-0.calls").write_bytes(b"1234")

    script = Script(ops=(HEADER_LINE, spoil, *map(row, TEXTS[:2]), row(TEXTS[2], error="test failed")), ops_status=1)
    bundle = running(script, variants=("venus",))
    assert bundle.run.exit == 1
    assert f"case failed [product] {TEXTS[2]}" in texts(bundle)
    assert "calls differ [product] call records guest-0-0.calls of the guest: " in texts(bundle)


def test_guest_cannot_replace_what_the_host_recorded(running: Running, tmp_path: Path) -> None:
    def forge() -> None:
        (tmp_path / "guest-1" / "venus" / "host-101-9.calls").write_bytes(b"forged")

    bundle = running(Script(ops=(HEADER_LINE, forge, *map(row, TEXTS))), variants=("venus",))
    assert (bundle.folder / "logs" / "venus" / "calls" / "host-101-9.calls").read_bytes() != b"forged"


def test_every_variant_has_all_logs(running: Running) -> None:
    bundle = running(Script())
    for name in ("venus", "apir"):
        logs = {path.name for path in (bundle.folder / "logs" / name).iterdir()}
        assert {"serial.log", "test-backend-ops.log", "dmesg.log", "guest-calls"} <= logs


NOISE = ("pid of the daemon: 12", "{ggml_virtgpu: closing}", '{"level":"info"}', '{"devices": 3}', '{"devices": [{"index": 1}]}')


@pytest.mark.parametrize("noise", NOISE)
def test_what_a_library_prints_beside_the_devices_is_passed_over(running: Running, noise: str) -> None:
    bundle = running(Script(listing=(noise, "{}", noise)))
    assert [one.status for one in bundle.run.variants] == [Status.PASSED, Status.PASSED]


@pytest.mark.parametrize("answer", NOISE)
def test_listing_without_an_answer_that_can_be_read_is_the_products_failure(running: Running, answer: str) -> None:
    bundle = running(Script(listing=(answer,)))
    assert [one.status for one in bundle.run.variants] == [Status.FAILED, Status.FAILED]
    assert "program failed [product] listing ggml's devices in the guest failed" in texts(bundle)
    assert answer in texts(bundle)


def test_folder_for_call_records_that_cannot_be_made_is_told(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    execute = FakeShell.execute

    def full(self: FakeShell, command: str, deadline: Deadline) -> tuple[int, str]:
        return (1, "No space left on device") if command.endswith("/calls/venus") else execute(self, command, deadline)

    monkeypatch.setattr(FakeShell, "execute", full)
    bundle = running(Script(), variants=("venus",))
    assert bundle.run.exit == 2
    assert "No space left on device" in texts(bundle)


def test_wrong_result_fails_the_run(running: Running) -> None:
    lines = (HEADER_LINE, row(TEXTS[0]), row(TEXTS[1], error="test failed", before="[ADD] ERR = 0.5 > 0.0000001 "), row(TEXTS[2]))
    bundle = running(Script(ops=lines, ops_status=1))
    assert bundle.run.exit == 1
    assert variant(bundle).cases.fail == 1
    assert "case failed [product] ADD(type=f32,ne=[2,1,1,1]): [ADD] ERR = 0.5 > 0.0000001 test failed" in texts(bundle)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(Script(ops=(HEADER_LINE,)), "no cases [product]", id="nothing tested, status 0"),
        pytest.param(
            Script(ops=(HEADER_LINE, *(row(text, supported="0", error="not supported") for text in TEXTS))),
            "all unsupported [product]",
            id="everything unsupported, status 0",
        ),
        pytest.param(Script(ops=(HEADER_LINE, *(row(text) for text in TEXTS[:2]))), "missing case [product]", id="a case missing"),
        pytest.param(
            Script(ops=(HEADER_LINE, *(row(text) for text in (*TEXTS, TEXTS[0])))), "surplus case [lab]", id="a case repeated"
        ),
        pytest.param(Script(expected=()), "no cases [lab] the patterns leave no case", id="nothing chosen"),
        pytest.param(Script(ops_status=1), "program failed [product]", id="status without a failed row"),
        pytest.param(Script(devices=(REFERENCE,)), "no such device [product]", id="no device of ours"),
        pytest.param(
            Script(devices=(Device(0, "ggml-virtgpu", "[virtgpu] CPU", "", "CPU"), REFERENCE)),
            "wrong reference [product]",
            id="compared with itself",
        ),
        pytest.param(
            Script(devices=(OURS,)), "wrong reference [lab] no device of type CPU to compare with", id="nothing to compare with"
        ),
        pytest.param(
            Script(ops=(HEADER_LINE, *(row(text, device="CPU") for text in TEXTS))),
            "no such device [product] 3 rows",
            id="rows of another",
        ),
        pytest.param(Script(host_records=4), "calls differ [product] guest pid 9 sent 5 commands", id="a record dropped"),
        pytest.param(Script(guest_records=0, host_records=0), "no calls [product] 3 cases have results", id="no remote call"),
        pytest.param(
            Script(mapped_ids={"host library": "another"}),
            "wrong library [lab] build id of the host library mapped in worker",
            id="a swapped library",
        ),
        pytest.param(
            Script(ops=tuple(row(text) for text in TEXTS)),
            "wrong library [lab] 3 cases have results, but the program was not looked at",
            id="no header at which to look at the libraries",
        ),
    ],
)
def test_run_that_proves_nothing_does_not_pass(running: Running, script: Script, expected: str) -> None:
    bundle = running(script, variants=("venus",))
    assert bundle.run.exit in {1, 2}
    assert variant(bundle).status is not Status.PASSED
    assert expected in texts(bundle)


@pytest.mark.parametrize(
    ("role", "process"),
    [("guest library", "guest program"), ("component", "QEMU"), ("worker", "worker"), ("ggml library", "worker")],
)
def test_each_library_is_proved_by_its_whole_build_id(running: Running, role: str, process: str) -> None:
    bundle = running(Script(mapped_ids={role: f"id of {role} and more"}), variants=("venus",))
    assert bundle.run.exit == 2
    assert f"wrong library [lab] build id of the {role} mapped in {process}: expected id of {role}, seen" in texts(bundle)


def test_guest_without_render_nodes_is_a_wrong_state(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def file(path: str) -> SimpleNamespace:
        def listdir() -> list[str]:
            raise RuntimeError("Unexpected output CommandResult(...)")

        return SimpleNamespace(path=path, exists=False, is_directory=path != "/dev/dri", sha256sum=SHA, listdir=listdir)

    host = SimpleNamespace(check_output=lambda _command: KERNEL, file=file)
    monkeypatch.setattr(FakeGuest, "testinfra", lambda _self: host)
    bundle = running(Script())
    assert [one.status for one in bundle.run.variants] == [Status.ERROR, Status.ERROR]
    assert "wrong state [lab] driver of the render node: expected virtio_gpu, seen there is no render node" in texts(bundle)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Unexpected output"),
        AssertionError("Unexpected exit code 127"),
        IndexError("list index out of range"),  # of an answer without a word
        LookupError("unknown encoding: guest"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    ],
)
def test_guest_whose_state_cannot_be_asked_is_told(running: Running, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(_command: str) -> str:
        raise error

    monkeypatch.setattr(FakeGuest, "testinfra", lambda _self: SimpleNamespace(check_output=fail))
    bundle = running(Script())
    assert [one.status for one in bundle.run.variants] == [Status.ERROR, Status.ERROR]
    assert f"[lab] the guest's state could not be looked at: {error}" in texts(bundle)


@pytest.mark.parametrize("value", ["", "x"])
def test_variable_that_is_set_is_seen_empty_or_not(running: Running, value: str) -> None:
    bundle = running(Script(), f'{SCENARIO}\n[guest.environment]\nGGML_X = "{value}"\n', variants=("venus",))
    assert bundle.run.exit == 0, texts(bundle)
    assert [fact.seen for fact in bundle.facts if fact.name.endswith("variable GGML_X")] == [value or "''"]


def test_missing_variable_is_the_configurations_fault_and_named(running: Running) -> None:
    text = SCENARIO + "\n[host.environment]\nAPIR_LLAMA_CPP_GGML_LIBRARY_PATH = false\n"
    bundle = running(Script(devices=(REFERENCE,)), text, variants=("venus",))
    assert bundle.run.exit == 2
    assert "APIR_LLAMA_CPP_GGML_LIBRARY_PATH" in texts(bundle)


@pytest.mark.parametrize(
    "said",
    [
        f"load_backend: failed to load {GUEST_LIBRARY}: {GUEST_LIBRARY}: undefined symbol: missing",
        f"load_backend: failed to find ggml_backend_init in {GUEST_LIBRARY}",
    ],
)
def test_what_the_loader_has_against_the_guest_library_is_told(running: Running, said: str) -> None:
    listing = ("load_backend: loaded CPU backend from /usr/lib/libggml-cpu.so", said, "{}")
    bundle = running(Script(devices=(REFERENCE,), listing=listing), variants=("venus",))
    assert bundle.run.exit == 1
    assert f"; when the guest library was loaded was said: {said}" in texts(bundle).splitlines()[-1]
    assert "loaded CPU backend" not in texts(bundle)


def test_state_of_a_guest_without_a_remote_device_tells_what_the_library_said(running: Running) -> None:
    said = "ggml-virtgpu: backend not available: no reply came within 30 s"
    script = Script(devices=(REFERENCE,), listing=("a word of the loader's", said, "{}"))
    bundle = running(script, 'name = "small"\n[[checks]]\nkind = "state"\n', variants=("default",))
    assert texts(bundle) == (
        "no such device [product] registry of the remote device: expected ggml-virtgpu, seen no such device "
        f"(when the guest library was loaded was said: {said})"
    )


@pytest.mark.parametrize("refused", [errno.EPERM, errno.ENOTSUP, errno.EMLINK])
def test_logs_are_copied_where_there_are_no_hard_links(running: Running, monkeypatch: pytest.MonkeyPatch, refused: int) -> None:
    def link(*_: object) -> None:
        raise OSError(refused, os.strerror(refused))

    monkeypatch.setattr("os.link", link)
    bundle = running(Script(), SCENARIO.replace('"apir"]', '"apir"]\ncpus = [1, 2]'))
    assert bundle.run.exit == 0
    assert [one.status for one in bundle.run.variants] == [Status.PASSED] * 4
    for one in bundle.run.variants:
        assert "the last line" in (bundle.folder / "logs" / one.variant / "serial.log").read_text()


TWO_CHECKS = """\
name = "small"

[[variants]]
name = "first"
checks = [{ kind = "ops", ops = ["ADD", "MUL"], min_cases = 3 }]

[[variants]]
name = "second"
checks = [{ kind = "state" }]
"""


def test_logs_of_a_variants_own_checks_are_not_given_to_the_others_of_its_boot(running: Running) -> None:
    script = Script()
    bundle = running(script, TWO_CHECKS)
    assert (bundle.run.exit, script.boots) == (0, 1), texts(bundle)
    first, second = (
        {path.name for path in (bundle.folder / "logs" / name).iterdir() if path.is_file()} for name in ("first", "second")
    )
    assert first - second == {"test-backend-ops.log"}
    assert second == {"serial.log", "dmesg.log"}


def test_logs_that_cannot_be_shared_end_nothing(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, *_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(source))

    notes: list[str] = []
    monkeypatch.setattr("lab.scenario.evidence.shutil", SimpleNamespace(copyfile=refuse), raising=False)
    monkeypatch.setattr("os.link", refuse)
    monkeypatch.setattr(SilentListener, "note", lambda _self, text: notes.append(text))
    assert running(Script()).run.exit == 0
    assert any("serial.log is not among the logs of apir: " in note for note in notes), notes


def test_wrong_configuration_is_told_before_any_boot(running: Running) -> None:
    script = Script(prepare_error=ConfigError("scenario", [ConfigProblem("host.ggml_library", "has no registration symbol")]))
    bundle = running(script)
    assert (bundle.run.exit, script.boots) == (2, 0)
    assert "has no registration symbol" in texts(bundle)


def test_host_that_cannot_skips_with_the_probes_reason(running: Running) -> None:
    script = Script(capabilities=(CapabilityRecord(name="opengl", ok=False, probed="QEMU found no OpenGL"),))
    bundle = running(script)
    assert (bundle.run.exit, script.boots) == (3, 0)
    assert [one.status for one in bundle.run.variants] == [Status.SKIPPED, Status.SKIPPED]
    assert "QEMU found no OpenGL" in variant(bundle).reason


def test_missing_packages_skip(running: Running) -> None:
    bundle = running(Script(prepare_error=HostError("packages", "missing: bubblewrap")))
    assert bundle.run.exit == 3


def test_kvm_where_there_is_none_is_a_skip(running: Running) -> None:
    script = Script(capabilities=(CapabilityRecord(name="kvm", ok=False, probed="no /dev/kvm"),))
    text = SCENARIO + '\n[host]\naccel = "kvm"\n'
    assert running(script, text).run.exit == 3


def test_kvm_that_runs_one_images_kernel_is_not_taken_for_another_one(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def abilities(_self: FakePlatform, _root: HostRoot, image: str) -> HostAbilities:
        asked.append(image)
        able = image == "guest-6.12"
        disk = CapabilityRecord(name="disk", ok=True, probed=f"{len(asked)} GiB")
        return HostAbilities((disk, CapabilityRecord(name="kvm", ok=able, probed=f"{image}: {able}")))

    def prepare(self: FakePlatform, scenario: Scenario, progress: Progress, deadline: Deadline) -> Ingredients:
        made = prepared(self, scenario, progress, deadline)
        return replace(made, image=replace(made.image, name=scenario.guest.image))

    asked: list[str] = []
    prepared = FakePlatform.prepare
    monkeypatch.setattr(FakePlatform, "abilities", abilities)
    monkeypatch.setattr(FakePlatform, "prepare", prepare)
    images = 'image = ["guest-6.12", "guest-6.1"]\nmemory_mib = [1024, 2048]'
    bundle = running(Script(), SCENARIO.replace('capset = ["venus", "apir"]', images).replace('image = "guest-6.12"\n', ""))
    assert asked == ["guest-6.12", "guest-6.1"], "each image once"
    assert [one.accel for one in bundle.run.boots] == ["kvm", "kvm", "tcg", "tcg"]
    told = [(one.name, one.probed) for one in bundle.run.capabilities]
    assert told == [("disk", "1 GiB"), ("kvm", "guest-6.12: True"), ("kvm", "guest-6.1: False")]


def test_calls_are_on_disk_before_the_end(running: Running) -> None:
    bundle = running(Script(), variants=("venus",))
    sides = [json.loads(line)["side"] for line in (bundle.folder / "calls.jsonl").read_text().splitlines()]
    assert sides.count("host") == 5
    assert sides.count("both") == 5
    assert len(told_calls(bundle.calls)) == 5


def test_expected_cases_come_from_the_guest_when_its_ggml_is_another_one(running: Running) -> None:
    bundle = running(Script(expected=None), variants=("venus",))
    assert variant(bundle).expected_cases == 3


def test_list_of_cases_that_broke_off_in_the_guest_is_the_labs_error(running: Running) -> None:
    bundle = running(Script(expected=None, ops=(HEADER_LINE, row(TEXTS[0])), ops_status=137), variants=("venus",))
    assert bundle.run.exit == 2
    assert "ended with status 137 while it listed its cases" in texts(bundle)
    assert bundle.cases == ()
