"""Words of guests, libraries and programs are shown, and command no terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import typer
from rich.console import Console

from lab.bundle.schema import CapabilityRecord, RunRecord, Status, VariantRecord
from lab.cli.answer import answering, tell_capabilities, tell_run
from lab.cli.display import TerminalListener
from lab.errors import GuestLost
from lab.host.progress import LineProgress
from lab.visible import visible

HOSTILE = "it said \x1b]0;a title\x07\x1b[2J\x9b31m\x7f\rPASSED"
SHOWN = "it said ␛]0;a title␇␛[2J\N{REPLACEMENT CHARACTER}31m␡␍PASSED"


def test_what_commands_a_terminal_is_made_visible() -> None:
    assert visible(HOSTILE) == SHOWN
    assert visible("a line\n\tand another, ✓") == "a line\n\tand another, ✓"


def test_findings_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    variant = VariantRecord(name="a", variant="b", status=Status.SKIPPED, reason=HOSTILE)
    record = RunRecord(run="r", name="a", status=Status.FAILED, started="now", variants=(variant,))
    tell_run(Path("/runs/r"), record, None, [("a/b", "wrong state", HOSTILE)])
    assert capsys.readouterr().out.count(SHOWN) == 2


def test_errors_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), answering(as_json=False):
        raise GuestLost("the kernel panicked", HOSTILE)
    assert SHOWN.partition("␍")[0] in capsys.readouterr().err


def test_steps_and_notes_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    screen = io.StringIO()
    for listener in (LineProgress(), TerminalListener(Console(file=screen, width=200))):
        with listener.step(HOSTILE):
            listener.note(HOSTILE.replace("\r", ""))
    for told in (capsys.readouterr().err, screen.getvalue()):
        assert SHOWN in told
        assert f"· {SHOWN.replace('␍', '')}" in told


def test_brackets_in_what_was_probed_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    probed = "12.0 GiB free at /tmp/[old] cache[/x]"
    tell_capabilities([CapabilityRecord(name="disk", ok=False, probed=probed, hint="make [room]")])
    told = capsys.readouterr().out
    assert probed in told
    assert "make [room]" in told
