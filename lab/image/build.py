"""Building a guest image in two cached steps.

The *tree* (what Debian gives: root image, kernel, modules) depends on the recipe and takes a minute and more; the *image* (what
we make of it: the initramfs with our init) depends on the tree and on ``images/guest/`` and takes a moment. Nothing of a run
is in them: keys are handed in at boot, so any number of guests share one image at a time.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.deadline import Deadline
from lab.errors import BuildError
from lab.host.apt import ensure_packages
from lab.host.debian import bootstrapped
from lab.host.lock import Drift, Packages, dpkg_packages, drift, read_lock
from lab.host.progress import Progress
from lab.host.recipe import Kernel, Recipe, RecipeFile, named_recipe
from lab.host.rights import require, user_rights
from lab.host.root import Bind, host_root, tell_drift
from lab.host.store import content_key, files_key, stored
from lab.image import cpio
from lab.image.kernel import modules, write_unpacked_kernel
from lab.process import check

LAYOUT = 1  # raise it when what this module makes of a recipe changes
BUILD_S = 900.0
EROFS_S = 300.0
FACTS = "facts.json"
TREES = "guest-trees"
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


@dataclass(frozen=True, slots=True)
class _Facts:
    """What building a tree found out."""

    release: str
    packages: Packages


def guest_image(name: str, progress: Progress, deadline: Deadline, *, refresh: bool = False) -> GuestImage:
    """The image of ``images/<name>.toml``: from the cache, else built.

    Raises:
        ConfigError: no such recipe, or it is wrong.
        HostError, BuildError: as ``host_root``, whose tools build it.
    """
    file = named_recipe(name, "guest")

    def build_tree(folder: Path) -> None:
        ensure_packages(progress, deadline)
        require(user_rights())
        with progress.step(f"building the guest image {name}"):
            _build_tree(file, folder, progress, deadline)

    tree = stored(paths.cache() / TREES, _tree_key(file), build_tree, progress, deadline, again=refresh)

    def build_image(folder: Path) -> None:
        with progress.step(f"making the initramfs of {name}"):
            (folder / INITRAMFS).write_bytes(_initramfs(_kernel(file.recipe), tree))

    key = _image_key(tree)
    image = _loaded(file, tree, stored(paths.cache() / IMAGES, key, build_image, progress, deadline))
    tell_drift(file, image.drift, progress)
    return image


def cached_guest_image(name: str) -> GuestImage | None:
    """The image if the cache has it; nothing is built. Raises ``ConfigError`` as ``guest_image`` does."""
    file = named_recipe(name, "guest")
    tree = paths.cache() / TREES / _tree_key(file)
    if not tree.is_dir():
        return None
    image = paths.cache() / IMAGES / _image_key(tree)
    return _loaded(file, tree, image) if image.is_dir() else None


def _loaded(file: RecipeFile, tree: Path, image: Path) -> GuestImage:
    facts = _facts(tree)
    return GuestImage(
        name=file.recipe.name,
        key=image.name,
        kernel=tree / "vmlinux",
        initramfs=image / INITRAMFS,
        rootfs=tree / "root.erofs",
        release=facts.release,
        packages=facts.packages,
        drift=drift(read_lock(file.lock), facts.packages),
    )


def _facts(tree: Path) -> _Facts:
    table = json.loads((tree / FACTS).read_text(encoding="utf-8"))
    return _Facts(table["release"], tuple((package, version) for package, version in table["packages"]))


def _tree_key(file: RecipeFile) -> str:
    return content_key(LAYOUT, file.recipe.model_dump(mode="json"), _fetch_kernel_hook(_kernel(file.recipe)))


def _image_key(tree: Path) -> str:
    scripts = tuple(sorted((paths.IMAGES / "guest").iterdir()))
    return content_key(LAYOUT, tree.name, _facts(tree).packages, files_key(paths.IMAGES, scripts))


def _kernel(recipe: Recipe) -> Kernel:
    if recipe.kernel is None:
        raise BuildError(f"the recipe {recipe.name} has no kernel")
    return recipe.kernel


def _fetch_kernel_hook(kernel: Kernel) -> str:
    """The customize hook's text: it runs where the caller's files may not be readable, so it is passed as a word."""
    names = " ".join(name.replace("-", "_") for name in kernel.modules)
    script = (paths.IMAGES / "guest" / "fetch-kernel").read_text(encoding="utf-8")
    return f"KERNEL={kernel.package}/{kernel.suite}\nMODULES='{names}'\n{script}"


def _build_tree(file: RecipeFile, folder: Path, progress: Progress, deadline: Deadline) -> None:
    recipe = file.recipe
    tar, log, kernel_files = folder / "root.tar", folder / "build.log", folder / "files"
    hooks = (_fetch_kernel_hook(_kernel(recipe)), f"copy-out /lab/files {folder}", 'rm -rf "$1/lab"')
    bootstrapped(recipe, tar, log=log, progress=progress, deadline=deadline.narrowed(BUILD_S), hooks=hooks)
    root = host_root(progress, deadline)  # not before it is needed: it may be under way beside us
    with progress.step("making its root image"):
        argv = root.enter(
            ("mkfs.erofs", "--quiet", "--tar=f", folder / "root.erofs", tar), binds=(Bind(folder, writable=True),)
        )  # fmt: skip
        check(argv, what="mkfs.erofs", deadline=deadline.narrowed(EROFS_S), log=log)
    tar.unlink()
    images = sorted(kernel_files.rglob("vmlinuz*"))
    if len(images) != 1:
        raise BuildError(
            f"{_kernel(recipe).package} of {_kernel(recipe).suite} gave {len(images)} kernel images, where one is expected"
        )
    release = images[0].name.removeprefix("vmlinuz-") if images[0].parent.name == "boot" else images[0].parent.name
    write_unpacked_kernel(images[0], folder / "vmlinux", root, deadline)
    extra = [line.split() for line in (kernel_files / "packages").read_text(encoding="utf-8").splitlines()]
    packages = (
        *dpkg_packages((kernel_files / "status").read_text(encoding="utf-8")),
        *((name, version) for name, version in extra),
    )
    facts = {"packages": sorted(packages), "release": release}
    (folder / FACTS).write_text(json.dumps(facts), encoding="utf-8")
    _keep_modules(kernel_files, folder, _kernel(recipe))


def _keep_modules(kernel_files: Path, folder: Path, kernel: Kernel) -> None:
    """Leave of the kernel's files the unpacked modules and the static busybox."""
    target = folder / "modules"
    target.mkdir()
    loaded = modules(kernel_files, kernel.modules)
    for name, data in loaded:
        (target / f"{name}.ko").write_bytes(data)
    (target / "order").write_text("\n".join(name for name, _ in loaded), encoding="utf-8")
    shutil.copy(kernel_files / "busybox", folder / "busybox")
    shutil.rmtree(kernel_files)


def _initramfs(kernel: Kernel, tree: Path) -> bytes:
    """The archive: a static busybox, the modules, and our scripts."""
    scripts = paths.IMAGES / "guest"
    order = (tree / "modules" / "order").read_text(encoding="utf-8").split()
    entries = [cpio.folder(name) for name in FOLDERS]
    entries.append(cpio.character_device("dev/console", 5, 1))
    entries.append(cpio.file("bin/busybox", (tree / "busybox").read_bytes(), 0o755))
    entries += [cpio.link(f"bin/{command}", "busybox") for command in BUSYBOX_COMMANDS]
    entries.append(cpio.file("init", (scripts / "init").read_bytes(), 0o755))
    entries += [cpio.file(f"lab/{name}", (scripts / name).read_bytes()) for name in ("start", "sshd_config")]
    entries.append(cpio.file("modules/groups", _groups(kernel, order).encode()))
    entries += [cpio.file(f"modules/{name}.ko", (tree / "modules" / f"{name}.ko").read_bytes()) for name in order]
    return cpio.archive(tuple(entries))


def _groups(kernel: Kernel, order: list[str]) -> str:
    """Shell variables that say what is loaded when; what the kernel has built in is left out."""
    groups = {"BUS": kernel.bus_modules, "ROOT": kernel.root_modules, "GPU": kernel.gpu_modules}
    lines = []
    for variable, wanted in groups.items():
        names = [name.replace("-", "_") for name in wanted]
        lines.append(f'{variable}="{" ".join(name for name in names if name in order)}"\n')
    return "".join(lines)
