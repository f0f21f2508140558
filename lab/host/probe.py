"""What this host can do, found out by doing it.

Every probe tells how it found out and, for a no, what to do. What needs QEMU is asked of the host root; before the first
``lab setup`` the answer to that is a no that says so. Nothing is built here.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.deadline import Deadline
from lab.errors import ConfigError, LabError, WaitTimeout
from lab.host.allowance import memory_left, processor_count
from lab.host.apt import debian_mirror, missing_packages
from lab.host.capability import Capability
from lab.host.driver import GpuDriver, gpu_driver, missing_node
from lab.host.recipe import named_recipe
from lab.host.rights import network_namespace, sandbox, user_rights
from lab.host.root import HostRoot, cached_host_root
from lab.image import cached_guest_image
from lab.process import Finished, finish
from lab.qemu.trial import gl_path, kvm

__all__ = ["Capability", "probe_all"]

GIB = 1 << 30
MEMORY_NEEDED = 3 * GIB
DISK_NEEDED = 8 * GIB
DISK_TO_RUN = GIB
"""Where root and image are there: for native payloads, temporary folders and bundles."""
GUEST_CPUS = 2
PROBE_S = 30.0
SETUP_HINT = "run `lab setup` first"
APIR_MARKS = (b"virgl_apir_configure_kv", b"VIRGL_ROUTE_VENUS_TO_APIR")
VIRGLRENDERER = "usr/lib/x86_64-linux-gnu/libvirglrenderer.so.1"
RENDER_SERVER = "usr/libexec/virgl_render_server"
LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.json"
RENDER_NODES = Path("/dev/dri")
QEMU_WANTED = ("blob", "hostmem", "venus")
# whether lavapipe is what Vulkan has, by the host root's key and the render nodes
SOFTWARE: dict[tuple[str, tuple[Path, ...]], bool] = {}


@dataclass(frozen=True, slots=True)
class VulkanDevice:
    """A device as ``vulkaninfo --summary`` lists it."""

    name: str
    kind: str

    @property
    def hardware(self) -> bool:
        """Whether it is more than a software rasterizer."""
        return "CPU" not in self.kind


def host_probes(image_name: str) -> dict[str, Callable[[], Capability]]:
    """The probes that need nothing but the host, in the order of ``lab doctor``."""
    return {
        "packages": lambda: packages(image_name),
        "user-rights": user_rights,
        "sandbox": sandbox,
        "network-namespace": network_namespace,
        "mirror": lambda: mirror(to_build=not is_built(image_name)),
        "memory": memory,
        "disk": lambda: disk(to_build=not is_built(image_name)),
        "cpus": processor,
        "render-node": render_nodes,
    }


def is_built(image_name: str) -> bool:
    """Whether the cache has the host root and the guest image."""
    return cached_host_root() is not None and cached_guest_image(image_name) is not None


def packages(image_name: str) -> Capability:
    """The Debian packages the lab uses on the host; of those that only build, a host that has it all built needs none."""
    missing, absent = missing_packages(to_build=not is_built(image_name)), missing_packages()
    probed = "all programs found"
    if missing:
        probed = f"missing: {', '.join(missing)}"
    elif absent:
        probed = f"missing, and needed only to build what the cache has: {', '.join(absent)}"
    hint = f"apt-get install --no-install-recommends {' '.join(missing)}" if missing else None
    return Capability("packages", not missing, probed, hint)


def mirror(*, to_build: bool = True) -> Capability:
    """Where Debian packages come from; where nothing is to be built they need not come from anywhere."""
    try:
        return Capability("mirror", True, f"apt's configuration or VIRTGPU_LAB_MIRROR: {debian_mirror()}")
    except ConfigError as error:
        problem = error.problems[0]
        if not to_build:
            return Capability("mirror", True, f"{problem.message}; one is needed only to build what the cache has")
        return Capability("mirror", False, problem.message, problem.hint)


def memory() -> Capability:
    """Memory for one guest with its host side."""
    return memory_in(Path("/proc/meminfo").read_text(encoding="ascii"), memory_left())


def memory_in(meminfo: str, left: int | None = None) -> Capability:
    """The same, from the text of /proc/meminfo and what control groups leave of that."""
    available, source = available_in(meminfo), "/proc/meminfo"
    if left is not None and left < available:
        available, source = left, "memory.max of the control group"
    probed = f"{available / GIB:.1f} GiB available ({source}), {MEMORY_NEEDED / GIB:.0f} GiB needed for one guest"
    return Capability("memory", available >= MEMORY_NEEDED, probed, None if available >= MEMORY_NEEDED else "end other programs")


def available_in(meminfo: str) -> int:
    """Bytes that programs can have; 0 where the kernel does not tell."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", meminfo, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def disk(*, to_build: bool = True) -> Capability:
    """Space for the cache; where it has all that is built once, for runs alone."""
    cache = paths.cache()
    if not os.access(cache, os.W_OK):
        elsewhere = f"set {paths.CACHE_VARIABLE} to a folder that can be written to"
        return Capability("disk", False, f"the cache {cache} cannot be written to", elsewhere)
    free = shutil.disk_usage(cache).free
    needed, use = (DISK_NEEDED, "for a first set-up") if to_build else (DISK_TO_RUN, "to run what the cache has")
    probed = f"{free / GIB:.1f} GiB free at {cache}, {needed / GIB:.0f} GiB needed {use}"
    hint = None if free >= needed else f"make room, or set {paths.CACHE_VARIABLE} to a folder elsewhere"
    return Capability("disk", free >= needed, probed, hint)


def processor() -> Capability:
    """The CPUs we may use."""
    cpus = processor_count()
    hint = None if cpus >= GUEST_CPUS else f"guests have {GUEST_CPUS} CPUs: expect it to be slow"
    return Capability("cpus", cpus >= GUEST_CPUS, f"{cpus} usable (sched_getaffinity, control groups)", hint)


def usable_render_nodes(folder: Path = RENDER_NODES) -> tuple[Path, ...]:
    """Render nodes that can be opened: those that a container was not lent have the rights of others, and cannot."""
    return tuple(node for node in sorted(folder.glob("renderD*")) if opens(node))


def opens(node: Path) -> bool:
    """Whether we may read and write a device."""
    try:
        os.close(os.open(node, os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def render_nodes(folder: Path = RENDER_NODES) -> Capability:
    """GPUs of the host, as DRM offers them."""
    there = sorted(folder.glob("renderD*"))
    usable = usable_render_nodes(folder)
    if usable:
        return Capability("render-node", True, f"may open {', '.join(map(str, usable))}")
    if there:
        names = ", ".join(map(str, there))
        hint = "add the user to the group `render`; of a container, start it with --device /dev/dri"
        return Capability("render-node", False, f"{names} there, but not ours to open", hint)
    return Capability(
        "render-node", False, f"nothing at {folder}/renderD*", "no GPU driver on this host: OpenGL is done in software"
    )


def qemu(root: HostRoot) -> Capability:
    """The root's QEMU and whether its virtio-gpu has what Venus and blobs need."""
    argv = root.enter(("qemu-system-x86_64", "-device", "virtio-gpu-gl-pci,help"))
    done = finish(argv, deadline=Deadline.after(PROBE_S))
    lacking = [word for word in QEMU_WANTED if not re.search(rf"^\s*{word}=", done.output, re.MULTILINE)]
    version = root.version("qemu-system-x86")
    if done.exit_status == 0 and not lacking:
        return Capability("qemu", True, f"QEMU {version} in the host root; its virtio-gpu-gl-pci has {', '.join(QEMU_WANTED)}")
    seen = f"lacks {', '.join(lacking)}" if done.exit_status == 0 else done.output.strip()[-300:]
    return Capability("qemu", False, f"QEMU {version} in the host root, virtio-gpu-gl-pci: {seen}", "run `lab setup --refresh`")


def virglrenderer(root: HostRoot) -> Capability:
    """The root's virglrenderer with its render server."""
    library, server = root.path / VIRGLRENDERER, root.path / RENDER_SERVER
    missing = [path.name for path in (library, server) if not path.exists()]
    probed = f"virglrenderer {root.version('libvirglrenderer1')} in the host root" + (
        f", without {', '.join(missing)}" if missing else ""
    )
    return Capability("virglrenderer", not missing, probed, "run `lab setup --refresh`" if missing else None)


def apir_built_in(root: HostRoot) -> Capability:
    """Whether that virglrenderer has the APIR component. A no costs nothing: ours is preloaded then."""
    found = has_apir(root.path / VIRGLRENDERER)
    probed = f"looked for {APIR_MARKS[0].decode()} and {APIR_MARKS[1].decode()} in libvirglrenderer.so.1"
    return Capability("apir-built-in", found, probed, None if found else "nothing to do: our own component is preloaded into QEMU")


def has_apir(library: Path) -> bool:
    """Whether a library names APIR's function or variable."""
    try:
        data = library.read_bytes()
    except OSError:
        return False
    return any(mark in data for mark in APIR_MARKS)


def vulkan_environment(root: HostRoot) -> dict[str, str]:
    """What makes the root's Vulkan loader take the host's own driver, or lavapipe where there is no GPU with one."""
    if manifest := gpu_driver().manifest:
        return {"VK_DRIVER_FILES": manifest}
    return {"VK_DRIVER_FILES": LAVAPIPE} if software_vulkan(root) else {}


def software_vulkan(root: HostRoot) -> bool:
    """Whether Vulkan has lavapipe alone: there is no GPU, or one that none of the root's drivers is for.

    A virtual machine's render node has OpenGL mostly, and no Vulkan.
    """
    if gpu_driver().manifest:
        return False
    key = (root.key, usable_render_nodes())
    if key not in SOFTWARE:
        try:
            SOFTWARE[key] = not key[1] or not any(device.hardware for device in hosts_devices(root))
        except WaitTimeout:
            return False  # that is no answer: whoever needs the device tells, and the next one is asked again
    return SOFTWARE[key]


def hosts_devices(root: HostRoot) -> tuple[VulkanDevice, ...]:
    """The devices that the root's own drivers find; none where they cannot be asked.

    Raises:
        WaitTimeout: they did not answer.
    """
    try:
        return vulkan_devices(vulkan_summary(root, {}).output)
    except WaitTimeout:
        raise
    except LabError:
        return ()


def vulkan_summary(root: HostRoot, variables: Mapping[str, str]) -> Finished:
    """What ``vulkaninfo`` makes of the root's drivers."""
    argv = root.enter(("vulkaninfo", "--summary"), env={**variables, "HOME": "/tmp", "XDG_RUNTIME_DIR": "/run/user"})
    return finish(argv, deadline=Deadline.after(PROBE_S))


def vulkan(root: HostRoot) -> Capability:
    """Vulkan devices that the root's loader finds."""
    done = vulkan_summary(root, vulkan_environment(root))
    devices = vulkan_devices(done.output)
    unused = unused_driver(gpu_driver()) + missing_node(gpu_driver())
    if not devices:
        seen = f"vulkaninfo ended with {done.exit_status}: {done.output.strip()[-300:]}"
        return Capability("vulkan", False, seen + unused, "run `lab setup --refresh`")
    listed = "vulkaninfo lists " + ", ".join(f"{device.name} ({device.kind})" for device in devices)
    return Capability("vulkan", True, listed + unused + unused_nodes(root))


def unused_nodes(root: HostRoot) -> str:
    """What to say of render nodes that Vulkan cannot be had from; nothing where there are none."""
    nodes = usable_render_nodes() if software_vulkan(root) else ()
    return f"; no Vulkan driver of the host root has a device on {', '.join(map(str, nodes))}" if nodes else ""


def unused_driver(driver: GpuDriver) -> str:
    """What to say of a driver of NVIDIA's that Vulkan cannot be had from; nothing of any other."""
    if not driver.files or driver.manifest:
        return ""
    hint = (
        "install its graphics part (of a container: the capability `graphics`), unless VK_DRIVER_FILES is meant to lead elsewhere"
    )
    return f"; NVIDIA's driver is here, but no manifest for Vulkan leads to it: {hint}"


def vulkan_devices(summary: str) -> tuple[VulkanDevice, ...]:
    """The devices in the text of ``vulkaninfo --summary``."""
    names = re.findall(r"^\s*deviceName\s*=\s*(.+?)\s*$", summary, re.MULTILINE)
    kinds = re.findall(r"^\s*deviceType\s*=\s*(\S+)\s*$", summary, re.MULTILINE)
    return tuple(VulkanDevice(name, kind.removeprefix("PHYSICAL_DEVICE_TYPE_")) for name, kind in zip(names, kinds, strict=False))


def probed_safely(name: str, probe: Callable[[], Capability]) -> Capability:
    """Run a probe; one that itself fails is a no with its error."""
    try:
        return probe()
    except LabError as error:
        return Capability(name, False, str(error).splitlines()[0], error.hint)
    except OSError as error:
        return Capability(name, False, f"cannot be probed: {error}", f"see the capability `{disk.__name__}`")


def probe_all(image_name: str) -> tuple[Capability, ...]:
    """Every capability, in a fixed order. Takes some seconds, the first time up to twenty more for KVM.

    Args:
        image_name: the guest image whose kernel KVM is tried with.

    Raises:
        ConfigError: there is no recipe of such an image.
    """
    named_recipe(image_name, "guest")
    answers = [probed_safely(name, probe) for name, probe in host_probes(image_name).items()]
    root = cached_host_root()
    if root is None:
        unknown = ("qemu", "virglrenderer", "apir-built-in", "vulkan", "opengl", "kvm")
        return (*answers, *(Capability(name, False, "not probed: there is no host root yet", SETUP_HINT) for name in unknown))
    with_root: dict[str, Callable[[], Capability]] = {
        "qemu": lambda: qemu(root),
        "virglrenderer": lambda: virglrenderer(root),
        "apir-built-in": lambda: apir_built_in(root),
        "vulkan": lambda: vulkan(root),
        "opengl": lambda: gl_path(root, usable_render_nodes()).capability,
        "kvm": lambda: probed_kvm(root, image_name),
    }
    return (*answers, *(probed_safely(name, probe) for name, probe in with_root.items()))


def probed_kvm(root: HostRoot, image_name: str) -> Capability:
    """Whether KVM runs the image's kernel; a no when the image is not built yet."""
    image = cached_guest_image(image_name)
    if image is None:
        return Capability(
            "kvm", False, f"not probed: the image {image_name} is not built yet", f"run `lab setup --image {image_name}` first"
        )
    return kvm(root, image)
