"""Read the two runs of a comparison, and find how their settings differ."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from pytest_tablebench.claims.compare._types import RunFacts
from pytest_tablebench.config.axes import JOINED, SAME_QUESTION, SINGLE, names_on
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.results.corrected_columns import kept_rows
from pytest_tablebench.results.corrections import overlay_of
from pytest_tablebench.results.loaded_run import LoadedRun, load_run
from pytest_tablebench.results.record import Record, case_key
from pytest_tablebench.results.score_table import ScoreTable, raw_digests
from pytest_tablebench.util.entries import mapping
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
    is_kept = [axis.in_grid or axis in several for axis in JOINED]
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
        names = zip(names_on(record, JOINED), is_kept, strict=True)
        cell = tuple(name if kept else "" for name, kept in names)
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
