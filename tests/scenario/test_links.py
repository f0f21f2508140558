"""A scenario file that a link leads to has what lies beside the file itself."""

from __future__ import annotations

from pathlib import Path

from lab.scenario.plan import Choice, planned
from tests.scenario.test_expectations import BAD, FAIL, Running, with_case
from tests.scenario.test_expectations import running as running  # noqa: PLC0414 - a fixture


def test_expectations_are_those_of_the_file_itself_whatever_link_leads_to_it(running: Running, tmp_path: Path) -> None:
    running(with_case(BAD), FAIL)
    link = tmp_path / "elsewhere" / "another.toml"
    link.parent.mkdir()
    link.symlink_to(Path("..", "small.toml"))
    (entry,) = planned([link], Choice())
    assert [one.reason for one in entry.variants[0].expectations.file.expect] == ["known"]
    beside = link.parent / "expectations"
    beside.mkdir()
    (beside / "small.toml").write_text("")
    (entry,) = planned([link], Choice())
    assert entry.variants[0].expectations.path == tmp_path / "expectations" / "small.toml", "none is taken from beside a link"
