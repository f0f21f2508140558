"""Processors and memory that control groups leave a process, of both versions."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.host import allowance, native, probe
from lab.host.allowance import memory_left, processor_count

MIB = 1 << 20
UNLIMITED = 9223372036854771712
"""What version 1 says of a group without a limit."""
Place = Callable[[str, dict[str, str]], None]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Put files into a folder of control groups; the process is of eight processors, and its groups are in ``groups``."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(allowance, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(allowance, "MOUNTED", tmp_path / "mounted")

    def made(folder: str, files: dict[str, str]) -> None:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (tmp_path / folder / name).write_text(text)

    return made


def test_processors_are_those_that_the_lab_may_use(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place(".", {"groups": "0::/\n"})
    assert (processor_count(), memory_left()) == (8, None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 9})
    assert processor_count() == 3


@pytest.mark.parametrize(
    ("own", "parent", "outermost", "count"),
    [
        ("max 100000", "max 100000", None, 8),
        ("200000 100000", "max 100000", None, 2),
        ("max 100000", "150000 100000", None, 2),
        ("400000 100000", "max 100000", "300000 100000", 3),
        ("5000 100000", "max 100000", None, 1),
        ("9900000 100000", "max 100000", None, 8),
    ],
)
def test_time_that_a_group_or_one_around_it_may_have_is_so_many_processors(
    place: Place, own: str, parent: str, outermost: str | None, count: int
) -> None:
    place(".", {"groups": "0::/pod/container\n"})
    place("mounted", {"cpu.max": f"{outermost}\n"} if outermost else {})
    place("mounted/pod", {"cpu.max": f"{parent}\n"})
    place("mounted/pod/container", {"cpu.max": f"{own}\n"})
    assert processor_count() == count


@pytest.mark.parametrize("group", ["/docker/0a1b", "/../..", "/"])
def test_container_sees_its_own_group_outermost(place: Place, group: str) -> None:
    place(".", {"groups": f"0::{group}\n"})
    place("mounted", {"cpu.max": "300000 100000\n", "memory.max": f"{64 * MIB}\n", "memory.current": f"{16 * MIB}\n"})
    assert (processor_count(), memory_left()) == (3, 48 * MIB)


@pytest.mark.parametrize(("quota", "count"), [("-1", 8), ("250000", 3)])
def test_groups_of_the_first_version(place: Place, quota: str, count: int) -> None:
    place(".", {"groups": "5:memory:/here\n4:cpu,cpuacct:/here\n1:name=systemd:/\n0::/\n"})
    place("mounted/cpu/here", {"cpu.cfs_quota_us": f"{quota}\n", "cpu.cfs_period_us": "100000\n"})
    used = {"memory.usage_in_bytes": f"{30 * MIB}\n", "memory.stat": f"inactive_file 1\ntotal_inactive_file {10 * MIB}\n"}
    place("mounted/memory", {"memory.limit_in_bytes": f"{UNLIMITED}\n", **used})
    place("mounted/memory/here", {"memory.limit_in_bytes": f"{100 * MIB}\n", **used})
    assert (processor_count(), memory_left()) == (count, 80 * MIB)


@pytest.mark.parametrize(
    ("most", "current", "cached", "left"),
    [("max", 10, 0, None), ("100", 60, 0, 40), ("100", 60, 20, 60), ("100", 120, 0, 0), ("100", 60, 200, 100)],
)
def test_memory_of_files_can_be_had_back(place: Place, most: str, current: int, cached: int, left: int | None) -> None:
    place(".", {"groups": "0::/own\n"})
    stat = f"anon 7\ninactive_file {cached // 2}\nactive_file {cached // 2}\nfile 9\n"
    place("mounted/own", {"memory.max": f"{most}\n", "memory.current": f"{current}\n", "memory.stat": stat})
    assert memory_left() == left


def test_without_groups_nothing_is_less(place: Place) -> None:
    place(".", {})
    assert (processor_count(), memory_left()) == (8, None)


def test_doctor_counts_what_the_groups_leave(place: Place) -> None:
    place(".", {"groups": "0::/\n"})
    place("mounted", {"cpu.max": "100000 100000\n", "memory.max": f"{300 * MIB}\n", "memory.current": f"{44 * MIB}\n"})
    cpus, memory = probe.processor(), probe.memory()
    assert (cpus.ok, cpus.probed.split()[0]) == (False, "1")
    assert (memory.ok, memory.probed.startswith("0.2 GiB available (memory.max")) == (False, True)


def test_native_payloads_are_built_by_as_many_compilers(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(".", {"groups": "0::/\n"})
    place("mounted", {"cpu.max": "300000 100000\n"})
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(native, "_inside", lambda _root, argv, *_: argv)
    monkeypatch.setattr(native, "check", lambda argv, **_: asked.append(argv))
    native._compiled(None, tmp_path, tmp_path / "work", (), None, target="all")  # type: ignore[arg-type]
    assert asked[-1][-2:] == ("--parallel", "3")
