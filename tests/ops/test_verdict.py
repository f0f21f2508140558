from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from lab.bundle.outcome import FindingKind, Outcome
from lab.deadline import Deadline
from lab.errors import LabError
from lab.ggml.registry import Device
from lab.ops.agent_rows import LOST, AgentRow
from lab.ops.native import Files, Judged
from lab.ops.session import MAX_FETCHED, Fetched, Library, NativeHost, Reference, fetched_where_bits_differ
from lab.ops.session import evidence as all_evidence
from lab.ops.verdict import EXCUSES, Evidence, findings, refused_reference, results, settled, to_fetch, truth_table

CASE = "ADD(type=f16)"
GOOD = Judged(True, "NMSE 0", True, "NMSE 0")
WRONG_GOLDEN = Judged(True, "NMSE 0", False, "NMSE 0.5, first at [3, 0, 0, 0]")
WRONG_ERROR = Judged(False, "NMSE 0.5", None, "no definition")


NO_ORACLE = Judged(None, "", None, "no definition")


def row(outcome: str = "computed", digest: str = "aa", case: str = CASE) -> AgentRow:
    return AgentRow(case, outcome, digest if outcome == "computed" else "", text="it said so")


def evidence(native: AgentRow, remote: AgentRow, judged: Judged | None = GOOD, fetched: Judged | None = None) -> Evidence:
    known, got = ({native.case: one} if one else {} for one in (judged, fetched))
    return Evidence("CPU", {native.case: native}, {remote.case: remote}, known, got)


def verdict(given: Evidence) -> tuple[Outcome, str]:
    (result,) = results(tuple(given.remote), given)
    return result.outcome, result.message


def test_same_bits_that_both_oracles_accept_pass() -> None:
    assert verdict(evidence(row(), row())) == (Outcome.PASS, "")


def test_other_bits_fail_although_they_are_close_enough() -> None:
    outcome, message = verdict(evidence(row(), row(digest="bb"), WRONG_GOLDEN, fetched=GOOD))
    assert outcome is Outcome.FAIL
    assert message == "other bits than the host library's own (bb for aa)"
    assert "; golden: NMSE 0.5" in verdict(evidence(row(), row(digest="bb"), fetched=WRONG_GOLDEN))[1]


def test_verdict_waits_for_results_with_other_bits_alone() -> None:
    assert settled(row(), row())
    assert settled(row("unsupported"), None)
    assert not settled(row(), row(digest="bb"))
    assert not settled(row(), None)


@pytest.mark.parametrize("said", [WRONG_GOLDEN, WRONG_ERROR], ids=["golden", "error"])
def test_same_bits_fail_when_the_library_itself_is_wrong(said: Judged) -> None:
    outcome, message = verdict(evidence(row(), row(), said))
    assert outcome is Outcome.FAIL
    assert "NMSE 0.5" in message


def test_bits_that_are_compared_with_themselves_alone_are_no_pass() -> None:
    outcome, message = verdict(evidence(row(), row(), NO_ORACLE))
    assert outcome is Outcome.ERROR
    assert message == "nothing to compare with but the host library itself: no definition"
    assert verdict(evidence(row(), row(), replace(NO_ORACLE, golden_ok=True))) == (Outcome.PASS, "")
    assert verdict(evidence(row(), row(), replace(NO_ORACLE, against_ok=True))) == (Outcome.PASS, "")
    assert verdict(evidence(row(), row(digest="bb"), fetched=NO_ORACLE))[0] is Outcome.FAIL


def test_excuse_holds_where_no_oracle_looked() -> None:
    case = EXCUSES[0].case
    assert verdict(evidence(row(case=case), row(case=case, digest="bb"), fetched=NO_ORACLE))[0] is Outcome.PASS


def test_results_that_nobody_judged_fail() -> None:
    assert verdict(evidence(row(), row(), None))[0] is Outcome.FAIL
    assert verdict(evidence(row(), row(digest="bb")))[0] is Outcome.FAIL


@pytest.mark.parametrize(("native", "remote"), [("computed", "unsupported"), ("unsupported", "computed")])
def test_support_claimed_or_denied_wrongly_fails(native: str, remote: str) -> None:
    given = evidence(row(native), row(remote))
    assert verdict(given)[0] is Outcome.FAIL
    (found,) = findings((CASE,), given)
    assert (found.kind, found.case) == (FindingKind.LOST_SUPPORT, CASE)
    says = {"computed": "computes", "unsupported": "refuses"}
    assert found.text == f"{CASE}: the host library {says[native]} it, the remote device {says[remote]} it"


@pytest.mark.parametrize(("native", "remote"), [("error", "computed"), ("unsupported", "error"), ("error", "unsupported")])
def test_what_one_side_says_of_its_support_alone_is_no_lost_support(native: str, remote: str) -> None:
    assert findings((CASE,), evidence(row(native), row(remote))) == ()


def test_excused_refusal_is_no_lost_support_and_no_pass() -> None:
    case = EXCUSES[0].case
    given = evidence(row(case=case), row("unsupported", case=case))
    outcome, message = verdict(given)
    assert (outcome, EXCUSES[0].reason in message) == (Outcome.UNSUPPORTED, True)
    assert findings((case,), given) == ()
    claimed = evidence(row("unsupported", case=case), row(case=case))
    assert verdict(claimed)[0] is Outcome.FAIL
    assert [found.kind for found in findings((case,), claimed)] == [FindingKind.LOST_SUPPORT]
    for library in ("Metal", "CUDA"):  # CUDA's excuse is of the error alone
        elsewhere = replace(given, library=library)
        assert verdict(elsewhere)[0] is Outcome.FAIL
        assert [found.kind for found in findings((case,), elsewhere)] == [FindingKind.LOST_SUPPORT]


def test_unsupported_on_both_sides_is_unsupported() -> None:
    assert verdict(evidence(row("unsupported"), row("unsupported"))) == (Outcome.UNSUPPORTED, "")


def test_a_case_that_ended_the_process_has_the_outcome_that_was_found_out() -> None:
    lost = AgentRow(CASE, LOST, text="the worker is gone", lost_as=Outcome.HOST_CRASH)
    assert verdict(evidence(row(), lost)) == (Outcome.HOST_CRASH, "the worker is gone")


def test_an_error_of_the_device_fails_and_one_of_the_reference_is_the_labs() -> None:
    assert verdict(evidence(row(), row("error")))[0] is Outcome.FAIL
    assert verdict(evidence(row("error"), row()))[0] is Outcome.ERROR
    assert verdict(evidence(row("error"), row("error")))[0] is Outcome.ERROR


def test_missing_case_is_a_finding() -> None:
    (found,) = findings((CASE, "SUB()"), evidence(row(), row()))
    assert (found.kind, found.case) == (FindingKind.MISSING_CASE, "SUB()")


def test_an_excuse_covers_its_case_and_library_only() -> None:
    case = EXCUSES[0].case
    given = evidence(row(case=case), row(case=case, digest="bb"), fetched=WRONG_GOLDEN)
    assert verdict(given)[0] is Outcome.PASS
    assert EXCUSES[0].reason in verdict(given)[1]
    assert verdict(replace(given, library="Vulkan"))[0] is Outcome.FAIL  # by another oracle than its excuse is for
    assert verdict(evidence(row(case=case), row(case=case))) == (Outcome.PASS, "")


def test_other_digests_are_fetched() -> None:
    assert to_fetch({CASE: row()}, {CASE: row()}) == ()
    assert to_fetch({CASE: row()}, {CASE: row(digest="bb")}) == (CASE,)
    assert to_fetch({}, {CASE: row()}) == (CASE,)
    assert to_fetch({CASE: row()}, {CASE: row("unsupported")}) == ()


def test_truth_table_tells_both_sides() -> None:
    (line,) = truth_table({CASE: row()}, {CASE: row("unsupported")})
    assert (line.native, line.remote, line.agree) == (True, False, False)


def test_reference_that_is_the_remote_device_is_refused() -> None:
    own, remote = Device(0, "CPU", "CPU", "", "CPU"), Device(0, "ggml-virtgpu", "[virtgpu] CPU", "", "GPU")
    assert refused_reference(own, remote, "ggml-virtgpu") == ()
    assert refused_reference(remote, remote, "ggml-virtgpu")[0].kind is FindingKind.WRONG_REFERENCE
    assert refused_reference(own, own, "ggml-virtgpu")[0].kind is FindingKind.NO_SUCH_DEVICE


STUB = """\
import json, sys
module, *words = sys.argv[1:]
word = lambda name: words[words.index(name) + 1]
case = {"outcome": "computed", "digest": "d", "ns": 1, "batch": 1}
if module == "lab.ops.judge":
    for line in open(word("--rows")):
        golden = {"ok": True, "text": "NMSE 0"}
        print(json.dumps({"case": json.loads(line)["case"], "against": None, "golden": golden, "why": ""}))
    sys.exit(int(word("--seed")))
device = {"index": 0, "registry": "CPU", "name": "CPU", "description": "", "type": "CPU"}
print(json.dumps({"device": device, "pid": 1, "others": []}))
for name in open(word("--cases")).read().split():
    print(json.dumps({"case": name, **case}))
print(json.dumps({"end": {}}))
"""
Started = tuple[tuple[str, ...], str, Mapping[str, str]]


@pytest.fixture
def started(tmp_path: Path) -> list[Started]:
    (tmp_path / "stub.py").write_text(STUB, encoding="utf-8")
    return []


def native_host(stub: Path, started: list[Started], seed: int = 0) -> NativeHost:
    """One whose programs are a stub's: what is asked of each is noted, with its cases."""

    def enter(argv: Sequence[str], folder: Path, env: Mapping[str, str]) -> Sequence[str]:
        if "--cases" in argv:
            started.append((tuple(argv), (folder / "cases").read_text(encoding="utf-8"), env))
        return (sys.executable, str(stub), *argv[2:])

    return NativeHost(enter, seed, Library("/own.so", "init", 3), "/other.so", {"VK_LOADER_DEBUG": "all"})


def test_each_case_of_a_reference_is_computed_once_by_both_libraries(tmp_path: Path, started: list[Started]) -> None:
    host = native_host(tmp_path / "stub.py", started)
    for cases in (["ADD()"], ["MUL()", "ADD()"], ["MUL()"]):
        known = host.reference(cases, Deadline.after(30))
    assert sorted(known.rows) == sorted(known.judged) == ["ADD()", "MUL()"]
    assert [(argv[argv.index("--library") + 1], asked) for argv, asked, _ in started] == [
        ("/own.so", "ADD()"), ("/other.so", "ADD()"), ("/own.so", "MUL()"), ("/other.so", "MUL()"),
    ]  # fmt: skip
    own, other = (" ".join(argv) for argv, _, _ in started[:2])
    assert ("--threads 3" in own, "--symbol init" in own) == (True, True)
    assert ("--threads 1" in other, "--symbol" in other) == (True, False)
    assert all(env["VK_LOADER_DEBUG"] == "all" for _, _, env in started)


def test_judge_that_did_not_come_to_its_end_is_told(tmp_path: Path, started: list[Started]) -> None:
    with pytest.raises(LabError, match="the judge ended with status 3"):
        native_host(tmp_path / "stub.py", started, seed=3).reference(["ADD()"], Deadline.after(30))


class Judging:
    """A host that judges all that it is given, and notes what that was."""

    def __init__(self) -> None:
        self.cases: tuple[str, ...] = ()

    def reference(self, cases: Sequence[str], deadline: Deadline) -> Reference:
        raise NotImplementedError

    def judge(self, _fetched: Files, cases: Sequence[str], _deadline: Deadline) -> Mapping[str, Judged]:
        self.cases = tuple(cases)
        return dict.fromkeys(cases, GOOD)

    def parcel(self, deadline: Deadline) -> bytes:
        raise NotImplementedError


def bringing(folder: Path, *rows: AgentRow) -> tuple[Callable[[Sequence[str]], Files], list[str]]:
    """Fetches these rows, whatever is wanted, and notes that."""
    wanted: list[str] = []

    def fetch(cases: Sequence[str]) -> Files:
        wanted.extend(cases)
        files = Files(folder / "rows", folder / "values")
        lines = ({**asdict(one), "ns": 1} for one in rows)
        files.rows.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        return files

    return fetch, wanted


def test_results_with_other_bits_are_fetched_and_judged_as_far_as_they_came(tmp_path: Path) -> None:
    names = tuple(f"ADD(a={size})" for size in range(1, MAX_FETCHED + 3))
    reference = Reference(Device(0, "CPU", "CPU", "", "CPU"), {name: row(case=name) for name in names}, {})
    same, other = ({name: row(digest=digest, case=name) for name in names} for digest in ("aa", "bb"))
    host, deadline = Judging(), Deadline.after(10)
    fetch, wanted = bringing(tmp_path, other[names[1]])
    assert fetched_where_bits_differ(host, reference, same, fetch, deadline) == Fetched()
    assert wanted == []
    fetched = fetched_where_bits_differ(host, reference, other, fetch, deadline)
    assert wanted == list(names[:MAX_FETCHED])
    assert host.cases == (names[1],)
    given = all_evidence(reference, other, fetched)
    assert (given.library, given.fetched) == ("CPU", {names[1]: GOOD})
    assert "run again: the same wrong bits" in dict(zip(names, results(names, given), strict=True))[names[1]].message
    with pytest.raises(LabError, match="the results of 64 cases could not be fetched"):
        fetched_where_bits_differ(host, reference, other, bringing(tmp_path)[0], deadline)
