"""What becomes of a case that is computed."""

from __future__ import annotations

from dataclasses import dataclass

from lab.ggml.types import Bytes, Type
from lab.ops.hashes import blake2b

DIGEST_BYTES = 16
COMPUTED, UNSUPPORTED, ERROR = "computed", "unsupported", "error"


@dataclass(frozen=True, slots=True)
class Output:
    """One result: its type, its sizes, and its elements without gaps."""

    type: Type
    ne: tuple[int, ...]
    data: Bytes


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a case: ``outcome`` is computed, unsupported or error; ``outputs`` are those of every round.

    ``text`` is why there was an error; of a case that was computed, how it failed before, together with others of which each was
    computed alone, too.
    """

    case: str
    outcome: str
    outputs: tuple[Output, ...] = ()
    text: str = ""
    duration_ns: int = 0
    batch: int = 0

    @property
    def digest(self) -> str:
        """Of types, sizes and every bit of the results; empty when there are none."""
        if self.outcome != COMPUTED:
            return ""
        digest = blake2b(digest_size=DIGEST_BYTES)
        for output in self.outputs:
            digest.update(f"{int(output.type)}:{output.ne};".encode())
            digest.update(output.data)
        return digest.hexdigest()
