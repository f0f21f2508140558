from __future__ import annotations

import pwd
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.errors import HostError
from lab.host.capability import Capability
from lab.host.rights import by_command, has_range, network_namespace, own_namespace, require, sandbox, user_rights
from lab.host.root import HostRoot
from lab.process import Finished


def test_subordinate_ids_are_looked_up_by_name_and_number(tmp_path: Path) -> None:
    ranges = tmp_path / "subuid"
    assert not has_range(ranges, 4242)
    ranges.write_text("other:100000:65536\n")
    assert not has_range(ranges, 4242)
    ranges.write_text("other:100000:65536\n4242:165536:65536\n")
    assert has_range(ranges, 4242)
    ranges.write_text("other:4242:65536\nbin:165536:65536\n")
    assert has_range(ranges, pwd.getpwnam("bin").pw_uid)
    assert not has_range(ranges, 4242)
    ranges.write_bytes(b"\xff:1:1\n%d:165536:65536\n" % pwd.getpwnam("bin").pw_uid)
    assert has_range(ranges, pwd.getpwnam("bin").pw_uid)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Commands that were run to see what is allowed; we are nobody in particular, and each of them ends with 0."""
    commands: list[tuple[str, ...]] = []

    def by_command(name: str, argv: tuple[str, ...], success: str, _hint: str) -> Capability:
        commands.append(argv)
        return Capability(name, True, success)

    monkeypatch.setattr("lab.host.rights.by_command", by_command)
    monkeypatch.setattr("os.geteuid", lambda: 4242)
    return commands


def test_root_needs_no_ranges(monkeypatch: pytest.MonkeyPatch, asked: list[tuple[str, ...]]) -> None:
    monkeypatch.setattr("lab.host.rights.has_range", lambda *_: False)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    answer = user_rights()
    assert (answer.ok, answer.probed.startswith("running as root")) == (True, True)
    assert asked == [(*own_namespace(), "true")]
    assert not {"--map-root-user", "--map-auto"} & set(asked[0])


@pytest.mark.parametrize(
    ("there", "lacking"),
    [((), "/etc/subuid and /etc/subgid"), (("subuid",), "/etc/subgid"), (("subgid",), "/etc/subuid")],
)
def test_user_without_ranges_is_told_which_and_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch, asked: list[tuple[str, ...]], there: tuple[str, ...], lacking: str
) -> None:
    monkeypatch.setattr("lab.host.rights.has_range", lambda path, user: user == 4242 and path.name in there)
    answer = user_rights()
    assert (answer.ok, answer.probed) == (False, f"user 4242 has no range in {lacking}")
    assert answer.hint.endswith(" 4242")
    assert asked == []


def test_user_with_both_ranges_tries_them(monkeypatch: pytest.MonkeyPatch, asked: list[tuple[str, ...]]) -> None:
    monkeypatch.setattr("lab.host.rights.has_range", lambda path, user: (path.parent, user) == (Path("/etc"), 4242))
    assert user_rights().ok
    assert asked == [(*own_namespace(), "true")]
    assert {"--map-root-user", "--map-auto", "--mount-proc", "--pid"} <= set(asked[0])


def test_sandbox_is_tried_with_all_that_a_host_root_is_entered_with(asked: list[tuple[str, ...]]) -> None:
    assert sandbox().ok
    entered = HostRoot(Path("/tree"), "key", (), ()).enter(("true",))
    for words in ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--proc /proc", "--dev-bind /dev /dev", "--ro-bind /sys /sys"):
        assert words in " ".join(entered)
        assert words in " ".join(asked[0])


@pytest.mark.parametrize("probe", [sandbox, user_rights])
@pytest.mark.parametrize("user", [0, 4242])
def test_who_may_not_mount_proc_is_told_of_the_containers(
    monkeypatch: pytest.MonkeyPatch, probe: Callable[[], Capability], user: int
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    monkeypatch.setattr("lab.host.rights.has_range", lambda *_: True)
    monkeypatch.setattr("lab.host.rights.shutil.which", lambda name: name)
    denied = Finished((), 1, "mount /proc failed: Operation not permitted")
    monkeypatch.setattr("lab.host.rights.finish", lambda *_, **__: denied)
    answer = probe()
    assert not answer.ok
    assert "--security-opt systempaths=unconfined" in (answer.hint or "")


@pytest.mark.parametrize(("user", "words"), [(0, ()), (4242, ("--map-root-user",))])
def test_a_network_namespace_is_made_as_the_root_of_one_s_own(
    monkeypatch: pytest.MonkeyPatch, asked: list[tuple[str, ...]], user: int, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    assert network_namespace().ok
    assert asked == [("unshare", *words, "--net", "true")]


def test_command_that_fails_is_a_no_with_its_output() -> None:
    answer = by_command("x", ("sh", "-c", "echo because; exit 3"), "fine", "hint")
    assert not answer.ok
    assert "ended with 3: because" in answer.probed
    assert by_command("x", ("true",), "fine", "hint") == Capability("x", True, "fine")
    assert "not installed" in by_command("x", ("no-such-program",), "fine", "hint").probed


def test_what_is_not_there_is_a_host_error_with_the_hint() -> None:
    require(Capability("x", True, "fine"))
    with pytest.raises(HostError, match="mend it"):
        require(Capability("x", False, "broken", "mend it"))
