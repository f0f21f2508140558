"""Cases that ``test-backend-ops`` tells as unsupported: lost where the host's own library computes them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from lab.bundle import Bundle
from lab.bundle.outcome import FindingKind
from lab.deadline import Deadline
from lab.ggml.registry import Device
from lab.ops.upstream import ExpectedCases
from lab.ops.upstream_cases import ListedCase
from lab.scenario.checks.ops import native_refusals
from tests.scenario.fakes import HEADER_LINE, OURS, REFERENCE, SCENARIO, SHIPMENT, TEXTS, Script, payload, row
from tests.scenario.small_runs import Running

VULKAN = Device(1, "ggml-virtgpu", "[virtgpu] Vulkan0", "the host's GPU", "GPU")
ANY_NUMBER = SCENARIO.replace("min_cases = 3\n", "")
LOST = "lost support [product] {} cases that the host's own library supports are unsupported, the first is {}"
CLAIMED = "claimed support [product] {} cases that the host's own library does not support are claimed, the first is {}"


def refusing(*refused: str, device: Device = OURS) -> tuple[str, ...]:
    """The program's output where the remote device refuses these cases."""
    answers = {True: {"supported": "0", "error": "not supported"}, False: {}}
    return (HEADER_LINE, *(row(text, device=device.name, **answers[text in refused]) for text in TEXTS))


def listed(*refused: str) -> tuple[ListedCase, ...]:
    texts = [(text, *text.rstrip(")").split("(")) for text in (*TEXTS, "DIV(a=1)")]
    return tuple(ListedCase(text, op, params, supported=text not in refused) for text, op, params in texts)


def told(bundle: Bundle) -> list[str]:
    return [f"{one.finding} [{one.blame}] {one.text}" for one in bundle.findings]


def test_refused_case_that_a_cpu_computes_fails_the_run(running: Running) -> None:
    bundle = running(Script(ops=refusing(*TEXTS[1:])), ANY_NUMBER, variants=("venus",))
    assert told(bundle) == [LOST.format(2, TEXTS[1])]
    assert bundle.run.exit == 1
    assert bundle.findings[0].case == TEXTS[1]


def test_refused_case_that_a_cpu_refuses_too_is_no_finding(running: Running) -> None:
    script = Script(ops=refusing(TEXTS[1]), refused=frozenset({TEXTS[1]}))
    bundle = running(script, ANY_NUMBER, variants=("venus",))
    assert (bundle.run.exit, told(bundle)) == (0, [])


@pytest.mark.parametrize(("by_device", "natively", "lost"), [(TEXTS[:1], TEXTS[:1], []), (TEXTS[:2], TEXTS[:1], [TEXTS[1]])])
def test_any_other_library_is_asked_itself(
    running: Running, by_device: tuple[str, ...], natively: tuple[str, ...], lost: list[str]
) -> None:
    script = Script(ops=refusing(*by_device, device=VULKAN), devices=(REFERENCE, VULKAN), listed=listed(*natively))
    bundle = running(script, ANY_NUMBER, variants=("venus",))
    assert told(bundle) == [LOST.format(1, case) for case in lost]


BY_CPU, BY_BOTH = REFERENCE.name, f"{VULKAN.name}, {REFERENCE.name}"


@pytest.mark.parametrize(
    ("names", "natively", "found"),
    [
        (BY_CPU, (), []),
        (BY_BOTH, (), [LOST.format(1, TEXTS[1])]),
        (BY_BOTH, TEXTS[1:2], []),
        (BY_CPU, TEXTS[1:2], [CLAIMED.format(1, TEXTS[1])]),
    ],
    ids=["the reference alone", "both", "all three", "the reference and the library"],
)
def test_what_the_reference_refuses_is_lost_by_a_device_that_refuses_it_too(
    running: Running, names: str, natively: tuple[str, ...], found: list[str]
) -> None:
    refused = row(TEXTS[1], supported="0", error="not supported", device=names)
    rows = [row(text, device=VULKAN.name) for text in (TEXTS[0], TEXTS[2])]
    script = Script(ops=(HEADER_LINE, rows[0], refused, rows[1]), devices=(REFERENCE, VULKAN), listed=listed(*natively))
    bundle = running(script, ANY_NUMBER, variants=("venus",))
    assert told(bundle) == found
    cases = bundle.run.variants[0].cases
    assert (cases.ok, cases.unsupported, sum(cases.model_dump().values())) == (2, 1, 3)


def test_without_the_same_ggml_on_both_sides_nobody_can_be_asked(running: Running) -> None:
    script = Script(expected=None, ops=(HEADER_LINE, *map(row, TEXTS)), later=[refusing(TEXTS[1])])
    assert running(script, ANY_NUMBER, variants=("venus",)).run.exit == 0


def test_every_process_is_held_against_it(running: Running) -> None:
    script = Script(ops=refusing(), later=[refusing(TEXTS[2])])
    text = ANY_NUMBER.replace("deadline_s = 20", "processes = 2\ndeadline_s = 20")
    bundle = running(script, text, variants=("venus",))
    assert FindingKind.LOST_SUPPORT in {one.finding for one in bundle.findings}


def test_refused_cases_do_not_make_a_number(running: Running) -> None:
    script = Script(ops=refusing(TEXTS[1]), refused=frozenset({TEXTS[1]}))
    bundle = running(script, variants=("venus",))
    assert told(bundle) == ["too few cases [product] 2 cases were computed, at least 3 were asked for"]


@pytest.mark.parametrize(
    ("shipped", "native", "refusals"),
    [
        (SHIPMENT, ExpectedCases(TEXTS, frozenset(TEXTS[:1])), frozenset(TEXTS[:1])),
        (SHIPMENT, None, None),
        (replace(SHIPMENT, ggml_library=payload("ggml library", "/mine/libggml-cpu.so")), ExpectedCases(TEXTS), None),
        (
            replace(
                SHIPMENT, ggml_library=payload("ggml library", "/native/libggml-liar.so"), wrapped_library=SHIPMENT.ggml_library
            ),
            ExpectedCases(TEXTS),
            frozenset(),
        ),
    ],
    ids=["of the host root", "of another ggml", "from elsewhere", "the liar"],
)
def test_a_cpu_library_answers_by_the_host_roots(
    shipped: Any, native: ExpectedCases | None, refusals: frozenset[str] | None
) -> None:
    def unasked(*_arguments: object) -> None:
        pytest.fail("a CPU library is not listed beside the host root's own")

    stage: Any = SimpleNamespace(
        ingredients=SimpleNamespace(shipment=shipped), platform=SimpleNamespace(native_listing=unasked), host_variables={}
    )
    assert native_refusals(stage, OURS, native, Deadline.after(5)) == refusals
