"""What mmdebstrap is asked for, what is said when it fails, and its hooks, as its own shell runs them."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from lab.deadline import Deadline
from lab.errors import BuildError
from lab.host import debian
from lab.host.apt import MIRROR_VARIABLE
from lab.host.debian import Order, apt_preferences, bootstrapped, copy_out_hook, mmdebstrap_argv, unpack_hook
from lab.host.progress import LineProgress
from lab.host.recipe import Debian, Pin

DEBIAN = Debian(suite="trixie", also=("sid",), components=("main", "contrib"), pin=(Pin(packages=("a", "b*"), suite="sid"),))


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


def test_tree_that_is_not_read_whole_fails_the_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tar = shutil.which("tar")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tar").write_text(f'#!/bin/sh\n{tar} "$@" || exit\n[ "$1" = --extract ]\n')
    (tmp_path / "bin/tar").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    target = tmp_path / "root"
    target.mkdir()
    assert run(unpack_hook(target), tree(tmp_path / "tree")) != 0
    assert (target / "etc/passwd").exists()


def test_paths_of_copy_out_are_words_whatever_is_in_them() -> None:
    folder = Path("/home/me/my cache")
    assert shlex.split(copy_out_hook(("/lab/files",), folder)) == ["copy-out", "/lab/files", os.fspath(folder)]


def test_tree_is_asked_for_with_all_of_its_recipe() -> None:
    order = Order("x", DEBIAN, ("bash", "dash"), ("/usr/share/doc/*",), ("first", "second"))
    argv = mmdebstrap_argv(order, "http://m/debian", Path("/srv/pins"), Path("/out.tar"), options=('A "b";',))
    own, words = argv[: argv.index("mmdebstrap")], argv[argv.index("mmdebstrap") :]
    assert {"--pid", "--kill-child", "--mount-proc"} <= set(own)
    recipes = ("--variant", "--format", "--include", "--aptopt", "--dpkgopt", "--customize")
    assert [word for word in words if word.startswith(recipes)] == [
        "--variant=minbase", "--format=tar", '--aptopt=A "b";', "--dpkgopt=path-exclude=/usr/share/doc/*",
        "--customize-hook=first", "--customize-hook=second", "--include=bash,dash",
    ]  # fmt: skip
    assert sum(word.startswith("--setup-hook=") and 'cp /srv/pins "$1/etc/apt/preferences.d/lab"' in word for word in words) == 1
    sources = tuple(f"deb http://m/debian {suite} main contrib" for suite in ("trixie", "sid"))
    assert words[-4:] == ("trixie", "/out.tar", *sources)
    bare = mmdebstrap_argv(Order("x", DEBIAN), "http://m/debian", Path("/srv/pins"), None, options=())
    assert {"--variant=custom", "--format=null"} <= set(bare)
    assert bare[-4:] == ("trixie", "-", *sources)
    assert apt_preferences(DEBIAN) == "Package: a b*\nPin: release n=sid\nPin-Priority: 990\n"


@pytest.mark.parametrize("status", [0, 1])
def test_failed_tree_is_told_with_the_end_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    program = tmp_path / "mmdebstrap"
    program.write_text(f"#!/bin/sh\necho I: nothing to tell\necho I: installing packages\nprintf '%s\\n' \"$@\"\nexit {status}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv(MIRROR_VARIABLE, "file:/srv/debian")
    monkeypatch.setattr(debian, "own_namespace", tuple)
    told, log = io.StringIO(), tmp_path / "log"
    making = (Order("a root", DEBIAN), LineProgress(told))
    if status:
        with pytest.raises(BuildError, match="mmdebstrap failed for a root") as failed:
            bootstrapped(making[0], log=log, progress=making[1], deadline=Deadline.after(30))
        assert "deb copy:/srv/debian trixie main contrib" in failed.value.output_tail
    else:
        bootstrapped(making[0], log=log, progress=making[1], deadline=Deadline.after(30))
    assert told.getvalue() == "· installing packages\n"
    assert '--aptopt=Acquire::Check-Valid-Until "false";' in log.read_text(encoding="utf-8")
