"""The user-space half of a GPU driver that no root can bring: NVIDIA's, which must be of the kernel module's version.

Mesa's drivers are in the host root and need the device nodes only. NVIDIA's libraries and its Vulkan manifest are those of the
machine: they are bound into a folder of their own inside every host root, and the loader is led there.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.deadline import Deadline
from lab.errors import LabError
from lab.process import finish

CONTROL_NODE = Path("/dev/nvidiactl")
MANIFESTS = tuple(Path(folder) for folder in ("/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d"))
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
        return GpuDriver()
    return found_driver(library_cache(cache), MANIFESTS)


def library_cache(text: str) -> dict[str, Path]:
    """Libraries of this architecture in the output of ``ldconfig -p``, by name; the first of a name is the one that is loaded."""
    found: dict[str, Path] = {}
    for match in CACHED.finditer(text):
        if "x86-64" in match["kind"]:
            found.setdefault(match["name"], Path(match["path"]))
    return found


def found_driver(libraries: Mapping[str, Path], folders: Iterable[Path]) -> GpuDriver:
    """NVIDIA's libraries among those of the host, and its manifest for Vulkan, if there is one whose library is there."""
    files = {name: path.resolve() for name, path in libraries.items() if LIBRARY.fullmatch(name) and path.exists()}
    if not files:
        return GpuDriver()
    for manifest in (path for folder in folders for path in sorted(folder.glob("*.json"))):
        if manifest_library(manifest) in files:
            return GpuDriver((*sorted(files.items()), (manifest.name, manifest)), str(INSIDE / manifest.name))
    return GpuDriver(tuple(sorted(files.items())))


def manifest_library(manifest: Path) -> str:
    """Name of the library that a manifest leads to; empty when it cannot be read."""
    try:
        return Path(json.loads(manifest.read_text(encoding="utf-8"))["ICD"]["library_path"]).name
    except (OSError, ValueError, KeyError, TypeError):
        return ""
