"""Native payloads: building ``backend_impl/`` inside the root it will run in, cached by content.

The key is made of every source byte, the root (so of every library version in it) and the options. Compiling happens in a
folder that is kept, so that an edit costs one translation unit; the finished payloads are copied to an entry that
never changes again. Sources that change while they are compiled are compiled once more, as what they are then: an entry's key is
that of what is in it. Tests and fuzz targets, most of what can be compiled, are compiled when they are to run, or beforehand.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from lab import paths
from lab.deadline import Deadline
from lab.elf import NotElf, build_id
from lab.errors import BuildError
from lab.host.allowance import processor_count
from lab.host.progress import Progress
from lab.host.root import Bind, HostRoot
from lab.host.store import content_key, files_key, remove_tree, stored, turn
from lab.process import Finished, check, finish

BUILD_S = 900.0
TEST_S = 600.0
TRIES = 3  # at compiling sources that change meanwhile
LAYOUT = 3  # raise it when what this module makes of the sources changes
NO_SOURCE = frozenset(("__pycache__",))
NO_SOURCE_SUFFIXES = frozenset((".py", ".md"))
GUEST_LIBRARY = "libggml-virtgpu.so"
HOST_LIBRARY = "libggml-virtgpu-backend.so"
COMPONENT = "libapir-preload.so"
WORKER = "apir-worker"
TRACES = paths.PROJECT / "tests" / "data" / "traces"
"""Recorded conversations, which the mutation driver's test changes: nothing is built of them."""
PLAIN = re.compile(r"[\w./+-]*")
"""Paths that CMake, Ninja, compilers and the shells between them take as they are, wherever our lists of CMake put them."""
INSIDE = Path("/run/project")
"""Where any other folder is seen: quotes, semicolons, angle brackets, bars and backslashes mean something to one of them."""
FUZZ_LABEL = "^fuzz$"
ENVIRONMENT = {"HOME": "/tmp", "TSAN_OPTIONS": "atexit_sleep_ms=100"}
"""What compilers and tests find there. For races at a process's end ThreadSanitizer would wait a second at each one's."""
PAYLOADS = "payloads"  # CMake's target, and where in the build folder it puts them
ABI_PROBE = "abi-probe"
LIAR = "libggml-liar.so"
CASE_LISTER = "libcase-lister.so"
HOST_REFERENCE = "libhost-reference.so"
REFERENCE_LIBRARY = "libggml-reference.so"


class Sanitizers(Enum):
    """What tests are built with: what CMake is told, and how whoever waits is told of it."""

    NONE = ((), "")
    MEMORY = (("-DAPIR_SANITIZE=ON", "-DCMAKE_CXX_COMPILER=clang++"), " under sanitizers")
    """Address and undefined behaviour, with clang, which brings libFuzzer: tests and fuzz targets are of one build."""
    THREADS = (("-DAPIR_SANITIZE_THREAD=ON",), " under ThreadSanitizer")

    def __init__(self, words: tuple[str, ...], told: str) -> None:
        self.words = words
        self.told = told


class SourcesChanged(BuildError):
    """What was compiled is of other sources than those that its key is made of."""

    def __init__(self, sources: Path) -> None:
        super().__init__(f"sources in {sources} changed while they were compiled", hint="run it again when nobody changes them")


@dataclass(frozen=True, slots=True)
class NativePayloads:
    """The products of one build, all in ``folder``. ``build_ids`` pairs each ELF file with its build id."""

    folder: Path
    key: str
    build_ids: tuple[tuple[Path, str], ...]

    @property
    def guest_library(self) -> Path:
        """Ggml's backend library for guests."""
        return self.folder / GUEST_LIBRARY

    @property
    def host_library(self) -> Path:
        """The host library that the component loads."""
        return self.folder / HOST_LIBRARY

    @property
    def component(self) -> Path:
        """The APIR component, to be preloaded into QEMU."""
        return self.folder / COMPONENT

    @property
    def worker(self) -> Path:
        """The component's worker program."""
        return self.folder / WORKER

    @property
    def abi_probe(self) -> Path:
        """The program that proves the layout of ggml's backend interface."""
        return self.folder / ABI_PROBE

    @property
    def liar(self) -> Path:
        """The ggml library that wraps another one and lies about its results, as ``backend_impl/liar/lies.hpp`` tells."""
        return self.folder / LIAR

    @property
    def case_lister(self) -> Path:
        """What makes test-backend-ops list its cases, preloaded into it."""
        return self.folder / CASE_LISTER

    @property
    def host_reference(self) -> Path:
        """What makes test-backend-ops compare with a device of the host's, preloaded into it."""
        return self.folder / HOST_REFERENCE

    @property
    def reference_library(self) -> Path:
        """The ggml library of that device's context on the host: it wraps another one and quantises."""
        return self.folder / REFERENCE_LIBRARY

    def build_id(self, path: Path) -> str:
        """The build id of one of the products."""
        return dict(self.build_ids)[path]


def native_payloads(
    root: HostRoot,
    progress: Progress,
    deadline: Deadline,
    *,
    options: tuple[str, ...] = (),
    sources: Path = paths.BACKEND_IMPL,
) -> NativePayloads:
    """The products of ``backend_impl/``, built in the root unless the cache has them.

    Args:
        root: where it is built and where it will run.
        progress: told what is built.
        deadline: for all of it.
        options: more words for CMake, such as ``-DAPIR_GGML_API=2``.
        sources: another source folder, for tests.

    Raises:
        BuildError: CMake or the compiler failed; its output is in it. Or the sources changed each time that they were.
    """
    words = cmake_options(options)
    for _ in range(TRIES - 1):
        try:
            return _payloads(root, words, sources, progress, deadline)
        except SourcesChanged as error:
            progress.note(f"{error.what}: compiling them again")
    return _payloads(root, words, sources, progress, deadline)


def _payloads(root: HostRoot, words: tuple[str, ...], sources: Path, progress: Progress, deadline: Deadline) -> NativePayloads:
    key = _payloads_key(root, words, sources)

    def build(folder: Path) -> None:
        with progress.step("building the native payloads"):
            work = work_folder(root, words, sources)
            with _turn(work, progress, deadline):
                _compiled(root, sources, work, words, deadline.narrowed(BUILD_S), target=PAYLOADS)
                for product in _products(work / PAYLOADS):
                    shutil.copy(product, folder / product.name)
        if _payloads_key(root, words, sources) != key:
            raise SourcesChanged(sources)

    entry = stored(paths.cache() / "native", key, build, progress, deadline)
    return NativePayloads(entry, key, tuple(_build_ids(entry)))


def _payloads_key(root: HostRoot, words: tuple[str, ...], sources: Path) -> str:
    return content_key(LAYOUT, files_key(sources, source_files(sources)), root.key, words)


def native_tests(
    root: HostRoot,
    progress: Progress,
    deadline: Deadline,
    *,
    sanitizers: Sanitizers = Sanitizers.NONE,
    options: tuple[str, ...] = (),
) -> Finished:
    """Build, then run CTest in the root; its status and output are returned, whatever they are.

    Args:
        root: where it is built and run.
        progress: told that it is.
        deadline: for all of it.
        sanitizers: with which; the fuzz targets are left to ``fuzz_smoke`` then.
        options: more words for CMake.

    Raises:
        BuildError: the build failed.
    """
    chosen = () if sanitizers is Sanitizers.NONE else ("--label-exclude", FUZZ_LABEL)
    with progress.step("running the native tests" + sanitizers.told):
        return _tested(root, cmake_options(options, sanitizers=sanitizers), chosen, progress, deadline)


def compiled_tests(root: HostRoot, progress: Progress, deadline: Deadline, *, sanitizers: Sanitizers = Sanitizers.NONE) -> None:
    """Build what ``native_tests`` would run and ``fuzz_smoke`` too, and run nothing.

    Raises:
        BuildError: the build failed.
    """
    words = cmake_options(sanitizers=sanitizers)
    work = work_folder(root, words)
    with progress.step("building the native tests" + sanitizers.told), _turn(work, progress, deadline):
        _compiled(root, paths.BACKEND_IMPL, work, words, deadline, target="all")


def fuzz_smoke(root: HostRoot, progress: Progress, deadline: Deadline) -> Finished:
    """The fuzz targets, a minute in all, side by side, with clang's libFuzzer and sanitizers. What they say is in the output.

    Raises:
        BuildError: the build failed.
    """
    smoke = ("--label-regex", FUZZ_LABEL, "--verbose")
    with progress.step("running the fuzz targets"):
        return _tested(root, cmake_options(sanitizers=Sanitizers.MEMORY), smoke, progress, deadline, target="fuzz-targets")


def cmake_options(options: tuple[str, ...] = (), *, sanitizers: Sanitizers = Sanitizers.NONE) -> tuple[str, ...]:
    """The words for CMake of a build."""
    return ("-DCMAKE_BUILD_TYPE=Release", *sanitizers.words, *options)


def source_files(sources: Path) -> tuple[Path, ...]:
    """Every file that can change what is built."""
    return tuple(
        path
        for path in sorted(sources.rglob("*"))
        if path.is_file() and path.suffix not in NO_SOURCE_SUFFIXES and not NO_SOURCE.intersection(path.parts)
    )


def work_folder(root: HostRoot, options: tuple[str, ...], sources: Path = paths.BACKEND_IMPL) -> Path:
    """Where the sources are compiled with CMake's ``options``, and where their tests run; kept between runs."""
    return paths.cache() / "native-work" / content_key(LAYOUT, root.key, os.fspath(sources.resolve()), options)


def _turn(work: Path, progress: Progress, deadline: Deadline) -> AbstractContextManager[None]:
    """A work folder is one process's at a time."""
    return turn(work.with_suffix(".lock"), progress, deadline)


def _inside(root: HostRoot, argv: tuple[str, ...], sources: Path, work: Path, *more: Bind) -> tuple[str, ...]:
    seen = _seen_work(work)
    binds = (Bind(sources.resolve(), inside=_seen_sources(sources)), Bind(work, writable=True, inside=seen), *more)
    return root.enter(argv, binds=binds, env=ENVIRONMENT, cwd=seen)


def _seen_sources(sources: Path) -> Path:
    """Where the sources are seen by what builds them."""
    whole = sources.resolve()
    return whole if PLAIN.fullmatch(os.fspath(whole)) else INSIDE / paths.BACKEND_IMPL.name


def _seen_work(work: Path) -> Path:
    """Where the folder that is built in is."""
    return work if PLAIN.fullmatch(os.fspath(work)) else INSIDE / "build"


def _seen_traces() -> Path:
    """Where the recorded conversations are: beside the sources."""
    return _seen_sources(paths.BACKEND_IMPL).parent / TRACES.relative_to(paths.PROJECT)


def _tested(
    root: HostRoot, words: tuple[str, ...], chosen: tuple[str, ...], progress: Progress, deadline: Deadline, *, target: str = "all"
) -> Finished:
    sources = paths.BACKEND_IMPL
    work = work_folder(root, words, sources)
    with _turn(work, progress, deadline):
        _compiled(root, sources, work, words, deadline.narrowed(BUILD_S), target=target)
        slots = str(2 * processor_count())  # of which most tests take two: slots.cmake
        folder = os.fspath(_seen_work(work))
        argv = ("ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error", "--parallel", slots, *chosen)
        inside = _inside(root, argv, sources, work, Bind(TRACES.resolve(), inside=_seen_traces()))
        return finish(inside, deadline=deadline.narrowed(TEST_S))


def _compiled(root: HostRoot, sources: Path, work: Path, options: tuple[str, ...], deadline: Deadline, *, target: str) -> None:
    if not _goes_on_in(work) or _came_dated_back(sources, work):
        remove_tree(work)
    work.mkdir(parents=True, exist_ok=True)
    folder = os.fspath(_seen_work(work))
    configure = ("cmake", "-S", os.fspath(_seen_sources(sources)), "-B", folder, "-G", "Ninja", *options)
    check(_inside(root, configure, sources, work), what="configuring the native payloads", deadline=deadline)
    build = ("cmake", "--build", folder, "--target", target, "--parallel", str(processor_count()))
    check(_inside(root, build, sources, work), what="building the native payloads", deadline=deadline)


def _goes_on_in(work: Path) -> bool:
    """Whether CMake goes on in a folder: by the name alone that it was there by before, or where it was not. Caches are moved."""
    known = work / "CMakeCache.txt"
    name = _seen_work(work)
    return not known.exists() or f"\nCMAKE_CACHEFILE_DIR:INTERNAL={name}\n" in known.read_text(encoding="utf-8", errors="replace")


def _came_dated_back(sources: Path, work: Path) -> bool:
    """Whether a source came after the last build and is dated before its end, as rsync and tar bring files: Ninja goes by dates."""
    log = work / ".ninja_log"
    if not log.exists():
        return False
    last = log.stat().st_mtime_ns
    states = (path.stat() for path in source_files(sources))
    return any(state.st_mtime_ns <= last < state.st_ctime_ns for state in states)


def _products(folder: Path) -> tuple[Path, ...]:
    """The ELF files of the folder.

    Raises:
        BuildError: there is none.
    """
    found = tuple(path for path in sorted(folder.iterdir()) if path.is_file() and _is_elf(path))
    if not found:
        raise BuildError(f"the build left no payload in {folder}")
    return found


def _is_elf(path: Path) -> bool:
    try:
        build_id(path)
    except NotElf:
        return False
    return True


def _build_ids(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.iterdir()):
        identity = build_id(path)
        if identity is not None:
            yield path, identity
