"""Call record files (``*.calls``): read, join the guest's with the host's, summarise.

Both sides write a record per command (``backend_impl/wire/call_log.hpp`` has the layout). The two are joined by the session
number that the guest chose and told the host with ``negotiate``; without it (an older peer), by the order in which
processes appeared. Within a session the k-th command on a reply resource is the same on both sides, for a reply resource
holds one outstanding command at a time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lab.apir.protocol_gen import Call, CommandType, ReturnCode
from lab.errors import WireError

MAGIC = b"APIRCALL"
HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("side", "<u4"),
        ("record_size", "<u4"),
        ("pid", "<u4"),
        ("session", "<u8"),
        ("context", "<u4"),
        ("capset", "<u4"),
        ("realtime_ns", "<u8"),
        ("monotonic_ns", "<u8"),
        ("counted", "<u8"),
        ("written", "<u8"),
        ("build_id", "S40"),
        ("last_op", "S16"),
    ]
)
RECORD = np.dtype(
    [
        ("seq", "<u8"),
        ("start_ns", "<u8"),
        ("duration_ns", "<u8"),
        ("queue_ns", "<u8"),
        ("type", "<u4"),
        ("call", "<u4"),
        ("reply_resource", "<u4"),
        ("status", "<i4"),
        ("bytes_out", "<u8"),
        ("bytes_in", "<u8"),
        ("host_queue_ns", "<u8"),
        ("host_compute_ns", "<u8"),
    ]
)
RECORD_1 = np.dtype([(name, RECORD[name].str) for name in (RECORD.names or ())[:-2]])
"""A record of version 1: without what the host says of itself in its reply."""
RECORDS = {1: RECORD_1, 2: RECORD}
SIDES = ("guest", "host")
FAR_NUMBER = 1024
"""From here on no peer has a call; the highest of ours is below 100."""
UNANSWERED = -1
"""Status in the guest's record of a call to which no reply came."""
Records = NDArray[np.void]


@dataclass(frozen=True, slots=True)
class CallLog:
    """One file: who wrote it, how many commands it counted, and its completed records in order (dtype ``RECORD``).

    ``last_op`` is the op that the last graph ended with, noted before it was computed; empty on the guest's side and before the
    first graph.
    """

    path: Path
    side: str
    pid: int
    session: int
    context: int
    capset: int
    counted: int
    realtime_ns: int
    monotonic_ns: int
    build_id: str
    last_op: str
    records: Records

    @property
    def recorded(self) -> int:
        """Number of completed records."""
        return len(self.records)


@dataclass(frozen=True, slots=True)
class JoinedCall:
    """One remote call as both sides saw it; durations in nanoseconds.

    Without the host's record its figures are what the reply told (extension timing), or None. ``told``: the reply told them.
    """

    session: int
    guest_pid: int
    context: int | None
    capset: int
    seq: int
    command: str
    start_ns: int
    duration_ns: int
    encode_ns: int
    host_queue_ns: int | None
    host_compute_ns: int | None
    status: int
    bytes_out: int
    bytes_in: int
    told: bool = False


@dataclass(frozen=True, slots=True)
class Joined:
    """Calls of a run, what is wrong with them, and how many commands either side counted.

    ``silent``: the sides that write no records. Of a guest that is one, ``served`` has what the host did; its durations are the
    host's. ``lacking``: why some of the guest's files did not come over, which is no fault of theirs.
    """

    calls: tuple[JoinedCall, ...]
    findings: tuple[str, ...]
    guest_counted: int
    host_counted: int
    silent: frozenset[str] = frozenset()
    served: tuple[JoinedCall, ...] = ()
    lacking: tuple[str, ...] = ()

    @property
    def unproven(self) -> bool:
        """Whether nobody writes records."""
        return len(self.silent) == len(SIDES)


@dataclass(frozen=True, slots=True)
class Summary:
    """Durations of one command, in microseconds. ``most_bytes``: of the largest, data included, request or reply."""

    command: str
    count: int
    failed: int
    p50_us: float
    p90_us: float
    p99_us: float
    max_us: float
    most_bytes: int


def read_call_log(path: Path) -> CallLog:
    """Read one file.

    Raises:
        WireError: it is no call record file, of another version, or shorter than its header.
    """
    raw = path.read_bytes()
    if len(raw) < HEADER.itemsize:
        raise WireError(f"{path}: {len(raw)} bytes are too few for a call record file", 0)
    header = np.frombuffer(raw, HEADER, 1)[0]
    if bytes(header["magic"]) != MAGIC:
        raise WireError(f"{path}: not a call record file", 0)
    dtype = RECORDS.get(int(header["version"]))
    if dtype is None or header["record_size"] != dtype.itemsize or header["side"] >= len(SIDES):
        raise WireError(f"{path}: version {header['version']}, records of {header['record_size']} bytes, side {header['side']}", 8)
    stored = np.frombuffer(raw, dtype, (len(raw) - HEADER.itemsize) // dtype.itemsize, HEADER.itemsize)
    records = np.zeros(len(stored), RECORD)
    for name in dtype.names or ():
        records[name] = stored[name]
    return CallLog(
        path=path,
        side=SIDES[int(header["side"])],
        pid=int(header["pid"]),
        session=int(header["session"]),
        context=int(header["context"]),
        capset=int(header["capset"]),
        counted=int(header["counted"]),
        realtime_ns=int(header["realtime_ns"]),
        monotonic_ns=int(header["monotonic_ns"]),
        build_id=bytes(header["build_id"]).decode(errors="replace"),
        last_op=bytes(header["last_op"]).partition(b"\0")[0].decode(errors="replace"),
        records=records[records["start_ns"] != 0],
    )


def command_name(record: np.void) -> str:
    """``buffer_set_tensor``, ``handshake``, ``call 177`` for a number without a name.

    Those far beyond all names share one: a guest may write down any number, and what has a name has a row in every report.
    """
    if record["type"] == CommandType.FORWARD:
        number = int(record["call"])
        return Call(number).name.lower() if number in Call._value2member_map_ else f"call {told_number(number)}"
    kind = int(record["type"])
    return CommandType(kind).name.lower() if kind in CommandType._value2member_map_ else f"command {told_number(kind)}"


def told_number(number: int) -> str:
    """A number without a name; of those that no protocol has, what they have in common."""
    return str(number) if number < FAR_NUMBER else f"{FAR_NUMBER} or more"


def join(logs: Iterable[CallLog], silent: Collection[str] = (), lacking: Sequence[str] = ()) -> Joined:
    """Join the records of both sides and say what is wrong: records that are missing, counts that differ, sides that lack.

    Those of ``silent`` sides lack by right. Where some of the guest's did not come over (``lacking``, why) nothing is said against
    contexts that have none, nor of those without a session, which the order of all of them tells apart.
    """
    guests, hosts = sided(logs)
    findings = [*(finding for guest in guests for finding in own_findings(guest)), *told_twice(guests)]
    calls: list[JoinedCall] = []
    for guest, host in paired(guests, hosts):
        calls += joined_calls(guest, host)
        if (host is not None or "host" not in silent) and (guest.session or not lacking):
            findings += pair_findings(guest, host)
    for host in () if lacking else unpaired(guests, hosts):
        findings += own_findings(host)
        if "guest" not in silent:
            findings.append(
                f"host context {host.context} (pid {host.pid}) served {host.counted} commands that no guest record tells of"
            )
    by_guest, by_host = (sum(log.counted for log in side) for side in (guests, hosts))
    return Joined(tuple(calls), tuple(findings), by_guest, by_host, frozenset(silent), lacking=tuple(lacking))


def sided(logs: Iterable[CallLog]) -> tuple[list[CallLog], list[CallLog]]:
    """Guest's and host's files, each in the order of their opening."""
    ordered = sorted(logs, key=lambda log: log.monotonic_ns)
    return [log for log in ordered if log.side == "guest"], [log for log in ordered if log.side == "host"]


def paired(guests: Sequence[CallLog], hosts: Sequence[CallLog]) -> Iterator[tuple[CallLog, CallLog | None]]:
    """Each guest file with the host's of the same session; those without a session in the order of opening."""
    by_session = {log.session: log for log in hosts if log.session}
    anonymous = iter([log for log in hosts if not log.session])
    for guest in guests:
        host = by_session.get(guest.session)
        yield guest, host if host is not None else next(anonymous, None)


def unpaired(guests: Sequence[CallLog], hosts: Sequence[CallLog]) -> tuple[CallLog, ...]:
    """Host files that belong to no guest file."""
    used = {host.path for _, host in paired(guests, hosts) if host is not None}
    return tuple(host for host in hosts if host.path not in used)


def lost_calls(guest: CallLog) -> int:
    """How many of its calls ended with their worker, or got no reply: that worker need not have counted or recorded them."""
    return int(np.isin(guest.records["status"], (ReturnCode.WORKER_LOST, UNANSWERED)).sum())


def own_findings(log: CallLog, excused: int = 0) -> Iterator[str]:
    """What one file says against itself; so many records may lack."""
    if not 0 <= log.counted - log.recorded <= excused:
        yield f"{log.side} pid {log.pid}: {log.counted} commands counted, {log.recorded} recorded"
    sequence = log.records["seq"]
    if len(sequence) and int(sequence[-1]) + 1 != len(sequence):
        yield f"{log.side} pid {log.pid}: {int(sequence[-1]) + 1 - len(sequence)} records are missing among {int(sequence[-1]) + 1}"


def told_twice(guests: Iterable[CallLog]) -> Iterator[str]:
    """Sessions that several files of the guest are of: each file's commands count, and the host served them once."""
    for session, files in Counter(log.session for log in guests if log.session).items():
        if files > 1:
            yield f"{files} guest records tell of one session ({session}), which a context chooses at random"


def pair_findings(guest: CallLog, host: CallLog | None) -> Iterator[str]:
    """What the two sides say against each other."""
    if host is None:
        yield f"guest pid {guest.pid} sent {guest.counted} commands of which no host record tells"
        return
    excused = lost_calls(guest)
    yield from own_findings(host, excused)
    if not 0 <= guest.counted - host.counted <= excused:
        yield (
            f"guest pid {guest.pid} sent {guest.counted} commands, "
            f"the worker of context {host.context} (pid {host.pid}) counted {host.counted}"
        )


def joined_calls(guest: CallLog, host: CallLog | None) -> Iterator[JoinedCall]:
    """Calls of one guest file with what the host says of each."""
    served: dict[int, Iterator[np.void]] = {}
    if host is not None:
        by_slot: dict[int, list[np.void]] = defaultdict(list)
        for record in host.records:
            by_slot[int(record["reply_resource"])].append(record)
        served = {slot: iter(records) for slot, records in by_slot.items()}
    for record in guest.records:
        other = next(served.get(int(record["reply_resource"]), iter(())), None)
        told = told_by_host(record)
        yield JoinedCall(
            session=guest.session,
            guest_pid=guest.pid,
            context=None if host is None else host.context,
            capset=guest.capset,
            seq=int(record["seq"]),
            command=command_name(record),
            start_ns=int(record["start_ns"]),
            duration_ns=int(record["duration_ns"]),
            encode_ns=int(record["queue_ns"]),
            host_queue_ns=told["host_queue_ns"] if other is None else int(other["queue_ns"]),
            host_compute_ns=told["host_compute_ns"] if other is None else int(other["duration_ns"]),
            status=int(record["status"]),
            bytes_out=int(record["bytes_out"]),
            bytes_in=int(record["bytes_in"]),
            told=any(ns is not None for ns in told.values()),
        )


def served_calls(host: CallLog) -> Iterator[JoinedCall]:
    """Calls as the host alone tells of them."""
    for record in host.records:
        yield JoinedCall(
            session=host.session,
            guest_pid=0,
            context=host.context,
            capset=host.capset,
            seq=int(record["seq"]),
            command=command_name(record),
            start_ns=int(record["start_ns"]),
            duration_ns=int(record["duration_ns"]),
            encode_ns=0,
            host_queue_ns=int(record["queue_ns"]),
            host_compute_ns=int(record["duration_ns"]),
            status=int(record["status"]),
            bytes_out=int(record["bytes_out"]),
            bytes_in=int(record["bytes_in"]),
        )


def told_by_host(record: np.void) -> dict[str, int | None]:
    """What the host said of itself in its reply (extension timing); None where it said nothing."""
    times = {name: int(record[name]) for name in ("host_queue_ns", "host_compute_ns")}
    return {name: ns if any(times.values()) else None for name, ns in times.items()}


def succeeded(call: JoinedCall) -> bool:
    """Whether the status is the command's own "ok"."""
    wanted = {"handshake": 0xAB1E, "load_library": 0}.get(call.command, 4)
    return call.status == wanted or call.command == "negotiate"


def summarise(calls: Iterable[JoinedCall]) -> tuple[Summary, ...]:
    """Per command, the most frequent first."""
    groups: dict[str, list[JoinedCall]] = defaultdict(list)
    for call in calls:
        groups[call.command].append(call)
    return tuple(summary(command, group) for command, group in sorted(groups.items(), key=lambda item: -len(item[1])))


def summary(command: str, calls: Sequence[JoinedCall]) -> Summary:
    """Durations of the calls given, which are at least one. Percentiles are durations that were measured."""
    durations_us = np.array([call.duration_ns for call in calls]) / 1000.0
    p50, p90, p99 = (float(value) for value in np.percentile(durations_us, (50, 90, 99), method="inverted_cdf"))
    most_bytes = max(max(call.bytes_out, call.bytes_in) for call in calls)
    failed = sum(not succeeded(call) for call in calls)
    return Summary(command, len(calls), failed, p50, p90, p99, float(durations_us.max()), most_bytes)
