"""The standard benchmark's phases: every size of a transfer once, beside its loop, and the dear ones less often."""

from __future__ import annotations

from lab.bench.standard import FULL, LARGEST, QUICK, SIZES, Programs, transfer_phases

GUEST = Programs(library=("apir-bench",), floors=("apir-floors",))


def test_largest_transfers_are_a_phase_of_their_own() -> None:
    ordinary, largest = transfer_phases(GUEST, ("vm",), FULL)
    sizes = {f"{verb}_{name}": size for name, size in SIZES.items() for verb in ("set", "get")}
    assert {one.name for one in ordinary.measures} >= {name for name, size in sizes.items() if size < LARGEST}
    assert {one.name for one in largest.measures} == {
        f"{kind}{name}" for name, size in sizes.items() if size >= LARGEST for kind in ("", "copy_")
    }
    assert ordinary.repetitions > largest.repetitions
    names = [one.name for one in (*ordinary.measures, *largest.measures)]
    assert len(names) == len(set(names))


def test_quick_look_has_no_phase_without_measures() -> None:
    (only,) = transfer_phases(GUEST, ("vm",), QUICK)
    assert only.name == "transfers"
    assert all(one.subjects is not None for one in only.measures)
