"""The proof of ggml's backend interface: what a probe's words mean, and that a payload of another version is refused by slot."""

from __future__ import annotations

import pytest

from lab.deadline import Deadline
from lab.errors import BuildError
from lab.host.abi import layout_of, prove_layout, prove_payload
from lab.host.native import native_payloads
from lab.host.progress import SilentProgress
from lab.host.root import HostRoot
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
