"""Guest images without a guest: what makes another one of them, what is in them, and what is taken out of Debian's packages."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from lab import paths
from lab.deadline import Deadline
from lab.errors import BuildError
from lab.host.progress import SilentProgress
from lab.host.recipe import Kernel, Recipe, named_recipe
from lab.image import build, cpio, kernel, system
from lab.image.build import GuestImage, cached_guest_image, guest_image
from lab.image.kernel import GuestKernel, write_unpacked_kernel
from lab.image.system import GuestSystem
from tests.image.test_kernel import bzimage, kernel_tree

NAME = "guest-6.12"
PACKAGES = (("busybox", "1"),)


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    """The project's own, over an empty cache."""
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(tmp_path / "cache"))
    return named_recipe(NAME, "guest").recipe


def with_kernel(recipe: Recipe, **changed: Any) -> Recipe:
    return recipe.model_copy(update={"kernel": recipe.guest_kernel().model_copy(update=changed)})


def test_every_word_of_a_recipe_that_matters_makes_another_kernel_or_system(recipe: Recipe) -> None:
    debian = recipe.debian.model_copy(update={"components": ("main", "contrib")})
    kernels = [
        recipe,
        with_kernel(recipe, suite="bookworm"),
        with_kernel(recipe, package="linux-image-cloud-amd64"),
        with_kernel(recipe, gpu_modules=("drm",)),
        with_kernel(recipe, root_modules=recipe.guest_kernel().modules[:-1], gpu_modules=recipe.guest_kernel().modules[-1:]),
        recipe.model_copy(update={"debian": debian}),
    ]
    assert len({kernel._key(one) for one in kernels}) == len(kernels)
    systems = [recipe, *(recipe.model_copy(update=one) for one in ({"exclude": ()}, {"packages": ("kmod",)}, {"debian": debian}))]
    assert len({system._key(one) for one in systems}) == len(systems)
    assert {system._key(one) for one in kernels[:5]} == {system._key(recipe)}, "guests that differ in their kernel alone share it"


def made_of(folder: Path, packages: tuple[tuple[str, str], ...] = PACKAGES) -> tuple[GuestSystem, GuestKernel]:
    """A system and a kernel as their caches have them."""
    for name in ("system", "kernel/modules"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "system" / "busybox").write_bytes(b"BUSYBOX")
    (folder / "system" / "facts.json").write_text(json.dumps({"packages": packages}))
    (folder / "kernel" / "facts.json").write_text(json.dumps({"packages": [("linux", "2")], "release": "6.12.1"}))
    (folder / "kernel" / "modules" / "order").write_text("drm\nvirtio_gpu")
    for name in ("drm", "virtio_gpu"):
        (folder / "kernel" / "modules" / f"{name}.ko").write_bytes(f"module {name}".encode())
    return system._loaded(folder / "system"), kernel._loaded(folder / "kernel")


def test_other_packages_make_another_system_kernel_and_image(tmp_path: Path) -> None:
    one, core = made_of(tmp_path)
    other, _ = made_of(tmp_path, (("busybox", "2"),))
    assert (one.key == other.key, one.packages, core.packages, core.release) == (False, PACKAGES, (("linux", "2"),), "6.12.1")
    (tmp_path / "kernel" / "facts.json").write_text(json.dumps({"packages": [("linux", "3")], "release": "6.12.1"}))
    newer = kernel._loaded(tmp_path / "kernel")
    assert newer.key != core.key
    assert len({build._key(*parts) for parts in ((one, core), (other, core), (one, newer))}) == 3


@pytest.fixture
def image(recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GuestImage:
    """An image of such a system and kernel."""
    one, core = made_of(tmp_path)
    monkeypatch.setattr(build, "guest_system", lambda *_, **__: one)
    monkeypatch.setattr(build, "guest_kernel", lambda *_, **__: core)
    monkeypatch.setattr(build, "cached_guest_system", lambda _: one)
    monkeypatch.setattr(build, "cached_guest_kernel", lambda _: core)
    assert recipe.name == NAME
    assert cached_guest_image(NAME) is None
    return guest_image(NAME, SilentProgress(), Deadline.after(60))


def test_image_is_taken_from_the_cache_and_has_its_packages_and_their_drift(
    image: GuestImage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cached_guest_image(NAME) == image
    assert image.packages == (("busybox", "1"), ("linux", "2"))
    assert {"linux", "busybox"} <= {one.package for one in image.drift}, "neither is as the lock has it"
    assert (image.kernel, image.rootfs) == (tmp_path / "kernel" / "vmlinux", tmp_path / "system" / "root.erofs")
    for part in ("cached_guest_system", "cached_guest_kernel"):
        with monkeypatch.context() as without:
            without.setattr(build, part, lambda _: None)
            assert cached_guest_image(NAME) is None


def test_initramfs_has_the_modules_in_their_order_and_a_program_to_begin_with(image: GuestImage) -> None:
    data = image.initramfs.read_bytes()
    scripts = paths.IMAGES / "guest"
    for entry in (
        cpio.file("init", (scripts / "init").read_bytes(), 0o755),
        cpio.file("bin/busybox", b"BUSYBOX", 0o755),
        cpio.link("bin/sh", "busybox"),
        cpio.file("lab/start", (scripts / "start").read_bytes()),
        cpio.file("modules/virtio_gpu.ko", b"module virtio_gpu"),
        cpio.file("modules/groups", b'BUS=""\nROOT=""\nGPU="drm virtio_gpu"\n'),
    ):
        number_ends = 14  # the members are numbered
        assert cpio._member(entry, 1)[number_ends:] in data, entry.name


def test_groups_are_those_of_the_recipe_without_what_is_built_in() -> None:
    wanted = Kernel(suite="trixie", package="linux", root_modules=("a-b", "gone"), gpu_modules=("c", "d"), bus_modules=("e",))
    assert build._groups(wanted, ["d", "e", "c", "a_b"]) == 'BUS="e"\nROOT="a_b"\nGPU="c d"\n'


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        (lzma.compress(b"\x7fELF kernel"), ""),
        (b"LZ4 stream", "compressed in an unknown way"),
        (lzma.compress(b"text"), "is no ELF"),
    ],
    ids=["xz", "unknown", "no kernel"],
)
def test_kernel_is_written_unpacked_or_refused(tmp_path: Path, payload: bytes, told: str) -> None:
    (tmp_path / "vmlinuz").write_bytes(bzimage(payload))
    words = (tmp_path / "vmlinuz", tmp_path / "vmlinux", SilentProgress(), Deadline.after(60))
    if told:
        with pytest.raises(BuildError, match=told):
            write_unpacked_kernel(*words)
        return
    write_unpacked_kernel(*words)
    assert (tmp_path / "vmlinux").read_bytes() == b"\x7fELF kernel"


@pytest.mark.parametrize(
    ("images", "release"),
    [
        (("boot/vmlinuz-6.12.9-amd64",), "6.12.9-amd64"),
        (("usr/lib/modules/6.13/vmlinuz",), "6.13"),
        ((), ""),
        (("boot/vmlinuz-1", "boot/vmlinuz-2"), ""),
    ],
    ids=["in boot", "among its modules", "none", "two"],
)
def test_one_kernel_is_taken_out_of_its_packages(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, images: tuple[str, ...], release: str
) -> None:
    files = kernel_tree(tmp_path / "files")
    for name in images:
        (files / name).parent.mkdir(parents=True, exist_ok=True)
        (files / name).write_bytes(bzimage(lzma.compress(b"\x7fELF kernel")))
    (files / "packages").write_text("linux-image 6\nkmod 3\n")
    monkeypatch.setattr(kernel, "bootstrapped", lambda *_, **__: None)
    modules = {"root_modules": ("virtio", "virtio-gpu"), "gpu_modules": ("drm",)}
    wanted = recipe.guest_kernel().model_copy(update=modules)
    fetch = (recipe, wanted, tmp_path, SilentProgress(), Deadline.after(60))
    if not release:
        with pytest.raises(BuildError, match=f"gave {len(images)} kernel images, where one is expected"):
            kernel._fetch(*fetch)
        return
    kernel._fetch(*fetch)
    got = kernel._loaded(tmp_path)
    assert (got.release, got.packages) == (release, (("kmod", "3"), ("linux-image", "6")))
    assert [path.read_bytes() for path in got.module_files()] == [b"gpu", b"drm"]
    assert got.vmlinux.read_bytes() == b"\x7fELF kernel"
    assert not files.exists()
