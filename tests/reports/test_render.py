from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest

from lab.bundle.outcome import Outcome
from reports.render import SYMBOLS, area_path, bytes_text, duration_text, few_mark, rendered_report
from reports.store import bundles, newest_bundle
from tests.bench.realistic import write_bench
from tests.reports.realistic import write_bundle

VOID = {"meta", "br", "link", "img", "input", "hr", "path"}
MAX_PAGE_BYTES = 1_000_000


class Page(HTMLParser):
    """Checks that tags close, and collects what the page links to and what it is told for those who cannot see it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.images: list[str | None] = []
        self.sources: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "a":
            self.links.append(values["href"] or "")
        if values.get("id"):
            self.ids.append(values["id"] or "")
        if values.get("role") == "img":
            self.images.append(values.get("aria-label"))
        if values.get("src"):
            self.sources.append(values["src"] or "")

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("failing"), failing=True)


@pytest.fixture(scope="module")
def text(failing: Path) -> str:
    return rendered_report(failing).read_text(encoding="utf-8")


def test_page_works_offline_and_is_small(text: str) -> None:
    page = Page(text)
    assert page.sources == []
    assert "<script" not in text
    assert not re.search(r"https?://", text)
    assert len(text.encode()) < MAX_PAGE_BYTES


def test_every_link_leads_somewhere(failing: Path, text: str) -> None:
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids
        else:
            assert (failing / link).is_file(), link


def test_plots_are_told_in_words_too(text: str) -> None:
    page = Page(text)
    assert len(page.images) > 20
    assert all((label and "venus" in label) or (label and "apir" in label) for label in page.images)


def test_findings_stand_before_everything_else(text: str) -> None:
    assert text.index('id="findings"') < text.index('id="outcomes"') < text.index('id="durations"') < text.index('id="environment"')
    assert "host crash: QEMU ended with signal 11" in text
    assert "40 of 41" in text


def test_failure_that_was_expected_is_no_alarm_among_the_outcomes(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, failing=True)
    alarm = '<span class="bad"><span aria-hidden="true">✗</span> 40 of 41</span>'
    assert alarm in rendered_report(folder).read_text()
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    rows = [row | {"expected": "fail", "reason": "known"} if row.get("outcome") == "fail" else row for row in rows]
    (folder / "results.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    text = rendered_report(folder).read_text()
    assert alarm.replace("bad", "quiet") in text
    assert "<small>1 fail: 1 as expected</small>" in text


def test_state_tells_what_was_seen_where_it_is_no_repetition(text: str) -> None:
    rows = re.findall(r"<td>(guest kernel|empty call, p50)</td><td[^>]*>([^<]*)</td><td[^>]*>([^<]*)</td>", text)
    assert set(rows) == {("guest kernel", "6.12.57+deb13-amd64", "the same"), ("empty call, p50", "≤ 5 µs", "4.25 µs")}


def test_text_from_outside_is_escaped(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, failing=True)
    rows = (folder / "results.jsonl").read_text().replace("[ADD] ERR", "<script>alert(1)</script>")
    (folder / "results.jsonl").write_text(rows)
    text = rendered_report(folder).read_text()
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_path_from_outside_is_no_link_that_does_something(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    path = folder / "run.json"
    path.write_text(path.read_text().replace('"scenario/smoke.toml"', '"javascript:alert(1)"'))
    page = rendered_report(folder).read_text()
    assert 'href="./javascript:alert(1)"' in page
    assert 'href="javascript:' not in page


def test_log_of_any_name_is_linked_and_no_link_does_something(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    path = folder / "run.json"
    path.write_text(path.read_text().replace('"logs/venus"', '"javascript:alert(1)"'))
    logs = folder / "javascript:alert(1)"
    logs.mkdir()
    names = [b"a#b?.log", b"a%41.log", b"no text \xff\xfe.log"]
    for name in names:
        (logs / os.fsdecode(name)).touch()
    text = rendered_report(folder).read_text(encoding="utf-8")
    links = [link for link in Page(text).links if "alert" in link]
    assert all(link.startswith("./") for link in links)
    assert [os.fsencode(folder / os.fsdecode(unquote_to_bytes(link))) for link in links] == [
        os.fsencode(logs) + b"/" + name for name in names
    ]


def test_text_from_outside_is_plain_in_the_summary(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, failing=True)
    hostile = "x</li> | <img src=http://evil/p.png> [click](http://evil) `*a*` _b_ # \\\\ &lt;" + "y" * 1000
    rows = (folder / "results.jsonl").read_text().replace("[ADD] ERR", hostile)
    (folder / "results.jsonl").write_text(rows)
    record = json.loads((folder / "run.json").read_text())
    record["variants"][0] |= {"status": "skipped", "reason": f"{hostile}\n# a second line"}
    (folder / "run.json").write_text(json.dumps(record))
    rendered_report(folder)
    summary = (folder / "summary.md").read_text()
    lines = [line for line in summary.splitlines() if "evil" in line]
    assert len(lines) == 2
    for line in lines:
        text = line.removeprefix("- **case failed** ")
        assert not re.search(r"(?<!\\)(\\\\)*[`*_\[\]<>|#&]", text), line
        assert r"x\</li\> \| \<img src=http://evil/p.png\> \[click\](http://evil) \`\*a\*\` \_b\_ \# " in text
        assert len(text) < 700
    assert "a second line" not in summary


def test_summary_commands_no_terminal_and_none_of_its_texts_is_markup(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, failing=True)
    hostile = "\x1b]0;title\x07\x9b2J<b>"
    path = folder / "results.jsonl"
    path.write_text(path.read_text().replace("[ADD] ERR", json.dumps(hostile)[1:-1]))
    record = json.loads((folder / "run.json").read_text())
    record |= dict.fromkeys(("name", "started", "lab_version", "commit"), hostile)
    (folder / "run.json").write_text(json.dumps(record))
    rendered_report(folder)
    summary = (folder / "summary.md").read_text()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", summary)
    assert summary.count("\N{REPLACEMENT CHARACTER}\\]0;title") == 5
    assert "<b>" not in summary.replace("\\<b", "")


def test_summary_has_the_variants_and_the_findings(failing: Path, text: str) -> None:
    assert text
    summary = (failing / "summary.md").read_text()
    assert "| smoke | venus | Passed | 368 | 0 | 0 | 0 |" in summary
    assert "- **interrupted** (smoke/apir, product): host crash" in summary


def test_percentile_of_too_few_calls_is_marked(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    record = json.loads((folder / "run.json").read_text())
    record["variants"][0]["calls"] |= {"count": 60, "p99_us": 920.0}
    (folder / "run.json").write_text(json.dumps(record))
    calls = [line for line in (folder / "calls.jsonl").read_text().splitlines() if '"buffer_set_tensor"' in line]
    (folder / "calls.jsonl").write_text("\n".join(calls[:60]))
    page = rendered_report(folder).read_text()
    assert "<dd>920 µs*</dd>" in page
    assert len(re.findall(r"µs\*|ms\*", page)) == 4, "tile, plot in words, plot, table: the p99 alone"
    assert "fewer than 10 for a p90 and 100 for a p99" in page
    summary = (folder / "summary.md").read_text()
    assert "| 920 µs\\* |" in summary
    assert "fewer than 10 for a p90 and 100 for a p99" in summary


def test_run_that_was_cut_off_is_rendered_and_says_so(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    record = json.loads((folder / "run.json").read_text())
    record["status"] = "running"
    record["ended"] = record["wall_s"] = record["exit"] = None
    record["variants"] = record["variants"][:1]
    (folder / "run.json").write_text(json.dumps(record))
    for name in ("results.jsonl", "calls.jsonl"):
        (folder / name).write_text((folder / name).read_text()[:5000])
    (folder / "junit.xml").unlink()
    text = rendered_report(folder).read_text()
    assert all((folder / link).is_file() for link in Page(text).links if not link.startswith("#"))
    assert "This run was cut off." in text
    assert "2 line(s) were cut off" in text


def test_page_tells_which_runs_it_goes_on_with(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    record = json.loads((folder / "run.json").read_text())
    earlier = {"run": "first", "started": record["started"], "status": "failed", "kept": 5}
    record["resumed"] = [earlier, earlier | {"run": "second", "kept": 4}]
    (folder / "run.json").write_text(json.dumps(record))
    text = re.sub(r"<[^>]*>", "", rendered_report(folder).read_text())
    assert "goes on with 2 earlier runs: first (5 results kept), second (4 results kept)" in text


def test_durations_of_the_host_alone_are_told_apart(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    calls = [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]
    for call in calls:
        if call["variant"] == "apir":
            call |= {"side": "host", "encode_ns": None, "duration_ns": call["host_compute_ns"]}
    (folder / "calls.jsonl").write_text("".join(f"{json.dumps(call)}\n" for call in calls))
    text = rendered_report(folder).read_text()
    seen, _, alone = text.partition("<h3>Host compute alone</h3>")
    alone, _, rest = alone.partition("<h3>Where the time goes</h3>")
    images = Page(text).images
    commands = {call["command"] for call in calls}
    assert len([label for label in images if label and ", apir, host compute alone: median" in label]) == len(commands)
    assert ", apir" not in seen[seen.index('id="durations"') :]
    assert "venus" not in alone
    assert ", apir: " not in rest
    assert rest.count('<td class="mark">apir <small>host compute</small></td>') == len(commands)
    assert "<td>venus</td>" in rest


def test_page_of_a_run_that_was_cut_off_says_whose_durations_it_has(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    rows = (folder / "calls.jsonl").read_text().replace('"side":"both"', '"side":"host"')
    (folder / "calls.jsonl").write_text(re.sub(r'"encode_ns":\d+', '"encode_ns":null', rows))
    text = rendered_report(folder).read_text()
    assert "<h3>Host compute alone</h3>" in text
    assert "ended before their calls were joined with the guest's records, or their guest library writes no records" in text
    assert "as the guest saw it" not in text
    assert "Where the time goes" not in text


GUESTS = "compared with the guest's own CPU backend"


@pytest.mark.parametrize(
    ("check", "side", "said", "compared"),
    [
        ("ops 2", "guest", GUESTS, True),
        ("upstream-test 2", "guest", GUESTS, True),
        ("upstream-test", "host", "compared with the host's CPU backend", True),
        ("upstream-support", "guest", "asked whether it computes it", False),
        ("upstream-perf", "guest", "compared with nothing", False),
        ("upstream-grad", "guest", "compared with its own finite differences", False),
        ("catalog", "host", "bit for bit what the reference computed natively on the host", True),
        ("fault", "guest", "a fault that was brought about", False),
        ("lie", "guest", "results that were falsified on purpose", False),
    ],
)
def test_page_tells_what_cases_were_compared_with(tmp_path: Path, check: str, side: str, said: str, *, compared: bool) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    rows = (folder / "results.jsonl").read_text().replace('"check":"ops"', f'"check":"{check}"')
    (folder / "results.jsonl").write_text(rows)
    record = json.loads((folder / "run.json").read_text())
    record["variants"][0]["reference"]["side"] = side
    (folder / "run.json").write_text(json.dumps(record))
    text = rendered_report(folder).read_text().replace("&#39;", "'")
    assert text.count(said) == 1
    assert (GUESTS in text) is (said is GUESTS)
    assert (f", compared with the {side}'s CPU (registry CPU)" in text) is compared


def test_page_tells_of_the_comparisons_of_each_check(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path)
    rows = (folder / "results.jsonl").read_text().splitlines(keepends=True)
    apir = [row.replace('"check":"ops"', '"check":"upstream-test"') for row in rows if '"apir"' in row]
    again = [row.replace('"check":"ops"', '"check":"ops 2"') for row in rows if '"venus"' in row]
    (folder / "results.jsonl").write_text("".join((*(row for row in rows if '"venus"' in row), *again, *apir)))
    record = json.loads((folder / "run.json").read_text())
    record["variants"][1]["reference"]["side"] = "host"
    (folder / "run.json").write_text(json.dumps(record))
    text = rendered_report(folder).read_text().replace("&#39;", "'")
    assert text.index(GUESTS) < text.index("compared with the host's CPU backend")
    assert "41 of 41" in text
    assert "82 of 82" not in text
    assert "All cases of venus <small>368, in 736 rows</small>" in text
    assert "All cases of apir <small>368</small>" in text


def test_calls_that_took_no_time_are_shown(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    call = json.loads((folder / "calls.jsonl").read_text().splitlines()[0])
    call |= dict.fromkeys(("duration_ns", "encode_ns", "host_queue_ns", "host_compute_ns"), 0)
    (folder / "calls.jsonl").write_text(f"{json.dumps(call)}\n")
    assert "compute 0 µs" in rendered_report(folder).read_text()


@pytest.mark.parametrize("logs", ["{outside}", "../outside", "..", "logs/../..", "a\0b", "a" * 300, "logs/nowhere"])
def test_logs_outside_of_the_bundle_are_none_of_it(tmp_path: Path, logs: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "foreign.log").touch()
    write_bench(outside)
    folder = write_bundle(tmp_path, variants=("venus",))
    record = json.loads((folder / "run.json").read_text())
    record["variants"][0]["logs"] = logs.format(outside=outside)
    (folder / "run.json").write_text(json.dumps(record))
    text = rendered_report(folder).read_text()
    assert "foreign.log" not in text
    assert "What a call costs" not in text


def test_only_what_passed_has_a_tick_and_only_what_failed_a_cross() -> None:
    marked = {symbol: [outcome for outcome in Outcome if SYMBOLS[outcome] == symbol] for symbol in "✓✗!"}
    ends = [Outcome.GUEST_CRASH, Outcome.HOST_CRASH, Outcome.HANG, Outcome.ERROR]
    assert marked == {"✓": [Outcome.PASS], "✗": [Outcome.FAIL], "!": ends}


def test_percentile_of_no_calls_has_no_mark() -> None:
    assert [few_mark(count, 100) for count in (0, 1, 99, 100)] == ["", "*", "*", ""]


def test_skipped_variant_has_its_reason(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path, variants=("venus",))
    record = json.loads((folder / "run.json").read_text())
    record["variants"][0] |= {"status": "skipped", "reason": "this host has no opengl: QEMU said no", "calls": {}}
    (folder / "run.json").write_text(json.dumps(record))
    (folder / "results.jsonl").write_text("")
    (folder / "calls.jsonl").write_text("")
    assert "this host has no opengl: QEMU said no" in rendered_report(folder).read_text()
    assert "this host has no opengl" in (folder / "summary.md").read_text()


@pytest.mark.parametrize(
    ("microseconds", "told"),
    [
        (None, "\N{EN DASH}"),
        (0.5, "0.5 µs"),
        (12.34, "12.3 µs"),
        (456.7, "457 µs"),
        (1000, "1 ms"),
        (4567, "4.57 ms"),
        (456_700, "457 ms"),
        (2_500_000, "2.5 s"),
        (999_600_000, "1,000 s"),
        (7_234_500_000, "7,234 s"),
    ],
)
def test_durations_have_a_fitting_unit(microseconds: float | None, told: str) -> None:
    assert duration_text(microseconds) == told


def test_sizes_have_a_fitting_unit() -> None:
    assert [bytes_text(size) for size in (0, 1023, 1536, (1 << 20) - 1, 5 << 20, 3 << 30, 5 << 40)] == [
        "0 B", "1023 B", "1.5 KiB", "1.0 MiB", "5.0 MiB", "3.0 GiB", "5120.0 GiB",
    ]  # fmt: skip


def test_area_closes_at_the_base() -> None:
    assert area_path((0.0, 1.0), height=10) == "M0 10 L0 10.0 L1 10.0 L1 0.0 L2 0.0 L2 10 Z"


def test_newest_bundle_is_the_last_by_time(tmp_path: Path) -> None:
    assert newest_bundle(tmp_path) is None
    for name in ("2026-01-02T00-00-00Z-a", "2026-01-01T00-00-00Z-b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").touch()
    (tmp_path / "no-bundle").mkdir()
    (tmp_path / "latest-c").symlink_to("2026-01-01T00-00-00Z-b")
    assert [path.name[-1] for path in bundles(tmp_path)] == ["c", "b", "a"]
    assert newest_bundle(tmp_path) == tmp_path / "2026-01-02T00-00-00Z-a"
