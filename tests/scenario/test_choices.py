"""What a guest would find out, or pass over, is a mistake in a file like any other."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from lab.errors import ConfigError
from lab.host.root import HostRoot
from lab.paths import BACKEND_IMPL
from lab.scenario.choices import GUEST_CHOICES
from lab.scenario.expand import expand
from lab.scenario.file import image_names
from lab.scenario.lie_forms import GGML_OPS, KEYS, NEEDED, RESULT
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


LIES = [
    ("honest", None),
    ("flip:op=ADD,bit=0,element=last; deny:op=VIEW # a comment; of no lie\n claim", None),
    (" slow : op = SILU , ms = 600 , nth = 2 ; leak:bytes=1,once=/tmp/told;", None),
    ("flp:bit=0", r"'flp:bit=0': there is no lie 'flp' \(did you mean flip\?\)"),
    ("crash; honest", "'honest' stands alone"),
    (" ;\n# nothing", "tells the liar nothing"),
    ("wrong:op=MULMAT", r"'wrong:op=MULMAT': ggml has no op 'MULMAT' \(did you mean MUL_MAT\?\)"),
    ("wrong:op=GRAPH", "ggml has no op 'GRAPH'"),
    ("wrong:op=UNARY", "ggml has no op 'UNARY'"),
    ("deny:op=GLU", "ggml has no op 'GLU'"),
    ("wrong:op=add", r"ggml has no op 'add' \(did you mean ADD\?\)"),
    ("wrong:op=any", r"ggml has no op 'any' \(lab ops lists most of them\)"),
    ("flip:op=ADD", "it needs bit=N"),
    ("deny:nth=1", r"deny has no key 'nth' \(known are op\)"),
    ("flip:bit=-1", "bit is '-1', which is no number"),
    ("slow:ms=18446744073709551616", "which is no number"),
    (f"leak:bytes={'9' * 5000}", "which is no number"),
    ("stale:nth=0", "nth counts from 1"),
    ("hang:once=told", "once has to be an absolute path"),
    ("crash:nth=1,nth=2", "nth stands twice"),
    ("crash:", "'' is no key=value"),
]


@pytest.mark.parametrize(("lies", "told"), LIES)
@pytest.mark.parametrize("in_a_check", [True, False], ids=["check", "variable"])
def test_lie_that_the_liar_does_not_know_is_refused(tmp_path: Path, lies: str, told: str | None, in_a_check: bool) -> None:
    path = tmp_path / "file.toml"
    caught = f"lies = {json.dumps(lies)}\ncaught = [{{ case = 'ADD()' }}]\njudge = {{ kind = 'catalog', cases = ['ADD()'] }}"
    of_check, of_host = (f"kind = 'lie'\n{caught}", "") if in_a_check else ("kind = 'state'", f"GGML_LIAR = {json.dumps(lies)}")
    text = f'name = "x"\n[host]\nggml_library = "liar"\n[host.environment]\n{of_host}\n[[checks]]\n{of_check}\n'
    path.write_text(text)
    place = r"line 8: checks\[0\]\.lies: " if in_a_check else r"line 5: host\.environment\.GGML_LIAR: "
    with pytest.raises(ConfigError, match=f"{place}.*{told}") if told else nullcontext():
        expand(read_source(path))


@pytest.mark.parametrize("image", sorted(image_names()))
def test_llama_needs_an_image_that_has_it(tmp_path: Path, image: str) -> None:
    path = tmp_path / "file.toml"
    path.write_text(f'name = "x"\n[guest]\nimage = "{image}"\n[[checks]]\nkind = "llama"\n')
    told = rf"line 3: guest\.image: {image} has no llama\.cpp, which a check of kind llama needs \(images with it: guest-llama\)"
    with pytest.raises(ConfigError, match=told) if image != "guest-llama" else nullcontext():
        expand(read_source(path))


@pytest.mark.parametrize(("lies", "library"), [("@/somewhere/lies", "liar"), ("flp", "cpu")])
def test_lies_in_a_file_and_of_no_liar_are_left(tmp_path: Path, lies: str, library: str) -> None:
    path = tmp_path / "file.toml"
    path.write_text('name = "x"\n[[checks]]\nkind = "state"\n')
    settings = (f"host.environment.GGML_LIAR={lies}", f"host.ggml_library={library}")
    assert len(expand(read_source(path, settings))) == 1


WRONG_VARIANTS = """\
name = "x"

[guest.environment]
GGML_VIRTGPU_RING = "off"

[matrix]
image = ["guest-llama", "guest-7"]

[[checks]]
kind = "state"

[[variants]]
name = "one"
checks = [{ kind = "llama" }]

[[variants]]
name = "two"

[variants.guest.environment]
GGML_VIRTGPU_RING = "of"
"""


def test_what_a_variant_chooses_wrongly_is_told_where_it_chooses(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text(WRONG_VARIANTS)
    with pytest.raises(ConfigError) as told:
        expand(read_source(path))
    assert [(one.line, one.key) for one in told.value.problems] == [
        (7, "matrix.image"), (20, "variants[1].guest.environment.GGML_VIRTGPU_RING"),
    ]  # fmt: skip
    lie = (
        'checks = [{ kind = "state" }, { kind = "lie", lies = "honst", caught = [{ case = "A()" }], judge = { kind = "catalog" } }]'
    )
    path.write_text(WRONG_VARIANTS.replace('checks = [{ kind = "llama" }]', f'host.ggml_library = "liar"\n{lie}'))
    with pytest.raises(ConfigError) as told:
        expand(read_source(path))
    assert (told.value.problems[0].line, told.value.problems[0].key) == (15, "variants[0].checks[1].lies")


def test_lies_are_those_of_the_liar() -> None:
    text = (BACKEND_IMPL / "liar" / "lies.cpp").read_text()
    forms = re.findall(r'\{"(\w+)", Kind::\w+, (?:"(\w+)"|nullptr), (true|false), (true|false)\}', text)
    assert {word: amount for word, amount, *_ in forms if amount} == NEEDED
    assert {
        word: (*filter(None, [amount]), *(["element"] if element == "true" else []), *(RESULT if result == "true" else []))
        for word, amount, element, result in forms
    } == KEYS


@pytest.mark.protocol
def test_ops_that_can_be_lied_about_are_ggmls(root: HostRoot) -> None:
    header = (root.path / "usr" / "include" / "ggml.h").read_text()
    names = set(re.findall(r"^ {8}GGML_(?:UNARY_|GLU_)?OP_(?!POOL_(?:MAX|AVG|COUNT))(\w+)(?: = 0)?,", header, re.MULTILINE))
    assert names - {"COUNT", "UNARY", "GLU"} == GGML_OPS


def test_words_are_those_of_the_guest_library() -> None:
    text = (BACKEND_IMPL / "guest" / "config.cpp").read_text()
    tables = dict(re.findall(r'choice\("(\w+)", (\w+),', text))
    assert tables.keys() == GUEST_CHOICES.keys() - {"GGML_VIRTGPU_EXTENSIONS"}  # whose words are the protocol's
    for variable, table in tables.items():
        words = re.search(rf"{table}\[\] = \{{(.*?)\}};", text, re.DOTALL)
        assert words is not None
        assert set(re.findall(r'"(\w+)"', words[1])) == set(GUEST_CHOICES[variable])
