"""Where things are: the project's own folders and the cache.

The cache lies outside the repository (``~/.cache/virtgpu-lab``, below ``XDG_CACHE_HOME``, or ``VIRTGPU_LAB_CACHE``), is addressed
by content and safe to delete. Nothing else of the lab reads those variables.
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
XDG_VARIABLE = "XDG_CACHE_HOME"


def cache() -> Path:
    """The cache folder, made if it is not there.

    A folder handed to another user's process (the guest root's unpacking) must be reachable, so the mode is 0755.

    Raises:
        ConfigError: it cannot be made, or its name is no text.
    """
    variable, named = _named()
    try:
        root = named.expanduser().absolute()
    except RuntimeError as error:
        problem = ConfigProblem("", f"the home folder in {named} is not known: {error}", "name a folder by its whole path")
        raise ConfigError(variable, [problem]) from error
    if not is_utf8(str(root)):
        problem = ConfigProblem("", f"{str(root)!r} is no text in UTF-8, as paths in a bundle have to be", "name another folder")
        raise ConfigError(variable, [problem])
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = ConfigProblem("", f"{root} cannot be made: {error.strerror}", "name a folder that can be written to")
        raise ConfigError(variable, [problem]) from error
    return root


def _named() -> tuple[str, Path]:
    """The variable that has a say in where the cache is, and what comes of it."""
    if own := os.environ.get(CACHE_VARIABLE):
        return CACHE_VARIABLE, Path(own)
    xdg = os.environ.get(XDG_VARIABLE, "")
    if xdg.startswith(("/", "~")):
        return XDG_VARIABLE, Path(xdg) / "virtgpu-lab"
    return CACHE_VARIABLE, Path("~/.cache/virtgpu-lab")  # the specification has relative paths ignored
