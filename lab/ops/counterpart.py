"""Cases of ``test-backend-ops`` and the catalog's equal ones: the same operations, types, sizes, strides and parameters.

Upstream's cases are known by the text that it prints; what a text stands for was read off the graphs that it sends
(``tests/ops/test_counterpart.py`` compares every one of the smoke scenario's selection). Data are our own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from lab.errors import LabError
from lab.ggml.modes import MROPE, VISION
from lab.ops.case import Case, Row, case_of
from lab.ops.catalog import FAMILY_OF

PARAMETER = re.compile(r"(?P<name>\w+)=(?P<value>\[[^\]]*\]|[^,]*)(?:,|$)")
PLAIN_ORDER = (0, 1, 2, 3)
NOT_PERMUTED = (0, 0, 0, 0)
HIDDEN_ROWS = 3


class NoCounterpart(LabError):
    """A case of ``test-backend-ops`` for which the catalog has no equal one."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"no case of the catalog is equal to test-backend-ops' {text}: {why}")


class Said:
    """The parameters in a case's text. Every one of them has to be read: an unread one would be an unknown difference."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.op, _, rest = text.partition("(")
        self._left = {match["name"]: match["value"] for match in PARAMETER.finditer(rest.removesuffix(")"))}

    def word(self, name: str) -> str:
        """A type or name."""
        if name not in self._left:
            raise NoCounterpart(self.text, f"it says nothing of {name}")
        return self._left.pop(name)

    def whole(self, name: str) -> int:
        """A whole number."""
        return int(self.word(name))

    def real(self, name: str) -> float:
        """A number."""
        return float(self.word(name))

    def sizes(self, name: str) -> tuple[int, ...]:
        """Several whole numbers."""
        return tuple(int(size) for size in self.word(name).strip("[]").split(","))

    def must_be(self, **expected: str) -> None:
        """Parameters that our case has no other choice for. Raises ``NoCounterpart`` for another value."""
        for name, value in expected.items():
            if (told := self.word(name)) != value:
                raise NoCounterpart(self.text, f"{name} is {told}, not {value}")

    def finish(self) -> None:
        """Nothing is left unread. Raises ``NoCounterpart``."""
        if self._left:
            raise NoCounterpart(self.text, f"nothing is known of {', '.join(self._left)}")


def counterpart(text: str) -> Case:
    """The catalog's case that is equal to one of ``test-backend-ops``. Raises ``NoCounterpart``."""
    said = Said(text)
    if said.op not in READERS:
        raise NoCounterpart(text, f"{said.op} is not among {', '.join(READERS)}")
    row = READERS[said.op](said)
    said.finish()
    return case_of(FAMILY_OF[said.op], said.op, row)


def short(sizes: Sequence[int]) -> tuple[int, ...]:
    """Sizes as the catalog writes them: without the ones at the end."""
    count = len(sizes)
    while count > 1 and sizes[count - 1] == 1:
        count -= 1
    return tuple(sizes[:count])


def written(sizes: Sequence[int]) -> str:
    """Sizes in a layout."""
    return "x".join(map(str, sizes))


def permuted(sizes: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """Sizes of a tensor after ``ggml_permute`` with these axes."""
    result = [0] * len(axes)
    for size, axis in zip(sizes, axes, strict=True):
        result[axis] = size
    return tuple(result)


def axes_layout(axes: Sequence[int]) -> str:
    """The layout of a permuted tensor."""
    return "" if tuple(axes) in (PLAIN_ORDER, NOT_PERMUTED) else "p" + "".join(map(str, axes))


def binary(said: Said) -> Row:
    """ADD, MUL, SUB: the first source repeats the second."""
    ne, times = said.sizes("ne"), said.sizes("nr")
    said.must_be(src_overlap="0")
    first = tuple(size * count for size, count in zip(ne, times, strict=True))
    layout = "p1203" if said.whole("perm1") else ""
    return {"type": said.word("type"), "a": short(first), "b": short(ne), "lb": layout, "chain": said.whole("nf")}


def scale(said: Said) -> Row:
    """SCALE."""
    numbers = {"x": said.real("scale"), "y": said.real("bias")}
    return {"type": said.word("type"), "ne": said.sizes("ne"), **numbers, "inplace": said.whole("inplace")}


def cpy(said: Said) -> Row:
    """CPY: both sides may be permuted, the destination having the source's sizes before that."""
    said.must_be(_src_transpose="0")
    of, to = said.sizes("permute_src"), said.sizes("permute_dst")
    source = said.sizes("ne_src") if of == NOT_PERMUTED else permuted(said.sizes("ne_src"), of)
    target = () if to == NOT_PERMUTED else permuted(source, to)
    layouts = {"layout": axes_layout(of), "lto": axes_layout(to)}
    return {"type": said.word("type_src"), "to": said.word("type_dst"), "ne": short(source), **layouts, "nto": target}


def cont(said: Said) -> Row:
    """CONT of a transposed or permuted tensor, or of its last row's view."""
    ne, axes = said.sizes("ne"), said.sizes("permute")
    kind = {"type": said.word("type")}
    if said.whole("use_view_slice"):
        row, start = divmod(ne[1] - 1, ne[0])
        return {**kind, "ne": (ne[0], 1, *ne[2:]), "layout": f"of{written(ne)}at{start}x{row}x0x0"}
    if axes != NOT_PERMUTED:
        return {**kind, "ne": short(permuted(ne, axes)), "layout": axes_layout(axes)}
    return {**kind, "ne": short((ne[1], ne[0], *ne[2:])), "layout": "t"}


def concat(said: Said) -> Row:
    """CONCAT: either source may be the first part of a larger tensor."""
    ne, more, dim, views = said.sizes("ne_a"), said.whole("ne_b_d"), said.whole("dim"), said.whole("v")
    other = tuple(more if axis == dim else size for axis, size in enumerate(ne))
    first, second = (tuple(map(int.__mul__, sizes, times)) for sizes, times in ((ne, (2, 4, 3, 1)), (other, (3, 2, 4, 1))))
    layouts = {"layout": f"of{written(first)}" if views & 1 else "", "lb": f"of{written(second)}" if views & 2 else ""}
    return {"type": said.word("type"), "ne": ne, "dim": dim, "more": more, **layouts}


def get_rows(said: Said) -> Row:
    """GET_ROWS, of a whole tensor or of its rows behind the first three."""
    said.must_be(v="0", offset_cols="0")
    batch = (said.whole("be1"), said.whole("be2"))
    columns, rows = said.whole("n"), said.whole("m")
    layout = f"of{written((columns, rows + HIDDEN_ROWS, *batch))}at0x{HIDDEN_ROWS}" if said.whole("vs0") else ""
    return {"type": said.word("type"), "n": columns, "m": rows, "r": said.whole("r"), "be": batch, "layout": layout}


def set_rows(said: Said) -> Row:
    """SET_ROWS: indices may be shared between batches in both directions."""
    said.must_be(v="0")
    ne, times = said.sizes("ne"), said.sizes("nr23")
    types = {"type": said.word("type_src"), "to": said.word("type_dst"), "index": said.word("type_idx")}
    batch = (ne[2] * times[0], ne[3] * times[1])
    return {**types, "n": ne[0], "m": ne[1], "r": said.whole("r"), "be": batch, "ib": ne[2:]}


def mul_mat(said: Said) -> Row:
    """MUL_MAT."""
    said.must_be(per="[0,1,2,3]", k_v="0", o="1", src_overlap="0", m_v="0", pad="0")
    sizes = {name: said.whole(name) for name in ("m", "n", "k")}
    return {"type": said.word("type_a"), "tb": said.word("type_b"), **sizes, "bs": said.sizes("bs"), "nr": said.sizes("nr")}


def rms_norm(said: Said) -> Row:
    """RMS_NORM, of the first half in every dimension or of the whole."""
    said.must_be(type="f32")
    ne = said.sizes("ne")
    half = tuple(size // 2 for size in ne)
    view = said.whole("v")
    numbers = {"eps": said.real("eps"), "inplace": said.whole("inplace")}
    return {"ne": short(half), "layout": f"of{written(ne)}", **numbers} if view else {"ne": ne, **numbers}


def soft_max(said: Said) -> Row:
    """SOFT_MAX with its parts."""
    said.must_be(type="f32")
    ne, times, precision = said.sizes("ne"), said.sizes("nr23"), said.word("m_prec")
    numbers = {
        "scale": said.real("scale"),
        "bias": said.real("max_bias"),
        "sinks": said.whole("sinks"),
        "inplace": said.whole("inplace"),
    }
    whole = (ne[0], ne[1], ne[2] * times[0], ne[3] * times[1])
    return {"ne": whole, "mask": precision if said.whole("mask") else "", "shared": ne[2:], **numbers}


def rope(said: Said) -> Row:
    """ROPE in every mode; of the numbers that the text does not tell, those that upstream uses."""
    said.must_be(v="0", n_offs="0", ff="0", ef="0.000000")
    mode, dims = said.whole("mode"), said.whole("n_dims")
    numbers = {"context": said.whole("n_ctx"), "scale": said.real("fs"), "attn": said.real("af"), "orig": 0, "fast": 1.0}
    sections: tuple[int, ...] = ()
    if mode == VISION:
        dims //= 2
    elif mode & MROPE:
        sections = (dims // 3, dims // 3, dims // 3, 0)
    told: Row = {"type": said.word("type"), "ne": said.sizes("ne_a"), "dims": dims, "mode": mode, "sections": sections}
    return {**told, **numbers, "inplace": said.whole("inplace")}


def argsort(said: Said) -> Row:
    """ARGSORT."""
    said.must_be(type="f32")
    return {"ne": short(said.sizes("ne")), "order": said.whole("order")}


def sum_rows(said: Said) -> Row:
    """SUM_ROWS of every second matrix from the second batch on, or permuted, or both."""
    ne, kind, axes = said.sizes("ne"), said.word("type"), (0, 2, 3, 1)
    sliced, turned = said.whole("slice"), said.whole("permute")
    inner = (ne[0], ne[1], ne[2] // 2, ne[3] - 1) if sliced else ne
    layout = f"of{written(ne)}at0x0x0x1by1x1x2x1" if sliced else ""
    return {
        "type": kind,
        "ne": short(permuted(inner, axes) if turned else inner),
        "layout": layout + (axes_layout(axes) if turned else ""),
    }


def flash_attn_ext(said: Said) -> Row:
    """FLASH_ATTN_EXT; keys and values may be the first half of a larger cache."""
    said.must_be(prec="f32", permute="[0,1,2,3]", v_is_view_of_k="0", n_kv_max="0", sinks="0")
    keys, values, heads, group = said.whole("hsk"), said.whole("hsv"), said.whole("nh"), said.sizes("nr23")
    length, streams = said.whole("kv"), group[1]
    if keys != values:
        raise NoCounterpart(said.text, "keys and values have different sizes")
    cache = f"of{keys}x{2 * length}x{heads}x{streams}" if said.whole("kv_view") else ""
    kind, other = said.word("type_K"), said.word("type_V")
    types: Row = {"type": kind, "tv": "" if other == kind else other}
    sizes = {"hsk": keys, "heads": heads, "group": group[0], "streams": streams, "kv": length, "batch": said.whole("nb")}
    numbers = {"mask": said.whole("mask"), "bias": said.real("max_bias"), "cap": said.real("logit_softcap")}
    return {**types, **sizes, **numbers, "lk": cache}


READERS: Mapping[str, Callable[[Said], Row]] = {
    **dict.fromkeys(("ADD", "MUL", "SUB"), binary),
    "SCALE": scale,
    "CPY": cpy,
    "CONT": cont,
    "CONCAT": concat,
    "GET_ROWS": get_rows,
    "SET_ROWS": set_rows,
    "MUL_MAT": mul_mat,
    "RMS_NORM": rms_norm,
    "SOFT_MAX": soft_max,
    "ROPE": rope,
    "ARGSORT": argsort,
    "SUM_ROWS": sum_rows,
    "FLASH_ATTN_EXT": flash_attn_ext,
}
"""By operation, what makes the parameters of our case of those that a text says."""
