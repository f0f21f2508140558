"""What the benchmark's check says of rows, without a guest."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from lab.bench.targets import judged
from lab.bundle import read_bundle
from lab.bundle.junit import junit_xml
from lab.bundle.outcome import Blame, FindingKind
from lab.bundle.schema import BENCH, BenchRecord, RunRecord, Status, VariantRecord
from lab.bundle.writer import BundleWriter, CheckWriter, new_bundle
from lab.deadline import Deadline
from lab.elf import sha256
from lab.errors import ConfigError
from lab.scenario import load
from lab.scenario.calls import CallCollector
from lab.scenario.checks.bench import (
    MOST_SAID,
    Bench,
    check_bench,
    messages,
    read_rows,
    target_record,
    told,
    unsent_by_second,
    untravelled,
)
from lab.scenario.model_bench import BenchCheck
from lab.scenario.switches import Switches, laid
from reports import rendered_report
from tests.bench.realistic import ANSWER, token
from tests.scenario.call_files import Made, write_calls


def writer_of(bundle: BundleWriter) -> CheckWriter:
    return CheckWriter(bundle, "bench", "default", "bench")


def findings(
    tmp_path: Path, record: BenchRecord, rows: list[dict[str, Any]] | None = None, **check: Any
) -> list[tuple[str, str, str]]:
    bench = Bench(None, BenchCheck(kind="bench", **check), rows or [])  # type: ignore[arg-type] # rows only
    with new_bundle(tmp_path, "bench") as bundle:
        writer = writer_of(bundle)
        told(bench, record, writer)
        return [(finding.kind, finding.blame, finding.text) for finding in writer.findings]


def record_of(**more: Any) -> BenchRecord:
    return BenchRecord(answer=ANSWER, targets=tuple(target_record(one) for one in judged(ANSWER)), **more)


def test_target_that_is_missed_fails_only_where_it_is_enforced(tmp_path: Path) -> None:
    assert findings(tmp_path, record_of()) == []
    missed = findings(tmp_path, record_of(), enforce=True, parts=["census", "calls", "rates", "pause", "idle"])
    assert {kind for kind, blame, _ in missed if blame is Blame.PRODUCT} == {FindingKind.TOO_SLOW}
    assert any("1000-node graph again, bytes sent, ring: expected ≤ 1024 B, measured 312000 B" in text for _, _, text in missed)
    assert not any("empty call, p50, ring" in text for _, _, text in missed)


@pytest.mark.parametrize("enforce", [False, True])
def test_target_that_is_missed_and_not_enforced_is_no_failure_of_junit_and_told_there_and_on_the_page(
    tmp_path: Path, *, enforce: bool
) -> None:
    record = record_of()
    missed = sum(one.met is False for one in record.targets)
    with new_bundle(tmp_path, "bench") as bundle:
        writer = writer_of(bundle)
        told(Bench(None, BenchCheck(kind="bench", enforce=enforce)), record, writer)  # type: ignore[arg-type] # rows only
        (bundle.logs("default") / BENCH).write_text(record.model_dump_json())
        variant = VariantRecord(name="bench", variant="default", status=Status.PASSED, logs="logs/default")
        bundle.describe(RunRecord(run=bundle.run, name="bench", status=Status.PASSED, started="now", variants=(variant,)))
    root = ET.fromstring(junit_xml(read_bundle(bundle.folder)))  # noqa: S314 - our own text
    told_there = [test.findtext("system-out") for test in root.iter("testcase")]
    assert len(root.findall(".//testcase[@classname='bench.default.bench']/failure")) == (missed if enforce else 0)
    assert sum("not held against the run: expected" in (text or "") for text in told_there) == (0 if enforce else missed)
    if not enforce:
        assert (root.get("failures"), root.get("errors")) == ("0", "0")
    page = rendered_report(bundle.folder).read_text()
    assert page.count("✗ not met") == page.count("✗ no</td>") == missed > 0


def unmeasured_in(tmp_path: Path, answer: dict[str, Any], **check: Any) -> list[str]:
    asked = {"enforce": True, "places": ["vm"], **check}
    found = findings(tmp_path, BenchRecord(answer=answer, targets=tuple(target_record(one) for one in judged(answer))), **asked)
    return [text.partition(":")[0] for kind, blame, text in found if (kind, blame) == (FindingKind.NO_CALLS, Blame.LAB)]


def test_target_that_was_to_be_measured_and_was_not_is_a_finding_where_it_is_enforced(tmp_path: Path) -> None:
    sides, ways = ("guest", "worker", "added to QEMU"), ("ring", "EXECBUFFER", "0.2")
    names = [f"idle context, {side}, {way}" for side in sides for way in ways]
    assert unmeasured_in(tmp_path, {}, parts=["idle"]) == names
    assert unmeasured_in(tmp_path, {}, parts=["idle"], enforce=False) == []
    assert unmeasured_in(tmp_path, {}, parts=["tokens"]) == []
    assert unmeasured_in(tmp_path, {}, parts=["census", "idle"], places=["loopback"]) == [
        "1000-node graph again, bytes sent, loopback"
    ]
    short = {"idle_percent": {"guest": 9.0, "seconds": 3.0, "qemu_more_seconds": 3.0}}
    assert unmeasured_in(tmp_path, dict.fromkeys(("vm", "vm_execbuffer", "vm_02"), short), parts=["idle"]) == []
    left = [name for name in names if name.endswith("0.2")]
    assert unmeasured_in(tmp_path, {"vm": short, "vm_execbuffer": short}, parts=["idle"]) == left


@pytest.mark.parametrize(("effort", "sizes"), [("full", 4), ("quick", 3)])
def test_size_that_a_quick_look_leaves_out_is_not_missed(tmp_path: Path, effort: str, sizes: int) -> None:
    assert len(unmeasured_in(tmp_path, {}, parts=["transfers"], effort=effort)) == 2 * 3 * sizes


def test_target_that_the_bare_exchange_rules_out_says_so_and_is_missed_all_the_same() -> None:
    latency = {"p50": 105.0, "p99": 900.0, "spread": {"min": 99.0}}
    floors = {"ioctl_us": {"p50": 50.0}, "ioctl_answered_us": {"p50": 101.0, "p99": 200.0}}
    told_of = {one.label: one for one in map(target_record, judged({"vm_execbuffer": {"empty_call_us": latency}, **floors}))}
    median, tail = (told_of[f"empty call, {quantile}, EXECBUFFER"] for quantile in ("p50", "p99"))
    assert (median.met, median.out_of_reach) == (False, True)
    reach = "out of a guest library's reach here: 101 µs by the bare ioctl and its answer"
    assert median.expected == f"≤ 100 µs (the greater of 60 µs and 2 times the ioctl); {reach}"
    assert (tail.met, tail.out_of_reach, "reach" in tail.expected) == (False, False, False)
    floors["ioctl_us"]["p99"] = 260.0
    told_of = {one.label: one for one in map(target_record, judged({"vm_execbuffer": {"empty_call_us": latency}, **floors}))}
    tail = told_of["empty call, p99, EXECBUFFER"]
    assert (tail.met, tail.out_of_reach) == (False, True)
    assert tail.expected.endswith("out of a guest library's reach here: 260 µs by the bare ioctl, its answer not waited for")


def test_results_that_depend_on_an_extension_are_the_products_failure(tmp_path: Path) -> None:
    tokens = (token("0.2 alone", "copied", 6, 900.0), {**token("ring", "copied", 6, 800.0), "digests": ["ab", "cd"]})
    ((kind, blame, text),) = findings(tmp_path, record_of(tokens=tokens))
    assert (kind, blame) == (FindingKind.CASE_FAILED, Blame.PRODUCT)
    assert "ab, cd" in text


@pytest.mark.parametrize(
    ("subject", "blame"), [("vm/copied", Blame.PRODUCT), ("floors", Blame.LAB), ("native", Blame.LAB), ("alone/idle", Blame.LAB)]
)
def test_program_that_fails_is_a_finding(tmp_path: Path, subject: str, blame: Blame) -> None:
    rows = [{"phase": "calls", "subject": subject, "name": "empty", "error": "it hung"}]
    assert findings(tmp_path, record_of(), rows) == [(FindingKind.PROGRAM_FAILED, blame, f"{subject} empty: it hung")]


def test_what_a_second_implementation_does_not_send_is_told_as_left_out() -> None:
    (text,) = unsent_by_second({"vm_other": {"left_out": ["after_pause_us", "calls_per_s"]}})
    assert text.startswith("vm_other: what asks for the device's memory is over sooner than a polled word could be seen")
    assert text.endswith("after_pause_us, calls_per_s are left out")
    (counted,) = unsent_by_second({"vm_other": {"left_out": ["after_pause_us"], "sent": {"copied": {"empty": {"commands": 2}}}}})
    assert counted == "vm_other: what asks for the device's memory does not send one command: after_pause_us are left out"
    assert not list(unsent_by_second({"vm": {"left_out": ["after_pause_us"]}, "vm_other": {}}))


def test_call_that_does_not_travel_is_no_empty_call(tmp_path: Path) -> None:
    assert list(untravelled(ANSWER)) == []
    way = {key: value for key, value in ANSWER["vm"].items() if key != "empty_call_us"}
    way["sent"] = {"copied": {"set_4b": {"commands": 2}, "get_4b": {"commands": 1}}}
    found = findings(tmp_path, BenchRecord(answer={"vm": way}))
    assert [(kind, blame) for kind, blame, _ in found] == [(FindingKind.NO_CALLS, Blame.LAB)] * 2
    assert [text for _, _, text in found][1] == "vm: set_4b sends 2 commands"
    alone = {**ANSWER["loopback"], "sent": {"copied": {"graph_1000": {"commands": 0.5}}}}
    assert list(untravelled({"loopback": alone})) == ["loopback: graph_1000 sends 0.5 commands, less than one a round"]
    cached = {"sent": {"copied": {"empty": {"commands": 0}}}, "left_out": ["after_pause_us", "calls_per_s"]}
    assert list(untravelled({"vm": cached})) == ["vm: empty sends 0 commands, so after_pause_us, calls_per_s are left out"]
    nothing = {**ANSWER["vm"], "sent": {"copied": {"graph_1000": {"commands": 0}}}}
    assert list(untravelled({"vm": nothing})) == ["vm: graph_1000 sends 0 commands, less than one a round"]
    unsent = {**ANSWER["vm"], "sent": {"copied": {"set_4b_sent": {"commands": 0.5}, "set_4b": {"commands": 0.5}}}}
    assert list(untravelled({"vm": unsent})) == ["vm: set_4b_sent sends 0.5 commands, less than one a round"]


def test_rows_of_a_run_that_was_cut_off_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{"b": ')
    assert list(read_rows(path)) == [{"a": 1}]
    assert list(read_rows(tmp_path / "none")) == []


class Shell:
    """A guest's shell that notes what it is told to run."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.streamed: list[str] = []

    def put(self, path: Path, inside: str) -> None:
        pass

    def stream(self, command: str, on_line: Callable[[str], None], deadline: Deadline) -> int:
        assert not deadline.expired
        self.streamed.append(command)
        on_line("pid 7")
        return 0

    def execute(self, command: str, deadline: Deadline) -> tuple[int, str]:
        assert not deadline.expired
        self.ran.append(command)
        return 0, ""


def staged(tmp_path: Path, shell: Shell, workers: tuple[int, ...] = (), host: dict[str, str] | None = None) -> Any:
    tools = tmp_path / "tools"
    shipped = SimpleNamespace(host_library=SimpleNamespace(inside="/ours.so"))
    guest = SimpleNamespace(ssh=shell, qemu_pid=os.getpid(), worker_pids=lambda: workers, main_thread_first=True)
    return SimpleNamespace(
        guest=guest,
        logs=tmp_path,
        host_variables=host or {},
        guest_variables={"GGML_BACKEND_PATH": "/lib.so", "GGML_VIRTGPU_CALL_LOG": "/calls"},
        switches=Switches(tmp_path / "switches", {"host": "/ours.so"}),
        ingredients=SimpleNamespace(tools=tools, shipment=shipped),
    )


def test_contexts_get_the_host_library_that_the_driver_asks_for(tmp_path: Path) -> None:
    shell = Shell()
    stage = staged(tmp_path, shell)
    theirs = tmp_path / "theirs.so"
    bench = Bench(stage, BenchCheck(kind="bench").model_copy(update={"host_library": str(theirs)}))
    link = tmp_path / "switches" / "host"
    led_to = []
    with laid(stage.switches), ExitStack() as libraries:
        for host in ("echo", "ours", "theirs"):
            bench.on_line(json.dumps({"event": "gate", "host": host, "subject": "s"}), libraries)
            led_to.append(link.readlink())
        libraries.close()
        assert link.readlink() == Path("/ours.so")
    assert led_to == [tmp_path / "tools" / "libapir-bench-host.so", Path("/ours.so"), theirs]
    assert len(shell.ran) == 3


@pytest.mark.parametrize("workers", [(), (os.getppid(),)], ids=["no worker", "one worker"])
@pytest.mark.parametrize("name", ["idle", "idle_turn"])
def test_row_of_an_idle_context_gets_what_the_host_saw(tmp_path: Path, workers: tuple[int, ...], name: str) -> None:
    bench = Bench(staged(tmp_path, Shell(), workers), BenchCheck(kind="bench"))
    noise = ["ggml says something", "{ggml_virtgpu: closing}", '{"level":"info"}', '{"name":"idle"}']
    with ExitStack() as libraries:
        bench.on_line(json.dumps({"event": "begins", "name": name, "pid": 1}), libraries)
        for line in noise:
            bench.on_line(line, libraries)
        bench.on_line(json.dumps({"event": "ends", "name": name, "pid": 1}), libraries)
        told = {"phase": "idle vm", "subject": "vm/copied", "name": name, "cpu_ns": 1, "ns": 2, "worker_cpu_ns": -1}
        bench.on_line(json.dumps(told), libraries)
    (row,) = read_rows(tmp_path / "bench.jsonl")
    assert row["qemu_cpu_ns"] >= 0
    assert row["qemu_ns"] > 0
    # No worker, no time of one: 0 would read as an idle one.
    assert ("worker_cpu_ns" in row) == bool(workers)
    assert row.get("worker_cpu_ns", 0) >= 0
    assert bench.said == noise


def test_what_a_library_says_of_failed_calls_is_a_warning(tmp_path: Path) -> None:
    refused = "ggml-virtgpu: get_memory: the host refused it with code 5\n"
    texts = {
        "vm/copied": f"load_backend: loaded\n[error] {refused}{refused}",
        "vm_02/copied": refused,
        "loopback/copied": "ggml-virtgpu: backend not available: no render node\n",
    }
    rows = [{"event": "said", "subject": subject, "text": text} for subject, text in texts.items()]
    record = Bench(staged(tmp_path, Shell()), BenchCheck(kind="bench"), rows, load_before=0.0).record()
    assert record.warnings == (f"vm/copied, vm_02/copied said: {refused.strip()}",)
    many = [{"event": "said", "subject": "vm/copied", "text": f"ggml-virtgpu: call {n}"} for n in range(100)]
    assert len(list(messages(many))) == MOST_SAID


def test_figures_are_on_disk_with_every_phase(tmp_path: Path) -> None:
    bench = Bench(staged(tmp_path, Shell()), BenchCheck(kind="bench"))
    bench.take({"phase": "calls", "subject": "floors", "name": "word", "ns": [500]})
    bench.take({"phase": "calls", "subject": "floors", "name": "submission", "ns": [30_000]})
    bench.take({"phase": "rates", "subject": "vm/copied", "name": "graph_100", "ns": [9]})
    record = BenchRecord.model_validate_json((tmp_path / BENCH).read_text(encoding="utf-8"))
    assert (record.answer["floor_us"]["p50"], record.answer["ioctl_us"]["p50"]) == (0.5, 30.0)


def test_missing_call_records_are_warned_of_once_and_meet_no_target(tmp_path: Path) -> None:
    rows = [
        {"phase": "census", "subject": subject, "name": name, "ns": [1], "size": 1 << 20}
        for subject in ("vm/copied", "vm/shared")
        for name in ("graph_1000", "set_1MiB", "get_1MiB")
    ]
    record = Bench(staged(tmp_path, Shell()), BenchCheck(kind="bench"), rows, load_before=0.0).record()
    assert record.warnings == ("no call records were found of vm/copied, vm/shared: their commands and bytes are not counted",)
    assert {one.met for one in record.targets} == {None}


def test_programs_that_are_timed_record_no_calls(tmp_path: Path) -> None:
    shell = Shell()
    Bench(staged(tmp_path, shell), BenchCheck(kind="bench")).vm(Deadline.after(60))
    (command,) = shell.streamed
    assert "GGML_BACKEND_PATH=/lib.so" in command
    assert "GGML_VIRTGPU_CALL_LOG" not in command
    phases = json.loads((tmp_path / "bench-vm.json").read_text())["phases"]
    recorded = {phase["name"] for phase in phases if any(one["calls"] for one in phase["subjects"])}
    assert recorded == {"census", "tokens census copied", "tokens census shared"}


def test_call_records_of_the_host_are_warned_of_with_the_key_that_takes_them_away(tmp_path: Path) -> None:
    stage = staged(tmp_path, Shell(), host={"VIRGL_APIR_CALL_LOG": "/calls"})
    (warning,) = Bench(stage, BenchCheck(kind="bench"), load_before=0.0).warnings()
    assert "host.environment.VIRGL_APIR_CALL_LOG = false" in warning
    alone = BenchCheck.model_validate({"kind": "bench", "places": ["loopback"]})
    assert list(Bench(stage, alone, load_before=0.0).warnings()) == []


def test_main_thread_that_waits_like_others_is_warned_of_with_what_it_takes(tmp_path: Path) -> None:
    stage = staged(tmp_path, Shell())
    told = {}
    for first in (True, False, None):
        stage.guest.main_thread_first = first
        told[first] = list(Bench(stage, BenchCheck(kind="bench"), load_before=0.0).warnings())
    assert told[True] == told[None] == []
    assert "CAP_SYS_NICE" in told[False][0]
    alone = BenchCheck.model_validate({"kind": "bench", "places": ["loopback"]})
    stage.guest.main_thread_first = False
    assert list(Bench(stage, alone, load_before=0.0).warnings()) == []


def test_clock_that_is_put_back_takes_no_time_away(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(SimpleNamespace(), BenchCheck(kind="bench", places=["loopback"]))  # type: ignore[arg-type] # nothing of it is asked
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert 0 <= bench.record().wall_s < 60


def test_program_that_cannot_be_started_is_told_at_once_and_once(tmp_path: Path) -> None:
    notes: list[str] = []
    bench = Bench(staged(tmp_path, Shell()), BenchCheck(kind="bench"), note=notes.append)
    refused = {"event": "started", "phase": "calls", "error": "ggml has loaded no registry ggml-virtgpu"}
    bench.take({"event": "started", "phase": "calls", "subject": "vm/copied", "ready": "[virtgpu] CPU"})
    for subject in ("vm_other/copied", "vm_other/shared", "vm_other/copied"):
        bench.take({**refused, "subject": subject})
    assert notes == [
        f"warning: vm_other/{path} could not be started and is left out: ggml has loaded no registry ggml-virtgpu"
        for path in ("copied", "shared")
    ]


def test_calls_of_a_benchmark_are_not_missed_in_the_guests_records(tmp_path: Path) -> None:
    host, copies = tmp_path / "host", tmp_path / "copies"
    host.mkdir()
    with new_bundle(tmp_path, "bench") as bundle:
        collector = CallCollector(bundle, ("bench", "default"), host, copies)
        with collector.left_out():
            write_calls(host / "host-1-9.calls", 1, Made(1, 10, 9), 4)
        assert collector.joined(None, "/calls").findings == ()
        write_calls(host / "host-2-9.calls", 1, Made(2, 10, 9), 4)
        assert len(collector.joined(None, "/calls").findings) == 1


def test_second_libraries_are_identified(tmp_path: Path) -> None:
    library = tmp_path / "theirs.so"
    shutil.copyfile(sys.executable, library)
    stage = staged(tmp_path, Shell())
    check = BenchCheck(kind="bench").model_copy(update={"guest_library": str(library), "host_library": str(library), "places": ()})
    with new_bundle(tmp_path, "bench") as bundle:
        check_bench(stage, check, writer_of(bundle), Deadline.after(60))
    record = BenchRecord.model_validate_json((tmp_path / BENCH).read_text(encoding="utf-8"))
    assert [one.role for one in record.libraries] == ["second guest library", "second host library"]
    assert {(one.path, one.sha256) for one in record.libraries} == {(str(library), sha256(library))}


def test_second_library_of_a_scenario_is_an_elf_file(tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_text("INPUT(libreal.so)")
    (tmp_path / "own.toml").write_text('name = "own"\n[[checks]]\nkind = "bench"\nhost_library = "lib.so"\n')
    with pytest.raises(ConfigError, match=r"checks\[0\].host_library: .*lib.so is no library"):
        load(tmp_path / "own.toml")


def test_tokens_alone_are_something_that_was_checked(tmp_path: Path) -> None:
    bench = Bench(None, BenchCheck(kind="bench"))  # type: ignore[arg-type] # rows only
    with new_bundle(tmp_path, "bench") as bundle:
        assert told(bench, BenchRecord(answer={}, tokens=(token("0.2 alone", "copied", 6, 900.0),)), writer_of(bundle)) == 1
        assert told(bench, BenchRecord(answer={}), writer_of(bundle)) == 0


@pytest.mark.parametrize(
    ("subject", "part"),
    [("loopback/copied", "rates"), ("loopback/copied", "transfers"), ("native", "tokens"), ("vm/copied", "idle vm")],
)
def test_what_is_measured_and_not_judged_is_something_that_was_checked(tmp_path: Path, subject: str, part: str) -> None:
    row = {"phase": part, "subject": subject, "name": "one"}
    with new_bundle(tmp_path, "bench") as bundle:
        for rows, facts in (([{**row, "ns": [1]}] * 2, 1), ([{**row, "error": "it hung"}], 0)):
            bench = Bench(None, BenchCheck(kind="bench"), rows)  # type: ignore[arg-type] # rows only
            assert told(bench, BenchRecord(answer={}), writer_of(bundle)) == facts
