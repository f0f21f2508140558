"""What a run says about a scenario's expectations: entries to add and to remove, and lists of supported cases to bring up to date.

Nothing is decided for the reader: an entry that is added has neither reason nor link, and is refused until somebody wrote them.
"""

from __future__ import annotations

import difflib
import io
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from lab.bundle.expected import Expected, ExpectedEnd
from lab.bundle.outcome import Outcome
from lab.bundle.reader import Bundle
from lab.bundle.schema import RUN, Record, RunRecord, ScenarioRecord, Status, VariantRecord
from lab.errors import ConfigError, ConfigProblem
from lab.paths import PROJECT
from lab.scenario.expectations import Expectations, Situation, cases_in, expectations_path, load_expectations
from lab.scenario.lines import KeyLines
from lab.scenario.plan import CHECKING
from lab.scenario.setting import settings_of
from lab.scenario.situation import known_versions
from lab.scenario.toml_text import toml_tables, toml_value

JUDGED = (Status.PASSED, Status.FAILED)
Ends = dict[tuple[str, str], set[Outcome]]


@dataclass(frozen=True, slots=True)
class Edit:
    """A file as it is and as it would be."""

    path: Path
    before: str
    after: str

    @property
    def diff(self) -> str:
        """The edit as a unified diff; empty where nothing changes."""
        before, after = self.before.splitlines(keepends=True), self.after.splitlines(keepends=True)
        return "".join(difflib.unified_diff(before, after, str(self.path), str(self.path)))


@dataclass(frozen=True, slots=True)
class Seen:
    """A variant that was run to its end: what it ran with, and how its cases ended, by check and case."""

    situation: Situation
    ends: Ends


class RecordedHost(Record):
    """Of the table ``host``."""

    ggml_library: str


class RecordedGuest(Record):
    """Of the table ``guest``."""

    image: str
    capset: str
    data_path: str


class RecordedSettings(Record):
    """What a bundle has of a variant's settings, as far as conditions are about it."""

    host: RecordedHost
    guest: RecordedGuest


def edits(bundle: Bundle, *, list_supported: bool = False) -> Iterator[Edit]:
    """The edits that a run suggests. ``list_supported`` begins a list of supported cases where there is none for a library.

    Raises:
        ConfigError: the expectations there are cannot be read, or the bundle's settings of a variant; or its scenario is not here,
            beside which they would be.
    """
    for record in bundle.run.scenarios:
        seen = [one for variant in bundle.run.variants if (one := seen_of(bundle, record, variant)) is not None]
        if seen:
            file = PROJECT / record.path
            if not file.is_file():
                hint = "put the file of its scenario there, or run it again from where it is"
                raise ConfigError(bundle.folder, [ConfigProblem("", f"is of {file}, which is not there", hint)])
            known = load_expectations(expectations_path(file, record.name))
            yield from scenario_edits(known, seen, whole=is_whole(bundle.run), list_supported=list_supported)


def says_nothing(bundle: Bundle) -> bool:
    """Whether no variant with cases came to its end: then there are no edits, and the expectations may be up to date or not."""
    pairs = itertools.product(bundle.run.scenarios, bundle.run.variants)
    return all(seen_of(bundle, record, variant) is None for record, variant in pairs)


def scenario_edits(known: Expectations, seen: Sequence[Seen], *, whole: bool, list_supported: bool = False) -> Iterator[Edit]:
    """The edits for one scenario. Raises ``ConfigError`` where the file is written so that nothing can be added to it."""
    before = known.path.read_text(encoding="utf-8") if known.path.exists() else ""
    after = without_entries(before, removable(known, seen, whole=whole))
    for case, variants in unexpected(known, seen).items():
        after += entry_text(case, variants)
    lists = list(list_edits(known, seen, whole=whole))
    if list_supported:
        for path, library in new_lists(known, seen):
            if not (cases := supported_in(seen, library)):
                continue
            lists.append(Edit(path, "", "".join(f"{case}\n" for case in cases)))
            after += f"\n[[supported]]\ncases = {toml_value(path.name)}\nwhen = {{ ggml_library = {toml_value(library)} }}\n"
    _require_toml(known.path, after)
    yield Edit(known.path, before, after.lstrip("\n"))
    yield from lists


def _require_toml(path: Path, text: str) -> None:
    """Nothing takes the place of expectations that could not be read afterwards."""
    try:
        toml_tables(text)
    except ValueError as error:
        hint = "write lists as [[expect]] and [[supported]], to which others can be added"
        raise ConfigError(path, [ConfigProblem("", f"would be no TOML with what is to be added: {error}", hint)]) from error


def unexpected(known: Expectations, seen: Sequence[Seen]) -> dict[str, tuple[str, ...]]:
    """Failed cases of which nothing is expected, with the variants they failed in; none named where it was every one."""
    failed: dict[str, list[str]] = {}
    ran: dict[str, list[str]] = {}
    for one in seen:
        entries = known.there(one.situation)
        for (check, case), outcomes in one.ends.items():
            name = f"{check}/{case}"
            ran.setdefault(name, []).append(one.situation.variant)
            if Outcome.FAIL in outcomes and entry_for(entries, check, case) is None:
                failed.setdefault(name, []).append(one.situation.variant)
    return {name: () if failed[name] == ran[name] else tuple(failed[name]) for name in failed}


def removable(known: Expectations, seen: Sequence[Seen], *, whole: bool) -> frozenset[int]:
    """Numbers of the entries that say nothing true of any variant they hold for."""
    useful: set[int] = set()
    held: set[int] = set()
    for one in seen:
        entries = known.there(one.situation)
        held |= {entry.number for entry in entries}
        for (check, case), outcomes in one.ends.items():
            entry = entry_for(entries, check, case)
            if entry is not None and (entry.end is not ExpectedEnd.FAIL or outcomes != {Outcome.PASS}):
                useful.add(entry.number)
            elif entry is not None:
                held.add(entry.number)
        if not whole:
            matched = {entry.number for (check, case) in one.ends if (entry := entry_for(entries, check, case)) is not None}
            useful |= {entry.number for entry in entries} - matched
    return frozenset(held - useful)


def entry_for(entries: Sequence[Expected], check: str, case: str) -> Expected | None:
    """The entry that a case is judged by."""
    return next((entry for entry in entries if entry.matches(check, case)), None)


def entry_text(case: str, variants: Sequence[str]) -> str:
    """Entries for a case, with reason and link to be filled in."""
    text = f'\n[[expect]]\ncase = {toml_value(case)}\nkind = "fail"\nreason = ""\nlink = ""\n'
    return "".join(f"{text}when = {{ variant = {toml_value(name)} }}\n" for name in variants) or text


def without_entries(text: str, numbers: frozenset[int]) -> str:
    """The text without entries and the comments right above them; an entry within an inline list stays."""
    rows = list(io.StringIO(text, newline="\n"))  # lines as TOML has them: others of Unicode's ends of lines are text
    lines = KeyLines(text)
    for number in sorted(numbers, reverse=True):
        line = lines.exact(f"expect[{number}]")
        if line is None or not rows[line - 1].lstrip().startswith("[["):
            continue
        start, end = line - 1, (lines.behind(f"expect[{number}]") or len(rows) + 1) - 1
        while end < len(rows) and end > line and rows[end - 1].startswith("#"):
            end -= 1
        while start > 0 and rows[start - 1].startswith("#"):
            start -= 1
        del rows[start:end]
    return "".join(rows)


def list_edits(known: Expectations, seen: Sequence[Seen], *, whole: bool) -> Iterator[Edit]:
    """Lists of supported cases without those that are not any more, and with those that are now.

    A list that several entries name must hold wherever one of them does: it is edited once, for all of them.
    """
    for path in dict.fromkeys(Path(one.cases) for one in known.file.supported):
        conditions = [one.when for one in known.file.supported if Path(one.cases) == path]
        here = [variant for variant in seen if any(when.holds(variant.situation) for when in conditions)]
        if not here:
            continue
        before = path.read_text(encoding="utf-8")
        listed = list(cases_in(path))
        now = supported_in(here)
        ran = {f"{check}/{case}" for variant in here for check, case in variant.ends}
        gone = {case for case in listed if (case in ran or whole) and case not in set(now)}
        kept = [line for line in before.splitlines() if line.strip() not in gone]
        added = [case for case in now if case not in set(listed)]
        yield Edit(path, before, "".join(f"{line}\n" for line in (*kept, *added)))


def new_lists(known: Expectations, seen: Sequence[Seen]) -> Iterator[tuple[Path, str]]:
    """Paths for lists of the host libraries that have none, with the library. What is there, under another condition, stays."""
    taken: set[Path] = set()
    for library in dict.fromkeys(one.situation.ggml_library for one in seen):
        here = [one for one in seen if one.situation.ggml_library == library]
        if not any(entry.when.holds(one.situation) for entry in known.file.supported for one in here):
            path = known.path.with_name(f"{known.path.stem}-{Path(library).stem}.txt")
            numbered = (path.with_stem(f"{path.stem}-{number}") for number in itertools.count(2))
            path = next(one for one in itertools.chain((path,), numbered) if one not in taken and not one.exists())
            taken.add(path)
            yield path, library


def supported_in(seen: Sequence[Seen], library: str | None = None) -> tuple[str, ...]:
    """check/case of all that ran in each of the variants and was supported in all of them."""
    here = [one for one in seen if library in {None, one.situation.ggml_library}]
    names = [
        {f"{check}/{case}" for (check, case), ends in one.ends.items() if not ends & {Outcome.UNSUPPORTED, Outcome.SKIPPED}}
        for one in here
    ]
    everywhere = set.intersection(*names) if names else set()
    return tuple(sorted(everywhere))


def seen_of(bundle: Bundle, record: ScenarioRecord, variant: VariantRecord) -> Seen | None:
    """A variant of the scenario as the bundle has it; None for one that proves nothing, since it did not run to its end."""
    if variant.name != record.name or variant.status not in JUDGED:
        return None
    ends: Ends = {}
    for row in bundle.cases:
        if (row.scenario, row.variant) == (variant.name, variant.variant):
            ends.setdefault((row.check.partition(" ")[0], row.case), set()).add(Outcome(row.outcome))
    interrupted = any(
        (row.scenario, row.variant, row.finding) == (variant.name, variant.variant, "interrupted") for row in bundle.findings
    )
    return None if interrupted or not ends else Seen(recorded_situation(bundle, variant), ends)


def recorded_situation(bundle: Bundle, variant: VariantRecord) -> Situation:
    """What a variant ran with, from the bundle. Raises ``ConfigError`` where its settings cannot be read."""
    run, settings = bundle.run, recorded_settings(bundle, variant)
    host, guest = settings.host, settings.guest
    built = {(one.role, one.name if one.role == "guest image" else ""): dict(one.packages) for one in run.built}
    root, image = built.get(("host root", ""), {}), built.get(("guest image", guest.image), {})
    versions = known_versions(root, image)
    if variant.boot is not None and 0 <= variant.boot < len(run.boots):
        versions["kernel"] = run.boots[variant.boot].kernel
    return Situation(
        variant=variant.variant,
        ggml_library=host.ggml_library,
        capset=guest.capset,
        data_path=guest.data_path,
        accel=variant.accel or "",
        image=guest.image,
        registry=variant.device.registry if variant.device else "",
        device=variant.device.name if variant.device else "",
        versions=versions,
    )


def recorded_settings(bundle: Bundle, variant: VariantRecord) -> RecordedSettings:
    """The settings that conditions are about. Raises ``ConfigError`` where they cannot be read."""
    try:
        return RecordedSettings.model_validate_json(variant.settings)
    except ValidationError as error:
        key = f"variants[{bundle.run.variants.index(variant)}].settings"
        first = error.errors()[0]
        why = ": ".join((*map(str, first["loc"]), first["msg"]))
        problem = ConfigProblem(key, f"cannot be read: {why}", "run the scenario again")
        raise ConfigError(bundle.folder / RUN, [problem]) from error


def is_whole(run: RunRecord) -> bool:
    """Whether the run checked all that its files ask for, which are neither chosen cases nor others by a setting."""
    if "--case" in run.options:
        return False
    options = [value for word, value in zip(run.options, run.options[1:], strict=False) if word == "--set"]
    settings, _ = settings_of(options)
    return not any(setting.words[0] in CHECKING for setting in settings)
