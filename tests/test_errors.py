"""Errors carry data and derive a text that names the culprit and the remedy."""

from __future__ import annotations

from lab.errors import BuildError, ConfigError, ConfigProblem, HostError, LabError, LaunchError, WireError


def test_all_problems_of_a_file_stand_in_one_text() -> None:
    error = ConfigError(
        "smoke.toml", [ConfigProblem("guest.cpus", "is not a number", "write 2"), ConfigProblem("hots", "unknown key", line=3)]
    )
    assert str(error) == "smoke.toml:\n  guest.cpus: is not a number (write 2)\n  line 3: hots: unknown key"


def test_a_single_problem_takes_one_line() -> None:
    assert str(ConfigError("smoke.toml", [ConfigProblem("", "no such file")])) == "smoke.toml: no such file"


def test_exit_statuses_tell_product_lab_and_host_apart() -> None:
    assert HostError("kvm", "it did not boot").exit_status == 3
    assert {kind.exit_status for kind in (ConfigError, BuildError, WireError, LaunchError, LabError)} == {2}


def test_launch_error_prints_command_status_and_log() -> None:
    text = str(LaunchError(("qemu", "-x"), 1, "bad option", hint="look"))
    assert "qemu -x" in text
    assert "exit status 1" in text
    assert "    bad option" in text
    assert text.endswith("hint: look")
