from __future__ import annotations

from pathlib import Path

from lab.bundle import read_bundle
from lab.bundle.schema import BENCH
from reports.bench import Ratio, bench_view
from reports.render import rendered_report
from tests.bench.realistic import ANSWER, uncounted_token, write_bench
from tests.reports.realistic import write_bundle
from tests.reports.test_render import Page


def test_page_tells_what_a_call_costs(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    variant = read_bundle(folder).run.variants[0]
    (folder / variant.logs).mkdir(parents=True, exist_ok=True)
    write_bench(folder / variant.logs)
    text = rendered_report(folder).read_text(encoding="utf-8")
    page = Page(text)
    assert "bench0" in page.ids
    assert [link for link in page.links if link == "#bench0"] == ["#bench0"]
    assert "What a token costs" in text
    assert any("0.2 alone, copied: 9 calls" in (label or "") for label in page.images)
    assert "the machine was busy" in text
    assert text.count("✗ not met") == sum(one.met is False for one in bench_view(folder, variant).record.targets)  # type: ignore[union-attr]
    assert "2 of them out of a guest library's reach" in text
    assert text.count("s reach here: ") == 2


def test_page_has_the_ratios_to_a_second_implementation_where_there_are_any(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    variant = read_bundle(folder).run.variants[0]
    (folder / variant.logs).mkdir(parents=True, exist_ok=True)
    write_bench(folder / variant.logs)
    view = bench_view(folder, variant)
    assert view is not None
    assert view.ratios == (Ratio("empty_call_us", "0.02", "0.01\N{EN DASH}0.04"), Ratio("set_gib_s 1MiB", "1.5"))
    text = rendered_report(folder).read_text(encoding="utf-8")
    for words in ("Beside the second implementation", "second guest library", "/their/lib.so", ">1d<", ">5ha<"):
        assert words in text
    write_bench(folder / variant.logs, {key: value for key, value in ANSWER.items() if key != "ratios"})
    assert "Beside the second implementation" not in rendered_report(folder).read_text(encoding="utf-8")


def test_page_tells_a_token_that_was_not_counted(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    variant = read_bundle(folder).run.variants[0]
    (folder / variant.logs).mkdir(parents=True, exist_ok=True)
    write_bench(folder / variant.logs, ANSWER | {"tokens": [uncounted_token()]})
    assert "copied · \N{EN DASH} calls [\N{EN DASH}]<" in rendered_report(folder).read_text(encoding="utf-8")


def test_page_without_a_benchmark_says_nothing_of_it(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    variant = read_bundle(folder).run.variants[0]
    assert bench_view(folder, variant) is None
    (folder / variant.logs).mkdir(parents=True, exist_ok=True)
    (folder / variant.logs / BENCH).write_text('{"answer"')
    assert bench_view(folder, variant) is None
    assert "What a call costs" not in rendered_report(folder).read_text(encoding="utf-8")
