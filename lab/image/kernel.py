"""A guest's kernel: what is taken out of Debian's kernel packages, the image, unpacked, and modules, unpacked.

A kernel that unpacks itself, and modules that the guest unpacks, cost seconds under emulation; here they cost a moment
when the kernel is fetched. QEMU boots the unpacked ELF image through its PVH entry.
"""

from __future__ import annotations

import json
import lzma
import shutil
import struct
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.deadline import Deadline
from lab.errors import BuildError
from lab.host.apt import ensure_packages
from lab.host.debian import Order, bootstrapped, copy_out_hook
from lab.host.lock import Packages
from lab.host.progress import Progress
from lab.host.recipe import Debian, Kernel, Recipe
from lab.host.rights import require, user_rights
from lab.host.root import Bind, HostRoot, host_root
from lab.host.store import content_key, read_facts, stored
from lab.process import check

LAYOUT = 1  # raise it when what this module makes of a recipe changes
KERNELS = "guest-kernels"
FETCH_S = 300.0
FACTS = "facts.json"
VMLINUX = "vmlinux"
MODULES = "modules"
ORDER = "order"
SETUP_SECTORS_AT = 0x1F1
MAGIC_AT = 0x202
PAYLOAD_OFFSET_AT = 0x248
PAYLOAD_LENGTH_AT = 0x24C
SECTOR_BYTES = 512
SIZE_BYTES = 4  # the build appends the unpacked size to the compressed stream
ELF = b"\x7fELF"
XZ = b"\xfd7zXZ\x00"
ZSTD = b"\x28\xb5\x2f\xfd"
UNPACK_S = 60.0


@dataclass(frozen=True, slots=True)
class GuestKernel:
    """A kernel of the cache: ``vmlinux`` and the unpacked modules, ``packages`` being those that they came from."""

    path: Path
    key: str
    release: str
    packages: Packages

    @property
    def vmlinux(self) -> Path:
        """The unpacked ELF image."""
        return self.path / VMLINUX

    def module_files(self) -> tuple[Path, ...]:
        """The modules, in the order to load them in."""
        folder = self.path / MODULES
        return tuple(folder / f"{name}.ko" for name in (folder / ORDER).read_text(encoding="utf-8").split())


def guest_kernel(recipe: Recipe, progress: Progress, deadline: Deadline, *, refresh: bool) -> GuestKernel:
    """The kernel of a guest's recipe: from the cache, else fetched.

    Raises:
        BuildError: it cannot be had, or has not the modules that the recipe wants.
        HostError: as ``host_root``.
    """
    wanted = recipe.guest_kernel()

    def fetch(folder: Path) -> None:
        ensure_packages(progress, deadline)
        require(user_rights())
        with progress.step(f"fetching the kernel of {recipe.name}"):
            _fetch(recipe, wanted, folder, progress, deadline)

    return _loaded(stored(paths.cache() / KERNELS, _key(recipe), fetch, progress, deadline, again=refresh))


def cached_guest_kernel(recipe: Recipe) -> GuestKernel | None:
    """The kernel if the cache has it; nothing is fetched."""
    entry = paths.cache() / KERNELS / _key(recipe)
    return _loaded(entry) if entry.is_dir() else None


def _key(recipe: Recipe) -> str:
    kernel = recipe.guest_kernel()
    return content_key(LAYOUT, kernel.model_dump(mode="json"), recipe.debian.components, _fetch_hook(kernel))


def _loaded(entry: Path) -> GuestKernel:
    facts = read_facts(entry / FACTS)
    packages = tuple((name, version) for name, version in facts["packages"])
    return GuestKernel(entry, content_key(entry.name, packages), facts["release"], packages)


def _fetch_hook(kernel: Kernel) -> str:
    """The customize hook's text: it runs where the caller's files may not be readable, so it is passed as a word."""
    names = " ".join(name.replace("-", "_") for name in kernel.modules)
    script = (paths.IMAGES / "guest" / "fetch-kernel").read_text(encoding="utf-8")
    return f"KERNEL={kernel.package}/{kernel.suite}\nMODULES='{names}'\n{script}"


def _fetch(recipe: Recipe, kernel: Kernel, folder: Path, progress: Progress, deadline: Deadline) -> None:
    files = folder / "files"
    hooks = (_fetch_hook(kernel), copy_out_hook(("/lab/files",), folder), 'rm -rf "$1/lab"')
    order = Order(recipe.name, Debian(suite=kernel.suite, components=recipe.debian.components), hooks=hooks)
    bootstrapped(order, log=folder / "fetch.log", progress=progress, deadline=deadline.narrowed(FETCH_S))
    images = sorted(files.rglob("vmlinuz*"))
    if len(images) != 1:
        raise BuildError(f"{kernel.package} of {kernel.suite} gave {len(images)} kernel images, where one is expected")
    release = images[0].name.removeprefix("vmlinuz-") if images[0].parent.name == "boot" else images[0].parent.name
    write_unpacked_kernel(images[0], folder / VMLINUX, progress, deadline)
    target = folder / MODULES
    target.mkdir()
    loaded = modules(files, kernel.modules)
    for name, data in loaded:
        (target / f"{name}.ko").write_bytes(data)
    (target / ORDER).write_text("\n".join(name for name, _ in loaded), encoding="utf-8")
    packages = sorted(line.split() for line in (files / "packages").read_text(encoding="utf-8").splitlines())
    (folder / FACTS).write_text(json.dumps({"packages": packages, "release": release}), encoding="utf-8")
    shutil.rmtree(files)


def packed_payload(image: bytes) -> bytes:
    """The compressed kernel within a bzImage (x86 boot protocol 2.08: payload_offset and payload_length).

    Raises:
        BuildError: it is no such image.
    """
    if len(image) < PAYLOAD_LENGTH_AT + 4 or image[MAGIC_AT : MAGIC_AT + 4] != b"HdrS":
        raise BuildError("the kernel image has no x86 boot header")
    start = (image[SETUP_SECTORS_AT] + 1) * SECTOR_BYTES + struct.unpack_from("<I", image, PAYLOAD_OFFSET_AT)[0]
    length: int = struct.unpack_from("<I", image, PAYLOAD_LENGTH_AT)[0]
    if start + length > len(image):
        raise BuildError("the kernel image is shorter than its header says")
    return image[start : start + length - SIZE_BYTES]


def write_unpacked_kernel(bzimage: Path, target: Path, progress: Progress, deadline: Deadline) -> None:
    """Write the ELF image that is inside a bzImage; one of zstd is unpacked in the host root.

    Raises:
        BuildError: no bzImage, or of a compression other than xz and zstd.
    """
    payload = packed_payload(bzimage.read_bytes())
    if payload.startswith(XZ):
        target.write_bytes(unpacked_xz(payload))
    elif payload.startswith(ZSTD):
        _unzstd(payload, target, host_root(progress, deadline), deadline)
    else:
        raise BuildError(f"the kernel is compressed in an unknown way: it begins with {payload[:6].hex()}")
    with open(target, "rb") as file:
        if file.read(len(ELF)) != ELF:
            raise BuildError("the unpacked kernel is no ELF image")


def _unzstd(payload: bytes, target: Path, root: HostRoot, deadline: Deadline) -> None:
    packed = target.with_suffix(".zst")
    packed.write_bytes(payload)
    argv = root.enter(
        ("zstd", "--decompress", "--quiet", "--force", packed, "-o", target), binds=(Bind(target.parent, writable=True),)
    )
    check(argv, what="unpacking the kernel", deadline=deadline.narrowed(UNPACK_S))
    packed.unlink()


def module_name(path: Path) -> str:
    """The name of a module file, in the kernel's spelling."""
    return path.name.split(".")[0].replace("-", "_")


def built_in(tree: Path) -> frozenset[str]:
    """Names of the modules that the kernels of this tree have built in."""
    listings = tree.rglob("modules.builtin")
    return frozenset(module_name(Path(line)) for listing in listings for line in listing.read_text(encoding="utf-8").split())


def modules(tree: Path, wanted: tuple[str, ...]) -> tuple[tuple[str, bytes], ...]:
    """Name and bytes of each wanted module that is not built in, in the order wanted.

    Raises:
        BuildError: a wanted module is neither there nor built in.
    """
    inside = built_in(tree)
    found = {module_name(path): path for path in tree.rglob("*.ko*")}
    names = [name.replace("-", "_") for name in wanted]
    missing = [name for name in names if name not in found and name not in inside]
    if missing:
        raise BuildError(f"the kernel package has no module {', '.join(missing)}", hint="look at [kernel] in the recipe")
    return tuple((name, module_bytes(found[name])) for name in names if name in found)


def module_bytes(path: Path) -> bytes:
    """The bytes of a module file, unpacked."""
    data = path.read_bytes()
    return unpacked_xz(data) if data.startswith(XZ) else data


def unpacked_xz(data: bytes) -> bytes:
    """The bytes of an xz stream, whatever follows it."""
    return lzma.LZMADecompressor().decompress(data)
