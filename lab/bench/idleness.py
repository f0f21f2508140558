"""How contexts are watched that have nothing to do: each by itself for long, and in short turns with the guest without any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lab.bench.plan import Measure, Phase, Subject

ALONE = "alone/idle"
"""The subject that is watched as idle contexts are, and has none: on the guest's own processor, our library not loaded."""
IDLE, IDLE_TURN = "idle", "idle_turn"
"""Measurements of idle contexts: for as long as asked for, and for a stretch between two of the guest without any."""
TURNS, STRETCH_S = 6, 5.0
"""How often an idle context has its turn at most, and how long each is watched.

QEMU's own share of an idle guest, some 5 % of a core, moves by 1 to 3 % within minutes, with what else the machine does: a minute
with a context and a minute without say little of each other. A stretch of 5 s between two others differs from their mean by 0.56 %
(standard deviation, over three minutes of a guest that had nothing to do), the mean of six by 0.23 %.
"""


def turns_of(idle_s: float) -> int:
    """How often each idle context has its turn, where one is watched for ``idle_s``: once for ten seconds of that."""
    return min(max(1, round(idle_s / (2 * STRETCH_S))), TURNS)


def stretch_of(idle_s: float) -> float:
    """Seconds of each turn, and of the guest without a context between them."""
    return min(STRETCH_S, idle_s)


def watched_s(idle_s: float, contexts: int) -> float:
    """Seconds for which somebody is watched who has nothing to do, all in all."""
    return contexts * idle_s + (2 * contexts * turns_of(idle_s) + 1) * stretch_of(idle_s)


def idle_phases(alone: Subject, contexts: Mapping[str, Subject], idle_s: float) -> Iterator[Phase]:
    """Each context for ``idle_s``, one after the other; then their turns, with ``alone`` before and behind each."""
    for word, context in contexts.items():
        yield Phase(f"idle {word}", (context,), (idle_measure(IDLE, idle_s),))
    stretch = idle_measure(IDLE_TURN, stretch_of(idle_s))
    for turn in range(turns_of(idle_s)):
        for word, context in contexts.items():
            yield Phase(f"idle turn {turn + 1} before {word}", (alone,), (stretch,))
            yield Phase(f"idle turn {turn + 1} {word}", (context,), (stretch,))
    yield Phase("idle turn end", (alone,), (stretch,))


def idle_measure(name: str, seconds: float) -> Measure:
    """Nothing to do for so long, while somebody looks on."""
    return Measure(name, f"idle ms={round(seconds * 1000)}", limit_s=seconds + 60, watched=True)
