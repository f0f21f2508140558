from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.bundle import Bundle, read_bundle
from lab.bundle.outcome import CaseResult, Outcome
from lab.bundle.schema import CapabilityRecord, Status
from lab.bundle.writer import CheckWriter, new_bundle
from lab.deadline import Deadline
from lab.elf import build_id
from lab.errors import BuildError, ConfigError
from lab.host import outside, probe
from lab.host.capability import CAPABILITY_NAMES
from lab.host.driver import GpuDriver
from lab.host.native import NativePayloads
from lab.host.probe import APIR_MARKS, RENDER_SERVER, VIRGLRENDERER
from lab.host.root import HostRoot
from lab.image import GuestImage
from lab.metrics.calls import JoinedCall
from lab.scenario import load
from lab.scenario.expand import boots, expand
from lab.scenario.listener import SilentListener
from lab.scenario.machine import require_kernel
from lab.scenario.plan import Choice, planned
from lab.scenario.runner import run
from lab.scenario.section import CheckThresholds
from lab.scenario.shipment import (
    Payload,
    best_cpu_library,
    component_files,
    require_builds,
    require_interfaces,
    require_libraries,
    require_loadable,
)
from lab.scenario.source import read_source
from lab.scenario.thresholds import Measured, call_findings, check_findings, over
from tests.lacking import LACKED, lacking_library
from tests.scenario.fakes import KERNEL, SCENARIO, SHIPMENT, FakePlatform, Script

STATE = 'name = "x"\n[[checks]]\nkind = "state"\n'
ELF = Path(sys.executable).resolve()

Running = Callable[..., Bundle]


def written(folder: Path, text: str, name: str = "file.toml") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def refusal(path: Path, *settings: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(path, settings)
    return str(caught.value)


@pytest.fixture
def running(tmp_path: Path) -> Running:
    def run_script(script: Script, *settings: str, text: str = SCENARIO) -> Bundle:
        choice = Choice(settings, variants=("venus",))
        plan = planned([written(tmp_path, text, "small.toml")], choice)
        return read_bundle(run(plan, choice, tmp_path / "runs", SilentListener(), FakePlatform(script, tmp_path).platform()).folder)

    return run_script


def told(bundle: Bundle) -> str:
    return "\n".join(f"{one.finding} [{one.blame}] {one.check}: {one.text}" for one in bundle.findings)


def test_library_is_found_in_a_folder_by_its_well_known_name(tmp_path: Path) -> None:
    library = written(tmp_path, "x", "build/deep/lib/libggml-virtgpu.so.0.9")
    (library.parent / "libggml-virtgpu.so").symlink_to(library.name)
    written(tmp_path, "x", "build/libggml-virtgpu-backend.so")
    path = written(tmp_path, STATE + '[implementation]\nguest = "build"\nhost = { path = "build", build_id = "0123456789" }\n')
    chosen = load(path).implementation
    assert (chosen.guest.path, chosen.guest.build_id) == (str(library), None)
    assert chosen.host.path == str(tmp_path / "build" / "libggml-virtgpu-backend.so")
    assert chosen.component.path == "builtin"


def test_folder_with_none_or_several_libraries_is_refused(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    path = written(tmp_path, STATE + '[implementation]\nhost = "build"\n')
    assert f"line 5: implementation.host: there is no libggml-virtgpu-backend.so in the folder {tmp_path}/build" in refusal(path)
    for place in ("a", "b"):
        written(tmp_path, "x", f"build/{place}/libggml-virtgpu-backend.so")
    told = refusal(path)
    assert "implementation.host: there are several libggml-virtgpu-backend.so" in told
    assert f"{tmp_path}/build/b/libggml-virtgpu-backend.so" in told


def test_folder_that_goes_while_a_library_is_looked_for_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = written(tmp_path, "x", "build/bin/libggml-virtgpu-backend.so")
    (tmp_path / "build" / "CMakeTmp").mkdir()
    path, scandir = written(tmp_path, STATE + '[implementation]\nhost = "build"\n'), os.scandir

    def going(folder: str | Path) -> Any:
        if Path(folder).name == "CMakeTmp":
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(folder))
        return scandir(folder)

    monkeypatch.setattr("os.scandir", going)
    assert load(path).implementation.host.path == str(library)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("guest = 3", "implementation.guest: input should be a valid dictionary"),
        ('guest = { pth = "x" }', "implementation.guest.pth: unknown key (did you mean path?)"),
        ('guest = { path = "builtin", build_id = "XY" }', "implementation.guest.build_id: string should match pattern"),
        ('guest = { path = "nowhere" }', "implementation.guest: there is no file"),
    ],
)
def test_wrong_implementation_is_told(tmp_path: Path, line: str, expected: str) -> None:
    text = refusal(written(tmp_path, f"{STATE}[implementation]\n{line}\n"))
    assert expected in text or expected.replace("valid dictionary", "table") in text


def test_another_build_than_the_expected_one_is_refused_with_both_ids(tmp_path: Path) -> None:
    path = written(tmp_path, STATE + '[implementation]\nhost = { build_id = "0123456789" }\nguest = { build_id = "abcdef01" }\n')
    with open(path, "a", encoding="utf-8") as file:
        file.write('component = { build_id = "fedcba98" }\n')
    shipped = replace(SHIPMENT, host_library=replace(SHIPMENT.host_library, build_id="0123456789ab"))
    with pytest.raises(ConfigError) as caught:
        require_builds(shipped, load(path))
    text = str(caught.value)
    assert "implementation.guest.build_id: /native/libggml-virtgpu.so has build id id of guest library, not abcdef01" in text
    assert "implementation.component.build_id: " in text
    assert "implementation.host" not in text


def test_cpu_variant_that_does_not_run_here_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    root = HostRoot(Path("/root"), "key", (), ())
    monkeypatch.setattr("lab.scenario.shipment.cpu_scores", lambda *_: {"/usr/a.so": 1, "/usr/b.so": 7})
    assert best_cpu_library(root, Deadline.after(1)) == Path("/root/usr/b.so")
    monkeypatch.setattr("lab.scenario.shipment.cpu_scores", lambda *_: {"/usr/a.so": 0, "/usr/b.so": 0})
    with pytest.raises(BuildError, match="no CPU variant of ggml runs on this processor"):
        best_cpu_library(root, Deadline.after(1))


def test_a_library_that_lacks_another_is_refused_before_a_boot_with_both_names(
    root: HostRoot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "linker_cache", dict)
    monkeypatch.setattr(outside, "gpu_driver", GpuDriver)
    library = lacking_library(root, tmp_path, "libcuda.so.1")
    shipped = replace(SHIPMENT, ggml_library=Payload.of("ggml library", library))
    with pytest.raises(ConfigError) as caught:
        require_libraries(shipped, load(written(tmp_path, SCENARIO)), root)
    text = f"host.ggml_library: {library} needs libcuda.so.1, which neither the host root nor this machine has"
    assert f"{text} (the GPU's driver brings it)" in str(caught.value)
    require_libraries(SHIPMENT, load(written(tmp_path, SCENARIO)), root)


def test_a_library_for_something_else_is_refused_before_a_boot(root: HostRoot, tmp_path: Path) -> None:
    ggml, other = lacking_library(root, tmp_path), Path(sys.executable).resolve()
    check = f'[[checks]]\nkind = "bench"\nguest_library = "{other}"\nhost_library = "{other}"\n'
    named = {"guest_library": Payload.of("guest library", ggml), "host_library": Payload.of("host library", ggml)}
    with pytest.raises(ConfigError) as caught:
        require_interfaces(replace(SHIPMENT, **named), load(written(tmp_path, STATE + check)))
    host = "exports no apir_backend_initialize and no apir_backend_dispatcher"
    told = [f"{problem.key}: {problem.message} ({problem.hint})" for problem in caught.value.problems]
    assert told == [
        f"implementation.host: {ggml} {host} (a host library has them)",
        f"guest_library of a bench check: {other} exports no ggml_backend_init (a guest library has it)",
        f"host_library of a bench check: {other} {host} (a host library has them)",
    ]


def test_what_lies_beside_the_ggml_library_is_there_for_the_host_library_too(root: HostRoot, tmp_path: Path) -> None:
    (tmp_path / "host").mkdir()
    host, ggml = lacking_library(root, tmp_path / "host"), Payload.of("ggml library", lacking_library(root, tmp_path))
    named = [("host", host), ("ggml", ggml.path)]
    with pytest.raises(ConfigError) as caught:
        require_loadable(named, root, "this", ggml=ggml)
    assert [problem.key for problem in caught.value.problems] == ["host", "ggml"]
    shutil.copyfile(ELF, tmp_path / LACKED)
    require_loadable(named, root, "this", ggml=ggml)
    with pytest.raises(ConfigError):
        require_loadable(named[:1], root, "this", ggml=SHIPMENT.ggml_library)


def root_with(folder: Path, *, apir: bool) -> HostRoot:
    for place in (VIRGLRENDERER, RENDER_SERVER):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ELF, folder / place)
    if apir:
        with open(folder / VIRGLRENDERER, "ab") as file:
            file.write(APIR_MARKS[0])
    return HostRoot(folder, "key", (), ())


def native_in(folder: Path) -> NativePayloads:
    folder.mkdir()
    for name in ("libapir-preload.so", "apir-worker"):
        shutil.copyfile(ELF, folder / name)
    return NativePayloads(folder, "key", ())


@pytest.mark.parametrize(
    ("choice", "apir", "component", "built_in"),
    [
        ("auto", False, "native/libapir-preload.so", False),
        ("auto", True, f"root/{VIRGLRENDERER}", True),
        ("preload", True, "native/libapir-preload.so", False),
        ("plain", False, f"root/{VIRGLRENDERER}", True),
    ],
)
def test_virglrenderer_of_the_root_with_and_without_preload(
    tmp_path: Path, choice: str, apir: bool, component: str, built_in: bool
) -> None:  # fmt: skip
    scenario = load(written(tmp_path, f'{STATE}[host]\nvirglrenderer = "{choice}"\n'))
    chosen, _, is_built_in = component_files(scenario, root_with(tmp_path / "root", apir=apir), native_in(tmp_path / "native"))
    assert (chosen.path, is_built_in) == (tmp_path / component, built_in)


def test_virglrenderer_of_ones_own_needs_apir_and_its_soname(tmp_path: Path) -> None:
    root, native = root_with(tmp_path / "root", apir=False), native_in(tmp_path / "native")
    library = tmp_path / "own" / "lib" / "libvirglrenderer.so.1.9"
    library.parent.mkdir(parents=True)
    shutil.copyfile(ELF, library)
    scenario = load(written(tmp_path, f'{STATE}[host]\nvirglrenderer = "own"\n'))
    with pytest.raises(ConfigError, match=r"host\.virglrenderer: .* has no APIR component built in"):
        component_files(scenario, root, native)
    with open(library, "ab") as file:
        file.write(APIR_MARKS[0])
    with pytest.raises(ConfigError, match=r"has no libvirglrenderer\.so\.1, the name"):
        component_files(scenario, root, native)
    (library.parent / "libvirglrenderer.so.1").symlink_to(library.name)
    component, worker, built_in = component_files(scenario, root, native)
    assert (component.path, worker.path, built_in) == (library, root.path / RENDER_SERVER, True)
    server = tmp_path / "own" / "libexec" / "virgl_render_server"
    server.parent.mkdir()
    shutil.copyfile(ELF, server)
    assert component_files(scenario, root, native)[1].path == server
    assert build_id(server) == component.build_id


def test_component_beside_a_virglrenderer_that_nothing_is_preloaded_over_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "x", "libapir-preload.so")
    text = '[host]\nvirglrenderer = "plain"\n[implementation]\ncomponent = "libapir-preload.so"\n'
    with pytest.raises(ConfigError, match=r"host\.virglrenderer: nothing is preloaded over plain"):
        component_files(load(written(tmp_path, STATE + text)), root_with(tmp_path / "root", apir=True), native_in(tmp_path / "n"))


def test_kernel_chooses_the_image_and_is_proved(tmp_path: Path) -> None:
    scenario = load(written(tmp_path, STATE), ("guest.kernel='6.1'",))
    assert scenario.guest.image == "guest-6.1"
    image = GuestImage("guest-6.1", "key", tmp_path, tmp_path, tmp_path, "6.1.0-40-amd64", (), ())
    require_kernel(scenario, image)
    for release in ("6.12.1", "6.10"):
        with pytest.raises(ConfigError, match=rf"guest.kernel: the image guest-6.1 has kernel {release}, not 6.1"):
            require_kernel(scenario, replace(image, release=release))
    assert "there is no image 'guest-6.13' (did you mean" in refusal(written(tmp_path, STATE), "guest.kernel='6.13'")


def test_unknown_capability_is_an_error_with_the_near_name(tmp_path: Path) -> None:
    path = written(tmp_path, 'name = "x"\nrequires = ["render-nod"]\n[[checks]]\nkind = "state"\n')
    assert "line 2: requires[0]: there is no capability 'render-nod' (did you mean render-node?)" in refusal(path)


def test_capability_names_are_those_of_the_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "cached_host_root", lambda: None)
    assert tuple(one.name for one in probe.probe_all("guest-6.12")) == CAPABILITY_NAMES


@pytest.mark.parametrize("known", [True, False])
def test_variant_that_requires_what_the_host_has_not_is_skipped(running: Running, known: bool) -> None:
    kvm = CapabilityRecord(name="kvm", ok=False, probed="there is no /dev/kvm", hint="no")
    script = Script(capabilities=(kvm,) if known else ())
    bundle = running(script, text=SCENARIO.replace("timeout_s = 60", 'timeout_s = 60\nrequires = ["kvm"]'))
    assert (bundle.run.status, bundle.run.exit, script.boots) == (Status.SKIPPED, 3, 0)
    assert bundle.run.variants[0].reason.startswith("this host has no kvm: ")


def test_variants_that_require_different_things_do_not_share_a_boot(tmp_path: Path) -> None:
    named = '[[variants]]\nname = "a"\n[[variants]]\nname = "b"\nrequires = ["kvm"]\n'
    variants = expand(read_source(written(tmp_path, STATE + named)))
    assert [one.scenario.requires for one in variants] == [(), ("kvm",)]
    assert len(boots(variants)) == 2


def test_variants_with_different_second_host_libraries_do_not_share_a_boot(tmp_path: Path) -> None:
    for name in ("one.so", "other.so"):
        shutil.copy(sys.executable, tmp_path / name)
    bench = 'checks = [{ kind = "bench", host_library = "%s.so" }]'
    named = "".join(
        f'[[variants]]\nname = "{name}"\n{checks}\n'
        for name, checks in (("none", ""), ("a", bench % "one"), ("b", bench % "other"), ("c", bench % "one"))
    )
    groups = boots(expand(read_source(written(tmp_path, STATE + named))))
    assert [[one.id for one in group] for group in groups] == [["none"], ["a", "c"], ["b"]]


def test_thresholds_that_hold_find_nothing(running: Running) -> None:
    loose = ("thresholds.boot_s=10", "thresholds.wall_s=100", "thresholds.call_p99_us=100", "checks[1].thresholds.cases_per_s=0.01")
    bundle = running(Script(), *loose, "checks[1].thresholds.call_p50_us=100", "checks[1].thresholds.wall_s=90")
    assert told(bundle) == ""
    assert bundle.run.exit == 0


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("thresholds.boot_s=9", "too slow [product] thresholds: the boot took 9.5 s, at most 9 s are allowed"),
        ("thresholds.wall_s=0.000001", "too slow [product] thresholds: the variant took"),
        ("thresholds.call_p50_us=49", "too slow [product] thresholds: 50 of 100 of 5 remote calls took up to 50.0 µs, at most 49"),
        ("thresholds.call_p99_us=49", "too slow [product] thresholds: 99 of 100 of 5 remote calls took up to 50.0 µs"),
        ("checks[1].thresholds.wall_s=0.000001", "too slow [product] ops: it took"),
        ("checks[1].thresholds.cases_per_s=1000000", "too slow [product] ops: "),
        ("checks[1].thresholds.call_p99_us=49", "too slow [product] ops: 99 of 100 of 5 remote calls took up to"),
        ("checks[0].thresholds.call_p99_us=49", "no calls [lab] state: there are no remote calls to hold the thresholds against"),
    ],
)
def test_each_threshold_finds_what_is_too_slow(running: Running, setting: str, expected: str) -> None:
    bundle = running(Script(), setting)
    assert expected in told(bundle)
    assert bundle.run.exit == (2 if "[lab]" in expected else 1)


@pytest.mark.parametrize(("slow", "found"), [(1, 0), (2, 1)])
def test_percentile_is_a_duration_that_so_many_calls_do_not_exceed(slow: int, found: int) -> None:
    durations_us = [1.0] * (100 - slow) + [1000.0] * slow
    assert len(list(call_findings([call_of(one) for one in durations_us], None, 920.0))) == found


def test_percentile_of_few_calls_is_the_slowest_of_them() -> None:
    (finding,) = call_findings([call_of(one) for one in [1.0] * 9 + [1000.0]], None, 920.0)
    assert "99 of 100 of 10 remote calls took up to 1000.0 µs" in finding.text


def test_what_is_too_slow_by_little_reads_otherwise_than_its_threshold() -> None:
    (finding,) = call_findings([call_of(50.04)], 50.0, None)
    assert finding.text == "50 of 100 of 1 remote calls took up to 50.04 µs, at most 50 µs are allowed"
    assert not list(over("it took {} s", 0.1 + 0.2, 0.3, "s"))


@pytest.mark.parametrize(("least", "slow"), [(1.5, False), (1.501, True)])
def test_cases_a_second_are_those_that_were_computed(tmp_path: Path, least: float, *, slow: bool) -> None:
    with new_bundle(tmp_path, "x") as bundle:
        writer = CheckWriter(bundle, "s", "v", "ops")
        for number, outcome in enumerate((Outcome.PASS, Outcome.FAIL, Outcome.UNSUPPORTED, Outcome.HANG, Outcome.SKIPPED)):
            writer.case(CaseResult(str(number), "ADD", "", outcome))
    measured = Measured(writer, CheckThresholds(cases_per_s=least), 2.0, frozenset())
    told = [finding.text for finding in check_findings(measured, ())]
    assert told == (["1.5 cases a second, at least 1.501 are required"] if slow else [])
    writer.kept = 1
    assert not list(check_findings(measured, ())), "what was kept took none of this time"


def test_a_checks_calls_are_those_of_its_own_sessions(tmp_path: Path) -> None:
    with new_bundle(tmp_path, "x") as bundle:
        writer = CheckWriter(bundle, "s", "v", "ops")
    limits = CheckThresholds(call_p50_us=50)
    told = [list(check_findings(Measured(writer, limits, 1.0, frozenset((one,))), [call_of(99.0)])) for one in (1, 2)]
    assert [[finding.kind for finding in found] for found in told] == [["too slow"], ["no calls"]]
    assert not list(call_findings([], None, None))


def call_of(duration_us: float) -> JoinedCall:
    return JoinedCall(1, 1, None, 4, 0, "x", 1, int(1000 * duration_us), 0, None, None, 4, 0, 0)


def test_wrong_threshold_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, STATE)
    assert "--set thresholds.bot_s: unknown key (did you mean boot_s?)" in refusal(path, "thresholds.bot_s=3")
    assert "--set checks[0].thresholds.wall_s: input should be greater than 0" in refusal(path, "checks[0].thresholds.wall_s=0")


def test_kernel_of_the_fakes_is_one_that_conditions_can_read() -> None:
    assert KERNEL.startswith("6.12")


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("guest=5", "--set guest: input should be a table, not 5"),
        ("checks[0]=5", "--set checks[0]: input should be a table, not 5"),
        ("matrix.capset=[]", "--set matrix.capset: list should have at least 1 item, not 0"),
        ('checks[0]={kind="ops",ops=[1]}', "--set checks[0].ops[0]: input should be a valid string, not 1"),
    ],
)
def test_mistake_is_told_in_the_words_of_the_file_and_no_other_with_it(tmp_path: Path, setting: str, expected: str) -> None:
    path = written(tmp_path, STATE)
    assert refusal(path, setting) == f"{path}: {expected}"
