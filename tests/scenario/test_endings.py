"""Ends that nobody wished for: of QEMU, programs, workers, checks and the lab itself."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from lab.bundle import read_bundle
from lab.bundle.schema import Status
from lab.deadline import Deadline, poll
from lab.errors import AbnormalShutdown, GuestLost, LaunchError, WaitTimeout
from lab.ggml.registry import Device
from tests.scenario.fakes import (
    HEADER_LINE,
    OURS,
    REFERENCE,
    SCENARIO,
    TEXTS,
    FakeShell,
    Script,
    die,
    row,
)
from tests.scenario.small_runs import Running, run_small, texts, variant


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


def test_lost_guest_is_followed_by_a_boot_for_the_other_variants(running: Running) -> None:
    script = Script()
    script.ops = (HEADER_LINE, row(TEXTS[0]), die(script, "kernel panic: fatal exception"))
    bundle = running(script)
    assert script.boots == script.torn_down == 2
    assert [one.status for one in bundle.run.variants] == [Status.FAILED, Status.FAILED]
    assert {case.outcome for case in bundle.cases} == {"pass", "guest crash"}


def test_logs_of_a_boot_that_a_variant_is_not_served_by_are_not_its_own(running: Running) -> None:
    script = Script()
    script.ops = (HEADER_LINE, row(TEXTS[0]), die(script, "kernel panic: fatal exception"))
    script.later = [(HEADER_LINE, *(row(text) for text in TEXTS))] * 2
    bundle = running(script, SCENARIO.replace('"apir"]', '"apir"]\ncpus = [1]\ndata_path = ["shared", "auto"]'))
    assert [one.boot for one in bundle.run.variants] == [0, 1, 1, 1]
    for one in bundle.run.variants:
        serial = (bundle.folder / str(one.logs) / "serial.log").read_text()
        assert f"hello from boot {(one.boot or 0) + 1}\n" in serial, one.variant


def test_program_killed_by_a_signal_is_a_guest_crash(running: Running) -> None:
    script = Script(ops=(HEADER_LINE, row(TEXTS[0]), "double free or corruption\n"), ops_status=134)
    bundle = running(script, variants=("venus",))
    assert bundle.run.exit == 1
    assert bundle.cases[-1].outcome == "guest crash"
    assert "ended by signal 6; it said: double free or corruption" in texts(bundle)


VULKAN = Device(1, "ggml-virtgpu", "[virtgpu] Vulkan0", "the host's GPU", "GPU")
UNSUPPORTED = [row(text, supported="0", error="not supported") for text in TEXTS]


def test_lost_worker_is_named_though_the_program_tells_of_a_lack_of_support(running: Running) -> None:
    script = Script(ops=(HEADER_LINE, row(TEXTS[0]), *UNSUPPORTED[1:]), last_status=64)
    bundle = running(script, variants=("venus",))
    assert bundle.run.exit == 1
    loss = "the worker of context 0 was lost during backend_graph_compute (call 4 of guest pid 9)"
    assert f"worker lost [product] host crash: {loss}" in texts(bundle)
    assert (
        f"lost support [product] 2 cases that the host's own library supports are unsupported since {loss}, the first is {TEXTS[1]}"
        in texts(bundle)
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


def test_lost_worker_is_held_against_a_cpu_where_nobody_asked_the_hosts_library(running: Running) -> None:
    lines = (HEADER_LINE, row(TEXTS[0], device=VULKAN.name), *(line.replace(OURS.name, VULKAN.name) for line in UNSUPPORTED[1:]))
    script = Script(ops=lines, last_status=64, devices=(REFERENCE, VULKAN))
    bundle = running(script, variants=("venus",))
    assert "lost support [product] 2 cases that a CPU supports are unsupported since the worker of context 0" in texts(bundle)


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


TIME_OVER = "interrupted [lab] {}the scenario's timeout_s (0.5 s for one boot and all that is checked in it) was over"


def wait_in_vain(*_: object) -> None:
    poll("what does not come", lambda: None, Deadline.after(0.5))


def test_boot_past_its_time_blames_nobody_and_names_the_key(running: Running) -> None:
    script = Script(ops=(HEADER_LINE, row(TEXTS[0]), wait_in_vain))
    bundle = running(script, SCENARIO.replace("timeout_s = 60", "timeout_s = 0.5"))
    assert (script.boots, len(script.commands)) == (1, 1), "what is left of the boot's variants is not begun"
    assert [one.status for one in bundle.run.variants] == [Status.ERROR, Status.ERROR]
    assert [case.outcome for case in bundle.cases] == ["pass"]
    first, second = texts(bundle).splitlines()
    assert first.startswith(f"{TIME_OVER.format('lab error: ')}; the first case without a result is {TEXTS[1]}")
    assert second.startswith(f"{TIME_OVER.format('')}: waited ")


def test_boot_past_its_time_while_devices_are_listed_is_no_failure_of_the_product(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeShell, "_list", wait_in_vain)
    bundle = running(Script(), SCENARIO.replace("timeout_s = 60", "timeout_s = 0.5"), variants=("venus",))
    assert bundle.run.exit == 2
    assert texts(bundle).startswith(f"{TIME_OVER.format('')}: listing ggml's devices in the guest failed: waited ")


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
        ("kernel oops: [    2.078183] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI", Status.ERROR, 2),
        ("kernel oops: [    2.078183] int3: 0000 [#1] PREEMPT SMP NOPTI", Status.ERROR, 2),
        ("kernel oops: [    2.078183] Oops: general protection fault: 0000 [#1] PREEMPT SMP NOPTI", Status.FAILED, 1),
    ],
)
def test_guest_that_is_lost_while_it_boots_is_blamed_by_the_reason(
    running: Running, reason: str, verdict: Status, exit_status: int
) -> None:
    bundle = running(Script(boot_error=GuestLost(reason)))
    assert bundle.run.exit == exit_status
    assert [one.status for one in bundle.run.variants] == [verdict, verdict]
    assert f"not started [{'product' if exit_status == 1 else 'lab'}] the guest was lost: {reason}" in texts(bundle)


def test_unclean_shutdown_spoils_a_pass(running: Running) -> None:
    bundle = running(Script(exit_error=AbnormalShutdown("a worker survived")), variants=("venus",))
    assert bundle.run.exit == 2
    assert "a worker survived" in texts(bundle)


@pytest.mark.parametrize(("status", "verdict", "exit_status"), [(139, Status.FAILED, 1), (-9, Status.ERROR, 2)])
def test_qemu_that_ends_behind_the_last_check_is_blamed_by_the_reason(
    running: Running, status: int, verdict: Status, exit_status: int
) -> None:
    bundle = running(Script(exit_error=GuestLost(f"QEMU ended with exit status {status}")), variants=("venus",))
    assert (variant(bundle).status, bundle.run.exit) == (verdict, exit_status)
    blame = "product" if exit_status == 1 else "lab"
    assert f"wrong state [{blame}] the guest was lost: QEMU ended with exit status {status}" in texts(bundle)


def test_qemu_that_ends_while_records_are_fetched_is_no_lack_of_calls(running: Running) -> None:
    script = Script()
    script.at_the_end = lambda: setattr(script, "alive", False)
    bundle = running(script, variants=("venus",))
    assert (variant(bundle).status, bundle.run.exit) == (Status.ERROR, 2)
    assert texts(bundle) == "wrong state [lab] the guest was lost: QEMU ended with exit status -9"
