"""What documents list completely: the variables of README.md, the locks of backend_impl/LOCKS.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.paths import BACKEND_IMPL, PROJECT

NATIVE = ("guest", "host", "virgl", "wire", "liar", "reference")
VARIABLE = re.compile(r'"(GGML_LIAR|(?:GGML_VIRTGPU|GGML_LIAR|GGML_REFERENCE|GGML_REMOTING|VIRGL|APIR)_[A-Z_]+)"')
LOCK = re.compile(r"^( *)(?:[\w()]+ )*std::\w*mutex (\w+(?:, \w+)*)", re.MULTILINE)
CLASS = re.compile(r"^( *)(?:template <[^>\n]*> )?(?:class|struct) (?:alignas\(\w+\) )?(\w+)(?![^\n]*;$)", re.MULTILINE)
NAMED = re.compile(r"`(\w+(?:::|\.)\w+)`")


def native_sources() -> Iterator[Path]:
    for folder in NATIVE:
        yield from sorted(path for path in (BACKEND_IMPL / folder).rglob("*") if path.suffix in {".hpp", ".cpp"})


def test_readme_has_every_variable_that_the_native_code_reads_and_no_other() -> None:
    read = {name for path in native_sources() for name in VARIABLE.findall(path.read_text())}
    section = (PROJECT / "README.md").read_text().partition("## Variables")[2].partition("\n## ")[0]
    named = {name for name in re.findall(r"`([A-Z][A-Z_]+)`", section) if not name.startswith(("VIRTGPU_LAB", "_"))}
    assert named == read


def lock_names(file: str, text: str) -> Iterator[str]:
    """Of each lock in a source: its own behind that of the class that it is in."""
    for lock in LOCK.finditer(text):
        around = [at[2] for at in CLASS.finditer(text, 0, lock.start()) if len(at[1]) < len(lock[1])]
        yield from (f"{around[-1] if around else file}::{name}" for name in lock[2].split(", "))


def test_locks_has_every_lock_and_no_other() -> None:
    rows = re.findall(r"^\|[^|]*\|([^|]*)\|", (BACKEND_IMPL / "LOCKS.md").read_text(), re.MULTILINE)
    told = [name for row in rows for name in NAMED.findall(row)]
    found = []
    for path in native_sources():
        # One that is told of by its file is the only one there.
        found += [path.name if path.name in told else name for name in lock_names(path.name, path.read_text())]
    assert sorted(found) == sorted(told)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("struct A {\n    std::mutex mutex_;\n};\nclass B {\n    std::shared_mutex mutex_;\n};", ["A::mutex_", "B::mutex_"]),
        ("class A {\n    struct Within {\n        int n;\n    };\n    mutable std::mutex mutex_; // held\n};", ["A::mutex_"]),
        ("class A {\n    struct Within {\n        std::recursive_mutex m;\n    };\n};", ["Within::m"]),
        ("class A;\ntemplate <int N> struct alignas(64) B : A {\n    struct C;\n    std::timed_mutex d, e;\n};", ["B::d", "B::e"]),
        ("namespace {\nstatic std::mutex all;\nvoid f(std::mutex &m, std::unique_lock<std::mutex> lock);\n}", ["x.cpp::all"]),
    ],
)
def test_lock_is_that_of_the_class_around_it(text: str, names: list[str]) -> None:
    assert list(lock_names("x.cpp", text)) == names
