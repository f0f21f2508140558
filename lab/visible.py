"""Text that others wrote: whether it is any, and how it is shown. A guest's words move no cursor, clear no screen, set no title."""

from __future__ import annotations

import re

COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal obeys, but for ends of lines and tabs."""
PICTURES = 0x2400
"""Where Unicode has pictures of the first 32 of them."""
DELETE, BEYOND = 0x7F, 0x80


def is_utf8(text: str) -> bool:
    """Whether a text can be written; a name or argument that the system gave may have bytes that are none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def visible(text: str) -> str:
    """The text with a picture in the place of every character that would command a terminal."""
    return COMMANDS.sub(lambda found: _picture(ord(found[0])), text)


def _picture(number: int) -> str:
    if number >= BEYOND:
        return "\N{REPLACEMENT CHARACTER}"
    return "\N{SYMBOL FOR DELETE}" if number == DELETE else chr(PICTURES + number)
