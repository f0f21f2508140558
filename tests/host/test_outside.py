"""Files of the machine in a host root: where they are seen, and what they need besides."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

from lab.deadline import Deadline
from lab.elf import SHT_DYNAMIC, Linking, NotElf, linking, sha256
from lab.errors import BuildError
from lab.host import driver
from lab.host import outside as module
from lab.host.abi import prove_outside
from lab.host.driver import GpuDriver, linker_cache
from lab.host.native import native_payloads
from lab.host.outside import absolute, file_binds, outside, seen_at
from lab.host.progress import SilentProgress
from lab.host.root import LIBRARIES, TREES, Bind, HostRoot
from lab.process import finish
from tests.backends import BACKENDS
from tests.beforehand import OTHER_API

BUILD_S = 1500.0
RUN_S = 60.0
FOLDER = "usr/lib/x86_64-linux-gnu"
BACKEND = f"{BACKENDS}/libggml-cpu-x64.so".removeprefix("/")
OPENMP, RENAMED = b"libgomp.so.1", b"libgomq.so.1"
LOADS = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print(open('/proc/self/maps').read())"


@pytest.fixture(autouse=True)
def no_other_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but what a test brings."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.setattr(module, "linker_cache", dict)
    monkeypatch.setattr(module, "gpu_driver", GpuDriver)


def renamed(library: Path, folder: Path, name: str | None = None) -> Path:
    """A copy of a library of the root, in which the OpenMP library has a name that no root knows."""
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / (name or library.name)
    copy.write_bytes(library.read_bytes().replace(OPENMP, RENAMED))
    return copy


def backend(root: HostRoot, folder: Path) -> Path:
    """A backend of ggml that needs a library which the root lacks."""
    return renamed(root.path / BACKEND, folder)


def openmp(root: HostRoot, folder: Path) -> Path:
    """The library that it needs."""
    return renamed((root.path / FOLDER / OPENMP.decode()).resolve(), folder, RENAMED.decode())


def loaded(root: HostRoot, file: Path, binds: tuple[Bind, ...]) -> str:
    """What a program in the root says that loads it: what it has mapped, or why it could not."""
    return finish(root.enter(("/usr/bin/python3", "-c", LOADS, seen_at(file)), binds=binds), deadline=Deadline.after(RUN_S)).output


def test_what_a_file_is_linked_with_is_what_binutils_says(root: HostRoot) -> None:
    for path in (root.path / BACKEND, root.path / FOLDER / "libvirglrenderer.so.1", root.path / "usr/bin/qemu-system-x86_64"):
        told = subprocess.run(("readelf", "-d", path), capture_output=True, text=True, check=True).stdout
        found = linking(path)
        assert found.needed == tuple(re.findall(r"\(NEEDED\).*\[(.+)\]", told))
        assert ":".join(found.search) == ":".join(re.findall(r"\(RU?N?PATH\).*\[(.+)\]", told))
        assert found.needed


def test_own_path_is_kept_but_where_the_root_has_a_tree_itself() -> None:
    for same in ("/opt/llama.cpp/lib/libggml-cuda.so", "/home/a/x.so", "/var/lib/jenkins/x.so", "/usrlocal/x.so"):
        assert seen_at(Path(same)) == same
    for tree in ("/usr/local/lib", "/usr/lib64", "/lib", "/etc"):
        assert Path(seen_at(Path(tree) / "x.so")).parent.parent == LIBRARIES
    assert seen_at(Path("/usr/local/lib/x.so")) != seen_at(Path("/usr/lib/x.so"))


def test_a_file_in_usr_is_seen_by_all_its_names_and_by_those_alone(root: HostRoot) -> None:
    here = next(path for path in sorted(Path("/usr/lib/x86_64-linux-gnu").glob("libz.so.1")))
    binds = tuple(file_binds(here))
    assert {bind.path for bind in binds} == {here.resolve()}
    assert {bind.inside.name for bind in binds if bind.inside} >= {here.name, here.resolve().name}
    told = finish(root.enter(("sha256sum", seen_at(here)), binds=binds), deadline=Deadline.after(RUN_S)).output
    assert told.split()[0] == sha256(here)


@pytest.mark.parametrize("folder", ["/", "/tmp", "/run", "/opt"])
def test_a_folder_that_would_hide_others_is_not_bound(folder: str) -> None:
    assert Path(seen_at(Path(folder) / "x.so")).parent.parent == LIBRARIES


@pytest.mark.parametrize(("folder", "name"), [("my libraries", "x.so"), ("a:b", "x.so"), ("$LIB", "x.so"), ("plain", "a copy.so")])
def test_a_path_that_the_loader_would_cut_is_preloaded_by_another(root: HostRoot, tmp_path: Path, folder: str, name: str) -> None:
    made = tmp_path / folder / name
    made.parent.mkdir()
    shutil.copy(root.path / FOLDER / "libz.so.1", made)
    argv = root.enter(("cat", "/proc/self/maps"), binds=tuple(file_binds(made)), env={"LD_PRELOAD": seen_at(made)})
    assert f"{seen_at(made)}\n" in finish(argv, deadline=Deadline.after(RUN_S)).output


@pytest.mark.parametrize("linked", [False, True])
def test_kernels_that_a_library_reads_from_beside_it_come_along(root: HostRoot, tmp_path: Path, *, linked: bool) -> None:
    rocm = tmp_path / "opt" / "lib"
    library = openmp(root, rocm)
    named_so = rocm / RENAMED.decode()
    if linked:
        library.rename(rocm / f"{RENAMED.decode()}.0.0")
        named_so.symlink_to(f"{RENAMED.decode()}.0.0")
    kernels = rocm / "gomq" / "library"
    kernels.mkdir(parents=True)
    (kernels / "kernel.dat").write_text("seen")
    (rocm / "other").mkdir()
    file = backend(root, tmp_path / "ggml")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "linker_cache", lambda: {RENAMED.decode(): named_so})
        found = outside([file], root)
    argv = root.enter(("cat", f"{LIBRARIES}/gomq/library/kernel.dat"), binds=found.binds)
    assert finish(argv, deadline=Deadline.after(RUN_S)).output == "seen"
    assert LIBRARIES / "other" not in {bind.inside for bind in found.binds}
    assert str(LIBRARIES / RENAMED.decode()) in loaded(root, file, found.binds)


def test_a_link_to_another_folder_is_bound_as_what_it_leads_to(root: HostRoot, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x.so.1").write_text("seen")
    (tmp_path / "links").mkdir()
    made = tmp_path / "links" / "x.so"
    made.symlink_to("../real/x.so.1")
    told = finish(root.enter(("cat", seen_at(made)), binds=tuple(file_binds(made))), deadline=Deadline.after(RUN_S))
    assert told.output == "seen"


def test_an_outer_folder_hides_no_inner_one(root: HostRoot, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    binds = (Bind(tmp_path / "logs", writable=True), Bind(tmp_path))
    done = finish(root.enter(("touch", tmp_path / "logs" / "written"), binds=binds), deadline=Deadline.after(RUN_S))
    assert (done.exit_status, (tmp_path / "logs" / "written").exists()) == (0, True)


def test_a_path_is_made_absolute_without_following_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("a/../b.so") == tmp_path / "b.so"
    assert seen_at(absolute("/tmp/../usr/lib/x.so")) == seen_at(Path("/usr/lib/x.so"))


@pytest.mark.parametrize("at", [24, 32])
@pytest.mark.parametrize("value", [1 << 20, 1 << 62, 1 << 63, (1 << 64) - 1])
def test_sections_outside_of_a_file_are_refused(root: HostRoot, tmp_path: Path, at: int, value: int) -> None:
    content = bytearray((root.path / BACKEND).read_bytes())
    (start,) = struct.unpack_from("<Q", content, 40)
    (count,) = struct.unpack_from("<H", content, 60)
    headers = [start + 64 * index for index in range(count)]
    dynamic = next(place for place in headers if struct.unpack_from("<I", content, place + 4)[0] == SHT_DYNAMIC)
    struct.pack_into("<Q", content, dynamic + at, value)
    made = tmp_path / "broken.so"
    made.write_bytes(content)
    with pytest.raises(NotElf):
        linking(made)
    assert outside([made], root).missing == ()


def test_a_folder_below_var_can_be_bound(root: HostRoot) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        (Path(name) / "here").write_text("seen")
        told = finish(root.enter(("cat", f"{name}/here"), binds=(Bind(Path(name)),)), deadline=Deadline.after(RUN_S))
        assert told.output == "seen"


def test_what_the_root_has_is_not_looked_for(root: HostRoot) -> None:
    assert outside([root.path / BACKEND], root) == module.Outside((Bind((root.path / BACKEND).parent),))


def test_what_nobody_has_is_named(root: HostRoot, tmp_path: Path) -> None:
    made = backend(root, tmp_path)
    found = outside([made], root)
    assert found.missing == ((made, RENAMED.decode()),)
    assert "cannot open shared object file" in loaded(root, made, found.binds)


@pytest.mark.parametrize("place", ["beside", "LD_LIBRARY_PATH", "ldconfig", "CUDA_HOME", "CUDA's own"])
def test_what_the_machine_has_is_loaded_from_there(
    root: HostRoot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    made = backend(root, tmp_path / "backends")
    library = openmp(
        root, tmp_path / {"beside": "backends", "CUDA_HOME": "cuda/lib64", "CUDA's own": "cuda/lib64"}.get(place, "elsewhere")
    )
    match place:
        case "LD_LIBRARY_PATH":
            monkeypatch.setenv(place, f"{tmp_path}/none:{library.parent}")
        case "ldconfig":
            monkeypatch.setattr(module, "linker_cache", lambda: {library.name: library})
        case "CUDA_HOME":
            monkeypatch.setenv(place, str(tmp_path / "cuda"))
        case "CUDA's own":
            monkeypatch.setattr(module, "CUDA_FOLDER", tmp_path / "cuda")
    found = outside([made], root)
    assert found.missing == ()
    assert Bind(library, inside=LIBRARIES / library.name) in found.binds
    assert f"{LIBRARIES}/{library.name}" in loaded(root, made, found.binds)


def test_what_a_found_library_needs_is_looked_for_too(root: HostRoot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = backend(root, tmp_path / "a")
    between = tmp_path / "b" / RENAMED.decode()
    between.parent.mkdir()
    between.write_bytes((root.path / FOLDER / OPENMP.decode()).read_bytes().replace(b"libc.so.6", b"libq.so.6"))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(between.parent))
    assert outside([made], root).missing == ((between, "libq.so.6"),)
    shutil.copy(root.path / FOLDER / OPENMP.decode(), made.parent / "libq.so.6")
    assert outside([made], root).missing == (), "folders of who needs it are looked in, too"


def test_a_named_folder_goes_before_the_files_own(root: HostRoot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = backend(root, tmp_path / "backends")
    openmp(root, made.parent)
    named = openmp(root, tmp_path / "named")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(named.parent))
    assert Bind(named, inside=LIBRARIES / named.name) in outside([made], root).binds


def test_folder_that_is_no_whole_path_is_not_looked_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "linking", lambda _file: Linking(("libx.so",), ("lib", "", "$ORIGIN/x", "/opt/x")))
    assert module.wanted_by(tmp_path / "a.so") == (("libx.so",), (tmp_path / "x", Path("/opt/x"), tmp_path))


def test_ggml_that_goes_before_the_roots_is_told_by_its_base() -> None:
    binds = tuple(
        Bind(Path("/m") / name, inside=LIBRARIES / name) for name in ("libggml-a.so", "libggml-base.so.0", "libggml.so.0")
    )
    assert module.Outside(binds).base == Path("/m/libggml-base.so.0")
    assert module.Outside((Bind(Path("/m")), binds[0], binds[2])).base is None


def test_what_a_file_names_with_its_own_folder_in_it_is_found() -> None:
    for word in ("$ORIGIN/../lib", "${ORIGIN}/../lib"):
        assert module.replaced(word, "/opt/llama/bin") == "/opt/llama/bin/../lib"


def test_what_comes_with_the_gpus_driver_is_not_missing(root: HostRoot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = backend(root, tmp_path)
    monkeypatch.setattr(module, "gpu_driver", lambda: GpuDriver(((RENAMED.decode(), Path("/nowhere")),)))
    assert outside([made], root) == module.Outside((Bind(tmp_path),))


def test_stand_ins_that_programs_are_linked_with_are_not_taken(
    root: HostRoot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = backend(root, tmp_path / "stubs")
    openmp(root, tmp_path / "stubs")
    assert outside([made], root).missing
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path / "stubs"))
    assert outside([made], root).missing


def test_a_text_that_is_called_a_library_is_not_taken(root: HostRoot, tmp_path: Path) -> None:
    made = backend(root, tmp_path)
    (tmp_path / RENAMED.decode()).write_text("INPUT(libgomp.so.1)")
    assert outside([made], root).missing == ((made, RENAMED.decode()),)
    assert outside([tmp_path / RENAMED.decode(), tmp_path / "none"], root).missing == ()


def test_ggml_beside_a_backend_goes_before_the_roots(root: HostRoot, tmp_path: Path) -> None:
    made = tmp_path / "libggml-cpu.so"
    made.write_bytes((root.path / BACKEND).read_bytes())
    assert outside((), root, ggml=made).base is None
    base = tmp_path / "libggml-base.so.0"
    base.write_bytes((root.path / FOLDER / base.name).read_bytes())
    assert outside([made], root).base is None, "of other libraries, which are loaded with the same ggml, none counts"
    found = outside((), root, ggml=made)
    assert found.base == base
    maps = loaded(root, made, found.binds)
    assert f"{LIBRARIES}/{base.name}" in maps
    assert f"{FOLDER}/libggml-base" not in maps


def test_ggml_goes_before_the_roots_where_a_librarys_library_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs: dict[str, tuple[str, ...]] = {"libggml-x.so": ("libwrapped.so",), "libwrapped.so": ("libggml-base.so.0",)}
    root = HostRoot(tmp_path / "root", "key", (), ())
    (root.path / FOLDER).mkdir(parents=True)
    for file in (root.path / FOLDER / "libggml-base.so.0", *(tmp_path / name for name in (*needs, "libggml-base.so.0"))):
        file.write_bytes(b"\x7fELF\x02" + bytes(13) + b"\x3e\0")
    monkeypatch.setattr(module, "linking", lambda file: Linking(needs.get(file.name, ()), ()))
    assert outside([], root, ggml=tmp_path / "libggml-x.so").base == tmp_path / "libggml-base.so.0"
    assert outside([tmp_path / "libggml-x.so"], root).base is None


def test_a_backend_of_the_distribution_has_the_distributions_ggml(
    root: HostRoot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "backends0" / "libggml-cpu.so"
    made.parent.mkdir()
    made.write_bytes((root.path / BACKEND).read_bytes())
    base = tmp_path / "libggml-base.so.0"
    base.write_bytes((root.path / FOLDER / base.name).read_bytes())
    monkeypatch.setattr(module, "linker_cache", lambda: {base.name: base})
    assert outside((), root, ggml=made).base is None
    monkeypatch.setattr(module, "TREES", (*TREES, made.parts[1]))
    assert outside((), root, ggml=made).base == base


def test_ggml_of_somebodys_environment_does_not_go_before_the_roots(
    root: HostRoot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "libggml-base.so.0").write_bytes((root.path / FOLDER / "libggml-base.so.0").read_bytes())
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert outside((), root, ggml=root.path / BACKEND).base is None


@pytest.mark.native
@pytest.mark.compiled_beforehand("other-api")
def test_ggml_of_another_layout_beside_a_backend_is_refused(root: HostRoot, tmp_path: Path) -> None:
    made = tmp_path / "libggml-cpu.so"
    made.write_bytes((root.path / BACKEND).read_bytes())
    deadline = Deadline.after(BUILD_S)
    native = native_payloads(root, SilentProgress(), deadline)
    assert prove_outside(native, root, outside((), root, ggml=made), deadline) is None
    (tmp_path / "libggml-base.so.0").write_bytes((root.path / FOLDER / "libggml-base.so.0").read_bytes())
    files = outside((), root, ggml=made)
    layout = prove_outside(native, root, files, deadline)
    assert layout is not None
    assert dict(layout.facts)["api_version"] == "3"
    other = native_payloads(root, SilentProgress(), deadline, options=OTHER_API)
    with pytest.raises(BuildError, match=rf"the host library does not fit the libggml 0\.27\S* of the machine \({files.base}\): "):
        prove_outside(other, root, files, deadline)


def test_the_loaders_list_is_found_without_its_folder_in_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    linker_cache.cache_clear()
    assert "libc.so.6" in linker_cache()
    monkeypatch.setattr(driver, "FOR_ROOT", ())
    linker_cache.cache_clear()
    assert linker_cache() == {}
    linker_cache.cache_clear()
