"""From a frozen spec to QEMU's command line and environment: pure functions, the only place that knows QEMU's options.

Choices that are not obvious:

- ``-cpu max`` gives a TCG guest AVX2, so ggml takes the variant it would take on real hardware. Without ``erms`` and
  ``fsrm``: with them the guest's kernel and C library clear and copy memory by ``rep stosb`` and ``rep movsb``, which TCG does
  byte by byte. Fresh pages took twice as long, and files in memory up to six times.
- The kernel is booted as an unpacked ELF image (PVH entry) with qboot for a BIOS: both save seconds under TCG.
- The root image is read-only and its lock off: any number of guests share it.
- ``restrict=on``: the guest reaches nothing; only the forwarded SSH port, on the loopback address, reaches it.
- ``maxcpus=1`` for an emulated guest: its kernel rewrites its own code at its start (static keys), for which it puts breakpoints
  into it, and TCG may go on running what it translated of them: a processor that translates such code while another one writes it
  can miss that, mostly where the host lets it wait in between. The kernel then trips over a breakpoint that is long gone
  ("Oops: int3"; seen with QEMU 11.1, on purpose within a minute or two). So it starts on one processor, and ``init`` adds the
  others when it has rewritten nearly all that it will. ``noreplace-smp`` spares kernels 6.x to patch locks out and in again, and
  ``lpj`` any kernel to measure the delay loop of each late processor (three seconds were seen).
- ``oops=panic panic=-1`` with ``-no-reboot``: a dying guest kernel ends QEMU, so nobody waits for it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

QEMU = "qemu-system-x86_64"
ADVERTISE_VARIABLE = "VIRGL_APIR_ADVERTISE_CAPSET"
CAPSET_APIR = 10
KERNEL_ARGUMENTS = (
    "console=ttyS0", "loglevel=4", "rdinit=/init", "panic=-1", "oops=panic",
    # none of these matters to what is tested; each costs an emulated guest time
    "mitigations=off", "nokaslr", "no_timer_check", "cryptomgr.notests", "random.trust_cpu=on", "rcupdate.rcu_expedited=1",
    "i8042.noaux", "i8042.nokbd",
    # The emulated time stamp counter is sound, but the kernel's watchdog compares it with ticks that a busy host loses, and throws
    # it away: then every look at the clock, several to a remote call, is an exit of the virtual machine of a microsecond and more.
    "tsc=reliable",
    # Each blink of a cursor nobody sees is drawn by the host's renderer: milliseconds of all its cores, twice a second.
    "vt.global_cursor_default=0",
)  # fmt: skip

TICKS_PER_S = 250
"""CONFIG_HZ of Debian's kernels. One with more of them would wait longer than it means to, where it waits in a loop."""


class Accel(StrEnum):
    """How the guest's instructions are run."""

    TCG = "tcg"
    KVM = "kvm"

    def options(self) -> str:
        """The value of ``-accel``."""
        return "tcg,thread=multi,tb-size=512" if self is Accel.TCG else "kvm"

    def processor(self) -> str:
        """The value of ``-cpu``."""
        return "max,-erms,-fsrm" if self is Accel.TCG else "max"


class Gpu(StrEnum):
    """The virtio-gpu the guest gets: none, 2-D only, GL, GL with blobs but without Venus, or GL with blobs and Venus."""

    NONE = "none"
    FLAT = "2d"
    VIRGL = "virgl"
    BLOBS = "blobs"
    VENUS = "venus"

    @property
    def needs_gl(self) -> bool:
        """Whether QEMU needs an OpenGL context on the host."""
        return self in (Gpu.VIRGL, Gpu.BLOBS, Gpu.VENUS)

    def capsets(self) -> tuple[int, ...]:
        """The ids of the capability sets that the guest's kernel lists with Debian's QEMU and virglrenderer."""
        return {Gpu.VIRGL: (1, 2), Gpu.BLOBS: (1, 2), Gpu.VENUS: (1, 2, 4)}.get(self, ())


class Display(StrEnum):
    """Where QEMU gets its OpenGL context from."""

    NONE = "none"
    EGL_HEADLESS = "egl-headless"
    SDL_OFFSCREEN = "sdl-offscreen"


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """Everything QEMU is told. Descriptors are those of the sockets it inherits.

    ``counter_khz``: what the guest's kernel is told of its time stamp counter, so that it need not find out.
    """

    kernel: Path
    initramfs: Path
    rootfs: Path
    host_key: Path
    authorized_key: Path
    hostname: str
    qmp_fd: int
    serial_fd: int
    accel: Accel = Accel.TCG
    cpus: int = 2
    memory_mib: int = 2048
    gpu: Gpu = Gpu.VENUS
    hostmem_mib: int = 1024
    display: Display = Display.SDL_OFFSCREEN
    render_node: Path | None = None
    kernel_arguments: tuple[str, ...] = ()
    counter_khz: int | None = None
    extra: tuple[str, ...] = ()


def qemu_argv(spec: MachineSpec) -> tuple[str, ...]:
    """QEMU's command line."""
    return (
        QEMU,
        *_machine(spec),
        *_boot(spec),
        *_disk(spec),
        *_network(),
        *_firmware(spec),
        *_gpu(spec),
        *_channels(spec),
        *spec.extra,
    )


def _machine(spec: MachineSpec) -> tuple[str, ...]:
    return (
        "-nodefaults", "-no-user-config", "-no-reboot",
        "-name", f"{spec.hostname},debug-threads=on",
        "-machine", "q35,usb=off,vmport=off,hpet=off,smbus=off",
        "-accel", spec.accel.options(),
        "-cpu", spec.accel.processor(),
        "-smp", str(spec.cpus),
        "-m", f"{spec.memory_mib}M",
        "-object", "rng-random,id=entropy,filename=/dev/urandom",
        "-device", "virtio-rng-pci,rng=entropy",
    )  # fmt: skip


def _boot(spec: MachineSpec) -> tuple[str, ...]:
    alone = ("maxcpus=1", "noreplace-smp") if spec.accel is Accel.TCG else ()
    khz = spec.counter_khz
    told = () if khz is None else (f"tsc_early_khz={khz}", f"lpj={khz * 1000 // TICKS_PER_S}")
    return (
        "-bios", "qboot.rom",
        "-kernel", os.fspath(spec.kernel),
        "-initrd", os.fspath(spec.initramfs),
        "-append", " ".join((*KERNEL_ARGUMENTS, *alone, *told, *spec.kernel_arguments)),
    )  # fmt: skip


def _disk(spec: MachineSpec) -> tuple[str, ...]:
    return (
        "-drive", f"file={_escaped(spec.rootfs)},format=raw,if=none,id=root,readonly=on,file.locking=off,cache=unsafe",
        "-device", "virtio-blk-pci,drive=root",
    )  # fmt: skip


def _network() -> tuple[str, ...]:
    return (
        "-netdev", "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:0-:22",
        "-device", "virtio-net-pci,netdev=net,romfile=",
    )  # fmt: skip


def _firmware(spec: MachineSpec) -> tuple[str, ...]:
    return (
        "-fw_cfg", f"name=opt/virtgpu-lab/host-key,file={_escaped(spec.host_key)}",
        "-fw_cfg", f"name=opt/virtgpu-lab/authorized-key,file={_escaped(spec.authorized_key)}",
        "-fw_cfg", f"name=opt/virtgpu-lab/hostname,string={spec.hostname}",
    )  # fmt: skip


def _gpu(spec: MachineSpec) -> tuple[str, ...]:
    hostmem = f",hostmem={spec.hostmem_mib}M" if spec.hostmem_mib else ""
    devices = {
        Gpu.NONE: (),
        Gpu.FLAT: ("-device", "virtio-gpu-pci"),
        Gpu.VIRGL: ("-device", "virtio-gpu-gl-pci"),
        Gpu.BLOBS: ("-device", f"virtio-gpu-gl-pci,blob=true{hostmem}"),
        Gpu.VENUS: ("-device", f"virtio-gpu-gl-pci,blob=true{hostmem},venus=true"),
    }
    node = "" if spec.render_node is None else f",rendernode={spec.render_node}"
    displays = {
        Display.NONE: "none",
        Display.EGL_HEADLESS: f"egl-headless{node}",
        Display.SDL_OFFSCREEN: "sdl,gl=on",
    }
    display = displays[spec.display] if spec.gpu.needs_gl else "none"
    return (*devices[spec.gpu], "-display", display)


def _channels(spec: MachineSpec) -> tuple[str, ...]:
    return (
        "-chardev", f"socket,id=qmp,fd={spec.qmp_fd}",
        "-qmp", "chardev:qmp",
        "-chardev", f"socket,id=serial,fd={spec.serial_fd}",
        "-serial", "chardev:serial",
    )  # fmt: skip


def _escaped(path: Path) -> str:
    """A path within a comma-separated option: QEMU wants each comma doubled."""
    return os.fspath(path).replace(",", ",,")


def display_environment(display: Display) -> tuple[tuple[str, str], ...]:
    """What the display needs in QEMU's environment."""
    home = (("HOME", "/tmp"), ("XDG_RUNTIME_DIR", "/run/user"))
    if display is not Display.SDL_OFFSCREEN:
        return home
    # SDL 2.30 and later read the second spelling
    offscreen = (("SDL_VIDEODRIVER", "offscreen"), ("SDL_VIDEO_DRIVER", "offscreen"))
    return (*home, *offscreen, ("LIBGL_ALWAYS_SOFTWARE", "1"))


def expected_capsets(gpu: Gpu, environment: tuple[tuple[str, str], ...]) -> tuple[int, ...]:
    """The capability sets a guest must list, given QEMU's environment (in which APIR's may be asked for)."""
    advertised = gpu.needs_gl and dict(environment).get(ADVERTISE_VARIABLE, "0") not in {"", "0"}
    return (*gpu.capsets(), CAPSET_APIR) if advertised else gpu.capsets()
