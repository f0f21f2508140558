"""Words in variables of our guest library that it does not know: it passes over them, and takes its default."""

from __future__ import annotations

from collections.abc import Iterator

from lab.apir.protocol_gen import Extension
from lab.errors import ConfigProblem
from lab.scenario.environment import DATA_PATH, EXTENSIONS, GUEST_LOG, RING, WRITE_BEHIND
from lab.scenario.model import Scenario
from lab.scenario.problem import meant
from lab.scenario.section import BUILTIN

WHOLE = ("all", "none")
"""What is chosen of extensions in the place of names."""
GUEST_CHOICES = {
    EXTENSIONS: (*WHOLE, *(name.lower() for name in Extension.__members__)),
    RING: ("auto", "off"),
    DATA_PATH: ("auto", "shared", "copied"),
    WRITE_BEHIND: ("auto", "on", "off"),
    GUEST_LOG: ("error", "warn", "info", "debug"),
}
"""The guest library's variables that take words, with those that it knows (guest/config.cpp)."""


def unknown_choices(scenario: Scenario) -> Iterator[ConfigProblem]:
    """What such a word is told as; nothing for a guest library of somebody else, which may know others."""
    if scenario.implementation.guest.path != BUILTIN:
        return
    for variable, known in GUEST_CHOICES.items():
        chosen = scenario.guest.environment.get(variable)
        if not isinstance(chosen, str) or chosen == "" or chosen in known:
            continue
        words = [word.removeprefix("-") for word in chosen.split(",")] if variable == EXTENSIONS else [chosen]
        names = [word for word in known if word not in WHOLE]
        for unknown in (word for word in words if word not in names):
            hint = meant(unknown, known if words == [chosen] else names)
            yield ConfigProblem(f"guest.environment.{variable}", f"knows no {unknown!r}", hint)
