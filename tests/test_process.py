"""Child processes: they end with their context, their group with them, and a failure tells what was run and what it said."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.deadline import Deadline, poll
from lab.errors import BuildError, LabError, WaitTimeout
from lab.process import check, end_group, file_tail, finish, group_is_alive, processor_ns, spawn, wait_group_gone

SLEEP = "import time; time.sleep(60)"


def test_output_and_status_come_back() -> None:
    done = finish(("sh", "-c", "echo out; echo err >&2; exit 7"), deadline=Deadline.after(10))
    assert done.exit_status == 7
    assert done.output == "out\nerr\n"


def test_check_raises_with_command_and_output() -> None:
    with pytest.raises(BuildError) as caught:
        check(("sh", "-c", "echo reason; exit 3"), what="the step", deadline=Deadline.after(10))
    assert "the step failed with exit status 3" in str(caught.value)
    assert "reason" in caught.value.output_tail


def test_program_that_a_signal_ended_has_failed() -> None:
    with pytest.raises(BuildError, match="the step failed with exit status -9"):
        check(("sh", "-c", "kill -9 $$"), what="the step", deadline=Deadline.after(10))


def test_environment_is_the_whole_one_where_it_has_nothing(tmp_path: Path) -> None:
    assert finish(("/usr/bin/env",), env={}, deadline=Deadline.after(10)).output == ""
    assert finish(("/bin/pwd",), cwd=tmp_path, deadline=Deadline.after(10)).output == f"{tmp_path}\n"


def test_output_goes_behind_what_is_in_the_log_and_is_told_without_that(tmp_path: Path) -> None:
    log = tmp_path / "log"
    said = [finish(("echo", word), log=log, deadline=Deadline.after(10)).output for word in ("first", "second")]
    assert (said, log.read_text()) == (["first\n", "second\n"], "first\nsecond\n")


def test_children_read_nothing_of_ours() -> None:
    code = "from lab.deadline import Deadline; from lab.process import finish; print(finish(('cat',), deadline=Deadline.after(5)))"
    with subprocess.Popen((sys.executable, "-c", code), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as lab:
        assert lab.stdout is not None
        assert "exit_status=0, output=''" in lab.stdout.readline()


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel has no autogroups")
def test_children_of_a_nice_lab_are_nice_to_other_sessions_too(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from lab.process import spawn
log = Path({str(tmp_path / "log")!r})
with spawn(("sleep", "60"), log=log) as child:
    print(Path(f"/proc/{{child.pid}}/autogroup").read_text())
"""
    said = check(("nice", "-n", "7", sys.executable, "-c", code), what="a nice lab", deadline=Deadline.after(30))
    nice = min(19, os.getpriority(os.PRIO_PROCESS, 0) + 7)
    assert said.strip().endswith(f"nice {nice}")


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel has no autogroups")
@pytest.mark.skipif(os.geteuid() != 0, reason="root takes another user's part")
def test_ordinary_users_children_are_all_nice_though_the_kernel_takes_a_change_now_and_then() -> None:
    code = """
import os, tempfile
from pathlib import Path
from lab.process import spawn
os.setuid(65534)
os.nice(7)
with tempfile.TemporaryDirectory() as folder:
    for number in range(3):
        log = Path(folder, str(number))
        with spawn(("sleep", "60"), log=log) as child, spawn(("sleep", "60"), log=log) as other:
            for one in (child, other):
                print(Path(f"/proc/{one.pid}/autogroup").read_text(), end="")
"""
    done = finish((sys.executable, "-c", code), deadline=Deadline.after(30), env={**os.environ, "TMPDIR": "/tmp"})
    nice = min(19, os.getpriority(os.PRIO_PROCESS, 0) + 7)
    assert [line.partition(" ")[2] for line in done.output.splitlines()] == [f"nice {nice}"] * 6


def test_leaving_the_context_ends_the_whole_group(tmp_path: Path) -> None:
    with spawn(("sh", "-c", "sleep 60 & echo started; wait"), log=tmp_path / "log") as child:
        poll("the child's start", lambda: "started" in child.log_tail(), Deadline.after(10))
        group = child.pid
    wait_group_gone(group, Deadline.after(5))
    assert not group_is_alive(group)


def test_what_a_child_left_behind_ends_too(tmp_path: Path) -> None:
    with spawn(("sh", "-c", "sleep 60 &"), log=tmp_path / "log") as child:
        child.wait(Deadline.after(10))
        assert group_is_alive(child.pid)
    wait_group_gone(child.pid, Deadline.after(5))


def test_all_of_the_group_may_end_of_itself(tmp_path: Path) -> None:
    inner = 'trap "echo told; exit" TERM; echo started; while :; do sleep 0.02; done'
    script = 'trap : TERM; (eval "$0") & wait; wait'
    with spawn(("sh", "-c", script, inner), log=tmp_path / "log", terminate_s=20) as child:
        poll("the child's start", lambda: "started" in child.log_tail(), Deadline.after(10))
        end_group(child, terminate_s=10)
    assert "told" in child.log_tail()


def test_a_zombie_is_no_process_that_runs() -> None:
    with subprocess.Popen(("true",), start_new_session=True) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not group_is_alive(child.pid)


def test_a_child_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    script = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); {SLEEP}"
    with spawn((sys.executable, "-c", script), log=tmp_path / "log") as child:
        poll("the child's start", lambda: "deaf" in child.log_tail(), Deadline.after(10))
        end_group(child, terminate_s=0.2)
        assert child.exit_status() == -signal.SIGKILL


def test_a_child_past_its_deadline_is_ended_and_told() -> None:
    with pytest.raises(WaitTimeout, match="the end of"):
        finish((sys.executable, "-c", SLEEP), deadline=Deadline.after(0.3))


def test_a_child_dies_with_its_parent(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from lab.process import spawn\n"
        f"with spawn(('sleep', '60'), log=Path({str(tmp_path / 'log')!r})) as child:\n"
        "    print(child.pid, flush=True); os.kill(os.getpid(), 9)\n"
    )
    done = finish((sys.executable, "-c", script), deadline=Deadline.after(20))
    wait_group_gone(int(done.output.split()[0]), Deadline.after(5))


def test_a_child_whose_parent_died_before_it_could_ask_ends_itself() -> None:
    script = "from lab.process import dying_with; dying_with(-1)()"
    assert finish((sys.executable, "-c", script), deadline=Deadline.after(20)).exit_status == 127


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="cannot start no-such-program"), spawn(("no-such-program",), log=tmp_path / "log"):
        pass


def test_a_program_that_has_no_descriptor_left_is_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("subprocess.Popen", refused)
    with (
        pytest.raises(LabError, match=r"cannot start true: .*Too many open files") as caught,
        spawn(("true",), log=tmp_path / "log"),
    ):
        pass
    assert caught.value.hint == "raise the limit of open files (ulimit -n)"


def test_only_named_descriptors_are_inherited(tmp_path: Path) -> None:
    kept, other = os.open("/dev/null", os.O_RDONLY), os.open("/dev/null", os.O_RDONLY)
    try:
        with spawn(("sh", "-c", "ls /proc/self/fd"), log=tmp_path / "log", pass_fds=(kept,)) as child:
            child.wait(Deadline.after(10))
            listed = child.log_tail().split()
    finally:
        os.close(kept)
        os.close(other)
    assert str(kept) in listed
    assert str(other) not in listed


def test_tail_is_the_end_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("abcdef")
    assert file_tail(path, 3) == "def"
    assert file_tail(tmp_path / "none") == ""


def test_processor_time_is_of_the_whole_process() -> None:
    before = processor_ns(os.getpid())
    assert before is not None
    while (processor_ns(os.getpid()) or 0) <= before:
        sum(range(10_000))
    assert processor_ns(2**22 - 1) is None
    looks = [(processor_ns(os.getpid()) or 0) for _ in range(20)]
    assert any(look % 10_000_000 for look in looks)
    assert looks == sorted(looks)


def test_output_that_found_no_room_is_not_taken_for_all_of_it(tmp_path: Path) -> None:
    code = """
from lab.deadline import Deadline
from lab.process import finish
for size in (4000, 20000):
    done = finish(("sh", "-c", f"head -c {size} /dev/zero 2>/dev/null; exit 0"), deadline=Deadline.after(20))
    print(len(done.output))
"""
    script = 'mount -t tmpfs -o size=12k tmpfs "$TMPDIR" && exec "$0" -c "$1"'
    words = ("unshare", "--map-root-user", "--mount", "sh", "-c", script, sys.executable, code)
    done = finish(words, deadline=Deadline.after(60), env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.output.startswith("4000\n")
    assert f"there is no room for what sh says: {tmp_path}: No space left on device" in done.output
