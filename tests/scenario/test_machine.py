"""Lists of cases from the host root's own program, which is played by a shell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.deadline import Deadline
from lab.errors import LabError
from lab.ops.upstream import Selection
from lab.ops.upstream_cases import Listed, Mode
from lab.scenario.machine import native_cases, native_listing
from tests.scenario.fakes import HEADER_LINE, SHIPMENT, TEXTS, row

SAME = (("libggml0", "0.27.0"),)
Listing = Callable[[Any], Sequence[object]]


def ingredients(script: str) -> Any:
    def enter(_argv: Sequence[str], **_words: object) -> tuple[str, ...]:
        return ("sh", "-c", script)

    root = SimpleNamespace(enter=enter, packages=SAME)
    return SimpleNamespace(
        root=root, image=SimpleNamespace(packages=SAME), shipment=SHIPMENT, case_lister=Path("/native/libcase-lister.so")
    )


def selected(made: Any) -> Sequence[object]:
    cases = native_cases(Selection(("ADD", "MUL")), made, Deadline.after(10))
    assert cases is not None
    return cases.ids


def listed(made: Any) -> Sequence[object]:
    return native_listing(Listed(Mode.TEST, "CPU"), {}, made, Deadline.after(10)) or ()


@pytest.mark.parametrize(("listing", "supported"), [(selected, "1"), (listed, "0")])
def test_list_that_broke_off_natively_is_refused(listing: Listing, supported: str) -> None:
    error = "" if supported == "1" else "not supported"
    rows = HEADER_LINE + "".join(row(text, supported=supported, error=error, device="CPU") for text in TEXTS)
    printing = f"cat <<'END'\n{rows}END\n"
    assert len(listing(ingredients(printing))) == len(TEXTS)
    with pytest.raises(LabError, match="ended with status -9 while it listed its cases"):
        listing(ingredients(f"{printing}kill -KILL $$"))
