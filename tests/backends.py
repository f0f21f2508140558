"""Where the host root that tests use has ggml's backends."""

from __future__ import annotations

from pathlib import Path

from lab.ggml.generation import backends_folder
from lab.host.root import cached_host_root

_ROOT = cached_host_root()
BACKENDS = Path("/") / backends_folder(Path("/nowhere") if _ROOT is None else _ROOT.path)
"""As it is seen in the root."""
GENERATION = int(BACKENDS.name.removeprefix("backends"))
"""Of ggml: recordings of 0 are none for 1, whose ops have other numbers."""
