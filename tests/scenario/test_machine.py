"""Lists of cases from the host root's own program, which is played by a shell; settings that are refused at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.deadline import Deadline
from lab.errors import ConfigError, LabError
from lab.ops.upstream import Selection
from lab.ops.upstream_cases import Listed, Mode
from lab.paths import BACKEND_IMPL
from lab.scenario import load
from lab.scenario.machine import GUEST_CHOICES, native_cases, native_listing, require_known_choices
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


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("EXTENSIONS=-asynchronus", r"guest\.environment\.GGML_VIRTGPU_EXTENSIONS: knows no 'asynchronus' \(did you mean asynch"),
        ("EXTENSIONS=ring,all", r"EXTENSIONS: knows no 'all' \(known are liveness, "),
        ("EXTENSIONS=-all", "EXTENSIONS: knows no 'all'"),
        ("RING=of", r"RING: knows no 'of' \(did you mean off\?\)"),
        ("WRITE_BEHIND=1", "WRITE_BEHIND: knows no '1'"),
        *((f"EXTENSIONS={chosen}", None) for chosen in ("all", "none", "", "ring,batch", "-ring,-batch")),
        *((chosen, None) for chosen in ("RING=off", "DATA_PATH=copied", "WRITE_BEHIND=on", "LOG=debug", "CALL_DEADLINE_MS=9")),
    ],
)
def test_word_that_our_guest_library_would_pass_over_is_refused(tmp_path: Path, setting: str, told: str | None) -> None:
    path = tmp_path / "file.toml"
    path.write_text('name = "x"\n[[checks]]\nkind = "state"\n')
    scenario = load(path, (f"guest.environment.GGML_VIRTGPU_{setting}",))
    with pytest.raises(ConfigError, match=told) if told else nullcontext():
        require_known_choices(scenario)


def test_words_are_those_of_the_guest_library() -> None:
    text = (BACKEND_IMPL / "guest" / "config.cpp").read_text()
    for variable, table in re.findall(r'choice\("(\w+)", (\w+),', text):
        words = re.search(rf"{table}\[\] = \{{(.*?)\}};", text, re.DOTALL)
        assert words is not None
        assert set(re.findall(r'"(\w+)"', words[1])) == set(GUEST_CHOICES[variable])
