"""What the model-like graph said, whoever computed it: digests over all logits of all tokens of a measurement.

Figures of one that computes something else are of no worth beside ours. A digest hangs on how many tokens a measurement has, on the
bits that ggml's build gives, and on which ops the scheduler leaves to the processor that asks. So ours with every extension are the
same, and a second guest library's are the same as ours where they have the same host library behind them and the graph is cut in as
many pieces. Natively another build of ggml computes, and in a loopback other numbers of tokens: these are the same each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.bench.figures import TOKENS, Rows
from lab.bench.standard import ALL, LOOPBACK, NATIVE, OTHER, PATHS, token_subject
from lab.bundle.outcome import Blame, Finding, FindingKind
from lab.bundle.writer import CheckWriter

LABEL = "results of the model-like graph"


@dataclass(frozen=True, slots=True)
class Results:
    """Digests that are to be one and the same. ``told``: how the finding begins; ``enforced``: whether there is to be one."""

    label: str
    told: str
    digests: frozenset[str]
    blame: Blame = Blame.PRODUCT
    enforced: bool = True

    @property
    def same(self) -> bool:
        """Whether they are."""
        return len(self.digests) == 1


def tell_digests(rows: Rows, tokens: Sequence[Mapping[str, Any]], writer: CheckWriter, *, same_host: bool) -> int:
    """Write down a fact for everything that was compared, and a finding for what differs; how many facts there are.

    Args:
        rows: everything that was measured.
        tokens: what a token costs, as the record has it.
        writer: gets facts and findings.
        same_host: the second implementation, where there is one, has our host library.
    """
    found = [one for one in (*over_extensions(tokens), *each_time(rows), *beside_ours(rows, same_host=same_host)) if one.digests]
    for one in found:
        seen = "the same" if one.same else f"{len(one.digests)} different"
        writer.fact(one.label, "the same", seen, ok=one.same, enforced=one.enforced)
        if one.enforced and not one.same:
            text = f"{one.told}: {', '.join(sorted(one.digests))}"
            writer.finding(Finding(FindingKind.CASE_FAILED, one.blame, text))
    return len(found)


def over_extensions(tokens: Sequence[Mapping[str, Any]]) -> Iterator[Results]:
    """Ours, with every configuration of extensions."""
    for path in PATHS:
        digests = frozenset(digest for one in tokens if one["path"] == path for digest in one["digests"])
        told = f"the model-like graph says different things with different extensions ({path})"
        yield Results(f"{LABEL} over all extensions, {path}", told, digests)


def each_time(rows: Rows) -> Iterator[Results]:
    """Those that are compared with themselves."""
    for subject in (f"{LOOPBACK}/copied", NATIVE, *(token_subject(path, OTHER) for path in PATHS)):
        told = f"{subject}: the model-like graph says different things each time that it is computed"
        blame = Blame.LAB if subject == NATIVE else Blame.PRODUCT
        yield Results(f"{LABEL}, {subject}", told, digests_of(rows, subject), blame)


def beside_ours(rows: Rows, *, same_host: bool) -> Iterator[Results]:
    """The second implementation's, and ours."""
    for path in PATHS:
        ours, theirs = token_subject(path, ALL), token_subject(path, OTHER)
        if digests_of(rows, ours) and digests_of(rows, theirs):
            digests = digests_of(rows, ours) | digests_of(rows, theirs)
            told = f"the model-like graph says other things with the second guest library than with ours ({path})"
            enforced = same_host and pieces_of(rows, ours) == pieces_of(rows, theirs)
            yield Results(f"{LABEL} by both implementations, {path}", told, digests, enforced=enforced)


def digests_of(rows: Rows, subject: str) -> frozenset[str]:
    """Of all repetitions where tokens are timed."""
    return frozenset(str(row["digest"]) for name in TOKENS for row in rows.of(subject, name))


def pieces_of(rows: Rows, subject: str) -> frozenset[object]:
    """In how many pieces the scheduler cuts its graph: more than one where the device does not compute all of it."""
    return frozenset(row.get("splits") for name in TOKENS for row in rows.of(subject, name))
