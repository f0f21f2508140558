from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lab import proc_facts
from lab.deadline import Deadline
from lab.elf import (
    SHT_DYNSYM,
    MappedFile,
    NotElf,
    build_id,
    exported_symbols,
    facts_from_json,
    linking,
    mapped_paths,
    process_facts,
    sha256,
)
from lab.process import check

MAPS = """\
5581c8a00000-5581c8a02000 r--p 00000000 fe:01 1 /usr/bin/sleep
5581c8a02000-5581c8a06000 r-xp 00002000 fe:01 1 /usr/bin/sleep
7f00c0000000-7f00c0001000 r-xp 00000000 00:00 0 [vdso]
7f00c0010000-7f00c0020000 r-xp 00000000 fe:01 2 /usr/lib/a name with spaces.so
7f00c0020000-7f00c0030000 r-xp 00000000 fe:01 3 /usr/lib/replaced.so (deleted)
7f00c0030000-7f00c0040000 rw-p 00000000 00:00 0
"""


def library() -> Path:
    """A shared library that this very process has mapped."""
    return next(Path(file.path) for file in process_facts(os.getpid()).mapped if "libc.so" in file.path)


def test_only_executable_files_count_as_mapped_each_once() -> None:
    assert mapped_paths(MAPS) == ("/usr/bin/sleep", "/usr/lib/a name with spaces.so", "/usr/lib/replaced.so (deleted)")


def test_build_id_and_symbols_are_what_binutils_says(tmp_path: Path) -> None:
    path = library()
    found = build_id(path)
    assert found is not None
    notes = check(("readelf", "-n", path), what="readelf", deadline=Deadline.after(20))
    assert f"Build ID: {found}" in notes
    symbols = exported_symbols(path)
    assert {"malloc", "printf"} <= symbols
    assert "ggml_backend_init" not in symbols
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    assert sha256(copy) == sha256(path)


@pytest.mark.parametrize("size", [0, 10, 63, 64, 100, 500, 3000])
def test_cut_off_file_is_refused(tmp_path: Path, size: int) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(library().read_bytes()[:size])
    with pytest.raises(NotElf):
        build_id(cut)


def test_file_for_another_processor_is_refused_as_that(tmp_path: Path) -> None:
    of_arm = bytearray(library().read_bytes())
    struct.pack_into("<H", of_arm, 18, 183)  # EM_AARCH64
    (tmp_path / "arm").write_bytes(of_arm)
    with pytest.raises(NotElf, match="another kind of processor than x86-64"):
        build_id(tmp_path / "arm")


@pytest.mark.parametrize(("read", "at"), [(build_id, 32), (exported_symbols, 40), (linking, 40)])
@pytest.mark.parametrize("place", [1 << 40, 1 << 63, (1 << 64) - 1])
def test_headers_that_lie_outside_of_the_file_are_refused(
    tmp_path: Path, read: Callable[[Path], object], at: int, place: int
) -> None:
    odd = bytearray(library().read_bytes())
    struct.pack_into("<Q", odd, at, place)
    (tmp_path / "odd").write_bytes(odd)
    with pytest.raises(NotElf):
        read(tmp_path / "odd")


@pytest.mark.parametrize("column", [24, 32], ids=["offset", "size"])
def test_symbols_that_lie_outside_of_the_file_are_refused(tmp_path: Path, column: int) -> None:
    odd = bytearray(library().read_bytes())
    (start,) = struct.unpack_from("<Q", odd, 40)
    (count,) = struct.unpack_from("<H", odd, 60)
    for at in range(start, start + 64 * count, 64):
        if struct.unpack_from("<I", odd, at + 4) == (SHT_DYNSYM,):
            odd[at + column : at + column + 8] = b"\xff" * 8
    (tmp_path / "odd").write_bytes(odd)
    with pytest.raises(NotElf):
        exported_symbols(tmp_path / "odd")


def test_text_is_no_elf(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("#!/bin/sh\n" * 50)
    with pytest.raises(NotElf):
        exported_symbols(tmp_path / "text")


def test_own_process_is_described_and_the_program_says_the_same() -> None:
    facts = process_facts(os.getpid())
    assert facts.variable("PATH") == os.environ["PATH"]
    assert facts.variable("NO_SUCH_VARIABLE") is None
    program = (sys.executable, "-I", "-S", proc_facts.__file__, str(os.getpid()))
    output = check(program, what="proc_facts.py", deadline=Deadline.after(20))
    told = facts_from_json(output.splitlines()[-1])
    assert (told.pid, told.argv) == (facts.pid, facts.argv)
    assert {file.path: file.build_id for file in facts.mapped}.items() <= {file.path: file.build_id for file in told.mapped}.items()
    assert json.loads(output.splitlines()[-1])["pid"] == os.getpid()


def test_facts_are_json_whatever_is_in_them() -> None:
    strange = 'a "quoted" back\\slash\x00\n\u00e4\udcff\U0001f40d'
    facts: proc_facts.Json = {"pid": 7, strange: [strange, None, {"mapped": []}]}
    assert json.loads(proc_facts.json_text(facts)) == facts


@pytest.mark.parametrize(
    "change",
    [
        {"pid": "7"}, {"program": 7}, {"program": "\ud800"}, {"argv": None}, {"argv": [[]]}, {"environment": [["A"]]},
        {"environment": [[[[]], 1]]}, {"mapped": [{"path": "/a"}]}, {"mapped": [{"path": "/a", "build_id": 7}]}, {"mapped": [7]},
    ],
    ids=str,
)  # fmt: skip
def test_what_a_guest_says_instead_of_facts_is_refused(change: dict[str, object]) -> None:
    sound = {"pid": 7, "program": "/a", "argv": ["a"], "environment": [["A", "b"]], "mapped": [{"path": "/a", "build_id": None}]}
    assert facts_from_json(json.dumps(sound)).mapped == (MappedFile("/a", None),)
    with pytest.raises(ValueError, match=r"facts of a process|process id|surrogates|to unpack"):
        facts_from_json(json.dumps(sound | change))


@pytest.mark.parametrize("line", ['{"pid":' + "[" * 100_000, "[]", "{}", "{"], ids=["deep", "list", "empty", "cut off"])
def test_a_line_that_is_no_object_of_facts_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"facts of a process|Expecting"):
        facts_from_json(line)


@pytest.mark.parametrize("absent", [(), ("_json",)], ids=["with C", "without"])
def test_program_in_the_guest_loads_no_module_that_takes_long(absent: tuple[str, ...]) -> None:
    script = f"""
import sys
for name in {absent}: sys.modules[name] = None
source = open({proc_facts.__file__!r}).read()
exec(compile(source, "proc_facts.py", "exec"), {{"__name__": "facts"}})
print(*sys.modules)
"""
    loaded = set(check((sys.executable, "-I", "-S", "-c", script), what="imports", deadline=Deadline.after(20)).split())
    slow = {"dataclasses", "hashlib", "inspect", "pathlib", "typing"} | (set() if absent else {"collections", "json", "re"})
    assert "struct" in loaded
    assert not slow & loaded


def test_process_that_is_gone_is_an_error() -> None:
    with pytest.raises(OSError, match="No such file"):
        process_facts(4_000_000)
