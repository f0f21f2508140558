"""An ordinary user gets from a fresh clone to a report."""

from __future__ import annotations

import os

import pytest

from lab.deadline import Deadline
from lab.process import Child
from tests import ordinary_user


@pytest.mark.scenario
@pytest.mark.awaits_ordinary_run
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make an account for it")
def test_make_run_works_under_an_ordinary_account(ordinary_run: Child) -> None:
    status = ordinary_run.wait(Deadline.after(ordinary_user.AWAITED_S))
    assert status == 0, ordinary_run.log_tail()[-6000:]
