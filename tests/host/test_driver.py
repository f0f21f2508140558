from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.host import root as root_module
from lab.host.driver import (
    INSIDE,
    GpuDriver,
    driver_libraries,
    found_driver,
    gpu_driver,
    is_library,
    libraries_in,
    library_cache,
    manifest_folders,
    manifests,
    manifests_in,
)
from lab.host.root import HostRoot

CACHE = """\
3 libs found in cache `/etc/ld.so.cache'
	libnvidia-glcore.so.550.54 (libc6,x86-64) => {folder}/libnvidia-glcore.so.550.54
	libGLX_nvidia.so.0 (libc6,x86-64) => {folder}/libGLX_nvidia.so.0
	libGLX_nvidia.so.0 (libc6) => /usr/lib32/libGLX_nvidia.so.0
	libcuda.so.1 (libc6,x86-64) => {folder}/libcuda.so.1
	libc.so.6 (libc6,x86-64) => {folder}/libc.so.6
"""


def threes(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [words[at : at + 3] for at in range(len(words) - 2)]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(tmp_path / "cache"))


def library_of(driver: GpuDriver) -> str:
    """The library that the driver's manifest leads to."""
    manifest = dict(driver.files)[Path(driver.manifest).name]
    return str(json.loads(manifest.read_text())["ICD"]["library_path"])


def library(path: Path) -> Path:
    """A file that passes for a library of 64 bits."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(11) + b"\x3e\x00")
    return path


def leading_to(manifest: Path, target: object) -> Path:
    manifest.write_text(json.dumps({"file_format_version": "1.0.1", "ICD": {"library_path": target}}))
    return manifest


def host(folder: Path, target: str = "libGLX_nvidia.so.0") -> GpuDriver:
    for name in ("libnvidia-glcore.so.550.54", "libGLX_nvidia.so.0", "libcuda.so.1", "libc.so.6"):
        library(folder / name)
    leading_to(folder / "nvidia_icd.json", target)
    (folder / "broken.json").write_text("{")
    libraries = driver_libraries(library_cache(CACHE.format(folder=folder)))
    return found_driver(libraries, manifests_in([folder / "nowhere", folder]))


def test_libraries_and_manifest_of_the_hosts_driver_are_found(tmp_path: Path) -> None:
    driver = host(tmp_path)
    libraries = {name: tmp_path / name for name in ("libnvidia-glcore.so.550.54", "libGLX_nvidia.so.0", "libcuda.so.1")}
    assert {name: path for name, path in driver.files if name != "nvidia_icd.json"} == libraries
    assert driver.manifest == str(INSIDE / "nvidia_icd.json")
    assert library_of(driver) == "libGLX_nvidia.so.0"


def test_a_manifest_names_its_library_without_its_folder(tmp_path: Path) -> None:
    assert library_of(host(tmp_path, target="/opt/nvidia/lib64/libGLX_nvidia.so.0")) == "libGLX_nvidia.so.0"


def test_the_library_that_needs_no_display_is_taken_where_there_is_one(tmp_path: Path) -> None:
    library(tmp_path / "libEGL_nvidia.so.0")
    manifest = leading_to(tmp_path / "nvidia_icd.json", "libGLX_nvidia.so.0")
    for with_display in (False, True):
        if with_display:
            library(tmp_path / "libGLX_nvidia.so.0")
        driver = found_driver(libraries_in([tmp_path]), [manifest])
        assert library_of(driver) == "libEGL_nvidia.so.0"
        assert json.loads(dict(driver.files)["nvidia_icd.json"].read_text())["file_format_version"] == "1.0.1"


def test_a_driver_in_a_folder_of_its_own_is_found(tmp_path: Path) -> None:
    """As containers are lent it: nothing in the system's folders, the manifest beside the libraries."""
    library(tmp_path / "lib64" / "libGLX_nvidia.so.0")
    library(tmp_path / "lib64" / "libz.so.1")
    libraries = libraries_in([tmp_path / "nowhere", tmp_path / "lib64"])
    assert libraries == {"libGLX_nvidia.so.0": tmp_path / "lib64" / "libGLX_nvidia.so.0"}
    for below in ("share", "."):
        folder = tmp_path / below / "vulkan" / "icd.d"
        folder.mkdir(parents=True)
        manifest = leading_to(folder / f"{below.strip('.')}nvidia_icd.json", "libGLX_nvidia.so.0")
        looked_at = manifests(libraries.values(), {"XDG_DATA_DIRS": str(tmp_path / "nothing")})
        assert found_driver(libraries, looked_at).manifest == str(INSIDE / manifest.name)
        manifest.unlink()


def test_a_library_that_cannot_be_loaded_hides_none_that_can(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("dangling", "folder", "lib32", "stubs", "lib64", "later")]
    for folder in folders:
        library(folder / "libcuda.so.1")
    for folder in folders[:2]:
        (folder / "libcuda.so.1").unlink()
    (folders[0] / "libcuda.so.1").symlink_to("/nowhere/libcuda.so.1")
    (folders[1] / "libcuda.so.1").mkdir()
    (folders[2] / "libcuda.so.1").write_bytes(b"\x7fELF\x01\x01\x01")
    right = {"libcuda.so.1": tmp_path / "lib64" / "libcuda.so.1"}
    assert libraries_in(folders) == right
    places = ({"libcuda.so.1": folder / "libcuda.so.1"} for folder in folders if folder.name != "stubs")
    assert driver_libraries(*places) == right, "the first of several places"


def test_manifests_are_looked_for_where_vulkans_loader_looks() -> None:
    home = manifest_folders([], {"HOME": "/home/me"})
    assert [str(folder.parent.parent) for folder in home] == [
        "/home/me/.config", "/etc/xdg", "/etc", "/home/me/.local/share", "/usr/local/share", "/usr/share",
    ]  # fmt: skip
    said = {"XDG_CONFIG_HOME": "/a", "XDG_CONFIG_DIRS": "/b:/c", "XDG_DATA_HOME": "/d", "XDG_DATA_DIRS": "/e::/f"}
    assert [str(folder.parent.parent) for folder in manifest_folders([], said)] == ["/a", "/b", "/c", "/etc", "/d", "/e", "/f"]


def test_manifests_that_variables_name_go_first_or_alone(tmp_path: Path) -> None:
    data = tmp_path / "data" / "vulkan" / "icd.d"
    data.mkdir(parents=True)
    (data / "found.json").touch()
    (tmp_path / "one.json").touch()
    (tmp_path / "two.txt").touch()
    variables = {"XDG_DATA_DIRS": str(tmp_path / "data"), "HOME": "/nowhere", "XDG_CONFIG_DIRS": "/nowhere"}
    more = {**variables, "VK_ADD_DRIVER_FILES": f"{tmp_path}:/x/three.json"}
    looked_at = [path for path in manifests([], more) if not path.is_relative_to("/etc")]
    assert looked_at == [tmp_path / "one.json", Path("/x/three.json"), data / "found.json"]
    old = {**more, "VK_ICD_FILENAMES": "/y/four.json"}
    assert list(manifests([], old)) == [Path("/y/four.json")]
    assert list(manifests([], {**old, "VK_DRIVER_FILES": "/z/five.json"})) == [Path("/z/five.json")]


@pytest.mark.parametrize("text", ["{", "[]", "3", "null", '{"ICD": 1}', '{"ICD": {"library_path": ["x"]}}', "[" * 100_000, "\0"])
def test_a_manifest_that_is_none_is_passed_over(tmp_path: Path, text: str) -> None:
    library(tmp_path / "libGLX_nvidia.so.0")
    odd = tmp_path / "odd.json"
    odd.write_text(text)
    (tmp_path / "folder.json").mkdir()
    good = leading_to(tmp_path / "nvidia_icd.json", "libGLX_nvidia.so.0")
    good.write_text("\ufeff" + good.read_text())
    driver = found_driver(libraries_in([tmp_path]), [tmp_path / "missing.json", tmp_path / "folder.json", odd, good])
    assert driver.manifest == str(INSIDE / "nvidia_icd.json")


@pytest.mark.parametrize("in_the_way", ["cache", "cache/driver-manifests"])
def test_a_cache_that_cannot_be_written_leaves_the_manifest_as_it_is(tmp_path: Path, in_the_way: str) -> None:
    library(tmp_path / "libGLX_nvidia.so.0")
    manifest = leading_to(tmp_path / "nvidia_icd.json", "libGLX_nvidia.so.0")
    (tmp_path / in_the_way).parent.mkdir(exist_ok=True)
    (tmp_path / in_the_way).touch()
    assert dict(found_driver(libraries_in([tmp_path]), [manifest]).files)["nvidia_icd.json"] == manifest


def test_a_manifest_that_leads_elsewhere_is_not_taken(tmp_path: Path) -> None:
    driver = host(tmp_path, target="libvulkan_intel.so")
    assert driver.manifest == ""
    assert "libcuda.so.1" in dict(driver.files)


def test_a_host_without_that_driver_has_nothing_to_bind() -> None:
    assert driver_libraries({"libc.so.6": Path("/"), "libcuda.so.1": Path("/nowhere/libcuda.so.1")}) == {}
    assert found_driver({}, []) == GpuDriver()


def test_the_driver_goes_along_into_every_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = HostRoot(tmp_path, "key", (), ())
    plain = root.enter(("true",), env={"LD_LIBRARY_PATH": "/opt/lib"})
    assert ("--setenv", "LD_LIBRARY_PATH", "/opt/lib") in threes(plain)
    driver = host(tmp_path)
    monkeypatch.setattr(root_module, "gpu_driver", lambda: driver)
    words = threes(root.enter(("true",), env={"LD_LIBRARY_PATH": "/opt/lib"}))
    assert ("--ro-bind", str(tmp_path / "libcuda.so.1"), str(INSIDE / "libcuda.so.1")) in words
    assert ("--setenv", "LD_LIBRARY_PATH", f"/opt/lib:{INSIDE}") in words
    assert ("--setenv", "LD_LIBRARY_PATH", str(INSIDE)) in threes(root.enter(("true",)))


def test_this_machine_is_asked_once() -> None:
    assert gpu_driver() is gpu_driver()


def test_library_that_the_loader_takes_is_the_first_of_its_name_for_this_architecture_and_any_processor() -> None:
    listed = """\
3 libs found in cache `/etc/ld.so.cache'
\tlibx.so (libc6,x86-64, hwcap: "x86-64-v3") => /v3/libx.so
\tlibx.so (libc6) => /32/libx.so
\tlibx.so (libc6,x86-64) => /first/libx.so
\tlibx.so (libc6,x86-64) => /second/libx.so
"""
    assert library_cache(listed) == {"libx.so": Path("/first/libx.so")}


@pytest.mark.parametrize(("head", "told"), [(b"\x02", True), (b"\x01", False)])
@pytest.mark.parametrize(("machine", "ours"), [(b"\x3e\0", True), (b"\xb7\0", False)])
def test_library_of_another_architecture_is_none(tmp_path: Path, head: bytes, machine: bytes, *, told: bool, ours: bool) -> None:
    (tmp_path / "x.so").write_bytes(b"\x7fELF" + head + bytes(13) + machine)
    assert is_library(tmp_path / "x.so") is (told and ours)
