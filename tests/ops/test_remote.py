"""The command that starts the guest's program, run by a shell here: the ids arrive, on the standard input or as a file."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lab.deadline import Deadline
from lab.errors import LabError
from lab.ops.agent_rows import AgentRow
from lab.ops.catalog import all_cases
from lab.ops.remote import BACKEND_PATH, CASES, INLINE_BYTES, PARCEL, VALUES, GuestAgent

PROGRAM = """\
import json, sys
if "--probe" in sys.argv:
    print(json.dumps({"ready": {}}))
    sys.exit(0)
given = sys.argv[sys.argv.index("--cases") + 1]
text = sys.stdin.read() if given == "-" else open(given).read()
print(json.dumps({"end": {"cases": [given, text.split(chr(10))]}}))
sys.exit(7)
"""


@dataclass
class HereShell:
    """A guest's shell that is this machine's."""

    folder: Path
    lines: list[str] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)

    def put(self, local: Path, remote: str, deadline: Deadline | None = None) -> str:
        assert deadline is not None
        self.copied.append(local.read_text(encoding="utf-8"))
        shutil.copyfile(local, remote)
        return ""

    def get(self, remote: str, local: Path, deadline: Deadline | None = None) -> str:
        assert deadline is not None
        shutil.copyfile(remote, local)
        return ""

    def stream(self, command: str, on_line: Callable[[str], None], deadline: Deadline) -> int:
        limit = deadline.remaining_s
        script = f"export MARK=1\n{command}\nexit $?"
        done = subprocess.run(("sh", "-c", script), capture_output=True, text=True, check=False, timeout=limit)
        for line in done.stdout.splitlines(keepends=True):
            on_line(line)
        return done.returncode


FETCHED = """\
import json, sys
print(" ".join(sys.argv))
with open(sys.argv[sys.argv.index("--values") + 1], "ab") as values:
    print(json.dumps({"case": "ADD()", "outcome": "computed", "digest": "d", "ns": 1, "batch": 1, "at": values.tell()}))
    values.write(b"new")
print("a library's word")
if "ADD()" in sys.stdin.read():
    print(json.dumps({"end": {}}))
"""


@pytest.mark.parametrize("case", ["ADD()", "MUL()"])
def test_results_are_fetched_by_themselves_and_only_of_a_program_that_came_to_its_end(tmp_path: Path, case: str) -> None:
    guest, here = tmp_path / "guest", tmp_path / "here"
    guest.mkdir()
    here.mkdir()
    (guest / PARCEL).write_text(FETCHED)
    (guest / VALUES).write_bytes(b"of another time")
    told: list[str] = []
    rows: list[AgentRow] = []
    variables = {BACKEND_PATH: "/opt/libx.so"}
    agent = GuestAgent(
        HereShell(guest), str(guest), "CPU", 1, variables, on_row=rows.append, on_line=lambda line, _stream: told.append(line)
    )
    files = agent.fetched([case], here, Deadline.after(30))
    kept = [json.loads(line) for line in files.rows.read_text(encoding="utf-8").splitlines()]
    assert [(row["case"], row["at"]) for row in kept] == ([("ADD()", 0)] if case == "ADD()" else [])
    assert files.values.read_bytes() == b"new"
    assert not (guest / VALUES).exists()
    assert any("--of /opt/libx.so" in line for line in told)
    assert rows == []


@pytest.mark.parametrize("count", [1, 3, 4000])
def test_the_ids_arrive_and_the_status_comes_back(tmp_path: Path, count: int) -> None:
    cases = [case.id for case in all_cases()[:count]]
    told: list[str] = []
    agent = GuestAgent(HereShell(tmp_path), str(tmp_path), "[virtgpu] CPU", 1, {}, on_line=lambda line, _stream: told.append(line))
    agent.ship(Deadline.after(10), PROGRAM.encode())
    stream = agent.attempt(cases, 128, Deadline.after(30))
    assert stream.ended
    assert stream.started is not None
    assert stream.exit_status == 7
    inline = len("\n".join(cases)) <= INLINE_BYTES
    assert ('["-", ' in told[-1]) is inline
    assert (tmp_path / CASES).exists() is not inline
    assert all(f'"{case}"' in told[-1] for case in cases)


READY_AND_GONE = """print('{"ready": {}}', flush=True); import os; os._exit(3)"""


@pytest.mark.parametrize("program", ["import sys; sys.exit('no module named _ctypes')", "print('hello')", READY_AND_GONE])
def test_a_program_that_does_not_run_there_is_told_when_it_is_shipped(tmp_path: Path, program: str) -> None:
    agent = GuestAgent(HereShell(tmp_path), str(tmp_path), "[virtgpu] CPU", 1, {})
    with pytest.raises(LabError, match=r"does not run in the guest: status [013], it said (no module named _ctypes|hello|.*ready)"):
        agent.ship(Deadline.after(10), program.encode())


def test_nothing_is_run_elsewhere_when_its_folder_is_gone(tmp_path: Path) -> None:
    stream = GuestAgent(HereShell(tmp_path), str(tmp_path / "gone"), "CPU", 1, {}).attempt(["ADD()"], 1, Deadline.after(10))
    assert (stream.started, stream.ended, stream.exit_status == 0) == (None, False, False)


def test_a_program_that_has_run_there_is_not_shipped_again_but_another_one_is(tmp_path: Path) -> None:
    shell = HereShell(tmp_path)
    agent = GuestAgent(shell, str(tmp_path), "[virtgpu] CPU", 1, {})
    other = PROGRAM + "# of another state of the lab\n"
    for program in (PROGRAM, PROGRAM, other, other):
        agent.ship(Deadline.after(10), program.encode())
    assert shell.copied == [PROGRAM, other]


def test_a_program_that_did_not_run_there_is_shipped_again(tmp_path: Path) -> None:
    shell = HereShell(tmp_path)
    agent = GuestAgent(shell, str(tmp_path), "[virtgpu] CPU", 1, {})
    for _ in range(2):
        with pytest.raises(LabError):
            agent.ship(Deadline.after(10), b"print('hello')")
    assert len(shell.copied) == 2


def test_what_has_run_there_is_shipped_again_when_another_one_has_taken_its_place(tmp_path: Path) -> None:
    shell = HereShell(tmp_path)
    agent = GuestAgent(shell, str(tmp_path), "[virtgpu] CPU", 1, {})
    agent.ship(Deadline.after(10), PROGRAM.encode())
    with pytest.raises(LabError):
        agent.ship(Deadline.after(10), b"print('broken')")
    agent.ship(Deadline.after(10), PROGRAM.encode())
    assert len(shell.copied) == 3
