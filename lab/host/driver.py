"""The user-space half of a GPU driver that no root can bring: NVIDIA's, which must be of the kernel module's version.

Mesa's drivers are in the host root and need the device nodes only. NVIDIA's libraries and its Vulkan manifest are those of the
machine: they are bound into a folder of their own inside every host root, and the loader is led there. They are looked for where
the machine's own programs would find them: libraries by ``ldconfig`` and LD_LIBRARY_PATH, manifests where Vulkan's loader looks
(https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderDriverInterface.md), and beside the libraries: containers are
lent a driver in a folder of its own, with nothing of it in the system's.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.deadline import Deadline
from lab.errors import LabError
from lab.host.progress import SilentProgress
from lab.host.store import content_key, stored
from lab.process import finish

CONTROL_NODE = Path("/dev/nvidiactl")
MANIFESTS = Path("vulkan/icd.d")
"""Below folders for configuration and for data."""
NAMED_MANIFESTS = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES")
"""Variables of Vulkan's loader that hold manifests, or folders of some."""
WITH_DISPLAY = "libGLX_nvidia.so"
WITHOUT_DISPLAY = "libEGL_nvidia.so.0"
LENT = Path("/usr/local/nvidia")
"""Where the driver lies that a container is lent by its host."""
LIBRARY = re.compile(r"lib(nvidia-[\w.+-]+|GLX_nvidia|EGL_nvidia|cuda|cudadebugger)\.so[\d.]*")
CACHED = re.compile(r"^\s+(?P<name>\S+) \((?P<kind>[^)]*)\) => (?P<path>/\S+)$", re.MULTILINE)
INSIDE = Path("/run/host-driver")
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
    try:
        cache = finish(("ldconfig", "-p"), deadline=Deadline.after(LOOK_S)).output
    except LabError:
        cache = ""
    folders = (*named(os.environ, "LD_LIBRARY_PATH"), LENT / "lib64", LENT / "lib")
    libraries = driver_libraries({**libraries_in(folders), **library_cache(cache)})
    return found_driver(libraries, (*named_manifests(os.environ), *manifests_in(manifest_folders(libraries.values(), os.environ))))


def library_cache(text: str) -> dict[str, Path]:
    """Libraries of this architecture in the output of ``ldconfig -p``, by name; the first of a name is the one that is loaded."""
    found: dict[str, Path] = {}
    for match in CACHED.finditer(text):
        if "x86-64" in match["kind"]:
            found.setdefault(match["name"], Path(match["path"]))
    return found


def libraries_in(folders: Iterable[Path]) -> dict[str, Path]:
    """The driver's libraries in folders, by name; the first of a name is the one that is loaded. A folder may be missing."""
    found: dict[str, Path] = {}
    for path in (path for folder in folders for path in entries(folder)):
        if LIBRARY.fullmatch(path.name):
            found.setdefault(path.name, path)
    return found


def driver_libraries(libraries: Mapping[str, Path]) -> dict[str, Path]:
    """Those of the libraries that are the driver's, by name, each led to its file."""
    return {name: path.resolve() for name, path in libraries.items() if LIBRARY.fullmatch(name) and path.exists()}


def manifest_folders(libraries: Iterable[Path], environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Where Vulkan's loader looks for manifests, then what lies beside the libraries: each once, there or not."""
    home = Path(environment.get("HOME", "/"))
    settings = named(environment, "XDG_CONFIG_HOME") or [home / ".config"]
    settings += named(environment, "XDG_CONFIG_DIRS") or [Path("/etc/xdg")]
    data = named(environment, "XDG_DATA_HOME") or [home / ".local/share"]
    data += named(environment, "XDG_DATA_DIRS") or [Path("/usr/local/share"), Path("/usr/share")]
    beside = [folder for path in libraries for folder in (path.parent.parent / "share", path.parent.parent)]
    return tuple(dict.fromkeys(folder / MANIFESTS for folder in (*settings, Path("/etc"), *data, *beside)))


def named_manifests(environment: Mapping[str, str]) -> Iterator[Path]:
    """The manifests that the loader's variables name."""
    for path in (path for variable in NAMED_MANIFESTS for path in named(environment, variable)):
        yield from manifests_in([path]) if path.is_dir() else [path]


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
        library = manifest_library(manifest)
        if library.name in libraries:
            files = (*sorted(libraries.items()), (manifest.name, movable(manifest, libraries)))
            return GpuDriver(files, str(INSIDE / manifest.name))
    return GpuDriver(tuple(sorted(libraries.items())))


def manifest_library(manifest: Path) -> Path:
    """The library that a manifest leads to, as it names it; no name when it cannot be read."""
    try:
        return Path(json.loads(manifest.read_text(encoding="utf-8"))["ICD"]["library_path"])
    except (OSError, ValueError, KeyError, TypeError):
        return Path()


def movable(manifest: Path, libraries: Container[str]) -> Path:
    """A manifest for roots, kept in the cache: it names its library without a folder, and one that needs no display.

    NVIDIA's libGLX_nvidia asks for X and, where there is none, for EGL by the vendor-neutral library, which in a root knows Mesa's
    alone: then it has no Vulkan. libEGL_nvidia has the same Vulkan and asks nobody.
    """
    content = json.loads(manifest.read_text(encoding="utf-8"))
    library = Path(content["ICD"]["library_path"]).name
    headless = library.startswith(WITH_DISPLAY) and WITHOUT_DISPLAY in libraries
    content["ICD"]["library_path"] = WITHOUT_DISPLAY if headless else library

    def build(folder: Path) -> None:
        (folder / manifest.name).write_text(json.dumps(content), encoding="utf-8")

    key = content_key(manifest.name, content)
    return stored(paths.cache() / "driver-manifests", key, build, SilentProgress(), Deadline.after(LOOK_S)) / manifest.name
