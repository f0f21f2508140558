"""An ordinary user gets from a fresh clone to a report."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import ordinary_user


@pytest.mark.scenario
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make an account for it")
def test_make_run_works_under_an_ordinary_account(tmp_path: Path) -> None:
    log = tmp_path / "make-run.log"
    status = ordinary_user.main(log)
    assert status == 0, log.read_text(errors="replace")[-6000:]
