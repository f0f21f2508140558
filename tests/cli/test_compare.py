"""``lab compare`` and ``lab history`` as users and scripts see them."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lab.bundle.outcome import Outcome
from lab.bundle.schema import Status
from lab.cli.app import app
from lab.cli.history import course
from lab.paths import PROJECT
from tests.reports.runs import write_run


def lab(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def last_line(result: Result) -> dict[str, object]:
    answer: dict[str, object] = json.loads(result.stdout.splitlines()[-1])
    return answer


def ok(*cases: str) -> list[tuple[str, Outcome, str]]:
    return [(case, Outcome.PASS, "") for case in cases]


def test_a_slower_run_ends_with_status_1_and_says_what_is_slower(tmp_path: Path) -> None:
    base, new = write_run(tmp_path / "b", [10.0] * 50, ok("a")), write_run(tmp_path / "n", [20.0] * 50, ok("a"))
    found = lab("compare", base, new)
    assert found.exit_code == 1
    assert "regressed  s/v/graph_run.p50_us    10   20  +100.0 %" in found.stdout
    assert "s/v/calls.count" not in found.stdout
    assert found.stdout.splitlines()[-1] == "1 regressed, 2 unchanged"
    assert "s/v/calls.count" in lab("compare", base, new, "--all").stdout
    back = lab("compare", new, base)
    assert back.exit_code == 0
    assert "improved  s/v/graph_run.p50_us" in back.stdout


def test_the_line_of_json_has_every_figure(tmp_path: Path) -> None:
    base, new = write_run(tmp_path / "b", [10.0] * 50, ok("a", "b")), write_run(tmp_path / "n", [10.0] * 50, ok("a"))
    found = lab("compare", base, new, "--json")
    answer = last_line(found)
    same = {"change": 0.0, "p": None, "verdict": "unchanged"}
    assert answer["metrics"] == [
        {"name": "s/v/cases.ok", "base": 2.0, "new": 1.0, "change": -0.5, "p": None, "verdict": "regressed", "cases": ["ops: b"]},
        {"name": "s/v/calls.count", "base": 50.0, "new": 50.0, **same},
        {"name": "s/v/graph_run.p50_us", "base": 10.0, "new": 10.0, **same},
    ]
    assert answer["exit"] == found.exit_code == 1
    assert "no longer ok: ops: b (s/v/cases.ok)" in lab("compare", base, new).stdout


def test_folders_of_runs_are_sides(tmp_path: Path) -> None:
    for day in range(4):
        write_run(tmp_path / "b", [10.0 + day / 10] * 50)
        write_run(tmp_path / "n", [12.0 + day / 10] * 50)
    answer = last_line(lab("compare", tmp_path / "b", tmp_path / "n", "--json"))
    assert answer["notes"] == []
    figures = {one["name"]: one for one in answer["metrics"]}  # type: ignore[attr-defined]
    assert figures["s/v/graph_run.p50_us"]["verdict"] == "regressed"
    assert figures["s/v/graph_run.p50_us"]["base"] == pytest.approx(10.15)
    assert figures["s/v/graph_run.p50_us"]["p"] < 0.001
    same = lab("compare", tmp_path / "b", tmp_path / "n", "--least", "30")
    assert (same.exit_code, same.stdout.splitlines()[-1]) == (0, "2 unchanged")
    assert lab("compare", tmp_path / "b", tmp_path / "n", "--least", "19").exit_code == 1
    told = lab("compare", tmp_path / "b", tmp_path / "n", "--all").stdout
    for side in ("base", "new"):
        first = min((tmp_path / side[0]).iterdir())
        assert f"{side}: {first} and 3 more, 0123456789ab" in told.replace("\n", "")
    assert re.search(r"regressed  s/v/graph_run\.p50_us +10\.[12] +12\.[12] +\+19\.7 % +\de-0\d\n", told)
    assert re.search(r"unchanged  s/v/calls\.count +50 +50 +\+0\.0 % +1\n", told)


def test_single_runs_have_a_bound_of_their_own_unless_one_is_given(tmp_path: Path) -> None:
    base, new = write_run(tmp_path / "b", [10.0] * 50), write_run(tmp_path / "n", [11.0] * 50)
    told = lab("compare", base, new)
    assert (told.exit_code, told.stdout.splitlines()[-1]) == (0, "2 unchanged")
    assert f"base: {base}, 0123456789ab" in told.stdout.replace("\n", "")
    assert "note: fewer than 4 runs in all" in told.stdout
    assert lab("compare", base, new, "--least", "9").exit_code == 1
    text = (base / "run.json").read_text(encoding="utf-8")
    (base / "run.json").write_text(text.replace("0123456789abcdef", ""), encoding="utf-8")
    assert f"base: {base}, no commit" in lab("compare", base, new).stdout.replace("\n", "")


@pytest.mark.parametrize("number", ["nan", "inf"])
@pytest.mark.parametrize("command", ["compare", "history"])
def test_bound_that_nothing_could_be_held_against_is_refused(tmp_path: Path, command: str, number: str) -> None:
    sides = [write_run(tmp_path / side, [us] * 50) for side, us in (("b", 10.0), ("n", 30.0))]
    told = lab(command, *sides, "--least", number)
    assert told.exit_code == 2
    assert "Invalid value for '--least': " in told.stderr


def test_counts_that_never_differ_are_certain(tmp_path: Path) -> None:
    for _ in range(2):
        write_run(tmp_path / "b", [10.0] * 50)
        write_run(tmp_path / "n", [10.0] * 60)
    told = lab("compare", tmp_path / "b", tmp_path / "n", "--page", tmp_path / "page.html").stdout
    assert re.search(r"regressed  s/v/calls\.count +50 +60 +\+20\.0 % +0\n", told)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<td class="number quiet">0</td>' in page


def test_one_figure_in_common_is_enough(tmp_path: Path) -> None:
    base, new = write_run(tmp_path / "b", [10.0] * 50), write_run(tmp_path / "n", [10.0] * 50, command="other")
    told = lab("compare", base, new)
    assert (told.exit_code, told.stdout.splitlines()[-1]) == (0, "1 unchanged, 1 missing, 1 added")


def test_parts_of_single_runs_are_looked_at_and_of_several_they_are_not_read(tmp_path: Path) -> None:
    for day in range(2):
        write_run(tmp_path / "b", [10.0 + day / 10] * 26 + [30.0] * 24)
        write_run(tmp_path / "n", [20.0 + day / 10] * 50)
    single = lab("compare", *(next((tmp_path / side).iterdir()) for side in "bn"))
    assert (single.exit_code, single.stdout.splitlines()[-1]) == (0, "2 unchanged")
    assert "reading remote calls" in single.stderr
    several = lab("compare", tmp_path / "b", tmp_path / "n")
    assert (several.exit_code, several.stdout.splitlines()[-1]) == (1, "1 regressed, 1 unchanged")
    assert f"reading 2 runs of {tmp_path / 'b'}" in several.stderr
    assert "reading remote calls" not in several.stderr


def test_many_lost_cases_are_counted(tmp_path: Path) -> None:
    names = [f"case {number:02}" for number in range(25)]
    base = write_run(tmp_path / "b", (), ok(*names))
    for lost, more in ((20, None), (25, "and 5 more (s/v/cases.ok)")):
        ends = [(name, Outcome.FAIL if number < lost else Outcome.PASS, "") for number, name in enumerate(names)]
        told = lab("compare", base, write_run(tmp_path / "n", (), ends)).stdout
        assert told.count("no longer ok:") == 20
        assert ("more (s/v/cases.ok)" in told) is (more is not None)
        assert more is None or more in told


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "b", [10.0] * 50)
    other = write_run(tmp_path / "n", [10.0] * 50, status=Status.INTERRUPTED)
    (tmp_path / "empty").mkdir()
    for words, says in (
        ((run, tmp_path / "empty"), "empty: is neither a run bundle nor a folder of some"),
        ((tmp_path / "none", run), "none: is neither a run bundle nor a folder of some"),
        ((run, other), "have no figure in common"),
    ):
        ended = lab("compare", *words, "--json")
        answer = last_line(ended)
        assert ended.exit_code == answer["exit"] == 2
        assert says in str(answer["error"])
        assert (answer["metrics"], answer["notes"]) == ([], [])
    assert "s/v did not come to its end (interrupted)" in lab("compare", run, other).stderr


def test_a_run_s_own_words_reach_no_terminal_as_they_are(tmp_path: Path) -> None:
    odd = "\\u001b[31m"
    for number, us in enumerate((9.0, 9.0, 9.0, 9.1, 1.0, 1.0, 1.1)):
        folder = write_run(tmp_path / ("b" if us > 5 else "n"), [us] * 50, ok("a\x1b[31m"), command="\x1b]0;x\x07")
        text = (folder / "run.json").read_text(encoding="utf-8")
        for key, before in (("processor", odd if number else ""), ("commit", odd), ("started", f"{number} ")):
            text = text.replace(f'"{key}": "', f'"{key}": "{before}')
        (folder / "run.json").write_text(text, encoding="utf-8")
        if us < 5:
            (folder / "results.jsonl").write_text("")
    (tmp_path / "b" / "\x1b[31m").mkdir()
    (tmp_path / "b" / "\x1b[31m" / "run.json").write_text("{")
    told = lab("history", tmp_path / "b", tmp_path / "n").stdout
    assert "note: left out" in told
    assert "(2) " in told
    assert "improved" in told
    (tmp_path / "b" / "\x1b[31m" / "run.json").unlink()
    compared = lab("compare", tmp_path / "b", tmp_path / "n", "--all").stdout
    assert "no longer ok" in compared
    assert "different machines" in compared
    assert "\x1b" not in told + compared


def test_history_tells_courses_and_changes(tmp_path: Path) -> None:
    for us in (10.0, 10.1, 9.9, 10.0, 20.0, 20.2, 19.8, 20.1):
        folder = write_run(tmp_path, [us] * 50)
        started = f'"started": "2026-01-{len(list(tmp_path.iterdir())):02}'
        (folder / "run.json").write_text((folder / "run.json").read_text().replace('"started": "2026-01-01', started))
    told = lab("history", tmp_path)
    assert told.exit_code == 0
    assert "s/v/graph_run.p50_us     8     10    20.1  ▁▁▁▁████" in told.stdout
    assert "regressed s/v/graph_run.p50_us: 10 → 20.1 (+100.5 %) since" in told.stdout
    assert re.search(r"\(0123456789ab\), p \de-\d\d\n", told.stdout)
    answer = last_line(lab("history", tmp_path, "--json", "--figure", "*p50_us"))
    (series,) = answer["series"]  # type: ignore[misc]
    (change,) = answer["changes"]  # type: ignore[misc]
    assert [point["value"] for point in series["points"]] == [10.0, 10.1, 9.9, 10.0, 20.0, 20.2, 19.8, 20.1]
    place = {"name": "s/v/graph_run.p50_us", "machine": "a processor, 2 cores, tcg"}
    assert {**series, "points": []} == {**place, "more_is_better": False, "points": []}
    point = {"run": folder.name, "started": "2026-01-08T00:00:00Z", "commit": "0123456789abcdef", "value": 20.1}
    assert series["points"][-1] == point
    at = {"run": series["points"][4]["run"], "commit": "0123456789abcdef"}
    sizes = {"before": 10.0, "after": pytest.approx(20.05), "change": pytest.approx(1.005)}
    assert {**change, "p": 0} == {**place, **at, **sizes, "p": 0, "verdict": "regressed"}
    assert 0 < change["p"] < 0.001
    assert answer["exit"] == 0, "a history judges nothing"
    assert "no figure changed for good" in lab("history", tmp_path, "--least", "150").stdout
    assert "no figure changed for good" not in lab("history", tmp_path, "--least", "99").stdout


def test_history_is_of_the_runs_of_this_checkout_where_no_folder_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And changes by a twentieth are told where nothing else is asked for."""
    monkeypatch.setattr("lab.paths.RUNS", tmp_path)
    for us in (100.0, 100.1, 99.9, 106.0, 106.1, 105.9):
        write_run(tmp_path, [us] * 50)
    told = lab("history")
    assert "regressed s/v/graph_run.p50_us: 100 → 106 (+6.0 %)" in told.stdout
    assert "looking for changes of 2 figures in 6 runs" in told.stderr


def test_history_passes_over_what_it_cannot_read_and_says_so(tmp_path: Path) -> None:
    write_run(tmp_path, [10.0] * 50)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    told = lab("history", tmp_path)
    assert told.exit_code == 0
    assert "note: left out:" in told.stdout
    assert "broken/run.json: cannot be read" in told.stdout
    (note,) = last_line(lab("history", tmp_path, "--json", "--page", tmp_path / "page.html"))["notes"]  # type: ignore[misc]
    assert "broken/run.json: cannot be read" in note
    assert "broken/run.json: cannot be read" in (tmp_path / "page.html").read_text(encoding="utf-8")
    refused = lab("history", tmp_path, "--figure", "nothing", "--json")
    assert refused.exit_code == 2
    assert "1 runs have no figure that fits 'nothing'" in str(last_line(refused)["error"])
    (tmp_path / "empty").mkdir()
    answer = last_line(lab("history", tmp_path / "empty", "--json"))
    assert "no run bundle that can be read" in str(answer["error"])
    assert (answer["series"], answer["changes"], answer["notes"], answer["exit"]) == ([], [], [], 2)


def test_history_names_the_folders_that_have_no_runs(tmp_path: Path) -> None:
    """But where there is no run at all it says how to make one."""
    good, empty, none = write_run(tmp_path / "b", [10.0] * 50), tmp_path / "empty", tmp_path / "none"
    empty.mkdir()
    notes = last_line(lab("history", none, good, empty, none, "--json"))["notes"]
    assert notes == [f"left out: {folder} is neither a run bundle nor a folder of some" for folder in (none, empty)]
    assert "lab run scenarios/smoke.toml makes one" in lab("history", none, empty).stderr


def test_a_folder_that_may_not_be_looked_into_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, closed = write_run(tmp_path / "b", [10.0] * 50), write_run(tmp_path / "b", [10.0] * 50)
    new = write_run(tmp_path / "n", [10.0] * 50)
    stat = Path.stat

    def refused(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if path.is_relative_to(closed) and path != closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return stat(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", refused)
    says = f"left out: {closed} may not be looked into"
    for command in (("compare", tmp_path / "b", new), ("compare", base, tmp_path / "b"), ("history", tmp_path / "b")):
        ended = lab(*command, "--json")
        notes = last_line(ended)["notes"]
        assert isinstance(notes, list)
        assert (ended.exit_code, notes[0]) == (0, says)
    for command in (("compare", base, closed), ("compare", closed, base), ("history", closed)):
        ended = lab(*command, "--json")
        assert ended.exit_code == 2
        assert closed.name in str(last_line(ended)["error"])
        assert "may not be looked into" in str(last_line(ended)["error"])


def test_a_folder_whose_runs_may_not_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = write_run(tmp_path / "b", [10.0] * 50)

    def refused(path: Path) -> Iterator[Path]:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "iterdir", refused)
    ended = lab("compare", base, tmp_path, "--json")
    assert (ended.exit_code, last_line(ended)["error"]) == (2, f"{tmp_path}: may not be looked into")
    for twice in ((), (tmp_path,)):
        answer = last_line(lab("history", base, tmp_path, *twice, "--json"))
        assert answer["notes"] == [f"left out: {tmp_path} may not be looked into"]
    assert str(last_line(lab("history", tmp_path, tmp_path, "--json"))["error"]).count("may not be looked into") == 1


def test_machines_are_told_apart(tmp_path: Path) -> None:
    write_run(tmp_path, [10.0] * 50, processor="one")
    write_run(tmp_path, [10.0] * 50, processor="two")
    told = lab("history", tmp_path).stdout
    assert "s/v/graph_run.p50_us (1)" in told
    assert "s/v/graph_run.p50_us (2)" in told
    assert "(2) two, 2 cores, tcg" in told


def test_where_there_is_little_room_names_are_folded_and_numbers_are_whole(tmp_path: Path) -> None:
    name = "a" * 150
    base, new = write_run(tmp_path / "b", [1e5] * 50, command=name), write_run(tmp_path / "n", [2e5] * 50, command=name)
    told = lab("compare", base, new).stdout
    assert re.search(r"regressed  s/v/a+ +100,000  200,000  \+100\.0 %", told)
    courses = lab("history", base).stdout
    assert re.search(r"s/v/a+ +1  100,000  100,000  ▁ *\n", courses)
    assert "…" not in told + courses


def test_a_course_goes_from_the_least_to_the_most_of_the_newest() -> None:
    assert course([1.0, 2.0, 8.0]) == "▁▂█"
    assert course([3.0]) == "▁"
    assert course([float(value) for value in range(8)]) == "▁▂▃▄▅▆▇█"
    assert len(course([float(value) for value in range(100)])) == 30
    assert course([1000.0, *map(float, range(30))])[0] == "▁"


def test_pages_are_written_where_they_are_asked_for(tmp_path: Path) -> None:
    base, new = write_run(tmp_path / "b", [10.0] * 50), write_run(tmp_path / "n", [20.0] * 50)
    page = tmp_path / "made" / "page.html"
    assert lab("compare", base, new, "--page", page).exit_code == 1
    assert re.search(r">10</td>\s*<td[^>]*>20</td>\s*<td[^>]*>\+100\.0 %<", text := page.read_text(encoding="utf-8"))
    assert re.findall(r'class="(old|now)" cx="([0-9.]+)"', text)[:2] == [("old", "8.0"), ("now", "192.0")]
    assert lab("history", tmp_path / "b", "--page", page).exit_code == 0
    assert "Every figure (2)" in page.read_text(encoding="utf-8")
    (tmp_path / "file").write_text("")
    refused = lab("compare", base, new, "--page", tmp_path / "file" / "page.html", "--json")
    assert (refused.exit_code, last_line(refused)["exit"]) == (2, 2)


def test_a_page_names_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    base, new, odd = tmp_path / "b", tmp_path / "n", os.fsdecode(b"odd \xff")
    write_run(base, [10.0] * 50)
    write_run(new, [10.1] * 50)
    write_run(new, [10.0] * 50, status=Status.INTERRUPTED).rename(new / odd)

    def page_of(*words: str | Path) -> str:
        page = tmp_path / "page.html"
        argv = (sys.executable, "-c", "import lab.cli; lab.cli.main()", *words, "--page", page)
        done = subprocess.run(argv, capture_output=True, env={**os.environ, "PYTHONPATH": str(PROJECT)}, check=False)
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
        return page.read_text(encoding="utf-8")

    assert "odd \\udcff: s/v did not come to its end" in page_of("compare", base, new)
    (new / odd / "run.json").write_text("{")
    assert re.search(r"left out: .*/odd \\udcff/run\.json", page_of("history", new))


def test_another_way_to_the_same_run_is_no_other_run(tmp_path: Path) -> None:
    write_run(tmp_path / "runs", [10.0] * 50)
    (tmp_path / "link").symlink_to("runs")
    answer = last_line(lab("history", tmp_path / "runs", tmp_path / "runs" / ".." / "runs", tmp_path / "link", "--json"))
    assert [len(one["points"]) for one in answer["series"]] == [1, 1]  # type: ignore[attr-defined]
    write_run(tmp_path / "more", [10.0] * 50, name="more")
    answer = last_line(lab("history", tmp_path / "runs", tmp_path / "more", "--json"))
    assert [len(one["points"]) for one in answer["series"]] == [2, 2]  # type: ignore[attr-defined]


def test_a_run_counts_once_on_its_side(tmp_path: Path) -> None:
    """Twice the same run has no scatter, and whatever differs from it would be certain."""
    for side, us in (("b", 10.0), ("n", 10.5)):
        run = write_run(tmp_path / side, [us] * 50)
        (tmp_path / side / "link").symlink_to(run.name)
        shutil.copytree(run, tmp_path / side / "copy")
    told = lab("compare", tmp_path / "b", tmp_path / "n", "--all")
    assert (told.exit_code, told.stdout.splitlines()[-1]) == (0, "2 unchanged")
    assert "note: fewer than 4 runs in all" in told.stdout


def test_a_run_of_both_sides_is_no_witness_for_itself(tmp_path: Path) -> None:
    """BASE loses it, else NEW does; where both sides are the same they are compared as they are."""
    runs = [write_run(tmp_path / "runs", [10.0] * 50, ok("a")) for _ in range(3)]
    bad = write_run(tmp_path / "runs", [10.0] * 50, [("a", Outcome.FAIL, "")])
    answer = last_line(lab("compare", tmp_path / "runs", bad, "--json"))
    assert answer["exit"] == 1
    assert answer["metrics"][0]["cases"] == ["ops: a"]  # type: ignore[index]
    assert answer["notes"] == ["left out of BASE: 1 of its 4 runs, which NEW has, too"]
    answer = last_line(lab("compare", runs[0], tmp_path / "runs", "--json"))
    assert (answer["exit"], answer["metrics"][0]["new"]) == (1, 0.0)  # type: ignore[index]
    assert answer["notes"] == ["left out of NEW: 1 of its 4 runs, which BASE has, too"]
    answer = last_line(lab("compare", tmp_path / "runs", tmp_path / "runs", "--json"))
    assert (answer["exit"], answer["notes"]) == (0, [])
