from __future__ import annotations

import stat

from lab.guest.keys import boot_keys


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
