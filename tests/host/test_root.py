from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from lab import paths
from lab.errors import BuildError, ConfigError
from lab.host import root as root_module
from lab.host.driver import INSIDE, GpuDriver
from lab.host.recipe import named_recipe
from lab.host.root import LIBRARIES, SEARCH, Bind, HostRoot, cached_host_root
from lab.image import kernel, system
from tests.held import is_held

ROOT = HostRoot(Path("/roots/r"), "key", (("qemu-system-x86", "1:11"),), ())


def test_entering_binds_exactly_what_is_named() -> None:
    argv = ROOT.enter(
        ("prog", "arg"), binds=(Bind(Path("/a")), Bind(Path("/b"), writable=True), Bind(Path("/c"), inside=Path("/d")))
    )
    text = " ".join(argv)
    assert text.endswith("-- prog arg")
    assert "--ro-bind /roots/r/usr /usr" in text
    assert "--ro-bind /a /a --bind /b /b --ro-bind /c /d" in text
    assert "--unshare-pid" in argv
    assert "--die-with-parent" in argv


def test_path_that_cannot_be_seen_inside_is_told_before_anything_is_started(tmp_path: Path) -> None:
    (tmp_path / "usr/share").mkdir(parents=True)
    root = HostRoot(tmp_path, "key", (), ())
    there, elsewhere = Path("/usr/share"), Path("/usr/local/project")
    assert "--ro-bind /usr/share /usr/share" in " ".join(root.enter(("prog",), binds=(Bind(there),)))
    assert f"--ro-bind {elsewhere} /run/x" in " ".join(root.enter(("prog",), binds=(Bind(elsewhere, inside=Path("/run/x")),)))
    with pytest.raises(ConfigError, match="/usr/local/project: lies in /usr, which the host root has of its own"):
        root.enter(("prog",), binds=(Bind(elsewhere),))


def test_environment_is_explicit_and_reaches_the_program_only() -> None:
    argv = ROOT.enter(("prog",), env={"LD_PRELOAD": "/x.so", "A": "1"})
    text = " ".join(argv)
    assert f"--clearenv --setenv A 1 --setenv LC_ALL C.UTF-8 --setenv LD_PRELOAD /x.so --setenv PATH {SEARCH} -- prog" in text


def words_of(argv: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [argv[place : place + 3] for place in range(len(argv))]


def test_path_that_is_given_and_the_folder_to_start_in_are_taken() -> None:
    words = words_of(ROOT.enter(("prog",), env={"PATH": "/own"}, cwd=Path("/work")))
    assert ("--setenv", "PATH", "/own") in words
    assert ("--chdir", "/work", "--") in words


def test_outer_folders_are_bound_before_those_within() -> None:
    within, outer = Bind(Path("/x"), inside=Path("/a/b/c")), Bind(Path("/a"))
    text = " ".join(ROOT.enter(("prog",), binds=(within, outer)))
    assert "--ro-bind /a /a --ro-bind /x /a/b/c" in text


def test_libraries_of_the_machine_are_found_behind_those_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root_module, "gpu_driver", GpuDriver)
    lent = Bind(Path("/opt/libx.so"), inside=LIBRARIES / "libx.so")
    assert ("--setenv", "LD_LIBRARY_PATH", f"/own:{LIBRARIES}") in words_of(
        ROOT.enter(("prog",), binds=(lent,), env={"LD_LIBRARY_PATH": "/own"})
    )
    assert "LD_LIBRARY_PATH" not in ROOT.enter(("prog",), binds=(Bind(Path("/opt/libx.so")),))


def test_driver_of_the_machine_is_seen_under_its_names_and_found_behind_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = GpuDriver((("libcuda.so.1", Path("/h/libcuda.so.1.2")),))
    monkeypatch.setattr(root_module, "gpu_driver", lambda: driver)
    argv = ROOT.enter(("prog",), binds=(Bind(Path("/opt/libx.so"), inside=LIBRARIES / "libx.so"),))
    assert ("--ro-bind", "/h/libcuda.so.1.2", f"{INSIDE}/libcuda.so.1") in words_of(argv)
    assert ("--setenv", "LD_LIBRARY_PATH", f"{LIBRARIES}:{INSIDE}") in words_of(argv)


def test_root_of_the_cache_is_held_while_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(paths.CACHE_VARIABLE, str(tmp_path))
    assert cached_host_root() is None
    entry = tmp_path / root_module.KIND / root_module._key(named_recipe(root_module.RECIPE, "host-root"))
    entry.mkdir(parents=True)
    (entry / root_module.FACTS).write_text('{"packages": []}')
    assert not is_held(entry)
    found = cached_host_root()
    assert found is not None
    assert (found.path, is_held(entry)) == (entry / root_module.TREE, True)


@pytest.mark.parametrize("text", [None, "", '["packages"'])
@pytest.mark.parametrize("module", [root_module, system, kernel])
def test_entry_whose_facts_a_disk_has_lost_is_told_with_what_to_do(tmp_path: Path, module: ModuleType, text: str | None) -> None:
    facts: Path = tmp_path / module.FACTS
    if text is not None:
        facts.write_text(text)
    more = (named_recipe(root_module.RECIPE, "host-root"),) if module is root_module else ()
    with pytest.raises(BuildError) as lost:
        module._loaded(tmp_path, *more)
    assert str(lost.value).startswith(f"{facts} cannot be read: ")
    assert lost.value.hint == f"remove {tmp_path}: it is built again"


def test_root_is_another_one_with_every_package_and_recipe(tmp_path: Path) -> None:
    file = named_recipe(root_module.RECIPE, "host-root")
    more = replace(file, recipe=file.recipe.model_copy(update={"packages": (*file.recipe.packages, "hello")}))
    assert root_module._key(file) != root_module._key(more)
    keys = []
    for version in ("1", "2", "2"):
        (tmp_path / root_module.FACTS).write_text(json.dumps({"packages": [["libggml0", version]]}))
        keys.append(root_module._loaded(tmp_path, file).key)
    assert (keys[0] != keys[1], keys[1] == keys[2]) == (True, True)


def test_versions() -> None:
    assert ROOT.version("qemu-system-x86") == "1:11"
    assert ROOT.version("nothing") is None
