"""A scenario file as it is written: read, put onto the files that it extends, and changed by settings of the command line.

What comes of it are plain tables, not yet checked, and the knowledge where each part of them is written: which file, which line,
or which option.
"""

from __future__ import annotations

import difflib
import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab.errors import ConfigError, ConfigProblem
from lab.paths import SCENARIOS
from lab.scenario.lines import KeyLines, parent
from lab.scenario.matrix import axis_path
from lab.scenario.model_catalog import OWN
from lab.scenario.section import LIBRARY_WORDS
from lab.scenario.setting import Setting, Tables, apply, settings_of
from lab.scenario.toml_text import toml_tables, toml_value
from lab.visible import is_utf8

EXTENDS, DEFAULTS, ADD_CHECKS, CHECKS, VARIANTS = "extends", "defaults", "add_checks", "checks", "variants"
NOT_INHERITED = ("name", "description", EXTENDS, ADD_CHECKS)
LAYERED = ("host", "guest", "implementation")
"""Tables of settings, which may stand in ``[defaults]``."""
PATHS = frozenset(
    {
        "host.ggml_library", "host.virglrenderer", *(f"implementation.{side}" for side in ("guest", "host", "component")),
        "checks.catalog.reference", "checks.lie.judge.catalog.reference", "checks.bench.guest_library", "checks.bench.host_library",
    }
)  # fmt: skip
"""Settings that are paths, relative to the file in which they are written; those of a check have its kind in them."""
PATH_WORDS = frozenset({*LIBRARY_WORDS, OWN})
"""What may stand where otherwise a path does."""
NO_TEXT = "input should be a valid string"
"""How the problem of a value begins that should be text, and is none."""
LARGEST_BYTES = 1 << 24
"""Nobody writes as much; what has more is an image of a disk, or has no end."""
OPENING = re.compile(r"(?:\s|#[^\n]*\n)*name\s*=")


@dataclass(frozen=True, slots=True)
class Layer:
    """One file of a chain, as it was read: once, for a pipe has nothing for a second reader, and a file may be another by then."""

    path: Path
    tables: Tables
    lines: KeyLines
    sha256: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part of the merged tables is written: the number of the layer, and the key path there."""

    layer: int
    key: str


@dataclass(frozen=True, slots=True)
class Source:
    """The merged tables of a file and of those it extends (``layers``, the file itself last), with the settings put in."""

    path: Path
    tables: Tables
    layers: tuple[Layer, ...]
    settings: tuple[Setting, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where relative paths of the merged tables start."""
        return self.path.resolve().parent

    def placed(self, problem: ConfigProblem) -> ConfigProblem:
        """The problem with its file and line, or with the remark that it came from the command line."""
        key = problem.key
        if any(within(key, setting.key) or (within(setting.key, key) and key not in self.places) for setting in self.settings):
            # a shell takes the quotes away that TOML wants around what looks like a number
            texts = [setting.text for setting in self.settings if setting.key == key and problem.message.startswith(NO_TEXT)]
            hint = f"text: --set '{key}=\"{texts[-1]}\"'" if texts else problem.hint
            return replace(problem, key=f"--set {key}", hint=hint)
        place = self._place(key)
        layer = self.layers[place.layer]
        file = "" if layer.path == self.path else str(layer.path)
        return replace(problem, key=place.key, line=layer.lines.line_of(place.key), file=file)

    def in_order(self, problems: Sequence[ConfigProblem]) -> list[ConfigProblem]:
        """The problems with their places, file by file from top to bottom, each once."""
        placed = dict.fromkeys(self.placed(problem) for problem in problems)
        return sorted(placed, key=lambda problem: (problem.file, problem.line or 0))

    def _place(self, key: str) -> Place:
        """Of the key itself, or of the nearest table or list around it."""
        around = key
        while around and around not in self.places:
            around = parent(around)
        if not around:
            return Place(len(self.layers) - 1, key)
        place = self.places[around]
        return Place(place.layer, place.key + key.removeprefix(around))


def within(key: str, table: str) -> bool:
    """Whether a key path is another one, or lies within what that one names."""
    return key == table or key.startswith((f"{table}.", f"{table}["))


def whole_tables(source: Source) -> Tables:
    """The merged tables without the command line's settings, fit to be a file of their own anywhere: the name first."""
    plain, _ = _merged(source.path, source.layers)
    tables = {key: value for key, value in _rooted(plain, source.path).items() if key != EXTENDS}
    return {"name": tables.get("name"), **tables}


def rooted_settings(options: Sequence[str], source: Source) -> tuple[str, ...]:
    """The words of ``--set``, which are the source's settings, with relative paths made absolute, for a copy elsewhere."""
    return tuple(_rooted_option(*pair, source) for pair in zip(options, source.settings, strict=True))


def _rooted_option(option: str, setting: Setting, source: Source) -> str:
    at: Any = source.tables
    words: tuple[str, ...] = ()
    for word in setting.words:
        words = (*_of_kind(at, words), *((word,) if isinstance(word, str) else ()))
        at = _within(at, word)
    value = _rooted_value(setting.value, words, source.folder)
    if value == setting.value:
        return option
    text = value if isinstance(value, str) else toml_value(value)  # an absolute path is no TOML, and text without quotes
    return f"{option.partition('=')[0]}={text}"


def _within(at: Any, word: str | int) -> Any:
    if isinstance(at, list):
        return at[word] if isinstance(word, int) and word < len(at) else None
    return at.get(str(word)) if isinstance(at, Mapping) else None


def read_source(path: Path, options: Sequence[str] = ()) -> Source:
    """The file with all that it extends; ``options`` are the ``key=value`` words of ``--set``. Raises ``ConfigError``."""
    layers = _chain(path)
    tables, places = _merged(path, layers)
    settings, problems = settings_of(options)
    for setting in settings:
        if setting.words[0] == EXTENDS:
            problems.append(ConfigProblem(f"--set {setting.key}", "files are put together before settings", "name the other file"))
        elif (problem := apply(tables, setting)) is not None:
            problems.append(problem)
    if problems:
        raise ConfigError(path, problems)
    return Source(path, tables, layers, tuple(settings), places)


def _merged(path: Path, layers: Sequence[Layer]) -> tuple[Tables, dict[str, Place]]:
    """The tables of all layers, one on top of the other, and where each part of them is written."""
    tables: Tables = {}
    places: dict[str, Place] = {}
    for number, layer in enumerate(layers):
        here = layer.tables if layer.path.resolve().parent == path.resolve().parent else _rooted(layer.tables, layer.path)
        own = here if number == len(layers) - 1 else {key: here[key] for key in here if key not in NOT_INHERITED}
        _merge(tables, {key: own[key] for key in own if key != ADD_CHECKS}, "", number, places)
        if ADD_CHECKS in here:
            _add_checks(tables, here[ADD_CHECKS], number, places)
    return tables, places


def scenario_files_near(path: Path) -> str | None:
    """Scenario files that the user may have meant by a path that is none."""
    folders = [folder for folder in (path.parent, SCENARIOS) if folder.is_dir()]
    files = [str(file) for folder in folders for file in sorted(folder.glob("*.toml")) if _opens_a_scenario(file)]
    names = difflib.get_close_matches(path.stem, [Path(file).stem for file in files], n=1)
    close = [file for file in files if Path(file).stem in names]
    if close:
        return f"did you mean {close[0]}?"
    return f"there are {', '.join(dict.fromkeys(files))}" if files else None


def _opens_a_scenario(path: Path) -> bool:
    try:
        return OPENING.match(path.read_text(encoding="utf-8")) is not None
    except (OSError, UnicodeDecodeError):
        return False


def _chain(path: Path) -> tuple[Layer, ...]:
    """The file and those it extends, the one that extends nothing first. Raises ``ConfigError`` naming the whole chain."""
    layers = [_layer(path)]
    while (base := layers[0].tables.get(EXTENDS)) is not None:
        above = layers[0]
        line, file = above.lines.line_of(EXTENDS), "" if above.path == path else str(above.path)
        if not isinstance(base, str) or not base:
            text = "input should be the path of a scenario file, relative to this one"
            raise ConfigError(path, [ConfigProblem(EXTENDS, text, line=line, file=file)])
        try:
            found = own_folder(above.path) / Path(base).expanduser()
            circular = found.resolve() in {layer.path.resolve() for layer in layers}
        except (OSError, RuntimeError, ValueError) as error:
            problem = ConfigProblem(EXTENDS, f"{base!r} is no path: {error}", line=line, file=file)
            raise ConfigError(path, [problem]) from error
        if circular:
            names = " → ".join(str(one) for one in (*(layer.path for layer in reversed(layers)), found))
            problem = ConfigProblem(EXTENDS, f"the files extend each other in a circle: {names}", line=line, file=file)
            raise ConfigError(path, [problem])
        try:
            layers.insert(0, _layer(found))
        except ConfigError as error:
            raise ConfigError(path, [_of_base(one, found, above, file) for one in error.problems]) from error
    return tuple(layers)


def own_folder(path: Path) -> Path:
    """Where a scenario file lies, whatever link leads to it: there its relative paths start, and there its expectations are."""
    return path.resolve().parent if path.is_symlink() else path.parent


def _of_base(problem: ConfigProblem, base: Path, above: Layer, file: str) -> ConfigProblem:
    """A problem of reading a base: what is wrong in the base is placed there, a base that is not there where it is named."""
    if problem.line is not None:
        return replace(problem, file=str(base))
    return replace(problem, key=EXTENDS, message=f"{base}: {problem.message}", line=above.lines.line_of(EXTENDS), file=file)


def _layer(path: Path) -> Layer:
    if not is_utf8(str(path)):
        raise ConfigError(path, [ConfigProblem("", "the name is no text in UTF-8", "rename the file or its folder")])
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_BYTES + 1)
        text = io.StringIO(data.decode(), newline=None).read()
    except FileNotFoundError:
        raise ConfigError(path, [ConfigProblem("", "there is no such scenario file", scenario_files_near(path))]) from None
    except UnicodeDecodeError as error:
        raise ConfigError(path, [ConfigProblem("", "is no text in UTF-8", "a scenario is a TOML file")]) from error
    except OSError as error:
        raise ConfigError(path, [ConfigProblem("", f"cannot be read: {error.strerror}")]) from error
    if len(data) > LARGEST_BYTES:
        raise ConfigError(path, [ConfigProblem("", f"has more than {LARGEST_BYTES} bytes", "a scenario is a TOML file")])
    try:
        return Layer(path, toml_tables(text), KeyLines(text), hashlib.sha256(data).hexdigest())
    except ValueError as error:
        match = re.search(r"\(at line (\d+)", str(error))
        line = int(match[1]) if match else len(text.splitlines())
        raise ConfigError(path, [ConfigProblem("", f"is no TOML: {error}", line=line)]) from error


def _merge(tables: Tables, over: Mapping[str, Any], at: str, layer: int, places: dict[str, Place]) -> None:
    """Lay a layer's tables over those below it, key by key; lists are replaced as a whole."""
    for key, value in over.items():
        path = f"{at}.{key}" if at else key
        before = tables.get(key)
        if isinstance(before, dict) and isinstance(value, Mapping):
            _merge(before, value, path, layer, places)
            continue
        for inner in [place for place in places if within(place, path)]:
            del places[inner]
        tables[key] = _copied(value)
        places[path] = Place(layer, path)


def _add_checks(tables: Tables, added: Any, layer: int, places: dict[str, Place]) -> None:
    """Append checks to those there are. What is no list is left for the validation to find."""
    if not isinstance(added, list):
        tables[ADD_CHECKS] = added
        places[ADD_CHECKS] = Place(layer, ADD_CHECKS)
        return
    checks = tables.setdefault(CHECKS, [])
    for number, check in enumerate(added if isinstance(checks, list) else ()):
        places[f"{CHECKS}[{len(checks)}]"] = Place(layer, f"{ADD_CHECKS}[{number}]")
        checks.append(_copied(check))


def _copied(value: Any) -> Any:
    """A value whose tables and lists are nobody else's."""
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def _rooted(tables: Tables, path: Path) -> Tables:
    """The tables of a base that lies in another folder, with its relative paths made absolute."""
    folder = path.resolve().parent
    return {key: _rooted_value(value, (key,), folder) for key, value in tables.items()}


def _rooted_value(value: Any, words: tuple[str, ...], folder: Path) -> Any:
    """What stands at a key path of a file, with its relative paths made absolute."""
    if isinstance(value, Mapping):
        of = _of_kind(value, words)
        return {key: _rooted_value(inner, (*of, key), folder) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rooted_value(inner, words, folder) for inner in value]
    is_path = isinstance(value, str) and _setting(words) in PATHS and value not in PATH_WORDS
    return _rooted_path(value, folder) if is_path else value


def _of_kind(table: Any, words: tuple[str, ...]) -> tuple[str, ...]:
    return (*words, str(table["kind"])) if isinstance(table, Mapping) and "kind" in table else words


def _rooted_path(value: str, folder: Path) -> str:
    try:
        return str(folder / Path(value).expanduser())
    except RuntimeError:  # of a user that there is none of: the validation tells it
        return value


def _setting(words: tuple[str, ...]) -> str | None:
    """The setting that a key path of a file is about, wherever it may stand."""
    match words:
        case ("matrix", "include" | "exclude", *axis) | ("matrix", *axis):
            return axis_path(".".join(axis))
        case ("variants" | "defaults", *inner):
            return _setting(tuple(inner))
        case ("add_checks", *inner):
            return _setting((CHECKS, *inner))
        case _:
            return ".".join(words).removesuffix(".path")
