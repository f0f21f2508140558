"""Deadlines narrow and never widen; poll makes a last attempt and tells what it saw."""

from __future__ import annotations

import pytest

from lab.deadline import Deadline, poll
from lab.errors import WaitTimeout


def test_narrowing_never_widens() -> None:
    deadline = Deadline.after(1)
    assert deadline.narrowed(100).ends == deadline.ends
    assert deadline.narrowed(0.1).ends < deadline.ends


def test_poll_returns_the_first_true_answer() -> None:
    answers = iter([None, "", "yes"])
    assert poll("an answer", lambda: next(answers), Deadline.after(5), interval_s=0.001) == "yes"


def test_poll_makes_a_last_attempt_after_the_deadline() -> None:
    assert poll("an answer", lambda: "late", Deadline.after(0)) == "late"


def test_poll_tells_what_it_saw_instead() -> None:
    with pytest.raises(WaitTimeout, match=r"waited .* s in vain for a sign\n  last seen:\n    only noise"):
        poll("a sign", lambda: False, Deadline.after(0.02), interval_s=0.005, last_seen=lambda: "only noise")


def test_require_raises_only_after_the_end() -> None:
    Deadline.after(10).require("it")
    with pytest.raises(WaitTimeout):
        Deadline.after(0).require("it")
