"""Whether a payload's ggml backend interface is that of the ggml it is built for and shipped to.

ggml's backend structs are in no public header and drift: ours are declared by hand, and ``abi-probe``, built with the very
options of the payload, finds out which slot each public accessor of a libggml reaches. It runs in the host root, against
the root's own libggml, against one that the machine's ggml library brings and, with the guest's C and C++ libraries, against the
one that lies in a guest's root image. A payload whose slots lie elsewhere there is refused before anything is shipped, with the
slot's name: ggml would call the wrong function, or leave the library out without a word.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.deadline import Deadline
from lab.errors import BuildError
from lab.host.native import NativePayloads
from lab.host.outside import Outside
from lab.host.progress import Progress
from lab.host.root import Bind, HostRoot
from lab.host.store import content_key, stored
from lab.process import Finished, check, finish

PROBE_S = 60.0
EXTRACT_S = 300.0
LAYOUT = 2  # raise it when what this module keeps of an image changes
GGML = "libggml*.so.*"
LOADER = "ld-linux*.so.*"
RUNTIME = (LOADER, "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6")
"""What a libggml of another Debian needs of it: the host root's may be older than it was linked with."""
MOVED = "moved: "
FACT = "fact: "


@dataclass(frozen=True, slots=True)
class Layout:
    """What a probe found: slots as (name, why it does not fit), and facts such as ``("ggml", "0.27.0")``."""

    moved: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]


def layout_of(output: str) -> Layout:
    """A probe's output, read."""
    found: dict[str, list[tuple[str, str]]] = {MOVED: [], FACT: []}
    for line in output.splitlines():
        for kind, entries in found.items():
            if line.startswith(kind):
                name, _, text = line.removeprefix(kind).partition(" ")
                entries.append((name, text))
    return Layout(tuple(found[MOVED]), tuple(found[FACT]))


def prove_payload(
    native: NativePayloads, root: HostRoot, rootfs: Path, progress: Progress, deadline: Deadline
) -> tuple[Layout, Layout]:
    """Prove the layout against the libggml of the host root and that of a guest image; returns both findings.

    Args:
        native: the payload and its probe.
        root: where the probe runs.
        rootfs: the guest's root image.
        progress: told of the work.
        deadline: for all of it.

    Raises:
        BuildError: a slot lies elsewhere; the message names it, and the libggml.
    """
    return (
        prove_layout(native.abi_probe, root, deadline),
        prove_layout(
            native.abi_probe, root, deadline, libraries=ggml_of(rootfs, root, progress, deadline), owner="the guest image"
        ),
    )


def prove_outside(native: NativePayloads, root: HostRoot, files: Outside, deadline: Deadline) -> Layout | None:
    """Prove the layout against a libggml of the machine, which a ggml library of the machine brings; None where it brings none.

    Raises:
        BuildError: as ``prove_payload``.
    """
    if files.base is None:
        return None
    return prove_layout(native.abi_probe, root, deadline, owner=f"the machine ({files.base})", binds=files.binds, payload="host")


def prove_layout(
    probe: Path,
    root: HostRoot,
    deadline: Deadline,
    *,
    libraries: Path | None = None,
    owner: str = "the host root",
    binds: tuple[Bind, ...] = (),
    payload: str = "guest",
) -> Layout:
    """Prove the layout against the libggml in ``libraries``, or one that ``binds`` bring (without either: the root's own).

    Raises:
        BuildError: as ``prove_payload``.
    """
    done = _probed(probe, root, deadline, libraries, binds)
    layout = layout_of(done.output)
    if done.exit_status == 0 and not layout.moved and layout.facts:
        return layout
    ggml = dict(layout.facts).get("ggml", "of an unknown version")
    slots = "; ".join(f"{name} {why}" for name, why in layout.moved) or "the probe did not finish"
    raise BuildError(
        f"the {payload} library does not fit the libggml {ggml} of {owner}: {slots}",
        argv=(os.fspath(probe),),
        output=done.output,
        hint="build it with that libggml's headers, and -DAPIR_GGML_API=2 or 3 (2 is older than libggml 0.27)",
    )


def _probed(probe: Path, root: HostRoot, deadline: Deadline, libraries: Path | None, more: tuple[Bind, ...]) -> Finished:
    argv: tuple[str | os.PathLike[str], ...] = (probe,)
    binds = [Bind(probe.parent), *more]
    if libraries is not None:
        argv = (next(libraries.glob(LOADER)), "--library-path", libraries, probe)
        binds.append(Bind(libraries))
    return finish(root.enter(argv, binds=binds, env={"HOME": "/tmp"}), deadline=deadline.narrowed(PROBE_S))


def ggml_of(rootfs: Path, root: HostRoot, progress: Progress, deadline: Deadline) -> Path:
    """The libggml of a guest's root image and what it is loaded with, taken out of it: a folder of the cache.

    Raises:
        BuildError: the image cannot be read, or lacks one of them.
    """
    status = rootfs.stat()
    key = content_key(LAYOUT, os.fspath(rootfs), status.st_size, status.st_mtime_ns)

    def take(folder: Path) -> None:
        with progress.step("taking libggml out of the guest image"):
            tree = folder / "tree"
            tree.mkdir()
            argv = ("fsck.erofs", f"--extract={tree}", "--no-preserve", "--overwrite", rootfs)
            binds = (Bind(rootfs.parent), Bind(folder, writable=True))
            check(
                root.enter(argv, binds=binds), what="taking libggml out of the guest image", deadline=deadline.narrowed(EXTRACT_S)
            )
            for pattern in (GGML, *RUNTIME):
                libraries = [path for path in tree.glob(f"usr/lib/*/{pattern}") if path.is_file()]
                if not libraries:
                    raise BuildError(
                        f"{rootfs} has no {pattern}: a guest needs it", hint="libggml0 or libggml1 is to be among its packages"
                    )
                for library in libraries:
                    shutil.copy(library, folder / library.name)
            shutil.rmtree(tree)

    return stored(paths.cache() / "guest-ggml", key, take, progress, deadline)
