"""How a variant ended, from what was found wrong with it."""

from __future__ import annotations

from lab.bundle.outcome import Blame, Finding, FindingKind
from lab.bundle.schema import Status
from lab.errors import GuestLost, LabError
from lab.scenario.evidence import crash_blame


class ListingFailed(LabError):
    """The guest's program that lists ggml's devices, with the library under test loaded, did not do it."""


def status_of(findings: list[Finding]) -> Status:
    """The verdict that findings make."""
    if any(finding.blame is Blame.PRODUCT for finding in findings):
        return Status.FAILED
    return Status.ERROR if findings else Status.PASSED


def finding_of(error: BaseException) -> Finding:
    """What ended a variant's checks, as a finding. What is no error of the lab's tree is a mistake of the lab's own."""
    match error:
        case ListingFailed():
            return Finding(FindingKind.PROGRAM_FAILED, Blame.PRODUCT, f"listing ggml's devices in the guest failed: {error}")
        case GuestLost():
            return Finding(FindingKind.INTERRUPTED, crash_blame(error.reason), str(error))
        case LabError():
            return Finding(FindingKind.INTERRUPTED, Blame.LAB, str(error))
        case _:
            return Finding(FindingKind.INTERRUPTED, Blame.LAB, f"{type(error).__name__}: {error}")
