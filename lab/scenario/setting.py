"""``--set key=value``: settings that are laid over a file before it is checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lab.errors import ConfigProblem
from lab.scenario.lines import key_path
from lab.scenario.toml_text import DEEPEST, toml_tables

Tables = dict[str, Any]
WORD = re.compile(r"""\s*(?:\[(?P<at>[0-9]{1,9})\]|(?P<dot>\.)?\s*(?:"(?P<quoted>[^"]+)"|(?P<word>[\w-]+)))""")
POSITION = re.compile(r"[0-9]{1,9}")
ENVIRONMENT = "environment"
FORM = 'write --set key=value, as in --set guest.cpus=4, --set checks[1].min_cases=10 or --set matrix.cpus="[1, 2]"'


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: the words of its key path (numbers for positions in a list) and the text of its value."""

    words: tuple[str | int, ...]
    text: str

    @property
    def key(self) -> str:
        """The key path as files' problems have it, whichever way the user wrote it."""
        return key_path(self.words)

    @property
    def value(self) -> Any:
        """The value read as TOML, and as text when it is no TOML. A variable's is text, or ``false``."""
        try:
            value = toml_tables(f"value = {self.text}")["value"]
        except ValueError:
            return self.text
        is_variable = ENVIRONMENT in self.words[:-1]
        return self.text if is_variable and value is not False and not isinstance(value, str) else value


def settings_of(options: Sequence[str]) -> tuple[list[Setting], list[ConfigProblem]]:
    """The options that are settings, and what is wrong with the others."""
    settings, problems = [], []
    for option in options:
        key, equals, text = option.partition("=")
        words = _words(key)
        if equals and words:
            settings.append(Setting(words, text))
        else:
            problems.append(ConfigProblem(f"--set {option}", "is no setting", FORM))
    return settings, problems


def apply(tables: Tables, setting: Setting) -> ConfigProblem | None:
    """Put a setting in. Tables on its way are made; a position right behind a list's last item makes a new one."""
    at: Any = tables
    *folders, last = setting.words
    for depth, word in enumerate(folders):
        following = setting.words[depth + 1]
        at = _step(at, word, [] if isinstance(following, int) else {})
    if isinstance(at, dict):
        at[str(last)] = setting.value
    elif isinstance(at, list) and (position := _position(last)) is not None and position <= len(at):
        at[position : position + 1] = [setting.value]
    else:
        return ConfigProblem(f"--set {setting.key}", "there is nothing of this name to set", _extent(at))
    return None


def _words(key: str) -> tuple[str | int, ...]:
    """``checks[1].ops``, ``checks.1.ops`` and ``matrix."guest.cpus"``; nothing for what is none of these."""
    words: list[str | int] = []
    at, key = 0, key.strip()
    while at < len(key):
        match = WORD.match(key, at)
        if match is None or (bool(words) and match["at"] is None) != bool(match["dot"]):
            return ()
        words.append(int(match["at"]) if match["at"] is not None else match["quoted"] or match["word"])
        at = match.end()
    plain = [
        int(word) if isinstance(word, str) and POSITION.fullmatch(word) and place else word for place, word in enumerate(words)
    ]
    return tuple(plain) if len(plain) <= DEEPEST else ()


def _position(word: str | int) -> int | None:
    return word if isinstance(word, int) else None


def _step(at: Any, word: str | int, new: Any) -> Any:
    """One table or list further down, made if it is not there; None where there can be none."""
    if isinstance(at, dict):
        return at.setdefault(str(word), new)
    if isinstance(at, list) and isinstance(word, int):
        if word == len(at):
            at.append(new)
        return at[word] if word < len(at) else None
    return None


def _extent(at: Any) -> str | None:
    return f"there are {len(at)} of them, counted from 0; [{len(at)}] makes a new one" if isinstance(at, list) else None
