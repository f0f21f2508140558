"""Every rule of the schema's checker refuses a bad schema, with its key path; the checked-in codecs are what the schema gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backend_impl.protocol import __main__ as generator
from backend_impl.protocol import schema
from lab.errors import ConfigError

pytestmark = pytest.mark.protocol

GOOD = """
[protocol]
name = "apir"
major = 0
minor = 2
doc = "d"

[[constants]]
name = "most"
value = 7
doc = "d"

[[messages]]
name = "hello"
doc = "d"
fields = [{ name = "m", type = "u32", doc = "d" }]

[[enums]]
name = "kind"
type = "u32"
doc = "d"
values = [{ name = "one", value = 1, doc = "d" }, { name = "two", value = 2, doc = "d" }]

[[structs]]
name = "pair"
size = 16
doc = "d"
fields = [{ name = "a", type = "u32", offset = 0, doc = "d" }, { name = "b", type = "u64", offset = 8, doc = "d" }]

[[extensions]]
name = "more"
bit = 0
since = [0, 2]
by = "component"
doc = "d"

[[extensions]]
name = "other"
bit = 1
since = [0, 2]
by = "host_library"
doc = "d"

[[calls]]
name = "first"
number = 1
doc = "d"
request = [{ name = "x", type = "u32", doc = "d" }, { name = "y", type = "list<pair>", optional = true, doc = "d" }]
reply = [{ name = "r", type = "u32", doc = "d" }]
"""

BAD = {
    "unknown key": ("size = 16", "size = 16\ncolour = 1", "structs[0].colour"),
    "wrong type": ("number = 1", 'number = "1"', "calls[0].number"),
    "not snake_case": ('name = "first"', 'name = "First"', "calls[0].name"),
    "a word of C++": ('name = "first"', 'name = "operator"', "calls[0].name"),
    "a word of Python": ('name = "first"', 'name = "lambda"', "calls[0].name"),
    "constant's name": ('name = "most"', 'name = "Most"', "constants[0].name"),
    "struct's name": ('name = "pair"', 'name = "Pair"', "structs[0].name"),
    "struct's field name twice": ('name = "b"', 'name = "a"', "structs[0].fields[1].name"),
    "message's name": ('name = "hello"', 'name = "Hello"', "messages[0].name"),
    "message's unknown type": ('name = "m", type = "u32"', 'name = "m", type = "u33"', "messages[0].fields[0].type"),
    "reply's unknown type": ('name = "r", type = "u32"', 'name = "r", type = "u33"', "calls[0].reply[0].type"),
    "empty doc": ('number = 1\ndoc = "d"', 'number = 1\ndoc = " "', "calls[0].doc"),
    "name twice": ('name = "y"', 'name = "x"', "calls[0].request[1].name"),
    "enum name twice": ('name = "two"', 'name = "one"', "enums[0].values[1].name"),
    "enum value twice": ("value = 2", "value = 1", "enums[0].values[1].value"),
    "negative u32": ("value = 2", "value = -2", "enums[0].values[1].value"),
    "number taken": ("number = 1\n", 'number = 1\ndoc = "d"\n\n[[calls]]\nname = "second"\nnumber = 1\n', "calls[1].number"),
    "retired number": ("[protocol]", "retired_calls = [1]\n[protocol]", "calls[0].number"),
    "negative number": ("number = 1", "number = -1", "calls[0].number"),
    "extension without name": ("number = 1", "number = 64", "calls[0].extension"),
    "extension name on a base call": ("number = 1", 'number = 1\nextension = "e"', "calls[0].extension"),
    "unknown extension": ("number = 1", 'number = 64\nextension = "e"', "calls[0].extension"),
    "extension bit taken": ("bit = 1", "bit = 0", "extensions[1].bit"),
    "extension bit too high": ("bit = 1", "bit = 64", "extensions[1].bit"),
    "extension bit below none": ("bit = 1", "bit = -1", "extensions[1].bit"),
    "deprecated of the future": ("number = 1", "number = 1\ndeprecated = [0, 3]", "calls[0].deprecated"),
    "extension of the future": ("since = [0, 2]", "since = [0, 3]", "extensions[0].since"),
    "extension of nobody": ('by = "component"', 'by = "guest"', "extensions[0].by"),
    "extension name twice": ('name = "other"', 'name = "more"', "extensions[1].name"),
    "since of the future": ("number = 1", "number = 1\nsince = [0, 3]", "calls[0].since"),
    "unknown type": ('name = "x", type = "u32"', 'name = "x", type = "u33"', "calls[0].request[0].type"),
    "unknown item type": ("list<pair>", "list<string>", "calls[0].request[1].type"),
    "optional in the middle": (
        '{ name = "x", type = "u32", doc',
        '{ name = "z", type = "u8", optional = true, doc = "d" }, { name = "x", type = "u32", doc',
        "calls[0].request[1].optional",
    ),
    "unknown struct type": ('type = "u32", offset = 0', 'type = "bool", offset = 0', "structs[0].fields[0].type"),
    "empty count": ("offset = 0,", "offset = 0, count = 0,", "structs[0].fields[0].count"),
    "overlap": ("offset = 0,", "offset = 0, count = 3,", "structs[0].fields[1].offset"),
    "overlap by a byte": (
        'type = "u32", offset = 0, doc = "d" }, { name = "b", type = "u64"',
        'type = "char", count = 9, offset = 0, doc = "d" }, { name = "b", type = "u64"',
        "structs[0].fields[1].offset",
    ),
    "misaligned": ("offset = 8", "offset = 4", "structs[0].fields[1].offset"),
    "beyond the end": ("size = 16", "size = 12", "structs[0].fields[1].offset"),
    "not TOML": ("[protocol]", "[protocol", ""),
}  # fmt: skip


def loaded(text: str, folder: Path) -> schema.Schema:
    path = folder / "schema.toml"
    path.write_text(text, encoding="utf-8")
    return schema.load(path)


def test_good_schema_is_accepted(tmp_path: Path) -> None:
    assert [call.name for call in loaded(GOOD, tmp_path).calls] == ["first"]


@pytest.mark.parametrize("rule", BAD)
def test_bad_schema_is_refused_with_its_key_path(rule: str, tmp_path: Path) -> None:
    old, new, key = BAD[rule]
    assert old in GOOD
    with pytest.raises(ConfigError) as caught:
        loaded(GOOD.replace(old, new, 1), tmp_path)
    assert key in [problem.key for problem in caught.value.problems]


def test_all_problems_are_told_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(GOOD.replace("value = 2", "value = 1").replace("offset = 8", "offset = 4"), tmp_path)
    assert len(caught.value.problems) == 2


def test_checked_in_codecs_are_what_the_schema_gives() -> None:
    for path, text in generator.generated().items():
        assert path.read_text(encoding="utf-8") == text, f"run `python -m backend_impl.protocol`: {path} is stale"


def test_generator_tells_what_is_stale_and_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ran(*words: str) -> int:
        monkeypatch.setattr("sys.argv", ["protocol", *words])
        return generator.main()

    files = {tmp_path / "made" / "codec.py": "new\n", tmp_path / "made" / "vectors.json": '{"hello": "0102"}'}
    for name, value in (("PROJECT", tmp_path), ("VECTORS", [*files][1]), ("CORPUS", tmp_path / "corpus")):
        monkeypatch.setattr(generator, name, value)
    monkeypatch.setattr(generator, "generated", lambda _schema: files)
    assert (ran("--check"), [*tmp_path.iterdir()]) == (1, [])
    assert (ran(), ran("--check")) == (0, 0)
    assert (tmp_path / "corpus" / "hello.bin").read_bytes() == b"\0\0\0\0\1\2"
    (tmp_path / "corpus" / "hello.bin").write_bytes(b"old")
    assert ran("--check") == 1


def test_generator_refuses_a_bad_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad.toml").write_text("[protocol")
    monkeypatch.setattr("sys.argv", ["protocol", "--check", "--schema", str(tmp_path / "bad.toml")])
    assert generator.main() == 2


def test_every_message_is_in_the_corpus_of_the_fuzz_target() -> None:
    vectors = generator.VECTORS.read_text(encoding="utf-8")
    assert len(generator.seeds(vectors)) == len(json.loads(vectors))
    for path, content in generator.seeds(vectors).items():
        assert path.read_bytes() == content, f"run `python -m backend_impl.protocol`: {path} is stale"


def test_every_call_of_the_base_protocol_is_described() -> None:
    numbers = [call.number for call in schema.load(generator.SCHEMA).calls if call.extension is None]
    assert numbers == list(range(23))
