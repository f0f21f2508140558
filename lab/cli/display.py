"""Progress: a live display on a terminal, plain lines in CI; always on standard error, so standard output is the answer."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from lab.scenario.listener import LineListener, RunListener
from lab.visible import visible

REFRESH_PER_S = 8


@contextlib.contextmanager
def progress_display(*, in_lines: bool = False) -> Iterator[RunListener]:
    """The listener that suits where standard error goes; ``in_lines`` for several threads, whose steps overlap."""
    if in_lines or not sys.stderr.isatty():
        yield LineListener()
        return
    console = Console(stderr=True)
    listener = TerminalListener(console)
    with Live(console=console, get_renderable=listener.render, refresh_per_second=REFRESH_PER_S, transient=True):
        yield listener


class TerminalListener:
    """Finished steps stay as lines; the ones under way are shown below with their time, and a count of cases."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._steps: list[tuple[str, float]] = []
        self._count = ""
        self._spinner = Spinner("dots", style="cyan")

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show the step while it lasts, then leave a line with its duration."""
        started, name = time.monotonic(), visible(name)
        self._steps.append((name, started))
        mark, style = "✗", "red"
        try:
            yield
            mark, style = "✓", "green"
        finally:
            self._steps.pop()
            self._count = ""
            took = f"{time.monotonic() - started:.1f} s"
            self._console.print(Text.assemble("  " * len(self._steps), (mark, style), f" {name} ", (took, "dim")))

    def note(self, text: str) -> None:
        """Leave a line."""
        for line in text.splitlines():
            self._console.print(Text(f"{'  ' * len(self._steps)}· {visible(line)}", style="yellow" if "warning" in line else "dim"))

    def cases(self, done: int, expected: int, failed: int) -> None:
        """Show the count beside the step under way."""
        bad = f", {failed} failed" if failed else ""
        self._count = f"{done} of {expected} cases{bad}"

    def render(self) -> RenderableType:
        """What is under way now."""
        now = time.monotonic()
        lines: list[RenderableType] = []
        for depth, (name, started) in enumerate(self._steps):
            last = depth == len(self._steps) - 1
            text = Text.assemble(f"{name} ", (f"{now - started:.0f} s", "dim"), ("  " + self._count if last else "", "cyan"))
            if last:
                self._spinner.update(text=text)
                lines.append(self._spinner)
            else:
                lines.append(Text.assemble("  " * depth, ("▸ ", "dim"), text))
        return Group(*lines)
