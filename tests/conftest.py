"""What holds for all tests."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from lab.errors import HostError
from lab.host.root import HostRoot, cached_host_root
from tests import beforehand

COMPILED = "compiled_beforehand"
COMPILING = pytest.StashKey[ExitStack]()
COMPILED_BY_NOW = pytest.StashKey[Callable[[], None]]()


def pytest_configure() -> None:
    """What a shell starts in the background ignores SIGINT, and under nohup SIGHUP: tests need what a terminal gives."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests whose programs are compiled beforehand come last, in the order that they have."""
    items.sort(key=lambda item: item.get_closest_marker(COMPILED) is not None)


def pytest_runtestloop(session: pytest.Session) -> None:
    """Compile beside the tests, where some wait for it."""
    compiled = any(item.get_closest_marker(COMPILED) for item in session.items)
    if not compiled or session.config.option.collectonly or cached_host_root() is None:
        return
    stack = session.config.stash[COMPILING] = ExitStack()
    session.config.stash[COMPILED_BY_NOW] = stack.enter_context(beforehand.compiling())


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End it, if it has not ended."""
    if COMPILING in session.config.stash:
        session.config.stash[COMPILING].close()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Wait for it; all of it, for tests that measure time are among those."""
    if item.get_closest_marker(COMPILED) is not None and COMPILED_BY_NOW in item.config.stash:
        item.config.stash[COMPILED_BY_NOW]()


@pytest.fixture(scope="session")
def root() -> HostRoot:
    """The host root that ``lab setup`` made; an error, and no skip, where there is none."""
    found = cached_host_root()
    if found is None:
        raise HostError("host root", "it is not in the cache", hint="lab setup")
    return found
