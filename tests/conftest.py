"""What holds for all tests."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """What a shell starts in the background ignores SIGINT, and under nohup SIGHUP: tests need what a terminal gives."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
