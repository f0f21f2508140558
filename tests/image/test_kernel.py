from __future__ import annotations

import lzma
import struct
from pathlib import Path

import pytest

from lab.errors import BuildError
from lab.image.kernel import built_in, module_bytes, modules, packed_payload, unpacked_xz


def bzimage(payload: bytes, *, sectors: int = 4, offset: int = 0x40) -> bytes:
    image = bytearray((sectors + 1) * 512 + offset) + payload + b"SIZE" + b"behind it"
    image[0x1F1] = sectors
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<II", image, 0x248, offset, len(payload) + 4)
    return bytes(image)


def test_payload_is_cut_out_without_its_size() -> None:
    assert packed_payload(bzimage(b"packed kernel")) == b"packed kernel"


@pytest.mark.parametrize("broken", [b"", b"MZ" + bytes(2000), bzimage(b"x" * 400)[:-200]])
def test_other_files_are_refused(broken: bytes) -> None:
    with pytest.raises(BuildError):
        packed_payload(broken)


def test_xz_with_something_behind_it() -> None:
    assert unpacked_xz(lzma.compress(b"module") + b"padding") == b"module"


def kernel_tree(folder: Path) -> Path:
    release = folder / "usr/lib/modules/6.12"
    (release / "kernel/drivers").mkdir(parents=True)
    (release / "modules.builtin").write_text("kernel/drivers/virtio/virtio.ko\nkernel/lib/some-thing.ko\n")
    (release / "kernel/drivers/virtio-gpu.ko.xz").write_bytes(lzma.compress(b"gpu"))
    (release / "kernel/drivers/drm.ko").write_bytes(b"drm")
    return folder


def test_modules_come_unpacked_in_the_wanted_order_without_the_built_in(tmp_path: Path) -> None:
    tree = kernel_tree(tmp_path)
    assert built_in(tree) == {"virtio", "some_thing"}
    assert modules(tree, ("virtio", "drm", "some-thing", "virtio-gpu")) == (("drm", b"drm"), ("virtio_gpu", b"gpu"))
    assert module_bytes(tree / "usr/lib/modules/6.12/kernel/drivers/drm.ko") == b"drm"


def test_module_that_is_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="erofs"):
        modules(kernel_tree(tmp_path), ("drm", "erofs"))
