"""Guest images: a system (``lab.image.system``), a kernel (``lab.image.kernel``), and the initramfs made of both with our init.

The first two are what Debian gives; the initramfs depends on them and on ``images/guest/`` and takes a moment. Nothing of a
run is in any of it: keys are handed in at boot, so any number of guests share one image at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.deadline import Deadline
from lab.host.lock import Drift, Packages, drift, read_lock
from lab.host.progress import Progress
from lab.host.recipe import Kernel, RecipeFile, named_recipe
from lab.host.root import tell_drift
from lab.host.store import content_key, files_key, stored
from lab.image import cpio
from lab.image.kernel import GuestKernel, cached_guest_kernel, guest_kernel
from lab.image.system import GuestSystem, cached_guest_system, guest_system

LAYOUT = 1  # raise it when what this module makes of a system and a kernel changes
IMAGES = "guest-images"
INITRAMFS = "initramfs"
BUSYBOX_COMMANDS = ("sh", "mount", "mkdir", "insmod", "ip", "cat", "cp", "chmod", "chroot", "hostname", "switch_root", "reboot")
FOLDERS = ("bin", "dev", "proc", "sys", "lab", "lower", "modules", "new", "rw")


@dataclass(frozen=True, slots=True)
class GuestImage:
    """A bootable image; all files are shared read-only. ``key`` changes with every byte that could matter."""

    name: str
    key: str
    kernel: Path
    initramfs: Path
    rootfs: Path
    release: str
    packages: Packages
    drift: tuple[Drift, ...]


def guest_image(name: str, progress: Progress, deadline: Deadline, *, refresh: bool = False) -> GuestImage:
    """The image of ``images/<name>.toml``: from the cache, else built.

    Raises:
        ConfigError: no such recipe, or it is wrong.
        HostError, BuildError: as ``guest_system`` and ``guest_kernel``.
    """
    file = named_recipe(name, "guest")
    system = guest_system(file.recipe, progress, deadline, refresh=refresh)
    kernel = guest_kernel(file.recipe, progress, deadline, refresh=refresh)

    def build(folder: Path) -> None:
        with progress.step(f"making the initramfs of {name}"):
            (folder / INITRAMFS).write_bytes(_initramfs(file.recipe.guest_kernel(), system, kernel))

    entry = stored(paths.cache() / IMAGES, _key(system, kernel), build, progress, deadline)
    image = _loaded(file, system, kernel, entry)
    tell_drift(file, image.drift, progress)
    return image


def cached_guest_image(name: str) -> GuestImage | None:
    """The image if the cache has it; nothing is built. Raises ``ConfigError`` as ``guest_image`` does."""
    file = named_recipe(name, "guest")
    system, kernel = cached_guest_system(file.recipe), cached_guest_kernel(file.recipe)
    if system is None or kernel is None:
        return None
    entry = paths.cache() / IMAGES / _key(system, kernel)
    return _loaded(file, system, kernel, entry) if entry.is_dir() else None


def _key(system: GuestSystem, kernel: GuestKernel) -> str:
    scripts = tuple(sorted((paths.IMAGES / "guest").iterdir()))
    return content_key(LAYOUT, system.key, kernel.key, files_key(paths.IMAGES, scripts))


def _loaded(file: RecipeFile, system: GuestSystem, kernel: GuestKernel, entry: Path) -> GuestImage:
    packages = tuple(sorted((*system.packages, *kernel.packages)))
    return GuestImage(
        name=file.recipe.name,
        key=entry.name,
        kernel=kernel.vmlinux,
        initramfs=entry / INITRAMFS,
        rootfs=system.rootfs,
        release=kernel.release,
        packages=packages,
        drift=drift(read_lock(file.lock), packages),
    )


def _initramfs(recipe: Kernel, system: GuestSystem, kernel: GuestKernel) -> bytes:
    """The archive: a static busybox, the modules, and our scripts."""
    scripts = paths.IMAGES / "guest"
    loaded = kernel.module_files()
    entries = [cpio.folder(name) for name in FOLDERS]
    entries.append(cpio.character_device("dev/console", 5, 1))
    entries.append(cpio.file("bin/busybox", system.busybox.read_bytes(), 0o755))
    entries += [cpio.link(f"bin/{command}", "busybox") for command in BUSYBOX_COMMANDS]
    entries.append(cpio.file("init", (scripts / "init").read_bytes(), 0o755))
    entries += [cpio.file(f"lab/{name}", (scripts / name).read_bytes()) for name in ("start", "sshd_config")]
    entries.append(cpio.file("modules/groups", _groups(recipe, [path.stem for path in loaded]).encode()))
    entries += [cpio.file(f"modules/{path.name}", path.read_bytes()) for path in loaded]
    return cpio.archive(tuple(entries))


def _groups(kernel: Kernel, order: list[str]) -> str:
    """Shell variables that say what is loaded when; what the kernel has built in is left out."""
    groups = {"BUS": kernel.bus_modules, "ROOT": kernel.root_modules, "GPU": kernel.gpu_modules}
    lines = []
    for variable, wanted in groups.items():
        names = [name.replace("-", "_") for name in wanted]
        lines.append(f'{variable}="{" ".join(name for name in names if name in order)}"\n')
    return "".join(lines)
