"""What to boot (``BootSpec``) and the exact command that follows from it (``launch_plan``), both without side effects."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from lab.host.root import Bind, HostRoot
from lab.image import GuestImage
from lab.qemu.command import Accel, Display, Gpu, MachineSpec, display_environment, expected_capsets, qemu_argv
from lab.qemu.time_stamp_counter import host_counter_khz

HOSTNAME_MAX = 63
WORKER = "apir-worker"
SAMPLE_KEYS = Path("/run/virtgpu-lab-keys")


@dataclass(frozen=True, slots=True)
class BootSpec:
    """What to boot.

    ``environment`` is QEMU's own (preload, APIR variables), laid over what the display needs unless it is ``whole_environment``;
    nothing is inherited. ``binds`` are the paths that QEMU may see
    beside its root, the image and the log folder. ``capsets`` are what the guest must list to count as ready; None means
    what the GPU and the environment should give. ``worker`` is the file name of the program that serves a context.
    """

    root: HostRoot
    image: GuestImage
    name: str = "guest"
    accel: Accel = Accel.TCG
    cpus: int = 2
    memory_mib: int = 2048
    gpu: Gpu = Gpu.VENUS
    hostmem_mib: int = 1024
    display: Display = Display.SDL_OFFSCREEN
    render_node: Path | None = None
    environment: tuple[tuple[str, str], ...] = ()
    binds: tuple[Bind, ...] = ()
    kernel_arguments: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    capsets: tuple[int, ...] | None = None
    worker: str = WORKER
    whole_environment: bool = False

    def expected_capsets(self) -> tuple[int, ...]:
        """The capset ids that the guest must list before it counts as ready."""
        return expected_capsets(self.gpu, self.environment) if self.capsets is None else self.capsets


def hostname(name: str) -> str:
    """A host name made of any text: letters, digits and hyphens."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-")[:HOSTNAME_MAX] or "guest"


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """QEMU's own words and environment, and the whole command line that enters the host root with them."""

    qemu: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    argv: tuple[str, ...]


def launch_plan(spec: BootSpec, logs: Path, keys: Path = SAMPLE_KEYS, *, qmp_fd: int = 3, serial_fd: int = 4) -> LaunchPlan:
    """The command that ``booted_guest`` runs. A dry run shows it with stand-ins for the keys' folder and descriptors."""
    machine = MachineSpec(
        kernel=spec.image.kernel,
        initramfs=spec.image.initramfs,
        rootfs=spec.image.rootfs,
        host_key=keys / "host-key",
        authorized_key=keys / "authorized-key",
        hostname=hostname(spec.name),
        qmp_fd=qmp_fd,
        serial_fd=serial_fd,
        accel=spec.accel,
        cpus=spec.cpus,
        memory_mib=spec.memory_mib,
        gpu=spec.gpu,
        hostmem_mib=spec.hostmem_mib,
        display=spec.display,
        render_node=spec.render_node,
        kernel_arguments=spec.kernel_arguments,
        counter_khz=host_counter_khz() if spec.accel is Accel.TCG else None,  # KVM tells a guest the time by itself
        extra=spec.extra,
    )
    environment = dict(() if spec.whole_environment else display_environment(spec.display)) | dict(spec.environment)
    shared = {spec.image.kernel.parent, spec.image.initramfs.parent, spec.image.rootfs.parent, keys}
    binds = (*(Bind(path) for path in sorted(shared)), Bind(logs, writable=True), *spec.binds)
    qemu = qemu_argv(machine)
    return LaunchPlan(qemu, tuple(sorted(environment.items())), spec.root.enter(qemu, binds=binds, env=environment))
