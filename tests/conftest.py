"""What holds for all tests."""

from __future__ import annotations

import signal
from contextlib import ExitStack

import pytest

from lab.errors import HostError, LabError
from lab.host.root import HostRoot, cached_host_root
from tests import beforehand

COMPILED = "compiled_beforehand"
COMPILING = pytest.StashKey[ExitStack]()


def pytest_configure(config: pytest.Config) -> None:
    """What a shell starts in the background ignores SIGINT, and under nohup SIGHUP: tests need what a terminal gives."""
    config.stash[COMPILING] = ExitStack()
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests whose programs are compiled beforehand come last, in the order that they have."""
    items.sort(key=lambda item: item.get_closest_marker(COMPILED) is not None)


def pytest_runtestloop(session: pytest.Session) -> None:
    """Compile beside the tests what the last ones run."""
    option = session.config.option
    if option.collectonly or option.setuponly or option.setupplan or not session.items:
        return
    what = {name for item in session.items for marker in item.iter_markers(COMPILED) for name in marker.args}
    if what and session.items[0].get_closest_marker(COMPILED) is None and has_root():
        session.config.stash[COMPILING].enter_context(beforehand.compiling(sorted(what)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Whoever runs it compiles the rest, and nothing else runs beside: some of these tests measure time."""
    if item.get_closest_marker(COMPILED) is not None:
        end_compiling(item.config)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Nothing is left of it."""
    end_compiling(session.config)


def end_compiling(config: pytest.Config) -> None:
    """End what compiles beside the tests, and tell why it ended by itself, if it failed."""
    for child in beforehand.running:
        if child.exit_status():
            config.get_terminal_writer().line(f"\ncompiling beside the tests failed: {child.log_tail().strip()[-1000:]}")
    config.stash[COMPILING].close()


def has_root() -> bool:
    """Whether there is a host root to compile in; what is wrong with one, the fixture tells."""
    try:
        return cached_host_root() is not None
    except (LabError, OSError):
        return False


@pytest.fixture(scope="session")
def root() -> HostRoot:
    """The host root that ``lab setup`` made; an error, and no skip, where there is none."""
    found = cached_host_root()
    if found is None:
        raise HostError("host root", "it is not in the cache", hint="lab setup")
    return found
