"""``reproduce.sh``: the run again, from its bundle."""

from __future__ import annotations

import shlex

from lab.bundle.schema import RunRecord, ScenarioRecord

TEMPLATE = """\
#!/bin/sh
# Runs {run} again. Further options are passed on{such_as}.
# The project is looked for around this bundle; set VIRTGPU_LAB_PROJECT when the bundle was moved elsewhere.
set -eu
bundle=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
around=${{VIRTGPU_LAB_PROJECT:-$bundle}}
project=$(CDPATH= cd -- "$around" 2>/dev/null && pwd) || {{ echo "VIRTGPU_LAB_PROJECT: there is no folder $around" >&2; exit 2; }}
while [ ! -f "$project/lab/__init__.py" ]; do
    [ "$project" != / ] || {{ echo "no project in or around $around: set VIRTGPU_LAB_PROJECT to its folder" >&2; exit 2; }}
    project=$(dirname -- "$project")
done
lab="$project/.venv/bin/lab"
[ -x "$lab" ] || lab=lab
now=$(git -C "$project" rev-parse HEAD 2>/dev/null || echo unknown)
[ "$now" = {commit} ] || echo "note: the run was made with commit {commit}, here is $now" >&2
cd "$project"
{notes}exec "$lab" {arguments} "$@"
"""
SUCH_AS = {"run": ": ./reproduce.sh --dry-run shows what it would start"}
"""What may be passed on, by command."""


def reproduce_script(record: RunRecord) -> str:
    """The script of a run or a benchmark."""
    lines = [bench_note(one) for one in record.scenarios] if record.command == "bench" else scenario_lines(record)
    files = [] if record.command == "bench" else [f'"${variable(number)}"' for number in range(len(record.scenarios))]
    arguments = " ".join((record.command, *files, *(shlex.quote(option) for option in record.options)))
    commit = record.commit.removesuffix("+") or "unknown"
    such_as = SUCH_AS.get(record.command, "")
    return TEMPLATE.format(run=record.run, commit=commit, notes="".join(lines), arguments=arguments, such_as=such_as)


def scenario_lines(record: RunRecord) -> list[str]:
    """Shell variables of the scenario files: those of the project while they are unchanged, else the bundle's copies."""
    return [
        f"{variable(number)}={shlex.quote(one.path)}\n{{ {unchanged(one)}; }} || "
        f'{{ echo "note: {one.name}: using the copy in the bundle" >&2; '
        f'{variable(number)}="$bundle"/{shlex.quote(one.copy_path)}; }}\n'
        for number, one in enumerate(record.scenarios)
    ]


def bench_note(scenario: ScenarioRecord) -> str:
    """A note where the benchmark's scenario has changed: ``lab bench`` always takes the project's."""
    return f'{{ {unchanged(scenario)}; }} || echo "note: {scenario.name}: the scenario file has changed since the run" >&2\n'


def unchanged(scenario: ScenarioRecord) -> str:
    """A shell condition: the scenario file, those that it extends, its expectations and their lists are what they were."""
    others = (*scenario.bases, *((scenario.expectations,) if scenario.expectations else ()), *scenario.lists)
    files = [(scenario.path, scenario.sha256), *((one.path, one.sha256) for one in others)]
    return " && ".join(f'[ "$(sha256sum < {shlex.quote(path)} 2>/dev/null)" = "{sha}  -" ]' for path, sha in files)


def variable(number: int) -> str:
    """The shell variable that holds a scenario file's path."""
    return f"scenario{number}"
