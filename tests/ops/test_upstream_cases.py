from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.errors import LabError
from lab.ops import upstream_cases
from lab.ops.upstream_cases import (
    PATTERN_BYTES,
    Batch,
    Listed,
    ListedCase,
    Mode,
    batches,
    beginnings,
    chosen_cases,
    listed_cases,
    mode_argv,
)

TEXT = st.text("ab,=[]$", max_size=6)


def case(op: str, params: str, *, occurrence: int = 1, supported: bool = True) -> ListedCase:
    text = f"{op}({params})"
    return ListedCase(text if occurrence == 1 else f"{text}#{occurrence}", op, params, supported)


LISTED = (
    case("ADD", "type=f32,ne=[1,1]"),
    case("MUL", "type=f32,ne=[1,1]"),
    case("ADD", "type=f32,ne=[1,1]", occurrence=2),
    case("ADD", "type=f32,ne=[1,11]"),
    case("ADD", "type=f16,ne=[2,1]"),
    case("SUB", "type=f32,ne=[1,1]"),
)


def run_by(batch: Batch, listed: tuple[ListedCase, ...]) -> tuple[ListedCase, ...]:
    """What the program makes of a batch's options."""
    arguments = batch.arguments()
    ops = arguments[3].split(",") if "-o" in arguments else {one.op for one in listed}
    return tuple(one for one in listed if one.op in ops and re.search(arguments[1], one.params))


@settings(deadline=None)  # a busy machine is no finding
@given(st.sets(TEXT, min_size=1), st.sets(TEXT))
def test_every_text_inside_has_one_beginning_and_none_outside_does(inside: set[str], outside: set[str]) -> None:
    # a text that ends with $ would look like a whole one; the program's parameters have none
    inside, outside = ({text.replace("$", "") for text in texts} for texts in (inside, outside))
    batch = Batch(("ADD",), tuple(beginnings(sorted(inside), sorted(outside - inside))), ())
    for text in inside | outside:
        assert (re.search(batch.pattern, text) is not None) == (text in inside)


def test_texts_of_any_length_are_told_apart() -> None:
    long = "x" * 20_000
    assert list(beginnings([f"{long}1"], [f"{long}2", long])) == [f"{long}1"]
    assert list(beginnings([long], [f"{long}2"])) == [f"{long}$"]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_every_wanted_case_is_in_one_batch_that_selects_just_its_own(size: int) -> None:
    made = batches(LISTED, {one.case for one in LISTED}, size)
    assert sorted(one.case for batch in made for one in batch.cases) == sorted(one.case for one in LISTED)
    for batch in made:
        assert run_by(batch, LISTED) == batch.cases, "the cases, in the program's order"


def test_what_is_not_wanted_is_left_out_but_for_equal_texts() -> None:
    made = batches(LISTED, {"ADD(type=f32,ne=[1,1])", "SUB(type=f32,ne=[1,1])"}, 100)
    chosen = {one.case for batch in made for one in run_by(batch, LISTED)}
    assert chosen == {"ADD(type=f32,ne=[1,1])", "ADD(type=f32,ne=[1,1])#2", "SUB(type=f32,ne=[1,1])"}
    assert batches(LISTED, set(), 100) == ()


def test_many_operations_are_named_only_where_others_have_the_same_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each name costs time with every case that the parameters have left; a few of them less than another start."""
    some = {one.case for one in LISTED if one.op in {"ADD", "SUB"}}
    assert {batch.ops for batch in batches(LISTED, some, 100)} == {("ADD", "SUB")}
    monkeypatch.setattr(upstream_cases, "FEW_NAMES", 1)
    assert {batch.ops for batch in batches(LISTED, {one.case for one in LISTED}, 2)} == {()}
    assert {batch.ops for batch in batches(LISTED, some, 2)} == {(), ("ADD", "SUB")}


@settings(deadline=None)  # a busy machine is no finding
@given(st.sets(st.sampled_from([one.case for one in LISTED])), st.integers(1, 4))
def test_any_part_of_the_cases_is_run_once_each(wanted: set[str], size: int) -> None:
    made = batches(LISTED, wanted, size)
    ran = [one.case for batch in made for one in run_by(batch, LISTED)]
    assert len(ran) == len(set(ran))
    texts = {one.text for one in LISTED if one.case in wanted}
    assert set(ran) == {one.case for one in LISTED if one.text in texts}
    assert ran == [one.case for batch in made for one in batch.cases]


def test_a_pattern_that_is_too_long_for_one_word_makes_two_batches() -> None:
    # no two of the wanted ones begin alike: each has an unwanted neighbour that differs in the last character only
    listed = tuple(case("ADD", f"{number:03}{'x' * 400}{end}") for number in range(300) for end in "ab")
    wanted = {one.case for one in listed if one.params.endswith("a")}
    made = batches(listed, wanted, 1000)
    assert len(made) > 1
    assert all(len(batch.pattern.encode()) <= PATTERN_BYTES for batch in made)
    assert {one.case for batch in made for one in run_by(batch, listed)} == wanted


def test_patterns_choose_by_the_beginning_of_the_parameters() -> None:
    assert [one.case for one in chosen_cases(LISTED, (), ("type=f16", r"type=f32,ne=\[1,11\]"))] == [
        "ADD(type=f32,ne=[1,11])",
        "ADD(type=f16,ne=[2,1])",
    ]
    assert chosen_cases(LISTED, (), ("f16",)) == ()
    assert chosen_cases(LISTED, (), ()) == LISTED
    assert {one.op for one in chosen_cases(LISTED, ("ADD",), ("type=f32",))} == {"ADD"}


def test_listing_tells_what_the_device_says_and_counts_repeated_texts() -> None:
    row = '"CPU, CPU","ADD","type=f32","test","0","not supported",""'
    both = ["supports: yes", "supports: no"] * 2
    lines = ["load_backend: …", *both, row, "supports: yes", "supports: yes", row]
    assert [(one.case, one.supported) for one in listed_cases(Mode.TEST, lines, 0)] == [
        ("ADD(type=f32)", False),
        ("ADD(type=f32)#2", True),
    ]


def test_listing_tells_nothing_of_what_the_reference_refuses() -> None:
    rows = [f'"V, V, CPU, CPU","{op}","type=f32","test","0","not supported",""' for op in ("ADD", "MUL", "SUB")]
    yes, no = ["supports: yes"] * 2, ["supports: no"] * 2
    lines = [*yes, *no, rows[0], *no, *yes, rows[1], *no, *no, rows[2]]
    assert [one.supported for one in listed_cases(Mode.TEST, lines, 0)] == [True, False, False]


@pytest.mark.parametrize("status", [1, 137, -9])
def test_listing_that_broke_off_is_refused(status: int) -> None:
    row = '"CPU","ADD","type=f32","test","0","not supported",""'
    with pytest.raises(LabError, match=rf"ended with status {status} while it listed its cases"):
        listed_cases(Mode.TEST, ["supports: yes", row], status)


def test_listing_of_gradients_is_read_from_the_console() -> None:
    lines = [
        "  ABS(type=f16): not supported [out->type != FP32]",
        "  ABS(type=f32): \x1b[1;32mOK\x1b[0m",
        "supports: no",
        "  ABS(type=f32): not supported [ABS]",
    ]
    assert [(one.case, one.supported) for one in listed_cases(Mode.GRAD, lines, 0)] == [
        ("ABS(type=f16)", True),
        ("ABS(type=f32)", False),
    ]


def test_command_names_mode_device_and_the_output_that_tells_everything() -> None:
    for mode, output in ((Mode.TEST, "csv"), (Mode.SUPPORT, "csv"), (Mode.PERF, "sql"), (Mode.GRAD, "console")):
        argv = mode_argv(mode, "[virtgpu] CPU", ("-o", "ADD"))
        assert argv[:2] == ("stdbuf", "-oL")
        assert argv[3:] == (mode, "-b", "[virtgpu] CPU", "--output", output, "-o", "ADD")
    assert Listed(Mode.PERF, "CPU").argv()[1:] == ("perf", "-b", "CPU", "--output", "sql")
