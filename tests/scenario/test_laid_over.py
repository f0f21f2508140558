"""What is laid over what: defaults, the file, settings of the command line, variants and the matrix."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import ConfigError
from lab.scenario import load
from lab.scenario.expand import expand
from lab.scenario.model_catalog import CatalogCheck
from lab.scenario.source import read_source


def test_what_a_file_extends_is_looked_for_beside_the_file_itself_whatever_link_leads_to_it(tmp_path: Path) -> None:
    base = "name = 'base'\nguest = { memory_mib = 1024 }\nchecks = [{ kind = 'state' }]\n"
    own = tmp_path / "far" / "own.toml"
    own.parent.mkdir()
    own.with_name("base.toml").write_text(base)
    own.write_text("name = 'own'\nextends = 'base.toml'\nguest = { cpus = 4 }\n")
    link = tmp_path / "link.toml"
    link.symlink_to(own)
    assert load(link) == load(own)
    link.with_name("base.toml").write_text(base.replace("1024", "2048"))
    assert load(link).guest.memory_mib == 1024, "nothing is taken from beside the link"


def test_thresholds_and_costs_of_defaults_stand_under_those_of_a_check(tmp_path: Path) -> None:
    limits = "[defaults.checks.ops.thresholds]\nwall_s = 60\ncases_per_s = 2\n"
    defaults = f"[defaults.checks.ops]\nops = ['ADD']\n{limits}[defaults.checks.catalog.cost]\nruns = 5\nor_ms = 9\n"
    kinds = ("{ kind = 'ops', thresholds = { cases_per_s = 3 } }", "{ kind = 'catalog', cost = { runs = 7 } }", "{ kind = 'ops' }")
    variant = "[[variants]]\nname = 'v'\nchecks = [{ kind = 'catalog', cost = { or_ms = 8 } }]\n"
    path = tmp_path / "x.toml"
    path.write_text(f"name = 'x'\nchecks = [{', '.join(kinds)}]\n{defaults}{variant}")
    ops, catalog, plain = load(path).checks
    assert (ops.thresholds.wall_s, ops.thresholds.cases_per_s) == (60, 3)
    assert (plain.thresholds.wall_s, plain.thresholds.cases_per_s) == (60, 2)
    assert isinstance(catalog, CatalogCheck)
    assert catalog.cost is not None
    assert (catalog.cost.runs, catalog.cost.or_ms) == (7, 9)
    (own,) = expand(read_source(path))[0].scenario.checks
    assert isinstance(own, CatalogCheck)
    assert own.cost is not None
    assert (own.cost.runs, own.cost.or_ms) == (5, 8)


def test_what_is_wrong_in_a_table_of_defaults_is_told_there_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    check = "[[checks]]\nkind = 'ops'\nops = ['ADD']\nthresholds = { wall_s = 3 }\n"
    path.write_text(f"name = 'x'\n[defaults.checks.ops.thresholds]\ncases_per_s = -2\n{check}")
    with pytest.raises(ConfigError) as caught:
        load(path)
    (problem,) = caught.value.problems
    assert (problem.key, problem.line) == ("defaults.checks.ops.thresholds.cases_per_s", 3)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("variants[0].guest.cpus=4", "--set variants[0].guest.cpus: is an axis of the matrix, whose values come after this one"),
        ("variants.1.guest.cpus=4", "--set variants[1].guest.cpus: is an axis of the matrix"),
        ("variants[0].guest={cpus=4}", "--set variants[0].guest: is an axis of the matrix"),
        ('variants[0]={name="a",guest={cpus=4}}', "--set variants[0]: is an axis of the matrix"),
        ('variants=[{name="a",guest={cpus=4}}]', "--set variants: is an axis of the matrix"),
        ("variants[0].guest.memory_mib=2048", "--set variants[0].guest.memory_mib: matrix.include[0] has its own value of this"),
        ("variants[0].guest.window_mib=64", ""),
        ("variants[0].guest={window_mib=64}", ""),
        ('variants=[{name="a",guest={window_mib=64}}]', ""),
        ("variants=[]", ""),
    ],
)
def test_setting_of_a_variant_is_refused_where_the_matrix_comes_after_it(tmp_path: Path, setting: str, expected: str) -> None:
    matrix = "[matrix]\ncpus = [1, 2]\ninclude = [{ cpus = 1, memory_mib = 1024 }]\n"
    path = tmp_path / "x.toml"
    path.write_text(f"name = 'x'\nchecks = [{{ kind = 'state' }}]\n{matrix}[[variants]]\nname = 'a'\n[[variants]]\nname = 'b'\n")
    if not expected:
        load(path, (setting,))
        return
    with pytest.raises(ConfigError) as caught:
        load(path, (setting,))
    assert expected in str(caught.value)
