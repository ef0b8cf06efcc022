"""Read the two runs of a comparison, and find how their settings differ."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_tablebench.config.axes import SAME_QUESTION, SINGLE, names_on
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.results.corrected import kept_rows
from pytest_tablebench.results.run import Run, load_run
from pytest_tablebench.results.run_facts import RunFacts


def load_pair(before: Path | Run, after: Path | Run) -> tuple[Run, Run]:
    """Return two runs to compare, finished or interrupted, with the same keys of cases.

    If only one of them has several names on an axis of `SAME_QUESTION`, its
    cases with the other's name are compared. If each has one serializer, these are paired, because
    a strategy may have a serializer of its own. Raises `SettingsError` for a folder that is no run,
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
    shown, shown_now = ({record.serializer for record in run.records} for run in (old, new))
    if shown != shown_now and len(shown) == len(shown_now) == 1:
        renamed = [replace(record, serializer=min(shown_now)) for record in old.records]
        old = Run(old.path, old.facts, new_records=renamed)
    return old, new


def _compared(run: Run, only: Sequence[Collection[tuple[str, ...]]]) -> Run:
    """Return the run with `only` these names on each axis of `SAME_QUESTION`."""
    compared = list(zip(SAME_QUESTION, only, strict=True))
    records = [
        record
        for record in run.records
        if all(names_on(record, (axis,)) in names for axis, names in compared)
    ]
    if len(records) < len(run.records):
        run = Run(run.path, run.facts, new_records=records)
    try:
        _ = run.table  # raises `DataError` for records that form no table
    except DataError as error:
        raise SettingsError(f"{run.path / 'records.jsonl'}: {error}") from None
    modes: dict[str, tuple[str, ...]] = {}
    for record in records:
        combination = names_on(record, SINGLE)
        if modes.setdefault(record.dataset, combination) != combination:
            axes = " or ".join(axis.plural for axis in SINGLE)
            raise SettingsError(
                f"{run.path} asked {record.dataset} in several {axes}; compare runs "
                f"with only one of each"
            )
    return run


def by_corrected_gold(run: Run) -> Run:
    """Return a run by the corrected gold, without the cases left out."""
    records = [run.records[row] for row in kept_rows(run.table)]
    facts, left_out = run.facts, len(run.records) - len(records)
    if facts.cases_planned is not None:  # a case that is left out is not missing
        facts = replace(facts, cases_planned=facts.cases_planned - left_out)
    corrected = Run(run.path, facts, new_records=records)
    corrected.table = run.table.corrected
    return corrected


def comparable_facts(old: Run, new: Run) -> tuple[RunFacts, RunFacts]:
    """Return the facts of two runs with the thresholds in the records of both.

    `run.json` lacks thresholds that a suite's marker sets.
    """
    thresholds = _thresholds(old), _thresholds(new)
    both = sorted(thresholds[0].keys() & thresholds[1].keys())
    if not both:
        return old.facts, new.facts
    first, second = (
        RunFacts.from_json(
            {
                **run.facts.entries,
                "thresholds": {**run.facts.thresholds, **{name: used[name] for name in both}},
            }
        )
        for run, used in zip((old, new), thresholds, strict=True)
    )
    return first, second


def _thresholds(run: Run) -> Mapping[str, float]:
    """Return the threshold of each dataset whose records have a single one.

    Thresholds of single examples are part of the data, which is compared by digest.
    """
    thresholds: dict[str, set[float]] = {}
    for record in run.records:
        if isinstance(record.threshold, int | float):
            thresholds.setdefault(record.dataset, set()).add(float(record.threshold))
    return {name: values.pop() for name, values in thresholds.items() if len(values) == 1}
