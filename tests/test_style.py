"""The checks of `make check`, as tests: formatting, lint, types."""

from __future__ import annotations

import sys

import pytest

from lab.deadline import Deadline
from lab.paths import PROJECT
from lab.process import finish


@pytest.mark.parametrize(
    "words",
    [("ruff", "format", "--check", "."), ("ruff", "check", "."), ("mypy",)],
    ids=["format", "lint", "types"],
)
def test_check_passes(words: tuple[str, ...]) -> None:
    done = finish((sys.executable, "-m", *words), deadline=Deadline.after(300), cwd=PROJECT)
    assert done.exit_status == 0, done.output
