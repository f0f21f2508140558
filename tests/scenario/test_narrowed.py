from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from lab.errors import ConfigError
from lab.ops.case import BadCaseId
from lab.scenario.expand import LONGEST_ID, boots, expand
from lab.scenario.model_catalog import CatalogCheck
from lab.scenario.model_checks import OpsCheck
from lab.scenario.plan import Choice, planned
from lab.scenario.source import read_source
from tests.scenario.fakes import HEADER_LINE, TEXTS, Script, row
from tests.scenario.small_runs import Running
from tests.scenario.test_file import GOOD, written

SCENARIO = """\
name = "both"
[[checks]]
kind = "state"
[[checks]]
kind = "catalog"
share = 0.1
min_cases = 400
[[checks]]
kind = "ops"
ops = ["ADD", "MUL"]
min_cases = 300
"""
UPSTREAM = "ADD(type=f32,ne=[10,5,4,3],nr=[1,1,1,1],nf=1,perm1=0,src_overlap=0)"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "both.toml"
    path.write_text(SCENARIO)
    return path


def test_a_case_of_the_catalog_leaves_its_check_and_the_state(path: Path) -> None:
    choice = Choice(cases=("ADD(type=f16)", "MUL()"))
    ((variant,),) = (entry.variants for entry in planned([path], choice))
    state, catalog = variant.scenario.checks
    assert state.kind == "state"
    assert isinstance(catalog, CatalogCheck)
    assert (catalog.cases, catalog.min_cases) == (("ADD(type=f16)", "MUL()"), 1)
    assert choice.words == ("--case", "ADD(type=f16)", "--case", "MUL()")


@pytest.mark.parametrize(
    ("choice", "whole"),
    [
        (Choice(), True),
        (Choice(settings=("guest.cpus=1",)), True),
        (Choice(settings=("checks[2].min_cases=1",)), False),
        (Choice(cases=("ADD(type=f16)",)), False),
    ],
    ids=["all", "another machine", "other checks", "one case"],
)
def test_a_case_that_is_not_there_is_missed_where_nobody_changed_what_is_run(path: Path, choice: Choice, *, whole: bool) -> None:
    ((variant,),) = (entry.variants for entry in planned([path], choice))
    assert variant.expectations.whole is whole


def test_a_choice_is_told_in_the_words_that_make_it() -> None:
    choice = Choice(("guest.cpus=1", "guest.gpu=2d"), "a or b", ("venus", "apir"), ("ADD()",), options=("--quick",))
    words = ("--quick", "--set", "guest.cpus=1", "--set", "guest.gpu=2d", "-k", "a or b", "--variant", "venus", "--variant", "apir")
    assert choice.words == (*words, "--case", "ADD()")


def test_a_case_that_is_named_twice_is_told_once(path: Path) -> None:
    path.write_text(SCENARIO.partition('[[checks]]\nkind = "ops"')[0])
    with pytest.raises(ConfigError) as told:
        planned([path], Choice(cases=("MUL()", UPSTREAM, UPSTREAM)))
    assert str(told.value).count(f"no check runs {UPSTREAM}") == 1


def test_a_case_of_upstreams_is_chosen_by_a_pattern_of_its_own(path: Path) -> None:
    ((variant,),) = (entry.variants for entry in planned([path], Choice(cases=(f"{UPSTREAM}#2",))))
    _, ops = variant.scenario.checks
    assert isinstance(ops, OpsCheck)
    assert (ops.ops, ops.min_cases) == (("ADD",), 1)
    assert ops.patterns == (r"type=f32,ne=\[10,5,4,3\],nr=\[1,1,1,1\],nf=1,perm1=0,src_overlap=0$",)


@pytest.mark.parametrize("text", ["ADD(typ=f16)", "ADDED()", "ADD"])
def test_a_case_that_is_none_is_refused(path: Path, text: str) -> None:
    path.write_text(SCENARIO.partition('[[checks]]\nkind = "ops"')[0])
    with pytest.raises(BadCaseId) as refused:
        planned([path], Choice(cases=(text,)))
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize("others", [("MUL(type=f16)",), (UPSTREAM,)])
def test_a_case_that_no_check_runs_is_refused_beside_others(path: Path, others: tuple[str, ...]) -> None:
    kind = "ops" if others == (UPSTREAM,) else "catalog"
    checks = SCENARIO.split("[[checks]]\n")
    path.write_text("[[checks]]\n".join((*checks[:2], *(one for one in checks if f'"{kind}"' in one))))
    lost = "ADD(type=f16)" if kind == "ops" else UPSTREAM
    with pytest.raises(ConfigError, match=rf"--case: no check runs {re.escape(lost)}"):
        planned([path], Choice(cases=(*others, lost)))


def test_a_case_that_one_of_several_variants_runs_is_run_there(path: Path) -> None:
    catalog, ops = 'checks = [{ kind = "catalog" }]', 'checks = [{ kind = "ops", ops = ["ADD"] }]'
    path.write_text(f'name = "x"\n[[variants]]\nname = "a"\n{catalog}\n[[variants]]\nname = "b"\n{ops}\n')
    (entry,) = planned([path], Choice(cases=(UPSTREAM,)))
    assert [variant.id for variant in entry.variants] == ["b"]


@pytest.mark.parametrize("asked", [(TEXTS[0],), (TEXTS[0], "ADD(type=f32,ne=[7,7,7,7])")])
def test_a_case_that_upstream_does_not_have_is_told(running: Running, asked: tuple[str, ...]) -> None:
    script = Script(ops=(HEADER_LINE, row(TEXTS[0])), expected=TEXTS[:1])
    bundle = running(script, cases=asked)
    told = [one.text for one in bundle.findings]
    assert told == ([] if len(asked) == 1 else [f"1 of 2 cases that were named did not run, the first is {asked[1]}"] * 2)
    assert bundle.run.exit == (0 if len(asked) == 1 else 2)


def test_a_scenario_without_a_check_for_it_is_refused(path: Path) -> None:
    path.write_text('name = "state"\n[[checks]]\nkind = "state"\n')
    with pytest.raises(ConfigError, match="no check runs the cases"):
        planned([path], Choice(cases=("ADD()",)))


def test_an_expression_that_matches_nothing_is_told_also_beside_a_case(path: Path) -> None:
    with pytest.raises(ConfigError, match="-k 'nothing' matches none of scenario/variant"):
        planned([path], Choice(keyword="nothing", cases=("ADD()",)))


def test_a_case_that_is_named_twice_is_one_case(path: Path) -> None:
    path.write_text(SCENARIO.replace("share = 0.1", 'cases = ["MUL()", "ADD()", "MUL()"]'))
    for cases, expected in ((), ("MUL()", "ADD()")), (("SUB()", "SUB()"), ("SUB()",)):
        ((variant,),) = (entry.variants for entry in planned([path], Choice(cases=cases)))
        assert [check.cases for check in variant.scenario.checks if isinstance(check, CatalogCheck)] == [expected]


def test_ids_name_folders_and_have_no_more_characters_than_those_may(tmp_path: Path) -> None:
    path = written(tmp_path, f'{GOOD}\n[[variants]]\nname = "{"x" * LONGEST_ID}"\n')
    assert len(expand(read_source(path))[0].id) == LONGEST_ID
    with pytest.raises(ConfigError, match=f"a variant's id, which names folders, would have more than {LONGEST_ID} characters: x"):
        expand(read_source(written(tmp_path, path.read_text().replace("xx", "xxx", 1))))


def test_only_variants_that_are_named_are_planned(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD + '\n[matrix]\ncapset = ["venus", "apir"]\ncpus = [1, 2]\n')
    for asked, keyword in ((("apir-cpus-2", "venus-cpus-1"), ""), ((), "apir-cpus-2 or venus-cpus-1")):
        (plan,) = planned([path], Choice(variants=asked, keyword=keyword))
        assert [one.id for one in plan.variants] == ["venus-cpus-1", "apir-cpus-2"]


def test_scenarios_of_a_folder_come_by_name_and_each_once(tmp_path: Path) -> None:
    for name in ("b", "c", "a"):
        written(tmp_path, GOOD.replace("good", name), f"{name}.toml")
    (tmp_path / "notes.md").touch()
    plan = planned([tmp_path / "c.toml", tmp_path], Choice())
    assert [one.scenario.name for one in plan] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("axis", "count"),
    [
        ('data_path = ["shared", "copied"]', 1),
        ('"host.threads" = [1, 2]', 2),
        ('"guest.memory_mib" = [512, 1024]', 2),
        (f'"implementation.host" = ["builtin", "{sys.executable}"]', 2),
    ],
)
def test_what_a_machine_is_started_with_is_one_thing_for_all_of_its_variants(tmp_path: Path, axis: str, count: int) -> None:
    assert len(boots(expand(read_source(written(tmp_path, f"{GOOD}\n[matrix]\n{axis}\n"))))) == count
