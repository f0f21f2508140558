"""Which parts of tensors and which fillings make no case, as they are built in contexts that are played."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, cast

import pytest

from lab.ggml.library import TensorStruct
from lab.ggml.types import Type
from lab.ops.build import Builder, UnbuildableCase
from lab.ops.built import Built, leaf_data
from lab.ops.catalog import case_named
from lab.ops.data import UNIFORM, Fill, distinct_rows, integers

BLOCKS = {Type.F32: (1, 4), Type.I32: (1, 4), Type.I64: (1, 8), Type.Q4_0: (32, 18)}


class Played:
    """A context and its library: tensors lie one element after another, and operations are of their first source's sizes."""

    def __init__(self) -> None:
        self.made: list[TensorStruct] = []
        self.asked: list[tuple[Any, ...]] = []

    @property
    def ggml(self) -> Played:
        return self

    def call(self, name: str, kind: int) -> int:
        return BLOCKS[Type(kind)][name == "ggml_type_size"]

    def new_tensor(self, kind: Type, ne: Sequence[int]) -> int:
        struct = TensorStruct()
        struct.type, struct.ne[:] = int(kind), tuple(ne)
        elements, size = BLOCKS[kind]
        strides = [size, ne[0] // elements * size]
        for count in ne[1:3]:
            strides.append(strides[-1] * count)
        struct.nb[:] = tuple(strides)
        self.made.append(struct)
        return ctypes.addressof(struct)

    def operation(self, name: str, *arguments: Any) -> int:
        self.asked.append((name, *arguments[1:]))
        source = TensorStruct.from_address(arguments[0])
        return self.new_tensor(Type(source.type), tuple(source.ne))


@pytest.fixture
def played() -> Played:
    return Played()


def builder(played: Played) -> Builder:
    context = cast("Any", played)
    return Builder(context, context, context)


def build(played: Played, text: str) -> Built:
    case, maker = case_named(text), builder(played)
    case.family.build(maker, case.op, case.parameters)
    return Built(case, tuple(maker.made), (), (), supported=True)


@pytest.mark.parametrize(
    ("layout", "kind", "ne", "why"),
    [
        ("of10x5x4x3by1x0", Type.F32, (10, 5, 4, 3), r"by \(1, 0, 1, 1\): the first step is 1, the others are 1 or more"),
        ("of20x5x4x3by2", Type.F32, (10, 5, 4, 3), r"by \(2, 1, 1, 1\): the first step is 1"),
        ("of512x3at16", Type.Q4_0, (256, 3), r"from \(16, 0, 0, 0\) parts blocks of 32 elements"),
        ("of512x3", Type.Q4_0, (48, 3), r"of \(48, 3, 1, 1\) from \(0, 0, 0, 0\) parts blocks of 32 elements"),
        ("of20x5x4x3at0x0x0x0x0", Type.F32, (10, 5, 4, 3), "more than 4 numbers"),
        ("of20x5x4x3at11", Type.F32, (10, 5, 4, 3), "does not fit"),
    ],
)
def test_parts_that_no_view_is_are_refused(played: Played, layout: str, kind: Type, ne: tuple[int, ...], why: str) -> None:
    with pytest.raises(UnbuildableCase, match=why):
        builder(played).source(kind, ne, layout)
    assert played.asked == []


@pytest.mark.parametrize(
    ("layout", "kind", "ne", "view"),
    [
        ("of20x5x4x3at10x1", Type.F32, (10, 2, 4, 3), (80, 400, 1600, 120)),
        ("of11x5x6x3at0x0x0x1by1x1x2x1", Type.F32, (11, 5, 3, 2), (44, 440, 1320, 1320)),
        ("of512x3at32", Type.Q4_0, (256, 3), (288, 864, 864, 18)),
        ("slice", Type.Q4_0, (256, 3), (162, 648, 648, 828)),
        ("step", Type.F32, (10, 5), (80, 400, 400, 0)),
    ],
)
def test_parts_are_views_from_their_first_byte_on(
    played: Played, layout: str, kind: Type, ne: tuple[int, ...], view: tuple[int, ...]
) -> None:
    builder(played).source(kind, ne, layout)
    assert played.asked == [("view_4d", *(*ne, 1, 1)[:4], *view)]


@pytest.mark.parametrize(
    ("fill", "ne", "why"),
    [
        (distinct_rows(7), (8, 1), "no 8 different numbers of 0 or more are below 7"),
        (distinct_rows(0), (1,), "no 1 different numbers"),
        (integers(0), (4,), "no whole number is from 0 to below 0"),
        (integers(-5), (4,), "no whole number is from 0 to below -5"),
    ],
)
def test_fillings_without_numbers_enough_are_refused(played: Played, fill: Fill, ne: tuple[int, ...], why: str) -> None:
    with pytest.raises(UnbuildableCase, match=why):
        builder(played).leaf(Type.I32, ne, fill)
    assert builder(played).leaf(Type.I32, (ne[0], 0), fill).ne == (ne[0], 0, 1, 1)


@pytest.mark.parametrize("fill", [distinct_rows(4), integers(1), integers(5, -5), UNIFORM], ids=lambda fill: fill.kind)
def test_fillings_with_as_many_numbers_as_places_are_none_too_few(played: Played, fill: Fill) -> None:
    assert builder(played).leaf(Type.I32, (4, 9), fill).fill is fill


@pytest.mark.parametrize("text", ["SET_ROWS(r=8)", "SET_ROWS(r=9)", "SET_ROWS(m=0)", "MUL_MAT_ID(used=6)", "GET_ROWS(m=0)"])
def test_more_rows_chosen_than_there_are_make_no_case(played: Played, text: str) -> None:
    with pytest.raises(UnbuildableCase, match="no data of the sizes"):
        build(played, text)
    assert played.asked == []


def test_parameters_that_no_data_can_be_made_for_are_told_and_end_nothing(played: Played) -> None:
    built = build(played, "ROPE(context=4294967296)")
    with pytest.raises(UnbuildableCase, match="its parameters make no case: OverflowError: "):
        list(leaf_data(cast("Any", played), built, 1, 0))


def test_leaves_of_no_elements_have_no_data(played: Played) -> None:
    built = build(played, "SOFT_MAX(ne=0x16x1x1,mask=f32)")
    assert [bytes(data) for _, data in leaf_data(cast("Any", played), built, 1, 0)] == [b"", b""]
