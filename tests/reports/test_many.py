"""The page of many variants and commands: what stands where, and what is told together."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.bundle import read_bundle
from lab.bundle.junit import junit_xml
from reports.render import MOST_COMMANDS, TEMPLATES, commands_of, rendered_report, variant_views
from tests.reports.realistic import write_bundle
from tests.reports.test_render import Page


def test_figures_of_many_variants_stand_beside_their_bars() -> None:
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8").partition("@media (max-width")[0]
    heights = {}
    for rule in (r"\.says div \{ height", r"\.track \{[^}]*height", r"\.stack \{[^}]*height", r"\.stack \+ \.stack \{ margin-top"):
        (found,) = re.findall(rf"^{rule}: ([\d.]+)rem;", style, re.MULTILINE)
        heights[rule.rpartition(" ")[0]] = float(found)
    figure, track, bar, between = heights.values()
    assert figure == track == pytest.approx(bar + between)


def test_figures_have_room_in_their_column() -> None:
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8").partition("@media (max-width")[0]
    columns = re.findall(r"\.row \{[^}]*grid-template-columns: 14.5rem 1fr ([\d.]+)rem;", style)
    character_rem = 0.82 * 0.62  # of a wide face
    words = ("99.9 ms compute 99.9 ms", "99 99.9 ms compute 99.9 ms")
    assert [float(width) > len(text) * character_rem for width, text in zip(columns, words, strict=True)] == [True, True]


def test_more_variants_than_colours_have_numbers(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    assert 'class="nth"' not in rendered_report(folder).read_text()
    run = json.loads((folder / "run.json").read_text())
    names = [f"v{number}" for number in range(7)]
    run["variants"] = [run["variants"][0] | {"variant": name, "logs": ""} for name in names]
    (folder / "run.json").write_text(json.dumps(run))
    call = json.loads((folder / "calls.jsonl").read_text().splitlines()[0])
    (folder / "calls.jsonl").write_text("".join(f"{json.dumps(call | {'variant': name})}\n" for name in names))
    text = rendered_report(folder).read_text()
    for number, name in enumerate(names):
        hue = f"hue{number % 6}"
        assert f'<li class="{hue}"><i></i><span class="nth">{number + 1}</span>{name}</li>' in text
        assert text.count(f'<div class="{hue}"><span class="nth">{number + 1}</span><b>') == 2, "durations, and where they go"


def test_variant_that_was_never_booted_shared_no_boot(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    assert "<small>shared</small>" in rendered_report(folder).read_text()
    record = json.loads((folder / "run.json").read_text())
    record["variants"][1] |= {"status": "error", "reason": "QEMU ended", "boot": None}
    (folder / "run.json").write_text(json.dumps(record))
    text = rendered_report(folder).read_text()
    assert "<small>shared</small>" not in text
    assert "<dt>boot to SSH</dt><dd>\N{EN DASH}</dd>" in text


def test_command_that_a_variant_never_sent_has_no_calls_of_it(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    rows = (folder / "calls.jsonl").read_text().splitlines(keepends=True)
    (folder / "calls.jsonl").write_text("".join(row for row in rows if '"venus"' not in row or '"handshake"' not in row))
    text = rendered_report(folder).read_text()
    assert "handshake<small>0 · 2 calls</small>" in text
    assert "load_library<small>2 · 2 calls</small>" in text


def test_variants_of_one_name_are_told_apart_by_their_scenarios(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    run = json.loads((folder / "run.json").read_text())
    run["variants"][1] |= {"name": "other", "variant": "venus"}
    (folder / "run.json").write_text(json.dumps(run))
    rows = (folder / "results.jsonl").read_text().replace('"variant":"apir"', '"variant":"venus"').splitlines()
    moved = [line.replace('"scenario":"smoke"', '"scenario":"other"') for line in rows]
    (folder / "results.jsonl").write_text("\n".join(rows + moved))
    text = rendered_report(folder).read_text(encoding="utf-8")
    assert '<th scope="col">smoke/venus</th><th scope="col">other/venus</th>' in text
    assert "All cases of venus" not in text


def test_commands_beyond_a_number_are_told_together(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    call = json.loads((folder / "calls.jsonl").read_text().splitlines()[0])
    calls = [call | {"command": f"call {number}", "duration_ns": 10**9 - number} for number in range(MOST_COMMANDS)]
    calls += [call | {"command": f"quick {number}", "duration_ns": 1000, "status": 4 + number // 10} for number in range(12)]
    calls += calls[-1:]
    (folder / "calls.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in calls))
    text = rendered_report(folder).read_text()
    assert "quick 0" not in text
    assert len([label for label in Page(text).images if label and label.startswith("call 7, venus: median")]) == 1
    assert "12 more commands took less time each and have no rows: 13 calls, 13 µs in all, 3 failed." in text
    assert f"here are the {MOST_COMMANDS} that took most time" in text
    (folder / "calls.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in calls[:MOST_COMMANDS]))
    assert "have no rows" not in rendered_report(folder).read_text()


def test_commands_stand_in_the_order_of_the_time_that_they_took_in_all_variants(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    call = json.loads((folder / "calls.jsonl").read_text().splitlines()[0])
    took = (("venus", "first", 9), ("venus", "second", 8), ("apir", "first", 1), ("apir", "second", 4), ("apir", "third", 11))
    calls = [call | {"variant": variant, "command": command, "duration_ns": ms * 10**6} for variant, command, ms in took]
    (folder / "calls.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in calls))
    assert commands_of(variant_views(read_bundle(folder))[0]) == ("second", "third", "first")


@pytest.mark.parametrize(("drift", "told"), [(["libdrm2 2.5, not 2.4"], True), ([], False)])
def test_page_tells_of_the_machine_and_of_packages_that_are_not_as_locked(tmp_path: Path, drift: list[str], *, told: bool) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    record = json.loads((folder / "run.json").read_text())
    record["built"][0]["drift"] = drift
    (folder / "run.json").write_text(json.dumps(record))
    for name in ("results.jsonl", "calls.jsonl"):
        (folder / name).write_text("")
    text = rendered_report(folder).read_text()
    assert "AMD EPYC, 2 cores, 7950 MiB</td>" in text
    assert ("1 packages are not as its lock has them" in text) is told


def test_bar_of_a_command_has_the_shares_of_its_parts(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    call = json.loads((folder / "calls.jsonl").read_text().splitlines()[0])
    call |= {"duration_ns": 100_000, "encode_ns": 10_000, "host_queue_ns": 20_000, "host_compute_ns": 30_000}
    (folder / "calls.jsonl").write_text(f"{json.dumps(call)}\n")
    (folder / "results.jsonl").write_text("")
    shares = re.findall(r'<i class="(\w+)" style="width:([\d.]+)%"></i>', rendered_report(folder).read_text())
    assert shares == [("encode", "10.00"), ("transport", "40.00"), ("queue", "20.00"), ("compute", "30.00")]


JUNIT_ROWS = ("cases", "facts", "findings")


class Counted(list[Any]):
    """Rows that know how often somebody went through them."""

    times = 0

    def __iter__(self) -> Iterator[Any]:
        self.times += 1
        return super().__iter__()


def test_rows_are_gone_through_once_whatever_the_number_of_variants(tmp_path: Path) -> None:
    bundle = read_bundle(write_bundle(tmp_path, variants=tuple("abcdefgh")))
    rows = {name: Counted(getattr(bundle, name)) for name in ("cases", "facts", "findings", "calls", "support")}
    views, _ = variant_views(replace(bundle, **rows))
    assert [len(view.cases) for view in views] == [368] * 8
    assert {name: one.times for name, one in rows.items()} == dict.fromkeys(rows, 1)
    told = junit_xml(replace(bundle, **rows))
    assert told == junit_xml(bundle)
    assert told.count("<testsuite ") == 8
    assert {name: one.times for name, one in rows.items()} == {**dict.fromkeys(rows, 1), **dict.fromkeys(JUNIT_ROWS, 2)}
