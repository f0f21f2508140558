"""A variant and the guest that it runs in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab.bundle.writer import BundleWriter
from lab.scenario.boots_at_once import RunningGuests
from lab.scenario.expand import Variant
from lab.scenario.listener import RunListener
from lab.scenario.platform import BootPlan, Guest, Platform
from lab.scenario.resume import EarlierRun
from lab.scenario.shipment import GUEST_FOLDER


@dataclass(frozen=True, slots=True)
class BootedVariant:
    """A variant, the guest it runs in, and where what it does is written down.

    ``boot_s`` and ``started`` are the boot's for the first variant of a boot; the others had none of their own.
    """

    variant: Variant
    guest: Guest
    plan: BootPlan
    platform: Platform
    bundle: BundleWriter
    listener: RunListener
    logs: Path
    boot: int
    boot_s: float
    started: float
    earlier: EarlierRun | None = None
    guests: RunningGuests | None = None

    @property
    def place(self) -> tuple[str, str]:
        """Scenario and variant."""
        return self.variant.scenario.name, self.variant.id

    @property
    def guest_calls(self) -> str:
        """The guest's folder for call records of this variant."""
        return f"{GUEST_FOLDER}/calls/{self.variant.id}"

    @property
    def broken_calls(self) -> str:
        """The guest's folder for call records of the checks that break something; no variant's id has a plus sign."""
        return f"{self.guest_calls}+broken"
