"""How a case can end, and what a run can find besides: the words every report of the lab uses."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """The end of one case."""

    PASS = "pass"  # noqa: S105 - a word, no secret
    FAIL = "fail"
    UNSUPPORTED = "unsupported"
    GUEST_CRASH = "guest crash"
    HOST_CRASH = "host crash"
    HANG = "hang"
    ERROR = "lab error"
    SKIPPED = "skipped"

    @property
    def blame(self) -> Blame | None:
        """Who has to look at it: nobody, the product's people, or the lab's."""
        match self:
            case Outcome.PASS | Outcome.UNSUPPORTED | Outcome.SKIPPED:
                return None
            case Outcome.ERROR:
                return Blame.LAB
            case _:
                return Blame.PRODUCT

    @property
    def column(self) -> str:
        """Which of the counters of ``lab run --json`` it adds to."""
        match self:
            case Outcome.PASS:
                return "ok"
            case Outcome.UNSUPPORTED:
                return "unsupported"
            case Outcome.FAIL:
                return "fail"
            case Outcome.SKIPPED:
                return "skipped"
            case _:
                return "error"


class Blame(StrEnum):
    """What a finding is about: the product under test, or the lab and its configuration."""

    PRODUCT = "product"
    LAB = "lab"


class FindingKind(StrEnum):
    """What can be wrong with a run besides a failed case. A pass means that something ran: most of these say it did not."""

    NO_CASES = "no cases"
    TOO_FEW_CASES = "too few cases"
    ALL_UNSUPPORTED = "all unsupported"
    OP_WITHOUT_CASES = "op without cases"
    MISSING_CASE = "missing case"
    SURPLUS_CASE = "surplus case"
    NO_SUCH_DEVICE = "no such device"
    WRONG_REFERENCE = "wrong reference"
    WRONG_LIBRARY = "wrong library"
    WRONG_STATE = "wrong state"
    CASE_FAILED = "case failed"
    INTERRUPTED = "interrupted"
    NOT_STARTED = "not started"
    PROGRAM_FAILED = "program failed"
    CALLS_DIFFER = "calls differ"
    NO_CALLS = "no calls"
    FAULT_MISHANDLED = "fault mishandled"
    WORKER_LOST = "worker lost"
    LOST_SUPPORT = "lost support"
    MEMORY_GROWTH = "memory growth"
    CLAIMED_SUPPORT = "claimed support"
    LIE_BELIEVED = "lie believed"
    WRONG_DATA_PATH = "wrong data path"
    WRONG_COMMAND_PATH = "wrong command path"
    WRONG_CAPSET = "wrong capset"
    TOO_SLOW = "too slow"
    UNEXPECTED_PASS = "unexpected pass"  # noqa: S105 - a word, no secret
    TOO_FLAKY = "too flaky"
    UNUSED_EXPECTATION = "unused expectation"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong that a run found: what, whose it is, a sentence, and the case that shows it."""

    kind: FindingKind
    blame: Blame
    text: str
    case: str | None = None


REFERENCE_REFUSES = "the reference alone refuses it: there is nothing to compare with"
"""Message of an unsupported case that the device under test does not refuse."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One judged case.

    Attributes:
        case: its id: text, and ``#n`` for the n-th of several with the same text.
        op: ggml's name of the operation.
        params: its parameters as the program that ran it writes them.
        outcome: how it ended.
        message: what was said about it; empty for most passes.
        since_previous_ms: time between the result before this one (or the start) and this.
        digest: of every bit of what it computed; empty where that is not known.
    """

    case: str
    op: str
    params: str
    outcome: Outcome
    message: str = ""
    since_previous_ms: float = 0.0
    digest: str = ""

    @property
    def refused(self) -> bool:
        """Whether the device under test refuses it."""
        return self.outcome is Outcome.UNSUPPORTED and self.message != REFERENCE_REFUSES
