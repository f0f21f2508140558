"""Where things are: the project's own folders and the cache.

The cache lies outside the repository (``~/.cache/virtgpu-lab``, or ``VIRTGPU_LAB_CACHE``), is addressed by content and
safe to delete. Nothing else of the lab reads that variable.
"""

from __future__ import annotations

import os
from pathlib import Path

from lab.errors import ConfigError, ConfigProblem
from lab.visible import is_utf8

PROJECT = Path(__file__).resolve().parent.parent
IMAGES = PROJECT / "images"
SCENARIOS = PROJECT / "scenarios"
BACKEND_IMPL = PROJECT / "backend_impl"
RUNS = PROJECT / "reports" / "runs"

CACHE_VARIABLE = "VIRTGPU_LAB_CACHE"


def cache() -> Path:
    """The cache folder, made if it is not there.

    A folder handed to another user's process (the guest root's unpacking) must be reachable, so the mode is 0755.

    Raises:
        ConfigError: it cannot be made, or its name is no text.
    """
    named = Path(os.environ.get(CACHE_VARIABLE) or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "virtgpu-lab")
    try:
        root = named.expanduser().absolute()
    except RuntimeError as error:
        problem = ConfigProblem("", f"the home folder in {named} is not known: {error}", "name a folder by its whole path")
        raise ConfigError(CACHE_VARIABLE, [problem]) from error
    if not is_utf8(str(root)):
        problem = ConfigProblem("", f"{str(root)!r} is no text in UTF-8, as paths in a bundle have to be", "name another folder")
        raise ConfigError(CACHE_VARIABLE, [problem])
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = ConfigProblem("", f"{root} cannot be made: {error.strerror}", "name a folder that can be written to")
        raise ConfigError(CACHE_VARIABLE, [problem]) from error
    return root
