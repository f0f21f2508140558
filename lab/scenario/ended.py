"""How a variant ended, from what was found wrong with it."""

from __future__ import annotations

from dataclasses import replace

from lab.bundle.outcome import Blame, Finding, FindingKind
from lab.bundle.schema import Status
from lab.errors import GuestLost, LabError, WaitTimeout
from lab.scenario.evidence import crash_blame
from lab.scenario.model import Scenario
from lab.scenario.platform import BootPlan


class ListingFailed(LabError):
    """The guest's program that lists ggml's devices, with the library under test loaded, did not do it."""


def status_of(findings: list[Finding]) -> Status:
    """The verdict that findings make."""
    if any(finding.blame is Blame.PRODUCT for finding in findings):
        return Status.FAILED
    return Status.ERROR if findings else Status.PASSED


def finding_of(error: BaseException, accel: str) -> Finding:
    """What ended a boot or a variant's checks, as a finding. What is no error of the lab's tree is a mistake of the lab's own."""
    match error:
        case ListingFailed():
            return Finding(FindingKind.PROGRAM_FAILED, Blame.PRODUCT, f"listing ggml's devices in the guest failed: {error}")
        case GuestLost():
            return Finding(FindingKind.INTERRUPTED, crash_blame(error.reason, accel), str(error))
        case LabError():
            return Finding(FindingKind.INTERRUPTED, Blame.LAB, str(error))
        case _:
            return Finding(FindingKind.INTERRUPTED, Blame.LAB, f"{type(error).__name__}: {error}")


def checks_ended(error: BaseException, plan: BootPlan) -> Finding:
    """What ended a variant's checks. Whatever was awaited when the time of its boot was over, that is what ended them."""
    finding = finding_of(error, plan.accel)
    awaited = error.__cause__ if isinstance(error, ListingFailed) else error
    if not isinstance(awaited, WaitTimeout) or not plan.deadline.expired:
        return finding
    text = f"{time_over(plan.scenario)}: {finding.text}"
    return replace(finding, kind=FindingKind.INTERRUPTED, blame=Blame.LAB, text=text)


def time_over(scenario: Scenario) -> str:
    """What is said when the time of a boot was over, which is neither a hang of the product nor the end of a check's own time."""
    return f"the scenario's timeout_s ({scenario.timeout_s:g} s for one boot and all that is checked in it) was over"
