"""The real platform without a machine: what a plan is booted with, settings that are refused at once, lists of cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.deadline import Deadline
from lab.errors import LabError
from lab.ggml.generation import FOLDER
from lab.host.progress import SilentProgress
from lab.host.root import Bind, HostRoot
from lab.ops.upstream import Selection
from lab.ops.upstream_cases import Listed, Mode
from lab.qemu.boot import BootSpec
from lab.qemu.command import Accel, Display, Gpu
from lab.scenario import machine
from lab.scenario.machine import boot_spec, native_cases, native_listing, payload_binds
from lab.scenario.model import Capset, Scenario
from lab.scenario.platform import BootPlan, Ingredients, ReferenceWish
from lab.scenario.shipment import Payload, ReferenceFiles
from tests.scenario.fakes import HEADER_LINE, SHIPMENT, TEXTS, payload, row

SAME = (("libggml0", "0.27.0"),)
Listing = Callable[[Any], Sequence[object]]


def ingredients(script: str) -> Any:
    def enter(_argv: Sequence[str], **_words: object) -> tuple[str, ...]:
        return ("sh", "-c", script)

    root = SimpleNamespace(enter=enter, packages=SAME)
    return SimpleNamespace(
        root=root, image=SimpleNamespace(packages=SAME), shipment=SHIPMENT, case_lister=Path("/native/libcase-lister.so")
    )


def selected(made: Any) -> Sequence[object]:
    cases = native_cases(Selection(("ADD", "MUL")), made, Deadline.after(10))
    assert cases is not None
    return cases.ids


def listed(made: Any) -> Sequence[object]:
    return native_listing(Listed(Mode.TEST, "CPU"), {}, made, Deadline.after(10)) or ()


@pytest.mark.parametrize(("listing", "supported"), [(selected, "1"), (listed, "0")])
def test_list_that_broke_off_natively_is_refused(listing: Listing, supported: str) -> None:
    error = "" if supported == "1" else "not supported"
    rows = HEADER_LINE + "".join(row(text, supported=supported, error=error, device="CPU") for text in TEXTS)
    printing = f"cat <<'END'\n{rows}END\n"
    assert len(listing(ingredients(printing))) == len(TEXTS)
    with pytest.raises(LabError, match="ended with status -9 while it listed its cases"):
        listing(ingredients(f"{printing}kill -KILL $$"))


@pytest.mark.parametrize("twice", [True, False])
def test_library_from_elsewhere_is_told_from_the_roots_device_of_the_same_name(*, twice: bool) -> None:
    def says(answer: str) -> str:
        unsupported = {"supported": "0", "error": "not supported", "device": "CPU, CPU"}
        texts = (TEXTS[0], *TEXTS)
        return "".join(f"supports: {answer}\n" * 2 + row(text, **unsupported) for text in texts)

    made = ingredients(f"cat <<'END'\n{HEADER_LINE}{says('no') if twice else ''}{says('yes')}END\n")
    made.shipment = replace(SHIPMENT, ggml_library=payload("ggml library", "/elsewhere/libggml-cpu.so"))
    cases = native_listing(Listed(Mode.TEST, "CPU"), {}, made, Deadline.after(10))
    assert cases is not None
    assert [one.case for one in cases] == [TEXTS[0], f"{TEXTS[0]}#2", *TEXTS[1:]]
    assert {one.supported for one in cases} == {True}


def scenario(more: str = "", **tables: Any) -> Scenario:
    checks = [{"kind": "state"}, *([{"kind": "bench"}] if more else [])]
    made = Scenario.model_validate({"name": "small", "checks": checks, **tables})
    if not more:
        return made
    bench = made.checks[1].model_copy(update={"host_library": more})
    return made.model_copy(update={"checks": (made.checks[0], bench)})


def plan(asked: Scenario, folder: Path, **more: Any) -> BootPlan:
    root = HostRoot(Path("/root"), "rootkey", SAME, ())
    given: Any = {"accel": "kvm", "display": "egl-headless", "render_node": Path("/dev/dri/renderD128"), "variables": (("A", "b"),)}
    made = Ingredients(root, "the image", SHIPMENT, folder / "tools")  # type: ignore[arg-type] # nothing of it is asked
    return BootPlan(asked, made, logs=folder, deadline=Deadline.after(600), **{**given, **more})


def test_machine_is_booted_as_the_scenario_and_its_plan_say(tmp_path: Path) -> None:
    guest = {"cpus": 3, "memory_mib": 777, "gpu": "blobs", "window_mib": 55}
    shaders = (("MESA_SHADER_CACHE_DIR", str(tmp_path / "shaders")),)
    planned = plan(scenario(guest=guest), tmp_path, variables=shaders)
    spec = boot_spec(planned)
    native = [Bind(Path("/native")), Bind(tmp_path / "tools"), Bind(tmp_path / "shaders", writable=True)]
    assert spec == BootSpec(
        planned.ingredients.root, planned.ingredients.image, "small", Accel.KVM, 3, 777, Gpu.BLOBS, 55, Display.EGL_HEADLESS,
        Path("/dev/dri/renderD128"), shaders, tuple(native), whole_environment=True,
    )  # fmt: skip
    server = payload("worker", "/usr/libexec/virgl_render_server")
    made = replace(planned.ingredients, shipment=replace(SHIPMENT, worker=server, built_in=True))
    assert boot_spec(replace(planned, ingredients=made)).worker == "virgl_render_server"


def test_all_that_workers_load_from_the_machine_can_be_seen_by_them(tmp_path: Path) -> None:
    files = [tmp_path / name / "x.so" for name in ("host", "component", "worker", "reference", "second")]
    host, component, worker, reference, second = (payload(path.parent.name, str(path)) for path in files)
    shipped = replace(SHIPMENT, host_library=host, component=component, worker=worker)
    shipped = replace(shipped, reference=ReferenceFiles(host, host, reference, host, Capset.APIR))
    made = replace(plan(scenario(), tmp_path).ingredients, shipment=shipped, tools=None)
    binds = payload_binds(made, scenario(str(second.path)))
    assert {bind.path for bind in binds} == {path.parent for path in files}
    assert [one.role for one in shipped.payloads][-4:] == ["host", "host", "reference", "host"], "the bundle names them, too"


@pytest.mark.parametrize(("limit_s", "most_s"), [(None, 600), (30, 30)])
def test_boot_has_no_longer_than_the_scenario_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit_s: int | None, most_s: int
) -> None:
    given: list[Deadline] = []
    monkeypatch.setattr("lab.qemu.machine.booted_guest", lambda _spec, _logs, deadline: given.append(deadline))
    machine.booted(plan(scenario(guest={"boot_deadline_s": limit_s} if limit_s else {}), tmp_path))
    assert most_s - 20 < given[0].remaining_s <= most_s


@pytest.mark.parametrize(
    ("root", "image", "same"),
    [(SAME, SAME, True), (SAME, (("libggml0", "0.28"),), False), ((), (), False), (SAME, (), False)],
)
def test_cases_are_the_guests_where_both_have_one_ggml(root: Any, image: Any, *, same: bool) -> None:
    made: Any = SimpleNamespace(root=SimpleNamespace(packages=root), image=SimpleNamespace(packages=image))
    assert machine.same_ggml(made) is same


@pytest.mark.parametrize("of_machine", [True, False])
def test_listing_finds_the_devices_that_workers_find(tmp_path: Path, *, of_machine: bool) -> None:
    entered: dict[str, Any] = {}
    made = ingredients("true")
    made.root = SimpleNamespace(packages=SAME, enter=lambda _argv, **words: entered.update(words) or ("true",))
    made.case_lister = tmp_path / "lister.so"
    library = str(tmp_path / "ggml" / "lib.so")
    made.shipment = replace(SHIPMENT, ggml_library=payload("ggml library", library)) if of_machine else SHIPMENT
    found = {"VK_DRIVER_FILES": "/d.json", "CUDA_VISIBLE_DEVICES": "1", "ROCR_VISIBLE_DEVICES": "1", "GGML_CUDA_NO_PINNED": "1"}
    found["MESA_SHADER_CACHE_DIR"] = str(tmp_path / "shaders")
    others = ("VIRGL_APIR_WORKER", "GGML_LIAR", "GGML_LIAR_LIBRARY", "GGML_REFERENCE_LIBRARY", "GGML_BACKEND_PATH")
    of_qemu = {**found, **dict.fromkeys(others, "/another")}
    assert native_listing(Listed(Mode.TEST, "CPU"), of_qemu, made, Deadline.after(10)) is None
    own = {"GGML_BACKEND_PATH": library} if of_machine else {}
    assert entered["env"] == {**found, **own, "LD_PRELOAD": str(tmp_path / "lister.so"), "HOME": "/tmp"}
    folders = [tmp_path, tmp_path / "shaders", *([tmp_path / "ggml"] if of_machine else [])]
    assert [bind.path for bind in entered["binds"]] == folders


@pytest.mark.parametrize("guest", ["builtin", "path"])
@pytest.mark.parametrize("host", ["builtin", "path"])
@pytest.mark.parametrize("library", ["/usr/lib/libggml-cpu-fake.so", "/elsewhere/lib.so"])
def test_layout_is_proved_of_libraries_of_ours_that_meet_a_ggml_which_is_not_the_roots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guest: str, host: str, library: str
) -> None:
    proved: list[str] = []
    of_machine = library.startswith("/elsewhere")
    shipped = replace(SHIPMENT, ggml_library=payload("ggml library", library)) if of_machine else SHIPMENT
    (tmp_path / "x.so").touch()
    sides = {side: str(tmp_path / "x.so") for side, what in (("guest", guest), ("host", host)) if what == "path"}
    image = SimpleNamespace(rootfs=Path("/rootfs"), release="6.12.1", name="guest-6.12")
    done = {"host_root": plan(scenario(), tmp_path).ingredients.root, "guest_image": image, "shipment": shipped}
    done |= {"native_payloads": SimpleNamespace(folder=Path("/native"))}
    for name, value in done.items():
        monkeypatch.setattr(machine, name, lambda *_, value=value, **__: value)
    for name in ("prove_payload", "prove_outside"):
        monkeypatch.setattr(machine, name, lambda *_, name=name: proved.append(name))
    monkeypatch.setattr(machine, "with_reference", lambda shipped, *_: shipped)
    made = machine.prepared(scenario(implementation=sides), SilentProgress(), Deadline.after(60))
    assert (made.shipment, made.tools) == (shipped, Path("/native"))
    assert proved == ["prove_payload"] * (guest == "builtin") + ["prove_outside"] * (host == "builtin" and of_machine)


def test_equal_wishes_share_what_was_computed_of_one_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def chosen(library: str, *_: object) -> Payload:
        asked.append(library)
        return payload("ggml library", f"/{library}.so")

    monkeypatch.setattr(machine, "ggml_library", chosen)
    references, made = machine.References(), plan(scenario(), tmp_path).ingredients
    own, other = ReferenceWish("cpu", True, 1, 2), ReferenceWish("vulkan", False, 1, 2)
    named = replace(made, shipment=replace(SHIPMENT, registration="their_init"))
    newer = replace(made, shipment=replace(SHIPMENT, ggml_library=replace(SHIPMENT.ggml_library, sha256="cd" * 32)))
    elsewhere = replace(made, root=replace(made.root, key="another"))
    first = references.of(own, made, Deadline.after(60))
    assert references.of(own, made, Deadline.after(60)) is first
    assert first not in [references.of(*one, Deadline.after(60)) for one in ((other, made), (own, newer), (own, elsewhere))]
    assert asked == ["vulkan"]
    assert (first.own.path, first.own.symbol) == ("/usr/lib/libggml-cpu-fake.so", None)
    assert machine.References().of(own, named, Deadline.after(60)).own.symbol == "their_init"


def test_mean_square_error_is_held_against_another_build() -> None:
    backends = FOLDER / "backends0"
    folder = f"/{backends}/libggml-cpu-"
    others = [machine.other_cpu_library(f"{folder}{name}.so", backends) for name in ("x64", "haswell")]
    assert others == [f"{folder}sse42.so", f"{folder}x64.so"]
