"""The folder in which compiled shaders outlive a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.errors import ConfigError
from lab.host.root import Bind
from lab.host.shaders import SHADER_CACHE, shader_binds, shader_cache


def test_the_lab_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTGPU_LAB_CACHE", str(tmp_path / "cache"))
    folder = shader_cache()
    assert folder == tmp_path / "cache" / "shaders"
    assert shader_binds({SHADER_CACHE: str(folder)}) == (Bind(folder, writable=True),)
    assert folder.is_dir()


def test_programs_that_name_none_reach_none() -> None:
    assert shader_binds({"VK_DRIVER_FILES": "/icd.json"}) == ()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as told:
        shader_binds({SHADER_CACHE: str(tmp_path / "file" / "shaders")})
    assert f"{SHADER_CACHE}: {tmp_path / 'file' / 'shaders'} cannot be made: Not a directory" in str(told.value)
