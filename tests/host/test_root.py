from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import ConfigError
from lab.host.root import SEARCH, Bind, HostRoot

ROOT = HostRoot(Path("/roots/r"), "key", (("qemu-system-x86", "1:11"),), ())


def test_entering_binds_exactly_what_is_named() -> None:
    argv = ROOT.enter(
        ("prog", "arg"), binds=(Bind(Path("/a")), Bind(Path("/b"), writable=True), Bind(Path("/c"), inside=Path("/d")))
    )
    text = " ".join(argv)
    assert text.endswith("-- prog arg")
    assert "--ro-bind /roots/r/usr /usr" in text
    assert "--ro-bind /a /a --bind /b /b --ro-bind /c /d" in text
    assert "--unshare-pid" in argv
    assert "--die-with-parent" in argv


def test_path_that_cannot_be_seen_inside_is_told_before_anything_is_started(tmp_path: Path) -> None:
    (tmp_path / "usr/share").mkdir(parents=True)
    root = HostRoot(tmp_path, "key", (), ())
    there, elsewhere = Path("/usr/share"), Path("/usr/local/project")
    assert "--ro-bind /usr/share /usr/share" in " ".join(root.enter(("prog",), binds=(Bind(there),)))
    assert f"--ro-bind {elsewhere} /run/x" in " ".join(root.enter(("prog",), binds=(Bind(elsewhere, inside=Path("/run/x")),)))
    with pytest.raises(ConfigError, match="/usr/local/project: lies in /usr, which the host root has of its own"):
        root.enter(("prog",), binds=(Bind(elsewhere),))


def test_environment_is_explicit_and_reaches_the_program_only() -> None:
    argv = ROOT.enter(("prog",), env={"LD_PRELOAD": "/x.so", "A": "1"})
    text = " ".join(argv)
    assert f"--clearenv --setenv A 1 --setenv LC_ALL C.UTF-8 --setenv LD_PRELOAD /x.so --setenv PATH {SEARCH} -- prog" in text


def test_versions() -> None:
    assert ROOT.version("qemu-system-x86") == "1:11"
    assert ROOT.version("nothing") is None
