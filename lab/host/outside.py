"""Files of the machine that programs in a host root load, and how they are seen in there.

A payload that is not of the root, a ggml library with CUDA say, lies anywhere on the machine and needs others of the machine:
CUDA's run time, the ggml that it was built with. Its folder is bound under its own name, for it may find more beside it; one in a
tree that the root has itself (``/usr``) cannot be, and is seen in a folder of ours. Libraries that it needs and the root lacks
are looked for where the machine's own loader would find them (ld.so(8)), beside it, and where CUDA is installed; they are
bound by the names that they are asked for by, into one folder that the root's loader is led to, with what ROCm's have beside
them. Of ggml's own libraries those that lie where a ggml library says, or beside it, go before the root's, and the
distribution's where it is one of those: a backend is good with the ggml that it was built with.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.elf import NotElf, linking
from lab.host.driver import STUBS, entries, gpu_driver, is_library, linker_cache, named
from lab.host.root import LIBRARIES, TREES, Bind, HostRoot
from lab.host.store import content_key

OF_GGML = "libggml"
BASE = "libggml-base.so"
CUDA = ("CUDA_HOME", "CUDA_PATH")
"""Variables of CUDA's tools that name the folder it is installed in."""
CUDA_FOLDER = Path("/usr/local/cuda")
CUDA_PLACES = ("lib64", "lib", "targets/x86_64-linux/lib")
OF_ROOT = (Path("/"), *(Path(f"/{name}") for name in ("dev", "home", "opt", "proc", "root", "run", "srv", "sys", "tmp", "var")))
"""Folders that would hide the root, or other files of the machine in it, if they were bound."""
CUT = re.compile(r"[\s:;$]")
"""What no path in the loader's lists (``LD_PRELOAD``, ``LD_LIBRARY_PATH``) can have: it is cut there, or put in the place of."""
ORIGIN = ("$ORIGIN", "${ORIGIN}")
OWN_NAME = re.compile(r"lib(.+?)\.so(?:\.|$)")
ROOT_FOLDERS = tuple(Path(folder) for folder in ("usr/lib/x86_64-linux-gnu", "usr/lib", "usr/local/lib", "usr/lib64"))
"""Where a root's loader looks."""


@dataclass(frozen=True, slots=True)
class Outside:
    """What makes files of the machine loadable in a root, and what cannot be found: (file that needs it, name)."""

    binds: tuple[Bind, ...] = ()
    missing: tuple[tuple[Path, str], ...] = ()

    @property
    def base(self) -> Path | None:
        """The libggml-base that is loaded in the place of the root's."""
        named_so = (bind for bind in self.binds if bind.inside and bind.inside.parent == LIBRARIES)
        return next((bind.path for bind in named_so if bind.inside and bind.inside.name.startswith(BASE)), None)


def absolute(path: str | Path) -> Path:
    """The path from the root on, without ``..``; symbolic links in it stay."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() follows links, and absolute() keeps ".."


def seen_at(path: Path) -> str:
    """Where programs in a root see the machine's file: by its own name where its folder can be bound, and has the file itself.

    One that its loader could not be told of by that name is seen by another.
    """
    folder = path.parent
    elsewhere = path.resolve().parent != folder.resolve()
    if elsewhere or folder in OF_ROOT or path.parts[1] in TREES or CUT.search(os.fspath(path)):
        return os.fspath(LIBRARIES / content_key(os.fspath(folder)) / CUT.sub("-", path.name))
    return os.fspath(path)


def outside(files: Iterable[Path], root: HostRoot, *, ggml: Path | None = None) -> Outside:
    """What makes ELF files of the machine loadable in a root, each with all that it needs.

    Files that are none, or cannot be read, need nothing: who loads them says so.

    Args:
        files: by absolute paths.
        root: what they are loaded in.
        ggml: one more, which brings the ggml that it was built with. Others are loaded with the same one, or with the root's.
    """
    first = tuple(dict.fromkeys((*((ggml,) if ggml else ()), *files)))
    found: dict[str, Path] = {}
    missing: dict[tuple[Path, str], None] = {}
    # Each with the folders of those that need it: what their loader was told by RPATH holds for it, too.
    waiting: list[tuple[Path, tuple[Path, ...], bool]] = [(file, (), file == ggml) for file in first]
    while waiting:
        file, inherited, brings = waiting.pop(0)
        needed, own = wanted_by(file)
        folders = tuple(dict.fromkeys((*own, *inherited)))
        for name in needed:
            if name in found or loader_has(name, root, (*folders, *system_folder(file, name)) if brings else ()):
                continue
            library = lookup(name, folders, linker_cache())
            if library is None:
                missing[file, name] = None
            else:
                found[name] = library
                waiting.append((library, folders, brings))
    binds = dict.fromkeys(bind for file in first for bind in file_binds(file))
    binds |= dict.fromkeys(Bind(path.resolve(), inside=LIBRARIES / name) for name, path in sorted(found.items()))
    binds |= dict.fromkeys(bind for name, path in sorted(found.items()) for bind in kernel_binds(name, path))
    return Outside(tuple(binds), tuple(missing))


def wanted_by(file: Path) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Libraries that a file needs, and the folders that it names for them, with its own."""
    try:
        asked = linking(file)
    except (OSError, NotElf):
        return (), ()
    origin = file.resolve().parent
    named_there = (Path(replaced(folder, os.fspath(origin))) for folder in asked.search)
    folders = dict.fromkeys((*named_there, file.parent, origin))
    return asked.needed, tuple(folder for folder in folders if folder.is_absolute())


def system_folder(file: Path, name: str) -> tuple[Path, ...]:
    """Where the machine's loader has a library for files of the machine's own distribution, whose ggml is one."""
    return (linker_cache()[name].parent,) if file.parts[1] in TREES and name in linker_cache() else ()


def replaced(folder: str, origin: str) -> str:
    """A folder as an ELF file names it, with its own in the place of the word for that."""
    for word in ORIGIN:
        folder = folder.replace(word, origin)
    return folder


def loader_has(name: str, root: HostRoot, folders: Iterable[Path]) -> bool:
    """Whether a library is in the root, or comes with the GPU's driver, and none of ggml in the folders goes before it."""
    if name.startswith(OF_GGML) and any(is_library(folder / name) for folder in folders):
        return False
    of_root = any(os.path.lexists(root.path / folder / name) for folder in ROOT_FOLDERS)
    return of_root or name in dict(gpu_driver().files)


def lookup(name: str, folders: Iterable[Path], cache: Mapping[str, Path]) -> Path | None:
    """The library of a name on the machine."""
    places = [folder / name for folder in (*named(os.environ, "LD_LIBRARY_PATH"), *folders)]
    places += [cache[name]] if name in cache else []
    installed = [*(path for variable in CUDA for path in named(os.environ, variable)), CUDA_FOLDER]
    places += [folder / place / name for folder in installed for place in CUDA_PLACES]
    return next((place for place in places if place.parent.name != STUBS and is_library(place)), None)


def kernel_binds(name: str, library: Path) -> Iterator[Bind]:
    """The folder of a library's own name beside it: ROCm's read their kernels from there (``rocblas/library``)."""
    matched = OWN_NAME.match(name)
    for beside in dict.fromkeys((library.parent, library.resolve().parent)):
        if matched and (beside / matched[1]).is_dir():
            yield Bind((beside / matched[1]).resolve(), inside=LIBRARIES / matched[1])
            return


def file_binds(file: Path) -> Iterator[Bind]:
    """The file's folder under its own name; where that cannot be, the file by all names that it has in there."""
    inside = Path(seen_at(file))
    if inside == file:
        yield Bind(file.parent)
        return
    target = file.resolve()
    for path in dict.fromkeys((file, *entries(file.parent))):
        if path.resolve() == target:
            yield Bind(target, inside=inside if path == file else inside.with_name(path.name))
