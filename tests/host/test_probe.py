from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.errors import ConfigError, HostError, LabError, WaitTimeout
from lab.host import apt, driver, probe
from lab.host.capability import CAPABILITY_NAMES, Capability
from lab.host.driver import GpuDriver
from lab.host.root import HostRoot

VULKANINFO = """\
Devices:
========
GPU0:
\tapiVersion         = 1.4.305
\tdeviceType         = PHYSICAL_DEVICE_TYPE_DISCRETE_GPU
\tdeviceName         = Some GPU (RADV)
GPU1:
\tdeviceType         = PHYSICAL_DEVICE_TYPE_CPU
\tdeviceName         = llvmpipe (LLVM 19.1.7, 256 bits)
"""


def test_vulkan_devices() -> None:
    devices = probe.vulkan_devices(VULKANINFO)
    assert [(device.name, device.kind, device.hardware) for device in devices] == [
        ("Some GPU (RADV)", "DISCRETE_GPU", True),
        ("llvmpipe (LLVM 19.1.7, 256 bits)", "CPU", False),
    ]
    assert probe.vulkan_devices("ERROR: no devices") == ()


def test_a_gpu_that_vulkan_cannot_be_had_from_is_told() -> None:
    library = (("libcuda.so.1", Path("/lib/libcuda.so.1")),)
    assert "no manifest for Vulkan leads to it" in probe.unused_driver(GpuDriver(library))
    assert probe.unused_driver(GpuDriver(library, "/run/host-driver/nvidia_icd.json")) == ""
    assert probe.unused_driver(GpuDriver()) == ""


@pytest.mark.parametrize("listed", ["deviceName = A GPU\ndeviceType = PHYSICAL_DEVICE_TYPE_DISCRETE_GPU\n", ""])
@pytest.mark.parametrize(
    ("library", "there", "told"),
    [("libcuda.so.1", False, True), ("libcuda.so.1", True, False), ("libnvidia-ml.so.1", False, False)],
)
def test_the_node_that_cuda_lacks_is_told_with_how_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: str, library: str, *, there: bool, told: bool
) -> None:
    node = tmp_path / "nvidia-uvm"
    if there:
        node.touch()
    monkeypatch.setattr(driver, "MEMORY_NODE", node)
    monkeypatch.setattr(probe, "usable_render_nodes", tuple)
    monkeypatch.setattr(probe, "SOFTWARE", {})
    monkeypatch.setattr(probe, "finish", lambda *_, **__: SimpleNamespace(output=listed, exit_status=0))
    for manifest in ("", "/run/host-driver/nvidia_icd.json"):
        monkeypatch.setattr(probe, "gpu_driver", lambda manifest=manifest: GpuDriver(((library, Path("/x")),), manifest))
        answer = probe.vulkan(HostRoot(Path("/root"), "key", (), ()))
        assert (f"CUDA has no device without {node}" in answer.probed) is told
        assert ("`nvidia-modprobe -c 0 -u`" in answer.probed) is told


def test_memory() -> None:
    assert probe.memory_in("MemTotal: 9 kB\nMemAvailable:   16777216 kB\n").ok
    assert probe.available_in("MemAvailable:   3 kB\n") == 3072
    little = probe.memory_in("MemAvailable:   1048576 kB\n")
    assert not little.ok
    assert "1.0 GiB" in little.probed
    assert not probe.memory_in("").ok


def test_render_nodes(tmp_path: Path) -> None:
    assert not probe.render_nodes(tmp_path).ok
    node = tmp_path / "renderD128"
    node.touch()
    assert probe.render_nodes(tmp_path).ok
    assert probe.usable_render_nodes(tmp_path) == (node,)


@pytest.mark.parametrize("error", [errno.EACCES, errno.EPERM], ids=["another group's", "not lent to the container"])
def test_render_node_that_does_not_open_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int) -> None:
    (tmp_path / "renderD128").touch(mode=0o666)
    can_open = os.open

    def to_read_alone(path: Path, flags: int) -> int:
        if flags & os.O_RDWR:
            raise OSError(error, os.strerror(error))
        return can_open(path, flags)

    monkeypatch.setattr(probe.os, "open", to_read_alone)
    answer = probe.render_nodes(tmp_path)
    assert not answer.ok
    assert {"`render`;", "--device"} <= set((answer.hint or "").split())


@pytest.mark.parametrize(("content", "expected"), [(b"..virgl_apir_configure_kv..", True), (b"virgl_renderer_init", False)])
def test_apir_is_looked_for_in_the_library(tmp_path: Path, content: bytes, expected: bool) -> None:
    library = tmp_path / "lib.so"
    library.write_bytes(content)
    assert probe.has_apir(library) is expected
    assert not probe.has_apir(tmp_path / "none")


HELP = "  blob=<bool>\n  hostmem=<size>\n  venus=<bool>\n"


@pytest.mark.parametrize(
    ("status", "output", "ok"),
    [(0, HELP, True), (0, HELP.replace("venus", "virgl"), False), (1, HELP, False), (0, HELP.replace("  blob", "  noblob"), False)],
)
def test_qemu_has_what_venus_and_blobs_need(monkeypatch: pytest.MonkeyPatch, status: int, output: str, *, ok: bool) -> None:
    monkeypatch.setattr(probe, "finish", lambda *_, **__: SimpleNamespace(exit_status=status, output=output))
    assert probe.qemu(HostRoot(Path("/root"), "key", (), ())).ok is ok


def test_virglrenderer_is_its_library_and_its_server(tmp_path: Path) -> None:
    root = HostRoot(tmp_path, "key", (), ())
    for name, ok in ((probe.VIRGLRENDERER, False), (probe.RENDER_SERVER, True)):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
        assert probe.virglrenderer(root).ok is ok


NODE = Path("/dev/dri/renderD128")
GPU = "deviceType = PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU\ndeviceName = Some GPU\n"
SOFTWARE = "deviceType = PHYSICAL_DEVICE_TYPE_CPU\ndeviceName = llvmpipe\n"


@pytest.mark.parametrize(
    ("manifest", "nodes", "listed", "taken"),
    [
        ("/icd.json", (), "", "/icd.json"),
        ("", (), GPU, probe.LAVAPIPE),
        ("", (NODE,), GPU + SOFTWARE, None),
        ("", (NODE,), SOFTWARE, probe.LAVAPIPE),
        ("", (NODE,), "ERROR: no devices", probe.LAVAPIPE),
        ("", (NODE,), HostError("vulkan", "cannot be asked"), probe.LAVAPIPE),
        ("", (NODE,), WaitTimeout("vulkaninfo", 30.0, ""), None),
    ],
    ids=["nvidia", "no node", "mesa", "node of a virtual machine", "nothing", "not to be asked", "hangs"],
)
def test_vulkan_takes_the_hosts_driver_or_lavapipe(
    monkeypatch: pytest.MonkeyPatch, manifest: str, nodes: tuple[Path, ...], listed: str | LabError, taken: str | None
) -> None:
    def ended(_argv: object, *, deadline: object) -> SimpleNamespace:
        assert deadline is not None
        if isinstance(listed, LabError):
            raise listed
        return SimpleNamespace(output=listed, exit_status=0)

    monkeypatch.setattr(probe, "gpu_driver", lambda: GpuDriver((), manifest))
    monkeypatch.setattr(probe, "usable_render_nodes", lambda: nodes)
    monkeypatch.setattr(probe, "finish", ended)
    monkeypatch.setattr(probe, "SOFTWARE", {})
    root = HostRoot(Path("/root"), "key", (), ())
    assert probe.vulkan_environment(root).get("VK_DRIVER_FILES") == taken
    assert probe.software_vulkan(root) is (taken == probe.LAVAPIPE)
    if listed == SOFTWARE:
        assert str(NODE) in probe.vulkan(root).probed


@pytest.mark.parametrize(("to_build", "needed"), [(True, probe.DISK_NEEDED), (False, probe.DISK_TO_RUN)])
def test_disk_has_room_for_what_is_to_be_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needed: int, *, to_build: bool
) -> None:
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(tmp_path))
    for free, ok in ((needed - 1, False), (needed, True)):
        monkeypatch.setattr(probe.shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        answer = probe.disk(to_build=to_build)
        assert (answer.ok, answer.hint is None) == (ok, ok)


@pytest.mark.parametrize("root", [None, object()])
@pytest.mark.parametrize("image", [None, object()])
def test_mirror_and_room_to_build_are_missed_where_there_is_something_to_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: object, image: object
) -> None:
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(tmp_path))
    monkeypatch.setenv("VIRTGPU_LAB_MIRROR", "nowhere")
    monkeypatch.setattr(probe.shutil, "disk_usage", lambda _: SimpleNamespace(free=probe.DISK_NEEDED - 1))
    monkeypatch.setattr(probe, "cached_host_root", lambda: root)
    monkeypatch.setattr(probe, "cached_guest_image", lambda name: image if name == "guest-6.12" else None)
    probes = probe.host_probes("guest-6.12")
    assert tuple(probes) == CAPABILITY_NAMES[: len(probes)]
    unneeded = root is not None and image is not None
    for name in ("mirror", "disk"):
        answer = probes[name]()
        assert (answer.name, answer.ok, answer.hint is None) == (name, unneeded, unneeded)
    assert probes["mirror"]().probed.startswith("'nowhere' is no URI of a mirror")


def test_one_processor_is_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    for cpus, ok in (({0}, False), ({0, 1}, True)):
        monkeypatch.setattr(probe.os, "sched_getaffinity", lambda _, cpus=cpus: cpus)
        assert probe.processor().ok is ok


def test_failing_probe_is_a_no() -> None:
    def fail() -> Capability:
        raise HostError("x", "broken", hint="mend it")

    answer = probe.probed_safely("x", fail)
    assert answer == Capability("x", False, "this host has no x: broken", "mend it")


def test_an_image_that_nobody_can_make_is_no_answer_about_the_host() -> None:
    with pytest.raises(ConfigError, match="there is no guest recipe of this name"):
        probe.probe_all("none")


def test_without_a_root_nothing_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "cached_host_root", lambda: None)
    answers = {answer.name: answer for answer in probe.probe_all("guest-6.12")}
    assert not answers["kvm"].ok
    assert "lab setup" in (answers["kvm"].hint or "")
    assert all(answer.hint for answer in answers.values() if not answer.ok)


@pytest.mark.parametrize("root", [None, object()])
@pytest.mark.parametrize("image", [None, object()])
@pytest.mark.parametrize("absent", [("builds",), ("runs", "builds"), ()])
def test_packages_that_build_are_missed_where_there_is_something_to_build(
    monkeypatch: pytest.MonkeyPatch, root: object, image: object, absent: tuple[str, ...]
) -> None:
    needed = (apt.HostPackage("runs", "sh-runs"), apt.HostPackage("builds", "sh-builds", to_build_only=True))
    monkeypatch.setattr(apt, "NEEDED", needed)
    monkeypatch.setattr(apt.HostPackage, "installed", lambda package: package.name not in absent)
    monkeypatch.setattr(probe, "cached_host_root", lambda: root)
    monkeypatch.setattr(probe, "cached_guest_image", lambda name: image if name == "guest-6.12" else None)
    answer = probe.packages("guest-6.12")
    unneeded = root is not None and image is not None
    missing = [name for name in absent if name != "builds" or not unneeded]
    assert answer.ok == (not missing)
    assert all(name in answer.probed for name in missing or absent)
    assert answer.hint == (f"apt-get install --no-install-recommends {' '.join(missing)}" if missing else None)


def test_probe_that_has_nowhere_to_write_is_a_no_and_ends_no_other() -> None:
    def fail() -> Capability:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "/cache/temporary/gl-1")

    answer = probe.probed_safely("opengl", fail)
    assert (answer.name, answer.ok) == ("opengl", False)
    assert "Read-only file system: '/cache/temporary/gl-1'" in answer.probed


def test_cache_that_cannot_be_written_to_is_a_no_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(tmp_path))
    assert "cannot be written to" not in probe.disk().probed
    monkeypatch.setattr(probe.os, "access", lambda *_: False)
    answer = probe.disk()
    assert not answer.ok
    assert answer.probed == f"the cache {tmp_path} cannot be written to"
    assert answer.hint == "set VIRTGPU_LAB_CACHE to a folder that can be written to"
