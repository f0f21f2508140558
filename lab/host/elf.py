"""Build ids: reading them from ELF files, and telling which files a running process has mapped.

The proof of what was really loaded. Standard library only and no import of ours, so that this very file can also be run in a
guest, ``python3 elf.py PID``: one line per mapped ELF file, its build id (or ``-``) and path.
"""

from __future__ import annotations

import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MAGIC = b"\x7fELF"
CLASS_64 = 2
LITTLE = 1
HEADER_BYTES = 64
SEGMENT_BYTES = 56
NOTE_HEADER_BYTES = 12
PT_NOTE = 4
NT_GNU_BUILD_ID = 3
GNU = b"GNU\0"
SEGMENTS_MAX = 512
NOTES_MAX_BYTES = 1 << 20
MAPS_FIELDS = 6


class NotElf(ValueError):
    """The file is not a little-endian 64-bit ELF file, or is cut off."""


@dataclass(frozen=True)
class MappedFile:
    """A file that a process has mapped; ``build_id`` is None for one without, or no ELF file."""

    path: str
    build_id: str | None


def build_id(path: Path) -> str | None:
    """The GNU build id of an ELF file in hexadecimal; None when it has none.

    Raises:
        NotElf: it is no ELF file of our kind.
        OSError: it cannot be read.
    """
    with open(path, "rb") as file:
        for offset, size, align in _note_segments(file):
            found = _build_id_in(_read_at(file, offset, min(size, NOTES_MAX_BYTES)), align)
            if found is not None:
                return found
    return None


def _note_segments(file: BinaryIO) -> list[tuple[int, int, int]]:
    """Offset, size and alignment of each note segment."""
    header = _read_at(file, 0, HEADER_BYTES)
    if header[:4] != MAGIC or header[4] != CLASS_64 or header[5] != LITTLE:
        raise NotElf("no little-endian 64-bit ELF header")
    table = struct.unpack_from("<Q", header, 32)[0]
    entry_size, count = struct.unpack_from("<HH", header, 54)
    if count and (entry_size != SEGMENT_BYTES or count > SEGMENTS_MAX):
        raise NotElf(f"{count} program headers of {entry_size} bytes")
    segments = []
    for number in range(count):
        entry = _read_at(file, table + number * SEGMENT_BYTES, SEGMENT_BYTES)
        kind = struct.unpack_from("<I", entry, 0)[0]
        offset = struct.unpack_from("<Q", entry, 8)[0]
        size = struct.unpack_from("<Q", entry, 32)[0]
        align = struct.unpack_from("<Q", entry, 48)[0]
        if kind == PT_NOTE:
            segments.append((offset, size, align))
    return segments


def _build_id_in(notes: bytes, align: int) -> str | None:
    step = 8 if align == 8 else 4  # noqa: PLR2004 - segments of property notes are aligned to 8, all others to 4
    at = 0
    while at + NOTE_HEADER_BYTES <= len(notes):
        name_size, value_size, kind = struct.unpack_from("<III", notes, at)
        name_at = at + NOTE_HEADER_BYTES
        value_at = name_at + _rounded(name_size, step)
        if value_at + value_size > len(notes):
            raise NotElf("a note is longer than its segment")
        if kind == NT_GNU_BUILD_ID and notes[name_at : name_at + name_size] == GNU:
            return notes[value_at : value_at + value_size].hex()
        at = value_at + _rounded(value_size, step)
    return None


def _rounded(size: int, step: int) -> int:
    return (size + step - 1) // step * step


def _read_at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    data = file.read(size)
    if len(data) != size:
        raise NotElf(f"cut off: {size} bytes wanted at {offset}")
    return data


def mapped_paths(maps: str) -> tuple[str, ...]:
    """The paths in the text of /proc/PID/maps, each once, in order; memory without a file is left out."""
    paths: dict[str, None] = {}
    for line in maps.splitlines():
        fields = line.split(maxsplit=MAPS_FIELDS - 1)
        if len(fields) == MAPS_FIELDS and fields[5].startswith("/"):
            paths[fields[5]] = None
    return tuple(paths)


def mapped_files(pid: int) -> tuple[MappedFile, ...]:
    """Every file that a process has mapped, with its build id read through the process's own view of the file system.

    Raises:
        OSError: the process is gone or not ours to look at.
    """
    proc = Path("/proc") / str(pid)
    paths = mapped_paths((proc / "maps").read_text(encoding="utf-8", errors="replace"))
    return tuple(MappedFile(path, _quiet_build_id(proc / "root" / path.lstrip("/"))) for path in paths)


def _quiet_build_id(path: Path) -> str | None:
    try:
        return build_id(path)
    except (NotElf, OSError):
        return None


def main() -> None:
    """Print build id and path of every mapped ELF file of the process named on the command line."""
    for mapped in mapped_files(int(sys.argv[1])):
        sys.stdout.write(f"{mapped.build_id or '-'} {mapped.path}\n")


if __name__ == "__main__":
    main()
