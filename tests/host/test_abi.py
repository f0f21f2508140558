"""The proof of ggml's backend interface: what a probe's words mean, and that a payload of another version is refused by slot."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from lab import paths
from lab.deadline import Deadline
from lab.errors import BuildError
from lab.host.abi import ggml_of, layout_of, prove_layout, prove_payload
from lab.host.native import native_payloads
from lab.host.progress import SilentProgress
from lab.host.root import Bind, HostRoot
from lab.image import guest_image
from tests.beforehand import OTHER_API

BUILD_S = 1500.0
OUTPUT = """\
fact: ggml 0.27.0
moved: api_version expected 2, the library takes 3
ok: buffer.clear 0x48
moved: buffer_type.is_host expected at 0x28, the library uses 0x38
between: backend.context 0x90 no accessor
"""


def test_findings_are_read() -> None:
    layout = layout_of(OUTPUT)
    assert layout.facts == (("ggml", "0.27.0"),)
    assert layout.moved == (
        ("api_version", "expected 2, the library takes 3"),
        ("buffer_type.is_host", "expected at 0x28, the library uses 0x38"),
    )


class Shell:
    """A host root whose programs are all this script; it notes what it was to enter."""

    def __init__(self, script: str) -> None:
        self.script = script
        self.entered: list[tuple[str, ...]] = []
        self.binds: tuple[Bind, ...] = ()

    def enter(self, argv: Sequence[str | Path], *, binds: Sequence[Bind] = (), **_env: object) -> tuple[str, ...]:
        words = tuple(map(str, argv))
        self.entered.append(words)
        self.binds = tuple(binds)
        return ("sh", "-c", self.script, *words)


@pytest.mark.parametrize(
    ("output", "status", "why"),
    [
        ("fact: ggml 0.27.0\n", 0, None),
        ("fact: ggml 0.27.0\n", 3, "the libggml 0.27.0 of the host root: the probe did not finish"),
        (OUTPUT, 0, "0.27.0 of the host root: api_version expected 2, the library takes 3; buffer_type.is_host expected at 0x28"),
    ],
)
def test_payload_fits_where_the_probe_came_to_its_end_and_found_no_slot_elsewhere(
    output: str, status: int, why: str | None
) -> None:
    root = cast("HostRoot", Shell(f"printf '{output}'; exit {status}"))
    if why is None:
        assert prove_layout(Path("/x/abi-probe"), root, Deadline.after(10)).facts == (("ggml", "0.27.0"),)
        return
    with pytest.raises(BuildError, match=re.escape(why)):
        prove_layout(Path("/x/abi-probe"), root, Deadline.after(10))


LIBRARIES = ("ld-linux-x86-64.so.2", "libc.so.6", "libgcc_s.so.1", "libggml-base.so.0", "libm.so.6", "libstdc++.so.6")
EXTRACTED = 'to=${1#--extract=}/usr/lib/x; mkdir -p "$to"; for name in %s; do echo > "$to/$name"; done'


def test_libggml_of_an_image_is_taken_out_of_it_once_with_what_loads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(paths.CACHE_VARIABLE, str(tmp_path / "cache"))
    image = tmp_path / "root.erofs"
    image.touch()
    root = Shell(EXTRACTED % " ".join(LIBRARIES))
    for changed, times in ((1, 1), (1, 1), (2, 2)):
        os.utime(image, ns=(changed, changed))
        folder = ggml_of(image, cast("HostRoot", root), SilentProgress(), Deadline.after(10))
        assert len(root.entered) == times
    assert tuple(sorted(path.name for path in folder.iterdir())) == LIBRARIES
    probe = Shell("echo fact: ggml 1")
    prove_layout(Path("/x/abi-probe"), cast("HostRoot", probe), Deadline.after(10), libraries=folder)
    assert probe.entered == [(str(folder / LIBRARIES[0]), "--library-path", str(folder), "/x/abi-probe")]
    assert probe.binds == (Bind(Path("/x")), Bind(folder))


@pytest.mark.parametrize("lacking", ["libggml-base.so.0", "libstdc++.so.6"])
def test_image_without_libggml_or_what_loads_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacking: str) -> None:
    monkeypatch.setenv(paths.CACHE_VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "root.erofs").touch()
    root = cast("HostRoot", Shell(EXTRACTED % " ".join(name for name in LIBRARIES if name != lacking)))
    with pytest.raises(BuildError, match=r"root\.erofs has no (libggml\*|libstdc\+\+)"):
        ggml_of(tmp_path / "root.erofs", root, SilentProgress(), Deadline.after(10))


@pytest.mark.scenario
def test_our_payload_fits_the_host_root_and_the_guest_image(root: HostRoot) -> None:
    deadline = Deadline.after(BUILD_S)
    image = guest_image("guest-6.12", SilentProgress(), deadline)
    host, guest = prove_payload(native_payloads(root, SilentProgress(), deadline), root, image.rootfs, SilentProgress(), deadline)
    for layout in (host, guest):
        assert dict(layout.facts)["api_version"] == "3"
        assert layout.moved == ()


@pytest.mark.native
@pytest.mark.compiled_beforehand("other-api")
def test_a_payload_of_the_other_version_is_refused_by_slot(root: HostRoot) -> None:
    deadline = Deadline.after(BUILD_S)
    other = native_payloads(root, SilentProgress(), deadline, options=OTHER_API)
    with pytest.raises(BuildError, match=r"libggml 0\.27\S* of the host root: .*buffer_type\.get_alignment expected at 0x10"):
        prove_layout(other.abi_probe, root, deadline)


@pytest.mark.protocol
def test_a_probe_that_says_nothing_proves_nothing(root: HostRoot) -> None:
    with pytest.raises(BuildError, match="did not finish"):
        prove_layout(root.path / "usr/bin/true", root, Deadline.after(60))
