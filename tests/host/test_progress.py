from __future__ import annotations

import io

import pytest

from lab.host.progress import LineProgress


def test_lines_nest_and_failures_are_named() -> None:
    stream = io.StringIO()
    progress = LineProgress(stream)

    def fail() -> None:
        with progress.step("outer"):
            with progress.step("inner"):
                progress.note("one\ntwo")
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        fail()
    lines = stream.getvalue().splitlines()
    assert lines[:4] == ["outer …", "  inner …", "    · one", "    · two"]
    assert lines[4].startswith("  inner: ")
    assert lines[5].startswith("outer: failed after ")


def test_what_others_say_moves_no_cursor() -> None:
    stream = io.StringIO()
    progress = LineProgress(stream)
    progress.note("\x1b[2Ja guest's words")
    with progress.step("\x1b[1A"):
        pass
    assert "a guest's words" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()
