"""The cases of ``test-backend-ops`` in any of its modes: listed all at once, and cut into batches for processes of their own.

What has to be known (each seen with libggml 0.27):

* No mode lists the cases of another: ``support`` leaves some of ``test`` out, ``perf`` has its own. So the program itself lists
  them, with ``libcase-lister.so`` (``backend_impl/lister``) preloaded: it then finds every case unsupported, and prints a row for
  each, in about a second, with what the device really says in lines before the row.
* ``grad`` tells of unsupported cases on the console only.
* ``test`` asks the device about every tensor of a case and then the reference, so the first half of a case's answers is the
  device's. The other modes ask the device alone.
* Texts repeat: 244 of the 24,931 cases of ``test`` have the text of another. All with one text can only be chosen together.
* Filtering by operations is dear: every name of ``-o`` costs a second natively, and half a minute in an emulated guest, because all
  cases are built and each is matched with a regular expression made anew. Filtering by parameters (``-p``) is cheap and comes
  first. So a batch is a run of all texts of parameters in sorted order, whatever their operations: some twenty literal
  beginnings tell 500 of them from the rest; operations are named where not all that have such parameters are wanted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from lab.ops.upstream import PROGRAM, OccurrenceCounter, require_whole
from lab.ops.upstream_rows import row_reader

SUPPORTS = "supports: "
SUPPORTS_NOT = "supports: no"
SPECIAL = re.compile(r"[\[\](){}.*+?^$|\\]")
END = "$"
FEW_NAMES = 8
"""So many operations are named even where they need not be: matching them costs less than another start of the program."""
PATTERN_BYTES = 100_000
"""Linux takes 128 KiB in one word of a command line."""


class Mode(StrEnum):
    """What ``test-backend-ops`` does with its cases."""

    TEST = "test"
    PERF = "perf"
    SUPPORT = "support"
    GRAD = "grad"

    @property
    def output(self) -> str:
        """The output format that tells everything: times are in sql only, the unsupported cases of ``grad`` on the console only."""
        return {Mode.PERF: "sql", Mode.GRAD: "console"}.get(self, "csv")


@dataclass(frozen=True, slots=True)
class ListedCase:
    """A case of the program. ``supported``: what the device that it was listed for says; ``case`` is the id, as in results."""

    case: str
    op: str
    params: str
    supported: bool

    @property
    def text(self) -> str:
        """The case as the program writes it."""
        return f"{self.op}({self.params})"


@dataclass(frozen=True, slots=True)
class Listed:
    """What is to be listed: the cases of a mode, with what a device says of each."""

    mode: Mode
    device: str

    def argv(self) -> tuple[str, ...]:
        """Command that lists them when the lister is preloaded."""
        return (PROGRAM, self.mode, "-b", self.device, "--output", self.mode.output)


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases for one process: those whose parameters begin with one of ``beginnings``, of the operations (of all, if there is none).

    ``cases`` has them in the order in which the program comes to them. A beginning that ends with ``$`` is the whole text.
    """

    ops: tuple[str, ...]
    beginnings: tuple[str, ...]
    cases: tuple[ListedCase, ...]

    def arguments(self) -> tuple[str, ...]:
        """The program's options for it."""
        return ("-p", self.pattern, *(("-o", ",".join(self.ops)) if self.ops else ()))

    @property
    def pattern(self) -> str:
        """The beginnings as one regular expression."""
        return f"^({'|'.join(map(_escaped, self.beginnings))})"


def mode_argv(mode: Mode, device: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """Command that runs a mode on ``device`` and prints each row when its case has ended."""
    return ("stdbuf", "-oL", PROGRAM, mode, "-b", device, "--output", mode.output, *arguments)


def listed_cases(mode: Mode, lines: Sequence[str], status: int) -> tuple[ListedCase, ...]:
    """The cases in the output of the program with the lister preloaded, which ended with the status.

    Raises:
        LabError: it ended before its last case; behind it, it ends with 0 in every mode.
    """
    require_whole(lines, status)
    read, counter = row_reader(mode), OccurrenceCounter()
    cases, answers = [], list[bool]()
    for line in lines:
        if line.startswith(SUPPORTS):
            answers.append(not line.startswith(SUPPORTS_NOT))
        elif (row := read(line)) is not None:
            own = answers[: len(answers) // 2] if mode is Mode.TEST else answers
            cases.append(ListedCase(counter.case_id(row.text), row.op, row.params, all(own)))
            answers.clear()
    return tuple(cases)


def of_second_device(listed: Sequence[ListedCase]) -> tuple[ListedCase, ...]:
    """The cases with what the second device says, where two of one name were listed, one after the other; else all as they are."""
    half = len(listed) // 2
    first, second = listed[:half], listed[half:]
    if [one.text for one in first] != [one.text for one in second]:
        return tuple(listed)
    return tuple(replace(one, supported=other.supported) for one, other in zip(first, second, strict=True))


def chosen_cases(listed: Iterable[ListedCase], ops: Collection[str], patterns: Sequence[str]) -> tuple[ListedCase, ...]:
    """The cases of the operations whose parameters begin with one of the patterns (Python's); none of either means all."""
    expression = re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
    return tuple(one for one in listed if (not ops or one.op in ops) and expression.match(one.params))


def batches(listed: Sequence[ListedCase], wanted: Collection[str], size: int) -> tuple[Batch, ...]:
    """Disjoint batches of about ``size`` cases that have every wanted case, and none besides but those of an equal text.

    Args:
        listed: all cases of the program: a batch must leave out what is not wanted.
        wanted: ids of the cases to run.
        size: how many cases a batch may have; the operations that have one text of parameters may make it more.
    """
    having: dict[str, set[str]] = defaultdict(set)
    wanting: dict[str, set[str]] = defaultdict(set)
    for one in listed:
        having[one.params].add(one.op)
        if one.case in wanted:
            wanting[one.params].add(one.op)
    every = frozenset(op for ops in wanting.values() for op in ops)
    unnamed = every if len(every) <= FEW_NAMES else frozenset[str]()
    groups: dict[frozenset[str], list[str]] = defaultdict(list)
    for params, ops in wanting.items():
        if ops == having[params]:
            groups[unnamed].append(params)
        else:
            groups[every if ops == having[params] & every else frozenset(ops)].append(params)
    sizes = Counter(one.params for one in listed if one.op in wanting[one.params])
    return tuple(
        batch
        for ops, texts in groups.items()
        for run in _runs(sorted(texts), sizes, size)
        for batch in _cut(listed, tuple(sorted(ops)), run)
    )


def _runs(texts: Sequence[str], sizes: Mapping[str, int], size: int) -> Iterator[list[str]]:
    """The texts in runs that have about ``size`` cases each."""
    run: list[str] = []
    cases = 0
    for text in texts:
        if run and cases + sizes[text] > size:
            yield run
            run, cases = [], 0
        run.append(text)
        cases += sizes[text]
    yield run


def _cut(listed: Sequence[ListedCase], ops: tuple[str, ...], texts: Sequence[str]) -> Iterator[Batch]:
    """The cases of some texts and operations (no operation: all); two batches where a pattern would be too long for one word."""
    inside = set(texts)
    outside = {one.params for one in listed if one.params not in inside}
    cases = tuple(one for one in listed if one.params in inside and (not ops or one.op in ops))
    batch = Batch(ops, tuple(beginnings(texts, tuple(outside))), cases)
    if len(texts) > 1 and len(batch.pattern.encode()) > PATTERN_BYTES:
        half = len(texts) // 2
        yield from _cut(listed, ops, texts[:half])
        yield from _cut(listed, ops, texts[half:])
    else:
        yield batch


def beginnings(inside: Sequence[str], outside: Sequence[str]) -> Iterator[str]:
    """The shortest literal beginnings of which every text inside has one and none outside does. Texts may be of any length."""
    left = [(inside, outside, 0)]
    while left:
        within, without, length = left.pop()
        if length > len(within[0]):
            yield within[0] + END
        elif not without:
            yield within[0][:length]
        else:
            left += reversed(_split(within, without, length))


def _split(inside: Sequence[str], outside: Sequence[str], length: int) -> list[tuple[list[str], list[str], int]]:
    """Texts whose first ``length`` characters are the same, by the next one: each group inside, with what of outside is in it."""
    groups: dict[str, tuple[list[str], list[str], int]] = {}
    for text in inside:
        groups.setdefault(text[length : length + 1], ([], [], length + 1))[0].append(text)
    for text in outside:
        if text[length : length + 1] in groups:
            groups[text[length : length + 1]][1].append(text)
    return list(groups.values())


def _escaped(beginning: str) -> str:
    """Literal text for the program's regular expressions (ECMAScript's)."""
    text, end = (beginning[:-1], END) if beginning.endswith(END) else (beginning, "")
    return SPECIAL.sub(lambda match: f"\\{match[0]}", text) + end
