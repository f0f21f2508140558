from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lab.guest.keys import PREFIX, boot_keys


def test_keys_are_fresh_private_and_gone_afterwards() -> None:
    with boot_keys() as one, boot_keys() as two:
        assert one.host_key.asbytes() != two.host_key.asbytes()
        assert one.client_key.asbytes() != one.host_key.asbytes()
        assert one.authorized_key_file.read_text().split()[1] == one.client_key.get_base64()
        assert "PRIVATE KEY" in one.host_key_file.read_text()
        assert stat.S_IMODE(one.host_key_file.stat().st_mode) == 0o600
        assert stat.S_IMODE(one.folder.stat().st_mode) == 0o700
    assert not one.folder.exists()
    assert not two.folder.exists()


def test_what_a_killed_lab_left_goes_and_what_is_held_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left, fresh, foreign = tmp_path / f"{PREFIX}left", tmp_path / f"{PREFIX}fresh", tmp_path / "other"
    for folder in (left, fresh, foreign):
        folder.mkdir()
        (folder / "host-key").touch()
    os.utime(left, (1, 1))
    os.utime(foreign, (1, 1))
    with boot_keys() as held:
        os.utime(held.folder, (1, 1))
        with boot_keys():
            assert held.host_key_file.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", fresh.name]
