"""What is taken out of Debian's kernel packages: the image, unpacked, and modules, unpacked.

A kernel that unpacks itself, and modules that the guest unpacks, cost seconds under emulation; here they cost a moment
when the image is built. QEMU boots the unpacked ELF image through its PVH entry.
"""

from __future__ import annotations

import lzma
import struct
from pathlib import Path

from lab.deadline import Deadline
from lab.errors import BuildError
from lab.host.root import Bind, HostRoot
from lab.process import check

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


def write_unpacked_kernel(bzimage: Path, target: Path, root: HostRoot, deadline: Deadline) -> None:
    """Write the ELF image that is inside a bzImage.

    Raises:
        BuildError: no bzImage, or of a compression other than xz and zstd.
    """
    payload = packed_payload(bzimage.read_bytes())
    if payload.startswith(XZ):
        target.write_bytes(unpacked_xz(payload))
    elif payload.startswith(ZSTD):
        _unzstd(payload, target, root, deadline)
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
