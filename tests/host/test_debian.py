"""Hooks of mmdebstrap, as its own shell runs them."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from lab.host.debian import copy_out_hook, unpack_hook


def tree(folder: Path) -> Path:
    for name in ("etc/machine-id", "etc/passwd", "var/log/dpkg.log", "usr/bin/mount", "dev/null"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "usr/bin/mount").chmod(0o4755)
    return folder


def run(hook: str, root: Path) -> int:
    return subprocess.run(("sh", "-c", hook, "exec", os.fspath(root)), check=False, capture_output=True, timeout=30).returncode


def test_tree_is_unpacked_without_what_would_be_cleaned_and_without_rights(tmp_path: Path) -> None:
    target = tmp_path / "it's a root"
    target.mkdir()
    assert run(unpack_hook(target), tree(tmp_path / "a tree")) == 0
    files = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert files == {"etc/passwd", "usr/bin/mount"}
    assert (target / "usr/bin/mount").stat().st_mode & 0o7777 == 0o755
    assert (target / "dev").is_dir()


def test_tree_that_cannot_be_read_fails_the_hook(tmp_path: Path) -> None:
    target = tmp_path / "root"
    target.mkdir()
    assert run(unpack_hook(target), tmp_path / "nowhere") != 0


def test_paths_of_copy_out_are_words_whatever_is_in_them() -> None:
    folder = Path("/home/me/my cache")
    assert shlex.split(copy_out_hook(("/lab/files",), folder)) == ["copy-out", "/lab/files", os.fspath(folder)]
