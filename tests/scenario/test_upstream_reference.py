"""A reference on the host: the variables that lead to it, the files it is made of, and the proof that it was another device."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lab.bundle import Bundle, read_bundle
from lab.bundle.outcome import REFERENCE_REFUSES, FindingKind
from lab.bundle.schema import Status
from lab.elf import MappedFile, ProcessFacts, build_id
from lab.errors import ConfigError
from lab.ggml.generation import backends_folder
from lab.host.root import HostRoot
from lab.scenario.checks.upstream_reference import OTHER, graphs_of_reference, reference_facts, unused_reference, without_reference
from lab.scenario.environment import guest_environment, host_environment, reference_in_guest
from lab.scenario.expand import boots, expand
from lab.scenario.guest_programs import Observation
from lab.scenario.listener import SilentListener
from lab.scenario.model import Capset
from lab.scenario.plan import Choice, planned
from lab.scenario.reference_files import BUILDS, other_build
from lab.scenario.runner import run
from lab.scenario.shipment import Payload, ReferenceFiles
from lab.scenario.source import read_source
from tests.scenario.call_files import Made, write_calls
from tests.scenario.fakes import OURS, SHIPMENT, FakePlatform, Script, payload, row
from tests.scenario.fakes import REFERENCE as CPU
from tests.scenario.upstream_runs import CASES, LISTED, Program

SCENARIO = """\
name = "sweep"
timeout_s = 60

[[checks]]
kind = "upstream"
reference = "host"
batch = 20
deadline_s = 20
case_deadline_s = 10
"""
ENOUGH = len(LISTED) + 1
"""Records of a process: a graph for each case."""
FILES = ReferenceFiles(
    preload=payload("reference preload", "/native/libhost-reference.so"),
    guest_library=payload("guest library of the reference", "/native/libggml-virtgpu.so", "/run/libggml-virtgpu-reference.so"),
    library=payload("reference library", "/native/libggml-reference.so"),
    computing=payload("reference ggml library", "/root/libggml-cpu-plain.so"),
    capset=Capset.APIR,
)


def worker(pid: int, capset: Capset, *files: Payload) -> ProcessFacts:
    mapped = tuple(MappedFile(one.inside, one.build_id) for one in files)
    return ProcessFacts(pid, "/native/apir-worker", ("apir-worker", "3", str(capset.id), "1"), (), mapped)


def observation(*workers: ProcessFacts) -> Observation:
    program = worker(7, Capset.VENUS, FILES.preload, FILES.guest_library)
    return Observation(program, worker(8, Capset.VENUS), workers)


TESTED = worker(1, Capset.VENUS, *SHIPMENT.of_worker)
REFERENCE = worker(2, Capset.APIR, FILES.library, FILES.computing)


def wrong(observed: Observation) -> list[str]:
    return [fact.name for fact in reference_facts(observed, FILES, SHIPMENT.ggml_library) if not fact.ok]


def test_another_build_on_the_other_capset_is_proved() -> None:
    assert not wrong(observation(TESTED, REFERENCE))
    assert without_reference(observation(TESTED, REFERENCE), FILES).workers == (TESTED,)


def test_the_build_under_test_is_no_reference() -> None:
    same = worker(2, Capset.APIR, FILES.library, SHIPMENT.ggml_library)
    facts = [fact for fact in reference_facts(observation(TESTED, same), FILES, SHIPMENT.ggml_library) if not fact.ok]
    assert [fact.kind for fact in facts] == [FindingKind.WRONG_LIBRARY, FindingKind.WRONG_REFERENCE]
    assert facts[-1].seen == "the one under test"


def test_a_context_that_is_not_there_is_no_reference() -> None:
    assert wrong(observation(TESTED))[-1] == "what computes the reference"


def test_a_reference_that_computed_nothing_is_found(tmp_path: Path) -> None:
    assert unused_reference(tmp_path, 0) is not None
    write_calls(tmp_path / "reference-calls" / "host-1-2.calls", 1, Made(5, 10, 9), 1)
    assert graphs_of_reference(tmp_path) == 0
    write_calls(tmp_path / "reference-calls" / "host-1-3.calls", 1, Made(6, 10, 9), 4)
    assert graphs_of_reference(tmp_path) == 3
    assert unused_reference(tmp_path, 0) is None
    assert unused_reference(tmp_path, 2) is None
    assert unused_reference(tmp_path, 3) is not None


def test_variables_of_the_reference_are_for_its_capset_alone(tmp_path: Path) -> None:
    scenario = expand(read_source(written(tmp_path)))[0].scenario
    shipped = replace(SHIPMENT, reference=FILES)
    variables = host_environment(scenario, shipped, Path("/logs"), advertise=True, software_vulkan=False)
    assert variables["APIR_LLAMA_CPP_GGML_LIBRARY_PATH"] == SHIPMENT.ggml_library.inside
    assert variables["APIR_LLAMA_CPP_GGML_LIBRARY_PATH_APIR"] == "/native/libggml-reference.so"
    assert variables["GGML_REFERENCE_LIBRARY"] == "/root/libggml-cpu-plain.so"
    assert variables["VIRGL_APIR_CALL_LOG_APIR"] == "/logs/reference-calls"
    assert not [name for name in variables if name.endswith("_VENUS")]
    assert reference_in_guest(FILES) == {
        "LD_PRELOAD": "/native/libhost-reference.so",
        "GGML_VIRTGPU_REFERENCE_LIBRARY": "/run/libggml-virtgpu-reference.so",
        "GGML_VIRTGPU_REFERENCE_CAPSET": "apir",
    }


def test_without_call_records_nobody_writes_any(tmp_path: Path) -> None:
    scenario = expand(read_source(written(tmp_path, SCENARIO.replace("timeout_s", "call_records = false\ntimeout_s"))))[0].scenario
    variables = host_environment(scenario, SHIPMENT, Path("/logs"), advertise=True, software_vulkan=False)
    assert "VIRGL_APIR_CALL_LOG" not in variables
    assert "GGML_VIRTGPU_CALL_LOG" not in guest_environment(scenario, "library", "calls")


def written(folder: Path, text: str = SCENARIO) -> Path:
    path = folder / "sweep.toml"
    path.write_text(text)
    return path


def test_a_boot_with_a_reference_serves_one_capset(tmp_path: Path) -> None:
    both = '\n[matrix]\ncapset = ["venus", "apir"]\n\n[[checks]]'
    assert len(boots(expand(read_source(written(tmp_path, SCENARIO.replace("\n[[checks]]", both)))))) == 2
    guest = SCENARIO.replace('reference = "host"\n', "").replace("\n[[checks]]", both)
    assert len(boots(expand(read_source(written(tmp_path, guest))))) == 1


def test_only_a_test_compares(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='reference = "host" is for mode = "test"'):
        planned([written(tmp_path, SCENARIO.replace('reference = "host"', 'reference = "host"\nmode = "support"'))], Choice())


def a_build(root: Path, name: str, like: str) -> str:
    """A file with a build id, in the place of a build of ggml-cpu; its path inside the root."""
    inside = f"/{backends_folder(root)}/libggml-cpu-{name}.so"
    path = root / inside.removeprefix("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(like, path)
    assert build_id(path)
    return inside


def test_another_build_than_the_one_under_test_is_chosen(tmp_path: Path) -> None:
    libc, loader = "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6"
    scenario = expand(read_source(written(tmp_path)))[0].scenario
    root = HostRoot(tmp_path, "key", (), ())
    first, second = a_build(tmp_path, BUILDS[0], libc), a_build(tmp_path, BUILDS[1], loader)
    tested = Payload.of("ggml library", tmp_path / first.removeprefix("/"), first)
    assert other_build(tested, root, {first: 9, second: 5}, scenario).inside == second
    with pytest.raises(ConfigError, match="no build of ggml-cpu runs here besides"):
        other_build(tested, root, {first: 9, second: 0}, scenario)
    shutil.copy(tmp_path / first.removeprefix("/"), tmp_path / second.removeprefix("/"))
    with pytest.raises(ConfigError, match="no build of ggml-cpu runs here besides"):
        other_build(tested, root, {first: 9, second: 5}, scenario)


def test_a_sweep_ships_and_uses_the_reference(tmp_path: Path) -> None:
    bundle, _ = swept(tmp_path, FILES.computing, graphs=4)
    assert bundle.run.status is Status.PASSED, [row.text for row in bundle.findings]
    assert sorted(row.case for row in bundle.cases) == sorted(CASES)
    assert any(fact.name == "what computes the reference" and fact.seen == OTHER for fact in bundle.facts)
    reference = bundle.run.variants[0].reference
    assert reference is not None
    assert (reference.side, reference.description) == ("host", FILES.computing.inside)
    roles = {one.role for boot in bundle.run.boots for one in boot.payloads}
    assert {"reference library", "reference ggml library", "reference preload"} <= roles


def test_a_sweep_whose_reference_was_never_used_fails(tmp_path: Path) -> None:
    bundle, _ = swept(tmp_path, FILES.computing, graphs=0)
    assert [row.finding for row in bundle.findings] == [FindingKind.WRONG_REFERENCE]


ANOTHER_CHECK = SCENARIO + SCENARIO.partition("\n[[checks]]")[1] + SCENARIO.partition("\n[[checks]]")[2]
ANOTHER_VARIANT = SCENARIO + '[[variants]]\nname = "first"\n[[variants]]\nname = "second"\n'


@pytest.mark.parametrize("text", [ANOTHER_CHECK, ANOTHER_VARIANT], ids=["check", "variant"])
def test_graphs_of_an_earlier_check_of_the_boot_prove_nothing(tmp_path: Path, text: str) -> None:
    script = Script(guest_records=ENOUGH, host_records=ENOUGH)

    class Once(Program):
        def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
            script.reference_graphs = 0
            return super().__call__(command, on_line)

    bundle, _ = swept(tmp_path, FILES.computing, graphs=4, text=text, script=script, program=Once())
    assert len(bundle.run.boots) == 1
    (finding,) = bundle.findings
    assert finding.finding == FindingKind.WRONG_REFERENCE
    assert (finding.variant, finding.check) in {("default", "upstream-test 2"), ("second", "upstream-test")}


def test_a_case_that_the_hosts_reference_refuses_is_not_compared(tmp_path: Path) -> None:
    vulkan = replace(OURS, name="[virtgpu] Vulkan0")

    class Refusing(Program):
        def __call__(self, command: str, on_line: Callable[[str], None]) -> int:
            refused = row("ADD(n=1)", supported="0", error="not supported", device="[virtgpu] CPU, [virtgpu] CPU")

            def say(line: str) -> None:
                on_line(refused if line == row("ADD(n=1)") else line.replace(OURS.name, vulkan.name))

            return super().__call__(command, say)

    script = Script(devices=(CPU, vulkan), guest_records=ENOUGH, host_records=ENOUGH)
    bundle, _ = swept(tmp_path, FILES.computing, graphs=4, script=script, program=Refusing())
    assert [one.text for one in bundle.findings] == []
    assert [(one.case, one.message) for one in bundle.cases if one.outcome != "pass"] == [("ADD(n=1)", REFERENCE_REFUSES)]


@pytest.mark.parametrize("text", [ANOTHER_CHECK, ANOTHER_VARIANT], ids=["check", "variant"])
def test_each_check_of_a_boot_has_graphs_of_its_own(tmp_path: Path, text: str) -> None:
    bundle, _ = swept(tmp_path, FILES.computing, graphs=4, text=text)
    assert bundle.run.status is Status.PASSED, [row.text for row in bundle.findings]


def test_a_sweep_that_was_compared_with_itself_fails(tmp_path: Path) -> None:
    bundle, _ = swept(tmp_path, SHIPMENT.ggml_library, graphs=4)
    assert FindingKind.WRONG_REFERENCE in {row.finding for row in bundle.findings}


def test_the_reference_of_a_resumed_run_is_its_own(tmp_path: Path) -> None:
    bundle, path = swept(tmp_path, FILES.computing, graphs=4)
    assert json.loads(bundle.run.variants[0].settings)["checks"][0]["reference"] == "host"
    assert path.exists()


def swept(
    folder: Path,
    computing: Payload,
    *,
    graphs: int,
    text: str = SCENARIO,
    script: Script | None = None,
    program: Program | None = None,
) -> tuple[Bundle, Path]:
    """A whole sweep whose reference is computed by that build and has computed so many graphs."""
    path, here, script = written(folder, text), folder / "guests", script or Script(guest_records=ENOUGH, host_records=ENOUGH)
    here.mkdir()
    script.listed, script.program = LISTED, program or Program()
    script.reference, script.reference_graphs = FILES, graphs
    script.reference_worker = worker(4002, Capset.APIR, FILES.library, computing)
    outcome = run(planned([path], Choice()), Choice(), folder / "runs", SilentListener(), FakePlatform(script, here).platform())
    return read_bundle(outcome.folder), path
