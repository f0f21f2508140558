"""From cases to evidence: natively with two libraries, judged; then on a remote device, and fetched where bits differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lab.deadline import Deadline
from lab.errors import LabError
from lab.ggml.registry import Device
from lab.ops.agent_rows import AgentRow
from lab.ops.native import PYTHON, PYTHON_WORDS, Enter, Files, Judged, NativeRun, rows_of
from lab.ops.verdict import Evidence, to_fetch
from lab.process import finish
from lab.temporary import temporary_folder

MAX_FETCHED = 64
"""Results that are fetched whole at most: of a library that computes everything wrong, so many tell enough."""
OTHER_THREADS = 1


@dataclass(frozen=True, slots=True)
class Library:
    """A ggml backend library in the host root, and how it is used there.

    Args:
        path: where the host root sees it.
        symbol: by which it registers itself; None: as ggml's own do.
        threads: that it computes with; libraries that know none pass over it.
    """

    path: str
    symbol: str | None = None
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """What cases must be: computed by the host library itself, and by another build of the CPU backend, and judged."""

    device: Device
    rows: Mapping[str, AgentRow]
    judged: Mapping[str, Judged]


class Host(Protocol):
    """Where references are computed, and results that were fetched are judged; ``NativeHost`` is one."""

    def reference(self, cases: Sequence[str], deadline: Deadline) -> Reference:
        """What the cases must be."""

    def judge(self, fetched: Files, cases: Sequence[str], deadline: Deadline) -> Mapping[str, Judged]:
        """What the oracles say of results, whose files lie in a folder of their own."""

    def parcel(self, deadline: Deadline) -> bytes:
        """The guest's program, packed by a Python that is likely the guest's."""


@dataclass(slots=True)
class NativeHost:
    """Computes references natively, each case once; what the libraries wrote is judged and goes.

    Args:
        enter: how a program is run in the host root.
        seed: of the data.
        own: the library that must be equalled bit for bit.
        other: a CPU backend of another build.
        environment: more variables for the libraries (Vulkan's, say).
    """

    enter: Enter
    seed: int
    own: Library
    other: str
    environment: Mapping[str, str] = field(default_factory=dict)
    known: Reference | None = None

    def reference(self, cases: Sequence[str], deadline: Deadline) -> Reference:
        """Compute and judge what is not known yet. Raises ``LabError`` when a library cannot compute at all."""
        known = self.known
        missing = [case for case in cases if known is None or case not in known.rows]
        if known is not None and not missing:
            return known
        with temporary_folder("reference") as folder:
            run = NativeRun(self.enter, folder, self.seed, self.environment)
            own = run.compute(self.own.path, missing, "own", deadline, threads=self.own.threads, symbol=self.own.symbol)
            other = run.compute(self.other, missing, "other", deadline, threads=OTHER_THREADS)
            judged = run.judge(own.files, deadline, other.files)
        before = known or Reference(own.device, {}, {})
        # another thread may put its own in this place meanwhile
        made = self.known = Reference(own.device, {**before.rows, **own.rows}, {**before.judged, **judged})
        return made

    def judge(self, fetched: Files, cases: Sequence[str], deadline: Deadline) -> Mapping[str, Judged]:
        """What the oracles say of results from elsewhere; the other build computes the cases again for it."""
        run = NativeRun(self.enter, fetched.rows.parent, self.seed, self.environment)
        other = run.compute(self.other, cases, "other", deadline, threads=OTHER_THREADS)
        return run.judge(fetched, deadline, other.files)

    def parcel(self, deadline: Deadline) -> bytes:
        """The guest's program, packed by the host root's Python. Raises ``LabError`` when it is not."""
        with temporary_folder("parcel") as folder:
            file = folder / "ops.pyz"
            argv = self.enter((PYTHON, "-m", "lab.ops.parcel", str(file)), file.parent, PYTHON_WORDS)
            done = finish(argv, deadline=deadline)
            if done.exit_status:
                raise LabError(f"packing the guest's program ended with status {done.exit_status}: {done.output[-2000:]}")
            return file.read_bytes()


@dataclass(frozen=True, slots=True)
class Fetched:
    """Remote results that were asked for again: what they are, and what the oracles say of them."""

    rows: Mapping[str, AgentRow] = field(default_factory=dict)
    judged: Mapping[str, Judged] = field(default_factory=dict)


def fetched_where_bits_differ(
    host: Host,
    reference: Reference,
    remote: Mapping[str, AgentRow],
    fetch: Callable[[Sequence[str]], Files],
    deadline: Deadline,
) -> Fetched:
    """Run the cases whose results are others than the reference again and bring and judge these.

    Raises:
        LabError: the remote device did not get through them this time.
    """
    wanted = to_fetch(reference.rows, remote)[:MAX_FETCHED]
    if not wanted:
        return Fetched()
    files = fetch(wanted)
    rows = rows_of(files.rows)
    if not rows:
        raise LabError(f"the results of {len(wanted)} cases could not be fetched: the device did not get through them again")
    return Fetched(rows, host.judge(files, list(rows), deadline))


def evidence(reference: Reference, remote: Mapping[str, AgentRow], fetched: Fetched) -> Evidence:
    """All that a verdict needs."""
    return Evidence(reference.device.registry, reference.rows, remote, reference.judged, fetched.judged, fetched.rows)
