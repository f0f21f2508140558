from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from lab.deadline import Deadline
from lab.errors import BuildError
from lab.host import debian
from lab.host.apt import MIRROR_VARIABLE
from lab.host.progress import LineProgress
from lab.host.recipe import Debian, Recipe, Unpacked
from lab.host.unpacked import unpack

WANTED = Unpacked(package="libx-dev", version="0.27.*", suites=("trixie-backports", "forky"))
RECIPE = Recipe(name="a-root", kind="host-root", debian=Debian(suite="trixie"), packages=("bash",), unpacked=(WANTED,))

# Does with its hooks what mmdebstrap does, for a package that is a folder here: the tree is $1 of those that are shell text.
MMDEBSTRAP = """\
#!/bin/bash
set -eu
tree=$(mktemp -d); export MMDEBSTRAP_APT_CONFIG=/dev/null
printf '%s\\n' "$@" > "$STATE/argv"
for word in "$@"; do
    case "$word" in
    "--customize-hook=copy-out "*)
        eval "words=(${word#--customize-hook=copy-out })"
        tar -C "$tree$(dirname "${words[0]}")" -c "$(basename "${words[0]}")" | tar -x -C "${words[1]}" ;;
    --customize-hook=*) sh -c "${word#--customize-hook=}" hook "$tree" ;;
    esac
done
rm -rf "$tree"
"""
APT_GET = """\
#!/bin/sh
[ "$1 $3" = "download libx-dev=0.27.*" ] || exit 9
[ -e "$STATE/package" ] || { echo "E: Version '0.27.*' for 'libx-dev' was not found"; exit 100; }
touch libx-dev_0.27.1-1_amd64.deb
"""
DPKG_DEB = """\
#!/bin/sh
case "$1" in
-x) cp -r "$STATE/package" "$3" ;;
-f) echo 0.27.1-1 ;;
esac
"""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("mmdebstrap", MMDEBSTRAP), ("apt-get", APT_GET), ("dpkg-deb", DPKG_DEB)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("STATE", str(tmp_path))
    monkeypatch.setenv(MIRROR_VARIABLE, "http://m.example/debian")
    monkeypatch.setattr(debian, "own_namespace", tuple)
    (tmp_path / "folder/root/usr/include").mkdir(parents=True)
    (tmp_path / "folder/root/usr/include/own.h").touch()
    return tmp_path


def test_what_a_package_has_below_usr_is_laid_over_the_tree(state: Path) -> None:
    (state / "package/usr/include").mkdir(parents=True)
    (state / "package/usr/include/x.h").write_text("of 0.27")
    (state / "package/usr/include/x-now.h").symlink_to("x.h")
    (state / "package/etc").mkdir()
    tree, told = state / "folder/root", io.StringIO()
    assert unpack(RECIPE, tree, LineProgress(told), Deadline.after(30)) == (("libx-dev", "0.27.1-1"),)
    assert (tree / "usr/include/x.h").read_text() == "of 0.27"
    assert (tree / "usr/include/x-now.h").is_symlink()
    assert (tree / "usr/include/own.h").exists()
    assert not (tree / "etc").exists()
    assert sorted(path.name for path in tree.parent.iterdir()) == ["libx-dev.log", "root"]
    assert "unpacking libx-dev=0.27.* of trixie-backports or forky" in told.getvalue()
    argv = (state / "argv").read_text().splitlines()
    assert [word for word in argv if word.startswith("deb ")] == [
        "deb http://m.example/debian trixie-backports main", "deb http://m.example/debian forky main",
    ]  # fmt: skip


def test_version_that_no_suite_has_is_told_with_what_to_do(state: Path) -> None:
    with pytest.raises(BuildError, match=r"a-root's libx-dev=0\.27\.\*") as refused:
        unpack(RECIPE, state / "folder/root", LineProgress(io.StringIO()), Deadline.after(30))
    assert "Version '0.27.*' for 'libx-dev' was not found" in refused.value.output_tail
    assert "name a version that one of trixie-backports, forky has" in str(refused.value)
