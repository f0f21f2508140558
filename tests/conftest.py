"""What holds for all tests."""

from __future__ import annotations

import signal

import pytest

from lab.errors import HostError
from lab.host.root import HostRoot, cached_host_root


def pytest_configure() -> None:
    """What a shell starts in the background ignores SIGINT, and under nohup SIGHUP: tests need what a terminal gives."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def root() -> HostRoot:
    """The host root that ``lab setup`` made; an error, and no skip, where there is none."""
    found = cached_host_root()
    if found is None:
        raise HostError("host root", "it is not in the cache", hint="lab setup")
    return found
