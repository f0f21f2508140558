"""Guests that really boot: what they offer, how their end is noticed, and that nothing of them survives."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.deadline import Deadline, poll
from lab.errors import AbnormalShutdown, CommandFailed, GuestError, GuestLost, LaunchError, WaitTimeout
from lab.ggml.generation import GENERATIONS
from lab.guest.ssh import sha256
from lab.host.progress import LineProgress
from lab.host.root import host_root
from lab.image import guest_image
from lab.qemu.command import Gpu
from lab.qemu.machine import BootSpec, Guest, booted_guest
from lab.qemu.priority import STEP, USUAL_NICE
from tests.beforehand import family
from tests.niceness import may_hurry

pytestmark = pytest.mark.scenario
BOOT_S = 90.0
OURS = ("qemu-system-x86", "bwrap", "virgl_render_se")


@pytest.fixture(scope="module")
def spec() -> BootSpec:
    deadline = Deadline.after(1500)
    root = host_root(LineProgress(), deadline)
    return BootSpec(root, guest_image("guest-6.12", LineProgress(), deadline), name="test")


@pytest.fixture(scope="module")
def guest(spec: BootSpec, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    with booted_guest(spec, tmp_path_factory.mktemp("logs"), Deadline.after(BOOT_S)) as booted:
        yield booted


@pytest.fixture(autouse=True)
def nothing_left(guest: Guest) -> Iterator[None]:  # noqa: ARG001 - booted before the count
    """No test leaves a process, one of our threads, a folder or a descriptor behind (the shared guest is there before)."""
    before = leftovers()
    yield
    assert leftovers() - before == set()


def leftovers() -> set[str]:
    threads = {f"thread {each.name} {each.ident}" for each in threading.enumerate() if each.name in ("serial console", "qmp")}
    processes = {f"process {each.name} {each.pid}" for each in family() if each.name in OURS}
    return threads | processes


def test_guest_lists_the_expected_capsets(guest: Guest) -> None:
    assert guest.capsets == (1, 2, 4)
    assert guest.ready.render_nodes == ("renderD128",)
    assert guest.release.startswith("6.12.")
    assert guest.boot_s < BOOT_S


def test_guest_has_wide_registers_and_does_not_copy_byte_by_byte(guest: Guest) -> None:
    flags = set(re.findall(r"[a-z0-9_]+", guest.ssh.succeed("grep -m 1 ^flags /proc/cpuinfo")))
    assert {"avx2", "fma"} <= flags
    if guest.machine.plan.argv[guest.machine.plan.argv.index("-accel") + 1].startswith("tcg"):
        assert not {"erms", "fsrm"} & flags


def test_emulated_kernel_starts_on_one_processor_and_the_guest_has_all(guest: Guest) -> None:
    assert guest.ready.cpus == 2
    if guest.machine.plan.argv[guest.machine.plan.argv.index("-accel") + 1].startswith("tcg"):
        log = guest.ssh.succeed("dmesg")
        assert "smp: Brought up 1 node, 1 CPU" in log
        speeds = set(re.findall(r"bogomips\s*: (\S+)", guest.ssh.succeed("cat /proc/cpuinfo")))
        assert len(speeds) == 1 or " lpj=" not in log, "what it was told holds for every processor"


def test_guest_that_lacks_a_processor_is_refused(spec: BootSpec, tmp_path: Path) -> None:
    lacking = dataclasses.replace(spec, gpu=Gpu.NONE, extra=("-smp", "1"))
    with (
        pytest.raises(GuestError, match="the guest uses 1 of its 2 processors"),
        booted_guest(lacking, tmp_path, Deadline.after(BOOT_S)),
    ):
        pytest.fail("it was taken for ready")


def test_qemu_pid_is_qemus_own(guest: Guest) -> None:
    assert Path(f"/proc/{guest.qemu_pid}/comm").read_text().startswith("qemu-system")
    assert guest.worker_pids() == ()
    assert guest.alive()


def test_main_thread_goes_before_the_virtual_processors_where_that_is_allowed(guest: Guest) -> None:
    tasks = {int(task.name): (task / "comm").read_text() for task in Path(f"/proc/{guest.qemu_pid}/task").iterdir()}
    processors = {os.getpriority(os.PRIO_PROCESS, task) for task, name in tasks.items() if name.startswith("CPU ")}
    emulated = guest.argv[guest.argv.index("-accel") + 1].startswith("tcg")
    assert guest.main_thread_first is (may_hurry() if emulated and processors == {USUAL_NICE} else None)
    ahead = STEP if guest.main_thread_first else 0
    assert processors == {os.getpriority(os.PRIO_PROCESS, guest.qemu_pid) + ahead}


def test_command_gives_status_and_both_outputs(guest: Guest) -> None:
    assert guest.ssh.execute("echo out; echo err >&2; exit 3") == (3, "out\nerr\n")
    assert guest.ssh.separate("echo out; echo err >&2; exit 3") == (3, b"out\n", b"err\n")
    assert guest.ssh.execute("kill -ABRT $$").status == -1
    assert guest.ssh.execute("sh -c 'kill -ABRT $$'").status == 134
    assert guest.ssh.succeed("uname -r").strip() == guest.release
    with pytest.raises(CommandFailed) as failed:
        guest.ssh.succeed("echo why; false")
    assert failed.value.command_status == 1
    assert "why" in str(failed.value)


def test_lines_come_as_they_are_written(guest: Guest) -> None:
    seen: list[tuple[float, str]] = []
    status = guest.ssh.stream(
        "for n in 1 2 3; do echo $n; sleep 0.5; done; printf end", lambda line: seen.append((time.monotonic(), line))
    )
    assert status == 0
    assert [line for _, line in seen] == ["1\n", "2\n", "3\n", "end"]
    assert seen[2][0] - seen[0][0] > 0.1, "held back they come together"


def test_command_past_its_deadline_is_killed_in_the_guest(guest: Guest) -> None:
    with pytest.raises(WaitTimeout) as late:
        guest.ssh.execute("echo begun; (sleep 613; true) & sleep 614", Deadline.after(2))
    assert "begun" in str(late.value)
    assert "sleep 61" not in guest.ssh.succeed("ps ax -o args")


def test_file_arrives_whole_both_ways(guest: Guest, tmp_path: Path) -> None:
    there, back = tmp_path / "there", tmp_path / "back"
    there.write_bytes(os.urandom(3_000_001))
    assert guest.ssh.put(there, "/tmp/file", mode=0o750) == sha256(there)
    assert guest.ssh.succeed("stat -c '%a %s' /tmp/file").split() == ["750", "3000001"]
    assert guest.ssh.get("/tmp/file", back) == sha256(there)
    assert back.read_bytes() == there.read_bytes()


def test_missing_or_spoilt_file_is_refused(guest: Guest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local = tmp_path / "local"
    local.write_bytes(b"bytes")
    with pytest.raises(GuestError, match="/nowhere is not there"):
        guest.ssh.get("/nowhere", tmp_path / "back")
    with pytest.raises(GuestError, match="/proc is no file"):
        guest.ssh.get("/proc", tmp_path / "back")
    with pytest.raises(GuestError, match="failed"):
        guest.ssh.put(local, "/no/such/folder/file")
    monkeypatch.setattr("lab.guest.ssh.sha256", lambda _path: "0" * 64)
    with pytest.raises(GuestError, match="differ"):
        guest.ssh.put(local, "/tmp/spoilt")


def test_testinfra_looks_into_the_guest(guest: Guest) -> None:
    host = guest.testinfra()
    assert host.file("/dev/dri/renderD128").exists
    assert not host.file("/dev/dri/renderD129").exists
    assert any(host.package(f"libggml{number}").is_installed for number in GENERATIONS)
    assert host.check_output("cat /sys/module/virtio_gpu/initstate") == "live"


def test_guest_reaches_nothing_outside(guest: Guest) -> None:
    assert guest.ssh.execute("timeout 3 bash -c 'echo > /dev/tcp/10.0.2.2/22'").status != 0


def test_many_threads_share_the_connection(guest: Guest) -> None:
    answers: dict[int, str] = {}
    threads = [
        threading.Thread(target=lambda n=n: answers.update({n: guest.ssh.succeed(f"sleep 0.2; echo {n}").strip()}))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: str(n) for n in range(6)}


def test_two_guests_at_once_have_their_own_keys_and_ports(guest: Guest, spec: BootSpec, tmp_path: Path) -> None:
    with booted_guest(dataclasses.replace(spec, name="second"), tmp_path, Deadline.after(BOOT_S)) as second:
        assert second.port != guest.port
        assert dataclasses.replace(second.ready, uptime_s=guest.ready.uptime_s) == guest.ready
        assert 0 < second.ready.uptime_s < second.boot_s
        assert second.ssh.succeed("hostname").strip() == "second"
        assert second.keys.host_key.asbytes() != guest.keys.host_key.asbytes()
        pid = second.qemu_pid
    gone(pid)
    assert guest.ssh.succeed("hostname").strip() == "test"


@pytest.mark.parametrize(
    ("gpu", "capsets", "nodes"), [(Gpu.NONE, (), ()), (Gpu.FLAT, (), ("renderD128",)), (Gpu.VIRGL, (1, 2), ("renderD128",))]
)
def test_lesser_gpus_boot_too(spec: BootSpec, tmp_path: Path, gpu: Gpu, capsets: tuple[int, ...], nodes: tuple[str, ...]) -> None:
    with booted_guest(dataclasses.replace(spec, gpu=gpu), tmp_path, Deadline.after(BOOT_S)) as lesser:
        assert lesser.capsets == capsets
        assert lesser.ready.render_nodes == nodes


def gone(pid: int) -> None:
    """Nothing is left of a process, soon: a zombie's parent takes its time to ask for its status."""
    poll(f"the end of process {pid}", lambda: not Path(f"/proc/{pid}").exists(), Deadline.after(10))


def boot_and(spec: BootSpec, logs: Path, act: Callable[[Guest], object]) -> None:
    with booted_guest(spec, logs, Deadline.after(BOOT_S)) as booted:
        act(booted)


def kill_qemu(guest: Guest) -> None:
    os.kill(guest.qemu_pid, signal.SIGKILL)
    guest.machine.child.wait(Deadline.after(5))


def test_missing_capset_is_no_readiness(spec: BootSpec, tmp_path: Path) -> None:
    with pytest.raises(WaitTimeout, match=r"\[1, 2, 4, 10\]") as incomplete:
        boot_and(dataclasses.replace(spec, capsets=(1, 2, 4, 10)), tmp_path, id)
    assert "[1, 2, 4]" in str(incomplete.value)


def test_qemu_that_refuses_its_options_is_a_launch_error(spec: BootSpec, tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="blob and hostmem") as refused:
        boot_and(dataclasses.replace(spec, hostmem_mib=0), tmp_path, id)
    assert refused.value.qemu_exit_status == 1
    assert refused.value.argv[0] == "qemu-system-x86_64"


def test_boot_past_its_deadline_leaves_nothing(spec: BootSpec, tmp_path: Path) -> None:
    before = {process.pid for process in family()}
    stopped = dataclasses.replace(spec, extra=("-S",))  # QEMU answers, and its guest never runs
    with pytest.raises(WaitTimeout, match="readiness"), booted_guest(stopped, tmp_path, Deadline.after(10)):
        pass
    assert {process.pid for process in family()} <= before


def test_killed_qemu_ends_a_waiting_command_at_once(spec: BootSpec, tmp_path: Path) -> None:
    took: list[float] = []

    def wait_for_nothing(doomed: Guest) -> None:
        killer = threading.Timer(1.0, os.kill, (doomed.qemu_pid, signal.SIGKILL))
        killer.start()
        started = time.monotonic()
        try:
            doomed.ssh.execute("sleep 60")
        finally:
            took.append(time.monotonic() - started)
            killer.join()
            assert not doomed.alive()

    with pytest.raises(GuestLost, match="QEMU ended"):
        boot_and(spec, tmp_path, wait_for_nothing)
    assert took[0] < 4


def test_unnoticed_end_is_told_unless_expected(spec: BootSpec, tmp_path: Path) -> None:
    with pytest.raises(GuestLost, match="QEMU ended"):
        boot_and(spec, tmp_path / "a", kill_qemu)
    boot_and(spec, tmp_path / "b", lambda doomed: (doomed.expect_end(), kill_qemu(doomed)))


def test_qemu_that_does_not_quit_is_ended_and_told(spec: BootSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.qemu.machine.QUIT_S", 3.0)
    pids: list[int] = []

    def stop(stuck: Guest) -> None:
        pids.append(stuck.qemu_pid)
        os.kill(stuck.qemu_pid, signal.SIGSTOP)

    with pytest.raises(AbnormalShutdown, match="did not quit when asked"):
        boot_and(spec, tmp_path, stop)
    gone(pids[0])


def test_panic_ends_a_waiting_command_with_the_console(spec: BootSpec, tmp_path: Path) -> None:
    started: list[float] = []

    def panic(doomed: Guest) -> None:
        started.append(time.monotonic())
        doomed.ssh.execute("echo c > /proc/sysrq-trigger; sleep 60")

    with pytest.raises(GuestLost, match=r"kernel (oops|panic)") as lost:
        boot_and(spec, tmp_path, panic)
    assert time.monotonic() - started[0] < 10
    assert "sysrq" in lost.value.serial_tail
    assert "Kernel panic" in (tmp_path / "serial.log").read_text()
