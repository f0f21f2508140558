"""What counts as source, and that an edit of a toy project is built anew (which needs the host root)."""

from __future__ import annotations

import io
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.deadline import Deadline
from lab.errors import BuildError
from lab.host import native
from lab.host.native import native_payloads, source_files
from lab.host.progress import LineProgress, SilentProgress
from lab.host.root import HostRoot, host_root
from lab.host.store import _try_lock
from lab.process import Finished

CMAKE = """\
cmake_minimum_required(VERSION 3.25)
project(toy LANGUAGES CXX)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/payloads)
add_library(toy SHARED toy.cpp)
target_link_options(toy PRIVATE -Wl,--build-id=sha1)
add_custom_target(payloads DEPENDS toy)
add_custom_target(tests ALL COMMAND false)
"""


def test_sources_are_what_can_change_the_build(tmp_path: Path) -> None:
    for name in ("CMakeLists.txt", "a.cpp", "a.map", "gen.py", "notes.md"):
        (tmp_path / name).touch()
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "x.bin").touch()
    assert [path.name for path in source_files(tmp_path)] == ["CMakeLists.txt", "a.cpp", "a.map"]


def test_everything_that_decides_what_is_built_is_in_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []

    def taken(_folder: Path, key: str, *_: object) -> Path:
        keys.append(key)
        return tmp_path / "entry"

    monkeypatch.setattr(native, "stored", taken)
    (tmp_path / "entry").mkdir()
    one, other = (HostRoot(Path("/root"), key, (), ()) for key in ("one", "other"))
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "a.cpp").write_text("1")
    given: list[tuple[HostRoot, tuple[str, ...]]] = [(one, ()), (other, ()), (one, ("-DX=1",)), (one, ())]
    for root, options in given:
        native_payloads(root, SilentProgress(), Deadline.after(60), options=options, sources=sources)
    (sources / "a.cpp").rename(sources / "b.cpp")
    native_payloads(one, SilentProgress(), Deadline.after(60), sources=sources)
    (sources / "b.cpp").write_text("2")
    native_payloads(one, SilentProgress(), Deadline.after(60), sources=sources)
    assert keys[0] == keys[3]
    assert len(set(keys)) == 5
    work = [
        native.work_folder(*words) for words in ((one, (), sources), (other, (), sources), (one, ("-DX=1",), sources), (one, ()))
    ]
    assert len(set(work)) == 4


def test_sanitizers_are_asked_of_cmake() -> None:
    words = {kind: native.cmake_options(("-DX=1",), sanitizers=kind) for kind in native.Sanitizers}
    assert all(one[0] == "-DCMAKE_BUILD_TYPE=Release" and one[-1] == "-DX=1" for one in words.values())
    asked = {kind: [word for word in one[1:-1] if word.endswith("=ON")] for kind, one in words.items()}
    assert list(asked.values()) == [[], ["-DAPIR_SANITIZE=ON"], ["-DAPIR_SANITIZE_THREAD=ON"]]
    assert "-DCMAKE_CXX_COMPILER=clang++" in words[native.Sanitizers.MEMORY], "it brings libFuzzer"


def toy_root(entered: list[tuple[str, ...]]) -> Any:
    """A root that notes what is to run in it."""
    return SimpleNamespace(key="key", enter=lambda argv, **_: entered.append(argv) or argv)


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For every build, which compiles nothing: whether another process could have had its folder meanwhile."""
    free: list[bool] = []

    def compiling(_root: HostRoot, _sources: Path, work: Path, *_: object, **__: object) -> None:
        with open(work.with_suffix(".lock"), "a", encoding="ascii") as lock:
            free.append(_try_lock(lock.fileno()))
        (work / native.PAYLOADS).mkdir(parents=True, exist_ok=True)
        shutil.copy(sys.executable, work / native.PAYLOADS / "libtoy.so")

    monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(native, "_compiled", compiling)
    monkeypatch.setattr(native, "finish", lambda argv, **_: Finished(argv, 0, ""))
    return free


def test_work_folder_is_one_builders_at_a_time(tmp_path: Path, compiled: list[bool]) -> None:
    root, deadline = toy_root([]), Deadline.after(60)
    (tmp_path / "sources").mkdir()
    native_payloads(root, SilentProgress(), deadline, sources=tmp_path / "sources")
    native.native_tests(root, SilentProgress(), deadline)
    native.compiled_tests(root, SilentProgress(), deadline)
    assert compiled == [False] * 3


def edited_while_compiled(sources: Path, compiled: list[bool], monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Make sources that are edited while they are compiled, the first ``times``."""
    sources.mkdir()
    (sources / "a.cpp").write_text("0")
    compiling = native._compiled

    def edited_meanwhile(*words: Any, **more: Any) -> None:
        compiling(*words, **more)
        if len(compiled) <= times:
            (sources / "a.cpp").write_text(str(len(compiled)))

    monkeypatch.setattr(native, "_compiled", edited_meanwhile)


def test_sources_that_change_while_they_are_compiled_are_stored_as_what_they_are_then(
    tmp_path: Path, compiled: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, deadline, told, sources = toy_root([]), Deadline.after(60), io.StringIO(), tmp_path / "sources"
    edited_while_compiled(sources, compiled, monkeypatch, times=1)
    built = native_payloads(root, LineProgress(told), deadline, sources=sources)
    assert f"sources in {sources} changed while they were compiled: compiling them again" in told.getvalue()
    assert len(compiled) == 2
    assert native_payloads(root, SilentProgress(), deadline, sources=sources) == built
    (sources / "a.cpp").write_text("0")
    assert native_payloads(root, SilentProgress(), deadline, sources=sources).key != built.key
    assert len(compiled) == 3, "under the first key nothing was stored"


def test_sources_that_do_not_stay_as_they_are_are_told(
    tmp_path: Path, compiled: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    edited_while_compiled(tmp_path / "sources", compiled, monkeypatch, times=native.TRIES)
    with pytest.raises(BuildError, match=r"sources changed while they were compiled\n  hint: run it again when nobody"):
        native_payloads(toy_root([]), SilentProgress(), Deadline.after(60), sources=tmp_path / "sources")
    assert len(compiled) == native.TRIES


@pytest.mark.parametrize("sanitizers", native.Sanitizers, ids=str)
def test_no_test_at_all_is_no_success_and_fuzz_targets_have_a_run_of_their_own(
    compiled: list[bool], sanitizers: native.Sanitizers
) -> None:
    entered: list[tuple[str, ...]] = []
    native.native_tests(toy_root(entered), SilentProgress(), Deadline.after(60), sanitizers=sanitizers)
    native.fuzz_smoke(toy_root(entered), SilentProgress(), Deadline.after(60))
    tests, fuzz = entered
    assert "--no-tests=error" in tests
    assert "--no-tests=error" in fuzz
    assert (tests[-2:] == ("--label-exclude", native.FUZZ_LABEL)) is (sanitizers is not native.Sanitizers.NONE)
    assert fuzz[fuzz.index("--label-regex") + 1] == native.FUZZ_LABEL
    assert len(compiled) == 2


def test_source_that_came_later_than_its_date_is_told_from_one_that_was_edited(tmp_path: Path) -> None:
    work, source = tmp_path / "work", tmp_path / "sources" / "a.cpp"
    for folder in (work, source.parent):
        folder.mkdir()
    source.touch()
    assert not native._came_dated_back(source.parent, work), "nothing was built"
    log = work / ".ninja_log"
    log.touch()
    came = source.stat().st_ctime_ns
    for built, dated, told in ((came - 1, 0, True), (came - 1, came, False), (came + 10**12, 0, False)):
        os.utime(log, ns=(built, built))
        os.utime(source, ns=(dated, dated))
        assert native._came_dated_back(source.parent, work) is told


def test_folder_that_cmake_knows_by_another_name_is_not_gone_on_in(tmp_path: Path) -> None:
    assert native._goes_on_in(tmp_path), "nothing was built"
    for name, told in ((native._seen_work(tmp_path), True), (tmp_path / "moved", False)):
        (tmp_path / "CMakeCache.txt").write_text(f"A:B=1\nCMAKE_CACHEFILE_DIR:INTERNAL={name}\n")
        assert native._goes_on_in(tmp_path) is told


def test_build_that_leaves_no_library_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no library")
    with pytest.raises(BuildError, match="the build left no payload"):
        native._products(tmp_path)


@pytest.mark.scenario
def test_toy_is_built_and_an_edit_gives_another_build_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deadline = Deadline.after(1500)
    root = host_root(SilentProgress(), deadline)
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(tmp_path / "cache"))
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "CMakeLists.txt").write_text(CMAKE)
    (sources / "toy.cpp").write_text("extern int toy() { return 1; }\n")
    first = native_payloads(root, SilentProgress(), deadline, sources=sources)
    assert native_payloads(root, SilentProgress(), deadline, sources=sources) == first
    (sources / "toy.cpp").write_text("extern int toy() { return 2; }\n")
    second = native_payloads(root, SilentProgress(), deadline, sources=sources)
    assert [path.name for path, _ in second.build_ids] == ["libtoy.so"]
    assert second.build_ids[0][1] != first.build_ids[0][1]
    (sources / "toy.cpp").write_text("extern int toy() { return 3; }\n")
    os.utime(sources / "toy.cpp", (0, 0))  # as rsync and tar bring it
    assert native_payloads(root, SilentProgress(), deadline, sources=sources).build_ids[0][1] != second.build_ids[0][1]
    (sources / "toy.cpp").write_text("not C++\n")
    with pytest.raises(BuildError, match=r"toy\.cpp"):
        native_payloads(root, SilentProgress(), deadline, sources=sources)
    assert len([path for path in (tmp_path / "cache/native").iterdir() if path.is_dir()]) == 3


@pytest.mark.scenario
def test_cache_that_was_moved_is_built_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deadline = Deadline.after(1500)
    root = host_root(SilentProgress(), deadline)
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "CMakeLists.txt").write_text(CMAKE)
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(tmp_path / "cache"))
    (sources / "toy.cpp").write_text("extern int toy() { return 1; }\n")
    native_payloads(root, SilentProgress(), deadline, sources=sources)
    (tmp_path / "cache").rename(tmp_path / "moved")
    (tmp_path / "cache").symlink_to(tmp_path / "moved")
    for number, name in enumerate(("moved", "cache"), start=2):
        monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(tmp_path / name))
        (sources / "toy.cpp").write_text(f"extern int toy() {{ return {number}; }}\n")
        assert native_payloads(root, SilentProgress(), deadline, sources=sources).folder.is_dir()


@pytest.mark.scenario
@pytest.mark.parametrize("odd", ["cache", "sources"])
def test_folders_of_any_name_are_built_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str) -> None:
    deadline = Deadline.after(1500)
    root = host_root(SilentProgress(), deadline)
    places = {name: tmp_path / ('a "b";<c>|\\d $HOME\n' if name == odd else "plain") / name for name in ("cache", "sources")}
    places["sources"].mkdir(parents=True)
    (places["sources"] / "CMakeLists.txt").write_text(CMAKE)
    (places["sources"] / "toy.cpp").write_text("extern int toy() { return 1; }\n")
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(places["cache"]))
    assert native_payloads(root, SilentProgress(), deadline, sources=places["sources"]).build_ids
