"""Reads and writes APIR items: little-endian, each padded to 4 bytes. The twin of ``backend_impl/wire``."""

from __future__ import annotations

import struct

from lab.errors import WireError

MAX_STRING = 4095


def until_nul(raw: bytes) -> bytes:
    """``raw`` up to its first NUL; what is behind it is stale."""
    return raw.split(b"\0", 1)[0]


def padded(size: int) -> int:
    """``size`` rounded up to a multiple of 4."""
    return (size + 3) & ~3


class Reader:
    """Takes items from bytes. Every method raises ``WireError`` with the offset when the bytes do not hold what is asked."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.offset = 0

    @property
    def remaining(self) -> int:
        """Bytes not read yet."""
        return len(self._data) - self.offset

    def raw(self, size: int) -> bytes:
        """The next ``size`` bytes; padding behind them is skipped."""
        if padded(size) > self.remaining:
            raise WireError(f"{size} bytes are wanted and {self.remaining} left", self.offset)
        start = self.offset
        self.offset += padded(size)
        return self._data[start : start + size]

    def _scalar(self, form: str) -> int:
        value: int = struct.unpack(form, self.raw(struct.calcsize(form)))[0]
        return value

    def u32(self) -> int:
        """An unsigned 32-bit number."""
        return self._scalar("<I")

    def i32(self) -> int:
        """A signed 32-bit number."""
        return self._scalar("<i")

    def u64(self) -> int:
        """An unsigned 64-bit number."""
        return self._scalar("<Q")

    def i64(self) -> int:
        """A signed 64-bit number."""
        return self._scalar("<q")

    def u8(self) -> int:
        """A byte; the three behind it are stale."""
        return self._scalar("<B")

    def boolean(self) -> bool:
        """A byte as truth; the three behind it are stale."""
        return self.u8() != 0

    def string(self) -> str:
        """A NUL-terminated string behind its size."""
        start = self.offset
        size = self.u64()
        if not 1 <= size <= MAX_STRING + 1:
            raise WireError(f"a string of {size} bytes", start)
        raw = self.raw(size)
        if raw[-1] != 0:
            raise WireError("a string without NUL", start)
        return until_nul(raw).decode(errors="surrogateescape")

    def count(self, item_size: int) -> int:
        """Count of a list; one that cannot fit into what is left is refused before anything is made for it."""
        start = self.offset
        count = self.u32()
        if count > self.remaining // item_size:
            raise WireError(f"a list of {count} items of {item_size} bytes in {self.remaining} bytes", start)
        return count


class Writer:
    """Appends items to a growing buffer; ``data`` is what was written."""

    def __init__(self) -> None:
        self._data = bytearray()

    @property
    def data(self) -> bytes:
        """All that was written."""
        return bytes(self._data)

    def raw(self, data: bytes) -> None:
        """Bytes, padded with zeros."""
        self._data += data + bytes(padded(len(data)) - len(data))

    def u32(self, value: int) -> None:
        """An unsigned 32-bit number."""
        self.raw(struct.pack("<I", value))

    def i32(self, value: int) -> None:
        """A signed 32-bit number."""
        self.raw(struct.pack("<i", value))

    def u64(self, value: int) -> None:
        """An unsigned 64-bit number."""
        self.raw(struct.pack("<Q", value))

    def i64(self, value: int) -> None:
        """A signed 64-bit number."""
        self.raw(struct.pack("<q", value))

    def u8(self, value: int) -> None:
        """A byte and three zeros."""
        self.raw(struct.pack("<B", value))

    def boolean(self, value: bool) -> None:
        """A truth as a byte and three zeros."""
        self.u8(int(value))

    def string(self, value: str) -> None:
        """A NUL-terminated string behind its size."""
        raw = value.encode(errors="surrogateescape") + b"\0"
        self.u64(len(raw))
        self.raw(raw)
