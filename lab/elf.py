"""What an ELF file says of itself, and what a running process has really mapped: see ``lab.proc_facts``, which looks.

The layout is that of the System V ABI (64-bit, little-endian): section headers for the dynamic symbol table and what to load.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.proc_facts import NotElf, build_id, bytes_at, elf_header, facts_of, mapped_paths

__all__ = [
    "Linking",
    "MappedFile",
    "NotElf",
    "ProcessFacts",
    "build_id",
    "exported_symbols",
    "facts_from_json",
    "linking",
    "mapped_paths",
    "process_facts",
    "sha256",
]

SHT_DYNAMIC = 6
SHT_DYNSYM = 11
DT_NULL = 0
DT_NEEDED = 1
DT_RPATH = 15
DT_RUNPATH = 29
SHN_UNDEF = 0
SYMBOL = struct.Struct("<IBBHQQ")
SECTION_HEADER = struct.Struct("<IIQQQQI")
"""The beginning of one, which has all that is needed."""


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


def exported_symbols(path: Path) -> frozenset[str]:
    """Names of the dynamic symbols that an ELF file defines. Raises ``NotElf``."""
    with open(path, "rb") as file:
        sections = list(_sections(file, elf_header(file)))
        names: set[str] = set()
        for kind, offset, size, link in sections:
            if kind == SHT_DYNSYM and link < len(sections):
                symbols, strings = bytes_at(file, offset, size // SYMBOL.size * SYMBOL.size), bytes_at(file, *sections[link][1:3])
                names.update(_defined_names(symbols, strings))
    return frozenset(names)


def linking(path: Path) -> Linking:
    """What the dynamic section of an ELF file asks for; nothing when it has none. Raises ``NotElf``."""
    needed: list[str] = []
    search: list[str] = []
    with open(path, "rb") as file:
        sections = list(_sections(file, elf_header(file)))
        for kind, offset, size, link in sections:
            if kind == SHT_DYNAMIC and link < len(sections):
                entries, strings = bytes_at(file, offset, size // 16 * 16), bytes_at(file, *sections[link][1:3])
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
    return _facts_from(facts_of(pid, os.fspath(proc)))


def sha256(path: Path) -> str:
    """SHA-256 of a file in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sections(file: io.BufferedReader, header: bytes) -> Iterator[tuple[int, int, int, int]]:
    """(type, offset, size, link) of each section header."""
    (start,) = struct.unpack_from("<Q", header, 40)
    size, count = struct.unpack_from("<HH", header, 58)
    for index in range(count):
        entry = bytes_at(file, start + index * size, SECTION_HEADER.size)
        _name, kind, _flags, _addr, offset, length, link = SECTION_HEADER.unpack(entry)
        yield kind, offset, length, link


def _defined_names(symbols: bytes, strings: bytes) -> Iterator[str]:
    """Names of the symbols that have a section, that is, are defined here."""
    for name_at, _info, _other, section, _value, _size in SYMBOL.iter_unpack(symbols):
        if section != SHN_UNDEF and name_at:
            yield _string(strings, name_at)


def _string(strings: bytes, at: int) -> str:
    """The text at a place of a string table."""
    if at >= len(strings):
        raise NotElf("a name lies outside of its string table")
    end = strings.find(b"\0", at)
    return strings[at : end if end >= 0 else None].decode(errors="replace")


def facts_from_json(line: str) -> ProcessFacts:
    """What ``lab.proc_facts`` printed, read back. Raises ``ValueError`` for whatever else a guest may say."""
    try:
        facts = _facts_from(json.loads(line))
        texts = (facts.program, *facts.argv, *(text for pair in facts.environment for text in pair))
        files = (text for file in facts.mapped for text in (file.path, file.build_id or ""))
        "".join((*texts, *files)).encode()  # all are texts, and none has half a surrogate pair, which no file of ours could hold
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"these are no facts of a process: {line[:100]}") from error
    if type(facts.pid) is not int:
        raise ValueError(f"this is no process id: {facts.pid!r:.100}")
    return facts


def _facts_from(fields: dict[str, Any]) -> ProcessFacts:
    return ProcessFacts(
        pid=fields["pid"],
        program=fields["program"],
        argv=tuple(fields["argv"]),
        environment=tuple((name, value) for name, value in fields["environment"]),
        mapped=tuple(MappedFile(**file) for file in fields["mapped"]),
    )
