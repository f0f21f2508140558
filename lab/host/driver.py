"""The user-space half of a GPU driver that no root can bring: NVIDIA's, which must be of the kernel module's version.

Mesa's drivers are in the host root and need the device nodes only. NVIDIA's libraries and its Vulkan manifest are those of the
machine: they are bound into a folder of their own inside every host root, and the loader is led there. They are looked for where
the machine's own programs would find them: libraries by LD_LIBRARY_PATH and ``ldconfig``, manifests where Vulkan's loader looks
(https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderDriverInterface.md), and beside the libraries: containers are
lent a driver in a folder of its own, with nothing of it in the system's. What cannot be read is not there.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import paths
from lab.deadline import Deadline
from lab.errors import LabError
from lab.host.progress import SilentProgress
from lab.host.store import content_key, stored
from lab.process import finish

CONTROL_NODE = Path("/dev/nvidiactl")
MEMORY_NODE = Path("/dev/nvidia-uvm")
"""CUDA's, which its library has made where it is missing, by a program with the rights to; a root has none such."""
MANIFESTS = Path("vulkan/icd.d")
"""Below folders for configuration and for data."""
ONLY_MANIFESTS = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
"""Variables of Vulkan's loader, the second an older name: manifests, or folders of some; no others are looked at then."""
MORE_MANIFESTS = "VK_ADD_DRIVER_FILES"
"""The same of manifests that it looks at first."""
CUDA_LIBRARY = "libcuda.so"
WITH_DISPLAY = "libGLX_nvidia.so"
WITHOUT_DISPLAY = "libEGL_nvidia.so.0"
LENT = Path("/usr/local/nvidia")
"""Where the driver lies that a container is lent by its host."""
LIBRARY = re.compile(r"lib(nvidia-[\w.+-]+|GLX_nvidia|EGL_nvidia|cuda|cudadebugger)\.so[\d.]*")
ELF_64 = b"\x7fELF\x02"
MACHINE, X86_64 = slice(18, 20), b"\x3e\x00"
"""Where an ELF file says which architecture it is for."""
STUBS = "stubs"
"""Folders of libraries that programs are linked with where there is no driver: CUDA's."""
CACHED = re.compile(r"^\s+(?P<name>\S+) \((?P<kind>[^)]*)\) => (?P<path>/\S+)$", re.MULTILINE)
INSIDE = Path("/run/host-driver")
FOR_ROOT = ("/usr/sbin", "/sbin")
"""Folders with ldconfig, which are not in an ordinary user's PATH everywhere (Debian)."""
LOOK_S = 20.0


@dataclass(frozen=True, slots=True)
class GpuDriver:
    """Files of the host's driver by their names in the folder ``INSIDE``, none where Mesa's do; ``manifest``: Vulkan's, inside."""

    files: tuple[tuple[str, Path], ...] = ()
    manifest: str = ""


@functools.cache
def gpu_driver() -> GpuDriver:
    """The driver of this machine. Looked for once."""
    if not CONTROL_NODE.exists():
        return GpuDriver()
    own, lent = libraries_in(named(os.environ, "LD_LIBRARY_PATH")), libraries_in((LENT / "lib64", LENT / "lib"))
    libraries = driver_libraries(own, linker_cache(), lent)
    return found_driver(libraries, manifests(libraries.values(), os.environ))


def missing_node(driver: GpuDriver) -> str:
    """What to say of CUDA that would have no device in a root; nothing where it has all that it needs."""
    if MEMORY_NODE.exists() or not any(name.startswith(CUDA_LIBRARY) for name, _ in driver.files):
        return ""
    return f"; CUDA has no device without {MEMORY_NODE}: make it by `nvidia-modprobe -c 0 -u` as root, or lend it to the container"


@functools.cache
def linker_cache() -> dict[str, Path]:
    """Libraries that the machine's loader knows of, by name. Looked for once; none where it cannot be asked."""
    program = shutil.which("ldconfig", path=os.pathsep.join((os.environ.get("PATH", ""), *FOR_ROOT))) or "ldconfig"
    try:
        return library_cache(finish((program, "-p"), deadline=Deadline.after(LOOK_S)).output)
    except LabError:
        return {}


def library_cache(text: str) -> dict[str, Path]:
    """Libraries of this architecture in the output of ``ldconfig -p``, by name; the first of a name is the one that is loaded."""
    found: dict[str, Path] = {}
    for match in CACHED.finditer(text):
        if "x86-64" in match["kind"] and "hwcap" not in match["kind"]:
            found.setdefault(match["name"], Path(match["path"]))
    return found


def libraries_in(folders: Iterable[Path]) -> dict[str, Path]:
    """Libraries of the driver's names in folders, by name; the first of a name is the one that is loaded."""
    found: dict[str, Path] = {}
    for path in (path for folder in folders if folder.name != STUBS for path in entries(folder)):
        if LIBRARY.fullmatch(path.name) and is_library(path):
            found.setdefault(path.name, path)
    return found


def driver_libraries(*places: Mapping[str, Path]) -> dict[str, Path]:
    """The driver's libraries of several places, by name, each led to its file; the first place that has one is the one."""
    found: dict[str, Path] = {}
    for name, path in (each for place in places for each in place.items()):
        if name not in found and LIBRARY.fullmatch(name) and is_library(path):
            found[name] = path.resolve()
    return found


def is_library(path: Path) -> bool:
    """Whether it is an ELF file of 64 bits, for this architecture."""
    try:
        with path.open("rb") as file:
            head = file.read(MACHINE.stop)
    except OSError:
        return False
    return head.startswith(ELF_64) and head[MACHINE] == X86_64


def manifests(libraries: Iterable[Path], environment: Mapping[str, str]) -> Iterator[Path]:
    """The manifests that Vulkan's loader would look at, in its order, then those beside the libraries."""
    for variable in ONLY_MANIFESTS:
        if environment.get(variable):
            return named_manifests(environment, variable)
    folders = manifest_folders(libraries, environment)
    return (path for source in (named_manifests(environment, MORE_MANIFESTS), manifests_in(folders)) for path in source)


def manifest_folders(libraries: Iterable[Path], environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Where Vulkan's loader looks for manifests, then what lies beside the libraries: each once, there or not."""
    home = Path(environment.get("HOME", "/"))
    settings = named(environment, "XDG_CONFIG_HOME") or [home / ".config"]
    settings += named(environment, "XDG_CONFIG_DIRS") or [Path("/etc/xdg")]
    data = named(environment, "XDG_DATA_HOME") or [home / ".local/share"]
    data += named(environment, "XDG_DATA_DIRS") or [Path("/usr/local/share"), Path("/usr/share")]
    beside = [folder for path in libraries for folder in (path.parent.parent / "share", path.parent.parent)]
    return tuple(dict.fromkeys(folder / MANIFESTS for folder in (*settings, Path("/etc"), *data, *beside)))


def named_manifests(environment: Mapping[str, str], variable: str) -> Iterator[Path]:
    """The manifests that a variable of the loader's names, itself or their folder."""
    for path in named(environment, variable):
        yield from manifests_in([path]) if entries(path) else [path]


def manifests_in(folders: Iterable[Path]) -> Iterator[Path]:
    """The manifests in folders, of which any may be missing."""
    return (path for folder in folders for path in entries(folder) if path.suffix == ".json")


def named(environment: Mapping[str, str], variable: str) -> list[Path]:
    """The paths in a variable, with colons between them."""
    return [Path(word) for word in environment.get(variable, "").split(":") if word]


def entries(folder: Path) -> list[Path]:
    """What is in a folder, by name; nothing where it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def found_driver(libraries: Mapping[str, Path], manifests: Iterable[Path]) -> GpuDriver:
    """NVIDIA's libraries, and the first manifest for Vulkan that leads to one of them."""
    if not libraries:
        return GpuDriver()
    for manifest in manifests:
        library = headless(manifest_library(manifest), libraries)
        if library in libraries:
            files = (*sorted(libraries.items()), (manifest.name, movable(manifest, library)))
            return GpuDriver(files, str(INSIDE / manifest.name))
    return GpuDriver(tuple(sorted(libraries.items())))


def manifest_library(manifest: Path) -> str:
    """Name of the library that a manifest leads to; empty when it cannot be read."""
    try:
        return Path(read_manifest(manifest)["ICD"]["library_path"]).name
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""


def headless(library: str, libraries: Container[str]) -> str:
    """The library that has the same Vulkan and needs no display, where it is there.

    NVIDIA's libGLX_nvidia asks for X and, where there is none, for EGL by the vendor-neutral library, which in a root knows Mesa's
    alone: then it has no Vulkan. libEGL_nvidia asks nobody.
    """
    return WITHOUT_DISPLAY if library.startswith(WITH_DISPLAY) and WITHOUT_DISPLAY in libraries else library


def movable(manifest: Path, library: str) -> Path:
    """The manifest with the library's bare name in it, which is good in roots, from the cache; itself where that fails."""

    def build(folder: Path) -> None:
        (folder / manifest.name).write_text(json.dumps(content), encoding="utf-8")

    try:
        content = read_manifest(manifest)
        content["ICD"]["library_path"] = library
        key = content_key(manifest.name, content)
        return stored(paths.cache() / "driver-manifests", key, build, SilentProgress(), Deadline.after(LOOK_S)) / manifest.name
    except (OSError, LabError):
        return manifest


def read_manifest(manifest: Path) -> Any:
    """What is in a manifest. Raises ``OSError``, or ``ValueError`` and ``RecursionError`` where it is no JSON."""
    return json.loads(manifest.read_text(encoding="utf-8-sig"))
