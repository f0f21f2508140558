"""What a variant chooses and cannot have, which no single key shows.

Words in variables of our guest library that it does not know: it passes over them, and takes its default. Lies that the liar does
not know: it registers no device, which a booted guest finds out. Checks whose program or library is not there.
"""

from __future__ import annotations

from collections.abc import Iterator

from lab.apir.protocol_gen import Extension
from lab.errors import ConfigProblem
from lab.host.recipe import named_recipe, recipe_names
from lab.scenario.environment import DATA_PATH, EXTENSIONS, GUEST_LOG, LIES, RING, WRITE_BEHIND
from lab.scenario.lie_forms import mistakes
from lab.scenario.model import Scenario
from lab.scenario.model_checks import LieCheck
from lab.scenario.model_llama import LlamaCheck
from lab.scenario.problem import meant
from lab.scenario.section import BUILTIN, LIAR

WHOLE = ("all", "none")
"""What is chosen of extensions in the place of names."""
GUEST, LLAMA_PACKAGES = "guest", "llama.cpp"
"""A kind of recipe, and how the names of Debian's packages with llama.cpp's programs begin."""
GUEST_CHOICES = {
    EXTENSIONS: (*WHOLE, *(name.lower() for name in Extension.__members__)),
    RING: ("auto", "off"),
    DATA_PATH: ("auto", "shared", "copied"),
    WRITE_BEHIND: ("auto", "on", "off"),
    GUEST_LOG: ("error", "warn", "info", "debug"),
}
"""The guest library's variables that take words, with those that it knows (guest/config.cpp)."""


def mistaken_choices(scenario: Scenario) -> Iterator[ConfigProblem]:
    """All of it."""
    yield from unknown_words(scenario)
    yield from unknown_lies(scenario)
    yield from lacking(scenario)


def lacking(scenario: Scenario) -> Iterator[ConfigProblem]:
    """What a kind of check needs of the host or the guest, and the variant has not."""
    kinds = {type(check) for check in scenario.checks}
    if LieCheck in kinds and scenario.host.ggml_library != LIAR:
        yield ConfigProblem("host.ggml_library", "a lie needs the liar", f'say ggml_library = "{LIAR}"')
    if LlamaCheck in kinds and not has_llama(scenario.guest.image):
        text = f"{scenario.guest.image} has no llama.cpp, which a check of kind llama needs"
        have = ", ".join(filter(has_llama, recipe_names(GUEST)))
        yield ConfigProblem("guest.image", text, f"images with it: {have}")


def has_llama(image: str) -> bool:
    """Whether the image is made with llama.cpp, by the name of its recipe."""
    return any(name.startswith(LLAMA_PACKAGES) for name in named_recipe(image, GUEST).recipe.packages)


def unknown_lies(scenario: Scenario) -> Iterator[ConfigProblem]:
    """What the liar is told wrongly, by a check or by its variable; a file that the variable names is not read."""
    for number, check in enumerate(scenario.checks):
        if isinstance(check, LieCheck):
            yield from mistakes(f"checks[{number}].lies", check.lies)
    told = scenario.host.environment.get(LIES)
    if scenario.host.ggml_library == LIAR and isinstance(told, str) and not told.startswith("@"):
        yield from mistakes(f"host.environment.{LIES}", told)


def unknown_words(scenario: Scenario) -> Iterator[ConfigProblem]:
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
