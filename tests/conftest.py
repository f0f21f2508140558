"""What holds for all tests."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """A shell that starts something in the background has it ignore SIGINT; tests of interruptions need what a terminal gives."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
