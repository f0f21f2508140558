"""Where Mesa keeps the shaders it has compiled: in the lab's cache, so that a second run does not compile them again.

Without a GPU a shader is compiled to machine code for the processor, which takes a second where it then runs for microseconds;
a catalog has hundreds of them. Mesa names each by its own build and the shader's content.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lab import paths
from lab.errors import ConfigError, ConfigProblem
from lab.host.root import Bind

SHADER_CACHE = "MESA_SHADER_CACHE_DIR"


def shader_cache() -> Path:
    """The lab's own folder; it need not exist yet."""
    return paths.cache() / "shaders"


def shader_binds(variables: Mapping[str, str]) -> tuple[Bind, ...]:
    """What a program with these variables has to reach: the folder they name, made if it is not there.

    Raises:
        ConfigError: it cannot be made.
    """
    named = variables.get(SHADER_CACHE)
    if not named:
        return ()
    folder = Path(named)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = ConfigProblem("", f"{folder} cannot be made: {error.strerror}", "name a folder that can be written to")
        raise ConfigError(SHADER_CACHE, [problem]) from error
    return (Bind(folder, writable=True),)
