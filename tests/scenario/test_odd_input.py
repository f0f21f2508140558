"""Whatever stands in a scenario file, its expectations, ``--set`` and ``-k``: the answer is a plan or a ``ConfigError``."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import ConfigError
from lab.scenario.expectations import When, expectations_path
from lab.scenario.plan import Choice, planned

STATE = 'name = "x"\n{}\n[[checks]]\nkind = "state"\n'
DEEP = "[" * 3000 + "]" * 3000
LONG = "9" * 5000
VALUES = ("3", "true", "1.5", "1979-05-27", "nan", '"s"', "[]", "[[1]]", "{}", "{ a = 1 }", "[{ a = 1 }]", "[{ name = 1 }]")
SETTINGS = ((), ("guest.cpus=4",), ('matrix.capset=["apir"]',), ("variants[0].guest.cpus=2",))


def short(text: str) -> str:
    """The name of a parameter that is long."""
    return text[:16]


def told(folder: Path, text: str, choice: Choice) -> str:
    """What is wrong with a file's text or a choice; empty where nothing is."""
    path = folder / "x.toml"
    path.write_text(text)
    try:
        planned([path], choice)
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(
    "key", ["matrix", "variants", "guest", "defaults", "add_checks", "extends", "matrix.include", "guest.environment", "thresholds"]
)
def test_any_value_of_any_type_is_told(tmp_path: Path, key: str, settings: tuple[str, ...]) -> None:
    for value in VALUES:
        told(tmp_path, STATE.format(f"{key} = {value}"), Choice(settings))


@pytest.mark.parametrize("key", ["matrix", "variants"])
@pytest.mark.parametrize("value", ["3", "true"])
def test_wrong_type_of_matrix_and_variants_is_refused(tmp_path: Path, key: str, value: str) -> None:
    assert f"line 2: {key}: input should be" in told(tmp_path, STATE.format(f"{key} = {value}"), Choice(("guest.cpus=4",)))


@pytest.mark.parametrize(
    "setting", ["checks.\u00b2.x=1", f"checks[{LONG}]=1", f"checks.{LONG}.x=1", "a." * 3000 + "a=1", "matrix=1"], ids=short
)
def test_odd_setting_is_refused(tmp_path: Path, setting: str) -> None:
    assert told(tmp_path, STATE.format(""), Choice((setting,)))


@pytest.mark.parametrize("setting", [f"guest.cpus={LONG}", f"guest.cpus={DEEP}"], ids=short)
def test_odd_value_of_a_setting_is_refused(tmp_path: Path, setting: str) -> None:
    assert "--set guest.cpus: input should be a valid integer" in told(tmp_path, STATE.format(""), Choice((setting,)))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (f"a = {DEEP}", "nested too deeply"),
        (".".join(["a"] * 3000) + " = 1", "nested too deeply"),
        (f"timeout_s = {LONG}", "4300 digits"),
    ],
    ids=short,
)
def test_text_that_nobody_wrote_is_refused(tmp_path: Path, line: str, why: str) -> None:
    assert why in told(tmp_path, STATE.format(line), Choice())
    known = expectations_path(tmp_path / "x.toml", "x")
    known.parent.mkdir()
    known.write_text(line)
    assert why in told(tmp_path, STATE.format(""), Choice())


@pytest.mark.parametrize(
    "keyword", ["(" * 2000, "not " * 3000 + "a", "a and " * 3000 + "a", "(" * 300 + "a" + ")" * 300], ids=short
)
def test_expression_without_end_is_refused(tmp_path: Path, keyword: str) -> None:
    assert "cannot be read at its word 201" in told(tmp_path, STATE.format(""), Choice(keyword=keyword))


def test_longest_expression_is_understood(tmp_path: Path) -> None:
    assert told(tmp_path, STATE.format(""), Choice(keyword="not " * 199 + "y")) == ""
    assert told(tmp_path, STATE.format(""), Choice(keyword="(" * 99 + "x" + ")" * 99)) == ""


def test_version_without_end_is_no_condition() -> None:
    with pytest.raises(ValueError, match="is no condition on a version"):
        When.model_validate({"kernel": f">=1.{LONG}"})
