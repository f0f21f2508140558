"""Numbers made of the bits of random words, all of them with a few operations on bytes.

One by one in Python, the numbers of a cycle would take an emulated guest a tenth of its time.
"""

from __future__ import annotations

import math

from lab.ggml.types import Type

WORD = 4
SIGN = 0x80
SHORT = {Type.F16: (15, 5), Type.F32: (127, 7), Type.BF16: (127, 7)}
"""The bias of the exponent, and how many of the uppermost byte's bits behind the sign belong to it."""


def symmetric(kind: Type, words: bytes, bound: float) -> bytes | None:
    """Numbers spread evenly between ``-bound`` and ``bound``, one of each word; None unless that is a power of two.

    The sign and the fraction are the word's own bits. The exponent is drawn by others of them: the largest for half of the
    numbers, the next for a quarter, and so on.
    """
    fraction, power = math.frexp(bound)
    if kind not in SHORT or fraction != 0.5:  # noqa: PLR2004 - what frexp makes of a power of two
        return None
    bias, bits = SHORT[kind]
    spare = 7 - bits
    exponents = [bias + power - 2 - (bits - (top >> spare & (1 << bits) - 1).bit_length()) for top in range(256)]
    if kind is Type.F16:
        table = bytes(top & SIGN | exponents[top] << spare | top & 3 for top in range(256))
        return _interleaved(words[2::WORD], words[3::WORD].translate(table))
    upper = words[3::WORD].translate(bytes(top & SIGN | exponents[top] >> 1 for top in range(256)))
    lowest_bit = words[3::WORD].translate(bytes((exponents[top] & 1) << 7 for top in range(256)))
    rest = words[2::WORD].translate(bytes(byte & 0x7F for byte in range(256)))
    second = int.from_bytes(lowest_bit, "little") | int.from_bytes(rest, "little")
    middle = second.to_bytes(len(upper), "little")
    return _interleaved(middle, upper) if kind is Type.BF16 else _interleaved(words[0::WORD], words[1::WORD], middle, upper)


def masked(words: bytes, hidden: bytes, others: bytes | None = None) -> bytes:
    """Elements that are ``hidden`` for a quarter of the words; for the others they are those of ``others``, or zero."""
    lowest = words[0::WORD]
    parts = _interleaved(*(lowest.translate(bytes(0 if byte & 3 else part for byte in range(256))) for part in hidden))
    if others is None:
        return parts
    seen = _interleaved(*(lowest.translate(bytes(0xFF if byte & 3 else 0 for byte in range(256))) for _ in hidden))
    chosen = int.from_bytes(parts, "little") | int.from_bytes(seen, "little") & int.from_bytes(others, "little")
    return chosen.to_bytes(len(parts), "little")


def _interleaved(*parts: bytes) -> bytes:
    """Elements whose first bytes are the first part, and so on."""
    whole = bytearray(len(parts) * len(parts[0]))
    for place, part in enumerate(parts):
        whole[place :: len(parts)] = part
    return bytes(whole)
