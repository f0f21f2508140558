"""The native files of a boot: what is shipped into the guest, what QEMU and its workers load, and proof of each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lab import ggml
from lab.bundle.schema import PayloadRecord
from lab.deadline import Deadline
from lab.elf import NotElf, build_id, exported_symbols, sha256
from lab.errors import BuildError, ConfigError, ConfigProblem
from lab.ggml.generation import backends_folder
from lab.host.native import WORKER, NativePayloads
from lab.host.outside import absolute, outside, seen_at
from lab.host.probe import RENDER_SERVER, VIRGLRENDERER, has_apir
from lab.host.root import Bind, HostRoot
from lab.process import check
from lab.scenario.model import Build, Capset, Scenario
from lab.scenario.model_bench import BenchCheck
from lab.scenario.section import BUILTIN, LIAR, VIRGLRENDERER_WORDS

DEFAULT_REGISTRATION = "ggml_backend_init"
GUEST_FOLDER = "/run/virtgpu-lab"
GUEST_LIBRARY = f"{GUEST_FOLDER}/libggml-virtgpu.so"
REGISTRATION = re.compile(r"ggml_backend_\w+_reg")
"""How the functions are named by which a backend that is part of a program registers itself."""
SCORES_S = 60.0
WRAPPED = "cpu"
"""What the liar wraps."""
OF_DRIVERS = ("libcuda.so.1", "libnvidia-ml.so.1")
SONAME = "libvirglrenderer.so.1"
SERVER = "virgl_render_server"
SERVER_PLACES = (".", "../libexec", "../../libexec", "../server", "server")
"""Where a virglrenderer's render server is, seen from its library: installed ones and build trees."""

KEYS = {
    "guest library": "implementation.guest",
    "host library": "implementation.host",
    "component": "implementation.component (or host.virglrenderer)",
    "ggml library": "host.ggml_library",
    "second guest library": "guest_library of a bench check",
    "second host library": "host_library of a bench check",
}
"""The keys by which a scenario chooses a payload of that role."""
INTERFACES = {
    "guest library": ("ggml_backend_init",),
    "host library": ("apir_backend_initialize", "apir_backend_dispatcher"),
}
"""What ggml looks for in a guest library that it loads, and every APIR component in a host library."""


@dataclass(frozen=True, slots=True)
class Payload:
    """A native file: its role, where it is on the host, where the process that loads it sees it, and what identifies it."""

    role: str
    path: Path
    inside: str
    sha256: str
    build_id: str | None

    @classmethod
    def of(cls, role: str, path: Path, inside: str | None = None, *, named_by: str | None = None) -> Payload:
        """Identify a file, named by an option or else by a scenario's key.

        Raises:
            BuildError: it is no ELF file, and nothing else can be loaded.
        """
        try:
            return cls(role, path, inside or seen_at(path), sha256(path), build_id(path))
        except (OSError, NotElf) as error:
            reason = (isinstance(error, OSError) and error.strerror) or str(error)
            raise unusable(role, path, reason, named_by=named_by) from error

    @property
    def of_machine(self) -> bool:
        """Whether it is a file of the machine that a root sees, and none of the root's own or of the guest."""
        return self.inside == seen_at(self.path)

    @property
    def record(self) -> PayloadRecord:
        """For the bundle."""
        return PayloadRecord(role=self.role, path=str(self.path), sha256=self.sha256, build_id=self.build_id)


@dataclass(frozen=True, slots=True)
class ReferenceFiles:
    """What a device of the host's to compare with is made of.

    Attributes:
        preload: what is preloaded into test-backend-ops in the guest.
        guest_library: a copy of the guest library under another name, which the reference is reached with.
        library: the ggml library of the reference's context on the host.
        computing: the build of ggml-cpu that it wraps.
        capset: of that context; the device under test is on the other one.
    """

    preload: Payload
    guest_library: Payload
    library: Payload
    computing: Payload
    capset: Capset

    @property
    def payloads(self) -> tuple[Payload, ...]:
        """All of them."""
        return (self.preload, self.guest_library, self.library, self.computing)


@dataclass(frozen=True, slots=True)
class Shipment:
    """All native files of a boot. ``registration`` is the symbol that the ggml library registers itself by.

    ``built_in``: the host root's virglrenderer has the APIR component. It is the component then, and virglrenderer's render server
    is the worker: both are configured, nothing is preloaded. ``wrapped_library`` is there when the ggml library is the liar,
    ``reference`` when a check compares with a device of the host's.
    """

    guest_library: Payload
    host_library: Payload
    component: Payload
    worker: Payload
    ggml_library: Payload
    registration: str
    built_in: bool = False
    wrapped_library: Payload | None = None
    reference: ReferenceFiles | None = None

    @property
    def payloads(self) -> tuple[Payload, ...]:
        """All of them."""
        return (self.guest_library, self.component, *self.of_worker, *(self.reference.payloads if self.reference else ()))

    @property
    def of_worker(self) -> tuple[Payload, ...]:
        """What a worker that serves a context has mapped."""
        wrapped = () if self.wrapped_library is None else (self.wrapped_library,)
        return (self.worker, self.host_library, self.ggml_library, *wrapped)


def unusable(role: str, path: Path, reason: str, *, named_by: str | None = None) -> BuildError:
    """The error for a file that cannot be loaded, with the option or the scenario's key that names it."""
    named_by = named_by or (f"{KEYS[role]} in the scenario" if role in KEYS else None)
    return BuildError(f"the {role} {path} cannot be used: {reason}", hint=named_by and f"{named_by} names it")


def shipment(scenario: Scenario, root: HostRoot, native: NativePayloads, deadline: Deadline) -> Shipment:
    """Choose the files a scenario asks for and refuse what cannot work, before anything is booted.

    Raises:
        ConfigError: the ggml library lacks the registration symbol, or a library is another build than the scenario names.
        BuildError: a file is no ELF file.
    """
    chosen = scenario.implementation
    lying = scenario.host.ggml_library == LIAR
    library = Payload.of("ggml library", native.liar) if lying else ggml_library(scenario.host.ggml_library, root, deadline)
    wrapped = replace(ggml_library(WRAPPED, root, deadline), role="wrapped ggml library") if lying else None
    registration = scenario.host.ggml_registration or DEFAULT_REGISTRATION
    require_registration(library, registration, scenario)
    component, worker, built_in = component_files(scenario, root, native)
    shipped = Shipment(
        guest_library=Payload.of("guest library", _builtin_or(chosen.guest, native.guest_library), GUEST_LIBRARY),
        host_library=Payload.of("host library", _builtin_or(chosen.host, native.host_library)),
        component=component,
        worker=worker,
        ggml_library=library,
        registration=registration,
        built_in=built_in,
        wrapped_library=wrapped,
    )
    require_builds(shipped, scenario)
    require_interfaces(shipped, scenario)
    require_libraries(shipped, scenario, root)
    return shipped


def component_files(scenario: Scenario, root: HostRoot, native: NativePayloads) -> tuple[Payload, Payload, bool]:
    """The APIR component and its worker, and whether they are virglrenderer itself and its render server.

    Raises:
        ConfigError: the virglrenderer that is named has no APIR component, or excludes the component that is named.
    """
    chosen, own = scenario.host.virglrenderer, scenario.implementation.component
    of_root = Payload.of("component", root.path / VIRGLRENDERER, f"/{VIRGLRENDERER}")
    server = Payload.of("worker", root.path / RENDER_SERVER, f"/{RENDER_SERVER}")
    preloads = chosen == "preload" or (chosen == "auto" and not (own.path == BUILTIN and has_apir(root.path / VIRGLRENDERER)))
    if preloads:
        component = _builtin_or(own, native.component)
        beside = component.with_name(WORKER)
        return Payload.of("component", component), Payload.of("worker", beside if beside.exists() else native.worker), False
    if own.path != BUILTIN:
        text = f"nothing is preloaded over {chosen}, so implementation.component has no effect"
        raise ConfigError(f"scenario {scenario.name}", [ConfigProblem("host.virglrenderer", text, "name only one of both")])
    if chosen in VIRGLRENDERER_WORDS:
        return of_root, server, True
    library = named_virglrenderer(Path(chosen), scenario)
    folders = [library.parent / place for place in SERVER_PLACES]
    found = next((folder / SERVER for folder in folders if (folder / SERVER).is_file()), None)
    return Payload.of("component", library), Payload.of("worker", found.resolve()) if found else server, True


def named_virglrenderer(path: Path, scenario: Scenario) -> Path:
    """A virglrenderer that QEMU can load in the place of the root's, with APIR in it. Raises ``ConfigError``."""
    problem = None
    if not has_apir(path):
        problem = f"{path} has no APIR component built in"
    elif not (path.parent / SONAME).exists():
        problem = f"{path.parent} has no {SONAME}, the name by which QEMU looks for it"
    if problem is not None:
        hint = "a virglrenderer built with it, or preload for our own component over the host root's"
        raise ConfigError(f"scenario {scenario.name}", [ConfigProblem("host.virglrenderer", problem, hint)])
    return path


def require_builds(shipped: Shipment, scenario: Scenario) -> None:
    """Libraries must be the builds that the scenario names. Raises ``ConfigError`` with all that are not."""
    sides = scenario.implementation
    expected = (
        ("guest", sides.guest, shipped.guest_library),
        ("host", sides.host, shipped.host_library),
        ("component", sides.component, shipped.component),
    )
    problems = [
        ConfigProblem(
            f"implementation.{side}.build_id",
            f"{payload.path} has build id {payload.build_id or 'none'}, not {build.build_id}",
            "build it anew, or name the build id that it has",
        )
        for side, build, payload in expected
        if build.build_id is not None and not (payload.build_id or "").startswith(build.build_id)
    ]
    if problems:
        raise ConfigError(f"scenario {scenario.name}", problems)


def require_interfaces(shipped: Shipment, scenario: Scenario) -> None:
    """Libraries, a second one of a bench check as well, must export what whoever loads them looks for.

    Raises:
        ConfigError: with all that do not.
        BuildError: one is half a file.
    """
    named = [("guest library", shipped.guest_library.path), ("host library", shipped.host_library.path)]
    for one in scenario.checks:
        if isinstance(one, BenchCheck):
            seconds = (("second guest library", one.guest_library), ("second host library", one.host_library))
            named += [(role, Path(path)) for role, path in seconds if path]
    problems = []
    for role, path in dict.fromkeys(named):
        try:
            symbols = exported_symbols(path)
        except NotElf as error:
            raise unusable(role, path, str(error)) from error
        lacking = [name for name in INTERFACES[role.removeprefix("second ")] if name not in symbols]
        if lacking:
            hint = f"a {role.removeprefix('second ')} has {'it' if len(lacking) == 1 else 'them'}"
            problems.append(ConfigProblem(KEYS[role], f"{path} exports no {' and no '.join(lacking)}", hint))
    if problems:
        raise ConfigError(f"scenario {scenario.name}", problems)


def require_libraries(shipped: Shipment, scenario: Scenario, root: HostRoot) -> None:
    """What QEMU and its workers load must have all that it needs. Raises ``ConfigError`` with all that is missing."""
    loaded = (payload for payload in (shipped.component, *shipped.of_worker) if payload.of_machine)
    seconds = {Path(check.host_library) for check in scenario.checks if isinstance(check, BenchCheck) and check.host_library}
    named = [(KEYS.get(payload.role, KEYS["component"]), payload.path) for payload in loaded]
    named += [(KEYS["second host library"], path) for path in sorted(seconds)]
    require_loadable(named, root, f"scenario {scenario.name}", ggml=shipped.ggml_library)


def require_loadable(named: Iterable[tuple[str, Path]], root: HostRoot, asked: str, *, ggml: Payload) -> None:
    """Files of the machine must have, each by itself or by another of them, all that they need to be loaded in a root.

    Args:
        named: each file behind the key or option that names it.
        root: what they are loaded in.
        asked: the scenario or command that they are for.
        ggml: the ggml library beside them, which brings the ggml that it was built with if it is of the machine.

    Raises:
        ConfigError: with all that is missing.
    """
    named = tuple(named)
    together = outside([path for _, path in named], root, ggml=ggml.path if ggml.of_machine else None)
    problems = [
        ConfigProblem(
            key,
            f"{needed_by} needs {name}, which neither the host root nor this machine has",
            "the GPU's driver brings it" if name in OF_DRIVERS else "install it, or name its folder in LD_LIBRARY_PATH",
        )
        for key, path in named
        for needed_by, name in outside([path], root).missing
        if (needed_by, name) in together.missing
    ]
    if problems:
        raise ConfigError(asked, problems)


def ggml_library(choice: str, root: HostRoot, deadline: Deadline, *, named_by: str | None = None) -> Payload:
    """``cpu`` and ``vulkan`` are the host root's own libraries, anything else is a path on the host.

    Raises:
        BuildError: that file is no ELF file. ``named_by`` is the option that names it, if it is no scenario's key.
    """
    match choice:
        case "cpu":
            found = best_cpu_library(root, deadline)
        case "vulkan":
            found = root.path / backends_folder(root.path) / "libggml-vulkan.so"
        case _:
            return Payload.of("ggml library", absolute(choice), named_by=named_by)
    return Payload.of("ggml library", found, f"/{found.relative_to(root.path)}")


def best_cpu_library(root: HostRoot, deadline: Deadline) -> Path:
    """The CPU variant with the highest score of its own on this processor, as ggml's registry chooses."""
    scores = cpu_scores(root, deadline)
    best = max(scores, key=lambda variant: scores[variant], default=None)
    if best is None or scores[best] == 0:
        raise BuildError("no CPU variant of ggml runs on this processor", output=json.dumps(scores))
    return root.path / best.removeprefix("/")


def cpu_scores(root: HostRoot, deadline: Deadline) -> dict[str, int]:
    """How well each CPU variant says that it fits this processor, by its path in the root; 0: it does not run."""
    variants = sorted((root.path / backends_folder(root.path)).glob("libggml-cpu*.so"))
    script = Path(next(iter(ggml.__path__))) / "listing.py"
    inside = [f"/{variant.relative_to(root.path)}" for variant in variants]
    argv = root.enter(("/usr/bin/python3", script, "scores", *inside), binds=(Bind(script),))
    output = check(argv, what="asking ggml's CPU variants for their score", deadline=deadline.narrowed(SCORES_S))
    scores: dict[str, int] = json.loads(output.splitlines()[-1])["scores"]
    return scores


def require_registration(library: Payload, symbol: str, scenario: Scenario) -> None:
    """The library must export the symbol. Raises ``ConfigError`` naming those that it has, and ``BuildError`` for half a file."""
    try:
        symbols = exported_symbols(library.path)
    except NotElf as error:
        raise unusable(library.role, library.path, str(error)) from error
    if symbol in symbols:
        return
    similar = sorted(name for name in symbols if name == DEFAULT_REGISTRATION or REGISTRATION.fullmatch(name))
    key = "host.ggml_registration" if scenario.host.ggml_registration else "host.ggml_library"
    text = f"{library.path} has no registration symbol {symbol}"
    hint = (
        f"host.ggml_registration names it; it exports {', '.join(similar)}"
        if similar
        else "it exports nothing that registers a ggml backend"
    )
    raise ConfigError(f"scenario {scenario.name}", [ConfigProblem(key, text, hint)])


def records(payloads: Sequence[Payload]) -> tuple[PayloadRecord, ...]:
    """For the bundle."""
    return tuple(payload.record for payload in payloads)


def _builtin_or(choice: Build, builtin: Path) -> Path:
    return builtin if choice.path == BUILTIN else Path(choice.path)
