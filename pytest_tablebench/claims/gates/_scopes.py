"""Read a run for gates, and resolve the scopes and tags of gates in it and its baseline."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.gates._grammar import Gate
from pytest_tablebench.claims.paired import SheetPair
from pytest_tablebench.claims.summary import FORMER
from pytest_tablebench.config.axes import NAMED, values_on
from pytest_tablebench.results.judges import JUDGED
from pytest_tablebench.results.score_columns import CELL
from pytest_tablebench.results.score_table import (
    ScoreTable,
    benchmarks_of,
    check_once,
    raw_digests,
)
from pytest_tablebench.results.sheets import GRID_AXES, ScoreSheet, align, sheets
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import known_names, shortened

if TYPE_CHECKING:
    from pytest_tablebench.results.labelled_cases import LabelledCases
    from pytest_tablebench.results.run import Run
    from pytest_tablebench.results.score_columns import Flags, Floats

Key = tuple[str, ...]
"""Dataset, example, and the names on the axes of a grid."""


key_of: Callable[[Any], Key] = attrgetter("dataset", "example_id", *GRID_AXES)
"""Return the key of a record or case."""


@dataclass(frozen=True)
class Sides:
    """All datasets of a run, and the datasets of each benchmark that the records name."""

    datasets: Mapping[str, ScoreSheet]
    benchmarks: Mapping[str, Sequence[str]] = field(default_factory=dict)


def read_table(records: ScoreTable | Iterable[Any]) -> ScoreTable:
    """Return the score table of one run, from its records or the table itself.

    Raises `DataError` for records that cannot be used.
    """
    if isinstance(records, ScoreTable):
        return records
    return ScoreTable.from_records(records, answers=raw_digests)


def read_side(records: ScoreTable | Iterable[Any]) -> Sides:
    """Return the datasets of one run, from its records or its score table.

    Raises `DataError` for records that cannot be used, and for a case that occurs twice with the
    same repeat, as in records of several models.
    """
    table = read_table(records)
    check_once(table)
    benchmarks = {name: datasets for name, datasets in benchmarks_of(table).items() if name}
    return Sides(sheets(table.cells), benchmarks)


def planned_side(cases: Iterable[Any], altered: Collection[str]) -> Sides:
    """Return planned cases as a run that asked them and has no answer.

    `altered` are the perturbations that change the meaning of a table.
    """
    return read_side(
        {
            "dataset": case.dataset,
            "example_id": case.example_id,
            "score": None,
            "benchmark": getattr(case, "benchmark", None),
            "preserves_meaning": case.perturbation not in altered,
            **values_on(case),
        }
        for case in cases
    )


def columns_in_scope(sheet: ScoreSheet, gate: Gate) -> Flags:
    """Return which configurations belong to a gate's scope.

    Perturbations that change the meaning of a table belong to it only if the gate measures them
    or a count, or if no other configuration was asked.
    """
    cells = sheet.configurations
    places = [_named(sheet, name) for name in gate.filters]
    named: Flags = np.all([np.ones(len(cells), dtype=bool), *places], axis=0)
    altered = sheet.is_altered
    if gate.measure in {"changed_meaning", FORMER}:
        return named & altered
    plain: Flags = named & ~altered
    return plain if plain.any() and not gate.counted else named


def _named(sheet: ScoreSheet, text: str) -> Flags:
    """Return which configurations a name in brackets means: `pot`, or `strategy=pot`.

    A name of an axis that does not change the question is looked up last, because other axes may
    have it too.
    """
    start, _, name = text.partition("=")
    if start in CELL:
        return sheet.has(start, name)
    flags: Flags = np.zeros(len(sheet.configurations), dtype=bool)
    for axis in sorted(NAMED, key=lambda axis: not axis.changes_the_question):
        if axis.changes_the_question or not flags.any():
            flags |= sheet.has(axis.name, text)
    return flags


def expected_cells(sheet: ScoreSheet, gate: Gate) -> Flags:
    """Return the asked cells; for a pass rate only those that have or could have a verdict."""
    if gate.measure != "pass_rate" or gate.check is not None or gate.part is not None:
        return sheet.is_asked
    is_expected: Flags = sheet.is_asked & (np.isfinite(sheet.passed) | np.isnan(sheet.scores))
    return is_expected


def values_of(sheet: ScoreSheet, gate: Gate) -> Floats:
    """Return the values a gate measures: scores, pass rates, a test's verdicts, or a part."""
    if gate.check is not None:
        return sheet.checks.get(gate.check, np.full(sheet.is_asked.shape, np.nan))
    if gate.part is not None:
        part_values = sheet.parts.get(gate.part, np.full(sheet.is_asked.shape, np.nan))
        return np.where(np.isfinite(sheet.scores), part_values, np.nan)
    return sheet.passed if gate.measure == "pass_rate" else sheet.scores


def selected(sheet: ScoreSheet, gate: Gate, columns: Flags) -> ScoreSheet:
    """Return the cells of some configurations, with the values a gate measures as scores."""
    values = values_of(sheet, gate)
    measured = replace(sheet, is_asked=expected_cells(sheet, gate), scores=values, passed=values)
    return align(measured, sheet.examples, sheet.cells(columns))


@dataclass
class JudgeLabels:
    """The labels of a run and its baseline, read only if a gate needs them.

    `different` is why their marks cannot be compared; None if they can.
    """

    new: Run
    old: Run | None = None
    different: str | None = None

    @cached_property
    def run(self) -> LabelledCases:
        """The judged cases of the run."""
        return _labelled(self.new)

    @cached_property
    def baseline(self) -> LabelledCases | None:
        """The judged cases of the baseline."""
        return None if self.old is None else _labelled(self.old)

    @cached_property
    def scored(self) -> set[str]:
        """The datasets whose scores are a judge's marks."""
        sides = [self.run, *([] if self.baseline is None else [self.baseline])]
        return {case.dataset for side in sides for case in side.cases if case.is_score}


def _labelled(run: Run) -> LabelledCases:
    from pytest_tablebench.results.labelled_cases import labelled_cases

    return labelled_cases(run.records, run.labels)


def _has_marks(sheet: ScoreSheet) -> bool:
    return any(bool(np.isfinite(sheet.parts[part]).any()) for part in JUDGED if part in sheet.parts)


SHOWN = 20
"""The number of known values that the message about an unknown tag value lists."""


@dataclass
class Scopes:
    """The run and its baseline by dataset, aligned once for all gates.

    `benchmarks` are the datasets of each benchmark, `missing` those whose files the run lacked.
    """

    new: Sides
    old: Sides | None
    benchmarks: Mapping[str, Sequence[str]]
    missing: Collection[str] = ()
    whole: Scopes | None = None
    """The scopes that a slice is a part of."""
    labels: JudgeLabels | None = None
    """Labels by people, if gates on a judge's marks need them."""
    allowances: Sequence[Gate] = ()
    """The gates that name how many cases may have no answer."""
    family: int = 1
    """The number of gates that share the error of a false failure (Holm)."""
    _pairs: dict[str, SheetPair] = field(default_factory=dict)
    _slices: dict[tuple[tuple[str, str], ...], Scopes] = field(default_factory=dict)

    def sliced(self, gate: Gate) -> Scopes:
        """Return the scopes of only the examples with a gate's tags."""
        if not gate.tags:
            return self
        if gate.tags not in self._slices:
            self._slices[gate.tags] = self._slice(dict(gate.tags))
        return self._slices[gate.tags]

    def _slice(self, tags: Mapping[str, str]) -> Scopes:
        new = {name: sheet.slice(tags) for name, sheet in self.new.datasets.items()}
        old = {}
        for name, sheet in self.old.datasets.items() if self.old else ():
            # The newer run's tags take precedence, since an older run may lack tags.
            members = set(sheet.slice(tags).examples)
            if name in new:
                members -= set(self.new.datasets[name].examples)
                members |= set(new[name].examples)
            rows = [row for row, example in enumerate(sheet.examples) if example in members]
            old[name] = sheet.only(rows)
        new, old = ({n: s for n, s in sides.items() if s.examples} for sides in (new, old))
        benchmarks = {
            benchmark: [name for name in names if name in new or name not in self.new.datasets]
            for benchmark, names in self.benchmarks.items()
        }
        return replace(
            self,
            new=Sides(new, self.new.benchmarks),
            old=Sides(old, self.old.benchmarks) if self.old else None,
            benchmarks=benchmarks,
            whole=self,
            _pairs={},
            _slices={},
        )

    def missing_against(self, gate: Gate) -> Scopes | None:
        """Return the scopes if every missing answer of the run spoke against a gate.

        It is wrong for a gate with `>=`, and right for one with `<=`. None without a missing
        answer, or if a gate over the same or a wider scope names how many are allowed.
        """
        names = set((self.whole or self).datasets(gate))
        for allowance in self.allowances:
            if (
                names <= set((self.whole or self).datasets(allowance))
                and set(allowance.filters) <= set(gate.filters)
                and set(allowance.tags) <= set(gate.tags)
            ):
                return None
        value = 0.0 if gate.at_least else 1.0
        return self._with(gate, lambda sheet: sheet.missing_as(value))

    def unclear_as_right(self, gate: Gate) -> Scopes | None:
        """Return the scopes if every unclear reply of the run were right; None without any."""
        return self._with(gate, lambda sheet: sheet.unclear_as_right)

    def _with(self, gate: Gate, change: Callable[[ScoreSheet], ScoreSheet | None]) -> Scopes | None:
        """Return the scopes with other sheets of a gate; None if no sheet changes."""
        sheets = dict(self.new.datasets)
        for name in self.datasets(gate):
            if name in sheets and (sheet := change(sheets[name])) is not None:
                sheets[name] = sheet
        if all(sheet is self.new.datasets[name] for name, sheet in sheets.items()):
            return None
        return replace(self, new=replace(self.new, datasets=sheets), _pairs={}, _slices={})

    def datasets(self, gate: Gate) -> list[str]:
        """Return the names of the datasets in a gate's scope; empty for an unknown scope."""
        if gate.scope in ("all", "run"):
            return list(self.new.datasets)
        if gate.scope in self.new.datasets:
            return [gate.scope]
        return list(self.benchmarks.get(gate.scope, ()))

    def judged(self, gate: Gate) -> list[str]:
        """Return the datasets in a gate's scope whose values are a judge's marks.

        None of them are, if gates take the marks as they are.
        """
        if self.labels is None or gate.counted or gate.check is not None:
            return []
        sides = [side.datasets for side in (self.new, self.old) if side is not None]
        names = [
            name
            for name in self.datasets(gate)
            if any(_has_marks(side[name]) for side in sides if name in side)
        ]
        if gate.part is not None:
            return names if gate.part in JUDGED else []
        return [name for name in names if name in self.labels.scored]

    def unknown(self, gate: Gate) -> str:
        """Return why a gate's scope has no case."""
        if self.whole is not None and self.whole.datasets(gate):
            datasets = self.whole.new.datasets
            sheets = [datasets[name] for name in self.whole.datasets(gate) if name in datasets]
            values = {
                tag: {value for sheet in sheets for value in sheet.tags.get(tag, ())} - {""}
                for tag, _ in gate.tags
            }
            return without_tags(gate, values)
        scope_names = dict.fromkeys([*self.new.datasets, *self.benchmarks, "all"])
        if gate.scope in scope_names:
            return "no case of this scope was asked"
        names = known_names(gate.scope, scope_names)
        return f"no case of {gate.scope} was asked; {names}"

    def shrunk(self, gate: Gate) -> str | None:
        """Return which datasets of the baseline's scope lack files now; None if all have files.

        A user may choose to run fewer datasets, but missing files are not a choice.
        """
        if self.old is None or gate.scope == "run":
            return None
        old_sheets = self.old.datasets
        datasets = old_sheets if gate.scope == "all" else self.old.benchmarks.get(gate.scope, ())
        lost = sorted(name for name in datasets if name in old_sheets and name in self.missing)
        if not lost:
            return None
        names = ", ".join(lost)
        return (
            f"the files of {names} are missing here, but the baseline has "
            f"{'it' if len(lost) == 1 else 'them'}: fetch the files to judge "
            f"{gate.scope} on the same datasets"
        )

    def pair(self, dataset: str) -> SheetPair | None:
        """Return a dataset of the baseline and the run; None if the baseline lacks it."""
        old = self.old.datasets.get(dataset) if self.old else None
        if old is not None and dataset not in self._pairs:
            self._pairs[dataset] = SheetPair.of(dataset, old, self.new.datasets[dataset])
        return self._pairs.get(dataset)


def without_tags(gate: Gate, values: Mapping[str, Collection[str]]) -> str:
    """Return why no example has the tags of a gate; `values` are the known values of each tag."""
    for tag, value in gate.tags:
        tag_values = values.get(tag, ())
        if value not in tag_values:
            labels = [shortened(tag_value, 60) for tag_value in sorted(tag_values)[:SHOWN]]
            names = known_names(value, labels) if labels else "no example has that tag"
            text = shortened(f"{tag}={value}", 80)
            return f"no example of this scope has {text}; {names}"
    return "no example of this scope has all these tags"
