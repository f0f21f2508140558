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
        begun[:] = [one for one in descendants(child.pid) if one.name in COMPILING and is_nice(one)]
        return bool(begun)

    before = beforehand.family()
    with beforehand.compiling(["tests"]) as child:
        poll("a compiler that is nice", seen, Deadline.after(60))
        assert beforehand.family() == before
    poll("the compilers' end", lambda: not any(one.alive() for one in begun), Deadline.after(10))


def is_nice(process: Process) -> bool:
    """Within its session, and to others, where the kernel makes a difference."""
    group = Path(f"/proc/{process.pid}/autogroup")
    with contextlib.suppress(OSError):
        told = not group.exists() or group.read_text().endswith(f"nice {beforehand.NICE}\n")
        return told and os.getpriority(os.PRIO_PROCESS, process.pid) == beforehand.NICE
    return False


def test_what_begins_beforehand_is_wanted_last() -> None:
    folders = ("tests/native", ORDINARY, "tests/ops")
    argv = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "protocol or native or scenario", *folders)
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    done = subprocess.run(argv, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True, timeout=60)
    lines = done.stdout.splitlines()
    items = [line for line in lines if "::" in line]
    last = [item for item in items if any(name in item for name in LAST)]
    assert len(last) == 4
    assert items[-len(last) :] == last
    assert items[-len(last) - 1].startswith(ORDINARY)


def test_end_of_another_process_is_awaited(tmp_path: Path) -> None:
    with spawn(("sleep", "0.5"), log=tmp_path / "log") as other:
        beforehand.await_end(other.pid)
        assert other.exit_status() == 0
    beforehand.await_end(other.pid)


CONFTEST = """
from pathlib import Path
import pytest
from tests import beforehand, ordinary_user
pytest_plugins = ["tests.conftest"]
ordinary_user.CLONED = Path({project!r})

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
    (child,) = beforehand.running
    poll("make run", lambda: "runs as labuser" in child.log_tail(), Deadline.after(60), last_seen=child.log_tail)
    Path("account").write_text(child.log_tail().partition("runs as ")[2].split()[0])
"""
NAMES = ("test_first.py", "test_awaiting.py")


def project(pytester: pytest.Pytester, recipe: str, steps: str = "pass") -> None:
    """Two tests, of which one awaits the ordinary user's run of a project whose ``make run`` is ``recipe``."""
    folder = pytester.path / "project"
    folder.mkdir()
    (folder / "Makefile").write_text(f"run:\n\t@{recipe}\n")
    git = ("git", "-c", "user.name=Lab", "-c", "user.email=lab@localhost", "-C", str(folder))
    for words in (("init", "--quiet"), ("add", "Makefile"), ("commit", "--quiet", "--message", "All")):
        subprocess.run((*git, *words), check=True)
    pytester.makeini(f"[pytest]\npythonpath = {PROJECT}")
    pytester.makeconftest(CONFTEST.format(project=str(folder)))
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


@as_root
@pytest.mark.scenario
@pytest.mark.parametrize(("names", "beside", "nice"), [(NAMES, 1, beforehand.NICE), (NAMES[1:], 0, 0)], ids=["beside", "alone"])
def test_failed_ordinary_run_fails_its_test(pytester: pytest.Pytester, names: tuple[str, ...], beside: int, nice: int) -> None:
    project(pytester, "echo it is $$(nice); cat /proc/self/autogroup; setsid sleep 60 & exit 3")
    result = run(pytester, *names)
    result.assert_outcomes(failed=1, passed=beside)
    nice = min(beforehand.NICE, nice + os.getpriority(os.PRIO_PROCESS, 0))
    group = [f"*/autogroup-* nice {nice}"] if Path("/proc/self/autogroup").exists() else []
    result.stdout.fnmatch_lines([f"beside: {beside}", f"*it is {nice}", *group, "*make run ended with 2"])
    result.stdout.fnmatch_lines(["*no report was left", "*processes were left: (*"])


@as_root
@pytest.mark.scenario
@pytest.mark.parametrize(
    "end", ["os.kill(os.getpid(), signal.SIGINT)", "os.kill(os.getpid(), signal.SIGTERM)", "raise AssertionError"]
)
def test_account_goes_with_tests_that_end_early(pytester: pytest.Pytester, end: str) -> None:
    project(
        pytester, "echo runs as $$(id -un); sleep 100", f"{ONCE_IT_RUNS}    {end}\n    poll('the end', bool, Deadline.after(60))"
    )
    result = run(pytester, "-x", *NAMES)
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if "Error" in end else pytest.ExitCode.INTERRUPTED)
    name = (pytester.path / "account").read_text()
    with pytest.raises(KeyError):
        pwd.getpwnam(name)
    assert not (Path("/home") / name).exists()


@as_root
@pytest.mark.scenario
def test_account_goes_though_its_removal_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.ordinary_user.finish", interrupted_after(finish))
    with pytest.raises(KeyboardInterrupt), ordinary_user.account() as user:
        assert Path(user.pw_dir).is_dir()
    with pytest.raises(KeyError):
        pwd.getpwnam(user.pw_name)


@as_root
@pytest.mark.scenario
def test_compilers_wait_for_the_end_of_the_ordinary_run(pytester: pytest.Pytester) -> None:
    steps = "run, compilers = beforehand.running; assert compilers.argv[-3:] == ('--after', str(run.pid), 'tests')"
    project(pytester, "sleep 100", f"{steps}; raise KeyboardInterrupt")
    with open(pytester.path / "conftest.py", "a") as conftest:
        conftest.write("\nfrom tests import conftest\nconftest.has_root = lambda: True\n")
    (pytester.path / "test_compiled.py").write_text(
        "import pytest\n\n@pytest.mark.compiled_beforehand('tests')\ndef test_compiled():\n    pass\n"
    )
    assert run(pytester, "-x", *NAMES, "test_compiled.py").ret == pytest.ExitCode.INTERRUPTED
