"""The agent in a guest: shipped as one file, run on the remote device, and asked again for results that differ."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lab.deadline import Deadline
from lab.errors import LabError
from lab.ops.agent_rows import AgentRow, AgentStream, row_from
from lab.ops.engine import BATCH_CASES
from lab.ops.native import Files
from lab.ops.parcel import agent_parcel
from lab.ops.said import event_in
from lab.ops.upstream import PYTHON, guest_command
from lab.temporary import nameless_file

BACKEND_PATH = "GGML_BACKEND_PATH"
"""Variable that names a backend library to ggml: the one with the device, where it is set."""
PARCEL, CASES, VALUES = "ops.pyz", "cases", "values"
PROVED = "ops.pyz.proved"
"""The SHA-256 of the program that has run in this guest, written there when it has."""
READY = '{"ready"'
STDIN, END = "-", "END_OF_CASES"
INLINE_BYTES = 64 << 10
"""So many bytes of ids go with the command (a shell takes 128 KiB); more are copied as a file, a second of an emulated guest."""


class Shell(Protocol):
    """What is needed of a guest's shell."""

    def put(self, local: Path, remote: str, deadline: Deadline | None = None) -> str:
        """Copy a file into the guest."""

    def get(self, remote: str, local: Path, deadline: Deadline | None = None) -> str:
        """Copy a file out of it."""

    def stream(self, command: str, on_line: Callable[[str], None], deadline: Deadline) -> int:
        """Run a command and hand over its lines as they come."""


@dataclass(frozen=True, slots=True)
class GuestAgent:
    """Runs cases in a guest.

    Args:
        shell: of the guest.
        folder: where the program works: the guest library lies there, or ``variables`` name it.
        device: name of the remote device.
        seed: of the data.
        variables: of the program.
        on_row: told every row as it comes.
        on_line: told every line of output, rows too.
    """

    shell: Shell
    folder: str
    device: str
    seed: int
    variables: Mapping[str, str]
    on_row: Callable[[AgentRow], None] = lambda _row: None
    on_line: Callable[[str, AgentStream], None] = lambda _line, _stream: None

    def ship(self, deadline: Deadline, parcel: bytes | None = None) -> None:
        """Put the program into the guest and start it there once, to see that it can; ``parcel`` is it, packed already.

        After it, its files are in the guest's memory, as those of ``test-backend-ops`` are when that has listed the devices. Both
        copying and starting take an emulated guest long: one in which this very program has run is only asked whether it has.

        Raises:
            LabError: the guest's Python, or its ggml, is none that the program can use.
        """
        parcel = parcel or agent_parcel()
        identity = hashlib.sha256(parcel).hexdigest()
        mark, no_line = f"{self.folder}/{PROVED}", lambda _line: None
        # what is said of a program that is about to be replaced goes before it does
        if not self.shell.stream(f'test "$(cat {mark})" = {identity} || {{ rm -f {mark}; exit 1; }}', no_line, deadline):
            return
        self._put(parcel, PARCEL, deadline)
        lines: list[str] = []
        program = guest_command((*PYTHON, f"{self.folder}/{PARCEL}", "--probe"), {})
        status = self.shell.stream(program, lines.append, deadline)
        if status or not any(line.startswith(READY) for line in lines):
            said = "".join(lines[1:]).strip()[-1000:] or "nothing"
            raise LabError(
                f"the lab's program does not run in the guest: status {status}, it said {said}",
                hint="the guest's image needs python3 with ctypes, and libggml",
            )
        self.shell.stream(f"echo {identity} > {mark}", no_line, deadline)

    def attempt(self, cases: Sequence[str], batch: int, deadline: Deadline, *, hold: bool = False) -> AgentStream:
        """Run cases, so many together at most; what ends the program is no error here, what ends the guest is.

        With ``hold`` the program stays after its last line until it gets SIGTERM.
        """
        return self._run(cases, ("--batch", str(batch), *(("--hold",) if hold else ())), deadline, self.on_row)

    def fetched(self, cases: Sequence[str], folder: Path, deadline: Deadline) -> Files:
        """Run cases again and copy their results into ``folder``."""
        files = Files(folder / "fetched.rows", folder / "fetched.values")
        lines: list[str] = []
        remote = f"{self.folder}/{VALUES}"
        self.shell.stream(f"rm -f {remote}; : > {remote}", lambda _line: None, deadline)
        stream = self._run(cases, ("--values", remote, "--batch", str(BATCH_CASES)), deadline, lambda _row: None, lines)
        files.rows.write_text("".join(line for line in lines if row_from(event_in(line)) is not None), encoding="utf-8")
        self.shell.get(remote, files.values, deadline)
        self.shell.stream(f"rm -f {remote}", lambda _line: None, deadline)
        if not stream.ended:
            files.rows.write_text("", encoding="utf-8")
        return files

    def _run(
        self,
        cases: Sequence[str],
        words: Sequence[str],
        deadline: Deadline,
        on_row: Callable[[AgentRow], None],
        lines: list[str] | None = None,
    ) -> AgentStream:
        text = "\n".join(cases)
        inline = len(text) <= INLINE_BYTES
        if not inline:
            self._put(text.encode(), CASES, deadline)
        stream = AgentStream()

        def on_line(line: str) -> None:
            before = len(stream.rows)
            stream.feed(line)
            if lines is not None:
                lines.append(line)
            self.on_line(line, stream)
            for row in stream.rows[before:]:
                on_row(row)

        library = self.variables.get(BACKEND_PATH)
        of = ("--of", library) if library else ()
        program = (*PYTHON, f"{self.folder}/{PARCEL}", "--device", self.device, *of, "--seed", str(self.seed))
        command = guest_command((*program, "--cases", STDIN if inline else f"{self.folder}/{CASES}", *words), self.variables)
        given = f"({command}) <<'{END}'\n{text}\n{END}" if inline else command
        stream.exit_status = self.shell.stream(f"cd {self.folder} || exit\n{given}", on_line, deadline)
        return stream

    def _put(self, content: bytes, name: str, deadline: Deadline) -> None:
        with nameless_file() as file:
            file.write_bytes(content)
            self.shell.put(file, f"{self.folder}/{name}", deadline)
