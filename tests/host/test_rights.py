from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import HostError
from lab.host.capability import Capability
from lab.host.rights import by_command, has_range, require


def test_subordinate_ids_are_looked_up_by_name_and_number(tmp_path: Path) -> None:
    ranges = tmp_path / "subuid"
    assert not has_range(ranges, 4242)
    ranges.write_text("other:100000:65536\n")
    assert not has_range(ranges, 4242)
    ranges.write_text("other:100000:65536\n4242:165536:65536\n")
    assert has_range(ranges, 4242)


def test_command_that_fails_is_a_no_with_its_output() -> None:
    answer = by_command("x", ("sh", "-c", "echo because; exit 3"), "fine", "hint")
    assert not answer.ok
    assert "ended with 3: because" in answer.probed
    assert by_command("x", ("true",), "fine", "hint") == Capability("x", True, "fine")
    assert "not installed" in by_command("x", ("no-such-program",), "fine", "hint").probed


def test_what_is_not_there_is_a_host_error_with_the_hint() -> None:
    require(Capability("x", True, "fine"))
    with pytest.raises(HostError, match="mend it"):
        require(Capability("x", False, "broken", "mend it"))
