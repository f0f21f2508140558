"""What a check is given: a variant in its booted guest, with everything that was decided before."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab.scenario.expand import Variant
from lab.scenario.guest_programs import Listing
from lab.scenario.lies import LiesFile
from lab.scenario.platform import Guest, Ingredients, Platform
from lab.scenario.switches import Switches


@dataclass(frozen=True, slots=True)
class Stage:
    """One variant, ready to be checked.

    Attributes:
        host_variables: what QEMU was given.
        guest_variables: what programs under test are given.
        listing: ggml's registry in the guest, and the processes while it was listed.
        logs: the variant's own folder in the bundle.
        boot_logs: the folder that the boot's processes on the host write to.
        accel: what runs the guest.
        switches: library paths of the host that may be led elsewhere.
        lies: what the liar is told.
    """

    variant: Variant
    platform: Platform
    guest: Guest
    ingredients: Ingredients
    host_variables: dict[str, str]
    guest_variables: dict[str, str]
    listing: Listing
    logs: Path
    boot_logs: Path
    accel: str
    switches: Switches | None = None
    lies: LiesFile | None = None
