"""Scenario file → ``Scenario``, or every problem of the file at once, each with its key path, line and a hint."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from lab.errors import ConfigError, ConfigProblem
from lab.host.recipe import recipe_names
from lab.qemu.command import Gpu
from lab.scenario.faults import Fault
from lab.scenario.model import Accel, Capset, DataPath, Display, Scenario, VariantTable
from lab.scenario.model_checks import CHECK_KINDS, OpsCheck

Tables = dict[str, Any]
LISTS: dict[str, type[BaseModel] | None] = {"checks": None, "variants": VariantTable}
"""Keys that hold lists of tables; which table a check is depends on its kind."""
NOT_FOR_A_MATRIX = frozenset({"environment"})


def load(path: Path, settings: Sequence[str] = ()) -> Scenario:
    """Read a scenario file; ``settings`` are ``key=value`` words that override it before it is checked.

    Raises:
        ConfigError: with all problems of the file and the settings together.
    """
    return validated(load_tables(path, settings), path, settings)


def load_tables(path: Path, settings: Sequence[str] = ()) -> Tables:
    """The file's tables with the settings put in, not yet checked. Raises ``ConfigError``."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        raise ConfigError(path, [ConfigProblem("", "there is no such scenario file", _nearby(path))]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(path, [ConfigProblem("", f"cannot be read: {error}")]) from error
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"\(at line (\d+)", str(error))
        raise ConfigError(path, [ConfigProblem("", f"is no TOML: {error}", line=int(match[1]) if match else None)]) from error
    problems = [problem for setting in settings if (problem := _apply(tables, setting)) is not None]
    if problems:
        raise ConfigError(path, problems)
    return tables


def validated(tables: Tables, path: Path, settings: Sequence[str] = ()) -> Scenario:
    """The checked scenario, its matrix values included. Raises ``ConfigError`` with all problems, in the file's order."""
    context = {"folder": path.resolve().parent, "images": image_names()}
    problems: list[ConfigProblem] = []
    scenario = None
    try:
        scenario = Scenario.model_validate(tables, context=context)
    except ValidationError as error:
        problems += [_problem(details) for details in error.errors()]
    problems += _matrix_problems(tables, context)
    if problems or scenario is None:
        lines = KeyLines(path.read_text() if path.exists() else "")
        overriding = {setting.partition("=")[0].strip() for setting in settings}
        placed = [_placed(problem, lines, overriding) for problem in problems]
        raise ConfigError(path, sorted(placed, key=lambda problem: problem.line or 0))
    return scenario


def image_names() -> frozenset[str]:
    """Names of the guest images that have a recipe."""
    return frozenset(recipe_names("guest"))


def axis_path(axis: str) -> str | None:
    """Key path that a matrix key stands for: itself if dotted, else the one setting with that last word; None if none."""
    paths = [f"{table}.{key}" for table, model in _settings_tables() for key in model.model_fields if key not in NOT_FOR_A_MATRIX]
    if axis in paths:
        return axis
    matching = [path for path in paths if path.partition(".")[2] == axis]
    return matching[0] if len(matching) == 1 else None


def flattened(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Leaves of nested tables as (dotted path, value)."""
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def overridden(tables: Tables, path: str, value: Any) -> Tables:
    """A copy of the tables with the value at a dotted path of two words."""
    table, _, key = path.partition(".")
    inner = tables.get(table)
    return {**tables, table: {**(inner if isinstance(inner, dict) else {}), key: value}}


def laid_over(tables: Tables, over: Mapping[str, Any]) -> Tables:
    """The tables with others laid over them, key by key; lists are replaced as a whole."""
    merged = dict(tables)
    for key, value in over.items():
        before = merged.get(key)
        merged[key] = laid_over(before, value) if isinstance(before, dict) and isinstance(value, Mapping) else value
    return merged


def _settings_tables() -> Iterator[tuple[str, type[BaseModel]]]:
    for name in ("host", "guest", "implementation"):
        annotation = Scenario.model_fields[name].annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield name, annotation


def _matrix_problems(tables: Tables, context: Mapping[str, Any]) -> Iterator[ConfigProblem]:
    """Each axis must name a setting, and each of its values be right for it."""
    matrix = tables.get("matrix")
    if not isinstance(matrix, dict):
        return
    for axis, values in flattened(matrix):
        path = axis_path(axis)
        if path is None:
            known = sorted({key for _, model in _settings_tables() for key in model.model_fields} - NOT_FOR_A_MATRIX)
            yield ConfigProblem(f"matrix.{axis}", "no setting of this name", _meant(axis, known))
            continue
        table, _, key = path.partition(".")
        for index, value in enumerate(values if isinstance(values, list) else ()):
            try:
                dict(_settings_tables())[table].model_validate({key: value}, context=dict(context))
            except ValidationError as error:
                problem = _problem(error.errors()[0], table)
                yield ConfigProblem(f"matrix.{axis}[{index}]", problem.message, problem.hint)


def _apply(tables: Tables, setting: str) -> ConfigProblem | None:
    """Put one ``key=value`` in; the value is read as TOML, and as text when it is no TOML."""
    key, equals, text = setting.partition("=")
    if not equals or not key.strip():
        return ConfigProblem(setting, "is no setting", "write --set key=value, as in --set guest.cpus=4")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    at: Any = tables
    *folders, last = key.strip().split(".")
    for folder in folders:
        at = _step(at, folder)
    if isinstance(at, list) and last.isdigit() and int(last) < len(at):
        at[int(last)] = value
    elif isinstance(at, dict):
        at[last] = value
    else:
        return ConfigProblem(key, "there is nothing of this name to set")
    return None


def _step(at: Any, word: str) -> Any:
    """One table further down, made if it is not there; None where there can be none."""
    if isinstance(at, dict):
        return at.setdefault(word, {})
    if isinstance(at, list) and word.isdigit() and int(word) < len(at):
        return at[int(word)]
    return None


def _problem(details: ErrorDetails, prefix: str = "") -> ConfigProblem:  # noqa: PLR0911 - one answer per kind of error
    """One of pydantic's errors in our words."""
    words = [word for at, word in enumerate(details["loc"]) if not _is_kind(details["loc"], at)]
    key = _key_path([prefix, *words] if prefix else words)
    match details["type"]:
        case "extra_forbidden":
            return ConfigProblem(key, "unknown key", _meant(str(words[-1]), _keys_at(words[:-1])))
        case "missing":
            return ConfigProblem(key, "is missing", _missing_hint(words))
        case "no_image":
            return ConfigProblem(key, details["msg"], _meant(str(details["input"]), sorted(image_names())))
        case "no_file":
            return ConfigProblem(key, details["msg"], 'a path, relative to the scenario file; "builtin" is ours')
        case "no_library":
            return ConfigProblem(key, details["msg"], '"cpu", "vulkan" or the path of a ggml backend library')
        case "union_tag_invalid" | "union_tag_not_found":
            return ConfigProblem(f"{key}.kind", "no such kind of check", f"one of {', '.join(CHECK_KINDS)}")
        case _:
            shown = repr(details["input"]) if not isinstance(details["input"], dict | list) else type(details["input"]).__name__
            return ConfigProblem(key, f"{details['msg'][:1].lower()}{details['msg'][1:]}, not {shown}", _value_hint(words))


def _is_kind(location: Sequence[str | int], at: int) -> bool:
    """Whether a word is a check's kind, which pydantic puts into the location: ("checks", 0, "ops", "patterns")."""
    return at > 1 and location[at - 2] == "checks" and isinstance(location[at - 1], int)


def _key_path(words: Sequence[str | int]) -> str:
    path = ""
    for word in words:
        path += f"[{word}]" if isinstance(word, int) else f".{word}" if path else str(word)
    return path


def _keys_at(words: Sequence[str | int]) -> list[str]:
    """Keys that may stand in the table at a location."""
    model: type[BaseModel] = Scenario
    for word in words:
        inner = LISTS.get(str(word))
        if inner is not None:
            model = inner
        elif word == "checks":
            return sorted({key for kind in CHECK_KINDS.values() for key in kind.model_fields})
        annotation = model.model_fields[str(word)].annotation if str(word) in model.model_fields else None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
    return list(model.model_fields)


def _value_hint(words: Sequence[str | int]) -> str | None:
    """Values that a setting with a fixed vocabulary takes."""
    vocabularies = {"capset": Capset, "data_path": DataPath, "accel": Accel, "display": Display, "gpu": Gpu, "fault": Fault}
    vocabulary = vocabularies.get(str(words[-1])) if words else None
    if vocabulary is not None:
        return f"one of {', '.join(vocabulary)}"
    if words and words[-1] == "program":
        return f"one of {', '.join(get_args(OpsCheck.model_fields['program'].annotation))}"
    return None


def _missing_hint(words: Sequence[str | int]) -> str | None:
    hints = {
        "name": 'the file opens with a line such as name = "smoke"',
        "checks": 'add at least [[checks]] with kind = "state"',
        "ops": 'operations by ggml\'s names, as in ops = ["ADD", "MUL_MAT"]',
    }
    return hints.get(str(words[-1])) if words else None


def _meant(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known) or 'none'}"


def _nearby(path: Path) -> str | None:
    """Scenario files that the user may have meant."""
    folder = path.parent if path.parent.is_dir() else Path("scenarios")
    files = sorted(str(file) for file in folder.glob("*.toml"))
    close = difflib.get_close_matches(str(path), files, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"there are {', '.join(files)}" if files else None


def _placed(problem: ConfigProblem, lines: KeyLines, overriding: Collection[str]) -> ConfigProblem:
    """The problem with its line in the file, or with the remark that it came from the command line."""
    if any(problem.key == key or problem.key.startswith(f"{key}.") for key in overriding):
        return ConfigProblem(f"--set {problem.key}", problem.message, problem.hint)
    return ConfigProblem(problem.key, problem.message, problem.hint, lines.line_of(problem.key))


class KeyLines:
    """Which line of a TOML text a key path stands on.

    The standard library's parser keeps no positions. Reading table headers and ``key =`` at line starts is enough for
    files as people write them; a key that is not found so has no line, and nothing else is lost.
    """

    HEADER = re.compile(r"\s*(?P<open>\[\[?)\s*(?P<name>[^\[\]]+?)\s*\]\]?\s*(#.*)?$")
    KEY = re.compile(r"\s*(?P<key>[\w\-.\"' ]+?)\s*=")

    def __init__(self, text: str) -> None:
        self._lines: dict[str, int] = {}
        self._read(text)

    def _read(self, text: str) -> None:
        table, counts = "", dict[str, int]()
        for number, line in enumerate(text.splitlines(), start=1):
            if header := self.HEADER.match(line):
                table = header["name"].replace('"', "").replace("'", "")
                if header["open"] == "[[":
                    index = counts[table] = counts.get(table, -1) + 1
                    table = f"{table}[{index}]"
                self._lines.setdefault(table, number)
            elif match := self.KEY.match(line):
                key = match["key"].replace('"', "").replace("'", "").replace(" ", "")
                self._lines.setdefault(f"{table}.{key}" if table else key, number)

    def line_of(self, key: str) -> int | None:
        """Line of the key, or of the nearest table or list around it."""
        while key:
            if key in self._lines:
                return self._lines[key]
            cut = max(key.rfind("."), key.rfind("["))
            key = key[:cut] if cut > 0 else ""
        return None
