"""Which packages are asked for: what builds is needed only where something is built."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from lab import paths
from lab.cli import setup
from lab.deadline import Deadline
from lab.errors import HostError
from lab.host import apt, probe
from lab.host import root as host
from lab.host.capability import Capability
from lab.host.progress import Progress, SilentProgress
from lab.host.recipe import named_recipe
from lab.image import kernel


class Asked(Exception):
    """Packages are asked for, with those that build or without."""

    def __init__(self, to_build: bool) -> None:
        self.to_build = to_build


def ask(_progress: Progress, _deadline: Deadline, *, to_build: bool = True) -> NoReturn:
    raise Asked(to_build)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(paths.CACHE_VARIABLE, str(tmp_path))
    for module in (host, kernel, setup):
        monkeypatch.setattr(module, "ensure_packages", ask)
    return tmp_path


@pytest.mark.parametrize(("there", "refresh", "to_build"), [(False, False, True), (True, False, False), (True, True, True)])
def test_a_root_that_is_there_is_not_built(cache: Path, *, there: bool, refresh: bool, to_build: bool) -> None:
    if there:
        (cache / host.KIND / host._key(named_recipe(host.RECIPE, "host-root"))).mkdir(parents=True)
    with pytest.raises(Asked) as asked:
        host.host_root(SilentProgress(), Deadline.after(5.0), refresh=refresh)
    assert asked.value.to_build == to_build


@pytest.mark.parametrize("lacking", ["sandbox", "user_rights"])
def test_a_root_that_may_not_be_made_or_entered_is_not_begun(cache: Path, monkeypatch: pytest.MonkeyPatch, lacking: str) -> None:
    monkeypatch.setattr(host, "ensure_packages", lambda *_, **__: None)
    monkeypatch.setattr(host, "bootstrapped", lambda *_, **__: pytest.fail("it was begun"))
    for name in ("sandbox", "user_rights"):
        capability = Capability(name, name != lacking, f"{name} was looked for", "allow it")
        monkeypatch.setattr(host, name, lambda capability=capability: capability)
    with pytest.raises(HostError, match=f"{lacking} was looked for"):
        host.host_root(SilentProgress(), Deadline.after(5.0))
    assert not [path for path in (cache / host.KIND).glob("*") if path.is_dir()]


@pytest.mark.usefixtures("cache")
def test_a_kernel_that_is_not_there_is_fetched_with_what_builds() -> None:
    recipe = named_recipe("guest-6.12", "guest").recipe
    with pytest.raises(Asked) as asked:
        kernel.guest_kernel(recipe, SilentProgress(), Deadline.after(5.0), refresh=False)
    assert asked.value.to_build


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("image", [None, object()])
@pytest.mark.parametrize("root", [None, object()])
@pytest.mark.parametrize("refresh", [False, True])
def test_a_set_up_with_all_in_the_cache_builds_nothing(
    monkeypatch: pytest.MonkeyPatch, image: object, root: object, *, refresh: bool
) -> None:
    monkeypatch.setattr(probe, "cached_host_root", lambda: root)
    monkeypatch.setattr(probe, "cached_guest_image", lambda _name: image)
    with pytest.raises(Asked) as asked:
        setup.set_up("guest-6.12", SilentProgress(), refresh=refresh, update_lock=False)
    assert asked.value.to_build == (refresh or image is None or root is None)


def test_all_that_is_missing_is_named_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    needed = (apt.HostPackage("runs", "no-such-program"), apt.HostPackage("builds", "no-such-program", to_build_only=True))
    monkeypatch.setenv(paths.CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setattr(apt, "NEEDED", needed)
    monkeypatch.setattr(apt, "_root_prefix", lambda: None)
    with pytest.raises(HostError, match="not installed: runs, builds"):
        host.host_root(SilentProgress(), Deadline.after(5.0))


def test_running_needs_what_makes_a_sandbox_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apt.HostPackage, "installed", lambda _package: False)
    monkeypatch.setattr(apt.os, "geteuid", lambda: 0)
    assert apt.missing_packages(to_build=False) == ("bubblewrap", "util-linux")
