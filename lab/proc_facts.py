"""What a running process has really mapped, and which build each of those files is.

Self-contained on purpose: the lab imports it, and the very same file is shipped into the guest and run there
(``python3 -I -S proc_facts.py PID…``), so both sides of a run are looked at with the same eyes. An emulated guest pays a tenth of a
second and more for each of ``dataclasses``, ``typing``, ``pathlib``, ``json`` and ``hashlib``, so it does without: what the lab
makes of the answer is in ``lab.elf``. ELF's layout is that of the System V ABI (64-bit, little-endian).
"""

from __future__ import annotations

import io
import os
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    from _json import encode_basestring_ascii as quoted
except ImportError:
    from json.encoder import encode_basestring_ascii as quoted

PT_NOTE = 4
NT_GNU_BUILD_ID = 3
X86_64 = b"\x3e\x00"
NOTES_MAX_BYTES = 1 << 20
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")

Json = str | int | None | list["Json"] | dict[str, "Json"]


class NotElf(ValueError):
    """The file is no whole 64-bit little-endian ELF file for this kind of processor."""


def build_id(path: str | os.PathLike[str]) -> str | None:
    """The GNU build id of an ELF file in hex, None when it carries none. Raises ``NotElf``."""
    with open(path, "rb") as file:
        for kind, offset, size, align in _segments(file, elf_header(file)):
            if kind == PT_NOTE:
                notes = bytes_at(file, offset, min(size, NOTES_MAX_BYTES))
                found = _build_id_note(notes, 8 if align == 8 else 4)  # noqa: PLR2004 - gABI
                if found is not None:
                    return found
    return None


def elf_header(file: io.BufferedReader) -> bytes:
    """The first bytes of an ELF file that seems to be whole. Raises ``NotElf``."""
    header = file.read(64)
    if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":  # noqa: PLR2004 - size of Elf64_Ehdr
        raise NotElf("no 64-bit little-endian ELF file")
    if header[18:20] != X86_64:
        raise NotElf("made for another kind of processor than x86-64, which host root and guests are of")
    (sections,), (size, count) = struct.unpack_from("<Q", header, 40), struct.unpack_from("<HH", header, 58)
    if sections + size * count > file.seek(0, os.SEEK_END):
        raise NotElf("cut off: its table of sections, with which a file ends, lies outside of it")
    return header


def bytes_at(file: io.BufferedReader, offset: int, size: int) -> bytes:
    """A part of an ELF file, all of which it has. Raises ``NotElf`` where it says of itself what it is too short for."""
    end = file.seek(0, os.SEEK_END)
    if offset > end or size > end - offset:
        raise NotElf("cut off, or a part of it lies outside of the file")
    file.seek(offset)
    return file.read(size)


def mapped_paths(maps: str) -> tuple[str, ...]:
    """Paths of the files mapped executable, each once, in the order of ``/proc/PID/maps``."""
    paths: dict[str, None] = {}
    for line in maps.splitlines():
        parts = line.split(maxsplit=5)
        if len(parts) == 6 and "x" in parts[1] and parts[5].startswith("/"):  # noqa: PLR2004 - six columns, see proc(5)
            paths[parts[5]] = None
    return tuple(paths)


def facts_of(pid: int, proc: str = "/proc") -> dict[str, Json]:
    """Read ``/proc/PID``: the fields of ``lab.elf.ProcessFacts``, as JSON has them.

    Files are opened through the process's own root, so a process in another root is read right.

    Raises:
        OSError: the process is gone, or is not ours to look at.
    """
    folder = f"{proc}/{pid}"
    variables = (part.partition("=") for part in _parts(f"{folder}/environ"))
    return {
        "pid": pid,
        "program": os.readlink(f"{folder}/exe".encode()).decode(errors="replace"),  # noqa: PTH115 - pathlib takes long to load
        "argv": list(_parts(f"{folder}/cmdline")),
        "environment": [[name, value] for name, equals, value in variables if equals],
        "mapped": [
            {"path": path, "build_id": _known_build_id(f"{folder}/root{path}")} for path in mapped_paths(_text(f"{folder}/maps"))
        ],
    }


def json_text(value: Json) -> str:
    """The value as JSON, in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)}: {json_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(json_text, value)) + "]"
    return "null" if value is None else quoted(value) if isinstance(value, str) else str(value)


def _text(path: str) -> str:
    with open(path, "rb") as file:
        return file.read().decode(errors="replace")


def _parts(path: str) -> Iterator[str]:
    """What stands between zeros."""
    return filter(None, _text(path).split("\0"))


def _known_build_id(path: str) -> str | None:
    """A file that was replaced or removed since ("… (deleted)") has no id: for the caller to refuse."""
    try:
        return build_id(path)
    except (OSError, NotElf):
        return None


def _segments(file: io.BufferedReader, header: bytes) -> Iterator[tuple[int, int, int, int]]:
    """(type, offset, size, alignment) of each program header."""
    (start,) = struct.unpack_from("<Q", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    for index in range(count):
        entry = bytes_at(file, start + index * size, PROGRAM_HEADER.size)
        kind, _flags, offset, _vaddr, _paddr, length, _memory, align = PROGRAM_HEADER.unpack(entry)
        yield kind, offset, length, align


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


def main(arguments: list[str]) -> int:
    """Print the facts of the processes named on the command line, one line of JSON each; skip those that are gone."""
    for argument in arguments:
        try:
            facts = facts_of(int(argument))
        except OSError as error:
            print(f"process {argument}: {error}", file=sys.stderr)  # noqa: T201 - this is a program here
            continue
        print(json_text(facts))  # noqa: T201 - this is a program here
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
