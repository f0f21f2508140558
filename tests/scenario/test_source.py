from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from lab.errors import ConfigError
from lab.paths import SCENARIOS
from lab.scenario import load
from lab.scenario.expand import expand
from lab.scenario.lines import KeyLines
from lab.scenario.matrix import combinations
from lab.scenario.model_bench import BenchCheck
from lab.scenario.model_catalog import CatalogCheck
from lab.scenario.model_checks import LieCheck, OpsCheck
from lab.scenario.model_upstream import UpstreamCheck
from lab.scenario.source import read_source, scenario_files_near, whole_tables
from lab.scenario.toml_text import toml_text

BASE = """\
name = "base"
description = "the base"
timeout_s = 100

[defaults.checks.ops]
ops = ["ADD"]
min_cases = 5

[guest]
cpus = 1
memory_mib = 1024

[[checks]]
kind = "state"

[[checks]]
kind = "ops"
"""


def written(folder: Path, text: str, name: str = "file.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def refusal(path: Path, *settings: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(path, settings)
    return str(caught.value)


def ids(path: Path) -> list[str]:
    return [one.id for one in expand(read_source(path))]


def test_tables_merge_lists_replace_and_the_name_stays_the_files_own(tmp_path: Path) -> None:
    written(tmp_path, BASE, "base.toml")
    own = load(written(tmp_path, 'name = "own"\nextends = "base.toml"\n[guest]\ncpus = 4\n'))
    assert (own.name, own.description, own.timeout_s) == ("own", "", 100)
    assert (own.guest.cpus, own.guest.memory_mib) == (4, 1024)
    assert [check.kind for check in own.checks] == ["state", "ops"]
    replaced = load(written(tmp_path, 'name = "own"\nextends = "base.toml"\n[[checks]]\nkind = "state"\n'))
    assert [check.kind for check in replaced.checks] == ["state"]


def test_name_is_not_inherited(tmp_path: Path) -> None:
    written(tmp_path, BASE, "base.toml")
    assert "name: is missing" in refusal(written(tmp_path, 'extends = "base.toml"\n'))


def test_checks_are_added_behind_those_of_the_base_through_a_chain(tmp_path: Path) -> None:
    written(tmp_path, BASE, "base.toml")
    written(tmp_path, 'name = "middle"\nextends = "base.toml"\n[[add_checks]]\nkind = "ops"\nmin_cases = 7\n', "middle.toml")
    top = load(written(tmp_path, 'name = "top"\nextends = "middle.toml"\n[[add_checks]]\nkind = "state"\n'))
    assert [check.kind for check in top.checks] == ["state", "ops", "ops", "state"]
    added = top.checks[2]
    assert isinstance(added, OpsCheck)
    assert (added.ops, added.min_cases) == (("ADD",), 7)


def test_circle_is_refused_with_the_whole_chain(tmp_path: Path) -> None:
    written(tmp_path, 'name = "a"\nextends = "b.toml"\n', "a.toml")
    written(tmp_path, 'name = "b"\nextends = "c.toml"\n', "b.toml")
    written(tmp_path, 'name = "c"\n\nextends = "a.toml"\n', "c.toml")
    told = refusal(tmp_path / "a.toml")
    assert f"{tmp_path}/c.toml: line 3: extends: the files extend each other in a circle" in told
    assert " → ".join(str(tmp_path / f"{name}.toml") for name in "abca") in told


def test_base_that_is_not_there_is_told_where_it_is_named(tmp_path: Path) -> None:
    written(tmp_path, BASE, "base.toml")
    told = refusal(written(tmp_path, 'name = "own"\nextends = "bsae.toml"\n'))
    assert f"line 2: extends: {tmp_path}/bsae.toml: there is no such scenario file (did you mean {tmp_path}/base.toml?)" in told
    assert "line 2: extends: input should be the path" in refusal(written(tmp_path, 'name = "own"\nextends = 3\n'))


def test_problem_of_a_base_is_told_with_its_file_and_line(tmp_path: Path) -> None:
    base = written(tmp_path, BASE.replace("cpus = 1", "cpsu = 1"), "base.toml")
    told = refusal(written(tmp_path, 'name = "own"\nextends = "base.toml"\n\n[guest]\nmemory_mib = 3\n'))
    assert f"{base}: line 10: guest.cpsu: unknown key (did you mean cpus?)" in told
    assert "line 5: guest.memory_mib: input should be greater than or equal to 256" in told
    written(tmp_path, "name = \n", "base.toml")
    assert f"{base}: line 1: is no TOML" in refusal(tmp_path / "file.toml")


def test_problem_of_an_added_check_is_told_where_it_was_added(tmp_path: Path) -> None:
    written(tmp_path, BASE, "base.toml")
    text = 'name = "own"\nextends = "base.toml"\n[[add_checks]]\nkind = "state"\n[[add_checks]]\nkind = "stat"\n'
    assert "line 6: add_checks[1].kind: no such kind of check" in refusal(written(tmp_path, text))
    assert "add_checks: input should be a list" in refusal(written(tmp_path, 'name = "x"\nadd_checks = 3\n'))


def test_problem_of_a_replaced_list_is_not_looked_for_in_the_base(tmp_path: Path) -> None:
    written(tmp_path, BASE.replace("[defaults.checks.ops]", "[defaults.checks.state]").replace('ops = ["ADD"]', ""), "base.toml")
    told = refusal(written(tmp_path, 'name = "own"\nextends = "base.toml"\n\n[[checks]]\nkind = "ops"\n'), "defaults={}")
    assert "file.toml: line 4: checks[0].ops: is missing" in told


def test_paths_of_a_base_start_at_the_bases_folder(tmp_path: Path) -> None:
    library = written(tmp_path, "x", "far/lib.so")
    text = BASE.replace(
        "[guest]", '[host]\nggml_library = "lib.so"\n\n[matrix]\nimplementation.host = ["builtin", "lib.so"]\n\n[guest]'
    )
    written(tmp_path, text, "far/base.toml")
    path = written(tmp_path, 'name = "own"\nextends = "far/base.toml"\n')
    assert load(path).host.ggml_library == str(library)
    assert [one.scenario.implementation.host.path for one in expand(read_source(path))] == ["builtin", str(library)]


PATHS_OF_CHECKS = """\
[defaults.checks.catalog]
reference = "far.so"

[host]
ggml_library = "liar"

[[checks]]
kind = "catalog"

[[checks]]
kind = "catalog"
reference = "own"

[[checks]]
kind = "upstream"
reference = "host"

[[checks]]
kind = "lie"
lies = "honest"
judge = { kind = "catalog", reference = "far.so" }

[[add_checks]]
kind = "bench"
guest_library = "../far/far.so"
host_library = "far.so"

[[variants]]
name = "one"

[[variants]]
name = "two"
checks = [{ kind = "catalog", reference = "far.so" }, { kind = "upstream", reference = "guest" }]
"""


def test_paths_in_checks_of_a_base_start_at_the_bases_folder(tmp_path: Path) -> None:
    library = tmp_path / "far" / "far.so"
    library.parent.mkdir()
    shutil.copy("/proc/self/exe", library)
    written(tmp_path, f'name = "base"\n{PATHS_OF_CHECKS}', "far/base.toml")
    path = written(tmp_path, 'name = "own"\nextends = "far/base.toml"\n')
    one, two = (variant.scenario for variant in expand(read_source(path)))
    catalog, own, upstream, lie, bench = one.checks
    assert isinstance(catalog, CatalogCheck)
    assert isinstance(own, CatalogCheck)
    assert isinstance(upstream, UpstreamCheck)
    assert isinstance(lie, LieCheck)
    assert isinstance(lie.judge, CatalogCheck)
    assert isinstance(bench, BenchCheck)
    assert (catalog.reference, own.reference, upstream.reference, lie.judge.reference) == (
        str(library),
        "own",
        "host",
        str(library),
    )
    assert (bench.guest_library, bench.host_library) == (str(library), str(library))
    assert [getattr(check, "reference", None) for check in two.checks] == [str(library), "guest"]
    alone = written(tmp_path, toml_text(whole_tables(read_source(path))), "elsewhere/alone.toml")
    assert load(alone) == load(path)


def test_defaults_stand_under_everything_else(tmp_path: Path) -> None:
    written(tmp_path, BASE + "\n[defaults.guest]\ncpus = 8\nwindow_mib = 64\n", "base.toml")
    own = load(written(tmp_path, 'name = "own"\nextends = "base.toml"\n[defaults.checks.ops]\nmin_cases = 9\n'))
    assert (own.guest.cpus, own.guest.window_mib) == (1, 64)
    check = own.checks[1]
    assert isinstance(check, OpsCheck)
    assert (check.ops, check.min_cases) == (("ADD",), 9)


def test_wrong_defaults_are_told_where_they_stand(tmp_path: Path) -> None:
    text = 'name = "x"\n[defaults.checks.opps]\n[defaults.checks.ops]\nmin_case = 3\n[defaults.guest]\ncpus = "a"\n'
    text += '[[checks]]\nkind = "state"\n'
    told = refusal(written(tmp_path, text))
    for expected in (
        "line 2: defaults.checks.opps: no such kind of check (did you mean ops?)",
        "line 4: defaults.checks.ops.min_case: unknown key (did you mean min_cases?)",
        "line 6: defaults.guest.cpus: input should be a valid integer, not 'a'",
    ):
        assert expected in told


MATRIX = BASE + '\n[matrix]\nimage = ["guest-6.1", "guest-6.12"]\ncapset = ["venus", "apir"]\n'


def test_matrix_leaves_out_and_puts_in_as_ci_matrices_do(tmp_path: Path) -> None:
    extra = """\
exclude = [{ image = "guest-6.1", capset = "apir" }]
include = [
    { image = "guest-6.12", data_path = "copied" },
    { image = "guest-7", capset = "apir", guest.cpus = 4 },
]
"""
    path = written(tmp_path, MATRIX + extra)
    assert ids(path) == ["guest-6.1-venus", "guest-6.12-venus-copied", "guest-6.12-apir-copied", "guest-7-apir-cpus-4"]
    assert expand(read_source(path))[-1].scenario.guest.cpus == 4


def test_matrix_of_included_entries_alone_has_no_other_combination() -> None:
    entries = [{"cpus": 1, "capset": "venus"}, {"cpus": 2}]
    assert combinations({"include": entries}) == ((("cpus", 1), ("capset", "venus")), (("cpus", 2),))
    assert combinations(None) == ((),)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('exclude = [{ image = "guest-7" }]', "matrix.exclude[0].image: 'guest-7' is no value of that axis: nothing is excluded"),
        ('exclude = [{ imag = "guest-7" }]', "matrix.exclude[0].imag: is no axis of this matrix (did you mean image?)"),
        ("exclude = [{}]", "matrix.exclude[0]: is empty and would exclude everything"),
        ('exclude = [{ capset = "venus" }, { capset = "apir" }]', "matrix: no combination is left"),
        ('exclude = "x"', "matrix.exclude: input should be a list, not 'x'"),
        ('include = [{ capset = "apri" }]', "matrix.include[0].capset: input should be 'venus' or 'apir', not 'apri'"),
        ("include = [{ kernl = 3 }]", "matrix.include[0].kernl: no setting of this name"),
        ("include = [{}]", "matrix.include[0]: is empty"),
        ("include = [\n  { cpus = 1 },\n  { capset = 3 },\n]", "line 24: matrix.include[1].capset: input should be"),
    ],
)
def test_entries_of_a_matrix_without_sense_are_refused(tmp_path: Path, lines: str, expected: str) -> None:
    assert expected in refusal(written(tmp_path, MATRIX + lines + "\n"))


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("checks[1].min_cases=77", 77),
        ("checks.1.min_cases=77", 77),
        ("defaults.checks.ops.min_cases=77", 77),
        ('checks[1]={ kind = "ops", min_cases = 77 }', 77),
    ],
)
def test_setting_reaches_into_lists(tmp_path: Path, setting: str, expected: int) -> None:
    check = load(written(tmp_path, BASE), (setting,)).checks[1]
    assert isinstance(check, OpsCheck)
    assert check.min_cases == expected


def test_setting_makes_new_keys_and_items(tmp_path: Path) -> None:
    settings = ("host.environment.NEW=1", "checks[2].kind=state", 'matrix."guest.cpus"=[1, 2]', "matrix.capset=['apir']")
    path = written(tmp_path, BASE)
    scenario = load(path, settings)
    assert scenario.host.environment == {"NEW": "1"}
    assert [check.kind for check in scenario.checks] == ["state", "ops", "state"]
    assert [one.id for one in expand(read_source(path, settings))] == ["cpus-1-apir", "cpus-2-apir"]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("guest..cpus=3", "--set guest..cpus=3: is no setting"),
        ("checks[9].kind=state", "--set checks[9].kind: there is nothing of this name to set"),
        ("checks[3]=1", "--set checks[3]: there is nothing of this name to set (there are 2 of them"),
        ("name.x=1", "--set name.x: there is nothing of this name to set"),
        ("guest.cpsu=3", "--set guest.cpsu: unknown key (did you mean cpus?)"),
        ("gest.cpus=3", "--set gest: unknown key (did you mean guest?)"),
        ("checks[1].patterns=['(']", "--set checks[1].patterns: '(' is no regular expression"),
        ("matrix.capset=['apri']", "--set matrix.capset[0]: input should be 'venus' or 'apir'"),
    ],
)
def test_wrong_setting_names_the_option(tmp_path: Path, setting: str, expected: str) -> None:
    assert expected in refusal(written(tmp_path, BASE), setting)


def test_setting_that_a_matrix_or_a_variant_would_override_is_refused(tmp_path: Path) -> None:
    told = refusal(written(tmp_path, MATRIX), "guest.capset=apir")
    assert "--set guest.capset: is an axis of the matrix" in told
    named = BASE + '\n[[variants]]\nname = "one"\nguest = { capset = "apir" }\n'
    assert "--set guest.capset: variant 'one' has its own value" in refusal(written(tmp_path, named), "guest.capset=venus")
    load(written(tmp_path, named), ("variants[0].guest.capset=venus",))


def test_only_scenario_files_are_offered_for_one_that_is_not_there(tmp_path: Path) -> None:
    written(tmp_path, '[project]\nname = "other"\n', "pyproject.toml")
    written(tmp_path, "# what it is\n\n" + BASE, "real.toml")
    hint = scenario_files_near(tmp_path / "rael.toml")
    assert hint is not None
    assert str(tmp_path / "real.toml") in hint
    assert "pyproject" not in hint
    assert scenario_files_near(Path("smok.toml")) == f"did you mean {SCENARIOS}/smoke.toml?"


TRICKY = """\
name = 'x' # = [
[a."b.c"]
d = [
    'type=f32,[', # ] comment
    "k = \\" ]",
]
e = { f = 1, g = [{ h = 1.5 }, { h = 1979-05-27 07:32:00 }] }
text = '''
z = 1
'''
[[variants]]
[variants.guest]
cpus = 1
[[variants.checks]]
kind = "x"
[[variants]]
name = "two"
[[variants.checks]]
kind = "y"
"""


def test_key_lines_know_arrays_inline_tables_and_tables_of_items() -> None:
    assert tomllib.loads(TRICKY)
    lines = KeyLines(TRICKY)
    expected = {
        "a.b.c": 2, "a.b.c.d[0]": 4, "a.b.c.d[1]": 5, "a.b.c.e.g[1].h": 7, "variants[0].guest.cpus": 13,
        "variants[0].checks[0].kind": 15, "variants[1].name": 17, "variants[1].checks[0].kind": 19,
    }  # fmt: skip
    assert {key: lines.exact(key) for key in expected} == expected
    assert lines.exact("a.b.c.z") is None


def test_lines_of_a_text_that_is_no_toml_end_and_raise_nothing() -> None:
    for cut in range(len(TRICKY)):
        KeyLines(TRICKY[:cut] + "]}")


def test_every_key_of_the_projects_scenarios_has_a_line() -> None:
    for path in sorted(SCENARIOS.glob("*.toml")):
        lines = KeyLines(path.read_text())
        assert lines.exact("name") == 1
        for number in range(len(tomllib.loads(path.read_text()).get("checks", ()))):
            assert lines.exact(f"checks[{number}].kind"), (path, number)


def test_whole_tables_are_the_same_scenario_in_one_file(tmp_path: Path) -> None:
    written(tmp_path, "x", "far/lib.so")
    written(tmp_path, MATRIX.replace("[guest]", '[host]\nggml_library = "lib.so"\n\n[guest]'), "far/base.toml")
    path = written(tmp_path, 'name = "own"\nextends = "far/base.toml"\n[[add_checks]]\nkind = "state"\n')
    text = toml_text(whole_tables(read_source(path)))
    assert text.startswith('name = "own"\n')
    alone = written(tmp_path, text, "elsewhere/alone.toml")
    assert load(alone) == load(path)
    assert ids(alone) == ids(path)


@pytest.mark.parametrize("tables", [{"a": 1, "t": {"x y": '"\\\n\x7f', "l": [{"b": True}], "e": {}}, "m": [[1.5], []], "n": ["a"]}])
def test_written_toml_reads_back(tables: dict[str, object]) -> None:
    assert tomllib.loads(toml_text(tables)) == tables


def test_kernels_extend_smoke_and_keep_some_of_its_cases() -> None:
    smoke, kernels = (load(SCENARIOS / f"{name}.toml") for name in ("smoke", "kernels"))
    chosen = [next(check for check in one.checks if isinstance(check, OpsCheck)) for one in (smoke, kernels)]
    assert chosen[0].patterns == chosen[1].patterns
    assert set(chosen[0].ops) > set(chosen[1].ops)
    assert (chosen[1].jobs, chosen[1].processes) == (2, 2)
    assert ids(SCENARIOS / "kernels.toml") == ["guest-6.1", "guest-6.12", "guest-7"]


def test_problems_of_all_variants_are_told_together(tmp_path: Path) -> None:
    text = 'name = "x"\n[[checks]]\nkind = "state"\n[matrix]\nkernel = ["6.99", "6.12", "5.1"]\n'
    with pytest.raises(ConfigError) as caught:
        expand(read_source(written(tmp_path, text)))
    assert [one.message for one in caught.value.problems] == ["there is no image 'guest-6.99'", "there is no image 'guest-5.1'"]
