"""Call records of a variant: streamed from the worker's file while it runs, fetched from the guest and joined afterwards."""

from __future__ import annotations

import contextlib
import re
import shlex
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lab.apir.protocol_gen import Call, ReturnCode
from lab.bundle.outcome import Blame, Finding, FindingKind, Outcome
from lab.bundle.rows import CallRow
from lab.bundle.schema import CallsRecord, CommandRecord
from lab.bundle.writer import BundleWriter, CheckWriter
from lab.deadline import Deadline
from lab.errors import CommandFailed, CopyFailed, GuestError, GuestLost, WaitTimeout, WireError
from lab.metrics.calls import UNANSWERED, CallLog, Joined, JoinedCall, command_name, join, read_call_log, served_calls, summarise
from lab.scenario.platform import Guest

FETCH_S = 60.0
FETCH_ALL_S = 300.0
"""So long may all of a guest's call records take to be listed and fetched, and one file of them a minute."""
STREAM_EVERY_S = 1.0
FOLDER = "calls"
FETCHED = "guest-calls"
FETCHED_BYTES = 256 << 20
"""So much of call records is fetched from a guest, three million calls."""
FETCHED_FILES = 4096
"""So many files of call records are fetched from a guest, one of each context of each process."""
NOT_COME = (WaitTimeout, CommandFailed, CopyFailed)
"""Errors that say nothing of what a guest has: it did not come over."""
NAME = re.compile(r"\w[\w.-]*\.calls", re.ASCII)
TRACES = "traces"
SUFFIX = "*.calls"
MOST_UNANSWERED = 100
"""Such calls that have a finding each."""
COMPUTING = frozenset(
    call.name.lower()
    for call in (
        Call.BACKEND_GRAPH_COMPUTE,
        Call.WIDE_GRAPH_COMPUTE,
        Call.GRAPH_KEEP,
        Call.GRAPH_RUN,
        Call.GRAPH_PATCH,
    )
)
"""Commands that compute a graph. What goes along with one, and the ring that it goes by, change nothing of its name."""


@dataclass(slots=True)
class CallCollector:
    """Call records of one variant.

    Args:
        place: scenario and variant.
        host_folder: where the workers of this boot write; files that are there already belong to earlier variants.
        folder: the variant's own folder, which gets copies of the guest's files, and holds nothing else.
        others: the sides of which the code is others': they may write no records at all.
        listing: sessions of the program that lists the devices, once it has ended: its calls compute nothing.
    """

    bundle: BundleWriter
    place: tuple[str, str]
    host_folder: Path
    folder: Path
    others: frozenset[str] = frozenset()
    listing: frozenset[int] = frozenset()
    _listed: frozenset[Path] = frozenset()
    _earlier: frozenset[Path] = frozenset()
    _apart: frozenset[Path] = frozenset()
    _streamed: dict[Path, int] = field(default_factory=dict)
    _last: float = 0.0

    def __post_init__(self) -> None:
        self._earlier = frozenset(self.host_folder.glob(SUFFIX))

    def host_logs(self) -> Iterator[CallLog]:
        """The workers' files of this variant as they are now; one that is just being made is left for later."""
        for path in sorted(self.host_folder.glob(SUFFIX)):
            if path not in self._earlier:
                try:
                    yield read_call_log(path)
                except WireError:
                    continue

    @contextlib.contextmanager
    def left_out(self) -> Iterator[None]:
        """Files that workers make meanwhile are of contexts whose calls the guest does not record here: nothing can be joined."""
        before = frozenset(self.host_folder.glob(SUFFIX))
        try:
            yield
        finally:
            self._earlier |= frozenset(self.host_folder.glob(SUFFIX)) - before

    @contextlib.contextmanager
    def apart(self) -> Iterator[None]:
        """Files that workers make meanwhile are of contexts that something is done to: they are kept, and prove nothing."""
        before = frozenset(self.host_folder.glob(SUFFIX))
        try:
            yield
        finally:
            self._apart |= frozenset(self.host_folder.glob(SUFFIX)) - before

    def _sound(self) -> Iterator[CallLog]:
        """The workers' files but for those that are kept apart."""
        return (log for log in self.host_logs() if log.path not in self._apart)

    def stream(self) -> None:
        """Append what the workers have recorded since, at most once a second: it must survive whatever comes next."""
        now = time.monotonic()
        if now - self._last < STREAM_EVERY_S:
            return
        self._last = now
        self._append()

    def _append(self) -> None:
        """Append what the workers have recorded since."""
        for log in self.host_logs():
            for record in log.records[self._streamed.get(log.path, 0) :]:
                self.bundle.call(host_row(self.place, log, record), flush=False)
            self._streamed[log.path] = log.recorded
        self.bundle.flush_calls()

    def joined(self, guest: Guest | None, guest_folder: str, *, apart: bool = False) -> Joined:
        """Fetch the guest's files (none from a lost guest), join both sides, and append all calls.

        Where nothing can be joined, or some of the guest's did not come over, what the workers have recorded since is appended.

        ``apart``: of those contexts that are kept apart, whose files on the guest's side have a folder of their own.
        """
        folder = self.folder.with_name(f"{self.folder.name}-apart") if apart else self.folder
        folder.mkdir(parents=True, exist_ok=True)
        logs, wrong, late = fetched_logs(guest, guest_folder, folder) if guest is not None else Fetched([], [], [])
        logs += [log for log in self.host_logs() if (log.path in self._apart) is apart]
        silent = self.others - {log.side for log in logs}
        served = (
            () if "guest" not in silent else (call for log in logs if log.path not in self._listed for call in served_calls(log))
        )
        joined = join(logs, silent, late)
        joined = replace(joined, findings=(*wrong, *joined.findings), served=tuple(served))
        if late or not joined.calls:
            self._append()
        else:
            for call in joined.calls:
                self.bundle.call(joined_row(self.place, call), flush=False)
            self.bundle.flush_calls()
        return joined

    def listing_ended(self) -> None:
        """What was recorded so far is of the program that lists the devices."""
        self.listing, self._listed = self.sessions(), frozenset(log.path for log in self.host_logs())

    def sessions(self) -> frozenset[int]:
        """Numbers that tell the contexts so far apart."""
        return frozenset(log.session for log in self.host_logs() if log.session)

    def capsets(self) -> tuple[int, ...]:
        """Numbers of the capsets of the contexts that workers served, in order, each as often as there were contexts."""
        return tuple(log.capset for log in self._sound())

    def last_call(self) -> str:
        """The last command that a worker recorded, in words."""
        last = max(
            ((int(log.records[-1]["start_ns"]), log) for log in self._sound() if log.recorded),
            key=lambda item: item[0],
            default=None,
        )
        if last is None:
            return "none: no worker recorded a command"
        record, worker = last[1].records[-1], last[1].pid
        op = f", the last graph ended with {last[1].last_op}" if last[1].last_op else ""
        duration_us = int(record["duration_ns"]) / 1000
        number, status = int(record["seq"]), int(record["status"])
        return f"{command_name(record)} (number {number} of worker {worker}, {duration_us:.0f} µs, status {status}{op})"


class Fetched(NamedTuple):
    """Files of a guest, what is wrong with them (names, sizes, contents are its word), and why others did not come over."""

    logs: list[CallLog]
    wrong: list[str]
    late: list[str]


def fetched_logs(guest: Guest, remote: str, folder: Path) -> Fetched:
    """The guest's files, copied into ``folder``.

    A guest that is lost meanwhile, or has more than is fetched, gives those that came over before.
    """
    logs, wrong, late = fetched = Fetched([], [], [])
    left, limit = FETCHED_BYTES, Deadline.after(FETCH_ALL_S)
    try:
        listed = listed_names(guest, remote, limit)
    except GuestError as error:
        text = f"the guest's call records in {remote} cannot be listed: {error}"
        (late if isinstance(error, NOT_COME) else wrong).append(text)
        return fetched
    names = [name for name in listed if NAME.fullmatch(name)]
    others = [name for name in listed if not NAME.fullmatch(name)]
    if others:
        wrong.append(f"the guest has {len(others)} files that are no call records by their names, the first is {others[0]!r}")
    for number, name in enumerate(names):
        too_many = number == FETCHED_FILES
        if too_many or limit.expired:
            bound = f"at most {FETCHED_FILES} are" if too_many else f"what comes in {FETCH_ALL_S:.0f} s is"
            text = (
                f"{len(names) - number} of {len(names)} call records of the guest are left there, from {name} on: {bound} fetched"
            )
            (wrong if too_many else late).append(text)
            break
        path = folder / name
        try:
            guest.ssh.get(f"{remote}/{name}", path, limit.narrowed(FETCH_S), most_bytes=left)
            left -= path.stat().st_size
            logs.append(read_call_log(path))
        except GuestLost:
            break
        except (GuestError, WireError) as error:
            (late if isinstance(error, NOT_COME) else wrong).append(f"call records {name} of the guest: {error}")
    return fetched


def listed_names(guest: Guest, remote: str, deadline: Deadline) -> list[str]:
    """Names in a folder of the guest; none where it is not there, or the guest is lost.

    Raises:
        GuestError: they are more than is read, or do not come in time.
    """
    with contextlib.suppress(GuestLost):
        status, listing = guest.ssh.execute(f"ls {shlex.quote(remote)}", deadline.narrowed(FETCH_S))
        return listing.splitlines() if status == 0 else []
    return []


@dataclass(frozen=True, slots=True)
class Work:
    """What there must be calls for: so many results, of which so many say that the remote device computed something.

    ``graphs``: what was computed by ``test-backend-ops``, each case by a graph of its own at least.
    """

    results: int = 0
    computed: int = 0
    graphs: int = 0


def work_of(writers: Iterable[CheckWriter], asking: Collection[str], texts: int, one_by_one: Collection[str] = ()) -> Work:
    """The work that results are of. Those of an earlier run, and of what was left out, are of none.

    Args:
        writers: with the results.
        asking: checks that ask what is supported, so that a case passes which was not computed.
        texts: so many were computed besides, which are no cases.
        one_by_one: checks each case of which has a graph of its own.
    """
    ends = [(one.check, Outcome(result.outcome)) for one in writers for result in one.results[one.kept :]]
    results = sum(outcome is not Outcome.SKIPPED for _, outcome in ends)
    computed = [check for check, outcome in ends if outcome is Outcome.PASS and check not in asking]
    return Work(results + texts, len(computed) + texts, sum(check in one_by_one for check in computed))


def findings_of(joined: Joined, work: Work, listing: Collection[int] = ()) -> Iterator[Finding]:
    """What is wrong with the calls. Results without calls mean that the remote device did not compute them.

    Of a guest library that writes no records the host's are the proof. Where some of the guest's did not come over there is none,
    which is the lab's: it is not said then that calls lack.

    ``listing``: sessions of the program that lists the devices, which calls whatever computes afterwards.
    """
    for text in joined.findings:
        yield Finding(FindingKind.CALLS_DIFFER, Blame.PRODUCT, text)
    for text in joined.lacking:
        yield Finding(FindingKind.CALLS_DIFFER, Blame.LAB, text)
    if joined.lacking:
        return
    others = [call for call in joined.calls if call.session not in listing] or list(joined.served)
    graphs = sum(call.command in COMPUTING for call in others)
    if work.results and joined.unproven:
        text = (
            f"{work.results} cases have results, but neither the guest library nor the component, which are both others', "
            "recorded a call: call_records = false asks for no such proof"
        )
        yield Finding(FindingKind.NO_CALLS, Blame.PRODUCT, text)
    elif work.results and not others:
        besides = " besides those of the program that lists the devices" if joined.calls else ""
        text = f"{work.results} cases have results, but no remote call was recorded{besides}"
        yield Finding(FindingKind.NO_CALLS, Blame.PRODUCT, text)
    elif work.computed and not graphs:
        text = f"{work.computed} cases were computed, but none of {len(others)} remote calls computes a graph"
        yield Finding(FindingKind.NO_CALLS, Blame.PRODUCT, text)
    elif graphs < work.graphs:
        text = f"{work.graphs} cases were computed one by one, but only {graphs} remote calls compute a graph"
        yield Finding(FindingKind.NO_CALLS, Blame.PRODUCT, text)


def losses(joined: Joined) -> Iterator[Finding]:
    """One finding for every context whose worker was lost, and one for every call that nobody answered.

    Of many of these, which are a guest's word, the last finding tells how many more there are.
    """
    told: set[int] = set()
    unanswered = 0
    for call in joined.calls:
        place = f"{call.command} (call {call.seq} of guest pid {call.guest_pid})"
        if call.status == ReturnCode.WORKER_LOST and call.session not in told:
            told.add(call.session)
            text = f"{Outcome.HOST_CRASH}: the worker of context {call.context} was lost during {place}"
            yield Finding(FindingKind.WORKER_LOST, Blame.PRODUCT, text)
        elif call.status == UNANSWERED:
            unanswered += 1
            if unanswered > MOST_UNANSWERED:
                continue
            text = f"{Outcome.HANG}: the worker of context {call.context} never answered {place}"
            yield Finding(FindingKind.WORKER_LOST, Blame.PRODUCT, text)
    if unanswered > MOST_UNANSWERED:
        text = f"{Outcome.HANG}: {unanswered - MOST_UNANSWERED} more calls were never answered"
        yield Finding(FindingKind.WORKER_LOST, Blame.PRODUCT, text)


def proof_of(joined: Joined) -> CallsRecord:
    """The summary of the calls that prove which way they went: the host's, of a guest that writes no records."""
    return calls_record(replace(joined, calls=joined.calls or joined.served))


def calls_record(joined: Joined) -> CallsRecord:
    """The summary for ``run.json``; without durations where some of the guest's records did not come over."""
    if joined.lacking or not joined.calls:
        return CallsRecord(guest_counted=joined.guest_counted, host_counted=joined.host_counted)
    p50, p99 = np.percentile([call.duration_ns for call in joined.calls], (50, 99), method="inverted_cdf") / 1000
    commands = (
        CommandRecord(
            command=one.command,
            count=one.count,
            failed=one.failed,
            p50_us=round(one.p50_us, 3),
            p90_us=round(one.p90_us, 3),
            p99_us=round(one.p99_us, 3),
            max_us=round(one.max_us, 3),
            most_bytes=one.most_bytes,
        )
        for one in summarise(joined.calls)
    )
    return CallsRecord(
        count=len(joined.calls),
        timed=sum(call.told for call in joined.calls),
        p50_us=round(float(p50), 3),
        p99_us=round(float(p99), 3),
        guest_counted=joined.guest_counted,
        host_counted=joined.host_counted,
        commands=tuple(commands),
    )


def together(one: Joined, other: Joined) -> Joined:
    """Everything of both."""
    calls, findings = (*one.calls, *other.calls), (*one.findings, *other.findings)
    return replace(
        one,
        calls=calls,
        findings=findings,
        guest_counted=one.guest_counted + other.guest_counted,
        host_counted=one.host_counted + other.host_counted,
    )


def joined_row(place: tuple[str, str], call: JoinedCall) -> CallRow:
    """A call as both sides saw it."""
    return CallRow(
        *place, "both", call.session, call.seq, call.command, call.start_ns, call.duration_ns, call.encode_ns,
        call.host_queue_ns, call.host_compute_ns, call.status, call.bytes_out, call.bytes_in,
    )  # fmt: skip


def host_row(place: tuple[str, str], log: CallLog, record: np.void) -> CallRow:
    """A call as its worker saw it; the duration is the computing alone."""
    compute_ns = int(record["duration_ns"])
    return CallRow(
        *place, "host", log.session, int(record["seq"]), command_name(record), int(record["start_ns"]), compute_ns, None,
        int(record["queue_ns"]), compute_ns, int(record["status"]), int(record["bytes_out"]), int(record["bytes_in"]),
    )  # fmt: skip
