from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.host import root as root_module
from lab.host.driver import INSIDE, GpuDriver, found_driver, gpu_driver, library_cache
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


def host(folder: Path, library: str = "libGLX_nvidia.so.0") -> GpuDriver:
    for name in ("libnvidia-glcore.so.550.54", "libGLX_nvidia.so.0", "libcuda.so.1", "libc.so.6"):
        (folder / name).write_bytes(b"")
    (folder / "nvidia_icd.json").write_text(json.dumps({"ICD": {"library_path": library}}))
    (folder / "broken.json").write_text("{")
    return found_driver(library_cache(CACHE.format(folder=folder)), [folder / "nowhere", folder])


def test_libraries_and_manifest_of_the_hosts_driver_are_found(tmp_path: Path) -> None:
    driver = host(tmp_path)
    assert dict(driver.files) == {
        name: tmp_path / name for name in ("libnvidia-glcore.so.550.54", "libGLX_nvidia.so.0", "libcuda.so.1", "nvidia_icd.json")
    }
    assert driver.manifest == str(INSIDE / "nvidia_icd.json")


def test_a_manifest_that_leads_elsewhere_is_not_taken(tmp_path: Path) -> None:
    driver = host(tmp_path, library="libvulkan_intel.so")
    assert driver.manifest == ""
    assert "libcuda.so.1" in dict(driver.files)


def test_a_host_without_that_driver_has_nothing_to_bind() -> None:
    assert found_driver({"libc.so.6": Path("/lib/libc.so.6")}, []) == GpuDriver()


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
