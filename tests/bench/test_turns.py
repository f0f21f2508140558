"""The driver with programs that are Python: what it asks, in which order, and what it makes of their ends."""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.bench.plan import Measure, Phase, Subject, plan_text
from lab.deadline import Deadline
from lab.guest.agent import turns
from lab.metrics.calls import HEADER, RECORD, RECORD_1
from lab.process import finish

PROGRAM = """\
import json, sys, time
print(json.dumps({"ready": "me", "pid": 1}), flush=True)
for line in sys.stdin:
    word = line.split()[0]
    if word == "die":
        print("it hurts", file=sys.stderr)
        sys.exit(3)
    if word == "fail":
        print("x" * 3000 + " it was refused", file=sys.stderr)
    if word == "hang":
        time.sleep(60)
    print(json.dumps({"error": "cannot"} if word == "cannot" else {"measure": word, "ns": [1]}), flush=True)
"""


def subject(name: str, program: str = PROGRAM, **more: Any) -> Subject:
    return Subject(name, (sys.executable, "-c", program), **more)


def told(tmp_path: Path, *phases: Phase, gate: str = "") -> list[dict[str, Any]]:
    plan = tmp_path / "plan.json"
    plan.write_text(plan_text(phases, gate))
    done = finish((sys.executable, turns.__file__, plan), deadline=Deadline.after(60))
    assert done.exit_status == 0, done.output
    return [json.loads(line) for line in done.output.splitlines()]


def asked(rows: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    return [(row["subject"], row["name"], row["repetition"]) for row in rows if "event" not in row]


def test_subjects_take_turns_forwards_and_backwards(tmp_path: Path) -> None:
    measures = (Measure("one", "one rounds=1"), Measure("two", "two", ("b",)))
    rows = told(tmp_path, Phase("p", (subject("a"), subject("b")), measures, repetitions=2))
    assert asked(rows) == [("a", "one", 0), ("b", "one", 0), ("b", "two", 0), ("b", "one", 1), ("a", "one", 1), ("b", "two", 1)]
    assert all(row["load"] >= 0 for row in rows if "event" not in row)
    assert rows[-1] == {"event": "end"}


def test_program_that_dies_is_left_out(tmp_path: Path) -> None:
    measures = (Measure("one", "one"), Measure("end", "die", ("a",)))
    rows = told(tmp_path, Phase("p", (subject("a"), subject("b")), measures, repetitions=2))
    assert asked(rows) == [("a", "one", 0), ("b", "one", 0), ("a", "end", 0), ("b", "one", 1)]
    assert [row["error"] for row in rows if "error" in row] == ["a ended with status 3"]
    assert [row["text"].strip() for row in rows if row.get("event") == "said"] == ["it hurts"]


def test_program_that_goes_on_is_heard_too(tmp_path: Path) -> None:
    rows = told(tmp_path, Phase("p", (subject("a"), subject("b")), (Measure("m", "fail", ("a",)), Measure("one", "one"))))
    assert asked(rows) == [("a", "m", 0), ("a", "one", 0), ("b", "one", 0)]
    (said,) = [row for row in rows if row.get("event") == "said"]
    assert (said["subject"], len(said["text"])) == ("a", turns.SAID_LIMIT)
    assert said["text"].endswith(" it was refused\n")


def test_program_that_hangs_is_killed(tmp_path: Path) -> None:
    measures = (replace(Measure("stuck", "hang"), limit_s=0.3), Measure("one", "one"))
    rows = told(tmp_path, Phase("p", (subject("a"), subject("b")), measures))
    assert [row["error"] for row in rows if "error" in row] == [f"{name} gave no answer for 0.3 s" for name in "ab"]
    assert asked(rows) == [("a", "stuck", 0), ("b", "stuck", 0)]


def test_program_that_does_not_start_is_told(tmp_path: Path) -> None:
    broken = subject("a", "import json\nprint(json.dumps({'error': 'no device'}))")
    rows = told(tmp_path, Phase("p", (broken, subject("b")), (Measure("no", "cannot"),)))
    assert [(row["subject"], row["error"]) for row in rows if "error" in row] == [("a", "no device"), ("b", "cannot")]


CHATTY = """\
import json, sys, time
print("loaded", json.dumps([1]), sep="\\n", flush=True)
print(json.dumps({"ready": "me"}), flush=True)
for line in sys.stdin:
    print("x" * 3000 + " one more", flush=True)
    while line.startswith("chat"):
        print("on and on")
    print(json.dumps({"measure": line.split()[0], "ns": [1]}), flush=True)
"""


@pytest.mark.parametrize("line", ['{"error": "half \\ud800"}', '{"a":' * 20_000, '{"measure": "one", "ns": [' + "9" * 5000 + "]}"])
def test_line_that_nobody_can_write_down_is_no_answer(tmp_path: Path, line: str) -> None:
    program = PROGRAM.replace("for line in sys.stdin:", f"for line in sys.stdin:\n    print({line!r}, flush=True)")
    rows = told(tmp_path, Phase("p", (subject("a", program),), (Measure("one", "one"),)))
    assert [(row.get("ns"), row.get("error")) for row in rows if "event" not in row] == [([1], None)]


def test_plain_lines_are_no_answers_and_are_told(tmp_path: Path) -> None:
    rows = told(tmp_path, Phase("p", (subject("a", CHATTY), subject("b")), (Measure("one", "one"),), repetitions=2))
    assert asked(rows) == [("a", "one", 0), ("b", "one", 0), ("b", "one", 1), ("a", "one", 1)]
    assert [row["ns"] for row in rows if "event" not in row] == [[1]] * 4
    (said,) = [row for row in rows if row.get("event") == "said"]
    assert (said["subject"], len(said["text"])) == ("a", turns.SAID_LIMIT)
    assert said["text"].endswith("one more\n")


def test_program_that_only_chats_gives_no_answer(tmp_path: Path) -> None:
    rows = told(tmp_path, Phase("p", (subject("a", CHATTY),), (replace(Measure("m", "chat"), limit_s=0.5),)))
    assert [row["error"] for row in rows if "error" in row] == ["a gave no answer for 0.5 s"]
    assert "on and on" in next(row["text"] for row in rows if row.get("event") == "said")


JSON_LOGS = """\
import json, sys
print(json.dumps({"level": "info", "text": "loaded"}), flush=True)
print(json.dumps({"ready": "me"}), flush=True)
for number, line in enumerate(sys.stdin):
    print(json.dumps({"level": "error", "error": "late", "ns": [99]}), json.dumps({"measure": "another", "ns": [99]}), sep="\\n")
    print(json.dumps({"measure": line.split()[0], "ns": [number]}), flush=True)
"""


def test_objects_that_a_library_prints_are_no_answers(tmp_path: Path) -> None:
    measures = (Measure("first", "one"), Measure("second", "two"), Measure("third", "one"))
    rows = told(tmp_path, Phase("p", (subject("a", JSON_LOGS), subject("b")), measures))
    assert [(row["name"], row["ns"]) for row in rows if "event" not in row and row["subject"] == "a"] == [
        ("first", [0]),
        ("second", [1]),
        ("third", [2]),
    ]
    assert [row["ready"] for row in rows if row.get("event") == "started"] == ["me", "me"]
    assert '"level"' in next(row["text"] for row in rows if row.get("event") == "said")


@pytest.mark.parametrize("line", [b"", b"loaded\n", b"[1]\n", b"3\n", b'{"a": \n', b"\xff\n"])
def test_line_that_is_no_object(line: bytes) -> None:
    assert turns.json_object(line) is None
    assert turns.json_object(b'{"a": 1}\n') == {"a": 1}


def test_gate_holds_until_it_is_opened(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    opened = []

    def partner() -> None:
        for name in ("gate", "begins", "ends"):
            gate.write_text("\n")
            opened.append(name)

    thread = threading.Thread(target=partner)
    thread.start()
    rows = told(tmp_path, Phase("p", (subject("a", host="echo"),), (Measure("i", "idle", watched=True),)), gate=str(gate))
    thread.join()
    assert [row.get("event") for row in rows] == ["gate", "started", "begins", "ends", None, "end"]
    assert rows[0]["host"] == "echo"
    assert opened == ["gate", "begins", "ends"]


@pytest.mark.parametrize(("version", "size"), [(1, RECORD_1.itemsize), (2, RECORD.itemsize)])
def test_call_records_are_counted_per_measurement(tmp_path: Path, version: int, size: int) -> None:
    """The driver reads what all versions of ``lab.metrics.calls`` have in common, without its libraries."""
    assert turns.HEADER.size == HEADER.itemsize
    assert turns.RECORD.size == RECORD_1.itemsize
    writer = """\
import json, os, struct, sys
from pathlib import Path
path = Path(os.environ["GGML_VIRTGPU_CALL_LOG"]) / "guest-1.calls"
path.write_bytes(struct.pack("<8sIIIIQIIQQQQ40s16s", b"APIRCALL", VERSION, 0, SIZE, os.getpid(), *[0] * 7, b"", b""))
print(json.dumps({"ready": "me"}), flush=True)
for line in sys.stdin:
    with open(path, "ab") as file:
        for call in (17, 17, 22):
            file.write(struct.pack("<QQQQIIIiQQ", 0, 5, 0, 0, 2, call, 3, 4, 100, 8) + bytes(SIZE - 64))
        file.write(bytes(SIZE))
    print(json.dumps({"measure": line.split()[0], "ns": [1]}), flush=True)
"""
    writer = f"VERSION, SIZE = {version}, {size}\n{writer}"
    one = replace(subject("a", writer), calls=str(tmp_path / "calls"))
    rows = [row for row in told(tmp_path, Phase("p", (one,), (Measure("m", "m"),), repetitions=2)) if "event" not in row]
    assert [(row["commands"], row["bytes_out"], row["bytes_in"], row["by_call"]) for row in rows] == [
        (3, 300, 24, {"17": 2, "22": 1})
    ] * 2


LATE = """\
import json, os, struct, sys
from pathlib import Path
path = Path(os.environ["GGML_VIRTGPU_CALL_LOG"]) / "guest-1.calls"
print(json.dumps({"ready": "me"}), flush=True)
for line in sys.stdin:
    if line.startswith("open"):
        path.write_bytes(struct.pack("<8sIIIIQIIQQQQ40s16s", b"APIRCALL", 1, 0, 64, os.getpid(), *[0] * 7, b"", b""))
    if line.startswith("open and call"):
        path.write_bytes(path.read_bytes() + struct.pack("<QQQQIIIiQQ", 0, 5, 0, 0, 2, 17, 3, 4, 100, 8))
    print(json.dumps({"measure": line.split()[0], "ns": [1]}), flush=True)
"""


def test_calls_without_a_file_of_records_are_not_counted_as_none(tmp_path: Path) -> None:
    one = replace(subject("a", LATE), calls=str(tmp_path / "calls"))
    rows = told(tmp_path, Phase("p", (one,), tuple(Measure(line, line) for line in ("call", "open", "call"))))
    assert [row.get("commands") for row in rows if "event" not in row] == [None, 0, 0]
    assert all("bytes_out" not in row and "by_call" not in row for row in rows if "commands" not in row)


def test_file_that_appears_with_the_first_call_counts_from_nothing(tmp_path: Path) -> None:
    one = replace(subject("a", LATE), calls=str(tmp_path / "calls"))
    rows = told(tmp_path, Phase("p", (one,), (Measure("m", "open and call"),)))
    assert [(row["commands"], row["bytes_out"]) for row in rows if "event" not in row] == [(1, 100)]


def test_calls_outside_of_the_timed_rounds_are_not_counted() -> None:
    raw = np.zeros(4, RECORD_1)
    raw["seq"], raw["start_ns"] = range(4), (10, 20, 30, 40)
    records = [turns.RECORD.unpack(one.tobytes()) for one in raw]
    assert [one[0] for one in turns.within(records, {"begin_ns": 20, "end_ns": 30})] == [1, 2]
    assert turns.within(records, {}) == records


INTERRUPTS = """\
            CPU0       CPU1
  1:          9          7   IO-APIC   1-edge      i8042
 24:          5          0   PCI-MSIX-0000:00:01.0   0-edge      virtio1-config
 25:       1200         34   PCI-MSIX-0000:00:01.0   1-edge      virtio1-control
 26:          0          1   PCI-MSIX-0000:00:01.0   2-edge      virtio1-cursor
 27:         11         12   PCI-MSIX-0000:00:02.0   1-edge      virtio10-input.0
NMI:          0          0   Non-maskable interrupts
ERR:          0
"""


def test_only_the_interrupts_of_virtio_gpu_are_counted(tmp_path: Path) -> None:
    (tmp_path / "interrupts").write_text(INTERRUPTS)
    (tmp_path / "driver").mkdir()
    assert turns.gpu_interrupts(tmp_path / "interrupts", tmp_path / "driver") is None
    (tmp_path / "driver" / "virtio1").mkdir()
    assert turns.gpu_interrupts(tmp_path / "interrupts", tmp_path / "driver") == 5 + 1234 + 1
    (tmp_path / "interrupts").write_text(INTERRUPTS.replace("virtio1-", "virtio1 "))
    assert turns.gpu_interrupts(tmp_path / "interrupts", tmp_path / "driver") is None
