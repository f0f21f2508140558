"""A lie is caught only when it was told, and reported as it was said beforehand, and nothing else was."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from lab.bundle import read_bundle
from lab.bundle.outcome import Blame, CaseResult, Finding, FindingKind, Outcome
from lab.bundle.rows import Supported
from lab.bundle.schema import RunRecord, Status
from lab.bundle.writer import CheckWriter, new_bundle
from lab.deadline import Deadline, poll
from lab.errors import ConfigError
from lab.scenario import shipment as shipments
from lab.scenario.checks import catalog
from lab.scenario.checks.catalog import wished_reference
from lab.scenario.checks.lie import Seen, Witness, dying_programs, judged, tell
from lab.scenario.checks.ops import Eyes
from lab.scenario.environment import host_environment
from lab.scenario.file import load
from lab.scenario.guest_programs import FACTS, Observation
from lab.scenario.lies import LiesFile, laid_lies, lies_are_told
from lab.scenario.listener import SilentListener
from lab.scenario.model_catalog import CatalogCheck
from lab.scenario.model_checks import Caught, LieCheck
from lab.scenario.plan import Choice, planned
from lab.scenario.runner import run
from lab.scenario.shipment import Payload
from tests.scenario.fakes import SHIPMENT, FakePlatform, FakeShell, Script, payload
from tests.scenario.test_catalog_check import WRONG, FakeHost, agent, said

FLIP = "flip:op=ADD,bit=0"
SCENARIO = f"""\
name = "small"
[host]
ggml_library = "liar"
[[checks]]
kind = "lie"
lies = "{FLIP}"
judge = {{ kind = "catalog", reference = "cpu", cases = ["ADD()", "MUL()"] }}
caught = [{{ case = "ADD()", says = "other bits" }}]
"""
SAID = (f"ggml-liar: lies about ADD 'node_0': {FLIP}",)
JUDGE = CatalogCheck(kind="catalog", reference="cpu", cases=("ADD()", "MUL()"))


def lie(lies: str = FLIP, *caught: Caught) -> LieCheck:
    return LieCheck(kind="lie", lies=lies, judge=JUDGE, caught=caught)


@pytest.mark.parametrize("text", [f"{FLIP};", f"# a comment\n{FLIP} # of the first\n"])
def test_lies_are_told_apart_as_the_liar_does(text: str) -> None:
    assert lie(text, Caught(case="ADD()")).told == (FLIP,)


CHECK = lie(FLIP, Caught(case="ADD()", says="^other bits", finding=FindingKind.CASE_FAILED))


def result(case: str, outcome: Outcome, message: str = "") -> CaseResult:
    return CaseResult(case, case.partition("(")[0], "", outcome, message)


def seen(
    *, add: Outcome = Outcome.FAIL, message: str = "other bits", mul: Outcome = Outcome.PASS, said: tuple[str, ...] = SAID
) -> Seen:
    results = {"ADD()": result("ADD()", add, message), "MUL()": result("MUL()", mul)}
    finding = Finding(FindingKind.CASE_FAILED, Blame.PRODUCT, f"ADD(): {message}", "ADD()")
    return Seen(results, (finding,), said)


def wrong(check: LieCheck, evidence: Seen) -> list[str]:
    return [point.name for point in judged(check, evidence) if not point.ok]


def test_lie_that_is_reported_as_it_should_is_caught() -> None:
    assert wrong(CHECK, seen()) == []


@pytest.mark.parametrize(
    ("evidence", "names"),
    [
        (seen(add=Outcome.PASS, message=""), ["ADD()", "what is said of ADD()"]),
        (seen(add=Outcome.UNSUPPORTED), ["ADD()"]),
        (seen(add=Outcome.HANG), ["ADD()"]),
        (seen(message="golden: NMSE 2"), ["what is said of ADD()"]),
        (replace(seen(), findings=()), ["finding on ADD()"]),
        (seen(mul=Outcome.FAIL), ["all other cases"]),
        (seen(said=()), [f"lie {FLIP}"]),
        (seen(said=("ggml-liar: lies about ADD 'node_0': flip:op=ADD,bit=1",)), [f"lie {FLIP}"]),
        (
            replace(seen(), findings=(*seen().findings, Finding(FindingKind.WRONG_LIBRARY, Blame.LAB, "another library"))),
            ["findings on anything else"],
        ),
        (replace(seen(), results={}), ["ADD()", "what is said of ADD()"]),
    ],
    ids=("believed", "unsupported", "another class", "another oracle", "no finding", "beside it", "not told", "another lie",
         "another finding", "no result"),
)  # fmt: skip
def test_anything_else_is_not(evidence: Seen, names: list[str]) -> None:
    assert wrong(CHECK, evidence) == names


def test_honest_liar_must_be_believed_and_say_nothing() -> None:
    right = Seen({"ADD()": result("ADD()", Outcome.PASS)}, (), ())
    assert wrong(lie("honest"), right) == []
    assert wrong(lie("honest"), replace(right, said=SAID)) == ["lies told"]
    assert wrong(lie("honest"), replace(right, results={})) == ["all other cases"]
    assert wrong(lie("honest"), seen(said=())) == ["all other cases", "findings on anything else"]


def test_every_one_of_several_lies_has_to_be_told() -> None:
    assert wrong(lie(f"{FLIP}; deny:op=ROPE", *CHECK.caught), seen()) == ["lie deny:op=ROPE"]


def written(tmp_path: Path, evidence: Seen) -> Any:
    with new_bundle(tmp_path, "lies") as bundle:
        bundle.describe(RunRecord(run=bundle.run, name="lies", status=Status.PASSED, started=""))
        writer, witness = CheckWriter(bundle, "lies", "default", "lie"), Witness(bundle, "lies", "default", "lie")
        for one in evidence.results.values():
            witness.case(one)
        witness.finding(evidence.findings[0])
        witness.support("ADD()", "ADD", Supported.YES, Supported.NO)
        assert witness.results == list(evidence.results.values())
        tell(CHECK, tuple(judged(CHECK, evidence)), writer)
        return read_bundle(bundle.folder)


def test_what_the_tried_check_says_is_no_result_of_the_run(tmp_path: Path) -> None:
    bundle = written(tmp_path, seen())
    assert [(row.case, row.outcome) for row in bundle.cases] == [(f"LIE({FLIP})", "pass")]
    assert bundle.findings == ()


def test_lie_that_is_believed_is_the_labs_error(tmp_path: Path) -> None:
    bundle = written(tmp_path, seen(add=Outcome.PASS))
    assert [(row.case, row.outcome) for row in bundle.cases] == [(f"LIE({FLIP})", "lab error")]
    assert {(row.finding, row.blame) for row in bundle.findings} == {("lie believed", "lab")}


def test_guests_program_gets_its_signal_each_time_that_the_liar_hangs_and_never_without(tmp_path: Path) -> None:
    log, sent, observed = tmp_path / "component.log", list[str](), cast("Observation", object())
    log.write_text("ggml-liar: lies about SUB 'node_0': hang:op=SUB\n")  # of an earlier check
    guest: Any = SimpleNamespace(ssh=SimpleNamespace(execute=lambda command, _deadline: sent.append(command)))
    for number in ("SEGV", None):
        check = LieCheck(kind="lie", lies="hang:op=SUB", judge=JUDGE, guest_signal=number, caught=CHECK.caught)
        sent.clear()
        with dying_programs(check, guest, log, Eyes(lambda _pid: observed, lambda: None)) as eyes:
            assert eyes.observe(1) is observed
            for round_ in (1, 2):
                with log.open("a") as file:
                    file.write("ggml-liar: lies about ADD 'node_0': slow:op=ADD,ms=1\n")
                    file.write("ggml-liar: lies about SUB 'node_0': hang:op=SUB\n")
                if number is not None:
                    poll("the signal", lambda count=round_: len(sent) == count, Deadline.after(10))
        assert len(sent) == (2 if number else 0)
        assert all(command.startswith("kill -SEGV $(grep -l libggml-virtgpu.so /proc/") for command in sent)


def test_guests_program_does_not_die_before_it_was_looked_at(tmp_path: Path) -> None:
    log, sent = tmp_path / "component.log", list[str]()
    guest: Any = SimpleNamespace(ssh=SimpleNamespace(execute=lambda command, _deadline: sent.append(command)))
    check = LieCheck(kind="lie", lies="hang:op=SUB", judge=JUDGE, guest_signal="SEGV", caught=CHECK.caught)
    with dying_programs(check, guest, log, Eyes(lambda _pid: cast("Observation", None), lambda: None)) as eyes:
        log.write_text("ggml-liar: lies about SUB 'node_0': hang:op=SUB\n")
        time.sleep(1)  # several looks
        assert sent == []
        eyes.observe(1)
        poll("the signal", lambda: sent, Deadline.after(10))


def test_file_is_honest_but_for_the_time_of_a_lie(tmp_path: Path) -> None:
    lies = LiesFile(tmp_path / "lies")
    assert lies.variables == {"GGML_LIAR": f"@{tmp_path / 'lies'}"}
    with laid_lies(lies):
        assert lies.path.read_text() == "honest\n"
        with lies.told(FLIP):
            assert lies.path.read_text() == f"{FLIP}\n"
        assert lies.path.read_text() == "honest\n"
    assert list(tmp_path.iterdir()) == []
    with laid_lies(None):
        assert list(tmp_path.iterdir()) == []


def test_qemu_is_told_of_liar_and_wrapped_library(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    scenario = load(path)
    assert lies_are_told(scenario)
    shipped = replace(SHIPMENT, wrapped_library=payload("wrapped ggml library", "/usr/lib/libggml-cpu-fake.so"))
    variables = host_environment(scenario, shipped, Path("/logs"), advertise=False, software_vulkan=False)
    assert variables["GGML_LIAR"] == "honest"
    assert variables["GGML_LIAR_LIBRARY"] == "/usr/lib/libggml-cpu-fake.so"
    assert [one.role for one in shipped.of_worker] == ["worker", "host library", "ggml library", "wrapped ggml library"]
    roles = [one.role for one in shipped.payloads]
    assert roles == ["guest library", "component", "worker", "host library", "ggml library", "wrapped ggml library"]


def test_liar_is_shipped_with_what_it_wraps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    scenario = load(path)
    asked: list[str] = []
    refusals = ["require_registration", "require_builds", "require_interfaces", "require_libraries"]
    for one in refusals:
        monkeypatch.setattr(shipments, one, lambda *_, name=one: asked.append(name))
    monkeypatch.setattr(shipments, "has_apir", lambda _: False)
    monkeypatch.setattr(shipments, "best_cpu_library", lambda *_: tmp_path / "usr/lib/best.so")
    monkeypatch.setattr(Payload, "of", lambda role, at, inside=None: Payload(role, at, inside or str(at), "0", "id"))
    names = ("guest_library", "host_library", "component", "worker", "liar")
    native = SimpleNamespace(**{name: Path("/native") / name for name in names})
    shipped = shipments.shipment(scenario, SimpleNamespace(path=tmp_path), native, None)  # type: ignore[arg-type]
    assert asked == refusals
    assert shipped.ggml_library.path == Path("/native/liar")
    assert shipped.wrapped_library is not None
    assert (shipped.wrapped_library.role, shipped.wrapped_library.inside) == ("wrapped ggml library", "/usr/lib/best.so")


def test_lie_of_which_nothing_has_to_be_reported_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO.partition("caught")[0])
    with pytest.raises(ConfigError, match=r"checks\[0\]: tells lies, and nothing has to be reported of them"):
        load(path)
    path.write_text(SCENARIO.partition("caught")[0].replace(FLIP, "honest"))
    load(path)


def test_what_is_to_be_said_of_a_lie_must_be_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO.replace("other bits", "other bits ("))
    with pytest.raises(ConfigError, match=r"caught\[0\]\.says: 'other bits \(' is no regular expression"):
        load(path)


def test_lie_needs_the_liar(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO.replace('"liar"', '"cpu"'))
    with pytest.raises(ConfigError, match=r"line 3: host\.ggml_library: a lie needs the liar"):
        planned([path], Choice())


def ran(tmp_path: Path, *, tells: bool, digest: str = "another", text: str = SCENARIO) -> Any:
    """A run of the small scenario in a fake guest, in which the liar may say that it lies about ADD, and may do so."""
    honest = agent(lambda case: said(case, digest=digest) if case == "ADD()" and digest else said(case))

    def steps(cases: Any, command: str) -> Any:
        (logs,) = (tmp_path / "runs").glob("*/logs/default")
        if tells and (logs / "lies").read_text() == f"{FLIP}\n":
            with open(logs / "component.log", "a", encoding="utf-8") as log:
                log.write(f"{SAID[0]}\n")
        return honest(cases, command)

    path = tmp_path / "small.toml"
    path.write_text(text)
    host = FakeHost(fetched=WRONG)
    fake = FakePlatform(Script(agent=steps, host=host), tmp_path)
    return read_bundle(run(planned([path], Choice()), Choice(), tmp_path / "runs", SilentListener(), fake.platform()).folder)


def test_whole_way_of_a_lie_that_is_caught(tmp_path: Path) -> None:
    bundle = ran(tmp_path, tells=True)
    assert bundle.run.exit == 0, bundle.findings
    assert [(row.case, row.outcome) for row in bundle.cases] == [(f"LIE({FLIP})", "pass")]
    assert bundle.support == ()
    assert dict(bundle.run.boots[0].environment)["GGML_LIAR"].startswith("@")
    assert not list(bundle.folder.rglob("lies"))


@pytest.mark.parametrize(
    ("tells", "digest", "wrong"),
    [(False, "another", f"lie {FLIP}: expected was told"), (True, "", "ADD(): expected fail, seen pass")],
)
def test_whole_way_of_a_lie_that_is_not(tmp_path: Path, *, tells: bool, digest: str, wrong: str) -> None:
    bundle = ran(tmp_path, tells=tells, digest=digest)
    assert bundle.run.exit == 2
    assert any(wrong in row.text for row in bundle.findings)
    assert [row.outcome for row in bundle.cases] == ["lab error"]


@pytest.mark.parametrize(("reference", "told"), [("own", {"GGML_LIAR", "GGML_LIAR_LIBRARY"}), ("cpu", set())])
def test_liar_lies_natively_only_when_it_is_its_own_reference(reference: str, told: set[str]) -> None:
    variables = {"GGML_LIAR": "wrong:op=ADD", "GGML_LIAR_LIBRARY": "/l.so", "GGML_BACKEND_PATH": "/g.so"}
    scenario = SimpleNamespace(host=SimpleNamespace(ggml_library="liar", environment={}))
    stage: Any = SimpleNamespace(variant=SimpleNamespace(scenario=scenario), host_variables=variables)
    wish = wished_reference(stage, CatalogCheck(kind="catalog", reference=reference))
    assert set(dict(wish.environment)) == told


@pytest.mark.parametrize(
    ("library", "reference", "given", "told"),
    [
        ("cpu", "vulkan", {}, "/here.json"),
        ("vulkan", "vulkan", {"VK_DRIVER_FILES": "/named.json"}, "/named.json"),
        ("cpu", "cpu", {}, None),
        ("vulkan", "own", {"VK_DRIVER_FILES": "/named.json"}, "/named.json"),
    ],
)
def test_a_reference_by_vulkan_finds_its_device(
    monkeypatch: pytest.MonkeyPatch, library: str, reference: str, given: dict[str, str], told: str | None
) -> None:
    monkeypatch.setattr(catalog, "vulkan_here", lambda *_: {"VK_DRIVER_FILES": "/here.json"})
    scenario = SimpleNamespace(host=SimpleNamespace(ggml_library=library, environment={}))
    ingredients = SimpleNamespace(root=None)
    stage: Any = SimpleNamespace(variant=SimpleNamespace(scenario=scenario), host_variables=given, ingredients=ingredients)
    wish = wished_reference(stage, CatalogCheck(kind="catalog", reference=reference))
    assert dict(wish.environment).get("VK_DRIVER_FILES") == told


def test_program_that_is_gone_when_it_is_looked_at_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute, looks = FakeShell.execute, []

    def gone_later(self: FakeShell, command: str, deadline: Any) -> tuple[int, str]:
        looks.extend(["look"] if FACTS in command else [])
        return (1, "no such process") if FACTS in command and len(looks) > 1 else execute(self, command, deadline)

    monkeypatch.setattr(FakeShell, "execute", gone_later)
    bundle = ran(tmp_path, tells=True)
    assert bundle.run.exit == 2
    assert any("no start of the program, with its worker, lived long enough to prove" in row.text for row in bundle.findings)
