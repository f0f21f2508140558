"""Files copied to and from a guest over a channel that is no SSH: what it says of them need not be so."""

from __future__ import annotations

import contextlib
import stat
from pathlib import Path
from types import SimpleNamespace

import paramiko
import pytest

from lab.errors import GuestError, GuestLost
from lab.guest import ssh
from lab.guest.ssh import GuestShell
from tests.guest.channels import Transport, shell

FILE = stat.S_IFREG | 0o644


@pytest.mark.parametrize("bound", [{}, {"most_bytes": 10}], ids=["of its own", "as asked"])
def test_file_that_is_too_large_is_refused_before_its_first_byte(
    bound: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = bound.get("most_bytes", (1 << 60) - 1) + 1
    sparse = SimpleNamespace(stat=lambda _remote: SimpleNamespace(st_size=size, st_mode=FILE), close=lambda: None)
    monkeypatch.setattr("paramiko.SFTPClient", lambda _channel: sparse)
    with pytest.raises(GuestError, match=f"the guest's /values has {size} bytes"):
        shell(b"").get("/values", tmp_path / "values", **bound)
    assert not (tmp_path / "values").exists()


@pytest.mark.parametrize(
    ("kind", "told"), [(stat.S_IFDIR, "is no file"), (stat.S_IFIFO, "is no file"), (None, "is not there, or leads nowhere")]
)
def test_what_is_no_file_is_the_guests_word(kind: int | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(_remote: str) -> SimpleNamespace:
        if kind is None:
            raise FileNotFoundError(2, "No such file")
        return SimpleNamespace(st_size=4096, st_mode=kind | 0o755)

    monkeypatch.setattr("paramiko.SFTPClient", lambda _channel: SimpleNamespace(stat=found, close=lambda: None))
    with pytest.raises(GuestError, match=f"the guest's /values {told}") as error:
        shell(b"").get("/values", tmp_path / "values")
    assert type(error.value) is GuestError, "nothing of the way here"


def test_file_that_grows_while_it_is_fetched_is_fetched_up_to_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/zero", "rb") as endless:
        theirs = SimpleNamespace(prefetch=lambda *_: None, read=lambda size: endless.read(size if endless.tell() < 1 << 20 else 0))
        growing = SimpleNamespace(
            stat=lambda _: SimpleNamespace(st_size=10, st_mode=FILE),
            open=lambda *_: contextlib.nullcontext(theirs),
            close=lambda: None,
        )
        monkeypatch.setattr("paramiko.SFTPClient", lambda _channel: growing)
        with pytest.raises(GuestError, match="differ"):
            shell(b"").get("/values", tmp_path / "values", most_bytes=10)
    assert (tmp_path / "values").stat().st_size == 10


@pytest.mark.parametrize(
    "answer",
    [paramiko.SFTPError("Garbage packet received"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")],
    ids=["no answer", "no text"],
)
def test_answer_of_a_guest_that_is_none_is_an_error_of_the_guest(
    answer: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_remote: str) -> None:
        raise answer

    broken = SimpleNamespace(stat=refuse, close=lambda: None)
    monkeypatch.setattr("paramiko.SFTPClient", lambda _channel: broken)
    with pytest.raises(GuestError, match="copying a file to or from the guest failed"):
        shell(b"").get("/values", tmp_path / "values")


def test_file_whose_hash_the_guest_does_not_tell_did_not_arrive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taking = SimpleNamespace(putfo=lambda *_, **__: None, chmod=lambda *_: None, close=lambda: None)
    monkeypatch.setattr("paramiko.SFTPClient", lambda _channel: taking)
    (tmp_path / "library").write_text("whole")
    with pytest.raises(GuestError, match=r"differ: SHA-256 [0-9a-f]{64} here, none there"):
        shell(b"").put(tmp_path / "library", "/library")


def test_file_is_copied_with_its_rights_or_with_those_that_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rights: list[int] = []
    taking = SimpleNamespace(putfo=lambda *_, **__: None, chmod=lambda _path, mode: rights.append(mode), close=lambda: None)
    monkeypatch.setattr("paramiko.SFTPClient", lambda _channel: taking)
    asked: list[str] = []
    monkeypatch.setattr(GuestShell, "succeed", lambda _self, command, _limit: asked.append(command) or f"{ssh.sha256(file)}  -\n")
    file = tmp_path / "library"
    file.touch()
    file.chmod(0o750)
    for mode in ({}, {"mode": 0o600}):
        shell(b"").put(file, "/a b", **mode)
    assert rights == [0o750, 0o600]
    assert asked == ["sha256sum < '/a b'"] * 2


def test_copy_over_a_connection_that_broke_tells_of_the_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_channel: object) -> None:
        raise EOFError

    monkeypatch.setattr(ssh, "REASON_S", 0.0)
    monkeypatch.setattr("paramiko.SFTPClient", broken)
    monkeypatch.setattr(Transport, "is_active", lambda _self: False)
    with pytest.raises(GuestLost, match="the SSH connection broke while a file was copied"):
        shell(b"").get("/x", tmp_path / "x")
