"""What runs beside other tests: out of their way, gone with the context or the session, and what wants it comes last."""

from __future__ import annotations

import contextlib
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from lab.deadline import Deadline, poll
from lab.errors import LabError, WaitTimeout
from lab.paths import PROJECT
from lab.process import finish, spawn
from lab.qemu.processes import Process, descendants
from tests import beforehand, ordinary_user
from tests.test_interruption import interrupted_after

pytest_plugins = ["pytester"]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make an account")
ORDINARY = "tests/test_ordinary_user.py"
LAST = ("native_tests_pass", "minute_of_fuzzing", "our_own_recording")
COMPILING = ("cmake", "ninja", "cc1plus")


@pytest.mark.native
@pytest.mark.compiled_beforehand("tests")
@pytest.mark.usefixtures("root")
def test_compilers_are_nice_and_gone_with_the_context() -> None:
    begun: list[Process] = []

    def seen() -> bool:
        begun[:] = [one for one in descendants(child.pid) if one.name in COMPILING and is_nice(one.pid)]
        return bool(begun)

    before = beforehand.family()
    with beforehand.compiling(["tests"]) as child:
        poll("a compiler that is nice", seen, Deadline.after(60))
        assert beforehand.family() == before
    poll("the compilers' end", lambda: not any(one.alive() for one in begun), Deadline.after(10))


def test_what_runs_beside_is_nice_itself_and_to_other_sessions(tmp_path: Path) -> None:
    with spawn(("sleep", "60"), log=tmp_path / "log") as other, beforehand.compiling([], after=other) as child:
        poll("a nice process", lambda: is_nice(child.pid), Deadline.after(10))


def is_nice(pid: int) -> bool:
    """Within its session, and to others, where the kernel makes a difference."""
    group = Path(f"/proc/{pid}/autogroup")
    with contextlib.suppress(OSError):
        told = not group.exists() or group.read_text().endswith(f"nice {beforehand.NICE}\n")
        return told and os.getpriority(os.PRIO_PROCESS, pid) == beforehand.NICE
    return False


def test_what_begins_beforehand_is_wanted_last() -> None:
    folders = ("tests/native", ORDINARY, "tests/ops")
    argv = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "protocol or native or scenario", *folders)
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(argv, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True, timeout=60)
    lines = done.stdout.splitlines()
    items = [line for line in lines if "::" in line]
    last = [item for item in items if any(name in item for name in LAST)]
    assert len(last) == 6
    assert items[-len(last) :] == last
    assert items[-len(last) - 1].startswith(ORDINARY)


def test_end_of_another_process_is_awaited(tmp_path: Path) -> None:
    with spawn(("sleep", "0.5"), log=tmp_path / "log") as other:
        beforehand.await_end(other.pid)
        assert other.exit_status() == 0
    beforehand.await_end(other.pid)


def test_nothing_is_compiled_before_the_end_of_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def asked(*_: object) -> None:
        raise LabError(f"the other one's status: {other.exit_status()}")

    monkeypatch.setattr(beforehand, "host_root", asked)
    with spawn(("sleep", "0.5"), log=tmp_path / "log") as other:
        assert beforehand.main((beforehand.AFTER, str(other.pid), "tests")) == LabError.exit_status
    assert "status: 0" in capsys.readouterr().out


def test_subordinate_ids_are_behind_everybodys() -> None:
    assert ordinary_user.behind("", "") == ordinary_user.FIRST_SUBORDINATE
    assert ordinary_user.behind("one:100000:65536\n", "") == ordinary_user.FIRST_SUBORDINATE
    assert ordinary_user.behind("one:2000000:65536\ntwo:1000000:65536\n", "two:3000000:10\n") == 3_000_010


CONFTEST = """
from pathlib import Path
import pytest
from tests import beforehand, conftest, ordinary_user
pytest_plugins = ["tests.conftest"]
ordinary_user.CLONED = Path({project!r})
conftest.has_memory_for_two = lambda: True

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish():
    print("\\nbeside:", len(beforehand.running))
"""
FIRST = """
import os, signal
from pathlib import Path
from lab.deadline import Deadline, poll
from tests import beforehand

def test_first():
    {steps}
"""
ONCE_IT_RUNS = """
    child = beforehand.running[0]
    poll("make run", lambda: "runs as labuser" in child.log_tail(), Deadline.after(60), last_seen=child.log_tail)
    Path("account").write_text(child.log_tail().partition("runs as ")[2].split()[0])
"""
NAMES = ("test_first.py", "test_awaiting.py")


def project(pytester: pytest.Pytester, recipe: str, steps: str = "pass", more: str = "") -> None:
    """Two tests, of which one awaits the ordinary user's run of a project whose ``make run`` is ``recipe``."""
    folder = pytester.path / "project"
    folder.mkdir()
    (folder / "Makefile").write_text(f"run:\n\t@{recipe}\n")
    git = ("git", "-c", "user.name=Lab", "-c", "user.email=lab@localhost", "-C", str(folder))
    for words in (("init", "--quiet"), ("add", "Makefile"), ("commit", "--quiet", "--message", "All")):
        subprocess.run((*git, *words), check=True)
    pytester.makeini(f"[pytest]\npythonpath = {PROJECT}")
    pytester.makeconftest(CONFTEST.format(project=str(folder)) + more)
    (pytester.path / NAMES[0]).write_text(FIRST.format(steps=steps))
    (pytester.path / NAMES[1]).write_text("from tests.test_ordinary_user import test_make_run_works_under_an_ordinary_account\n")


def run(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *words, timeout=120)


@as_root
@pytest.mark.parametrize("words", [("--collect-only", *NAMES), ("-k", "first", *NAMES), NAMES[:1]])
def test_ordinary_run_that_nobody_awaits_is_not_begun(pytester: pytest.Pytester, words: tuple[str, ...]) -> None:
    project(pytester, "sleep 100")
    result = run(pytester, *words)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["beside: 0"])


WORKER = "def pytest_configure(config):\n    config.workerinput = {}\n"
SHORT_OF_MEMORY = "conftest.has_memory_for_two = lambda: False\n"
COMPILED_EARLY = """
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    yield
    items.sort(key=lambda item: "compiled" in item.name, reverse=True)
    items.insert(0, items.pop(next(number for number, item in enumerate(items) if "first" in item.name)))
"""
# In a session of its own before the recipe ends, at which its process group is ended.
LEFT = "setsid sh -c 'touch left; exec sleep 60' & until test -e left; do sleep 0.1; done; exit 3"
TOLD = ("*make run ended with 2", "*no report was left", "*processes were left: (*")
GROUP = "/proc/self/autogroup"


@as_root
@pytest.mark.scenario
@pytest.mark.parametrize(
    ("names", "more"), [(NAMES[1:], ""), (NAMES, WORKER), (NAMES, SHORT_OF_MEMORY)], ids=["first", "worker", "short of memory"]
)
def test_ordinary_run_alone_is_begun_by_its_test(pytester: pytest.Pytester, names: tuple[str, ...], more: str) -> None:
    project(pytester, f"{nice_by_and_by(0)}; {LEFT}", more=more)
    result = run(pytester, *names)
    result.assert_outcomes(failed=1, passed=len(names) - 1)
    result.stdout.fnmatch_lines(["beside: 0", *told_nice(0), *TOLD])


@as_root
@pytest.mark.scenario
def test_ordinary_run_beside_others_is_nice_until_its_test_waits(pytester: pytest.Pytester) -> None:
    nice, as_we_are = beforehand.ORDINARY_NICE, 0
    project(pytester, f"{nice_by_and_by(nice)}; echo runs as $$(id -un); {nice_by_and_by(as_we_are)}; {LEFT}", ONCE_IT_RUNS)
    result = run(pytester, *NAMES)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["beside: 1", *told_nice(nice), *told_nice(as_we_are), *TOLD])


def nice_by_and_by(nicer: int) -> str:
    """Shell words that tell how nice their process is, when it is that much nicer than we are, or when ten seconds are over."""
    nice = f"nice {expected_nice(nicer)}"
    so = f'test "nice $$(nice)" = "{nice}" && {{ test ! -e {GROUP} || grep -q "{nice}$$" {GROUP}; }}'
    return f"for i in $$(seq 100); do {{ {so}; }} && break; sleep 0.1; done; echo it is $$(nice); cat {GROUP} || true"


def told_nice(nicer: int) -> list[str]:
    """What they tell then."""
    nice = expected_nice(nicer)
    return [f"*it is {nice}", *([f"*/autogroup-* nice {nice}"] if Path(GROUP).exists() else [])]


def expected_nice(nicer: int) -> int:
    return min(19, nicer + os.getpriority(os.PRIO_PROCESS, 0))


@as_root
@pytest.mark.scenario
def test_ordinary_run_that_was_ended_for_others_is_begun_again(pytester: pytest.Pytester) -> None:
    project(pytester, "echo runs as $$(id -un); sleep 3; exit 3", ONCE_IT_RUNS, COMPILED_EARLY)
    compiled(pytester)
    result = run(pytester, *NAMES, "test_compiled.py")
    result.assert_outcomes(failed=1, passed=2)
    result.stdout.fnmatch_lines(["beside: 0", "*make run ended with 2"])


@as_root
@pytest.mark.scenario
@pytest.mark.parametrize(
    "end", [*(f"os.kill(os.getpid(), signal.{name})" for name in ("SIGINT", "SIGTERM", "SIGHUP")), "raise AssertionError"]
)
def test_account_goes_with_tests_that_end_early(pytester: pytest.Pytester, end: str) -> None:
    project(
        pytester, "echo runs as $$(id -un); sleep 100", f"{ONCE_IT_RUNS}    {end}\n    poll('the end', bool, Deadline.after(60))"
    )
    result = run(pytester, "-x", *NAMES)
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if "Error" in end else pytest.ExitCode.INTERRUPTED)
    assert_gone((pytester.path / "account").read_text())


def assert_gone(name: str) -> None:
    with pytest.raises(KeyError):
        pwd.getpwnam(name)
    assert not (Path("/home") / name).exists()
    assert not list(Path("/var/tmp").glob(f"{name}*"))


SLOWLY_ENDED = "trap 'trap : TERM; sleep 4; echo taken down; exit 1' TERM; echo runs as $$(id -un); sleep 100 & wait"
FAILING_END = "@pytest.hookimpl(tryfirst=True)\ndef pytest_sessionfinish():\n    raise OSError\n"
SIGNALS = """
import os, signal, threading, time

def interrupt():
    while not beforehand.running or "runs as labuser" not in beforehand.running[0].log_tail():
        time.sleep(0.05)
    Path("account").write_text(beforehand.running[0].log_tail().partition("runs as ")[2].split()[0])
    for _ in range(4):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)

threading.Thread(target=interrupt, daemon=True).start()
"""


@as_root
@pytest.mark.scenario
def test_account_goes_though_another_plugin_fails_at_the_end(pytester: pytest.Pytester) -> None:
    project(pytester, "echo runs as $$(id -un); sleep 100", f"{ONCE_IT_RUNS}    raise AssertionError", FAILING_END)
    assert run(pytester, "-x", *NAMES).ret != pytest.ExitCode.OK
    assert_gone((pytester.path / "account").read_text())


@as_root
@pytest.mark.scenario
def test_account_goes_though_the_end_of_its_test_is_interrupted(pytester: pytest.Pytester) -> None:
    project(pytester, SLOWLY_ENDED, more=SIGNALS)
    assert run(pytester, NAMES[1]).ret != pytest.ExitCode.OK
    assert_gone((pytester.path / "account").read_text())


@as_root
@pytest.mark.scenario
def test_ordinary_run_has_time_to_take_down_what_it_began_and_leaves_nothing(pytester: pytest.Pytester) -> None:
    tree = "/var/tmp/$$(id -un)-tree"
    project(pytester, f'touch /var/tmp/$$(id -un); unshare -r --map-auto sh -c "mkdir {tree}; chown 7:7 {tree}"; {SLOWLY_ENDED}')
    argv = (sys.executable, "-m", ordinary_user.MODULE, pytester.path / "project")
    log = pytester.path / "log"
    with spawn(argv, log=log, cwd=PROJECT, terminate_s=60) as child:
        poll("make run", lambda: "runs as labuser" in child.log_tail(), Deadline.after(60), last_seen=child.log_tail)
        name = child.log_tail().partition("runs as ")[2].split()[0]
        owners = {path.lstat().st_uid for path in Path("/var/tmp").glob(f"{name}*")}
        assert len(owners) == 2
        assert 0 not in owners
    assert "taken down" in log.read_text()
    assert_gone(name)


@as_root
@pytest.mark.scenario
def test_account_goes_though_its_removal_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.ordinary_user.finish", interrupted_after(finish))
    with pytest.raises(KeyboardInterrupt), ordinary_user.account() as user:
        assert Path(user.pw_dir).is_dir()
    assert_gone(user.pw_name)


@as_root
@pytest.mark.scenario
def test_account_goes_though_its_processes_and_files_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object, **__: object) -> None:
        raise WaitTimeout("the end", 1.0, "")

    monkeypatch.setattr("tests.ordinary_user.poll", late)
    monkeypatch.setattr("tests.ordinary_user.finish", late)
    with pytest.raises(WaitTimeout), ordinary_user.account() as user:
        assert Path(user.pw_dir).is_dir()
    assert_gone(user.pw_name)


@as_root
@pytest.mark.scenario
def test_compilers_wait_for_the_end_of_the_ordinary_run(pytester: pytest.Pytester) -> None:
    steps = "run, compilers = beforehand.running; assert compilers.argv[-3:] == ('--after', str(run.pid), 'tests')"
    project(pytester, "sleep 100", f"{steps}; raise KeyboardInterrupt")
    compiled(pytester)
    assert run(pytester, "-x", *NAMES, "test_compiled.py").ret == pytest.ExitCode.INTERRUPTED


def compiled(pytester: pytest.Pytester) -> None:
    """A test for which something is compiled beside others, or at least begun."""
    with open(pytester.path / "conftest.py", "a") as conftest:
        conftest.write("\nconftest.has_root = lambda: True\n")
    (pytester.path / "test_compiled.py").write_text(
        "import pytest\n\n@pytest.mark.compiled_beforehand('tests')\ndef test_compiled():\n    pass\n"
    )


def test_nobody_elses_account_is_removed() -> None:
    with pytest.raises(ValueError, match="nobody is no account that was made here"):
        ordinary_user.remove("nobody")
