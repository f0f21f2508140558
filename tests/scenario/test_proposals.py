from __future__ import annotations

import json
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lab.bundle import read_bundle
from lab.bundle.outcome import Outcome
from lab.bundle.schema import Status
from lab.cli.app import app
from lab.errors import ConfigError
from lab.scenario.expectations import Situation, expectations_path, load_expectations
from lab.scenario.listener import SilentListener
from lab.scenario.plan import Choice, planned
from lab.scenario.proposals import Seen, edits, scenario_edits, without_entries
from lab.scenario.runner import run
from tests.scenario.fakes import HEADER_LINE, SCENARIO, TEXTS, FakePlatform, Script, row
from tests.scenario.small_runs import run_small

TWO = """\
# stays
[[expect]]
case = "ops/ADD(type=f32,ne=[1*"
kind = "fail"
reason = "a"
link = "l"

# goes
[[expect]]
case = "ops/GONE*"
kind = "fail"
reason = "b"
link = "l"
[expect.when]
capset = "venus"

# stays, too
[[expect]]
case = "ops/MUL*"
kind = "skip"
reason = "c"
link = "l"
"""


def situation(variant: str) -> Situation:
    return Situation(variant, "cpu", variant, "auto", "tcg", "guest-6.12")


def seen(variant: str, **ends: Outcome) -> Seen:
    return Seen(situation(variant), {("ops", case): {end} for case, end in ends.items()})


def bundle_of(script: Script, folder: Path, expectations: str = "") -> Path:
    path = folder / "small.toml"
    path.write_text(SCENARIO)
    known = expectations_path(path, "small")
    known.parent.mkdir(exist_ok=True)
    known.write_text(expectations)
    platform = FakePlatform(script, folder).platform()
    return run(planned([path], Choice()), Choice(), folder / "runs", SilentListener(), platform).folder


def test_new_failure_is_proposed_and_refused_until_it_is_explained(tmp_path: Path) -> None:
    script = Script(ops=(HEADER_LINE, row(TEXTS[0]), row(TEXTS[1], error="NMSE = 1"), row(TEXTS[2])), ops_status=1)
    folder = bundle_of(script, tmp_path)
    done = CliRunner().invoke(app, ["expectations", "update", str(folder), "--write"])
    assert done.exit_code == 0, done.output
    assert f'+case = "ops/{TEXTS[1]}"' in done.output
    path = tmp_path / "expectations" / "small.toml"
    (entry,) = tomllib.loads(path.read_text())["expect"]
    assert entry == {"case": f"ops/{TEXTS[1]}", "kind": "fail", "reason": "", "link": ""}, "it failed in both variants"
    with pytest.raises(ConfigError, match=r"expect\[0\].reason: is empty"):
        load_expectations(path)
    path.write_text(path.read_text().replace('""', '"x"'))
    assert not [edit for edit in edits(read_bundle(folder)) if edit.diff], "nothing is left to propose"


def test_nothing_is_written_unless_asked_for(tmp_path: Path) -> None:
    folder = bundle_of(Script(), tmp_path, TWO.replace("ops/MUL", "ops/NONE"))
    done = CliRunner().invoke(app, ["expectations", "update", str(folder), "--json"])
    assert done.exit_code == 0
    assert '"written": false' in done.output
    assert (tmp_path / "expectations" / "small.toml").read_text() == TWO.replace("ops/MUL", "ops/NONE")


def test_bundle_whose_scenario_is_elsewhere_makes_no_folders_for_it(tmp_path: Path) -> None:
    folder = bundle_of(Script(), tmp_path)
    record = json.loads((folder / "run.json").read_text())
    record["scenarios"][0]["path"] = str(tmp_path / "of" / "others" / "small.toml")
    (folder / "run.json").write_text(json.dumps(record))
    done = CliRunner().invoke(app, ["expectations", "update", str(folder), "--write", "--supported"])
    assert done.exit_code == 2, done.output
    assert "small.toml, which is not there" in done.output
    assert not (tmp_path / "of").exists()


@pytest.mark.parametrize("settings", ["", "[1]", '{"host":{}}', "[" * 5000])
def test_bundle_whose_settings_cannot_be_read_is_refused(tmp_path: Path, settings: str) -> None:
    folder = bundle_of(Script(), tmp_path)
    record = json.loads((folder / "run.json").read_text())
    record["variants"][1]["settings"] = settings
    (folder / "run.json").write_text(json.dumps(record))
    with pytest.raises(ConfigError, match=r"run\.json: variants\[1\]\.settings: cannot be read"):
        list(edits(read_bundle(folder)))


def test_entries_that_fit_nothing_or_whose_cases_pass_are_removed_with_their_comments(tmp_path: Path) -> None:
    folder = bundle_of(Script(), tmp_path, TWO)
    (edit,) = (one for one in edits(read_bundle(folder)) if one.diff)
    assert edit.after == TWO[TWO.index("# stays, too") :]
    assert edit.diff.count("\n-[[expect]]") == 2


def test_entries_are_cut_out_of_the_text_and_nothing_else() -> None:
    assert without_entries(TWO, frozenset({1})) == TWO[: TWO.index("# goes")] + TWO[TWO.index("# stays, too") :]
    assert without_entries(TWO, frozenset()) == TWO
    inline = 'expect = [{ case = "x", kind = "fail", reason = "a", link = "l" }]\n'
    assert without_entries(inline, frozenset({0})) == inline


def test_failure_in_one_of_two_variants_is_proposed_for_that_one(tmp_path: Path) -> None:
    known = load_expectations(tmp_path / "none.toml")
    both = [seen("venus", A=Outcome.FAIL), seen("apir", A=Outcome.PASS)]
    (edit,) = scenario_edits(known, both, whole=True)
    assert edit.after.endswith('link = ""\nwhen = { variant = "venus" }\n')


def test_run_of_a_part_removes_only_what_it_has_shown_to_pass(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(TWO)
    part = [Seen(situation("venus"), {("ops", TEXTS[0]): {Outcome.PASS}})]
    (edit,) = scenario_edits(load_expectations(path), part, whole=False)
    assert edit.after == TWO[TWO.index("# goes") :]


def test_run_of_one_case_removes_nothing_that_it_did_not_run(tmp_path: Path) -> None:
    folder = tmp_path / "expectations"
    folder.mkdir()
    listed = "".join(f"ops/{text}\n" for text in TEXTS)
    (folder / "small-cpu.txt").write_text(listed)
    known = (
        f'[[expect]]\ncase = "ops/{TEXTS[2]}"\nkind = "fail"\nreason = "r"\nlink = "l"\n\n[[supported]]\ncases = "small-cpu.txt"\n'
    )
    (folder / "small.toml").write_text(known)
    script = Script(ops=(HEADER_LINE, row(TEXTS[0])), expected=TEXTS[:1])
    bundle = run_small(tmp_path, script, variants=("venus",), cases=(TEXTS[0],))
    assert bundle.run.status is Status.PASSED
    assert not [edit.diff for edit in edits(bundle) if edit.diff]


def test_list_of_supported_cases_is_begun_and_kept_up_to_date(tmp_path: Path) -> None:
    folder = bundle_of(Script(), tmp_path)
    done = CliRunner().invoke(app, ["expectations", "update", str(folder), "--supported", "--write"])
    assert done.exit_code == 0, done.output
    listed = tmp_path / "expectations" / "small-cpu.txt"
    assert listed.read_text().splitlines() == sorted(f"ops/{text}" for text in TEXTS)
    listed.write_text("# kept\nops/LOST(x)\n" + f"ops/{TEXTS[0]}\n")
    changed = [one for one in edits(read_bundle(folder)) if one.diff]
    assert [one.path.name for one in changed] == ["small-cpu.txt"]
    assert changed[0].after.splitlines() == ["# kept", f"ops/{TEXTS[0]}", f"ops/{TEXTS[1]}", f"ops/{TEXTS[2]}"]


def test_run_that_was_cut_off_proposes_nothing(tmp_path: Path) -> None:
    script = Script(ops=(HEADER_LINE, row(TEXTS[0]), "double free or corruption\n"), ops_status=134)
    folder = bundle_of(script, tmp_path, TWO)
    assert list(edits(read_bundle(folder))) == []
    done = CliRunner().invoke(app, ["expectations", "update", str(folder)])
    assert done.output == "this run says nothing of expectations: none of its variants with cases came to its end\n"


def test_bundle_that_is_none_is_told(tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "x", ignore_errors=True)
    done = CliRunner().invoke(app, ["expectations", "update", str(tmp_path / "x")])
    assert done.exit_code == 2


def test_new_list_takes_the_place_of_no_file_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "expectations" / "small.toml"
    path.parent.mkdir()
    path.write_text('[[supported]]\ncases = "small-cpu.txt"\nwhen = { ggml_library = "cpu", accel = "kvm" }\n')
    (path.parent / "small-cpu.txt").write_text("ops/A\nops/B\n")
    libraries = ("cpu", "/one/libggml-cuda.so", "/other/libggml-cuda.so")
    with_them = [Seen(replace(situation("venus"), ggml_library=one), {("ops", "A"): {Outcome.PASS}}) for one in libraries]
    _, *lists = scenario_edits(load_expectations(path), with_them, whole=True, list_supported=True)
    assert len({edit.path for edit in lists}) == len(libraries)
    assert not any(edit.path.exists() for edit in lists)


def test_case_of_a_guest_commands_no_terminal(tmp_path: Path) -> None:
    folder = bundle_of(Script(), tmp_path)
    rows = (folder / "results.jsonl").read_text()
    (folder / "results.jsonl").write_text(rows.replace(TEXTS[0], "ADD(\\u001b[2J\x9b)"))
    done = CliRunner().invoke(app, ["expectations", "update", str(folder), "--supported"])
    assert done.exit_code == 0, done.output
    assert "+ops/ADD(\u241b[2J\ufffd)" in done.output
    assert not {"\x1b", "\x9b"} & set(done.output)


def test_list_that_two_entries_name_is_edited_once_for_both(tmp_path: Path) -> None:
    path = tmp_path / "expectations" / "small.toml"
    path.parent.mkdir()
    path.write_text(
        "".join(f'[[supported]]\ncases = "both.txt"\nwhen = {{ capset = "{capset}" }}\n' for capset in ("venus", "apir"))
    )
    (path.parent / "both.txt").write_text("# kept\nops/A\nops/LOST\n")
    venus = seen("venus", A=Outcome.PASS, B=Outcome.PASS, ONE=Outcome.PASS, LOST=Outcome.UNSUPPORTED)
    apir = seen("apir", A=Outcome.PASS, B=Outcome.PASS, ONE=Outcome.UNSUPPORTED, LOST=Outcome.PASS)
    _, *lists = scenario_edits(load_expectations(path), [venus, apir], whole=True)
    assert [edit.after for edit in lists] == ["# kept\nops/A\nops/B\n"]


@pytest.mark.parametrize("reason", ['"""\nsee\n[1] below, and\n[expect.x]\n"""', '"one\u2028two\u0085three"', "'''\n# a\n'''"])
def test_entry_whose_reason_has_lines_is_cut_out_whole(reason: str) -> None:
    text = TWO.replace('"b"', reason)
    assert without_entries(text, frozenset({1})) == TWO[: TWO.index("# goes")] + TWO[TWO.index("# stays, too") :]
    kept = without_entries(text, frozenset({0}))
    assert (kept, tomllib.loads(kept)["expect"]) == (text[text.index("# goes") :], tomllib.loads(text)["expect"][1:])
    assert without_entries(text, frozenset({2})) == text[: text.index("# stays, too")]


@pytest.mark.parametrize("written", ['expect = [{ case = "x", kind = "skip", reason = "a", link = "l" }]\n', "supported = []\n"])
def test_file_to_which_nothing_can_be_added_is_refused_and_left_as_it_is(tmp_path: Path, written: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(written)
    failed = [seen("venus", A=Outcome.FAIL, B=Outcome.PASS)]
    with pytest.raises(ConfigError, match=r"x\.toml: would be no TOML"):
        list(scenario_edits(load_expectations(path), failed, whole=False, list_supported=True))
