"""What holds for all tests."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lab.errors import HostError, LabError
from lab.host.probe import MEMORY_NEEDED, available_in
from lab.host.root import HostRoot, cached_host_root
from lab.interruption import postponed
from lab.process import Child
from tests import beforehand, niceness, ordinary_user

AWAITED = "awaits_ordinary_run"
COMPILED = "compiled_beforehand"
BESIDE = pytest.StashKey[ExitStack]()
ORDINARY_RUN = pytest.StashKey[Child]()


def pytest_configure(config: pytest.Config) -> None:
    """What a shell starts in the background ignores SIGINT, and under nohup SIGHUP: tests need what a terminal gives.

    SIGTERM, and a line that drops, end them as Ctrl-C does: what they have begun is taken down.
    """
    config.stash[BESIDE] = ExitStack()
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is begun beforehand is wanted late, in the order that the tests have otherwise."""
    items.sort(key=turn)


def turn(item: pytest.Item) -> int:
    """0; 1 for a test that waits for what runs beside others; 2 for those beside which nothing may run: they come last."""
    return 2 if item.get_closest_marker(COMPILED) else 1 if item.get_closest_marker(AWAITED) else 0


def pytest_runtestloop(session: pytest.Session) -> None:
    """Begin beside the tests what the last ones want, unless we are one of several that share them (pytest-xdist)."""
    option = session.config.option
    if hasattr(session.config, "workerinput"):
        return
    if option.collectonly or option.setuponly or option.setupplan or session.testsfailed or not session.items:
        return
    stack, first = session.config.stash[BESIDE], turn(session.items[0])
    if first < 1 and any(turn(item) == 1 for item in session.items) and os.geteuid() == 0 and has_memory_for_two():
        # What cannot be prepared, the test's own fixture tells.
        with contextlib.suppress(LabError):
            ordinary_user.prepare()
            session.config.stash[ORDINARY_RUN] = stack.enter_context(beforehand.ordinary_run())
            stack.callback(session.config.stash.__delitem__, ORDINARY_RUN)  # one that was ended is nobody's to judge
    what = {name for item in session.items for marker in item.iter_markers(COMPILED) for name in marker.args}
    if what and first < 2 and has_root():
        after = session.config.stash.get(ORDINARY_RUN, None)
        compilers = stack.enter_context(beforehand.compiling(sorted(what), after=after))
        stack.callback(tell_failure, session.config, compilers)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Whoever runs it compiles the rest, and nothing else runs beside: some of these tests measure time."""
    if turn(item) == 2:
        item.config.stash[BESIDE].close()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Nothing is left of it, though Ctrl-C is pressed again or another plugin fails: we come behind all of them."""
    try:
        return (yield)
    finally:
        with postponed():
            session.config.stash[BESIDE].close()


def tell_failure(config: pytest.Config, compilers: Child) -> None:
    """Tell why what compiles beside the tests ended by itself, if it failed."""
    if compilers.exit_status():
        config.get_terminal_writer().line(f"\ncompiling beside the tests failed: {compilers.log_tail().strip()[-1000:]}")


def has_memory_for_two() -> bool:
    """Whether a guest can run beside those of the tests."""
    return available_in(Path("/proc/meminfo").read_text(encoding="ascii")) >= 2 * MEMORY_NEEDED


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


@pytest.fixture
def ordinary_run(request: pytest.FixtureRequest) -> Iterator[Child]:
    """``make run`` under an ordinary user's account: the one that was begun beside other tests, or one that is begun now.

    Nothing else runs while a test waits for it: it is called forward then.
    """
    begun = request.config.stash.get(ORDINARY_RUN, None)
    if begun is not None:
        niceness.give(begun.pid, os.getpriority(os.PRIO_PROCESS, 0))
        yield begun
        return
    ordinary_user.prepare()
    with beforehand.ordinary_run(nice=0) as child:
        yield child
