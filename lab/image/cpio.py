"""Writing an initramfs: the ``newc`` cpio format, from values, without being root.

Format: kernel Documentation/driver-api/early-userspace/buffer-format.rst. Uncompressed on purpose: unpacking costs an
emulated guest more than reading does.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass

MAGIC = b"070701"
TRAILER = "TRAILER!!!"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, folder, link or device of the archive; ``mode`` has the type bits."""

    name: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def folder(name: str) -> Entry:
    """A folder."""
    return Entry(name, stat.S_IFDIR | 0o755)


def file(name: str, data: bytes, permissions: int = 0o644) -> Entry:
    """A regular file."""
    return Entry(name, stat.S_IFREG | permissions, data)


def link(name: str, target: str) -> Entry:
    """A symbolic link."""
    return Entry(name, stat.S_IFLNK | 0o777, target.encode())


def character_device(name: str, major: int, minor: int) -> Entry:
    """A character device, such as the console the first program needs."""
    return Entry(name, stat.S_IFCHR | 0o600, device=(major, minor))


def archive(entries: tuple[Entry, ...]) -> bytes:
    """The bytes of an archive; the same entries give the same bytes."""
    numbered = enumerate((*entries, Entry(TRAILER, 0)), start=1)
    return b"".join(_member(entry, number) for number, entry in numbered)


def _member(entry: Entry, number: int) -> bytes:
    name = entry.name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (number, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, *entry.device, len(name), 0)
    header = MAGIC + b"".join(b"%08x" % field for field in fields)
    return _padded(header + name) + _padded(entry.data)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
