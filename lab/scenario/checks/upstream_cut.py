"""What ended a process of ``test-backend-ops`` before its last case."""

from __future__ import annotations

from dataclasses import dataclass

from lab.bundle.outcome import Outcome
from lab.ops.upstream_stream import BatchStream
from lab.scenario.model_upstream import UpstreamCheck

SIGNALLED = 128
KILLED = "SIGKILL comes from the guest's kernel when memory is short"


@dataclass(frozen=True, slots=True)
class Cut:
    """What ended a process before its last case. ``outcome``: the class of the case that it was at; None if it was not to blame."""

    outcome: Outcome | None
    why: str


def cut_of(check: UpstreamCheck, stream: BatchStream, status: int, *, silent: bool) -> Cut | None:
    """What ended a process early, if something did. A status above 128 is a signal."""
    if stream.lost:
        return Cut(Outcome.HOST_CRASH, f"the device was lost: {stream.lost}")
    if silent:
        return Cut(Outcome.HANG, f"no result came for {check.case_deadline_s:.0f} s")
    if status > SIGNALLED:
        said = KILLED if status == SIGNALLED + 9 else " / ".join(stream.remarks[-3:])
        return Cut(Outcome.GUEST_CRASH, f"test-backend-ops was ended by signal {status - SIGNALLED}: {said}")
    return None
