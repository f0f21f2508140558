"""What is known to go wrong in a scenario, and what must not be lost: ``expectations/<scenario>.toml`` beside the scenario file.

An expectation tells how cases end that do not simply pass, under which condition, why, and where that is followed up. A list of
supported cases tells which must be there and be supported. Both are checked like scenario files: all problems at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, ValidationError, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from lab.bundle.expected import Expected, ExpectedEnd
from lab.errors import ConfigError, ConfigProblem
from lab.scenario.lines import KeyLines
from lab.scenario.model import Accel, Capset, DataPath
from lab.scenario.problem import problems_of
from lab.scenario.section import Pattern, Section, existing_file
from lab.scenario.source import own_folder
from lab.scenario.toml_text import toml_tables

FOLDER = "expectations"
COMPARED = re.compile(r"(?P<sign>>=|<=|==|<|>)\s*(?P<version>[0-9]{1,18}(\.[0-9]{1,18})*)")
NUMBERS = re.compile(r"[0-9]{1,18}(?:\.[0-9]{1,18})*")
LIST_HINT = "a file with one check/case in each line, relative to this one"


def glob(pattern: str) -> re.Pattern[str]:
    """A pattern in which ``*`` stands for anything and ``?`` for one character. Brackets are brackets: cases are full of them."""
    return re.compile("".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in pattern), re.DOTALL)


def version_of(text: str) -> tuple[int, ...]:
    """The numbers of a version: of ``1:11.0.2+ds-1`` they are 11, 0 and 2."""
    found = NUMBERS.search(text.partition(":")[2] or text)
    return tuple(map(int, found[0].split("."))) if found else ()


def version_condition(value: str) -> str:
    """Comparisons with versions, joined by commas."""
    if not all(COMPARED.fullmatch(one.strip()) for one in value.split(",")):
        text = "{value} is no condition on a version"
        raise PydanticCustomError("no_version", text, {"value": repr(value), "hint": 'as in ">=0.27" or ">=6.1, <6.12"'})
    return value


def said(value: str) -> str:
    """Text that says something."""
    if not value.strip():
        raise PydanticCustomError("no_text", "is empty", {"hint": "say why, or where it is followed up"})
    return value


def known_list(value: str, info: ValidationInfo) -> str:
    """The path of a list of cases."""
    return existing_file(value, info, LIST_HINT)


Text = Annotated[str, AfterValidator(said)]
Version = Annotated[str, AfterValidator(version_condition)]


@dataclass(frozen=True, slots=True)
class Situation:
    """What conditions are about: a variant, and what it ran with. ``versions`` are by the names that conditions have."""

    variant: str
    ggml_library: str
    capset: str
    data_path: str
    accel: str
    image: str
    registry: str = ""
    device: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


class When(Section):
    """A condition: all that is said must hold. Texts may have ``*`` and ``?``; versions are compared."""

    variant: str | None = None
    """Id of the variant."""
    ggml_library: str | None = None
    """The host's ggml library: a word as the scenario names it, or its whole path with links followed (`*/libggml-cuda.so*`)."""
    registry: str | None = None
    """Registry of the remote device."""
    device: str | None = None
    """Name of the remote device."""
    capset: Annotated[Capset, Field(strict=False)] | None = None
    """Capset that the scenario asks for."""
    data_path: Annotated[DataPath, Field(strict=False)] | None = None
    """Data path that the scenario asks for."""
    accel: Annotated[Accel, Field(strict=False)] | None = None
    """What ran the guest: kvm or tcg."""
    image: str | None = None
    """Guest image."""
    ggml: Version | None = None
    """Version of the guest's ggml, as in ">=0.27, <0.28"."""
    host_ggml: Version | None = None
    """Version of the host root's ggml."""
    kernel: Version | None = None
    """Release of the guest's kernel."""
    qemu: Version | None = None
    """Version of the host root's QEMU."""
    virglrenderer: Version | None = None
    """Version of the host root's virglrenderer."""
    mesa: Version | None = None
    """Version of the host root's Mesa."""

    def holds(self, situation: Situation) -> bool:
        """Whether everything said is so. A version that is not known fulfils no condition."""
        said = {name: value for name in type(self).model_fields if (value := getattr(self, name)) is not None}
        return all(
            _compares(value, situation.versions.get(name, ""))
            if name in VERSIONED
            else glob(value).fullmatch(getattr(situation, name)) is not None
            for name, value in said.items()
        )


VERSIONED = ("ggml", "host_ggml", "kernel", "qemu", "virglrenderer", "mesa")


class Expectation(Section):
    """How cases end that do not simply pass."""

    case: str = ""
    """Which: a text with * and ? for check/case, as in "ops/MUL_MAT(type_a=q4_0,*"."""
    pattern: Pattern = ""
    """In the place of ``case``: a regular expression, found somewhere in check/case."""
    kind: Annotated[ExpectedEnd, Field(strict=False)]
    """``fail``: a wrong result. ``flaky``: now and then a wrong result. ``skip``: not run, where the check can leave it out."""
    max_rate: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Of a flaky entry: how many of its runs may fail, as a part of all."""
    retries: Annotated[int, Field(ge=1, le=100)] = 3
    """Of a flaky entry: how often a failed case is run again until it passes."""
    min_runs: Annotated[int, Field(ge=1, le=1000)] = 1
    """Of a flaky entry: how many runs of its cases there must be, for a rate to mean something."""
    reason: Text
    """Why it is so."""
    link: Text
    """Where it is followed up."""
    when: When = When()
    """Under which condition; always if absent."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if bool(self.case) == bool(self.pattern):
            hint = 'case = "ops/ADD(*" or pattern = "^ops/ADD"'
            raise PydanticCustomError("no_case", "needs either case or pattern", {"hint": hint})
        if (self.kind is ExpectedEnd.FLAKY) != (self.max_rate is not None):
            hint = 'kind = "flaky" goes with max_rate, such as 0.2'
            raise PydanticCustomError("no_rate", "max_rate is for flaky entries, which need one", {"hint": hint})
        return self

    def matches(self, check: str, case: str) -> bool:
        """Whether it is about a case."""
        name = f"{check}/{case}"
        if self.pattern:
            return re.search(self.pattern, name) is not None
        return glob(self.case).fullmatch(name) is not None


class Supported(Section):
    """Cases that must be there and be supported."""

    cases: Annotated[str, AfterValidator(known_list)]
    """A file with one check/case in each line, relative to this one."""
    when: When = When()
    """Under which condition; always if absent."""


class ExpectationsFile(Section):
    """One file of expectations."""

    expect: Annotated[tuple[Expectation, ...], Field(strict=False)] = ()
    """Entries; the first that fits a case holds."""
    supported: Annotated[tuple[Supported, ...], Field(strict=False)] = ()
    """Lists of cases that must not be lost."""


NO_EXPECTATIONS = ExpectationsFile()


@dataclass(frozen=True, slots=True)
class Expectations:
    """The checked expectations of a scenario; ``path`` is where they are, or would be."""

    path: Path = Path()
    file: ExpectationsFile = NO_EXPECTATIONS
    lists: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What the lists of supported cases hold, by their paths."""
    whole: bool = True
    """Whether the run checks all that the scenario's file asks for: only then can a case be missing."""
    named: tuple[str, ...] = ()
    """Cases that the command line names, each of which must run."""

    def there(self, situation: Situation) -> tuple[Expected, ...]:
        """Those that hold in a situation, in their order."""
        return tuple(_entry(number, one) for number, one in enumerate(self.file.expect) if one.when.holds(situation))

    def supported(self, situation: Situation) -> tuple[str, ...]:
        """check/case of everything that must be there and be supported."""
        lists = (one.cases for one in self.file.supported if one.when.holds(situation))
        return tuple(dict.fromkeys(case for path in lists for case in self.lists[path]))


def expectations_path(scenario_file: Path, name: str) -> Path:
    """Where the expectations of a scenario are: beside the file itself, not beside a link to it."""
    return own_folder(scenario_file) / FOLDER / f"{name}.toml"


def load_expectations(path: Path) -> Expectations:
    """The expectations of a file, its lists read; none where there is no file. Raises ``ConfigError`` with all problems."""
    if not path.exists():
        return Expectations(path)
    try:
        text = path.read_text(encoding="utf-8")
        tables = toml_tables(text)
    except ValueError as error:
        raise ConfigError(path, [ConfigProblem("", f"is no TOML: {error}")]) from error
    except OSError as error:
        raise ConfigError(path, [ConfigProblem("", f"cannot be read: {error.strerror}")]) from error
    lists: dict[str, Sequence[str]] = {}
    try:
        file = ExpectationsFile.model_validate(tables, context={"folder": path.resolve().parent})
        problems = _read_lists(file.supported, lists)
    except ValidationError as error:
        problems = problems_of(error, ExpectationsFile)
    if problems:
        lines = KeyLines(text)
        placed = [replace(one, line=lines.line_of(one.key)) for one in problems]
        raise ConfigError(path, sorted(placed, key=lambda one: one.line or 0))
    return Expectations(path, file, lists)


def _read_lists(supported: Sequence[Supported], lists: dict[str, Sequence[str]]) -> list[ConfigProblem]:
    """Read the lists of supported cases into ``lists``; what is wrong with them."""
    problems = []
    for number, one in enumerate(supported):
        try:
            lists[one.cases] = cases_in(Path(one.cases))
            if not lists[one.cases]:
                problems.append(
                    ConfigProblem(f"supported[{number}].cases", f"{one.cases} has no case that could be lost", LIST_HINT)
                )
        except (OSError, UnicodeDecodeError) as error:
            why = "it is no text in UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
            problems.append(ConfigProblem(f"supported[{number}].cases", f"{one.cases} cannot be read: {why}", LIST_HINT))
    return problems


def cases_in(path: Path) -> Sequence[str]:
    """The lines of a list of cases; empty ones and comments are passed over."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _entry(number: int, one: Expectation) -> Expected:
    return Expected(
        number=number, end=one.kind, reason=one.reason, link=one.link, pattern=one.case or one.pattern, matches=one.matches,
        max_rate=one.max_rate or 0.0, retries=one.retries, min_runs=one.min_runs,
    )  # fmt: skip


def _compares(condition: str, version: str) -> bool:
    """Whether a version fulfils comparisons. Versions are compared as far as the condition gives numbers."""
    numbers = version_of(version)
    if not numbers:
        return False
    for one in condition.split(","):
        match = COMPARED.fullmatch(one.strip())
        wanted = version_of(match["version"]) if match else ()
        here = (*numbers, *(0,) * (len(wanted) - len(numbers)))[: len(wanted)]
        signs = {">=": here >= wanted, "<=": here <= wanted, "==": here == wanted, "<": here < wanted, ">": here > wanted}
        if match is None or not signs[match["sign"]]:
            return False
    return True
