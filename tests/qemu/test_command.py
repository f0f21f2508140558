from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from lab.host.root import Bind, HostRoot
from lab.image import GuestImage
from lab.qemu import boot
from lab.qemu.boot import BootSpec, hostname, launch_plan
from lab.qemu.command import Accel, Display, Gpu, MachineSpec, display_environment, expected_capsets, qemu_argv

SPEC = MachineSpec(
    kernel=Path("/i/vmlinux"),
    initramfs=Path("/i/initramfs"),
    rootfs=Path("/i/root,1.erofs"),
    host_key=Path("/k/host-key"),
    authorized_key=Path("/k/authorized-key"),
    hostname="guest",
    qmp_fd=7,
    serial_fd=8,
)
IMAGE = GuestImage("g", "k", Path("/i/vmlinux"), Path("/j/initramfs"), Path("/i/root.erofs"), "6.12", (), ())
BOOT = BootSpec(HostRoot(Path("/r"), "k", (), ()), IMAGE, environment=(("LD_PRELOAD", "/p.so"),))


def value_of(argv: tuple[str, ...], option: str) -> list[str]:
    return [argv[at + 1] for at, word in enumerate(argv) if word == option]


def test_venus_with_software_opengl() -> None:
    argv = qemu_argv(SPEC)
    assert argv[0] == "qemu-system-x86_64"
    assert value_of(argv, "-display") == ["sdl,gl=on"]
    assert "virtio-gpu-gl-pci,blob=true,hostmem=1024M,venus=true" in value_of(argv, "-device")
    assert value_of(argv, "-accel") == ["tcg,thread=multi,tb-size=512"]
    assert value_of(argv, "-cpu") == ["max,-erms,-fsrm"]
    assert "socket,id=qmp,fd=7" in value_of(argv, "-chardev")
    assert "socket,id=serial,fd=8" in value_of(argv, "-chardev")


def test_commas_in_paths_are_doubled() -> None:
    assert value_of(qemu_argv(SPEC), "-drive")[0].startswith("file=/i/root,,1.erofs,format=raw")


def test_guest_is_on_the_loopback_only_and_reaches_nothing() -> None:
    assert value_of(qemu_argv(SPEC), "-netdev") == ["user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:0-:22"]


def test_emulated_kernel_is_told_how_fast_its_counter_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boot, "host_counter_khz", lambda: 2_445_400)
    (emulated,) = value_of(launch_plan(BOOT, Path("/l")).qemu, "-append")
    assert {"tsc_early_khz=2445400", "lpj=9781600"} <= set(emulated.split())
    (virtual,) = value_of(launch_plan(dataclasses.replace(BOOT, accel=Accel.KVM), Path("/l")).qemu, "-append")
    assert "tsc_early_khz" not in virtual
    assert "lpj" not in virtual
    monkeypatch.setattr(boot, "host_counter_khz", lambda: None)
    (unknown,) = value_of(launch_plan(BOOT, Path("/l")).qemu, "-append")
    assert "tsc_early_khz" not in unknown


def test_emulated_kernel_starts_on_one_processor() -> None:
    (emulated,) = value_of(qemu_argv(SPEC), "-append")
    assert {"maxcpus=1", "noreplace-smp"} <= set(emulated.split())
    (virtual,) = value_of(qemu_argv(dataclasses.replace(SPEC, accel=Accel.KVM)), "-append")
    assert not re.search("maxcpus|noreplace", virtual)


def test_root_image_is_shared_read_only() -> None:
    assert "readonly=on,file.locking=off" in value_of(qemu_argv(SPEC), "-drive")[0]


@pytest.mark.parametrize(
    ("gpu", "device", "display"),
    [
        (Gpu.NONE, None, "none"),
        (Gpu.FLAT, "virtio-gpu-pci", "none"),
        (Gpu.VIRGL, "virtio-gpu-gl-pci", "egl-headless,rendernode=/dev/dri/renderD128"),
        (Gpu.BLOBS, "virtio-gpu-gl-pci,blob=true,hostmem=1024M", "egl-headless,rendernode=/dev/dri/renderD128"),
    ],
)
def test_lesser_gpus(gpu: Gpu, device: str | None, display: str) -> None:
    spec = dataclasses.replace(
        SPEC, gpu=gpu, display=Display.EGL_HEADLESS, render_node=Path("/dev/dri/renderD128"), accel=Accel.KVM
    )
    argv = qemu_argv(spec)
    assert [word for word in value_of(argv, "-device") if "gpu" in word] == ([device] if device else [])
    assert value_of(argv, "-display") == [display]
    assert value_of(argv, "-accel") == ["kvm"]
    assert value_of(argv, "-cpu") == ["max"]


def test_machine_is_as_large_as_asked_and_gets_what_it_boots_with() -> None:
    spec = dataclasses.replace(SPEC, cpus=3, memory_mib=777, host_key=Path("/k,1/host"), authorized_key=Path("/k,1/let-in"))
    argv = qemu_argv(spec)
    words = ("-smp", "-m", "-kernel", "-initrd")
    assert [value_of(argv, word) for word in words] == [["3"], ["777M"], ["/i/vmlinux"], ["/i/initramfs"]]
    assert value_of(argv, "-fw_cfg") == [
        "name=opt/virtgpu-lab/host-key,file=/k,,1/host",
        "name=opt/virtgpu-lab/authorized-key,file=/k,,1/let-in",
        "name=opt/virtgpu-lab/hostname,string=guest",
    ]


def test_kernel_that_dies_ends_qemu() -> None:
    argv = qemu_argv(SPEC)
    assert "-no-reboot" in argv
    assert {"panic=-1", "oops=panic"} <= set(value_of(argv, "-append")[0].split())


def test_no_window_means_no_hostmem_word() -> None:
    assert "virtio-gpu-gl-pci,blob=true,venus=true" in value_of(qemu_argv(dataclasses.replace(SPEC, hostmem_mib=0)), "-device")


def test_kernel_arguments_and_extra_words_come_last() -> None:
    argv = qemu_argv(dataclasses.replace(SPEC, kernel_arguments=("quiet",), extra=("-S",)))
    assert value_of(argv, "-append")[0].endswith(" quiet")
    assert argv[-1] == "-S"


def test_capsets_follow_gpu_and_environment() -> None:
    apir = (("VIRGL_APIR_ADVERTISE_CAPSET", "1"),)
    assert expected_capsets(Gpu.VENUS, ()) == (1, 2, 4)
    assert expected_capsets(Gpu.VENUS, apir) == (1, 2, 4, 10)
    assert [expected_capsets(Gpu.VENUS, (("VIRGL_APIR_ADVERTISE_CAPSET", off),)) for off in ("", "0")] == [(1, 2, 4)] * 2
    assert expected_capsets(Gpu.VENUS, (("VIRGL_APIR_ADVERTISE_CAPSET", "yes"),)) == (1, 2, 4, 10)
    assert expected_capsets(Gpu.VIRGL, ()) == (1, 2)
    assert expected_capsets(Gpu.NONE, apir) == ()
    assert dataclasses.replace(BOOT, capsets=(1,)).expected_capsets() == (1,)


def test_software_rendering_is_asked_for_offscreen_only() -> None:
    assert ("LIBGL_ALWAYS_SOFTWARE", "1") in display_environment(Display.SDL_OFFSCREEN)
    assert "LIBGL_ALWAYS_SOFTWARE" not in dict(display_environment(Display.EGL_HEADLESS))


def test_display_without_a_screen_has_a_home_and_both_spellings() -> None:
    home = {"HOME": "/tmp", "XDG_RUNTIME_DIR": "/run/user"}
    spellings = {"SDL_VIDEODRIVER": "offscreen", "SDL_VIDEO_DRIVER": "offscreen"}
    assert dict(display_environment(Display.SDL_OFFSCREEN)) == {**home, **spellings, "LIBGL_ALWAYS_SOFTWARE": "1"}
    assert dict(display_environment(Display.EGL_HEADLESS)) == home


def test_plan_has_everything_of_what_is_to_be_booted() -> None:
    asked = {
        "accel": Accel.KVM, "cpus": 3, "memory_mib": 777, "gpu": Gpu.BLOBS, "hostmem_mib": 55, "display": Display.EGL_HEADLESS,
        "render_node": Path("/dev/dri/renderD129"), "kernel_arguments": ("quiet",), "extra": ("-S",),
    }  # fmt: skip
    own = (("HOME", "/own"), ("A", "b"))
    spec = dataclasses.replace(BOOT, name="a b", environment=own, binds=(Bind(Path("/theirs")),), **asked)  # type: ignore[arg-type]
    plan = launch_plan(spec, Path("/logs"), Path("/keys"), qmp_fd=5, serial_fd=6)
    assert plan.qemu == qemu_argv(
        MachineSpec(
            IMAGE.kernel, IMAGE.initramfs, IMAGE.rootfs, Path("/keys/host-key"), Path("/keys/authorized-key"), "a-b", 5, 6, **asked
        )  # type: ignore[arg-type]
    )
    assert dict(plan.environment) == {"HOME": "/own", "A": "b", "XDG_RUNTIME_DIR": "/run/user"}
    assert "--ro-bind /theirs /theirs" in " ".join(plan.argv)


def test_whole_environment_gets_nothing_laid_under_it() -> None:
    spec = dataclasses.replace(BOOT, whole_environment=True)
    assert launch_plan(spec, Path("/logs"), Path("/keys")).environment == (("LD_PRELOAD", "/p.so"),)


def test_plan_is_pure_and_complete() -> None:
    plan = launch_plan(BOOT, Path("/logs"), Path("/keys"))
    assert plan == launch_plan(BOOT, Path("/logs"), Path("/keys"))
    text = " ".join(plan.argv)
    assert "--setenv LD_PRELOAD /p.so" in text
    assert "--bind /logs /logs" in text
    assert "--ro-bind /i /i --ro-bind /j /j --ro-bind /keys /keys" in text
    assert text.endswith(" ".join(plan.qemu))
    assert dict(plan.environment)["SDL_VIDEODRIVER"] == "offscreen"


@pytest.mark.parametrize(("name", "host"), [("smoke", "smoke"), ("a b_c,d", "a-b-c-d"), ("---", "guest"), ("x" * 99, "x" * 63)])
def test_host_names(name: str, host: str) -> None:
    assert hostname(name) == host
