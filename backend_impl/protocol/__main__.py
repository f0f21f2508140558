"""Generate the codecs, or with ``--check`` tell whether the checked-in ones are what the schema gives."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from backend_impl.protocol import emit_cpp, emit_golden, emit_python, schema
from lab.errors import ConfigError
from lab.paths import PROJECT

SCHEMA = Path(__file__).with_name("apir.toml")
NATIVE = PROJECT / "backend_impl"
VECTORS = NATIVE / "protocol" / "golden_gen.json"
CORPUS = NATIVE / "fuzz" / "corpus" / "codec"


def generated(path: Path = SCHEMA) -> dict[Path, str]:
    """Text of every generated file by its path. Raises ConfigError for a bad schema."""
    protocol = schema.load(path)
    python = formatted(emit_python.emit(protocol))
    codec = ModuleType("lab.apir.protocol_gen")
    # Registered under its own name because dataclasses look their module up.
    sys.modules[codec.__name__ + "_new"] = codec
    codec.__name__ += "_new"
    exec(compile(python, "protocol_gen.py", "exec"), codec.__dict__)  # noqa: S102 - our own text, made a line above
    return {
        NATIVE / "wire" / "apir_gen.hpp": emit_cpp.emit(protocol),
        PROJECT / "lab" / "apir" / "protocol_gen.py": python,
        VECTORS: emit_golden.emit_json(protocol, codec),
        NATIVE / "tests" / "golden_gen.hpp": emit_golden.emit_cpp(protocol, codec),
    }


def seeds(vectors: str) -> dict[Path, bytes]:
    """Inputs of ``fuzz-codec`` to begin with: the number that chooses a message there, in four bytes, and its golden bytes."""
    golden: dict[str, str] = json.loads(vectors)
    return {
        CORPUS / f"{name}.bin": number.to_bytes(4, "little") + bytes.fromhex(text)
        for number, (name, text) in enumerate(golden.items())
    }


def formatted(source: str) -> str:
    """Python source as ``ruff format`` writes it."""
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", "lab/apir/protocol_gen.py", "-"],
        input=source, capture_output=True, text=True, check=True, cwd=PROJECT,
    )  # fmt: skip
    return done.stdout


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--schema", type=Path, default=SCHEMA)
    options = parser.parse_args()
    try:
        texts = generated(options.schema)
    except ConfigError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a program's message
        return 2
    files = {path: text.encode() for path, text in texts.items()} | seeds(texts[VECTORS])
    stale = [path for path, content in files.items() if not path.exists() or path.read_bytes() != content]
    if options.check:
        for path in stale:
            print(f"{path.relative_to(PROJECT)} is not what the schema gives", file=sys.stderr)  # noqa: T201 - a program's message
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(files[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
