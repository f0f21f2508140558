"""Which ggml a host root or a guest image has: libggml0 is 0.x, libggml1 is 1.x, and their ops have other numbers.

Debian names package, SONAME and the folder of the backends by the same number, which is that of the generation.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path

GENERATIONS = (1, 0)
"""All that are known, the newest first."""
FOLDER = Path("usr/lib/x86_64-linux-gnu/ggml")


def ggml_package(packages: Mapping[str, str]) -> str | None:
    """The name of ggml's package among those by name, of the newest generation where there are two; None where there is none."""
    return next((name for number in GENERATIONS if (name := f"libggml{number}") in packages), None)


def ggml_version(packages: Mapping[str, str]) -> str | None:
    """The version of ``ggml_package``."""
    package = ggml_package(packages)
    return None if package is None else packages[package]


def backends_folder(root: Path) -> Path:
    """Where the tree ``root`` has ggml's backends, relative to it; that of the oldest generation where it has none."""
    return next(
        (folder for number in GENERATIONS if (root / (folder := FOLDER / f"backends{number}")).is_dir()), FOLDER / "backends0"
    )


def loaded(library: str) -> ctypes.CDLL:
    """A library of ggml such as ``libggml-base``, loaded into this process: the newest generation of it that the loader finds.

    Raises:
        OSError: it finds none.
    """
    for number in GENERATIONS[:-1]:
        try:
            return ctypes.CDLL(f"{library}.so.{number}", mode=ctypes.RTLD_GLOBAL)
        except OSError:
            continue
    return ctypes.CDLL(f"{library}.so.{GENERATIONS[-1]}", mode=ctypes.RTLD_GLOBAL)
