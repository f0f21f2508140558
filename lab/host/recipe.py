"""Recipes: files in ``images/`` that say which Debian packages make a host root or a guest image.

A recipe is parsed once, with all of its errors told together. Beside it lies a lock file with the version of every
package that was installed when the lock was written (``lab.host.lock``).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lab import paths
from lab.errors import BuildError, ConfigError, ConfigProblem

PackageName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+.-]+$")]
SuiteName = Annotated[str, Field(pattern=r"^[a-z]+(-[a-z]+)*$")]
ModuleName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+$")]

HINTS = {
    "extra_forbidden": "no such key here; see the other recipes in images/",
    "missing": "this key is required",
    "string_pattern_mismatch": "Debian's own spelling is expected: lower-case letters, digits, + . -",
    "literal_error": "the kind is host-root or guest",
}


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Pin(_Table):
    """An apt preference: which suite the packages (names or globs) come from."""

    packages: Annotated[tuple[str, ...], Field(min_length=1, strict=False)]
    suite: SuiteName
    priority: Annotated[int, Field(ge=-1, le=1001)] = 990


class Debian(_Table):
    """Where packages come from: the main suite, other suites beside it, and pins."""

    suite: SuiteName
    also: Annotated[tuple[SuiteName, ...], Field(strict=False)] = ()
    components: Annotated[tuple[str, ...], Field(min_length=1, strict=False)] = ("main",)
    pin: Annotated[tuple[Pin, ...], Field(strict=False)] = ()


class Kernel(_Table):
    """The guest's kernel: a package that is or depends on an image, its suite, and the modules in loading order.

    The package is fetched, not installed, so its suite need not be one that the tree is made of. The bus's modules are
    loaded first, the GPU's then beside those that the root file system and the network need.
    """

    suite: SuiteName
    package: PackageName
    root_modules: Annotated[tuple[ModuleName, ...], Field(min_length=1, strict=False)]
    gpu_modules: Annotated[tuple[ModuleName, ...], Field(min_length=1, strict=False)]
    bus_modules: Annotated[tuple[ModuleName, ...], Field(strict=False)] = ()

    @property
    def modules(self) -> tuple[str, ...]:
        """All modules."""
        return (*self.bus_modules, *self.root_modules, *self.gpu_modules)


class Unpacked(_Table):
    """A package that is unpacked, not installed: what it depends on is not asked for.

    It is for what one wants of a package that the recipe's suites have no longer, or not in this version. ``version`` is
    apt's pattern of it, as ``0.27.*``, and the newest that ``suites`` have is taken.
    """

    package: PackageName
    version: Annotated[str, Field(pattern=r"^[A-Za-z0-9.+~:*-]+$")]
    suites: Annotated[tuple[SuiteName, ...], Field(min_length=1, strict=False)]


class Recipe(_Table):
    """One recipe file. ``kernel`` is there for guests only, ``guest_kernel()`` gives it."""

    name: PackageName
    kind: Literal["host-root", "guest"]
    debian: Debian
    packages: Annotated[tuple[PackageName, ...], Field(min_length=1, strict=False)]
    exclude: Annotated[tuple[str, ...], Field(strict=False)] = ()
    unpacked: Annotated[tuple[Unpacked, ...], Field(strict=False)] = ()
    kernel: Kernel | None = None

    def guest_kernel(self) -> Kernel:
        """The kernel; ``BuildError`` where there is none."""
        if self.kernel is None:
            raise BuildError(f"the recipe {self.name} has no kernel")
        return self.kernel


@dataclass(frozen=True, slots=True)
class RecipeFile:
    """A parsed recipe and where it and its lock are."""

    path: Path
    recipe: Recipe

    @property
    def lock(self) -> Path:
        """The lock file beside the recipe."""
        return self.path.with_suffix(".lock")


def recipe_names(kind: str, folder: Path | None = None) -> tuple[str, ...]:
    """The names of all recipes of a kind, sorted."""
    found = sorted((folder or paths.IMAGES).glob("*.toml"))
    return tuple(path.stem for path in found if load_recipe(path).recipe.kind == kind)


def named_recipe(name: str, kind: str, folder: Path | None = None) -> RecipeFile:
    """The recipe ``images/<name>.toml``, which must be of the kind.

    Raises:
        ConfigError: there is none (the hint lists those there are), or it is wrong.
    """
    path = (folder or paths.IMAGES) / f"{name}.toml"
    if not path.is_file():
        there = ", ".join(recipe_names(kind, folder))
        raise ConfigError(path, [ConfigProblem("", f"there is no {kind} recipe of this name", f"there are: {there}")])
    file = load_recipe(path)
    if file.recipe.kind != kind:
        raise ConfigError(path, [ConfigProblem("kind", f"is {file.recipe.kind}, but a {kind} is wanted")])
    return file


def load_recipe(path: Path) -> RecipeFile:
    """Parse one recipe file.

    Raises:
        ConfigError: with every problem of the file, each with its key path.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(path, [ConfigProblem("", str(error))]) from error
    try:
        recipe = Recipe.model_validate(table)
    except ValidationError as error:
        problems = [
            ConfigProblem(_key_path(item["loc"]), item["msg"], HINTS.get(item["type"])) for item in error.errors(include_url=False)
        ]
        raise ConfigError(path, problems) from error
    problems = list(_contradictions(path, recipe))
    if problems:
        raise ConfigError(path, problems)
    return RecipeFile(path, recipe)


def _contradictions(path: Path, recipe: Recipe) -> list[ConfigProblem]:
    """What a single value's type cannot show."""
    suites = (recipe.debian.suite, *recipe.debian.also)
    problems = []
    if recipe.name != path.stem:
        problems.append(ConfigProblem("name", f"is {recipe.name!r}, but the file is called {path.name}"))
    if (recipe.kind == "guest") != (recipe.kernel is not None):
        problems.append(ConfigProblem("kernel", "a guest needs this table, and nothing else may have it"))
    for number, pin in enumerate(recipe.debian.pin):
        if pin.suite not in suites:
            key = f"debian.pin[{number}].suite"
            problems.append(ConfigProblem(key, f"{pin.suite} is not among the recipe's suites", "add it to debian.also"))
    if recipe.kind == "guest" and recipe.unpacked:
        problems.append(ConfigProblem("unpacked", "a guest installs its packages, nothing is unpacked into it"))
    named = (*recipe.packages, *(wanted.package for wanted in recipe.unpacked))
    doubled = sorted({name for name in named if named.count(name) > 1})
    problems.extend(ConfigProblem("packages", f"{name} is listed twice") for name in doubled)
    return problems


def _key_path(parts: tuple[int | str, ...]) -> str:
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
