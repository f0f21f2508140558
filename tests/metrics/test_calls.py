"""Call records: reading, joining, and every kind of loss shown to be found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lab.apir.protocol_gen import Call, CommandType
from lab.errors import WireError
from lab.metrics import calls
from lab.metrics.calls import HEADER, RECORD, Records, join, read_call_log, summarise


def records_of(slots: list[int], *, start: int = 1000) -> Records:
    records = np.zeros(len(slots), RECORD)
    records["seq"] = np.arange(len(slots))
    records["start_ns"] = start + np.arange(len(slots))
    records["duration_ns"] = 1000 * (1 + np.arange(len(slots)))
    records["queue_ns"] = 7
    records["type"], records["call"], records["status"] = 2, 17, 4
    records["reply_resource"] = slots
    return records


def write_log(path: Path, side: int, records: Records, *, session: int = 5, counted: int | None = None) -> Path:
    header = np.zeros(1, HEADER)
    header["magic"], header["version"], header["side"], header["record_size"] = b"APIRCALL", 2, side, RECORD.itemsize
    header["pid"], header["session"], header["context"], header["capset"] = 100 + side, session, 3 * side, 4
    header["counted"] = len(records) if counted is None else counted
    header["build_id"], header["last_op"] = b"ab" * 20, b"SOFT_MAX"
    path.write_bytes(header.tobytes() + records.tobytes() + bytes(3 * RECORD.itemsize))
    return path


def both(folder: Path, guest: Records, host: Records, **guest_options: int) -> calls.Joined:
    guest_log = write_log(folder / "guest-1.calls", 0, guest, **guest_options)
    return join([read_call_log(guest_log), read_call_log(write_log(folder / "host-1.calls", 1, host))])


def test_joined_calls_carry_both_sides(tmp_path: Path) -> None:
    served = records_of([4, 3, 3])
    served["queue_ns"] = 8
    joined = both(tmp_path, records_of([3, 4, 3]), served)
    assert joined.findings == ()
    assert [call.host_compute_ns for call in joined.calls] == [2000, 1000, 3000]
    assert {(call.encode_ns, call.host_queue_ns) for call in joined.calls} == {(7, 8)}
    assert (joined.guest_counted, joined.host_counted) == (3, 3)
    assert joined.calls[0].command == "buffer_set_tensor"
    assert joined.calls[0].context == 3


def test_session_that_the_guest_tells_of_twice_is_found(tmp_path: Path) -> None:
    guests = [write_log(tmp_path / f"guest-{number}.calls", 0, records_of([3, 4]), session=5) for number in (1, 2)]
    nameless = [write_log(tmp_path / f"guest-{number}.calls", 0, records_of([3]), session=0) for number in (3, 4)]
    hosts = [write_log(tmp_path / "host-1.calls", 1, records_of([3, 4]), session=5)]
    hosts += [write_log(tmp_path / f"host-{number}.calls", 1, records_of([3]), session=0) for number in (3, 4)]
    joined = join(map(read_call_log, (*guests, *nameless, *hosts)))
    assert joined.findings == ("2 guest records tell of one session (5), which a context chooses at random",)
    assert join(map(read_call_log, (guests[0], *nameless, *hosts))).findings == ()


def test_numbers_far_beyond_all_names_share_one(tmp_path: Path) -> None:
    records = records_of([3] * 2004)
    records["call"][:4] = 17, 177, 1023, 1024
    records["call"][4:1004] = np.arange(1000) + (1 << 20)
    records["type"][1004:] = np.arange(1000) + 2000
    joined = both(tmp_path, records, records_of([3] * 2004))
    assert [(one.command, one.count) for one in summarise(joined.calls)] == [
        ("call 1024 or more", 1001), ("command 1024 or more", 1000), ("buffer_set_tensor", 1), ("call 177", 1), ("call 1023", 1),
    ]  # fmt: skip


def test_what_the_reply_told_stands_in_for_the_hosts_record(tmp_path: Path) -> None:
    records = records_of([3, 4, 3])
    records["host_queue_ns"], records["host_compute_ns"] = (11, 0, 0), (900, 0, 800)
    alone = join([read_call_log(write_log(tmp_path / "guest.calls", 0, records))])
    assert [(call.host_queue_ns, call.host_compute_ns) for call in alone.calls] == [(11, 900), (None, None), (0, 800)]
    joined = both(tmp_path, records, records_of([3, 4, 3]))
    assert joined.calls[0].host_compute_ns == 1000
    assert [call.told for call in joined.calls] == [True, False, True]


def test_records_of_version_1_are_read(tmp_path: Path) -> None:
    path = write_log(tmp_path / "guest.calls", 0, records_of([3, 4]))
    header = np.frombuffer(path.read_bytes(), HEADER, 1).copy()
    header["version"], header["record_size"] = 1, 64
    old = np.zeros(2, calls.RECORD_1)
    for name in calls.RECORD_1.names or ():
        old[name] = records_of([3, 4])[name]
    path.write_bytes(header.tobytes() + old.tobytes())
    log = read_call_log(path)
    assert (log.recorded, list(log.records["duration_ns"]), list(log.records["host_compute_ns"])) == (2, [1000, 2000], [0, 0])
    header["record_size"] = 80
    path.write_bytes(header.tobytes() + old.tobytes())
    with pytest.raises(WireError):
        read_call_log(path)


def test_the_op_of_the_last_graph_is_read(tmp_path: Path) -> None:
    path = write_log(tmp_path / "host.calls", 1, records_of([3]))
    assert read_call_log(path).last_op == "SOFT_MAX"
    path.write_bytes(path.read_bytes().replace(b"SOFT_MAX", b"NONE\0MAX"))
    assert read_call_log(path).last_op == "NONE", "a shorter name behind a longer one"


def test_a_dropped_guest_record_is_found(tmp_path: Path) -> None:
    joined = both(tmp_path, np.delete(records_of([3, 4, 3]), 1), records_of([4, 3, 3]), counted=3)
    assert any("3 commands counted, 2 recorded" in finding for finding in joined.findings)


def test_a_command_the_host_never_counted_is_found(tmp_path: Path) -> None:
    joined = both(tmp_path, records_of([3, 4, 3]), records_of([4, 3]))
    assert joined.findings == ("guest pid 100 sent 3 commands, the worker of context 3 (pid 101) counted 2",)
    assert joined.calls[2].host_compute_ns is None


@pytest.mark.parametrize("status", [64, -1], ids=["worker lost", "no reply"])
def test_what_a_lost_worker_did_not_write_down_is_not_told_besides(tmp_path: Path, status: int) -> None:
    guest, host = records_of([3, 4, 3, 4]), records_of([3, 4])
    guest["status"][2:] = status
    assert both(tmp_path, guest, host).findings == (), "neither had been begun"
    write_log(tmp_path / "host-1.calls", 1, host, counted=3)
    logs = [read_call_log(tmp_path / f"{side}-1.calls") for side in ("guest", "host")]
    assert join(logs).findings == (), "one had been"
    guest["status"][2] = 4
    found = both(tmp_path, guest, host).findings
    assert found == ("guest pid 100 sent 4 commands, the worker of context 3 (pid 101) counted 2",)
    write_log(tmp_path / "host-1.calls", 1, records_of([3] * 5))
    assert "counted 5" in join([read_call_log(log.path) for log in logs]).findings[0]


def test_a_guest_without_host_and_a_host_without_guest_are_found(tmp_path: Path) -> None:
    joined = both(tmp_path, records_of([3]), records_of([3]), session=77)
    assert len(joined.findings) == 2


def test_of_files_that_did_not_come_over_nothing_is_said(tmp_path: Path) -> None:
    guest = write_log(tmp_path / "guest.calls", 0, records_of([3, 4]), counted=3)
    nameless = write_log(tmp_path / "guest-2.calls", 0, records_of([3]), session=0)
    others = [write_log(tmp_path / "host-1.calls", 1, records_of([3]), session=6, counted=2)]
    others += [write_log(tmp_path / "host-2.calls", 1, records_of([3, 4]), session=0)]
    host = write_log(tmp_path / "host-3.calls", 1, records_of([3]))
    logs = [read_call_log(path) for path in (guest, nameless, *others, host)]
    joined = join(logs, lacking=("it came not in time",))
    assert joined.findings == (
        "guest pid 100: 3 commands counted, 2 recorded",
        "guest pid 100 sent 3 commands, the worker of context 3 (pid 101) counted 1",
    )
    assert joined.lacking == ("it came not in time",)
    assert len(join(logs).findings) == 5, "of an unpaired host two, of two without a session one"


def test_peers_without_session_are_joined_in_order(tmp_path: Path) -> None:
    guest = read_call_log(write_log(tmp_path / "guest.calls", 0, records_of([3]), session=9))
    host = read_call_log(write_log(tmp_path / "host.calls", 1, records_of([3]), session=0))
    assert join([host, guest]).findings == ()


def test_a_record_that_was_never_completed_is_left_out_and_found(tmp_path: Path) -> None:
    records = records_of([3, 4])
    records["start_ns"][0] = 0
    log = read_call_log(write_log(tmp_path / "guest.calls", 0, records))
    assert log.recorded == 1
    assert any("1 recorded" in finding for finding in join([log]).findings)


@pytest.mark.parametrize(
    ("at", "value"), [(0, b"X"), (8, b"\3"), (12, b"\2"), (16, b"\1")], ids=["magic", "version", "side", "size"]
)
def test_another_file_is_refused(tmp_path: Path, at: int, value: bytes) -> None:
    path = write_log(tmp_path / "guest.calls", 0, records_of([1]))
    raw = bytearray(path.read_bytes())
    raw[at : at + 1] = value
    path.write_bytes(raw)
    with pytest.raises(WireError):
        read_call_log(path)


def test_a_short_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "guest.calls"
    path.write_bytes(b"APIRCALL")
    with pytest.raises(WireError, match="too few"):
        read_call_log(path)


def test_host_without_a_guest_is_found_out_by_its_own_records_too(tmp_path: Path) -> None:
    log = read_call_log(write_log(tmp_path / "host.calls", 1, records_of([3, 4]), counted=3))
    assert join([log]).findings == (
        "host pid 101: 3 commands counted, 2 recorded",
        "host context 3 (pid 101) served 3 commands that no guest record tells of",
    )


def test_more_records_than_were_counted_and_a_gap_among_them_are_found(tmp_path: Path) -> None:
    more = both(tmp_path, records_of([3, 4, 3]), records_of([3, 4, 3]), counted=2)
    assert more.findings[0] == "guest pid 100: 2 commands counted, 3 recorded"
    gap = np.delete(records_of([3, 4, 3]), 1)
    assert both(tmp_path, gap, gap).findings[0] == "guest pid 100: 1 records are missing among 3"


def test_host_that_recorded_less_than_it_counted_is_found(tmp_path: Path) -> None:
    guest = write_log(tmp_path / "guest.calls", 0, records_of([3, 4]))
    host = write_log(tmp_path / "host.calls", 1, records_of([3]), counted=2)
    assert join(map(read_call_log, (guest, host))).findings == ("host pid 101: 2 commands counted, 1 recorded",)


def test_peers_without_session_are_joined_in_the_order_of_their_opening(tmp_path: Path) -> None:
    logs = []
    for name, side, opened, calls_of_it in (("g1", 0, 10, 1), ("g2", 0, 20, 2), ("h2", 1, 21, 2), ("h1", 1, 11, 1)):
        log = read_call_log(write_log(tmp_path / name, side, records_of([3] * calls_of_it), session=0))
        logs.append(replace(log, monotonic_ns=opened))
    assert join(logs).findings == ()
    assert join([log for log in logs if log.path.name != "h2"]).findings == (
        "guest pid 100 sent 2 commands of which no host record tells",
    )


@pytest.mark.parametrize(
    ("kind", "status", "failed"),
    [
        (CommandType.HANDSHAKE, 0xAB1E, 0),
        (CommandType.HANDSHAKE, 4, 1),
        (CommandType.LOAD_LIBRARY, 0, 0),
        (CommandType.LOAD_LIBRARY, 4, 1),
        (CommandType.FORWARD, 0, 1),
    ],
)
def test_success_is_the_commands_own(tmp_path: Path, kind: int, status: int, failed: int) -> None:
    guest = records_of([3])
    guest["type"], guest["status"] = kind, status
    (line,) = summarise(both(tmp_path, guest, records_of([3])).calls)
    assert line.failed == failed


def test_negotiation_has_a_status_of_its_own(tmp_path: Path) -> None:
    guest = records_of([3])
    guest["call"], guest["status"] = Call.NEGOTIATE, 0
    (line,) = summarise(both(tmp_path, guest, records_of([3])).calls)
    assert (line.command, line.failed) == ("negotiate", 0)


def test_most_bytes_are_those_of_either_direction(tmp_path: Path) -> None:
    guest = records_of([3, 3])
    guest["bytes_out"], guest["bytes_in"] = (5, 9), (70, 1)
    joined = both(tmp_path, guest, records_of([3, 3]))
    assert [(call.bytes_out, call.bytes_in) for call in joined.calls] == [(5, 70), (9, 1)]
    (line,) = summarise(joined.calls)
    assert line.most_bytes == 70


def test_summary_counts_failures_and_percentiles(tmp_path: Path) -> None:
    guest = records_of([3] * 100)
    guest["status"][7] = 5
    (line,) = summarise(both(tmp_path, guest, records_of([3] * 100)).calls)
    assert (line.command, line.count, line.failed) == ("buffer_set_tensor", 100, 1)
    assert (line.p50_us, line.p90_us, line.p99_us) == (50.0, 90.0, 99.0)
    assert line.max_us == pytest.approx(100.0)
