from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lab import paths
from lab.cli.setup import set_up
from lab.errors import ConfigError
from lab.ggml.generation import ggml_version
from lab.host.lock import HEADER, Drift, dpkg_packages, drift, mend_lock, read_lock, write_lock
from lab.host.progress import SilentProgress
from lab.host.root import HostRoot

STATUS = """\
Package: zlib1g
Status: install ok installed
Version: 1:1.3-1
Description: x
 Version: not this

Package: gone
Status: deinstall ok config-files
Version: 9

Package: purged
Status: purge ok not-installed
Version: 3

Package: apt
Status: install ok installed
Version: 3.0
"""


def test_installed_packages_of_a_status_file() -> None:
    assert dpkg_packages(STATUS) == (("apt", "3.0"), ("zlib1g", "1:1.3-1"))


def test_lock_round_trip(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    assert read_lock(lock) == ()
    write_lock(lock, (("b", "2"), ("a", "1:1~rc")))
    assert read_lock(lock) == (("a", "1:1~rc"), ("b", "2"))
    assert drift(read_lock(lock), (("a", "1:1~rc"), ("b", "2"))) == ()


def test_lines_that_a_merge_has_left_are_all_named(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    lock.write_text("# of a merge\n\na 1\n=======\na 2\n>>>>>>> a branch of mine\n")
    with pytest.raises(
        ConfigError, match=r"line 4: is '======='(?s:.*)line 6(?s:.*)`lab setup --update-lock --image x` writes"
    ) as told:
        read_lock(lock)
    assert str(lock) in str(told.value)


def test_lock_is_mended_only_where_it_is_spoilt(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    for spoilt, mended in (("# mine\n\nb 2\na 1\n", "# mine\n\nb 2\na 1\n"), ("b 2\n=====\na 1\n", f"{HEADER}a 1\nb 2\n")):
        lock.write_text(spoilt)
        mend_lock(lock)
        assert lock.read_text() == mended


def test_lock_that_a_merge_has_spoilt_is_written_anew_where_that_is_asked_for(
    root: HostRoot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = shutil.copytree(paths.IMAGES, tmp_path / "images")
    monkeypatch.setattr(paths, "IMAGES", images)
    locks = [images / f"{name}.lock" for name in ("host-root", "guest-6.12")]
    for lock in locks:
        lock.write_text(f"{lock.read_text()}=======\n")
    set_up("guest-6.12", SilentProgress(), refresh=False, update_lock=True)
    assert read_lock(locks[0]) == root.packages
    assert "===" not in locks[1].read_text()
    assert ggml_version(dict(read_lock(locks[1])))


def test_every_kind_of_drift_is_found() -> None:
    found = drift((("changed", "1"), ("removed", "1"), ("same", "1")), (("added", "1"), ("changed", "2"), ("same", "1")))
    assert found == (Drift("added", None, "1"), Drift("changed", "1", "2"), Drift("removed", "1", None))
    assert str(found[1]) == "changed: locked 1, installed 2"
