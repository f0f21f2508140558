"""Keys for one boot: the guest's host key and the only key it lets in, made before the guest starts, gone after it.

They reach the guest through QEMU's firmware configuration (``-fw_cfg``), so the image stays the same for everybody.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import paramiko
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from lab.temporary import temporary_folder


@dataclass(frozen=True, slots=True)
class BootKeys:
    """What both sides hold: the files for the guest, and for us its host key and our own."""

    folder: Path
    host_key: paramiko.PKey
    client_key: paramiko.PKey

    @property
    def host_key_file(self) -> Path:
        """The guest's private host key."""
        return self.folder / "host-key"

    @property
    def authorized_key_file(self) -> Path:
        """The public key that the guest lets in."""
        return self.folder / "authorized-key"

    @property
    def client_key_file(self) -> Path:
        """Our private key, for an ssh program beside ours."""
        return self.folder / "client-key"


@contextlib.contextmanager
def boot_keys() -> Iterator[BootKeys]:
    """Two fresh ed25519 key pairs in a folder that only we can read and that goes with the context."""
    with temporary_folder("keys") as folder:
        host, client = _private_key(), _private_key()
        keys = BootKeys(folder, _loaded(host), _loaded(client))
        _write(keys.host_key_file, host)
        _write(keys.client_key_file, client)
        _write(keys.authorized_key_file, f"{keys.client_key.get_name()} {keys.client_key.get_base64()} lab\n")
        yield keys


def _private_key() -> str:
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()


def _loaded(private_key: str) -> paramiko.PKey:
    return paramiko.Ed25519Key(file_obj=io.StringIO(private_key))


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text, encoding="ascii")
