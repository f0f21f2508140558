"""The catalog's check in a real guest, one boot: right results pass, other bits fail, a worker that is killed is told by name."""

from __future__ import annotations

import csv
import os
import signal

import pytest

from lab.bundle import Bundle
from lab.deadline import Deadline, poll
from lab.ggml.generation import backends_folder
from lab.host.root import cached_host_root
from lab.process import Child
from tests.scenario.test_real_endings import RUN_S, Lab, newest, processes_with, results

pytestmark = pytest.mark.scenario

SCENARIO = """\
name = "endings"
timeout_s = 600

[[variants]]
name = "right"
checks = [{ kind = "catalog", ops = ["ADD", "MUL_MAT", "GET_ROWS"], share = 0.1, min_cases = 25 }]

# Products of another build have other last bits: what is compared with decides.
[[variants]]
name = "other-bits"
checks = [{ kind = "catalog", cases = ["MUL_MAT()", "ADD()"], reference = "LIBRARY" }]

[[variants]]
name = "killed"
guest = { capset = "apir" }
checks = [{ kind = "catalog", ops = ["ADD", "MUL", "SUB", "DIV"], min_cases = 300 }]
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The one run of this module: the worker of the third variant is killed when it has computed its first cases."""
    root = cached_host_root()
    assert root is not None, "make setup"
    made = Lab(tmp_path_factory.mktemp("catalog"))
    plain = root.path / backends_folder(root.path) / "libggml-cpu-x64.so"
    (made.folder / "endings.toml").write_text(SCENARIO.replace("LIBRARY", str(plain)))

    def kill(child: Child) -> None:
        def there() -> bool:
            assert child.exit_status() is None, made.log.read_text()
            return any(row["kind"] == "case" and row["variant"] == "killed" for row in results(made.out))

        poll("the first case of the last variant", there, Deadline.after(2 * RUN_S), last_seen=made.log.read_text)
        for worker in (pid for pid, name in processes_with(str(made.folder)) if name == "apir-worker"):
            os.kill(worker, signal.SIGKILL)

    status, output = made.run(meanwhile=kill)
    assert status == 1, output
    return made


def told(bundle: Bundle, variant: str) -> list[str]:
    return [f"{row.finding} [{row.blame}] {row.text}" for row in bundle.findings if row.variant == variant]


def test_right_results_pass_with_their_digests_and_the_truth_table(lab: Lab) -> None:
    bundle = lab.bundle()
    cases = [case for case in bundle.cases if case.variant == "right"]
    assert told(bundle, "right") == []
    assert len(cases) >= 25
    assert {case.outcome for case in cases} == {"pass"}
    assert all(len(case.digest) == 32 for case in cases)
    folder = newest(lab.out)
    assert folder is not None
    with open(folder / "support.csv", encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if line["variant"] == "right"]
    assert {line["case"] for line in lines} == {case.case for case in cases}
    assert {line["agree"] for line in lines} == {"yes"}
    assert "Support" in (folder / "index.html").read_text(encoding="utf-8")
    mapped = [fact for fact in bundle.facts if fact.variant == "right" and "mapped in" in fact.name]
    assert len(mapped) >= 5
    assert all(fact.ok for fact in mapped)


def test_other_bits_are_fetched_judged_and_fail(lab: Lab) -> None:
    bundle = lab.bundle()
    (product,) = (case for case in bundle.cases if case.variant == "other-bits" and case.case == "MUL_MAT()")
    assert product.outcome == "fail"
    assert "other bits than the host library's own" in product.message
    assert "run again: the same wrong bits" in product.message
    assert [case.outcome for case in bundle.cases if case.variant == "other-bits" and case.case == "ADD()"] == ["pass"]
    assert any("case failed [product] MUL_MAT()" in text for text in told(bundle, "other-bits"))


def test_a_killed_worker_is_told_and_the_other_cases_go_on(lab: Lab) -> None:
    bundle = lab.bundle()
    texts = "\n".join(told(bundle, "killed"))
    assert "worker lost [product]" in texts or "interrupted [product] host crash: worker" in texts
    cases = {case.case: case.outcome for case in bundle.cases if case.variant == "killed"}
    assert len(cases) >= 300
    assert set(cases.values()) <= {"pass", "unsupported", "host crash"}
