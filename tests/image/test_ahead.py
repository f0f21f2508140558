"""A guest image begun beside other work: an early end leaves nothing of it, and its failure is told, and is not the end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.deadline import Deadline, poll
from lab.host.progress import SilentProgress
from lab.image import ahead
from lab.image.system import SYSTEMS
from tests.beforehand import family

IMAGE = "guest-6.12"


class Notes(SilentProgress):
    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        self.texts.append(text)


def test_an_image_of_the_cache_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "cached_guest_image", lambda _: SimpleNamespace())
    notes, before = Notes(), family()
    with ahead.begun(IMAGE, notes, Deadline.after(10)) as ended:
        assert family() == before
        ended()
    assert notes.texts == []


def test_an_image_that_is_built_anew_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "cached_guest_image", lambda _: None)
    before = family()
    with ahead.begun("no-such-image", SilentProgress(), Deadline.after(10), again=True) as ended:
        assert family() == before
        ended()


def test_a_failure_is_told_and_left_to_who_needs_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "cached_guest_image", lambda _: None)
    notes = Notes()
    with ahead.begun("no-such-image", notes, Deadline.after(30)) as ended:
        ended()
    assert notes.texts[0] == "begun beside: the guest image no-such-image"
    assert notes.texts[1].startswith("it failed, and is tried again: ")
    assert "no-such-image" in notes.texts[1]


@pytest.mark.scenario
def test_nothing_is_left_of_what_was_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", "cache")  # the same folder for whoever builds
    before = family()
    with ahead.begun(IMAGE, SilentProgress(), Deadline.after(60)):
        poll("the first download", lambda: any(one.name == "apt-get" for one in family()), Deadline.after(30))
        begun = [one for one in family() if one not in before]
    assert not any(one.alive() for one in begun)
    assert [path for path in (tmp_path / "cache" / SYSTEMS).iterdir() if path.suffix != ".lock"] == []
