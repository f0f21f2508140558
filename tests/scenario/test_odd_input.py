"""Whatever stands in a scenario file, its expectations, ``--set`` and ``-k``: the answer is a plan or a ``ConfigError``."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

import pytest

from lab.errors import ConfigError
from lab.scenario import load
from lab.scenario.expectations import When, expectations_path
from lab.scenario.matrix import axis_path, combinations
from lab.scenario.plan import Choice, planned
from lab.scenario.source import LARGEST_BYTES, whole_tables
from tests.scenario.fakes import Script
from tests.scenario.small_runs import Running

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


@pytest.mark.parametrize("setting", ["requires[0]ops=1", "checks.[0]=1", ".guest.cpus=1", "guest..cpus=1"])
def test_setting_whose_words_are_not_joined_as_keys_are_is_none(tmp_path: Path, setting: str) -> None:
    assert f"--set {setting}: is no setting" in told(tmp_path, STATE.format(""), Choice((setting,)))


def test_setting_behind_the_last_item_of_a_list_makes_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(STATE.format('requires = ["qemu"]'))
    assert load(path, ('requires[1]="kvm"',)).requires == ("qemu", "kvm")


@pytest.mark.parametrize(("value", "noun"), [("{}", "a table"), ("[]", "a list")])
def test_what_stands_in_a_numbers_place_is_named(tmp_path: Path, value: str, noun: str) -> None:
    assert f"input should be a valid number, not {noun}" in told(tmp_path, STATE.format(f"timeout_s = {value}"), Choice())


def test_axis_is_the_same_by_its_long_name_and_variables_are_none() -> None:
    included = {"cpus": [1, 2], "include": [{"guest.cpus": 1, "memory_mib": 512}]}
    assert combinations(included) == ((("cpus", 1), ("memory_mib", 512)), (("cpus", 2),))
    assert combinations({"cpus": [1, 2], "exclude": [{"guest.cpus": 1}]}) == ((("cpus", 2),),)
    assert [axis_path(name) for name in ("cpus", "guest.cpus", "environment", "host.environment")] == ["guest.cpus"] * 2 + [
        None
    ] * 2


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


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('host = { ggml_library = "~nosuchuser/lib.so" }', "line 2: host.ggml_library: '~nosuchuser/lib.so' is no path"),
        (f'implementation = {{ guest = "{"a" * 300}" }}', "is no path"),
        (f'host = {{ virglrenderer = "{"a" * 5000}" }}', "is no path"),
        ('extends = "~nosuchuser/base.toml"', "line 2: extends: '~nosuchuser/base.toml' is no path"),
        (f'extends = "{"a" * 5000}"', "line 2: extends: "),
        ('extends = "a\\u0000b"', "line 2: extends: 'a\\x00b' is no path"),
        ('description = "a\\u0000b"', "line 2: description: has the character NUL"),
        ('host = { environment = { X = "a\\u0000b" } }', "line 2: host.environment.X: has the character NUL"),
        ('matrix = { "host.ggml_registration" = ["a\\u0000b"] }', "has the character NUL"),
        ('requires = ["a\\u0000b"]', "line 2: requires[0]: has the character NUL"),
        ('host = { environment = { "A=B" = "x" } }', "line 2: host.environment: 'A=B' is no name of a variable"),
        ('guest = { environment = { "" = "x" } }', "line 2: guest.environment: '' is no name of a variable"),
    ],
    ids=short,
)
def test_value_that_the_system_would_refuse_later_is_refused(tmp_path: Path, line: str, why: str) -> None:
    assert why in told(tmp_path, STATE.format(line), Choice())


def test_path_of_a_base_that_can_be_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bases").mkdir()
    (tmp_path / "bases" / "base.toml").write_text(STATE.format('host = { ggml_library = "~nosuchuser/lib.so" }'))
    assert "is no path" in told(tmp_path, 'name = "x"\nextends = "bases/base.toml"\n', Choice())


@pytest.mark.parametrize("pattern", ["(" * 5000, "a{1,99999999999}"], ids=short)
def test_pattern_without_end_is_refused(tmp_path: Path, pattern: str) -> None:
    text = f'name = "x"\n[[checks]]\nkind = "ops"\nops = ["ADD"]\npatterns = ["{pattern}"]\n'
    assert "line 5: checks[0].patterns: " in (why := told(tmp_path, text, Choice()))
    assert "is no regular expression" in why


@pytest.mark.parametrize("name", ["a" * 65, "b" * 300], ids=short)
def test_name_that_could_be_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    text = f'name = "{name}"\n[[checks]]\nkind = "state"\n'
    assert "is no name" in told(tmp_path, text, Choice())
    assert told(tmp_path, text.replace(name, name[:64]), Choice()) == ""
    assert "is no name" in told(tmp_path, STATE.format(f'variants = [{{ name = "{name}" }}]'), Choice())


def test_variant_whose_id_could_be_no_folder_is_refused(tmp_path: Path) -> None:
    why = told(tmp_path, STATE.format(f'matrix = {{ "host.ggml_registration" = ["{"a" * 300}"] }}'), Choice())
    assert "more than 200 characters" in why


def test_setting_of_what_is_read_before_is_refused(tmp_path: Path) -> None:
    assert "--set extends: " in told(tmp_path, STATE.format(""), Choice(("extends=other.toml",)))


@pytest.mark.parametrize("setting", ['guest.environment.X="a\\u0000b"', "description=\udcff"], ids=short)
def test_setting_that_is_no_text_is_refused(tmp_path: Path, setting: str) -> None:
    assert f"--set {setting.partition('=')[0]}: has " in told(tmp_path, STATE.format(""), Choice((setting,)))


@pytest.mark.parametrize("seconds", ["inf", "nan", "1e12", "-inf", "0"])
@pytest.mark.parametrize(
    "line", ["timeout_s = {}", "guest = {{ boot_deadline_s = {} }}", "thresholds = {{ wall_s = {} }}"], ids=short
)
def test_time_that_nobody_can_wait_for_is_refused(tmp_path: Path, line: str, seconds: str) -> None:
    assert "input should be" in told(tmp_path, STATE.format(line.format(seconds)), Choice())


@pytest.mark.parametrize("number", ["inf", "nan", "-inf"])
@pytest.mark.parametrize(
    "key",
    [
        "timeout_s",
        "thresholds.call_p99_us",
        "checks[0].thresholds.cases_per_s",
        "checks[1].cost.times_native",
        "checks[2].at_least",
        "checks[3].max_divergence",
        "defaults.checks.speed.at_least",
    ],
)
def test_number_without_end_is_refused(tmp_path: Path, key: str, number: str) -> None:
    checks = STATE.format("") + "".join(f'[[checks]]\nkind = "{kind}"\n' for kind in ("catalog", "speed", "llama"))
    settings = ("checks[1].ops=['ADD']", "checks[3].model=generated", f"{key}={number}")
    assert f"--set {key}: input should be a finite number, not {number}" in told(tmp_path, checks, Choice(settings))


def test_number_without_end_is_told_with_its_line(tmp_path: Path) -> None:
    why = told(tmp_path, STATE.format("thresholds.call_p50_us = inf"), Choice())
    assert "x.toml: line 2: thresholds.call_p50_us: input should be a finite number, not inf" in why
    known = expectations_path(tmp_path / "x.toml", "x")
    known.parent.mkdir()
    (axis,) = told(tmp_path, STATE.format("matrix = { boot_deadline_s = [1.0, inf] }"), Choice()).splitlines()
    assert axis.endswith("x.toml: line 2: matrix.boot_deadline_s[1]: input should be a finite number, not inf")
    known.write_text('[[expect]]\ncase = "*"\nkind = "flaky"\nreason = "r"\nlink = "l"\nmax_rate = inf\n')
    assert "line 6: expect[0].max_rate: input should be a finite number, not inf" in told(tmp_path, STATE.format(""), Choice())


def test_longest_time_is_taken(tmp_path: Path) -> None:
    assert told(tmp_path, STATE.format("timeout_s = 1e7"), Choice()) == ""


def test_file_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x\udcff.toml").write_text(STATE.format(""))
    with pytest.raises(ConfigError, match="the name is no text in UTF-8"):
        planned([tmp_path], Choice())


def test_command_line_that_is_no_text_is_kept_as_far_as_it_is(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["pytest", "x\udcff.toml"])
    assert running(Script()).run.argv == ("pytest", "x?.toml")


def test_scenario_in_a_pipe_is_read_once() -> None:
    """What a bundle keeps of a scenario is what was run, though the file has nothing more to say, or another text by now."""
    text = STATE.format("timeout_s = 7").encode()
    reader, writer = os.pipe()
    try:
        os.write(writer, text)
        os.close(writer)
        (entry,) = planned([Path(f"/dev/fd/{reader}")], Choice())
        assert whole_tables(entry.source) == {"name": "x", "timeout_s": 7, "checks": [{"kind": "state"}]}
        assert entry.sha256 == hashlib.sha256(text).hexdigest()
    finally:
        os.close(reader)


def test_file_without_end_is_no_scenario() -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(LARGEST_BYTES + 1)
        with pytest.raises(ConfigError, match=f"has more than {LARGEST_BYTES} bytes"):
            planned([Path(file.name)], Choice())


def test_ends_of_lines_may_be_those_of_any_system(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(STATE.format("foo = 1").encode().replace(b"\n", b"\r\n"))
    with pytest.raises(ConfigError, match="line 2: foo: unknown key"):
        planned([path], Choice())
