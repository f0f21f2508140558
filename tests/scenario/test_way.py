"""What proves the way of the commands: data path, command ring, capset."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab import paths
from lab.apir.protocol_gen import EXTENSION_OF, FIRST_EXTENSION_CALL, Call
from lab.bundle.schema import CallsRecord, CommandRecord, Status
from lab.errors import ConfigError
from lab.scenario.checks.way import LARGEST_PIECE, LEAST_ONE_BY_ONE, extension_facts, ring_facts, way_facts
from lab.scenario.model import Scenario
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
        ("copied", 88, ""),
        ("auto", 14, ""),
        (
            "shared",
            88,
            "commands that made buffers (shared): expected device_buffer_from_ptr, seen alloc_with_base",
        ),
        (
            "shared",
            14,
            "wrong data path [product] commands that made buffers (shared): expected device_buffer_from_ptr, seen buffer_type",
        ),
        (
            "copied",
            9,
            "commands that made buffers (copied): expected buffer_type_alloc_buffer or alloc_with_base, seen device_buffer",
        ),
        (
            "copied",
            22,
            "commands that made buffers (copied): expected buffer_type_alloc_buffer or alloc_with_base, seen none",
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


CATALOG = """\
name = "small"
[guest]
data_path = "{path}"
environment = {{ {variables} }}
[[checks]]
kind = "catalog"
cases = ["ADD()"]
sends = ["graph_run", "batch", "pipe_set_tensor"]
"""
OURS_WITH_ALL = (
    "wide_supports_op", "graph_keep", "graph_run", "device_summary", "batch", "buffer_set_tensor", "pipe_set_tensor",
    "alloc_with_base",
)  # fmt: skip
PLAIN = (
    "device_supports_op",
    "backend_graph_compute",
    "device_get_name",
    "buffer_type_get_name",
    "buffer_get_base",
    "buffer_set_tensor",
)
UNTIMED = "replies that tell the host's times: some, not none"


def catalog(folder: Path, variables: str, path: str = "copied", more: str = "") -> Scenario:
    (folder / "small.toml").write_text(CATALOG.format(path=path, variables=variables) + more)
    (entry,) = planned([folder / "small.toml"], Choice())
    return entry.variants[0].scenario


def sent(*commands: str, timed: int = 1, most_bytes: int = 5000) -> CallsRecord:
    one = {"count": 1, "failed": 0, "p50_us": 1.0, "p90_us": 1.0, "p99_us": 1.0, "max_us": 1.0, "most_bytes": most_bytes}
    return CallsRecord(commands=tuple(CommandRecord(command=command, **one) for command in commands), timed=timed)


def wrong(scenario: Scenario, calls: CallsRecord, *, built_in: bool = False) -> list[str]:
    facts = extension_facts(scenario, calls, built_in=built_in)
    return [f"{fact.name}: {fact.expected}, not {fact.seen}" for fact in facts if not fact.ok]


def without(*commands: str) -> tuple[str, ...]:
    return tuple(command for command in OURS_WITH_ALL if command not in commands)


@pytest.mark.parametrize(
    ("asked", "commands", "findings"),
    [
        ("all", OURS_WITH_ALL, []),
        ("all", (*OURS_WITH_ALL, "backend_graph_compute"), []),
        (
            "all",
            PLAIN,
            [
                "commands of wide_shapes: some, not none, but device_supports_op",
                "commands of graph_ids: some, not none, but backend_graph_compute",
                "commands of device_summary: some, not none, but device_get_name, buffer_type_get_name",
                "commands of buffer_base: some, not none, but buffer_get_base",
                "graph_run commands, to which the cases lead: some, not none",
                "batch commands, to which the cases lead: some, not none",
                "pipe_set_tensor commands, to which the cases lead: some, not none",
            ],
        ),
        ("all", without("graph_run"), ["graph_run commands, to which the cases lead: some, not none"]),
        ("-batch", without("batch"), []),
        ("-pipes", without("pipe_set_tensor"), []),
        ("-pipes", OURS_WITH_ALL, ["commands of pipes, which is off: none, not pipe_set_tensor"]),
        ("-batch", OURS_WITH_ALL, ["commands of batch, which is off: none, not batch"]),
        ("-graph_ids", (*without("graph_keep", "graph_run"), "backend_graph_compute"), []),
        ("-graph_ids", OURS_WITH_ALL, ["commands of graph_ids, which is off: none, not graph_keep, graph_run"]),
        ("-wide_shapes", OURS_WITH_ALL, ["commands of wide_shapes, which is off: none, not wide_supports_op"]),
        ("-device_summary", OURS_WITH_ALL, ["commands of device_summary, which is off: none, not device_summary"]),
        ("-buffer_base", OURS_WITH_ALL, ["commands of buffer_base, which is off: none, not alloc_with_base"]),
        ("timing,device_summary", (*PLAIN, "device_summary"), []),
        ("timing,graph_ids", (*PLAIN, "graph_keep"), ["graph_run commands, to which the cases lead: some, not none"]),
    ],
)
def test_extensions_are_proved_by_their_commands(
    tmp_path: Path, asked: str, commands: tuple[str, ...], findings: list[str]
) -> None:
    scenario = catalog(tmp_path, f'GGML_VIRTGPU_EXTENSIONS = "{asked}"')
    assert wrong(scenario, sent(*commands)) == findings


def test_extensions_are_proved_by_no_commands_where_no_graph_was_computed(tmp_path: Path) -> None:
    scenario = catalog(tmp_path, 'GGML_VIRTGPU_EXTENSIONS = "graph_ids,timing"')
    assert wrong(scenario, sent("device_get_name")) == ["graph_run commands, to which the cases lead: some, not none"]


def test_batch_and_pipes_are_asked_of_copied_data_only(tmp_path: Path) -> None:
    scenario = catalog(tmp_path, 'GGML_VIRTGPU_EXTENSIONS = "all"', "shared")
    assert wrong(scenario, sent(*without("batch", "pipe_set_tensor", "alloc_with_base"))) == []


def test_timing_is_proved_by_the_times_in_the_replies(tmp_path: Path) -> None:
    asked, off = (catalog(tmp_path, f'GGML_VIRTGPU_EXTENSIONS = "{value}"') for value in ("all", "-timing"))
    assert wrong(asked, sent(*OURS_WITH_ALL, timed=0)) == [UNTIMED]
    assert wrong(off, sent(*OURS_WITH_ALL, timed=0)) == []
    assert wrong(off, sent(*OURS_WITH_ALL, timed=3)) == ["replies that tell the host's times: none, not some"]


def test_asynchronous_is_proved_by_the_pieces_of_large_transfers(tmp_path: Path) -> None:
    asked, off = (catalog(tmp_path, f'GGML_VIRTGPU_EXTENSIONS = "{value}"') for value in ("all", "-asynchronous"))
    piece, whole = (sent(*OURS_WITH_ALL, most_bytes=LARGEST_PIECE + more) for more in (344, 17000))
    assert wrong(asked, piece) == []
    assert wrong(asked, whole) == [
        f"largest transfer by one command (asynchronous): at most 6291456 bytes, not {LARGEST_PIECE + 17000} bytes"
    ]
    assert wrong(off, whole) == []


@pytest.mark.parametrize(("name", "size"), [("large_piece", LARGEST_PIECE), ("least_one_by_one", LEAST_ONE_BY_ONE)])
def test_sizes_of_pieces_are_the_guest_librarys(name: str, size: int) -> None:
    source = (paths.BACKEND_IMPL / "guest" / "transfer_cut.cpp").read_text(encoding="utf-8")
    (mebibytes,) = re.findall(rf"{name} = (\d+) \* mib;", source)
    assert int(mebibytes) << 20 == size


@pytest.mark.parametrize("theirs", ["guest", "component", "host"])
def test_use_of_extensions_is_not_asked_of_a_peer_that_may_have_none(tmp_path: Path, theirs: str) -> None:
    (tmp_path / "theirs.so").touch()
    more = f'\n[implementation]\n{theirs} = "{tmp_path}/theirs.so"\n'
    scenario = catalog(tmp_path, 'GGML_VIRTGPU_EXTENSIONS = "all"', more=more)
    assert wrong(scenario, sent(*PLAIN, timed=0)) == []
    off = catalog(tmp_path, 'GGML_VIRTGPU_EXTENSIONS = "-graph_ids"', more=more)
    assert wrong(off, sent("graph_keep")) == ["commands of graph_ids, which is off: none, not graph_keep"]


def test_use_of_extensions_is_not_asked_of_a_virglrenderer_that_has_the_component(tmp_path: Path) -> None:
    scenario = catalog(tmp_path, 'GGML_VIRTGPU_EXTENSIONS = "all"')
    assert wrong(scenario, sent(*PLAIN, timed=0), built_in=True) == []


@pytest.mark.parametrize("variables", ["", 'GGML_VIRTGPU_RING = "off"', "GGML_VIRTGPU_EXTENSIONS = false"])
def test_nothing_is_said_of_extensions_where_no_variable_does(tmp_path: Path, variables: str) -> None:
    assert not list(extension_facts(catalog(tmp_path, variables), sent(*PLAIN, timed=0), built_in=False))


def test_run_with_refused_extensions_fails(running: Running) -> None:
    text = SCENARIO + '\n[guest.environment]\nGGML_VIRTGPU_EXTENSIONS = "all"\n'
    bundle = running(Script(ring=4), text, variants=("venus",))
    assert bundle.run.exit == 1
    assert texts(bundle).splitlines() == [
        "wrong command path [product] commands of graph_ids: expected some, seen none, but backend_graph_compute",
        "wrong command path [product] replies that tell the host's times: expected some, seen none",
    ]


def test_every_call_of_an_extension_is_known_by_it() -> None:
    assert set(EXTENSION_OF) == {call for call in Call if call >= FIRST_EXTENSION_CALL} - {Call.NEGOTIATE}


@pytest.mark.parametrize("command", ["graph_walk", "buffer_clear", "negotiate", "on_device", "set_tensor_inline", "ring_create"])
def test_commands_that_prove_no_extension_are_refused(tmp_path: Path, command: str) -> None:
    (tmp_path / "small.toml").write_text(CATALOG.format(path="copied", variables="").replace("graph_run", command))
    with pytest.raises(ConfigError, match=f"no extension has a command '{command}'"):
        planned([tmp_path / "small.toml"], Choice())


def test_one_case_by_itself_leads_to_no_command(tmp_path: Path) -> None:
    catalog(tmp_path, 'GGML_VIRTGPU_EXTENSIONS = "all"')
    (entry,) = planned([tmp_path / "small.toml"], Choice(cases=("MUL()",)))
    assert wrong(entry.variants[0].scenario, sent(*without("batch", "graph_run", "pipe_set_tensor"))) == []


def test_capset_is_proved_by_the_contexts_that_were_served(running: Running) -> None:
    bundle = running(Script(capset=10))
    assert [one.status for one in bundle.run.variants] == [Status.FAILED, Status.PASSED]
    assert "wrong capset [product] capset of the contexts served: expected venus, seen apir" in texts(bundle)


@pytest.mark.parametrize(("path", "other"), [("shared", "alloc_with_base"), ("copied", "device_buffer_from_ptr")])
def test_buffers_of_both_data_paths_are_not_those_of_the_one_that_was_asked_for(tmp_path: Path, path: str, other: str) -> None:
    right = {"shared": "device_buffer_from_ptr", "copied": "buffer_type_alloc_buffer"}[path]
    for commands in ((right,), (right, other)):
        facts = way_facts(catalog(tmp_path, "", path), (4,), sent(*commands), built_in=False)
        assert [fact.name for fact in facts if not fact.ok] == [f"commands that made buffers ({path})"] * (len(commands) - 1)


def test_each_context_has_to_have_its_ring(tmp_path: Path) -> None:
    calls = sent("negotiate", "ring_create")
    twice = calls.model_copy(update={"commands": (calls.commands[0].model_copy(update={"count": 2}), calls.commands[1])})
    scenario = catalog(tmp_path, 'GGML_VIRTGPU_RING = "auto"')
    assert [(fact.expected, fact.seen) for fact in ring_facts(scenario, twice, built_in=False)] == [("2", "1")]
    assert [fact.ok for fact in ring_facts(scenario, calls, built_in=False)] == [True]
