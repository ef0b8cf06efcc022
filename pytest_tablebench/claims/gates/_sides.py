"""Read a run for gates: the sheets of its score table (spec: statistics.md 1)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.summary import FORMER
from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.results.score_columns import CELL
from pytest_tablebench.results.score_table import (
    ScoreTable,
    benchmarks_of,
    check_once,
    field_of,
    raw_digests,
)
from pytest_tablebench.results.sheets import GRID_AXES, ScoreSheet, align, sheets
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates._grammar import Gate
    from pytest_tablebench.results.score_columns import Flags, Floats

Key = tuple[str, ...]
"""Dataset, example, and the names on the axes of a grid."""


def key_of(record: Any) -> Key:
    """Return the key of a record or case."""
    names = ("dataset", "example_id", *GRID_AXES)
    return tuple(field_of(record, name) for name in names)


@dataclass(frozen=True)
class Sides:
    """All datasets of a run, and the datasets of each benchmark that the records name."""

    datasets: Mapping[str, ScoreSheet]
    benchmarks: Mapping[str, Sequence[str]] = field(default_factory=dict)


def read_table(
    records: ScoreTable | Iterable[Any], answers: Mapping[Key, Hashable] | None = None
) -> ScoreTable:
    """Return the score table of one run, from its records or the table itself.

    `answers` gives the answer texts of records without them, or any values that are equal for
    equal texts. Raises `DataError` for records that cannot be used.
    """
    if isinstance(records, ScoreTable):
        return records
    lookup = (
        None
        if answers is None
        else lambda records: [answers.get(key_of(record)) for record in records]
    )
    return ScoreTable.from_records(records, answers=lookup or raw_digests)


def read_side(records: ScoreTable | Iterable[Any]) -> Sides:
    """Return the datasets of one run, from its records or its score table.

    Raises `DataError` for records that cannot be used, and for a case that occurs twice with the
    same repeat, as in records of several models.
    """
    table = read_table(records)
    check_once(table)
    benchmarks = {name: datasets for name, datasets in benchmarks_of(table).items() if name}
    return Sides(sheets(table.cells), benchmarks)


def about(sheet: ScoreSheet, gate: Gate) -> Flags:
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
