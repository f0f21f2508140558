"""Imports point one way: each room imports its own floor and those below, reports only the bundle's schema."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.paths import PROJECT

FLOORS = (
    {"errors", "deadline", "process", "paths", "elf", "proc_facts", "temporary", "interruption", "threads", "visible", "figure"},
    {"apir", "ggml", "llama", "metrics", "bundle"},
    {"ops", "guest", "qemu", "image", "host", "bench"},
    {"scenario"},
    {"cli", "pytest_plugin", "__init__"},
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def imported_modules(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_imported(source: str) -> set[str]:
    names = {name for name in imported_modules(source) if name.startswith("lab.")}
    return {name.split(".")[1] for name in names} & set(FLOOR_OF)


def room_of(path: Path) -> str:
    return path.relative_to(PROJECT / "lab").parts[0].removesuffix(".py")


def upward(room: str, source: str) -> set[str]:
    return {other for other in rooms_imported(source) if FLOOR_OF[other] > FLOOR_OF[room]}


@pytest.mark.parametrize("path", sorted((PROJECT / "lab").rglob("*.py")), ids=lambda path: str(path.relative_to(PROJECT)))
def test_room_imports_downwards_only(path: Path) -> None:
    room = room_of(path)
    assert room in FLOOR_OF, f"{path} is in no room of the house: say on which floor it stands"
    assert upward(room, path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize("path", sorted((PROJECT / "reports").rglob("*.py")), ids=lambda path: str(path.relative_to(PROJECT)))
def test_reports_import_the_bundle_only(path: Path) -> None:
    if "runs" not in path.relative_to(PROJECT / "reports").parts:
        assert rooms_imported(path.read_text(encoding="utf-8")) <= {"bundle"}


def test_an_upward_import_is_noticed() -> None:
    assert upward("process", "from lab.scenario.model import Scenario") == {"scenario"}
    assert upward("qemu", "import lab.scenario.runner") == {"scenario"}
    assert upward("qemu", "from lab.errors import LabError\nfrom lab.image import recipe") == set()
