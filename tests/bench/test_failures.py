from __future__ import annotations

from lab.bench.figures import MOST_WORDS, Rows


def test_failed_rows_are_kept_apart() -> None:
    answer = {"phase": "calls", "subject": "vm/copied", "name": "empty", "ns": [1]}
    rows = Rows([{"error": "it ended", "subject": "vm/copied", "name": "empty", "phase": "calls"}, answer])
    assert rows.failures == ["vm/copied empty: it ended"]
    assert len(rows.of("vm/copied", "empty")) == 1


def test_failure_is_told_once_with_what_a_program_that_did_not_start_said_last() -> None:
    refused = {"event": "started", "subject": "vm_other/copied", "error": "ggml has loaded no registry ggml-virtgpu"}
    said = {
        "event": "said",
        "subject": "vm_other/copied",
        "text": "load_backend: loaded CPU\n\nincompatible API version (backend: 2)\n\n",
    }
    again = [{**refused, "phase": phase} for phase in ("calls", "rates", "rates again")]
    rows = Rows([again[0], said, again[1], {**said, "subject": "vm/copied"}, said, said, again[2], {**said, "text": " \n"}])
    assert rows.failures == [
        "vm_other/copied: ggml has loaded no registry ggml-virtgpu; it said: incompatible API version (backend: 2) (2 times)",
        "vm_other/copied: ggml has loaded no registry ggml-virtgpu",
    ]


def test_of_a_long_last_line_the_end_is_told() -> None:
    refused = {"event": "started", "subject": "vm/copied", "error": "it ended"}
    rows = Rows([refused, {"event": "said", "subject": "vm/copied", "text": "x" * MOST_WORDS + " no memory"}])
    (failure,) = rows.failures
    assert failure == f"vm/copied: it ended; it said: {('x' * MOST_WORDS + ' no memory')[-MOST_WORDS:]}"


def test_what_is_an_event_by_its_own_word_is_no_measurement() -> None:
    rows = Rows([{"event": "anything", "name": "empty", "ns": [1]}])
    assert (rows.measurements, rows.failures) == (0, [])


def test_records_that_were_there_once_and_not_again_are_missed() -> None:
    place = {"phase": "census", "subject": "vm/copied", "name": "empty", "ns": [1]}
    assert Rows([{**place, "commands": 1, "bytes_out": 1, "bytes_in": 1}, place]).uncounted() == ("vm/copied",)
