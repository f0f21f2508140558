"""What the figures are held against: thresholds as data, and whether they are met."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lab.bench.answer import Answer
from lab.bench.figures import GIB
from lab.bench.idleness import STRETCH_S, TURNS
from lab.bench.standard import CONTRACT_SIZES, LOOPBACK, SIZES

COPY_SHARE = 0.8
EXECBUFFER, PLAIN = ("EXECBUFFER", "vm_execbuffer"), ("0.2", "vm_02")
"""Ways without a ring, which are held to the same bounds: their names in labels and in the answer."""
IDLE_SIDES = {"guest": "guest", "worker": "worker", "qemu_more": "added to QEMU"}
"""Who takes processor time for an idle context, by keys of the answer."""
IDLE_S = {"guest": ("seconds", 59.0), "worker": ("seconds", 59.0), "qemu_more": ("qemu_more_seconds", 0.98 * TURNS * STRETCH_S)}
"""By how long an idle context is judged: the answer's key, and seconds: a minute, and all of its turns; a clock may be early."""
ROUNDING = 1e-9
"""Figures are products and quotients of others."""


@dataclass(frozen=True, slots=True)
class Necessity:
    """What a figure cannot do without: measured in the same run, with no library around it.

    Attributes:
        figure: key path in the answer: microseconds that come to everything else, or the rate of the whole.
        name: for people.
        whole: it is that rate, in GiB/s.
    """

    figure: str
    name: str
    whole: bool = False


EXCHANGE = Necessity("ioctl_answered_us.p50", "the bare ioctl and its answer")
SUBMISSION = Necessity("ioctl_us.p50", "the bare ioctl, its answer not waited for")
TRANSFERS = {"set": SUBMISSION, "get": EXCHANGE}
"""Of a transfer without a ring: nobody need wait until the host has taken over what it finds."""
DEFERRED_BYTES = 1 << 20
"""Writes of up to so many bytes are left to go along with the next call, where there are extensions: they need no submission.

``most_deferred`` of the guest library's ``copied_buffer.cpp``.
"""
TAIL = (
    Necessity("ioctl_answered_us.p99", EXCHANGE.name),
    Necessity("ioctl_us.p99", SUBMISSION.name),
)
AFTER_PAUSE = (
    Necessity("ioctl_answered_after_pause_us.p50", EXCHANGE.name),
    Necessity("ioctl_after_pause_us.p50", SUBMISSION.name),
    Necessity("ioctl_after_pause_us.spread.min", "the quickest of all bare ioctls after a pause, its answer not waited for"),
)


@dataclass(frozen=True, slots=True)
class Target:
    """A bound of one figure.

    Attributes:
        label: what is measured, for people.
        figure: key path in the answer, with dots.
        limit: the bound itself, or the factor of ``floor``.
        floor: key path of a figure of the same run that ``limit`` is a multiple of; empty: ``limit`` stands alone.
        or_limit: an absolute bound that is enough, too.
        at_least: the figure must not be below the bound; else it must not be above.
        per: key path of a figure that ``figure`` is divided by; empty: by nothing.
        unit: of the figure.
        needs: what the figure cannot do without; the first one that the bound has no room for is told. Empty: no such floor.
        size: bytes of a transfer whose rate ``figure`` is; 0: it is a duration.
        over: key path of how long the figure was watched, in seconds; empty: that does not matter.
        least_s: a figure that was watched for less says nothing yet: work that ends after a second weighs 60 times as much in one.
        part: the first word of the phases that measure it.
    """

    label: str
    figure: str
    limit: float
    floor: str = ""
    or_limit: float | None = None
    at_least: bool = False
    per: str = ""
    unit: str = "µs"
    needs: tuple[Necessity, ...] = ()
    size: int = 0
    over: str = ""
    least_s: float = 0
    part: str = ""

    @property
    def place(self) -> str:
        """Where it is measured: ``loopback`` or ``vm``."""
        return LOOPBACK if self.figure.startswith(f"{LOOPBACK}.") else "vm"

    @property
    def floor_name(self) -> str:
        """The floor, for people."""
        return "the ioctl" if self.floor.startswith("ioctl") else "the best copy loop"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target with what was seen. ``met`` is None when it was not measured, or not for long enough.

    ``quietest``: of a median, the quietest repetition's own: what a noisy machine hides. ``best``: what ``need`` leaves room for,
    in the figure's unit; None where there is no such floor. Neither decides. ``too_short``: it was measured, for less than the
    target needs.
    """

    target: Target
    seen: float | None
    bound: float | None
    met: bool | None
    quietest: float | None = None
    best: float | None = None
    need: str = ""
    too_short: bool = False

    @property
    def out_of_reach(self) -> bool:
        """Not met, and by this run's floors no guest library could have.

        The bare exchange passes through the same QEMU, component and worker: whether those could be quicker it does not tell.
        """
        if self.met is not False or self.best is None or self.bound is None or self.seen is None:
            return False
        return rules_out(self.best, self.target, self.seen, self.bound)


def both_ends(verb: str, size: str) -> Necessity:
    """The copying of guest and host, as little as it can be, shared out among the host's processors without loss."""
    return Necessity(f"both_ends_{verb}_gib_s.{size}", "guest's and host's copying, shared out among all processors", whole=True)


def transfer_needs(verb: str, size: str, way: str) -> tuple[Necessity, ...]:
    """What a transfer cannot do without, by the way that commands go."""
    alone = way == PLAIN[1] or (way == EXECBUFFER[1] and not (verb == "set" and SIZES[size] <= DEFERRED_BYTES))
    commands = (TRANSFERS[verb],) if alone else ()
    return (*commands, both_ends(verb, size))


def latencies(
    label: str,
    key: str,
    ring_us: tuple[float, ...],
    factors: tuple[float, ...],
    enough_us: float | None = None,
    *,
    deferred: bool = False,
) -> Iterator[Target]:
    """p50 (and p99) of a call: absolute with the ring, multiples of the ioctl without.

    ``deferred``: no answer need be awaited, and where there are extensions nothing need be sent.
    """
    for quantile, limit in zip(("p50", "p99"), ring_us, strict=False):
        yield Target(f"{label}, {quantile}, ring", f"vm.{key}.{quantile}", limit, part="calls")
    for name, way in (EXECBUFFER, PLAIN):
        needed = () if deferred and (name, way) != PLAIN else (SUBMISSION if deferred else EXCHANGE,)
        for quantile, factor in zip(("p50", "p99"), factors, strict=False):
            enough = enough_us if quantile == "p50" else None
            yield Target(
                f"{label}, {quantile}, {name}", f"{way}.{key}.{quantile}", factor, "ioctl_us.p50", enough,
                needs=TAIL if quantile == "p99" and needed else needed, part="calls",
            )  # fmt: skip


def targets() -> tuple[Target, ...]:
    """All of them, in the order of the table.

    Without extensions every graph travels whole, for 0.2 has no ids of graphs: no bound of its bytes. Nor does a write go along
    with the call behind it: those are two commands.
    """
    both = (("ring", "vm"), EXECBUFFER)
    ways = (*both, PLAIN)
    return (
        *latencies("empty call", "empty_call_us", (5, 50), (2, 5), 60),
        *latencies("tensor_set 4 B", "set_4b_us", (8,), (2.2,), deferred=True),
        Target("set 4 B + empty call, p50, ring", "vm.set_4b_sent_us.p50", 8, part="calls"),
        Target("set 4 B + empty call, p50, EXECBUFFER", "vm_execbuffer.set_4b_sent_us.p50", 2.2, "ioctl_us.p50",
               needs=(EXCHANGE,), part="calls"),
        *latencies("one-node graph", "graph_1_us", (25,), (2.5,)),
        Target("first call after 1 s idle, ring", "vm.after_pause_us.p50", 200, part="pause"),
        *(
            Target(f"first call after 1 s idle, {name}", f"{way}.after_pause_us.p50", 200,
                   needs=AFTER_PAUSE, part="pause")
            for name, way in (EXECBUFFER, PLAIN)
        ),
        *(
            Target(f"1000-node graph again, bytes sent, {name}", f"{way}.sent.copied.graph_1000.bytes_out", 1024, unit="B",
                   part="census")
            for name, way in (*both, (LOOPBACK, LOOPBACK))
        ),
        *(
            Target(f"buffer alloc + free{what}, 64 KiB, {name}", f"{way}.{key}.p50", limit,
                   needs=needs if way != "vm" else (), part="calls")
            for what, key, needs in (
                (" again", "alloc_free_us", ()), (", none kept", "alloc_free_unpooled_us", (EXCHANGE,)),
                (", none kept, copied", "alloc_free_unpooled_copied_us", (EXCHANGE,)),
            )
            for (name, way), limit in ((("ring", "vm"), 100), (EXECBUFFER, 200), (PLAIN, 200))
        ),
        *(
            Target(f"{verb} {size}, copied, {name}", f"{way}.{verb}_gib_s.{size}", COPY_SHARE, f"copy_floor_{verb}_gib_s.{size}",
                   at_least=True, unit="GiB/s", needs=transfer_needs(verb, size, way),
                   size=SIZES[size], part="transfers")
            for verb in ("set", "get") for size in CONTRACT_SIZES for name, way in ways
        ),
        *(
            Target(f"{verb} 1 MiB, blob-backed, commands, {name}", f"{way}.sent.shared.{verb}_1MiB.commands", 0, unit="",
                   part="census")
            for verb in ("set", "get") for name, way in ways
        ),
        Target("empty call, loopback, p50", "loopback.empty_call_us.p50", 0.5, part="calls"),
        *(
            Target(f"4 threads' calls ÷ 1 thread's, {name}", f"{way}.calls_per_s.4", 1, at_least=True,
                   per=f"{way}.calls_per_s.1", unit="", part="rates")
            for name, way in ways
        ),
        Target("slowest ÷ quickest of 4 threads, ring", "vm.slowest_thread_share.4", 0.5, at_least=True, unit="", part="rates"),
        *(
            Target(f"idle context, {side}, {name}", f"{way}.idle_percent.{key}", 0.5, unit="% of a core",
                   over=f"{way}.idle_percent.{IDLE_S[key][0]}", least_s=IDLE_S[key][1], part="idle")
            for key, side in IDLE_SIDES.items() for name, way in ways
        ),
    )  # fmt: skip


def judged(answer: Answer) -> tuple[Verdict, ...]:
    """Every target against the answer."""
    return tuple(verdict(target, answer) for target in targets())


def verdict(target: Target, answer: Answer) -> Verdict:
    """One target against the answer."""
    seen = looked_up(answer, target.figure)
    if target.per and seen is not None:
        per = looked_up(answer, target.per)
        seen = seen / per if per else None
    floor = looked_up(answer, target.floor) if target.floor else 1.0
    watched_s = looked_up(answer, target.over) if target.over else None
    too_short = watched_s is not None and watched_s < target.least_s
    if seen is None or floor is None:
        return Verdict(target, seen, None, None, too_short=too_short)
    if too_short or (target.over and watched_s is None):
        return Verdict(target, seen, target.limit, None, too_short=True)
    bound = target.limit * floor
    if target.or_limit is not None:
        bound = max(bound, target.or_limit)
    quietest = looked_up(answer, target.figure.removesuffix("p50") + "spread.min") if target.figure.endswith(".p50") else None
    met = seen >= bound * (1 - ROUNDING) if target.at_least else seen <= bound * (1 + ROUNDING)
    known = [(room, need.name) for need in target.needs if (room := best_possible(answer, target, need, floor)) is not None]
    ruling = [one for one in known if rules_out(one[0], target, seen, bound)]
    best, need = next(iter([*ruling, *known]), (None, ""))
    return Verdict(target, seen, bound, met, quietest, best, need)


def best_possible(answer: Answer, target: Target, need: Necessity, floor: float) -> float | None:
    """What no guest library can do better, by what it cannot do without; None where that was not measured.

    For a transfer that is the copying, and one submission on the way out, one exchange before the first piece in, however the rest
    overlaps. What the host copies is not even counted there; ``both_ends`` is about that.
    """
    need_us = looked_up(answer, need.figure)
    if need_us is None or need.whole:
        return need_us
    return target.size / GIB / (target.size / GIB / floor + need_us / 1e6) if target.size else need_us


def rules_out(best: float, target: Target, seen: float, bound: float) -> bool:
    """Whether the best possible figure misses the bound.

    A figure that beats the floor disproves it: on a noisy machine that is a median of other moments.
    """
    return seen <= best < bound if target.at_least else seen >= best > bound


def looked_up(answer: Answer, path: str) -> float | None:
    """The number at a key path."""
    value: object = answer
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return float(value) if isinstance(value, (int, float)) else None
