"""``reproduce.sh``: the run again, from its bundle."""

from __future__ import annotations

import shlex

from lab.bundle.schema import RunRecord

TEMPLATE = """\
#!/bin/sh
# Runs {run} again. Further options are passed on: ./reproduce.sh --dry-run shows what it would start.
# The project is looked for around this bundle; set VIRTGPU_LAB_PROJECT when the bundle was moved elsewhere.
set -eu
bundle=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
project=${{VIRTGPU_LAB_PROJECT:-$bundle}}
while [ ! -f "$project/lab/__init__.py" ]; do
    [ "$project" != / ] || {{ echo "no project around $bundle: set VIRTGPU_LAB_PROJECT" >&2; exit 2; }}
    project=$(dirname -- "$project")
done
lab="$project/.venv/bin/lab"
[ -x "$lab" ] || lab=lab
now=$(git -C "$project" rev-parse HEAD 2>/dev/null || echo unknown)
[ "$now" = {commit} ] || echo "note: the run was made with commit {commit}, here is $now" >&2
cd "$project"
{notes}exec "$lab" run {arguments} "$@"
"""


def reproduce_script(record: RunRecord) -> str:
    """The script. Scenario files are taken from the project while they are unchanged, else from the bundle's copy."""
    notes, files = [], []
    for number, scenario in enumerate(record.scenarios):
        variable = f"scenario{number}"
        copied = shlex.quote(scenario.copy_path)
        files_of_it = [(scenario.path, scenario.sha256), *((base.path, base.sha256) for base in scenario.bases)]
        unchanged = " && ".join(f'[ "$(sha256sum < {shlex.quote(path)} 2>/dev/null)" = "{sha}  -" ]' for path, sha in files_of_it)
        notes.append(
            f"{variable}={shlex.quote(scenario.path)}\n{{ {unchanged}; }} || "
            f'{{ echo "note: {scenario.name}: using the copy in the bundle" >&2; {variable}="$bundle"/{copied}; }}\n'
        )
        files.append(f'"${variable}"')
    arguments = " ".join((*files, *(shlex.quote(option) for option in record.options)))
    commit = record.commit.removesuffix("+") or "unknown"
    return TEMPLATE.format(run=record.run, commit=commit, notes="".join(notes), arguments=arguments)
