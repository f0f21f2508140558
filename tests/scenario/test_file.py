from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from lab.errors import ConfigError
from lab.paths import SCENARIOS
from lab.scenario import load
from lab.scenario.expand import boots, expand
from lab.scenario.keyword import keyword_matcher
from lab.scenario.lines import KeyLines
from lab.scenario.model import Capset, Matrix
from lab.scenario.model_checks import OpsCheck
from lab.scenario.plan import Choice, planned
from lab.scenario.source import read_source

GOOD = """\
name = "good"

[[checks]]
kind = "state"
"""
WRONG = """\
name = "Wrong Name"
timeoout_s = 4
timeout_s = "long"

[matrix]
capset = ["venus", "apri"]
kernels = ["6.1"]

[host]
acel = "kvm"
threads = "four"
ggml_library = "/no/such/library.so"

[host.environment]
NUMBER = 3

[guest]
image = "gest-6.12"
cpus = 0
capset = "vens"

[implementation]
guest = "./no-such-payload.so"

[[checks]]
kind = "state"
patern = "x"

[[checks]]
kind = "opps"

[[checks]]
kind = "ops"
program = "test-frontend-ops"
patterns = ["("]
min_cases = "12"
"""


def written(folder: Path, text: str, name: str = "file.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def refusal(path: Path, *settings: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(path, settings)
    assert caught.value.exit_status == 2
    return str(caught.value)


def test_every_problem_of_a_file_is_told_at_once_with_line_key_and_hint(tmp_path: Path) -> None:
    told = refusal(written(tmp_path, WRONG))
    for expected in (
        "line 1: name: 'Wrong Name' is no name",
        "line 2: timeoout_s: unknown key (did you mean timeout_s?)",
        "line 3: timeout_s: input should be a valid number, not 'long'",
        "line 6: matrix.capset[1]: input should be 'venus' or 'apir', not 'apri' (one of venus, apir)",
        "line 7: matrix.kernels: no setting of this name",
        "line 10: host.acel: unknown key (did you mean accel?)",
        "line 11: host.threads: input should be a valid integer, not 'four'",
        "line 12: host.ggml_library: there is no file /no/such/library.so",
        "line 15: host.environment.NUMBER: input should be text, or false to take the variable away, not 3",
        "line 18: guest.image: there is no image 'gest-6.12' (did you mean guest-6.12?)",
        "line 19: guest.cpus: input should be greater than or equal to 1, not 0",
        "line 20: guest.capset: input should be 'venus' or 'apir', not 'vens'",
        f"line 23: implementation.guest: there is no file {tmp_path}/no-such-payload.so",
        "line 27: checks[0].patern: unknown key (known are ",
        "line 30: checks[1].kind: no such kind of check (one of state, ops, ",
        "line 32: checks[2].ops: is missing (Operations by ggml's names",
        "line 34: checks[2].program: input should be 'test-backend-ops', not 'test-frontend-ops'",
        "line 35: checks[2].patterns: '(' is no regular expression: missing )",
        "line 36: checks[2].min_cases: input should be a valid integer, not '12'",
    ):
        assert expected in told


def test_missing_file_is_told_with_a_near_name(tmp_path: Path) -> None:
    written(tmp_path, GOOD, "smoke.toml")
    assert "there is no such scenario file (did you mean" in refusal(tmp_path / "smok.toml")


def test_broken_toml_is_told_with_its_line(tmp_path: Path) -> None:
    assert "line 2: is no TOML" in refusal(written(tmp_path, 'name = "x"\n[[checks\n'))


def test_file_without_checks_is_refused(tmp_path: Path) -> None:
    assert "checks: is missing" in refusal(written(tmp_path, 'name = "x"\n'))
    assert "checks: is missing" in refusal(written(tmp_path, 'name = "x"\nchecks = []\n'))


def test_empty_library_is_refused(tmp_path: Path) -> None:
    assert "a host ggml library is needed" in refusal(written(tmp_path, GOOD), 'host.ggml_library=""')


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("guest.cpus=four", "--set guest.cpus: input should be a valid integer, not 'four'"),
        ("gest.cpus=4", "gest: unknown key (did you mean guest?)"),
        ("guest", "is no setting (write --set key=value"),
        ("checks.7.kind=state", "checks[7].kind: there is nothing of this name to set"),
        ("guest.kernel=6.10", "input should be a valid string, not 6.1 (text: --set 'guest.kernel=\"6.10\"')"),
    ],
)
def test_wrong_setting_is_told_as_one(tmp_path: Path, setting: str, expected: str) -> None:
    assert expected in refusal(written(tmp_path, GOOD), setting)


def test_settings_override_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    scenario = load(
        path, ("guest.cpus=4", "guest.capset=apir", "host.environment.A=b", "host.environment.C=false", "checks.0.deadline_s=7")
    )
    assert scenario.guest.cpus == 4
    assert scenario.guest.capset is Capset.APIR
    assert scenario.host.environment == {"A": "b", "C": False}
    assert scenario.checks[0].deadline_s == 7


@pytest.mark.parametrize(
    ("axis", "values", "ids"),
    [
        ("host.ggml_library", '"{}/libggml cuda (1).so", "cpu"', ["ggml-cuda-1-", "cpu"]),
        ("host.ggml_registration", '"..", "a;b", ".", "ü"', ["ggml-registration-..", "a-b", "ggml-registration-.", "-"]),
    ],
)
def test_ids_are_names_of_files_and_words_of_a_shell(tmp_path: Path, axis: str, values: str, ids: list[str]) -> None:
    (tmp_path / "libggml cuda (1).so").touch()
    path = tmp_path / "small.toml"
    path.write_text(f'name = "small"\n[matrix]\n"{axis}" = [{values.format(tmp_path)}]\n[[checks]]\nkind = "state"\n')
    assert [variant.id for variant in expand(read_source(path))] == ids


def test_matrix_gives_variants_whose_ids_read_like_words(tmp_path: Path) -> None:
    text = GOOD + '\n[matrix]\ncapset = ["venus", "apir"]\ndata_path = ["shared", "copied"]\n"guest.cpus" = [1, 2]\n'
    path = written(tmp_path, text)
    variants = expand(read_source(path))
    assert [one.id for one in variants][:3] == ["venus-shared-cpus-1", "venus-shared-cpus-2", "venus-copied-cpus-1"]
    assert len(variants) == 8
    assert variants[-1].scenario.guest.cpus == 2
    assert variants[-1].scenario.matrix == Matrix()


def test_one_boot_serves_what_only_a_programs_environment_tells_apart(tmp_path: Path) -> None:
    text = GOOD + '\n[matrix]\ncapset = ["venus", "apir"]\ncpus = [1, 2]\n'
    path = written(tmp_path, text)
    groups = boots(expand(read_source(path)))
    assert [[one.id for one in group] for group in groups] == [["venus-cpus-1", "apir-cpus-1"], ["venus-cpus-2", "apir-cpus-2"]]


def test_scenario_without_matrix_has_one_variant(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    assert [one.id for one in expand(read_source(path))] == ["default"]


def test_variants_that_would_be_called_the_same_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD + '\n[matrix]\ncapset = ["venus", "venus"]\n')
    with pytest.raises(ConfigError, match="line 6: matrix: several variants would be called venus"):
        expand(read_source(path))
    path = written(tmp_path, GOOD + '\n[[variants]]\nname = "a"\n[[variants]]\nname = "b"\n[[variants]]\nname = "a"\n')
    with pytest.raises(ConfigError, match=r"line 11: variants\[2\].name: is the name of another variant, too"):
        expand(read_source(path))


def test_unknown_variant_and_empty_choice_are_told(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    with pytest.raises(ConfigError, match="there is no variant 'apri'"):
        planned([path], Choice(variants=("apri",)))
    with pytest.raises(ConfigError, match="no variant is left to run"):
        planned([path], Choice(keyword="nothing"))


def test_file_that_is_named_twice_is_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, GOOD)
    monkeypatch.chdir(tmp_path)
    (entry,) = planned([Path(path.name), path, tmp_path], Choice())
    assert entry.path == Path(path.name)


def test_folder_without_scenarios_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there are no scenario files"):
        planned([tmp_path], Choice())


def test_folder_that_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "iterdir", refused)
    with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
        planned([tmp_path], Choice())


def test_scenarios_of_one_run_need_different_names(tmp_path: Path) -> None:
    paths = [written(tmp_path, GOOD, "a.toml"), written(tmp_path, GOOD, "b.toml")]
    with pytest.raises(ConfigError, match="several files of this run are named 'good'"):
        planned(paths, Choice())


@pytest.mark.parametrize(
    ("expression", "matching"),
    [
        ("", {"smoke/venus", "smoke/apir", "ops/venus"}),
        ("apir", {"smoke/apir"}),
        ("smoke and not apir", {"smoke/venus"}),
        ("apir or ops", {"smoke/apir", "ops/venus"}),
        ("not (apir or ops)", {"smoke/venus"}),
        ("VENUS", {"smoke/venus", "ops/venus"}),
    ],
)
def test_keyword_expression_matches_like_pytests(expression: str, matching: set[str]) -> None:
    matches = keyword_matcher(expression)
    assert {name for name in ("smoke/venus", "smoke/apir", "ops/venus") if matches(name)} == matching


@pytest.mark.parametrize("expression", ["and", "not", "(apir", "apir venus", "apir and", ")"])
def test_broken_keyword_expression_is_refused(expression: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        keyword_matcher(expression)


def test_key_lines_know_tables_lists_and_quoted_keys() -> None:
    lines = KeyLines('name = "x"\n[a.b]\n"c" = 1\n[[d]]\ne = 1\n[[d]]\ne = 2\n')
    assert [lines.line_of(key) for key in ("name", "a.b.c", "a.b.missing", "d[0].e", "d[1].e", "d[1]", "nothing")] == [
        1,
        3,
        2,
        5,
        7,
        6,
        None,
    ]


def test_the_projects_own_scenarios_load() -> None:
    files = sorted(SCENARIOS.glob("*.toml"))
    assert files
    for path in files:
        assert path.read_text().startswith(f'name = "{path.stem}"')
        load(path)


def test_smoke_asks_for_both_capsets_in_one_boot_and_for_enough() -> None:
    path = SCENARIOS / "smoke.toml"
    variants = expand(read_source(path))
    assert [one.id for one in variants] == ["venus-shared", "apir-copied"]
    assert len(boots(variants)) == 1
    assert [(one.scenario.guest.capset, one.scenario.guest.data_path) for one in variants] == [
        ("venus", "shared"),
        ("apir", "copied"),
    ]
    (check,) = (one for one in variants[0].scenario.checks if isinstance(one, OpsCheck))
    assert check.min_cases >= 300
    assert len(check.ops) >= 14


VARIANTS = """\
name = "named"

[host.environment]
A = "1"

[[variants]]
name = "one"
guest = { capset = "apir", data_path = "copied" }

[[variants]]
name = "two"
host = { environment = { B = "2" } }
checks = [{ kind = "fault", fault = "no-device" }]

[[checks]]
kind = "state"
"""


def test_named_variants_lay_their_settings_over_the_files(tmp_path: Path) -> None:
    path = written(tmp_path, VARIANTS)
    load(path)
    one, two = expand(read_source(path))
    assert (one.id, two.id) == ("one", "two")
    assert (one.scenario.guest.capset, one.scenario.guest.data_path) == ("apir", "copied")
    assert [check.kind for check in one.scenario.checks] == ["state"]
    assert two.scenario.host.environment == {"A": "1", "B": "2"}
    assert [check.kind for check in two.scenario.checks] == ["fault"]


def test_named_variants_and_matrix_combine(tmp_path: Path) -> None:
    path = written(tmp_path, VARIANTS.replace("[host.environment]", "[matrix]\ncpus = [1, 2]\n\n[host.environment]"))
    assert [variant.id for variant in expand(read_source(path))] == ["one-cpus-1", "one-cpus-2", "two-cpus-1", "two-cpus-2"]


def test_problems_of_named_variants_are_told_with_their_place(tmp_path: Path) -> None:
    text = VARIANTS.replace('"no-device"', '"no-devise"').replace("capset =", "capsett =").replace('"two"', '"Two"')
    told = refusal(written(tmp_path, text))
    for expected in (
        "variants[0].guest.capsett: unknown key (did you mean capset?)",
        "variants[1].checks[0].fault: input should be",
        "variants[1].name: 'Two' is no name",
    ):
        assert expected in told


def test_checks_may_be_missing_only_where_every_variant_has_its_own(tmp_path: Path) -> None:
    without = VARIANTS.replace('[[checks]]\nkind = "state"\n', "")
    assert "checks: is missing" in refusal(written(tmp_path, without))
    load(written(tmp_path, without.replace('copied" }', 'copied" }\nchecks = [{ kind = "state" }]')))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('name = "x"\n[[checks]]\nkind = "bench"\n[[checks]]\nkind = "bench"\n', "checks"),
        ('name = "x"\n[[checks]]\nkind = "bench"\n[[add_checks]]\nkind = "bench"\n', "checks"),
        ('name = "x"\n[[variants]]\nname = "a"\nchecks = [{ kind = "bench" }, { kind = "bench" }]\n', "variants[0].checks"),
    ],
)
def test_a_variant_has_one_benchmark_at_most(tmp_path: Path, text: str, place: str) -> None:
    assert f"{place}: has two checks of kind bench, of which one variant can have one" in refusal(written(tmp_path, text))


@pytest.mark.parametrize(
    ("defaults", "settings", "expected"),
    [
        ('ops = ["ADD"]\nmin_casse = 3', (), "line 4: defaults.checks.ops.min_casse: unknown key (did you mean min_cases?)"),
        ('ops = "ADD"', (), "line 3: defaults.checks.ops.ops: input should be a list, not 'ADD'"),
        ('ops = ["ADD"]\npatterns = ["("]', (), "line 4: defaults.checks.ops.patterns: '(' is no regular expression"),
        ('ops = ["ADD"]', ("guest.cpus=3",), "--set guest.cpus: is an axis of the matrix"),
    ],
)
def test_what_defaults_have_is_not_called_missing_beside_another_mistake(
    tmp_path: Path, defaults: str, settings: tuple[str, ...], expected: str
) -> None:
    text = f'name = "x"\n[defaults.checks.ops]\n{defaults}\n[matrix]\ncpus = [1, 2]\n[[checks]]\nkind = "ops"\n'
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load(path, settings)
    (problem,) = caught.value.problems
    assert str(problem).startswith(expected)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ('guest={capset="venus"}', "--set guest: variant 'one' has its own value of this (--set 'variants[0].guest.capset=…'"),
        ("checks[0].deadline_s=9", ""),
        ("variants[1].checks[0].fault=no-window", ""),
        ("guest.cpus=3", "--set guest.cpus: matrix.include[0] has its own value of this (--set 'matrix.include[0].cpus=…'"),
        ("guest={cpus=3}", "--set guest: matrix.include[0] has its own value of this"),
        ("guest={memory_mib=512}", "--set guest: is an axis of the matrix"),
        ("guest.window_mib=64", ""),
        ("name=other", ""),
    ],
)
def test_settings_that_would_change_nothing_are_refused_and_no_others(tmp_path: Path, setting: str, expected: str) -> None:
    matrix = "[matrix]\nmemory_mib = [1024, 2048]\ninclude = [{ memory_mib = 1024, cpus = 1 }]\n\n"
    path = written(tmp_path, VARIANTS.replace("[host.environment]", matrix + "[host.environment]"))
    if expected:
        assert expected in refusal(path, setting)
    else:
        load(path, (setting,))


def test_setting_of_a_check_is_refused_where_every_variant_has_its_own(tmp_path: Path) -> None:
    path = written(tmp_path, VARIANTS.replace('copied" }', 'copied" }\nchecks = [{ kind = "state" }]'))
    expected = "checks[0].deadline_s: variant 'two' has its own value of this (--set 'variants[1].checks[0].deadline_s=…'"
    assert expected in refusal(path, "checks[0].deadline_s=9")
