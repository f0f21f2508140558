"""A run of a small scenario over fakes."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.scenario.small_runs import Running, run_small


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return functools.partial(run_small, tmp_path)
