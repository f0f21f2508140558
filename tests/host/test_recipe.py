from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import ConfigError
from lab.host.debian import Order, apt_preferences, mmdebstrap_argv
from lab.host.recipe import Debian, Kernel, load_recipe, named_recipe, recipe_names
from lab.paths import IMAGES

GOOD = """\
name = "{name}"
kind = "guest"
packages = ["python3", "libggml0"]

[debian]
suite = "trixie"
also = ["trixie-backports"]

[[debian.pin]]
packages = ["libggml0*"]
suite = "trixie-backports"

[kernel]
suite = "trixie"
package = "linux-image-amd64"
root_modules = ["virtio_blk"]
gpu_modules = ["virtio-gpu"]
"""

UNPACKED = '[[unpacked]]\npackage = "libggml-dev"\nversion = "0.27.*"\nsuites = ["forky", "sid"]\n\n'


def written(folder: Path, text: str, name: str = "good") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text.format(name=name))
    return path


def problems(folder: Path, text: str) -> dict[str, str]:
    with pytest.raises(ConfigError) as wrong:
        load_recipe(written(folder, text))
    return {problem.key: problem.message for problem in wrong.value.problems}


def test_good_recipe(tmp_path: Path) -> None:
    recipe = load_recipe(written(tmp_path, GOOD)).recipe
    assert recipe.debian.pin[0].priority == 990
    assert recipe.kernel is not None
    assert recipe.kernel.modules == ("virtio_blk", "virtio-gpu")


@pytest.mark.parametrize("path", sorted(IMAGES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_recipe_of_the_project_is_good_and_locked(path: Path) -> None:
    assert load_recipe(path).lock.is_file()


def test_all_errors_are_told_at_once(tmp_path: Path) -> None:
    text = GOOD.replace('"python3"', '"Python 3"').replace("suite = ", "siute = ", 1).replace('kind = "guest"', 'kind = "toaster"')
    found = problems(tmp_path, text + "extra = 1\n")
    assert set(found) == {"kind", "debian.suite", "debian.siute", "packages[0]", "kernel.extra"}


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('also = ["trixie-backports"]', "also = []", "debian.pin[0].suite"),
        ("{name}", "other", "name"),
        ('"libggml0"]', '"python3"]', "packages"),
        ('kind = "guest"', 'kind = "host-root"', "kernel"),
        ("packages = [", "packages = [[", ""),
        ("[debian]", UNPACKED + "[debian]", "unpacked"),
    ],
)
def test_contradiction_is_refused(tmp_path: Path, old: str, new: str, key: str) -> None:
    assert old in GOOD
    assert key in problems(tmp_path, GOOD.replace(old, new))


def test_package_is_either_installed_or_unpacked(tmp_path: Path) -> None:
    root = GOOD[: GOOD.index("[kernel]")].replace('kind = "guest"', 'kind = "host-root"').replace("[debian]", UNPACKED + "[debian]")
    assert load_recipe(written(tmp_path, root)).recipe.unpacked[0].suites == ("forky", "sid")
    assert problems(tmp_path, root.replace('"python3"', '"libggml-dev"')) == {"packages": "libggml-dev is listed twice"}
    assert "unpacked[0].version" in problems(tmp_path, root.replace("0.27.*", "$(reboot)"))


def test_unknown_name_lists_those_there_are(tmp_path: Path) -> None:
    written(tmp_path, GOOD, "guest-a")
    written(tmp_path, GOOD, "guest-b")
    assert recipe_names("guest", tmp_path) == ("guest-a", "guest-b")
    with pytest.raises(ConfigError, match="guest-a, guest-b"):
        named_recipe("guest-c", "guest", tmp_path)
    with pytest.raises(ConfigError, match="host-root is wanted"):
        named_recipe("guest-a", "host-root", tmp_path)


def test_pins_become_apt_preferences(tmp_path: Path) -> None:
    recipe = load_recipe(written(tmp_path, GOOD)).recipe
    assert apt_preferences(recipe.debian) == "Package: libggml0*\nPin: release n=trixie-backports\nPin-Priority: 990\n"


def test_mmdebstrap_command(tmp_path: Path) -> None:
    recipe = load_recipe(written(tmp_path, GOOD)).recipe
    order = Order.of(recipe, hooks=("echo",))
    argv = mmdebstrap_argv(order, "http://m.example/debian", Path("/w/p"), Path("/t.tar"), options=("A=1",))
    assert argv[-4:] == (
        "trixie",
        "/t.tar",
        "deb http://m.example/debian trixie main",
        "deb http://m.example/debian trixie-backports main",
    )
    assert "--include=python3,libggml0" in argv
    assert "--customize-hook=echo" in argv
    assert "--aptopt=A=1" in argv
    assert "--variant=minbase" in argv


def test_mmdebstrap_without_packages_makes_an_empty_tree() -> None:
    argv = mmdebstrap_argv(Order("kernel", Debian(suite="bookworm")), "http://m.example", Path("/p"), None, options=())
    assert "--variant=custom" in argv
    assert not any(word.startswith("--include") for word in argv)
    assert "--format=null" in argv
    assert argv[-1] == "deb http://m.example bookworm main"


def test_modules_of_the_bus_are_loaded_before_all_others() -> None:
    kernel = Kernel(
        suite="sid", package="linux-image", root_modules=("erofs",), gpu_modules=("gpu",), bus_modules=("pci", "virtio")
    )
    assert kernel.modules == ("pci", "virtio", "erofs", "gpu")
