"""Programs of the guest that cannot be looked at: they have died, or the guest is too busy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.bundle.outcome import Outcome
from lab.deadline import Deadline
from lab.elf import MappedFile, ProcessFacts
from lab.errors import WaitTimeout
from lab.host.driver import INSIDE
from lab.host.root import LIBRARIES
from lab.scenario.checks.state import Fact, mapped_fact, process_facts
from lab.scenario.guest_programs import ENDING_S, Observation
from tests.scenario.fakes import HEADER_LINE, QEMU_PID, SHIPMENT, TEXTS, FakePlatform, FakeShell, Script, row
from tests.scenario.small_runs import run_small, texts, variant
from tests.scenario.test_catalog_check import SCENARIO as CATALOG
from tests.scenario.test_catalog_check import FakeHost, agent

NOT_LOOKED_AT = "wrong library [lab] 3 cases have results, but the program was not looked at"


def then(script: Script, name: str) -> Callable[[], None]:
    """A step from which on the script's flag of that name is set."""
    return lambda: setattr(script, name, True)


def test_program_that_crashes_before_it_was_looked_at_is_the_products_failure(tmp_path: Path) -> None:
    script = Script(ops_status=139)
    script.ops = (then(script, "through"), HEADER_LINE)
    bundle = run_small(tmp_path, script, variants=("venus",))
    assert bundle.run.exit == 1, texts(bundle)
    assert "interrupted [product] guest crash: test-backend-ops was ended by signal 11" in texts(bundle)


NOT_OBSERVED = "wrong state [lab] processes while devices were listed: expected observed, seen not observed"


def test_listing_in_a_guest_too_busy_to_look_is_the_labs_and_its_program_is_ended(tmp_path: Path) -> None:
    script = Script(busy=True)
    bundle = run_small(tmp_path, script, variants=("venus",))
    assert (bundle.run.exit, variant(bundle).cases.ok) == (2, 3)
    assert texts(bundle).splitlines()[0] == NOT_OBSERVED
    assert script.killed == ["kill -TERM 7"]


@pytest.mark.parametrize(("status", "verdict"), [(0, 2), (139, 1)])
def test_listing_that_cannot_be_looked_at_is_the_products_where_it_has_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, verdict: int
) -> None:
    listed = FakeShell._list
    monkeypatch.setattr(FakeShell, "_list", lambda *arguments: listed(*arguments) or status)
    bundle = run_small(tmp_path, Script(through=True), variants=("venus",))
    died = "program failed [product] listing ggml's devices in the guest failed: the guest command ended with status 139"
    assert bundle.run.exit == verdict
    assert texts(bundle).startswith(died if status else NOT_OBSERVED)


@pytest.mark.parametrize(("busy", "listing_s"), [(False, 90.0), (True, 90.0), (False, 29.0)])
def test_listing_that_does_not_end_is_the_products_unless_the_guest_was_too_busy_to_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, busy: bool, listing_s: float
) -> None:
    """Where less is left of its time than a program has to end, the others have taken it."""
    monkeypatch.setattr("lab.scenario.guest_programs.LISTING_S", listing_s)
    listed, executed = FakeShell._list, FakeShell.execute

    def list_for_ever(shell: FakeShell, command: str, on_line: Callable[[str], None]) -> int:
        listed(shell, command, on_line)
        raise WaitTimeout("the guest command: listing.py", 90.0)

    def execute(shell: FakeShell, command: str, deadline: Deadline) -> tuple[int, str]:
        if busy and command.startswith("kill -TERM"):
            raise WaitTimeout(f"the guest command: {command}", 30.0)
        return executed(shell, command, deadline)

    monkeypatch.setattr(FakeShell, "_list", list_for_ever)
    monkeypatch.setattr(FakeShell, "execute", execute)
    bundle = run_small(tmp_path, Script(), variants=("venus",))
    failed = "program failed [product] listing ggml's devices in the guest failed: waited 90.0 s in vain"
    excused = busy or listing_s < ENDING_S
    assert (bundle.run.exit, texts(bundle).startswith(failed)) == ((0, False) if excused else (1, True))


@pytest.mark.parametrize(
    ("alive", "error", "finding"),
    [
        (False, FileNotFoundError(), "interrupted [lab] the guest was lost: QEMU ended with exit status -9"),
        (False, PermissionError(), "interrupted [lab] the guest was lost: QEMU ended with exit status -9"),
        (True, PermissionError("no"), "interrupted [lab] QEMU's process cannot be looked at: no"),
    ],
)
def test_qemu_that_ends_while_it_is_looked_at_is_told_as_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, alive: bool, error: OSError, finding: str
) -> None:
    looked = FakePlatform.process

    def process(platform: FakePlatform, pid: int) -> ProcessFacts:
        if pid != QEMU_PID:
            return looked(platform, pid)
        platform.script.alive = alive
        raise error

    monkeypatch.setattr(FakePlatform, "process", process)
    script = Script()
    bundle = run_small(tmp_path, script, variants=("venus",))
    assert bundle.run.exit == 2
    assert texts(bundle).startswith(finding)
    assert script.killed == ["kill -TERM 7"] * alive, "the program waits to be told to end"


def test_processes_that_nobody_looked_at_are_a_wrong_state() -> None:
    stage: Any = SimpleNamespace(listing=SimpleNamespace(observed=None))
    (fact,) = process_facts(stage)
    assert (fact.name, fact.seen, fact.ok) == ("processes while devices were listed", "not observed", False)


@pytest.mark.parametrize(
    ("own", "seen", "ok"),
    [
        ("/own", "/own", True),
        ("/own", f"/own:{LIBRARIES}", True),
        ("/own", f"/own:{INSIDE}", True),
        ("/own", f"/own:{LIBRARIES}:{INSIDE}", True),
        ("", os.fspath(LIBRARIES), True),
        ("/own", f"{LIBRARIES}:/own", False),
        ("/own", "/own:/elsewhere", False),
        ("/own", os.fspath(LIBRARIES), False),
        ("/own", None, False),
    ],
)
def test_library_path_of_qemu_may_lead_to_what_was_bound_into_its_root(own: str, seen: str | None, ok: bool) -> None:
    """Whoever enters a host root to which something of the machine is bound has the loader look there, too."""
    facts = ProcessFacts(1, "process", (), () if seen is None else (("LD_LIBRARY_PATH", seen),), ())
    variables, ingredients = {"LD_LIBRARY_PATH": own}, SimpleNamespace(shipment=SHIPMENT)
    listing = SimpleNamespace(observed=Observation(facts, facts, ()))
    stage: Any = SimpleNamespace(listing=listing, ingredients=ingredients, guest_variables=variables, host_variables=variables)
    right = {fact.name: fact.ok for fact in process_facts(stage)}
    assert right["QEMU variable LD_LIBRARY_PATH"] is ok
    assert right["guest program variable LD_LIBRARY_PATH"] is (seen == own), "nobody enters a root in the guest"


def test_library_of_each_process_is_looked_at() -> None:
    ours = SHIPMENT.host_library
    path, right = ours.inside, ours.build_id

    def seen(*mapped: tuple[str, str | None]) -> str:
        workers = tuple(ProcessFacts(pid, "apir-worker", (), (), (MappedFile(*one),)) for pid, one in enumerate(mapped))
        return mapped_fact("worker", workers, ours).seen

    assert seen((path, right), (path, right)) == right
    assert seen((path, right), (path, "wrong")) == "wrong", "of the second one"
    assert seen((path, right), (f"{path} (deleted)", "before")) == "before", "a file that was replaced meanwhile"
    assert seen((path, right), (path, None)) == f"none, of {path}"
    assert seen((path, right), (f"/elsewhere{path}", "other")) == right, "somebody else's, of the same name"
    assert seen((f"/seen/there{path}", right)) == right
    assert seen(("/other.so", right)) == "not mapped"


def test_program_in_a_guest_too_busy_to_look_is_no_hang(tmp_path: Path) -> None:
    script = Script()
    script.ops = (then(script, "busy"), HEADER_LINE, *(row(text) for text in TEXTS))
    bundle = run_small(tmp_path, script, variants=("venus",))
    assert (bundle.run.exit, variant(bundle).cases.ok) == (2, 3)
    assert NOT_LOOKED_AT in texts(bundle)
    assert len(bundle.findings) == 1


def test_program_whose_worker_is_gone_when_it_is_looked_at_proves_nothing(tmp_path: Path) -> None:
    script = Script()
    script.ops = (lambda: setattr(script, "workers", ()), HEADER_LINE, *(row(text) for text in TEXTS))
    bundle = run_small(tmp_path, script, variants=("venus",))
    assert (bundle.run.exit, variant(bundle).cases.ok) == (2, 3)
    assert NOT_LOOKED_AT in texts(bundle)
    assert "not mapped" not in texts(bundle)


def test_agent_in_a_guest_too_busy_to_look_is_no_hang(tmp_path: Path) -> None:
    script = Script(host=FakeHost())
    told = agent()

    def steps(cases: Sequence[str], command: str) -> Iterable[str | Callable[[], None]]:
        yield then(script, "busy")
        yield from told(cases, command)

    script.agent = steps
    bundle = run_small(tmp_path, script, CATALOG)
    assert {case.outcome for case in bundle.cases} == {Outcome.PASS}
    assert (
        texts(bundle)
        == "wrong library [lab] no start of the program, with its worker, lived long enough to prove which libraries computed"
    )


def test_what_only_begins_like_what_is_expected_is_wrong() -> None:
    assert [Fact("kernel", "6.12", seen).ok for seen in ("6.12", "6.12.30", "6.1", "")] == [True, False, False, False]
