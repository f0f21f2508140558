from __future__ import annotations

import stat

import paramiko

from lab.guest.keys import boot_keys


def test_keys_are_fresh_private_and_gone_afterwards() -> None:
    with boot_keys() as one, boot_keys() as two:
        assert one.host_key.asbytes() != two.host_key.asbytes()
        assert one.client_key.asbytes() != one.host_key.asbytes()
        assert one.authorized_key_file.read_text().split()[1] == one.client_key.get_base64()
        for file, key in ((one.host_key_file, one.host_key), (one.client_key_file, one.client_key)):
            assert paramiko.Ed25519Key.from_private_key_file(str(file)).asbytes() == key.asbytes()
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(one.folder.stat().st_mode) == 0o700
    assert not one.folder.exists()
    assert not two.folder.exists()
