from __future__ import annotations

from lab.bench.targets import Target, looked_up, targets, verdict


def test_absolute_bound_is_met_and_refused() -> None:
    target = Target("empty", "vm.empty.p50", 5)
    assert verdict(target, {"vm": {"empty": {"p50": 5.0}}}).met is True
    assert verdict(target, {"vm": {"empty": {"p50": 5.1}}}).met is False
    assert verdict(target, {"vm": {}}).met is None


def test_multiple_of_a_floor_or_an_absolute_bound() -> None:
    target = Target("empty", "e.p50", 2, "ioctl.p50", or_limit=60)
    assert verdict(target, {"e": {"p50": 59}, "ioctl": {"p50": 10}}).met is True
    assert verdict(target, {"e": {"p50": 61}, "ioctl": {"p50": 10}}).met is False
    assert verdict(target, {"e": {"p50": 99}, "ioctl": {"p50": 50}}).met is True
    assert verdict(target, {"e": {"p50": 99}}).met is None


def test_rates_must_not_be_below() -> None:
    target = Target("set", "set.1MiB", 0.8, "copy.1MiB", at_least=True)
    assert verdict(target, {"set": {"1MiB": 0.8}, "copy": {"1MiB": 1.0}}).met is True
    assert verdict(target, {"set": {"1MiB": 0.79}, "copy": {"1MiB": 1.0}}).met is False
    share = Target("threads", "calls.4", 1, at_least=True, per="calls.1")
    assert verdict(share, {"calls": {"4": 90.0, "1": 100.0}}).met is False
    assert verdict(share, {"calls": {"4": 100.0, "1": 100.0}}).met is True


def test_quietest_repetition_is_told_and_does_not_decide() -> None:
    seen = verdict(Target("empty", "e.p50", 5), {"e": {"p50": 9, "spread": {"min": 4.0}}})
    assert (seen.met, seen.quietest) == (False, 4.0)


def test_every_target_names_a_figure_of_its_own() -> None:
    known = [target.label for target in targets()]
    assert len(set(known)) == len(known)
    assert looked_up({"a": {"b": 1}}, "a.b") == 1.0
    assert looked_up({"a": {"b": "x"}}, "a.b") is None
