from __future__ import annotations

import errno
import functools
import json
import os
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from lab.bundle import read_bundle
from lab.bundle.schema import CallsRecord, CapabilityRecord, Status
from lab.deadline import Deadline, poll
from lab.errors import AbnormalShutdown, ConfigError, ConfigProblem, GuestLost, HostError, LaunchError, WaitTimeout
from lab.ggml.registry import Device
from lab.scenario.checks.way import ring_facts
from lab.scenario.listener import SilentListener
from lab.scenario.plan import Choice, planned
from lab.scenario.runner import run
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
    die,
    row,
)
from tests.scenario.small_runs import Running, run_small, texts, variant


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return functools.partial(run_small, tmp_path)


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


@pytest.mark.parametrize("error", [RuntimeError("Unexpected output"), AssertionError("Unexpected exit code 127")])
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


def test_killed_qemu_keeps_results_and_names_the_first_case_without_one(running: Running) -> None:
    script = Script()
    script.ops = (HEADER_LINE, row(TEXTS[0]), die(script, "QEMU ended with exit status 137"))
    bundle = running(script, variants=("venus",))
    assert [(case.case, case.outcome) for case in bundle.cases] == [(TEXTS[0], "pass"), (TEXTS[1], "host crash")]
    assert variant(bundle).cases.error == 1
    assert bundle.run.exit == 2, "somebody killed it from outside"
    assert f"the first case without a result is {TEXTS[1]}" in texts(bundle)
    assert "the last call record is backend_graph_compute (number 4 of worker 9" in texts(bundle)


def test_crashed_qemu_is_the_products_failure(running: Running) -> None:
    script = Script()
    script.ops = (HEADER_LINE, row(TEXTS[0]), die(script, "QEMU ended with exit status 139"))
    bundle = running(script, variants=("venus",))
    assert bundle.run.exit == 1


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


def test_logs_that_cannot_be_shared_end_nothing(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, *_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(source))

    notes: list[str] = []
    monkeypatch.setattr("lab.scenario.evidence.shutil", SimpleNamespace(copyfile=refuse), raising=False)
    monkeypatch.setattr("os.link", refuse)
    monkeypatch.setattr(SilentListener, "note", lambda _self, text: notes.append(text))
    assert running(Script()).run.exit == 0
    assert any("serial.log is not among the logs of apir: " in note for note in notes), notes


def test_lost_guest_is_followed_by_a_boot_for_the_other_variants(running: Running) -> None:
    script = Script()
    script.ops = (HEADER_LINE, row(TEXTS[0]), die(script, "kernel panic: fatal exception"))
    bundle = running(script)
    assert script.boots == script.torn_down == 2
    assert [one.status for one in bundle.run.variants] == [Status.FAILED, Status.FAILED]
    assert {case.outcome for case in bundle.cases} == {"pass", "guest crash"}


def test_program_killed_by_a_signal_is_a_guest_crash(running: Running) -> None:
    script = Script(ops=(HEADER_LINE, row(TEXTS[0]), "double free or corruption\n"), ops_status=134)
    bundle = running(script, variants=("venus",))
    assert bundle.run.exit == 1
    assert bundle.cases[-1].outcome == "guest crash"
    assert "ended by signal 6; it said: double free or corruption" in texts(bundle)


@pytest.mark.parametrize(
    ("data_path", "first_call", "finding"),
    [
        ("shared", 9, ""),
        ("copied", 14, ""),
        ("auto", 14, ""),
        (
            "shared",
            14,
            "wrong data path [product] commands that made buffers (shared): expected device_buffer_from_ptr, seen buffer_type",
        ),
        (
            "copied",
            9,
            "wrong data path [product] commands that made buffers (copied): expected buffer_type_alloc_buffer, seen device_buf",
        ),
        (
            "copied",
            22,
            "wrong data path [product] commands that made buffers (copied): expected buffer_type_alloc_buffer, seen none",
        ),
    ],
)
def test_data_path_is_proved_by_the_commands_sent(running: Running, data_path: str, first_call: int, finding: str) -> None:
    text = SCENARIO.replace("[guest]", f'[guest]\ndata_path = "{data_path}"')
    bundle = running(Script(first_call=first_call), text, variants=("venus",))
    assert bundle.run.exit == (1 if finding else 0)
    assert finding in texts(bundle)


NO_RING = "wrong command path [product] contexts with a command ring: expected 1, seen 0"


@pytest.mark.parametrize(
    ("guest", "host", "ring", "finding"),
    [
        ('GGML_VIRTGPU_RING = "auto"', "", 4, ""),
        ('GGML_VIRTGPU_RING = "auto"', "", 5, NO_RING),
        ('GGML_VIRTGPU_RING = "auto"', "", None, NO_RING),
        ('GGML_VIRTGPU_RING = "auto"', 'VIRGL_APIR_RING = "0"', None, ""),
        ('GGML_VIRTGPU_RING = "auto"', 'VIRGL_APIR_RING_APIR = "0"', None, NO_RING),
        ('GGML_VIRTGPU_RING = "off"', "", None, ""),
        ('GGML_VIRTGPU_RING = "off"', "", 4, "contexts that asked for a command ring: expected 0, seen 1"),
        ('GGML_VIRTGPU_EXTENSIONS = "all"', "", None, NO_RING),
        ('GGML_VIRTGPU_EXTENSIONS = "-batch"', "", None, NO_RING),
        ('GGML_VIRTGPU_EXTENSIONS = "batch,liveness"', "", None, ""),
        ('GGML_VIRTGPU_EXTENSIONS = "none"', "", 4, "contexts that asked for a command ring: expected 0, seen 1"),
        ('GGML_VIRTGPU_EXTENSIONS = "-ring"', "", 4, "contexts that asked for a command ring: expected 0, seen 1"),
        ("", "", None, ""),
        ("", "", 5, ""),
    ],
)  # fmt: skip
def test_command_ring_is_proved_by_the_call_that_makes_it(
    running: Running, guest: str, host: str, ring: int | None, finding: str
) -> None:
    text = SCENARIO + f"\n[guest.environment]\n{guest}\n[host.environment]\n{host}\n"
    bundle = running(Script(ring=ring), text, variants=("venus",))
    assert bundle.run.exit == (1 if finding else 0)
    assert finding in texts(bundle)


@pytest.mark.parametrize("theirs", ["guest", "component"])
def test_command_ring_is_not_asked_of_a_peer_that_may_have_none(running: Running, tmp_path: Path, theirs: str) -> None:
    (tmp_path / "theirs.so").touch()
    text = SCENARIO + '\n[guest.environment]\nGGML_VIRTGPU_RING = "auto"\n'
    bundle = running(Script(), f'{text}\n[implementation]\n{theirs} = "{tmp_path}/theirs.so"\n', variants=("venus",))
    assert (bundle.run.exit, texts(bundle)) == (0, "")


def test_command_ring_is_not_asked_of_a_virglrenderer_that_has_the_component(tmp_path: Path) -> None:
    text = SCENARIO + '\n[guest.environment]\nGGML_VIRTGPU_RING = "auto"\n'
    (tmp_path / "small.toml").write_text(text)
    (entry,) = planned([tmp_path / "small.toml"], Choice(variants=("venus",)))
    scenario = entry.variants[0].scenario
    assert [fact.ok for fact in ring_facts(scenario, CallsRecord(), built_in=False)] == [False]
    assert not list(ring_facts(scenario, CallsRecord(), built_in=True))


def test_capset_is_proved_by_the_contexts_that_were_served(running: Running) -> None:
    bundle = running(Script(capset=10))
    assert [one.status for one in bundle.run.variants] == [Status.FAILED, Status.PASSED]
    assert "wrong capset [product] capset of the contexts served: expected venus, seen apir" in texts(bundle)


UNSUPPORTED = [row(text, supported="0", error="not supported") for text in TEXTS]


def test_lost_worker_is_named_though_the_program_tells_of_a_lack_of_support(running: Running) -> None:
    script = Script(ops=(HEADER_LINE, row(TEXTS[0]), *UNSUPPORTED[1:]), last_status=64)
    bundle = running(script, variants=("venus",))
    assert bundle.run.exit == 1
    loss = "the worker of context 0 was lost during backend_graph_compute (call 4 of guest pid 9)"
    assert f"worker lost [product] host crash: {loss}" in texts(bundle)
    assert f"lost support [product] 2 cases that a CPU supports are unsupported since {loss}, the first is {TEXTS[1]}" in texts(
        bundle
    )
    assert [(case.case, case.outcome) for case in bundle.cases[-1:]] == [(TEXTS[1], "host crash")]
    assert (variant(bundle).cases.ok, variant(bundle).cases.error, variant(bundle).cases.unsupported) == (1, 1, 1)


def test_lost_worker_is_a_host_crash_though_it_took_the_program_along(running: Running) -> None:
    script = Script(ops=(HEADER_LINE, row(TEXTS[0])), ops_status=134, last_status=64)
    bundle = running(script, variants=("venus",))
    assert "worker lost [product]" in texts(bundle)
    assert (bundle.cases[-1].case, bundle.cases[-1].outcome) == (TEXTS[1], "host crash")


def test_call_that_nobody_answered_is_named(running: Running) -> None:
    bundle = running(Script(last_status=-1), variants=("venus",))
    assert bundle.run.exit == 1
    assert "worker lost [product] hang: the worker of context 0 never answered backend_graph_compute (call 4" in texts(bundle)


def test_lack_of_support_without_a_loss_is_no_finding(running: Running) -> None:
    bundle = running(Script(ops=(HEADER_LINE, row(TEXTS[0]), *UNSUPPORTED[1:])), variants=("venus",))
    assert texts(bundle).count("lost support") == 0


def test_silence_is_a_hang_and_the_program_is_killed(running: Running) -> None:
    script = Script()

    def wait_for_the_kill() -> None:
        poll("the kill", lambda: len(script.killed) == 2, Deadline.after(5))

    script.ops = (HEADER_LINE, row(TEXTS[0]), wait_for_the_kill)
    script.ops_status = 137
    bundle = running(script, SCENARIO.replace("case_deadline_s = 10", "case_deadline_s = 0.2"), variants=("venus",))
    assert script.killed == ["kill -TERM 7", "kill -KILL 7"]
    assert bundle.cases[-1].outcome == "hang"
    assert bundle.run.exit == 1


def test_check_past_its_deadline_is_a_hang(running: Running) -> None:
    script = Script()

    def time_is_over() -> None:
        raise WaitTimeout("the guest command", 20.0)

    script.ops = (HEADER_LINE, row(TEXTS[0]), time_is_over)
    bundle = running(script, variants=("venus",))
    assert bundle.cases[-1].outcome == "hang"
    assert bundle.run.exit == 1


def test_interruption_tears_down_and_keeps_what_there_is(running: Running) -> None:
    script = Script()

    def interrupt() -> None:
        raise KeyboardInterrupt

    script.ops = (HEADER_LINE, row(TEXTS[0]), interrupt)
    bundle = running(script)
    assert script.torn_down == 1
    assert bundle.run.status is Status.INTERRUPTED
    assert bundle.run.exit == 2
    assert [case.case for case in bundle.cases] == [TEXTS[0]]
    assert f"the first case without a result is {TEXTS[1]}" in texts(bundle)
    assert [one.status for one in bundle.run.variants] == [Status.INTERRUPTED, Status.INTERRUPTED]


@pytest.mark.parametrize("place", ["a check", "the end", "the boot"])
def test_mistake_of_the_labs_own_passes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    def stumble(*_: object) -> None:
        raise ValueError("a mistake of the lab's own")

    script = Script(at_the_end=stumble) if place == "the end" else Script()
    script.ops = (HEADER_LINE, *map(row, TEXTS), *((stumble,) if place == "a check" else ()))
    if place == "the boot":
        monkeypatch.setattr("lab.scenario.runner.ship", stumble)
    with pytest.raises(ValueError, match="a mistake"):
        run_small(tmp_path, script)
    bundle = read_bundle(next((tmp_path / "runs").iterdir()))
    assert (bundle.run.status, bundle.run.exit) == (Status.ERROR, 2)
    assert [one.variant for one in bundle.run.variants] == ["venus", "apir"]
    assert variant(bundle).status is Status.ERROR
    assert variant(bundle, "apir").status in {Status.ERROR, Status.INTERRUPTED}
    assert "[lab] ValueError: a mistake of the lab's own" in texts(bundle)
    assert ET.fromstring((bundle.folder / "junit.xml").read_text()).attrib["errors"] != "0"  # noqa: S314 - our own file


def test_guest_that_does_not_start_is_a_lab_error(running: Running) -> None:
    bundle = running(Script(boot_error=LaunchError(("qemu",), 1, "no such device")))
    assert bundle.run.exit == 2
    assert [one.status for one in bundle.run.variants] == [Status.ERROR, Status.ERROR]
    assert "QEMU did not start" in texts(bundle)


@pytest.mark.parametrize(
    ("reason", "verdict", "exit_status"),
    [
        ("QEMU ended with exit status 139", Status.FAILED, 1),
        ("QEMU ended with exit status 137", Status.ERROR, 2),
        ("the serial console cannot be read on: OSError: no space", Status.ERROR, 2),
    ],
)
def test_guest_that_is_lost_while_it_boots_is_blamed_by_the_reason(
    running: Running, reason: str, verdict: Status, exit_status: int
) -> None:
    bundle = running(Script(boot_error=GuestLost(reason)))
    assert bundle.run.exit == exit_status
    assert [one.status for one in bundle.run.variants] == [verdict, verdict]
    assert f"not started [{'product' if exit_status == 1 else 'lab'}] the guest was lost: {reason}" in texts(bundle)


def test_wrong_configuration_is_told_before_any_boot(running: Running) -> None:
    script = Script(prepare_error=ConfigError("scenario", [ConfigProblem("host.ggml_library", "has no registration symbol")]))
    bundle = running(script)
    assert (bundle.run.exit, script.boots) == (2, 0)
    assert "has no registration symbol" in texts(bundle)


def test_unclean_shutdown_spoils_a_pass(running: Running) -> None:
    bundle = running(Script(exit_error=AbnormalShutdown("a worker survived")), variants=("venus",))
    assert bundle.run.exit == 2
    assert "a worker survived" in texts(bundle)


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


def test_calls_are_on_disk_before_the_end(running: Running) -> None:
    bundle = running(Script(), variants=("venus",))
    sides = [json.loads(line)["side"] for line in (bundle.folder / "calls.jsonl").read_text().splitlines()]
    assert sides.count("host") == 5
    assert sides.count("both") == 5
    assert len(bundle.calls_of("small", "venus")) == 5


def test_expected_cases_come_from_the_guest_when_its_ggml_is_another_one(running: Running) -> None:
    bundle = running(Script(expected=None), variants=("venus",))
    assert variant(bundle).expected_cases == 3
