"""The two runs of a comparison, how their settings differ, and the result as plain values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.differences import Difference
from pytest_tablebench.claims.paired import Measure, PairedEstimate
from pytest_tablebench.config.axes import SAME_QUESTION, SINGLE, names_on
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.results.corrected import kept_rows
from pytest_tablebench.results.record import SCHEMA
from pytest_tablebench.results.run import Run, load_run
from pytest_tablebench.results.run_facts import RunFacts


@dataclass(frozen=True)
class ScopeComparison:
    """All measures of one scope.

    `kind` is `benchmark`, `dataset`, an axis or `tag`, and `name` its name, for a tag `tag=value`.
    `dataset` is None for a benchmark. `n_cases` were answered on both sides; `better` and `worse`
    of them flipped. The shares without an answer are of all cases of that run in the scope.
    """

    kind: str
    benchmark: str
    dataset: str | None
    name: str
    measures: Mapping[Measure, PairedEstimate]
    no_answer_before: float | None
    no_answer_after: float | None
    n_cases: int
    better: int
    worse: int


@dataclass(frozen=True)
class ConfigurationFlips:
    """The flips in one configuration.

    `configuration` has a name by axis, "" on an axis of which the run has not several names. `test`
    is exact McNemar, or the sign-flip test over tables if examples share tables.
    """

    dataset: str
    configuration: Mapping[str, str]
    n_examples: int
    better: int
    worse: int
    p: float
    test: str


@dataclass(frozen=True)
class Answers:
    """The numbers of cases that both runs asked, by how their answers changed.

    `same_text`, `other_text` (another text, the same verdict) and `flipped` (another verdict)
    add up to the cases answered on both sides. `flipped_same_text` are flipped cases with the
    same text, which only other rules of scoring can cause.
    """

    same_text: int
    other_text: int
    flipped: int
    flipped_same_text: int
    gained: int
    lost: int
    neither: int


@dataclass(frozen=True)
class RunComparison:
    """The comparison of two runs; case ids are without the model.

    `better` are cases that changed from wrong to right, `worse` from right to wrong, `gained`
    from no answer to an answer, `lost` from an answer to none. `other_answer` are cases with
    different answers. `corrected` are the scopes by the corrected gold, if both runs have the same
    corrections and the comparison is by the published gold.
    """

    before: Run
    after: Run
    differences: tuple[Difference, ...]
    scopes: tuple[ScopeComparison, ...]
    configurations: tuple[ConfigurationFlips, ...]
    answers: Answers
    better: tuple[str, ...]
    worse: tuple[str, ...]
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    other_answer: tuple[str, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    remarks: tuple[str, ...]
    corrected: tuple[ScopeComparison, ...] = ()

    @property
    def unlike(self) -> tuple[Difference, ...]:
        """The differences that make the runs measure different things."""
        return tuple(difference for difference in self.differences if difference.unlike)

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON values, with its schema number."""
        no_run = Run(Path(), RunFacts())  # the records of the runs are left out
        plain = replace(self, before=no_run, after=no_run, scopes=(), corrected=())
        sides = {"before": _side(self.before), "after": _side(self.after)}
        values = {"schema": SCHEMA, **asdict(plain), **sides}
        for name in ("scopes", "corrected"):
            values[name] = [
                {**asdict(scope), "measures": {m: e.entry() for m, e in scope.measures.items()}}
                for scope in getattr(self, name)
            ]
        values["configurations"] = [
            {"dataset": entry.pop("dataset"), **entry.pop("configuration"), **entry}
            for entry in values["configurations"]
        ]
        if not self.corrected:
            del values["corrected"]
        return values


def _side(run: Run) -> dict[str, Any]:
    facts = run.facts
    return {
        "path": str(run.path),
        "model": facts.model,
        "status": facts.status,
        "planned": facts.cases_planned,
        "recorded": len(run.records),
        "unanswered": run.unanswered,
        "compat": facts.compat,
        "version": facts.version,
        "extended": run.extended,
    }


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
    serializers, serializers_now = (
        {record.serializer for record in run.records} for run in (old, new)
    )
    if serializers != serializers_now and len(serializers) == len(serializers_now) == 1:
        renamed = [replace(record, serializer=min(serializers_now)) for record in old.records]
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
        if record.threshold is not None:
            thresholds.setdefault(record.dataset, set()).add(float(record.threshold))
    return {name: values.pop() for name, values in thresholds.items() if len(values) == 1}
