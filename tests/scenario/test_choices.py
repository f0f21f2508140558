"""Words that our guest library would pass over are mistakes in a file like any other."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from lab.errors import ConfigError
from lab.paths import BACKEND_IMPL
from lab.scenario.choices import GUEST_CHOICES
from lab.scenario.expand import expand
from lab.scenario.source import read_source


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("EXTENSIONS=-asynchronus", r"guest\.environment\.GGML_VIRTGPU_EXTENSIONS: knows no 'asynchronus' \(did you mean asynch"),
        ("EXTENSIONS=ring,all", r"EXTENSIONS: knows no 'all' \(known are liveness, "),
        ("EXTENSIONS=-all", "EXTENSIONS: knows no 'all'"),
        ("RING=of", r"RING: knows no 'of' \(did you mean off\?\)"),
        ("WRITE_BEHIND=1", "WRITE_BEHIND: knows no '1'"),
        *((f"EXTENSIONS={chosen}", None) for chosen in ("all", "none", "", "ring,batch", "-ring,-batch")),
        *((chosen, None) for chosen in ("RING=off", "DATA_PATH=copied", "WRITE_BEHIND=on", "LOG=debug", "CALL_DEADLINE_MS=9")),
    ],
)
def test_word_that_our_guest_library_would_pass_over_is_refused(tmp_path: Path, setting: str, told: str | None) -> None:
    path = tmp_path / "file.toml"
    path.write_text('name = "x"\n[[checks]]\nkind = "state"\n')
    with pytest.raises(ConfigError, match=told) if told else nullcontext():
        expand(read_source(path, (f"guest.environment.GGML_VIRTGPU_{setting}",)))


def test_all_such_words_are_told_with_their_lines_and_those_of_other_libraries_are_left(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    variables = 'GGML_VIRTGPU_RING = "of"\nGGML_VIRTGPU_EXTENSIONS = "rng,-bach"'
    text = f'name = "x"\n[guest.environment]\n{variables}\n[[checks]]\nkind = "state"\n'
    path.write_text(f"{text}[matrix]\ncapset = ['apir', 'venus']\n")
    with pytest.raises(ConfigError) as told:
        expand(read_source(path))
    assert [(one.line, one.message) for one in told.value.problems] == [
        (3, "knows no 'of'"), (4, "knows no 'rng'"), (4, "knows no 'bach'"),
    ]  # fmt: skip
    (tmp_path / "libother.so").touch()
    path.write_text(f"{text}[implementation]\nguest = 'libother.so'\n")
    assert len(expand(read_source(path))) == 1


def test_words_are_those_of_the_guest_library() -> None:
    text = (BACKEND_IMPL / "guest" / "config.cpp").read_text()
    for variable, table in re.findall(r'choice\("(\w+)", (\w+),', text):
        words = re.search(rf"{table}\[\] = \{{(.*?)\}};", text, re.DOTALL)
        assert words is not None
        assert set(re.findall(r'"(\w+)"', words[1])) == set(GUEST_CHOICES[variable])
