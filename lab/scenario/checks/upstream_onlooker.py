"""Who looks on while ``test-backend-ops`` runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lab.scenario.guest_programs import Observation


@dataclass(frozen=True, slots=True)
class Onlooker:
    """Who looks on.

    Attributes:
        observe: the processes of the moment at which a program has loaded its backends.
        count: so many cases have a result, of so many, so many of them a bad one.
        stream: writes down the calls made since.
    """

    observe: Callable[[int], Observation]
    count: Callable[[int, int, int], None]
    stream: Callable[[], None]
