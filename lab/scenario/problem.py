"""What pydantic finds wrong in a file, in our words: the key path, a sentence, and what the reader can do about it.

A check that a model makes itself gives its hint along: ``PydanticCustomError(type, text, {"hint": …})``.
"""

from __future__ import annotations

import difflib
import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from lab.errors import ConfigProblem
from lab.scenario.lines import key_path

Location = tuple[str | int, ...]


def problems_of(error: ValidationError, root: type[BaseModel], prefix: Location = ()) -> list[ConfigProblem]:
    """All of them; ``root`` is the model that was validated, and ``prefix`` where its table stands in the file."""
    found = error.errors()
    wrong_items = {details["loc"][:-1] for details in found}
    # pydantic counts the items that are right
    told = (details for details in found if details["type"] != "too_short" or details["loc"] not in wrong_items)
    return [_problem(details, root, prefix) for details in told]


def value_problem(model: type[BaseModel], key: str, value: Any, context: Mapping[str, Any]) -> ConfigProblem | None:
    """What is wrong with one value of a table, whatever else that table may have or lack."""
    try:
        model.model_validate({key: value}, context=dict(context))
    except ValidationError as error:
        of_key = (details for details in error.errors() if details["loc"][:1] == (key,))
        return next((_problem(details, model, ()) for details in of_key), None)
    return None


def meant(word: str, known: Sequence[str]) -> str:
    """The near name among those that are known, else all of them."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known) or 'none'}"


def _problem(details: ErrorDetails, root: type[BaseModel], prefix: Location) -> ConfigProblem:
    words, models, holders = _walked(details["loc"], root)
    key = key_path((*prefix, *words))
    own_hint = details.get("ctx", {}).get("hint")
    match details["type"]:
        case "extra_forbidden":
            return ConfigProblem(key, "unknown key", meant(str(words[-1]), [name for one in holders for name in one.model_fields]))
        case "missing":
            return ConfigProblem(key, "is missing", own_hint or _sentence(_field(holders, words)))
        case "union_tag_invalid" | "union_tag_not_found":
            return ConfigProblem(f"{key}.kind", "no such kind of check", f"one of {', '.join(filter(None, map(_kind, models)))}")
        case _:
            message = details["msg"][:1].lower() + details["msg"][1:]
            message = re.sub(
                r"a valid dictionary( or (instance of \w+|object to extract fields from))?", "a table", message
            ).replace("a valid tuple", "a list")
            message = message.replace("tuple should have", "list should have").replace(" after validation", "")
            shown = details["input"]
            if message.startswith("input should"):
                message += f", not {shown!r}" if not isinstance(shown, dict | list) else f", not {_noun(shown)}"
            return ConfigProblem(key, message, own_hint or _one_of(_field(holders, words)))


def _noun(value: dict[Any, Any] | list[Any]) -> str:
    return "a table" if isinstance(value, dict) else "a list"


def _walked(location: Location, root: type[BaseModel]) -> tuple[list[str | int], list[type[BaseModel]], list[type[BaseModel]]]:
    """The words of the key path, the models of the table it leads to (if it is one), and those of the table that holds it.

    Where a table may be of several kinds, pydantic's location has the kind as a word: ("checks", 0, "ops", "patterns").
    """
    words: list[str | int] = []
    models, holders = [root], [root]
    for word in location:
        of_kind = [model for model in models if len(models) > 1 and _kind(model) == word]
        if of_kind:
            models = of_kind
            continue
        words.append(word)
        if isinstance(word, str):
            holders = models
            models = [inner for field in _fields(holders, word) for inner in _models_in(field.annotation)]
    return words, models, holders


def _fields(models: Sequence[type[BaseModel]], word: str) -> list[FieldInfo]:
    return [model.model_fields[word] for model in models if word in model.model_fields]


def _field(holders: Sequence[type[BaseModel]], words: Sequence[str | int]) -> FieldInfo | None:
    names = [word for word in words if isinstance(word, str)]
    return next(iter(_fields(holders, names[-1])), None) if names else None


def _kind(model: type[BaseModel]) -> str | None:
    """The word by which a union tells the model from others."""
    field = model.model_fields.get("kind")
    return get_args(field.annotation)[0] if field is not None and get_origin(field.annotation) is Literal else None


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)


def _words_in(annotation: Any) -> Iterator[str]:
    """The vocabulary of a setting that has a fixed one."""
    if isinstance(annotation, type) and issubclass(annotation, enum.StrEnum):
        yield from annotation
    elif get_origin(annotation) is Literal:
        yield from (word for word in get_args(annotation) if isinstance(word, str))
    else:
        for inner in get_args(annotation):
            yield from _words_in(inner)


def _one_of(field: FieldInfo | None) -> str | None:
    words = list(_words_in(field.annotation)) if field is not None else []
    return f"one of {', '.join(words)}" if words else None


def _sentence(field: FieldInfo | None) -> str | None:
    """What the field is for, as a hint."""
    if field is None or not field.description:
        return None
    return field.description.partition("\n")[0].rstrip(".")
