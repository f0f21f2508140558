"""QMP for code that does not want to be asynchronous: one session, its event loop in a thread of its own.

Everything said goes to a log with times, events included.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import time
from collections.abc import Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO, TypeVar

from qemu.qmp import QMPClient, QMPError

from lab.deadline import Deadline
from lab.errors import GuestError, GuestLost, WaitTimeout
from lab.threads import beside

T = TypeVar("T")
CLOSE_S = 15.0


class QmpFailed(GuestError):
    """QEMU refused a command."""

    def __init__(self, command: str, text: str) -> None:
        self.command = command
        super().__init__(f"QMP command {command} failed: {text}")


class QmpSession:
    """An open session. Made by ``qmp_session`` only."""

    def __init__(self, loop: asyncio.AbstractEventLoop, client: QMPClient, log: TextIO) -> None:
        self._loop = loop
        self._client = client
        self._log = log
        self._started = time.monotonic()

    def _say(self, text: str) -> None:
        self._log.write(f"[{time.monotonic() - self._started:9.3f}] {text}\n")
        self._log.flush()

    def execute(self, command: str, arguments: Mapping[str, object] | None = None, *, deadline: Deadline) -> Any:
        """Run one QMP command and return its answer.

        Raises:
            QmpFailed: QEMU refused it.
            GuestLost: QEMU hung up.
            WaitTimeout: no answer in time.
        """
        self._say(f"→ {command} {json.dumps(arguments or {})}")
        try:
            answer = self.within(self._client.execute(command, dict(arguments) if arguments else None), command, deadline)
        except QMPError as error:
            self._say(f"! {error}")
            if type(error).__name__ == "ExecuteError":
                raise QmpFailed(command, str(error)) from error
            raise GuestLost(f"QMP ended: {error}") from error
        self._say(f"← {json.dumps(answer)}")
        return answer

    def human(self, command: str, *, deadline: Deadline) -> str:
        """Run one command of the human monitor and return its text."""
        return str(self.execute("human-monitor-command", {"command-line": command}, deadline=deadline))

    def within(self, work: Coroutine[Any, Any, T], what: str, deadline: Deadline) -> T:
        """Run a coroutine in the session's loop; past its deadline it is cancelled there, and its cleaning up waited for."""
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, deadline.remaining_s), self._loop)
        try:
            return future.result(deadline.remaining_s + CLOSE_S)
        except TimeoutError:
            future.cancel()
            raise WaitTimeout(f"QMP {what}", deadline.elapsed_s) from None

    async def log_events(self) -> None:
        """Write every event to the log until cancelled."""
        async for event in self._client.events:
            self._say(f"· {event['event']} {json.dumps(event.get('data', {}))}")

    async def hang_up(self) -> None:
        """Disconnect; QEMU hanging up first is what we asked it for, not an error."""
        with contextlib.suppress(EOFError, OSError, QMPError):
            await self._client.disconnect()


@contextlib.contextmanager
def qmp_session(stream: socket.socket, log: Path, deadline: Deadline) -> Iterator[QmpSession]:
    """Greet QEMU over our end of a socket pair, which is closed when the context ends.

    Raises:
        GuestLost: QEMU hung up instead of greeting.
        WaitTimeout: it said nothing in time.
    """
    # the library reports on its logger what we raise ourselves
    logging.getLogger("qemu.qmp").setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(open(log, "w", encoding="utf-8"))
        loop = stack.enter_context(_loop_thread())
        client = QMPClient("guest")
        session = QmpSession(loop, client, file)
        try:
            session.within(client.connect(stream), "greeting", deadline)
        except (QMPError, OSError, EOFError) as error:
            raise GuestLost(f"QEMU did not greet: {error}") from error
        stack.callback(lambda: session.within(session.hang_up(), "end", Deadline.after(CLOSE_S)))
        events = asyncio.run_coroutine_threadsafe(session.log_events(), loop)
        stack.callback(events.cancel)
        yield session


@contextlib.contextmanager
def _loop_thread() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    # qemu.qmp leaves a task behind whose EOFError, the expected end after `quit`, nobody retrieves
    loop.set_exception_handler(lambda _loop, _context: None)
    with contextlib.closing(loop), beside(loop.run_forever, "qmp", lambda: _end(loop)):
        yield loop


def _end(loop: asyncio.AbstractEventLoop) -> None:
    try:
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result(CLOSE_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)


async def _cancel_all() -> None:
    """Cancel what still runs, and retrieve every result."""
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
