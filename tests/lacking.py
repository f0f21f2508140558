"""A library of the machine that needs another one, which is nowhere."""

from __future__ import annotations

from pathlib import Path

from lab.ggml.generation import backends_folder
from lab.host.root import HostRoot

LACKED = "libnone.so.9"


def lacking_library(root: HostRoot, folder: Path, lacked: str = LACKED) -> Path:
    """A copy of ggml's CPU backend that needs another library, whose name has twelve letters, in the place of OpenMP's run time."""
    source = root.path / backends_folder(root.path) / "libggml-cpu-x64.so"
    library = folder / "lacking.so"
    library.write_bytes(source.read_bytes().replace(b"libgomp.so.1", lacked.encode()))
    return library
