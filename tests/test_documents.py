"""What documents list completely: the variables of README.md, the locks of backend_impl/LOCKS.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lab.paths import BACKEND_IMPL, PROJECT

NATIVE = ("guest", "host", "virgl", "wire", "liar", "reference")
VARIABLE = re.compile(r'"(GGML_LIAR|(?:GGML_VIRTGPU|GGML_LIAR|GGML_REFERENCE|GGML_REMOTING|VIRGL|APIR)_[A-Z_]+)"')
LOCK = re.compile(r"\bstd::mutex (\w+);")
CLASS = re.compile(r"\b(?:class|struct) (?:alignas\(\w+\) )?(\w+)")


def native_sources() -> Iterator[Path]:
    for folder in NATIVE:
        yield from sorted(path for path in (BACKEND_IMPL / folder).rglob("*") if path.suffix in {".hpp", ".cpp"})


def test_readme_has_every_variable_that_the_native_code_reads_and_no_other() -> None:
    read = {name for path in native_sources() for name in VARIABLE.findall(path.read_text())}
    section = (PROJECT / "README.md").read_text().partition("## Variables")[2].partition("\n## ")[0]
    named = {name for name in re.findall(r"`([A-Z][A-Z_]+)`", section) if not name.startswith(("VIRTGPU_LAB", "_"))}
    assert named == read


def test_locks_has_every_lock() -> None:
    told = (BACKEND_IMPL / "LOCKS.md").read_text()
    missing = []
    for path in native_sources():
        text = path.read_text()
        for lock in LOCK.findall(text):
            names = {f"{name}::{lock}" for name in CLASS.findall(text)} | {path.name}
            if not any(f"`{name}`" in told for name in names):
                missing.append(f"{path.name}: {lock}")
    assert missing == []
