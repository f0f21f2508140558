"""Which line of a TOML text a key path stands on.

The standard library's parser keeps no positions. This one keeps nothing else: it walks over a text that has been found to be
TOML, and notes where every key, table and item of an array begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN = re.compile(
    r"""
    (?P<skip>[ \t\r]+|\#[^\n]*)
  | (?P<newline>\n)
  | (?P<text>"{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
  | (?P<mark>[\[\]{}=,.])
  | (?P<bare>[^\s\[\]{}=,.\#"']+)
    """,
    re.VERBOSE | re.DOTALL,
)


def key_path(words: tuple[str | int, ...] | list[str | int]) -> str:
    """Words and positions as one writes them: ``checks[0].ops``."""
    path = ""
    for word in words:
        path += f"[{word}]" if isinstance(word, int) else f".{word}" if path else word
    return path


def parent(key: str) -> str:
    """The key path of the table or array around it; empty for none."""
    cut = max(key.rfind("."), key.rfind("["))
    return key[:cut] if cut > 0 else ""


class KeyLines:
    """The line of every key path of a TOML text."""

    def __init__(self, text: str) -> None:
        self._lines = _Walk(text).lines()

    def exact(self, key: str) -> int | None:
        """Line of the key itself."""
        return self._lines.get(key)

    def behind(self, key: str) -> int | None:
        """Line of what comes first behind a table with all that is in it; None for nothing."""
        begins = self._lines[key]
        others = (line for other, line in self._lines.items() if not other.startswith((f"{key}.", f"{key}[")))
        return min((line for line in others if line > begins), default=None)

    def line_of(self, key: str) -> int | None:
        """Line of the key, or of the nearest table or array around it."""
        while key:
            if key in self._lines:
                return self._lines[key]
            key = parent(key)
        return None


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


END = _Token("end", "", 0)


def _tokens(text: str) -> Iterator[_Token]:
    line = 1
    for match in TOKEN.finditer(text):
        if match.lastgroup != "skip":
            yield _Token(str(match.lastgroup), match[0], line)
        line += match[0].count("\n")


class _Walk:
    """One pass over the tokens. What is no TOML ends it early; lines noted until then stay."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._found: dict[str, int] = {}
        self._counts: dict[str, int] = {}

    def lines(self) -> dict[str, int]:
        """Key path → line, the first of each."""
        table = ""
        while (token := self._peek(over_lines=True)) is not END:
            if token.text == "[" and token.kind == "mark":
                table = self._header()
            elif not self._pair(table):
                break
        return self._found

    def _peek(self, *, over_lines: bool = False) -> _Token:
        while over_lines and self._at < len(self._tokens) and self._tokens[self._at].kind == "newline":
            self._at += 1
        return self._tokens[self._at] if self._at < len(self._tokens) else END

    def _take(self, mark: str, *, over_lines: bool = False) -> bool:
        """Whether the next token is this mark, which is passed then."""
        token = self._peek(over_lines=over_lines)
        found = token.kind == "mark" and token.text == mark
        self._at += found
        return found

    def _note(self, key: str, line: int) -> None:
        self._found.setdefault(key, line)

    def _words(self) -> tuple[list[str], int]:
        """A dotted key and its line."""
        words, line = [], self._peek().line
        while (token := self._peek()).kind in {"bare", "text"}:
            self._at += 1
            words.append(token.text[1:-1] if token.kind == "text" else token.text)
            if not self._take("."):
                break
        return words, line

    def _header(self) -> str:
        """The table that ``[name]`` or ``[[name]]`` opens; an array of tables on its way means its last item."""
        self._take("[")
        is_item = self._take("[")
        words, line = self._words()
        path = ""
        for number, word in enumerate(words, start=1):
            path = f"{path}.{word}" if path else word
            if number == len(words) and is_item:
                self._note(path, line)
                self._counts[path] = self._counts.get(path, -1) + 1
            path += f"[{self._counts[path]}]" if path in self._counts else ""
        self._note(path, line)
        self._take("]")
        self._take("]")
        return path

    def _pair(self, table: str) -> bool:
        """``key = value`` within a table; False where there is none."""
        words, line = self._words()
        path = table
        for word in words:
            path = f"{path}.{word}" if path else word
            self._note(path, line)
        if not words or not self._take("="):
            return False
        self._value(path)
        return True

    def _value(self, path: str) -> None:
        if self._take("["):
            self._items(path)
        elif self._take("{"):
            while not self._take("}", over_lines=True) and self._peek(over_lines=True) is not END:
                if not self._pair(path):
                    return
                self._take(",", over_lines=True)
        else:
            self._scalar()

    def _items(self, path: str) -> None:
        index = 0
        while not self._take("]", over_lines=True) and (token := self._peek(over_lines=True)) is not END:
            self._note(f"{path}[{index}]", token.line)
            before = self._at
            self._value(f"{path}[{index}]")
            self._take(",", over_lines=True)
            if self._at == before:
                return
            index += 1

    def _scalar(self) -> None:
        """A text, or a number, truth or date, whose dots and blanks split it into several tokens."""
        while (token := self._peek()).kind in {"bare", "text"} or (token.kind == "mark" and token.text == "."):
            self._at += 1
