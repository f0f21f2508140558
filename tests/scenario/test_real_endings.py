"""Runs that are meant to go wrong, each in a real guest or refused before one: message, exit status, bundle, nothing left."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pexpect
import pytest

from lab.bundle import Bundle, read_bundle
from lab.deadline import Deadline, poll
from lab.elf import build_id
from lab.host.native import NativePayloads, native_payloads
from lab.host.progress import SilentProgress
from lab.host.root import host_root
from lab.metrics.calls import HEADER, RECORD
from lab.process import Child, spawn
from reports import rendered_report

pytestmark = pytest.mark.scenario

RUN_S = 240.0
BUILD_S = 900.0
BOOT_S = 120.0
LAB = (sys.executable, "-c", "from lab.cli import main; main()")
SETUP_KEYS = {"host_root", "image", "guest_library", "host_library", "component", "ggml_library"}
SCENARIO = """\
name = "endings"
timeout_s = 180

[[checks]]
kind = "ops"
ops = ["ADD", "MUL", "SUB"]
patterns = ['type=f32,ne=\\[10,5,4,3\\],nr=', 'type=f16,ne=\\[10,5,[14],[13]\\],nr=']
min_cases = 100
case_deadline_s = 60
"""

ONE_BOOT = f"""\
{SCENARIO}
[[variants]]
name = "other-path"
guest = {{ data_path = "shared", environment = {{ GGML_VIRTGPU_DATA_PATH = "copied" }} }}

[[variants]]
name = "dropped"

[[variants]]
name = "no-cases"
checks = [{{ kind = "ops", ops = ["ADD", "MUL", "SUB"], patterns = ["type=f7"] }}]
"""


def processes_with(word: str) -> list[tuple[int, str]]:
    """Processes whose command line or environment holds the word: those of one run, by its folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                told = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                if word.encode() in told:
                    found.append((int(entry.name), (entry / "comm").read_text().strip()))
    return found


def newest(out: Path) -> Path | None:
    return max(out.glob("*-endings"), default=None)


def results(out: Path) -> list[dict[str, Any]]:
    folder = newest(out)
    if folder is None or not (folder / "results.jsonl").exists():
        return []
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines() if line.endswith("}")]


class Lab:
    """One ``lab run`` in a process of its own, with its bundle below ``out``."""

    def __init__(self, folder: Path, text: str = SCENARIO) -> None:
        self.folder, self.out, self.log = folder, folder / "runs", folder / "lab.log"
        (folder / "endings.toml").write_text(text)

    def run(self, *words: str, meanwhile: Callable[[Child], None] = lambda _: None) -> tuple[int, str]:
        argv = (*LAB, "run", str(self.folder / "endings.toml"), "--out", str(self.out), "--json", *words)
        with spawn(argv, log=self.log) as child:
            meanwhile(child)
            status = child.wait(Deadline.after(RUN_S))
        assert "Traceback" not in self.log.read_text()
        assert processes_with(str(self.folder)) == []
        assert str(self.folder) not in Path("/proc/mounts").read_text()
        return status, self.log.read_text()

    def bundle(self) -> Bundle:
        folder = newest(self.out)
        assert folder is not None
        assert (folder / "index.html").is_file()
        assert (folder / "junit.xml").is_file()
        return read_bundle(folder)

    def answer(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.log.read_text().splitlines()[-1])
        return answer

    def await_case(self, child: Child, variant: str = "default") -> None:
        def there() -> bool:
            assert child.exit_status() is None, self.log.read_text()
            return any(row["kind"] == "case" and row["variant"] == variant for row in results(self.out))

        poll("the first case", there, Deadline.after(RUN_S), last_seen=self.log.read_text)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.fixture(scope="module")
def one_boot(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Three variants that one boot serves, each of which fails in its own way."""
    lab = Lab(tmp_path_factory.mktemp("one-boot"), ONE_BOOT)

    def drop(child: Child) -> None:
        lab.await_case(child, "dropped")
        logs = max(lab.out.glob("*/logs/*/calls/host-*.calls"), key=lambda path: path.stat().st_mtime_ns)
        with open(logs, "r+b") as records:
            records.seek(HEADER.itemsize + 10 * RECORD.itemsize)
            records.write(bytes(RECORD.itemsize))

    status, output = lab.run(meanwhile=drop)
    assert status == 1, output
    assert len(lab.bundle().run.boots) == 1
    return lab.bundle()


def texts(bundle: Bundle, variant: str | None = None) -> str:
    rows = (row for row in bundle.findings if variant in {None, row.variant})
    return "\n".join(f"{row.finding} [{row.blame}] {row.text}" for row in rows)


def ended(bundle: Bundle, name: str) -> tuple[str, int]:
    """The status of a variant, and how many of its cases failed."""
    variant = next(one for one in bundle.run.variants if one.variant == name)
    return variant.status, variant.cases.fail


def test_interrupted_during_the_boot(lab: Lab) -> None:
    def interrupt(child: Child) -> None:
        poll("the guest's kernel", lambda: any(lab.out.glob("*/logs/*/serial.log")), Deadline.after(RUN_S))
        os.kill(child.pid, signal.SIGINT)

    status, output = lab.run(meanwhile=interrupt)
    assert status == 2, output
    assert lab.bundle().run.status == "interrupted", output
    assert lab.answer()["exit"] == 2
    assert [one["status"] for one in lab.answer()["scenarios"]] == ["interrupted"], output


def test_terminated_during_ops_keeps_the_results(lab: Lab) -> None:
    def terminate(child: Child) -> None:
        lab.await_case(child)
        os.kill(child.pid, signal.SIGTERM)

    status, output = lab.run(meanwhile=terminate)
    assert status == 2, output
    bundle = lab.bundle()
    assert bundle.run.status == "interrupted", output
    assert bundle.cases
    assert bundle.calls
    assert "the first case without a result is" in texts(bundle)


def test_killed_lab_leaves_a_readable_bundle_and_nothing_running(lab: Lab) -> None:
    def kill(child: Child) -> None:
        lab.await_case(child)
        os.kill(child.pid, signal.SIGKILL)
        poll("the end of everything it had started", lambda: not processes_with(str(lab.folder)), Deadline.after(20))

    status, output = lab.run(meanwhile=kill)
    assert status == -signal.SIGKILL, output
    folder = newest(lab.out)
    assert folder is not None
    page = rendered_report(folder)
    bundle = read_bundle(folder)
    assert bundle.run.status == "running"
    assert bundle.cases
    assert "This run was cut off." in page.read_text()


def test_killed_qemu_during_ops(lab: Lab) -> None:
    def kill(child: Child) -> None:
        lab.await_case(child)
        (qemu,) = (pid for pid, name in processes_with(str(lab.folder)) if name.startswith("qemu-system"))
        os.kill(qemu, signal.SIGKILL)

    status, output = lab.run(meanwhile=kill)
    assert status == 2, output
    bundle = lab.bundle()
    assert bundle.cases[-1].outcome == "host crash"
    told = texts(bundle)
    assert f"the first case without a result is {bundle.cases[-1].case}" in told
    assert "the last call record is" in told
    assert "the last graph ended with" in told
    assert "none: no worker recorded" not in told
    assert bundle.calls


def test_killed_worker_during_ops_fails_the_run_and_is_named(lab: Lab) -> None:
    def kill(child: Child) -> None:
        lab.await_case(child)
        (worker,) = (pid for pid, name in processes_with(str(lab.folder)) if name == "apir-worker")
        os.kill(worker, signal.SIGKILL)

    status, output = lab.run(meanwhile=kill)
    assert status == 1, output
    bundle, told = lab.bundle(), texts(lab.bundle())
    assert re.search(r"worker lost \[product\] host crash: the worker of context \d+ was lost during [a-z_]+ \(call \d+ of", told)
    assert re.search(
        r"lost support \[product\] \d+ cases that the host's own library supports are unsupported since the worker", told
    )
    assert any(case.outcome == "host crash" and "was lost during" in case.message for case in bundle.cases)
    assert lab.answer()["scenarios"][0]["cases"]["error"] == 1


def test_library_that_takes_the_other_data_path_fails_the_run(one_boot: Bundle) -> None:
    expected = "commands that made buffers (shared): expected device_buffer_from_ptr, seen alloc_with_base"
    assert f"wrong data path [product] {expected}" in texts(one_boot, "other-path")
    assert ended(one_boot, "other-path") == ("failed", 0)


def test_library_without_the_registration_symbol_is_refused_before_the_boot(lab: Lab) -> None:
    status, output = lab.run("--set", f"host.ggml_library={library_without_ggml()}")
    assert status == 2, output
    assert "has no registration symbol ggml_backend_init" in output + texts(lab.bundle())
    assert lab.bundle().run.boots == ()


def library_without_ggml() -> Path:
    return next(path for path in Path("/usr/lib").rglob("libc.so.6") if path.is_file())


def test_unset_library_path_is_named(lab: Lab) -> None:
    status, output = lab.run("--set", "host.environment.APIR_LLAMA_CPP_GGML_LIBRARY_PATH=false")
    assert status == 2, output
    told = texts(lab.bundle())
    assert "no device of registry ggml-virtgpu" in told
    assert "QEMU's environment lacks APIR_LLAMA_CPP_GGML_LIBRARY_PATH" in told


def test_pattern_that_matches_nothing_does_not_pass(one_boot: Bundle) -> None:
    assert "no cases [lab] the patterns leave no case of ADD, MUL, SUB" in texts(one_boot, "no-cases")
    assert ended(one_boot, "no-cases") == ("error", 0)


def built() -> NativePayloads:
    progress, deadline = SilentProgress(), Deadline.after(BUILD_S)
    return native_payloads(host_root(progress, deadline), progress, deadline)


def test_dropped_call_record_fails_the_run(one_boot: Bundle) -> None:
    assert "calls differ [product]" in texts(one_boot, "dropped")
    assert ended(one_boot, "dropped") == ("failed", 0)


def test_swapped_library_fails_the_run(lab: Lab) -> None:
    ours = built().host_library
    chosen = lab.folder / "chosen" / ours.name
    swapped = lab.folder / "chosen" / "swapped" / ours.name
    swapped.parent.mkdir(parents=True)
    chosen.write_bytes(ours.read_bytes())
    identity = bytes.fromhex(build_id(ours) or "")
    swapped.write_bytes(ours.read_bytes().replace(identity, identity[::-1]))
    status, output = lab.run(
        "--set", f"implementation.host={chosen}", "--set", f"host.environment.VIRGL_APIR_BACKEND_LIBRARY={swapped}"
    )
    assert status == 2, output
    expected = f"build id of the host library mapped in worker: expected {identity.hex()}, seen {identity[::-1].hex()}"
    assert f"wrong library [lab] {expected}" in texts(lab.bundle())


def test_guest_library_that_records_no_calls_is_judged_by_those_that_the_host_recorded(lab: Lab) -> None:
    """As anybody's build, which knows nothing of our variable for records."""
    ours, variable = built().guest_library, b"GGML_VIRTGPU_CALL_LOG\0"
    assert variable in ours.read_bytes()
    theirs = lab.folder / "theirs" / ours.name
    theirs.parent.mkdir()
    theirs.write_bytes(ours.read_bytes().replace(variable, variable.replace(b"CALL", b"NONE")))
    status, output = lab.run("--set", f"implementation.guest={theirs}")
    assert (status, texts(lab.bundle())) == (0, ""), output
    calls = lab.bundle().run.variants[0].calls
    assert (calls.count, calls.guest_counted, calls.host_counted > 100) == (0, 0, True)


def test_dry_run_shows_the_command_line_and_starts_nothing(lab: Lab) -> None:
    built()
    status, output = lab.run("--dry-run")
    assert status == 0, output
    assert "qemu-system-x86_64" in output
    assert "VIRGL_ROUTE_VENUS_TO_APIR=1" in output
    assert "GGML_BACKEND_PATH=" in output
    assert not lab.out.exists()


def test_doctor_and_setup_answer_as_promised(lab: Lab) -> None:
    for command, keys in (("doctor", {"capabilities"}), ("setup", SETUP_KEYS)):
        with spawn((*LAB, command, "--json"), log=lab.folder / f"{command}.log") as child:
            assert child.wait(Deadline.after(RUN_S)) == 0, child.log_tail()
        answer = json.loads((lab.folder / f"{command}.log").read_text().splitlines()[-1])
        assert set(answer) == keys
    assert all(Path(path).exists() for path in answer.values())


def test_shell_gives_a_terminal_in_the_guest_with_its_variables(lab: Lab) -> None:
    built()
    argv = ["-c", LAB[2], "shell", str(lab.folder / "endings.toml"), "--set", "guest.capset=apir"]
    shell = pexpect.spawn(sys.executable, argv, timeout=BOOT_S, encoding="utf-8", dimensions=(30, 120))
    with closing(shell):
        shell.expect("# ")
        shell.sendline("echo $GGML_REMOTING_USE_APIR_CAPSET $((20 + 22)); stty size; ls")
        shell.expect("1 42")
        shell.expect("30 120")
        shell.expect("libggml-virtgpu.so")
        shell.sendline("exit 3")
        shell.expect(pexpect.EOF)
    assert shell.exitstatus == 3, shell.before
    assert processes_with(str(lab.folder)) == []
