"""The books of a run: ``run.json`` as it stands, kept up to date, and what is derived from it at the end."""

from __future__ import annotations

import contextlib
import os
import platform as host_platform
import shutil
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import lab
from lab.bundle.junit import junit_xml
from lab.bundle.reader import read_bundle
from lab.bundle.reproduce import reproduce_script
from lab.bundle.schema import (
    JUNIT,
    REPRODUCE,
    SCENARIOS,
    BootRecord,
    CapabilityRecord,
    FileRecord,
    HostRecord,
    PackagesRecord,
    ResumedRecord,
    RunRecord,
    ScenarioRecord,
    Status,
    VariantRecord,
)
from lab.bundle.writer import BundleWriter, write_whole
from lab.deadline import Deadline
from lab.elf import sha256
from lab.errors import LabError
from lab.paths import PROJECT
from lab.process import finish
from lab.scenario.expand import Variant
from lab.scenario.expectations import Expectations, expectations_path
from lab.scenario.plan import Choice, PlannedScenario
from lab.scenario.source import rooted_settings, whole_tables
from lab.scenario.toml_text import toml_text, toml_value

GIT_S = 10.0
EXIT_STATUS = {Status.PASSED: 0, Status.FAILED: 1, Status.ERROR: 2, Status.INTERRUPTED: 2, Status.RUNNING: 2, Status.SKIPPED: 3}


class RunBook:
    """Everything ``run.json`` says, replaced on disk at every change, from whichever thread. Holds no resource."""

    def __init__(
        self, bundle: BundleWriter, plan: Sequence[PlannedScenario], choice: Choice, resumed: tuple[ResumedRecord, ...] = ()
    ) -> None:
        self._bundle = bundle
        self._lock = threading.RLock()
        self._started = time.monotonic()
        self._boots: list[BootRecord] = []
        self._variants: dict[tuple[str, str], VariantRecord] = {}
        self._built: dict[tuple[str, str], PackagesRecord] = {}
        self._kept: dict[tuple[str, str], BootRecord] = {}
        self._record = opened_record(bundle, plan, choice).model_copy(update={"resumed": resumed})
        self._write()

    @property
    def record(self) -> RunRecord:
        """The record as it is on disk."""
        return self._record

    def know_capabilities(self, capabilities: Sequence[CapabilityRecord]) -> None:
        """The host was probed."""
        with self._lock:
            self._record = self._record.model_copy(update={"capabilities": tuple(capabilities)})
            self._write()

    def built(self, packages: PackagesRecord) -> None:
        """A host root or guest image is used."""
        with self._lock:
            self._built[packages.role, packages.key] = packages
            self._write()

    def kept(self, variant: Variant, results: Mapping[str, int], boot: BootRecord | None) -> None:
        """So many results of each earlier run are in the bundle now, too, computed with what that boot says."""
        with self._lock:
            resumed = (one.model_copy(update={"kept": one.kept + results.get(one.run, 0)}) for one in self._record.resumed)
            self._record = self._record.model_copy(update={"resumed": tuple(resumed)})
            if results and boot is not None:
                self._kept[variant.scenario.name, variant.id] = boot
            self.variant(not_begun(variant))

    def boot(self, record: BootRecord, number: int | None = None) -> int:
        """A machine is started, or more is known of number ``number``. Returns its number."""
        with self._lock:
            if number is None:
                self._boots.append(record)
                number = len(self._boots) - 1
            else:
                self._boots[number] = record
            self._write()
            return number

    def variant(self, record: VariantRecord) -> None:
        """A variant stands like this now."""
        with self._lock:
            if record.boot is None:
                record = record.model_copy(update={"kept": self._kept.get((record.name, record.variant))})
            self._variants[record.name, record.variant] = record
            self._write()

    def _tell_not_begun(self, plan: Sequence[PlannedScenario]) -> None:
        """What was planned and not begun is told so."""
        for variant in (variant for entry in plan for variant in entry.variants):
            record = not_begun(variant)
            self._variants.setdefault((record.name, record.variant), record)

    def close(self, plan: Sequence[PlannedScenario], cut_off: Status | None = None) -> RunRecord:
        """The run is over: judge it, and write the files that others read. ``cut_off``: it did not get through, which decides."""
        if cut_off is not None:
            self._tell_not_begun(plan)
        status = cut_off or overall(tuple(self._variants.values()))
        update = {
            "status": status,
            "exit": EXIT_STATUS[status],
            "ended": now(),
            "wall_s": round(time.monotonic() - self._started, 3),
        }
        self._record = self._record.model_copy(update=update)
        self._write()
        write_whole(self._bundle.folder / JUNIT, junit_xml(read_bundle(self._bundle.folder)))
        return self._record

    def _write(self) -> None:
        update = {
            "boots": tuple(self._boots),
            "variants": tuple(self._variants.values()),
            "built": tuple(self._built.values()),
        }
        self._record = self._record.model_copy(update=update)
        self._bundle.describe(self._record)


def overall(variants: Sequence[VariantRecord]) -> Status:
    """The verdict on all variants: a failed product outweighs a failed lab, and a pass needs one that ran."""
    statuses = {variant.status for variant in variants}
    for status in (Status.FAILED, Status.ERROR, Status.INTERRUPTED, Status.RUNNING, Status.PASSED):
        if status in statuses:
            return Status.ERROR if status is Status.RUNNING else status
    return Status.SKIPPED if statuses else Status.ERROR


def ended_record(variant: Variant, status: Status, reason: str) -> VariantRecord:
    """A variant that never ran."""
    scenario = variant.scenario
    return VariantRecord(
        name=scenario.name,
        variant=variant.id,
        status=status,
        capset=scenario.guest.capset,
        settings=scenario.model_dump_json(),
        reason=reason,
    )


def not_begun(variant: Variant) -> VariantRecord:
    """A variant that will not have run if nothing is heard of it any more."""
    return ended_record(variant, Status.INTERRUPTED, "interrupted before it began")


def opened_record(bundle: BundleWriter, plan: Sequence[PlannedScenario], choice: Choice) -> RunRecord:
    """What is known at the start, with copies of the scenario files and ``reproduce.sh`` in the bundle."""
    record = RunRecord(
        run=bundle.run,
        name=bundle.run.partition("Z-")[2],
        status=Status.RUNNING,
        started=now(),
        lab_version=lab.__version__,
        commit=commit(),
        python=host_platform.python_version(),
        argv=command_line(),
        command=choice.command,
        options=options_anywhere(plan, choice),
        host=host_record(),
        scenarios=tuple(scenario_record(entry, bundle.folder) for entry in plan),
    )
    script = bundle.folder / REPRODUCE
    write_whole(script, reproduce_script(record))
    script.chmod(0o755)
    return record


def options_anywhere(plan: Sequence[PlannedScenario], choice: Choice) -> tuple[str, ...]:
    """The options, whose settings mean the same for the bundle's copies; as given where one means another path for each file."""
    rooted = {rooted_settings(choice.settings, entry.source) for entry in plan}
    return (replace(choice, settings=rooted.pop()) if len(rooted) == 1 else choice).words


def command_line() -> tuple[str, ...]:
    """The words that the program was started with; bytes in them that are no text are replaced."""
    program, *words = sys.argv
    given = ("lab" if Path(program).name == "lab" else program, *words)
    return tuple(word.encode(errors="replace").decode() for word in given)


def scenario_record(entry: PlannedScenario, folder: Path) -> ScenarioRecord:
    """The scenario with a copy in the bundle that needs none of its files; a path within the project is kept relative to it."""
    copied = f"{SCENARIOS}/{entry.scenario.name}.toml"
    bases = [FileRecord(path=shown(layer.path), sha256=layer.sha256) for layer in entry.source.layers[:-1]]
    names = " and ".join(toml_value(path) for path in (shown(entry.path), *(base.path for base in bases)))
    write_whole(folder / copied, f"# made from {names}\n{toml_text(whole_tables(entry.source))}")
    known = entry.variants[0].expectations
    there = known.path.exists()
    if there:
        copy_expectations(known, expectations_path(folder / copied, entry.scenario.name))
    return ScenarioRecord(
        name=entry.scenario.name,
        description=entry.scenario.description,
        path=shown(entry.path),
        sha256=entry.sha256,
        copy_path=copied,
        expectations=file_record(known.path) if there else None,
        lists=tuple(file_record(Path(path)) for path in known.lists),
        bases=tuple(bases),
    )


def copy_expectations(known: Expectations, path: Path) -> None:
    """Write expectations to a file, with copies of their lists of supported cases beside it."""
    path.parent.mkdir(exist_ok=True)
    tables = known.file.model_dump(mode="json", exclude_unset=True)
    for number, supported in enumerate(tables.get("supported", ())):
        copied = path.with_name(f"{path.stem}-{number}.txt")
        shutil.copyfile(supported["cases"], copied)
        supported["cases"] = copied.name
    write_whole(path, f"# made from {toml_value(shown(known.path))}\n{toml_text(tables)}")


def file_record(path: Path) -> FileRecord:
    """A file that a scenario was made from, as it is now."""
    return FileRecord(path=shown(path), sha256=sha256(path))


def shown(path: Path) -> str:
    """A path, within the project relative to it."""
    whole = path.resolve()
    return str(whole.relative_to(PROJECT) if whole.is_relative_to(PROJECT) else whole)


def host_record() -> HostRecord:
    """The machine we are on, from its own files."""
    processor = memory_mib = None
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
        processor = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    with contextlib.suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        memory_mib = next(int(line.split()[1]) // 1024 for line in lines if line.startswith("MemTotal"))
    distribution = ""
    with contextlib.suppress(OSError):
        distribution = host_platform.freedesktop_os_release().get("PRETTY_NAME", "")
    return HostRecord(
        kernel=host_platform.release(),
        distribution=distribution,
        processor=processor or host_platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        memory_mib=memory_mib or 0,
    )


def commit() -> str:
    """The project's commit, with ``+`` behind it when tracked files were changed since; empty outside of git."""
    try:
        head = finish(("git", "-C", PROJECT, "rev-parse", "HEAD"), deadline=Deadline.after(GIT_S))
        changed = finish(("git", "-C", PROJECT, "diff", "--quiet", "HEAD"), deadline=Deadline.after(GIT_S))
    except LabError:
        return ""
    return "" if head.exit_status != 0 else head.output.strip() + ("+" if changed.exit_status else "")


def now() -> str:
    """This moment, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
