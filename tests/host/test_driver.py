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
    libraries_in,
    library_cache,
    manifest_folders,
    manifests_in,
    named_manifests,
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


def host(folder: Path, library: str = "libGLX_nvidia.so.0") -> GpuDriver:
    for name in ("libnvidia-glcore.so.550.54", "libGLX_nvidia.so.0", "libcuda.so.1", "libc.so.6"):
        (folder / name).write_bytes(b"")
    (folder / "nvidia_icd.json").write_text(json.dumps({"ICD": {"library_path": library}}))
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
    assert library_of(host(tmp_path, library="/opt/nvidia/lib64/libGLX_nvidia.so.0")) == "libGLX_nvidia.so.0"


def test_the_library_that_needs_no_display_is_taken_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "libEGL_nvidia.so.0").touch()
    (tmp_path / "nvidia_icd.json").write_text(
        json.dumps({"file_format_version": "1.0.1", "ICD": {"library_path": "libGLX_nvidia.so.0"}})
    )
    (tmp_path / "libGLX_nvidia.so.0").touch()
    driver = found_driver(libraries_in([tmp_path]), manifests_in([tmp_path]))
    assert library_of(driver) == "libEGL_nvidia.so.0"
    assert json.loads(dict(driver.files)["nvidia_icd.json"].read_text())["file_format_version"] == "1.0.1"


def test_a_driver_in_a_folder_of_its_own_is_found(tmp_path: Path) -> None:
    """As containers are lent it: nothing in the system's folders, the manifest beside the libraries."""
    (tmp_path / "lib64").mkdir()
    (tmp_path / "lib64" / "libGLX_nvidia.so.0").touch()
    (tmp_path / "lib64" / "libz.so.1").touch()
    libraries = libraries_in([tmp_path / "nowhere", tmp_path / "lib64"])
    assert libraries == {"libGLX_nvidia.so.0": tmp_path / "lib64" / "libGLX_nvidia.so.0"}
    for below in ("share", "."):
        folder = tmp_path / below / "vulkan" / "icd.d"
        folder.mkdir(parents=True)
        manifest = folder / f"{below.strip('.')}nvidia_icd.json"
        manifest.write_text(json.dumps({"ICD": {"library_path": "libGLX_nvidia.so.0"}}))
        folders = manifest_folders(libraries.values(), {"XDG_DATA_DIRS": str(tmp_path / "nothing")})
        assert found_driver(libraries, manifests_in(folders)).manifest == str(INSIDE / manifest.name)
        manifest.unlink()


def test_manifests_are_looked_for_where_vulkans_loader_looks(tmp_path: Path) -> None:
    home = manifest_folders([], {"HOME": "/home/me"})
    assert [str(folder.parent.parent) for folder in home] == [
        "/home/me/.config", "/etc/xdg", "/etc", "/home/me/.local/share", "/usr/local/share", "/usr/share",
    ]  # fmt: skip
    said = {"XDG_CONFIG_HOME": "/a", "XDG_CONFIG_DIRS": "/b:/c", "XDG_DATA_HOME": "/d", "XDG_DATA_DIRS": "/e::/f"}
    assert [str(folder.parent.parent) for folder in manifest_folders([], said)] == ["/a", "/b", "/c", "/etc", "/d", "/e", "/f"]

    (tmp_path / "one.json").touch()
    (tmp_path / "two.txt").touch()
    named = {"VK_DRIVER_FILES": f"{tmp_path}:/x/three.json", "VK_ADD_DRIVER_FILES": "/y/four.json", "VK_ICD_FILENAMES": ""}
    assert list(named_manifests(named)) == [tmp_path / "one.json", Path("/x/three.json"), Path("/y/four.json")]


def test_a_manifest_that_leads_elsewhere_is_not_taken(tmp_path: Path) -> None:
    driver = host(tmp_path, library="libvulkan_intel.so")
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
