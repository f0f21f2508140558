from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from lab.image import cpio

ENTRIES = (cpio.folder("d"), cpio.file("d/f", b"bytes", 0o755), cpio.link("d/l", "f"), cpio.character_device("c", 5, 1))


def test_header_of_the_first_member() -> None:
    data = cpio.archive((cpio.file("abc", b"12345", 0o644),))
    assert data[:6] == b"070701"
    assert data[14:22] == b"000081a4"
    assert data[54:62] == b"00000005"
    assert data[110:114] == b"abc\0"
    assert data[116:121] == b"12345"
    assert len(data) % 4 == 0
    assert b"TRAILER!!!" in data


def test_device_has_its_numbers_where_the_kernel_looks_for_them() -> None:
    fields = [int(text, 16) for text in re.findall(b".{8}", cpio.archive((cpio.character_device("c", 5, 1),))[6:110])]
    assert (fields[1], fields[7:11]) == (0o20600, [0, 0, 5, 1])


def test_same_entries_give_the_same_bytes() -> None:
    assert cpio.archive(ENTRIES) == cpio.archive(ENTRIES)


@pytest.mark.skipif(shutil.which("cpio") is None, reason="the program cpio is not installed")
def test_cpio_itself_reads_it() -> None:
    data = cpio.archive(ENTRIES)
    listed = subprocess.run(("cpio", "-tv"), input=data, capture_output=True, check=True).stdout.decode()
    assert "d/l -> f" in listed
    assert "5,   1" in listed
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run(("cpio", "-t"), input=data[:100], capture_output=True, check=True)
