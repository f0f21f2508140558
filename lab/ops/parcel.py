"""The guest's program in one file: ``python3 ops.pyz --device NAME …`` is ``lab.guest.agent.ops``.

A zip of exactly the modules that it imports, which the guest's python3 runs as it is. Its bytes depend on the modules alone, and
on the Python that packs it: beside each module lies what this Python compiles it to. A guest with the same Python starts a third
sooner by it (an emulated one: a second), one with another Python passes over it. So it is best packed by the host root's Python,
``python3 -m lab.ops.parcel FILE``.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import marshal
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from lab.paths import PROJECT

PROGRAM = "lab.guest.agent.ops"
MAIN = f"import sys\n\nfrom {PROGRAM} import main\n\nsys.exit(main())\n"
OLDEST = (1980, 1, 1, 0, 0, 0)
UNCHECKED = 0b01
"""PEP 552's flags of a file that belongs to its source by hash, and is not compared with it."""


def agent_parcel() -> bytes:
    """The bytes of the program."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_entry("__main__.py"), MAIN)
        for path in sorted(needed_modules(PROGRAM)):
            name, source = str(path.relative_to(PROJECT)), path.read_bytes()
            archive.writestr(_entry(name), source)
            archive.writestr(_entry(f"{name}c"), compiled(source, name))
    return packed.getvalue()


def compiled(source: bytes, name: str) -> bytes:
    """The bytes of a ``.pyc`` file that is used without a look at its source (PEP 552)."""
    code = compile(source, name, "exec", dont_inherit=True, optimize=0)
    return importlib.util.MAGIC_NUMBER + UNCHECKED.to_bytes(4, "little") + importlib.util.source_hash(source) + marshal.dumps(code)


def needed_modules(program: str) -> set[Path]:
    """Files of ours that a module imports, directly or not, with the packages they lie in."""
    needed: set[Path] = set()
    pending = [program]
    while pending:
        path = module_file(pending.pop())
        if path is None or path in needed:
            continue
        needed.add(path)
        needed |= {
            package / "__init__.py" for package in path.relative_to(PROJECT).parents if package.parts and _is_package(package)
        }
        pending += imported(path.read_text(encoding="utf-8"))
    return {path if path.is_absolute() else PROJECT / path for path in needed}


def imported(source: str) -> Iterator[str]:
    """Names of modules of ours that a source may import."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("lab"):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_file(name: str) -> Path | None:
    """The file of a module or package of ours; None for anything else."""
    base = PROJECT / name.replace(".", "/")
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if name.startswith("lab.") and path.is_file():
            return path
    return None


def _is_package(folder: Path) -> bool:
    return (PROJECT / folder / "__init__.py").is_file()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, OLDEST)
    entry.compress_type = zipfile.ZIP_STORED
    return entry


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(agent_parcel())
