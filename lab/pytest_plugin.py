"""Scenario files as pytest items.

``scenarios/*.toml`` are collected, one item per variant, marked ``scenario``. Whatever carries that marker, ``native`` or ``gpu``
boots something, builds for minutes or needs something rare, so it runs only when asked for: by ``-m``, by naming its file, or by
``--require``. A scenario that says ``nightly = true`` takes long: it runs only by its name, or by ``-m nightly``. Variants that
one boot can serve are run in one go, with the first of them. A capability that this host lacks (``HostError``) skips an item with
the probe's reason; ``--require=scenario,gpu`` makes that an error for items with these markers, and for those without a marker,
which need nothing of the host.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lab import paths
from lab.bundle import Bundle, read_bundle
from lab.bundle.schema import Status, VariantRecord
from lab.errors import HostError, LabError
from lab.interruption import interruptible
from lab.process import file_tail
from lab.scenario.boots_at_once import MOST_JOBS
from lab.scenario.expand import expand
from lab.scenario.file import validated
from lab.scenario.listener import LineListener
from lab.scenario.machine import real_platform
from lab.scenario.plan import Choice, planned
from lab.scenario.platform import Platform
from lab.scenario.runner import RunOutcome, run
from lab.scenario.source import read_source
from lab.visible import visible
from reports import rendered_report

ASKED_FOR = ("native", "scenario", "gpu")
REQUIRABLE = ("protocol", *ASKED_FOR)
FOLDER = "scenarios"
NIGHTLY = "nightly"
MARKERS = ("scenario: boots a guest", f"{NIGHTLY}: boots a guest for long; only by name or by -m {NIGHTLY}")
"""Markers of scenario files, which may lie in anybody's project."""
SERIAL_TAIL_BYTES = 2500
MAX_FINDINGS = 20
PLATFORM = pytest.StashKey[Platform]()
OUTCOMES = pytest.StashKey[dict[Path, RunOutcome | Exception]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of ours."""
    group = parser.getgroup("virtgpu-lab")
    group.addoption(
        "--require",
        metavar="MARKERS",
        default="",
        help="markers (protocol,native,scenario,gpu) whose capability skips are errors; they run",
    )  # fmt: skip
    group.addoption("--lab-out", metavar="DIR", default=None, help="where run bundles go (reports/runs)")
    group.addoption("--lab-jobs", metavar="N", type=int, default=1, help="boots of a scenario file at the same time (1)")


def pytest_configure(config: pytest.Config) -> None:
    """Look into ``scenarios/`` too, where nothing was named on the command line."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    config.stash.setdefault(PLATFORM, real_platform())
    config.stash[OUTCOMES] = {}
    unknown = required(config) - set(REQUIRABLE)
    if unknown:
        raise pytest.UsageError(f"--require knows {', '.join(REQUIRABLE)}, not {', '.join(sorted(unknown))}")
    jobs = config.getoption("--lab-jobs")
    if not 1 <= jobs <= MOST_JOBS:
        raise pytest.UsageError(f"--lab-jobs is from 1 to {MOST_JOBS}, not {jobs}")
    folder = config.rootpath / FOLDER
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and folder.is_dir():
        config.args.append(str(folder))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A scenario file: in ``scenarios/``, or named on the command line."""
    if file_path.suffix == ".toml" and (file_path.parent.name == FOLDER or parent.session.isinitpath(file_path)):
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not asked for. With ``-m`` the user has said what to run, but for what is for the night."""
    words, wanted = config.option.markexpr, required(config)
    dropped = [item for item in items if NIGHTLY not in words and item.get_closest_marker(NIGHTLY) and not is_named(item)]
    if not words:
        dropped += [item for item in items if is_rare(item, wanted) and not is_named(item) and item not in dropped]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in set(dropped)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A ``HostError`` is a skip with the probe's reason, where the item may be skipped."""
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, HostError) and may_be_skipped(item):
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"Skipped: {error}")
    return report


def required(config: pytest.Config) -> set[str]:
    """Markers of ``--require``."""
    return {word.strip() for word in str(config.getoption("--require")).split(",") if word.strip()}


def may_be_skipped(item: pytest.Item) -> bool:
    """Whether ``--require`` leaves a skip to an item: none of its markers is required, or it has none and nothing is."""
    wanted = required(item.config)
    markers = {name for name in REQUIRABLE if item.get_closest_marker(name)}
    return not (wanted & markers if markers else wanted)


def is_rare(item: pytest.Item, wanted: Iterable[str]) -> bool:
    """Whether an item carries a marker that has to be asked for, and that was not."""
    markers = {name for name in ASKED_FOR if item.get_closest_marker(name)}
    return bool(markers - set(wanted))


def is_named(item: pytest.Item) -> bool:
    """Whether the item's own file stands on the command line."""
    return item.session.isinitpath(item.path)


class ScenarioFile(pytest.File):
    """One scenario file."""

    def collect(self) -> Iterable[pytest.Item]:
        """One item per variant. Raises ``ConfigError`` with everything wrong in the file."""
        source = read_source(self.path)
        validated(source)
        for variant in expand(source):
            item = ScenarioItem.from_parent(self, name=variant.id)
            if variant.scenario.nightly:
                item.add_marker(NIGHTLY)
            yield item

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ARG002
        """The problems of the file, without our frames."""
        return visible(str(excinfo.value)) if isinstance(excinfo.value, LabError) else super().repr_failure(excinfo)


class ScenarioItem(pytest.Item):
    """One variant of a scenario file."""

    def __init__(self, **words: Any) -> None:
        super().__init__(**words)
        self.add_marker("scenario")

    def runtest(self) -> None:
        """Run this variant, with all others of the file that are to be run, and judge this one."""
        outcome = self._outcome()
        record = next(variant for variant in outcome.record.variants if variant.variant == self.name)
        if record.status is Status.SKIPPED and may_be_skipped(self):
            pytest.skip(record.reason)
        if record.status is not Status.PASSED:
            raise VariantFailed(record, read_bundle(outcome.folder))

    def _outcome(self) -> RunOutcome:
        """The one run of the file's variants; what ended it without an outcome is told for each of them."""
        done = self.config.stash[OUTCOMES]
        if self.path not in done:
            try:
                done[self.path] = self._run()
            except Exception as error:  # noqa: BLE001 - raised below, for each variant
                done[self.path] = error
        outcome = done[self.path]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _run(self) -> RunOutcome:
        ids = [item.name for item in self.session.items if isinstance(item, ScenarioItem) and item.path == self.path]
        choice = Choice(variants=tuple(ids))
        out = Path(self.config.getoption("--lab-out") or paths.RUNS)
        with interruptible():
            jobs = self.config.getoption("--lab-jobs")
            outcome = run(planned([self.path], choice), choice, out, LineListener(), self.config.stash[PLATFORM], jobs=jobs)
        rendered_report(outcome.folder)
        if outcome.record.status is Status.INTERRUPTED:
            raise KeyboardInterrupt(f"what there is of the run: {outcome.folder / 'index.html'}")
        return outcome

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The cause and the evidence, without our frames."""
        error = excinfo.value
        if isinstance(error, VariantFailed | LabError):
            return visible(str(error))
        if isinstance(error, OSError) and error.filename is not None:
            return visible(f"{error.filename}: {error.strerror}")
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """How the item is called in headings."""
        return self.path, None, f"{self.path.stem}/{self.name}"


class VariantFailed(AssertionError):
    """A variant that did not pass: its findings, the end of the serial console, and where the logs are."""

    def __init__(self, record: VariantRecord, bundle: Bundle) -> None:
        self.record = record
        place = (record.name, record.variant)
        findings = [row for row in bundle.findings if (row.scenario, row.variant) == place]
        lines = [f"{record.name}/{record.variant}: {record.status}" + ("" if findings else f": {record.reason}")]
        lines += [f"  {row.finding} ({row.blame}): {row.text}" for row in findings[:MAX_FINDINGS]]
        if len(findings) > MAX_FINDINGS:
            lines.append(f"  and {len(findings) - MAX_FINDINGS} findings more")
        lines += evidence(bundle.folder / record.logs) if record.logs else []
        lines.append(f"report: {bundle.folder / 'index.html'}")
        super().__init__("\n".join(lines))


def evidence(logs: Path) -> Sequence[str]:
    """The end of the serial console, and the names of all logs."""
    serial = file_tail(logs / "serial.log", SERIAL_TAIL_BYTES).rstrip().splitlines()
    there = ", ".join(sorted(path.name for path in logs.iterdir() if path.is_file())) if logs.is_dir() else "none"
    return ["serial console:", *(f"  {line}" for line in serial or ["(silent)"]), f"logs in {logs}: {there}"]
