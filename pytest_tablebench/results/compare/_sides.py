"""Read the two runs of a comparison, and find how their settings differ."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from pytest_tablebench.config.axes import JOINED, SAME_QUESTION, SINGLE, names_on
from pytest_tablebench.config.options import OPTIONS, Differs
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.results._corrected_columns import kept_rows
from pytest_tablebench.results.compare._types import RunFacts, SettingDifference
from pytest_tablebench.results.corrections import overlay_of
from pytest_tablebench.results.folder import RUN, read_run_json
from pytest_tablebench.results.judges import JUDGE_FACTS
from pytest_tablebench.results.loaded_run import LoadedRun, load_run
from pytest_tablebench.results.record import Record, case_key
from pytest_tablebench.results.score_table import ScoreTable, raw_digests
from pytest_tablebench.results.served import short_names
from pytest_tablebench.util.entries import mapping
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import printable


class Key(NamedTuple):
    """What identifies a case in both runs.

    `names` are its names on `JOINED`: "" on an axis that is in no grid unless the compared cases
    have several of its names.
    """

    dataset: str
    example: str
    names: tuple[str, ...]
    repeat: int


@dataclass(frozen=True)
class ComparedRun:
    """One run: its score table, the record of each row, and the row of each case.

    `thresholds` contains the threshold of each dataset whose records have a single one.
    """

    loaded: LoadedRun
    about: RunFacts
    table: ScoreTable
    records: Sequence[Record]
    rows: Mapping[Key, int]
    thresholds: Mapping[str, float]

    @property
    def overlay(self) -> str | None:
        """The digest of its corrections of the gold; None without any."""
        return overlay_of(self.loaded.run)

    def by_corrected_gold(self) -> ComparedRun:
        """Return the run by the corrected gold, without the cases left out."""
        kept = kept_rows(self.table)
        place = {row: number for number, row in enumerate(kept)}
        records = [self.records[row] for row in kept]
        unanswered = sum(record.score is None for record in records)
        return replace(
            self,
            about=replace(self.about, unanswered=unanswered),
            table=self.table.corrected,
            records=records,
            rows={key: place[row] for key, row in self.rows.items() if row in place},
        )

    def case_id(self, key: Key) -> str:
        """Return the id of a case, without the model."""
        return case_key(self.records[self.rows[key]])

    def comparable_facts(self, other: ComparedRun) -> dict[str, Any]:
        """Return run.json with the thresholds in the records of both runs.

        The file itself lacks thresholds that a suite's marker sets.
        """
        run = self.loaded.run
        both = self.thresholds.keys() & other.thresholds.keys()
        if not both:
            return dict(run)
        used = {name: self.thresholds[name] for name in sorted(both)}
        return {**run, "thresholds": {**mapping(run, "thresholds"), **used}}


def load_pair(before: Path | LoadedRun, after: Path | LoadedRun) -> tuple[ComparedRun, ComparedRun]:
    """Return two runs to compare, finished or interrupted, with the same keys of cases.

    If only one of them has several names on an axis of `SAME_QUESTION`, its
    cases with the other's name are compared. Raises `SettingsError` for a folder that is no run,
    and for records that cannot be used.
    """
    runs = load_run(before), load_run(after)
    names = [
        [{names_on(record, (axis,)) for record in run.records} for axis in SAME_QUESTION]
        for run in runs
    ]
    old, new = (
        _compared(
            run,
            [
                others if len(run_names) > 1 == len(others) else run_names
                for run_names, others in zip(names_of_run, names_of_other, strict=True)
            ],
        )
        for run, names_of_run, names_of_other in zip(runs, names, reversed(names), strict=True)
    )
    return old, new


def _compared(loaded: LoadedRun, only: Sequence[Collection[tuple[str, ...]]]) -> ComparedRun:
    """Return the cases with `only` these names on each axis of `SAME_QUESTION`."""
    path, facts = loaded.path, loaded.run
    compared = list(zip(SAME_QUESTION, only, strict=True))
    records = [
        record
        for record in loaded.records
        if all(names_on(record, (axis,)) in names for axis, names in compared)
    ]
    several = [axis for axis, names in compared if len(names) > 1]
    try:
        is_whole = len(records) == len(loaded.records)
        table = loaded.table if is_whole else ScoreTable.from_records(records, answers=raw_digests)
    except DataError as error:
        raise SettingsError(f"{path / 'records.jsonl'}: {error}") from None
    rows, thresholds = dict[Key, int](), dict[str, set[float]]()
    modes: dict[str, tuple[str, ...]] = {}
    for row, record in enumerate(records):
        if isinstance(record.threshold, int | float):
            thresholds.setdefault(record.dataset, set()).add(float(record.threshold))
        combination = names_on(record, SINGLE)
        if modes.setdefault(record.dataset, combination) != combination:
            axes = " or ".join(axis.plural for axis in SINGLE)
            raise SettingsError(
                f"{path} asked {printable(record.dataset, 60)} in several {axes}; compare runs "
                f"with only one of each"
            )
        cell = tuple(
            names_on(record, (axis,))[0] if axis.in_grid or axis in several else ""
            for axis in JOINED
        )
        rows[Key(record.dataset, record.example_id, cell, record.repeat)] = row
    planned = facts.get("cases_planned")
    about = RunFacts(
        path=str(path),
        model=str(facts.get("model")),
        status=str(facts.get("status", "unknown")),
        planned=planned if isinstance(planned, int) else None,
        recorded=len(rows),
        unanswered=sum(record.score is None for record in records),
        compat=_text_or_none(facts.get("compat")),
        extended=sum("extended" in record.flags for record in records),
        version=_text_or_none(mapping(facts, "versions").get("pytest-tablebench")),
    )
    # Thresholds of single examples are part of the data, which is compared by digest.
    single_thresholds = {
        name: values.pop() for name, values in thresholds.items() if len(values) == 1
    }
    return ComparedRun(loaded, about, table, records, rows, single_thresholds)


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


_PACKAGES = ("pytest-tablebench", "spacy")


def setting_differences(
    before: Mapping[str, Any], after: Mapping[str, Any], *, of_one_run: bool = False
) -> tuple[SettingDifference, ...]:
    """Return the differences between two runs' `run.json`.

    A setting that one run did not record (an interrupted run, an older version) is no difference.
    With `of_one_run` the runs are to be parts of one run, which must agree in more settings.
    """
    differences: list[SettingDifference] = []
    for option in OPTIONS:
        if option.recorded is None or option.differs.verdict == "ignore":
            continue
        differs = option.differs
        if of_one_run and option.of_one_run:
            differs = replace(differs, verdict="refuse")
        # Datasets may declare such an option: compare the values that were used, if recorded.
        entries = _entries(option.entry, before, after) if option.by_dataset else None
        if entries is None:
            differences += _option(option.recorded, differs, before, after)
        else:
            differences += _by_dataset(option.recorded, differs, entries)
    further_settings = {"part": _PART, "threshold": _THRESHOLD} if of_one_run else {"part": _PART}
    for name, differs in further_settings.items():
        entries = _entries(name, before, after)
        differences += _by_dataset(name, differs, entries) if entries is not None else []
    for name, meaning in _JUDGES.items():
        differences += _judges(name, meaning, before, after)
    differences += _data(before, after)
    differences += _served(before, after)
    for package in _PACKAGES:
        old, new = (mapping(run, "versions").get(package) for run in (before, after))
        if old is not None and new is not None and old != new:
            name = f"versions.{package}"
            meaning = "scores may differ for that reason alone"
            differences.append(SettingDifference(name, str(old), str(new), meaning, unlike=False))
    return tuple(sorted(differences, key=lambda difference: not difference.unlike))


def _served(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[SettingDifference]:
    """Yield the difference in what answered the runs, if both say it."""
    old, new = mapping(before, "served"), mapping(after, "served")
    if old and new and old.keys() != new.keys():
        names = short_names({*old, *new})
        first, second = (" + ".join(sorted(names[name] for name in run)) for run in (old, new))
        meaning = "another model, provider or version answered"
        yield SettingDifference("served", first, second, meaning, unlike=False)


_PART = Differs("refuse", "another part of the metric is the score", "the metric's own")
_THRESHOLD = Differs("refuse", "other scores count as right")

Entries = Mapping[str, tuple[Any, Any]]
"""The values of a setting in both runs, by dataset."""


def _entries(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Entries | None:
    old, new = mapping(before, "by_dataset"), mapping(after, "by_dataset")
    if old and new and old.keys().isdisjoint(new):
        return {}  # the runs have no dataset in common
    pairs = {}
    for dataset in sorted({*old} & {*new}):
        first, second = mapping(old, dataset), mapping(new, dataset)
        if key not in first or key not in second:
            return None
        pairs[dataset] = first[key], second[key]
    return pairs or None


def _by_dataset(place: str, differs: Differs, entries: Entries) -> Iterator[SettingDifference]:
    """Yield the differences between common datasets, with equal ones together."""
    datasets_of: dict[tuple[str, str, str], list[str]] = {}
    key = place.rpartition(".")[2]
    for dataset, (first, second) in entries.items():
        for difference in _option(key, differs, {key: first}, {key: second}):
            texts = difference.name, difference.before, difference.after
            datasets_of.setdefault(texts, []).append(dataset)
    for (name, first, second), datasets in datasets_of.items():
        where = f" of {', '.join(datasets)}" if len(datasets) < len(entries) else ""
        full = name.replace(key, place, 1)
        yield SettingDifference(
            f"{full}{where}", first, second, differs.meaning, unlike=differs.verdict == "refuse"
        )


def _option(
    place: str, differs: Differs, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[SettingDifference]:
    """Yield the differences of two runs in an option, entry by entry if it has several."""
    *inside, key = place.split(".")
    before, after = mapping(before, *inside), mapping(after, *inside)
    if key not in before or key not in after:
        return
    old, new, unset = before[key], after[key], differs.unset
    pairs = {place: (old, new)}
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        unset = "not given"
        pairs = {f"{place}.{name}": (old.get(name), new.get(name)) for name in sorted({*old, *new})}
    elif isinstance(old, list) and isinstance(new, list):
        pairs = {place: (", ".join(sorted(map(str, old))), ", ".join(sorted(map(str, new))))}
    for name, (first, second) in pairs.items():
        if first != second:
            texts = _shown(first, unset), _shown(second, unset)
            is_unlike = differs.verdict == "refuse"
            yield SettingDifference(name, *texts, differs.meaning, unlike=is_unlike)


def _judges(
    name: str, meaning: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[SettingDifference]:
    """Yield the differences in a fact about the judge, for metrics that both runs have."""
    first, second = mapping(before, name), mapping(after, name)
    for metric in sorted(first.keys() & second.keys()):
        if first[metric] != second[metric]:
            texts = _shown(first[metric]), _shown(second[metric])
            yield SettingDifference(f"{name}.{metric}", *texts, meaning, unlike=True)


_JUDGES = {
    "judge_params": "the judge had other parameters",
    "judge_prompts": "the judge had another prompt",
}


def _shown(value: object, none: str = "none") -> str:
    if value is None:
        return none
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _data(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[SettingDifference]:
    """Yield the differences in the digests and revisions of each common dataset."""
    old, new = mapping(before, "datasets"), mapping(after, "datasets")
    for dataset in sorted({*old} & {*new}):
        first, second = mapping(old, dataset), mapping(new, dataset)
        for key in sorted(({*first} & {*second}) - {"notes", "problems"}):
            if first[key] != second[key]:
                name, texts = f"datasets.{dataset}.{key}", _shortest(first[key], second[key])
                yield SettingDifference(name, *texts, "the data is not the same", unlike=True)


def _shortest(old: object, new: object) -> tuple[str, str]:
    """Return two values as texts; for mappings, only the entries that differ."""
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return _shown(old), _shown(new)
    names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
    return _digests(old, names), _digests(new, names)


def _digests(values: Mapping[str, Any], names: Sequence[str]) -> str:
    return ", ".join(
        f"{name} {_shown(values[name])[:12]}" if name in values else f"no {name}" for name in names
    )


def check_alike(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    *,
    hint: str,
    of_one_run: bool = False,
    different_judges: bool = False,
) -> None:
    """Raise `SettingsError` with all differences that make two runs (their `run.json`) unlike.

    A different model is allowed unless `of_one_run`, another judge if `different_judges`. `hint`
    ends the message; it says what to do.
    """
    differences = setting_differences(before, after, of_one_run=of_one_run)
    unlike = [
        difference
        for difference in differences
        if difference.unlike
        and not (different_judges and difference.name.partition(".")[0] in JUDGE_FACTS)
    ]
    if unlike:
        named = "; ".join(
            f"{printable(difference.name, 80)}: {printable(difference.before, 120)} against "
            f"{printable(difference.after, 120)} ({difference.meaning})"
            for difference in unlike
        )
        raise SettingsError(f"the runs are unlike: {named}. {hint}")


def latest_run(model: str, baseline: Path, places: Iterable[Path]) -> Path | None:
    """Return the newest finished run of a model that is comparable with a baseline; None if none.

    `places` are the folders to search. Folders that cannot be read as runs are skipped.
    """
    before = read_run_json(baseline)
    candidates: list[tuple[str, Path]] = []
    for place in dict.fromkeys(map(real_path, places)):
        for path in sorted(file.parent for file in place.glob(f"*/{RUN}")):
            try:
                run = read_run_json(path)
            except SettingsError:
                continue
            if run.get("status") != "complete" or run.get("model") != model:
                continue
            if path == real_path(baseline) or any(
                difference.unlike for difference in setting_differences(before, run)
            ):
                continue
            candidates.append((str(run.get("end")), path))
    return max(candidates)[1] if candidates else None
