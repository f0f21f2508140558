from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lab.bench.standard import LOOPBACK, OTHER, WAYS
from lab.bundle import read_bundle
from lab.bundle.schema import BENCH
from reports.bench import Ratio, bench_view
from reports.render import rendered_report
from tests.bench.realistic import ANSWER, token, uncounted_token, write_bench
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
    assert "3 of them out of a guest library's reach" in text
    assert text.count("s reach here: ") == 3
    assert text.count("350 µs by the bare ioctl, its answer not waited for") == 1


def test_page_has_a_column_of_every_way_and_a_row_of_every_call(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    variant = read_bundle(folder).run.variants[0]
    (folder / variant.logs).mkdir(parents=True, exist_ok=True)
    write_bench(folder / variant.logs)
    view = bench_view(folder, variant)
    assert view is not None
    assert len(view.ways) == len({LOOPBACK, *WAYS, OTHER})
    assert {len(cells) for _, cells, _ in (*view.latencies, *view.rates)} == {len(view.ways)}
    told = {name: cells for name, cells, _ in view.latencies}
    for way in ("vm", "vm_02"):
        assert f"{ANSWER[way]['set_4b_sent_us']['p50']:.3g} / " in " ".join(told["tensor_set, 4 B, and an empty call"])
    sent = {name: cells for name, cells, _ in view.rates if name.startswith("1000-node graph again")}
    counts = {"1000-node graph again, commands": "1", "1000-node graph again, bytes sent": "312,000"}
    assert sent == {name: (count,) * len(view.ways) for name, count in counts.items()}
    assert '<th scope="col" class="number">guest, 0.2 alone</th>' in rendered_report(folder).read_text(encoding="utf-8")


def test_page_has_the_ratios_to_a_second_implementation_where_there_are_any(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    variant = read_bundle(folder).run.variants[0]
    (folder / variant.logs).mkdir(parents=True, exist_ok=True)
    write_bench(folder / variant.logs)
    view = bench_view(folder, variant)
    assert view is not None
    ratios = (Ratio("empty_call_us", "0.02", "0.01\N{EN DASH}0.04"), Ratio("set_gib_s 1MiB", "1.5", "1.2\N{EN DASH}1.8"))
    assert view.ratios == ratios
    assert ("set, copied path, GiB/s: 1MiB", "1.5 (1.2\N{EN DASH}1.8)") in {(name, cells[0]) for name, cells, _ in view.rates}
    text = rendered_report(folder).read_text(encoding="utf-8")
    spread = '<td class="number">1.5 <small>(1.2\N{EN DASH}1.8)</small></td>'
    for words in ("Beside the second implementation", "second guest library", "/their/lib.so", ">1d<", ">5ha<", spread):
        assert words in text
    write_bench(folder / variant.logs, {key: value for key, value in ANSWER.items() if key != "ratios"})
    assert "Beside the second implementation" not in rendered_report(folder).read_text(encoding="utf-8")


def test_page_tells_a_token_that_was_not_counted(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    variant = read_bundle(folder).run.variants[0]
    (folder / variant.logs).mkdir(parents=True, exist_ok=True)
    write_bench(folder / variant.logs, ANSWER | {"tokens": [uncounted_token()]})
    assert "copied · \N{EN DASH} calls [\N{EN DASH}]<" in rendered_report(folder).read_text(encoding="utf-8")


def test_page_tells_how_repetitions_of_a_token_are_spread_where_it_is_known(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    variant = read_bundle(folder).run.variants[0]
    (folder / variant.logs).mkdir(parents=True, exist_ok=True)
    write_bench(folder / variant.logs, ANSWER | {"tokens": [token("all", "copied", 2, 1000.0)]})
    text = rendered_report(folder).read_text(encoding="utf-8")
    says = "<div><b>1 ms</b>{}</div><div>[2 ms]{}</div>"
    assert says.format(*(f"<small>{ends}</small>" for ends in ("900 µs\N{EN DASH}1.2 ms", "1.8 ms\N{EN DASH}2.4 ms"))) in text
    known = {key: value for key, value in token("all", "copied", 2, 1000.0).items() if not key.endswith(("_min", "_max"))}
    write_bench(folder / variant.logs, ANSWER | {"tokens": [known]})
    assert says.format("", "") in rendered_report(folder).read_text(encoding="utf-8")


@pytest.mark.parametrize(("value", "told"), [(0.25, "0.25"), (999.4, "999"), (999.6, "1,000"), (123_456.7, "123,457")])
def test_figures_have_no_exponent(tmp_path: Path, value: float, told: str) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    variant = read_bundle(folder).run.variants[0]
    figures = {"p50": value, "p99": value}
    ratios = {"calls_per_s": {"4": value}, "graph_1_us": figures | {"least": value, "most": value}}
    answer = {"vm": {"empty_call_us": figures, "calls_per_s": {"4": value}}, "tokens": [], "ratios": ratios}
    write_bench(folder / variant.logs, answer)
    view = bench_view(folder, variant)
    assert view is not None
    cells = [cell for _, (cell,), _ in (view.latencies[0], view.rates[0])]
    assert cells == [f"{told} / {told}", told]
    assert [one.ratio for one in view.ratios] == [told, told]


def test_page_counts_the_targets_that_nobody_knows_of(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    variant = read_bundle(folder).run.variants[0]
    write_bench(folder / variant.logs)
    view = bench_view(folder, variant)
    assert view is not None
    met, unknown = (sum(one.met is verdict for one in view.record.targets) for verdict in (True, None))
    text = rendered_report(folder).read_text(encoding="utf-8")
    assert met + view.missed + unknown == len(view.record.targets)
    assert unknown > 0
    assert f"{met} met, {view.missed} not met, 3 of them out of a guest library's reach; {unknown} not judged" in text
    known = view.record.model_copy(update={"targets": tuple(one for one in view.record.targets if one.met is not None)})
    (folder / variant.logs / BENCH).write_text(known.model_dump_json())
    assert "; 0 not judged" not in rendered_report(folder).read_text(encoding="utf-8")


def test_page_marks_a_p99_of_too_few_samples(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    variant = read_bundle(folder).run.variants[0]
    figures = {"p50": 200.0, "p99": 234.0}
    answer = {
        "vm": {"empty_call_us": figures | {"samples": 100}, "after_pause_us": figures | {"samples": 99}, "graph_1_us": figures}
    }
    for way, mark in ((answer["vm"], "*"), ({"graph_1_us": figures}, "")):
        write_bench(folder / variant.logs, {"vm": way, "ioctl_us": figures, "tokens": []})
        text = rendered_report(folder).read_text(encoding="utf-8")
        assert text.count("200 / 234") == len(way) + 1
        assert text.count("200 / 234*") == len(mark)
        assert ("of fewer than 100 samples" in text) is bool(mark)


@pytest.mark.parametrize("others", [(), (token("ring", "copied", 9, 3100.0),)], ids=["alone", "beside another"])
def test_token_that_took_no_time_hides_no_benchmark(tmp_path: Path, others: tuple[dict[str, Any], ...]) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    variant = read_bundle(folder).run.variants[0]
    write_bench(folder / variant.logs, ANSWER | {"tokens": [token("all", "copied", 2, 0.0), *others]})
    text = rendered_report(folder).read_text(encoding="utf-8")
    assert "all, copied: 2 calls, 0 µs a token" in text
    assert "cannot be read" not in text


def test_page_tells_the_load_and_how_much_of_a_token_is_computing(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    variant = read_bundle(folder).run.variants[0]
    tokens = [token("0.2 alone", "copied", 9, 2600.0), token("all", "copied", 2, 325.0)]
    write_bench(folder / variant.logs, ANSWER | {"tokens": tokens})
    text = rendered_report(folder).read_text(encoding="utf-8")
    assert "Load 1.8 before and 2.0 after, on 2 cores; 210 s." in text
    shares = re.findall(
        r'<i class="compute" style="width:([\d.]+)%"></i><i class="transport" style="width:([\d.]+)%"></i></div></div>', text
    )
    assert shares == [("25.00", "75.00"), ("100.00", "0.00")], "no more than all of it"


DAMAGED: dict[str, bytes] = {
    "cut off": b'{"answer"',
    "no text": b'{"answer":"\xff"}',
    "a number for a way": b'{"answer":{"vm":3}}',
    "a text for a duration": b'{"answer":{"vm":{"empty_call_us":{"p50":"x","p99":1}}}}',
    "an endless number": b'{"answer":{"vm":{"empty_call_us":{"p50":1' + b"0" * 400 + b',"p99":1}}}}',
    "a token without keys": b'{"answer":{},"tokens":[{}]}',
    **{
        f"a token whose {key} is none": json.dumps({"answer": {}, "tokens": [token("all", "copied", 2, 1.0) | {key: [1]}]}).encode()
        for key in ("nodes", "calls", "bytes", "us", "us_min", "rebuilt_us", "rebuilt_us_max")
    },
    "a token of endless bytes": json.dumps(
        {"answer": {}, "tokens": [token("all", "copied", 2, 1.0) | {"bytes": 10**400}]}
    ).encode(),
    "a native token that is none": json.dumps({"answer": {"token_native_us": "x"}}).encode(),
}


@pytest.mark.parametrize("damaged", DAMAGED.values(), ids=DAMAGED)
def test_page_says_that_a_damaged_benchmark_cannot_be_read(tmp_path: Path, damaged: bytes) -> None:
    folder = write_bundle(tmp_path)
    variant = read_bundle(folder).run.variants[0]
    (folder / variant.logs / BENCH).write_bytes(damaged)
    text = rendered_report(folder).read_text(encoding="utf-8")
    assert text.count("bench.json cannot be read") == 1
    assert "What a call costs" not in text


def test_page_without_a_benchmark_says_nothing_of_it(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    variant = read_bundle(folder).run.variants[0]
    assert bench_view(folder, variant) is None
    text = rendered_report(folder).read_text(encoding="utf-8")
    assert "What a call costs" not in text
    assert "cannot be read" not in text
