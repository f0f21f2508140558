from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.ggml import generation, listing
from lab.ggml.generation import GENERATIONS, backends_folder, ggml_package, ggml_version, loaded
from lab.ggml.library import GgmlError, GoneOperation
from lab.ggml.operations import GONE, OPERATIONS
from lab.ggml.tensor import Context


def test_package_is_the_newest_that_is_there() -> None:
    assert ggml_version({"bash": "5"}) is None
    assert ggml_version({"libggml0": "0.27.0-1"}) == "0.27.0-1"
    both = {"libggml0": "0.27.0-1", "libggml1": "1.0.0-1"}
    assert (ggml_package(both), ggml_version(both)) == ("libggml1", "1.0.0-1")


def test_backends_are_where_the_tree_has_them(tmp_path: Path) -> None:
    assert backends_folder(tmp_path).name == "backends0"
    for number in sorted(GENERATIONS):
        (tmp_path / generation.FOLDER / f"backends{number}").mkdir(parents=True)
        assert backends_folder(tmp_path) == generation.FOLDER / f"backends{number}"


@pytest.mark.parametrize("load", [loaded, listing._loaded])
@pytest.mark.parametrize("there", [(0,), (1,), (0, 1), ()])
def test_library_is_the_newest_that_the_loader_finds(monkeypatch: pytest.MonkeyPatch, load: object, there: tuple[int, ...]) -> None:
    def cdll(name: str, mode: int) -> str:
        assert mode == ctypes.RTLD_GLOBAL
        if int(name.rpartition(".")[2]) not in there:
            raise OSError(f"{name}: cannot open shared object file")
        return name

    monkeypatch.setattr(ctypes, "CDLL", cdll)
    assert callable(load)
    if there:
        assert load("libggml-base") == f"libggml-base.so.{max(there)}"
    else:
        with pytest.raises(OSError, match=r"libggml-base\.so\.0"):
            load("libggml-base")


def test_script_that_goes_alone_knows_the_same_generations() -> None:
    assert listing.GENERATIONS == GENERATIONS


def test_operation_that_is_gone_is_told_from_one_that_fails() -> None:
    assert set(OPERATIONS) >= GONE
    ggml = SimpleNamespace(operations={"add": lambda *_: 0}, text=lambda _name: "1.0.0")
    context = Context.__new__(Context)
    object.__setattr__(context, "ggml", ggml)
    object.__setattr__(context, "address", 1)
    with pytest.raises(GoneOperation, match=r"ggml 1\.0\.0 has it no longer"):
        context.operation("diag_mask_inf", 2, 0)
    with pytest.raises(GgmlError, match="returned nothing") as failed:
        context.operation("add", 2, 3)
    assert not isinstance(failed.value, GoneOperation)
    with pytest.raises(KeyError):
        context.operation("mul", 2, 3)
