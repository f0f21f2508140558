"""What proves the way of the commands: data path, command ring, capset."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.bundle.schema import CallsRecord, Status
from lab.scenario.checks.way import ring_facts
from lab.scenario.plan import Choice, planned
from tests.scenario.fakes import (
    SCENARIO,
    Script,
)
from tests.scenario.small_runs import Running, texts


@pytest.mark.parametrize(
    ("data_path", "first_call", "finding"),
    [
        ("shared", 9, ""),
        ("copied", 14, ""),
        ("auto", 14, ""),
        (
            "shared",
            14,
            "wrong data path [product] commands that made buffers (shared): expected device_buffer_from_ptr, seen buffer_type",
        ),
        (
            "copied",
            9,
            "wrong data path [product] commands that made buffers (copied): expected buffer_type_alloc_buffer, seen device_buf",
        ),
        (
            "copied",
            22,
            "wrong data path [product] commands that made buffers (copied): expected buffer_type_alloc_buffer, seen none",
        ),
    ],
)
def test_data_path_is_proved_by_the_commands_sent(running: Running, data_path: str, first_call: int, finding: str) -> None:
    text = SCENARIO.replace("[guest]", f'[guest]\ndata_path = "{data_path}"')
    bundle = running(Script(first_call=first_call), text, variants=("venus",))
    assert bundle.run.exit == (1 if finding else 0)
    assert finding in texts(bundle)


NO_RING = "wrong command path [product] contexts with a command ring: expected 1, seen 0"


@pytest.mark.parametrize(
    ("guest", "host", "ring", "finding"),
    [
        ('GGML_VIRTGPU_RING = "auto"', "", 4, ""),
        ('GGML_VIRTGPU_RING = "auto"', "", 5, NO_RING),
        ('GGML_VIRTGPU_RING = "auto"', "", None, NO_RING),
        ('GGML_VIRTGPU_RING = "auto"', 'VIRGL_APIR_RING = "0"', None, ""),
        ('GGML_VIRTGPU_RING = "auto"', 'VIRGL_APIR_RING_APIR = "0"', None, NO_RING),
        ('GGML_VIRTGPU_RING = "off"', "", None, ""),
        ('GGML_VIRTGPU_RING = "off"', "", 4, "contexts that asked for a command ring: expected 0, seen 1"),
        ('GGML_VIRTGPU_EXTENSIONS = "all"', "", None, NO_RING),
        ('GGML_VIRTGPU_EXTENSIONS = "-batch"', "", None, NO_RING),
        ('GGML_VIRTGPU_EXTENSIONS = "batch,liveness"', "", None, ""),
        ('GGML_VIRTGPU_EXTENSIONS = "none"', "", 4, "contexts that asked for a command ring: expected 0, seen 1"),
        ('GGML_VIRTGPU_EXTENSIONS = "-ring"', "", 4, "contexts that asked for a command ring: expected 0, seen 1"),
        ("", "", None, ""),
        ("", "", 5, ""),
    ],
)  # fmt: skip
def test_command_ring_is_proved_by_the_call_that_makes_it(
    running: Running, guest: str, host: str, ring: int | None, finding: str
) -> None:
    text = SCENARIO + f"\n[guest.environment]\n{guest}\n[host.environment]\n{host}\n"
    bundle = running(Script(ring=ring), text, variants=("venus",))
    assert bundle.run.exit == (1 if finding else 0)
    assert finding in texts(bundle)


@pytest.mark.parametrize("theirs", ["guest", "component"])
def test_command_ring_is_not_asked_of_a_peer_that_may_have_none(running: Running, tmp_path: Path, theirs: str) -> None:
    (tmp_path / "theirs.so").touch()
    text = SCENARIO + '\n[guest.environment]\nGGML_VIRTGPU_RING = "auto"\n'
    bundle = running(Script(), f'{text}\n[implementation]\n{theirs} = "{tmp_path}/theirs.so"\n', variants=("venus",))
    assert (bundle.run.exit, texts(bundle)) == (0, "")


def test_command_ring_is_not_asked_of_a_virglrenderer_that_has_the_component(tmp_path: Path) -> None:
    text = SCENARIO + '\n[guest.environment]\nGGML_VIRTGPU_RING = "auto"\n'
    (tmp_path / "small.toml").write_text(text)
    (entry,) = planned([tmp_path / "small.toml"], Choice(variants=("venus",)))
    scenario = entry.variants[0].scenario
    assert [fact.ok for fact in ring_facts(scenario, CallsRecord(), built_in=False)] == [False]
    assert not list(ring_facts(scenario, CallsRecord(), built_in=True))


def test_capset_is_proved_by_the_contexts_that_were_served(running: Running) -> None:
    bundle = running(Script(capset=10))
    assert [one.status for one in bundle.run.variants] == [Status.FAILED, Status.PASSED]
    assert "wrong capset [product] capset of the contexts served: expected venus, seen apir" in texts(bundle)
