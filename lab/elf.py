"""What an ELF file says of itself, and what a running process has really mapped.

Standard library only and self-contained on purpose: the lab imports it, and the very same file is shipped into the guest
and run there (``python3 elf.py PID…``), so both sides of a run are looked at with the same eyes. The layout is that of the
System V ABI (64-bit, little-endian): program headers for notes, section headers for the dynamic symbol table.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

PT_NOTE = 4
NT_GNU_BUILD_ID = 3
SHT_DYNAMIC = 6
SHT_DYNSYM = 11
DT_NULL = 0
DT_NEEDED = 1
DT_RPATH = 15
DT_RUNPATH = 29
SHN_UNDEF = 0
NOTES_MAX_BYTES = 1 << 20


class NotElf(ValueError):
    """The file is no 64-bit little-endian ELF file."""


@dataclass(frozen=True, slots=True)
class MappedFile:
    """A file that a process has mapped executable: its path as the process sees it, and its build id."""

    path: str
    build_id: str | None


@dataclass(frozen=True, slots=True)
class Linking:
    """What an ELF file is loaded with: names of libraries, and folders to look for them in, both as they are written there."""

    needed: tuple[str, ...] = ()
    search: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """What ``/proc`` says of a process: program, arguments, environment, mapped program files."""

    pid: int
    program: str
    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    mapped: tuple[MappedFile, ...]

    def variable(self, name: str) -> str | None:
        """Value of an environment variable as the process was started with, None when it was not set."""
        return dict(self.environment).get(name)


def build_id(path: Path) -> str | None:
    """The GNU build id of an ELF file in hex, None when it carries none. Raises ``NotElf``."""
    with open(path, "rb") as file:
        header = _header(file)
        for kind, offset, size, align in _segments(file, header):
            if kind == PT_NOTE:
                file.seek(offset)
                found = _build_id_note(file.read(min(size, NOTES_MAX_BYTES)), 8 if align == 8 else 4)  # noqa: PLR2004 - gABI
                if found is not None:
                    return found
    return None


def exported_symbols(path: Path) -> frozenset[str]:
    """Names of the dynamic symbols that an ELF file defines. Raises ``NotElf``."""
    with open(path, "rb") as file:
        header = _header(file)
        sections = list(_sections(file, header))
        names: set[str] = set()
        for kind, offset, size, link in sections:
            if kind == SHT_DYNSYM and link < len(sections):
                file.seek(offset)
                symbols = file.read(size)
                file.seek(sections[link][1])
                strings = file.read(sections[link][2])
                names.update(_defined_names(symbols, strings))
    return frozenset(names)


def linking(path: Path) -> Linking:
    """What the dynamic section of an ELF file asks for; nothing when it has none. Raises ``NotElf``."""
    needed: list[str] = []
    search: list[str] = []
    with open(path, "rb") as file:
        sections = list(_sections(file, _header(file)))
        for kind, offset, size, link in sections:
            if kind == SHT_DYNAMIC and link < len(sections):
                entries, strings = _section(file, offset, size // 16 * 16), _section(file, *sections[link][1:3])
                for tag, at in struct.iter_unpack("<qQ", entries):
                    if tag == DT_NULL:
                        break
                    if tag == DT_NEEDED:
                        needed.append(_string(strings, at))
                    elif tag in {DT_RPATH, DT_RUNPATH}:
                        search += filter(None, _string(strings, at).split(":"))
    return Linking(tuple(needed), tuple(search))


def process_facts(pid: int, *, proc: Path = Path("/proc")) -> ProcessFacts:
    """Read ``/proc/PID``. Files are opened through the process's own root, so a process in another root is read right.

    Raises:
        OSError: the process is gone, or is not ours to look at.
    """
    folder = proc / str(pid)
    argv = tuple(part.decode(errors="replace") for part in (folder / "cmdline").read_bytes().split(b"\0") if part)
    environment = tuple(
        (name.decode(errors="replace"), value.decode(errors="replace"))
        for name, equals, value in (part.partition(b"=") for part in (folder / "environ").read_bytes().split(b"\0"))
        if equals
    )
    paths = mapped_paths((folder / "maps").read_text(errors="replace"))
    mapped = tuple(_mapped_file(folder / "root", path) for path in paths)
    return ProcessFacts(pid, str((folder / "exe").readlink()), argv, environment, mapped)


def mapped_paths(maps: str) -> tuple[str, ...]:
    """Paths of the files mapped executable, each once, in the order of ``/proc/PID/maps``."""
    paths: dict[str, None] = {}
    for line in maps.splitlines():
        parts = line.split(maxsplit=5)
        if len(parts) == 6 and "x" in parts[1] and parts[5].startswith("/"):  # noqa: PLR2004 - six columns, see proc(5)
            paths[parts[5]] = None
    return tuple(paths)


def sha256(path: Path) -> str:
    """SHA-256 of a file in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _mapped_file(root: Path, path: str) -> MappedFile:
    """Identify a mapped file. One that was replaced or removed since ("… (deleted)") has no id: for the caller to refuse."""
    try:
        return MappedFile(path, build_id(root / path.removeprefix("/")))
    except (OSError, NotElf):
        return MappedFile(path, None)


def _header(file: BinaryIO) -> bytes:
    header = file.read(64)
    if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":  # noqa: PLR2004 - size of Elf64_Ehdr
        raise NotElf("no 64-bit little-endian ELF file")
    return header


def _segments(file: BinaryIO, header: bytes) -> Iterator[tuple[int, int, int, int]]:
    """(type, offset, size, alignment) of each program header."""
    (start,) = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    for index in range(count):
        file.seek(start + index * size)
        entry = file.read(56)
        if len(entry) < 56:  # noqa: PLR2004 - size of Elf64_Phdr
            raise NotElf("cut off within its program headers")
        kind, _flags, offset, _vaddr, _paddr, length, _memory, align = struct.unpack("<IIQQQQQQ", entry)
        yield kind, offset, length, align


def _sections(file: BinaryIO, header: bytes) -> Iterator[tuple[int, int, int, int]]:
    """(type, offset, size, link) of each section header."""
    (start,) = struct.unpack_from("<Q", header, 40)
    size, count = struct.unpack_from("<HH", header, 58)
    for index in range(count):
        file.seek(start + index * size)
        entry = file.read(44)
        if len(entry) < 44:  # noqa: PLR2004 - what is needed of Elf64_Shdr
            raise NotElf("cut off within its section headers")
        _name, kind, _flags, _addr, offset, length, link = struct.unpack("<IIQQQQI", entry)
        yield kind, offset, length, link


def _build_id_note(notes: bytes, step: int) -> str | None:
    """The build id among the notes of one segment, whose items are padded to ``step`` bytes."""
    at = 0
    while at + 12 <= len(notes):
        name_size, data_size, kind = struct.unpack_from("<III", notes, at)
        name = notes[at + 12 : at + 12 + name_size]
        data_at = at + 12 + (name_size + step - 1) // step * step
        if kind == NT_GNU_BUILD_ID and name == b"GNU\0":
            return notes[data_at : data_at + data_size].hex()
        at = data_at + (data_size + step - 1) // step * step
    return None


def _defined_names(symbols: bytes, strings: bytes) -> Iterator[str]:
    """Names of the symbols that have a section, that is, are defined here."""
    for name_at, _info, _other, section, _value, _size in struct.iter_unpack("<IBBHQQ", symbols):
        if section != SHN_UNDEF and name_at:
            yield _string(strings, name_at)


def _string(strings: bytes, at: int) -> str:
    """The text at a place of a string table."""
    if at >= len(strings):
        raise NotElf("a name lies outside of its string table")
    end = strings.find(b"\0", at)
    return strings[at : end if end >= 0 else None].decode(errors="replace")


def _section(file: BinaryIO, offset: int, size: int) -> bytes:
    """The bytes of a section, all of which the file has."""
    end = file.seek(0, os.SEEK_END)
    if offset > end or size > end - offset:
        raise NotElf("a section lies outside of the file")
    file.seek(offset)
    return file.read(size)


def main(arguments: list[str]) -> int:
    """Print the facts of the processes named on the command line, one line of JSON each; skip those that are gone."""
    for argument in arguments:
        try:
            facts = process_facts(int(argument))
        except OSError as error:
            print(f"process {argument}: {error}", file=sys.stderr)  # noqa: T201 - this is a program here
            continue
        print(json.dumps(asdict(facts)))  # noqa: T201 - this is a program here
    return 0


def facts_from_json(line: str) -> ProcessFacts:
    """What ``main`` printed, read back."""
    fields = json.loads(line)
    return ProcessFacts(
        pid=fields["pid"],
        program=fields["program"],
        argv=tuple(fields["argv"]),
        environment=tuple((name, value) for name, value in fields["environment"]),
        mapped=tuple(MappedFile(**file) for file in fields["mapped"]),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
