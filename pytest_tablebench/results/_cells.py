"""Cells: the rows of a score table with the repeats of each configuration folded into one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING

from pytest_tablebench.results._columns import same
from pytest_tablebench.results.figures import mean_of_equals
from pytest_tablebench.results.record import CUT_AT
from pytest_tablebench.results.score_columns import SparseColumn
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_tablebench.results.score_columns import (
        Floats,
        Integers,
        Places,
        ScoreColumns,
    )


@dataclass(frozen=True)
class Cells:
    """Configurations of examples, each with all its repeats, in the order of their names.

    `first` is a row of each cell. `times` counts its repeats, `answered` and `right` those with
    an answer and those that passed. `score` is the mean of the answered repeats and `passed` the
    share of them that passed, NaN where there is none. `rows` are all rows, cell by cell, in a
    cell by score, without an answer last; those of a cell begin at `start`.
    """

    table: ScoreColumns
    first: Places
    times: Places
    answered: Places
    right: Places
    score: Floats
    passed: Floats
    rows: Places
    start: Places

    @classmethod
    def of(cls, table: ScoreColumns) -> Cells:
        """Fold the repeats of a table; the order of its rows leaves no trace."""
        # Places of rows are half as wide as numpy's own: a table has some hundred thousand.
        key = table.key()
        rows, row_count = np.argsort(key, kind="stable").astype(np.int32), len(key)
        new = np.diff(key[rows], prepend=-1) != 0
        times, start = same(np.int32(1), row_count), np.arange(row_count, dtype=np.int32)
        if not new.all():
            rows = np.lexsort((table.repeat, table.score, key)).astype(np.int32)
            start = start[new]
            times = np.diff(start, append=np.int32(row_count))
        del key
        first = rows if len(start) == row_count else rows[start]
        is_answered = np.isfinite(table.score[rows])
        score, passed = table.score[first], table.passed[first]
        answered = is_answered[start].astype(np.int32)
        right = (passed == 1).astype(np.int32)
        for cell in np.flatnonzero(times > 1):  # nearly always none
            repeats = rows[start[cell] : start[cell] + times[cell]]
            scores = table.score[repeats][
                is_answered[start[cell] : start[cell] + times[cell]]
            ].tolist()
            answered[cell] = len(scores)
            if scores:
                score[cell] = mean_of_equals(scores)
                right[cell] = int(np.nansum(table.passed[repeats]))
                judged = np.isfinite(table.passed[repeats]).sum()
                passed[cell] = right[cell] / judged if judged else nan
        return cls(table, first, times, answered, right, score, passed, rows, start)

    def __len__(self) -> int:
        return len(self.first)

    def codes(self, axis: str) -> Places:
        """Return each cell's place among the names of an axis."""
        return self.table.codes[axis][self.first]

    @cached_property
    def of_row(self) -> Integers:
        """The cell of each row."""
        cells = np.empty(len(self.rows), dtype=np.int64)
        cells[self.rows] = np.repeat(np.arange(len(self)), self.times)
        return cells

    def scores(self, cell: int) -> list[float]:
        """Return the scores of a cell's answered repeats, ascending."""
        begin = int(self.start[cell])
        scores: list[float] = self.table.score[
            self.rows[begin : begin + int(self.answered[cell])]
        ].tolist()
        return scores

    @cached_property
    def checks(self) -> dict[str, SparseColumn]:
        """Of each test, by name: the cells it is about, and the share of repeats that passed it."""
        return self._folded(self.table.checks)

    @cached_property
    def parts(self) -> dict[str, SparseColumn]:
        """Of each named part of the score: the cells that have it, and its mean over repeats."""
        return self._folded(self.table.parts)

    @cached_property
    def cuts(self) -> dict[str, SparseColumn]:
        """By how a token limit ended replies: the cells, and in how many of their repeats."""
        folded = {}
        for name, marks in self.table.cuts.items():
            if name == CUT_AT:
                continue
            cells, places = np.unique(self.of_row[marks.rows], return_inverse=True)
            folded[name] = SparseColumn(
                cells, np.bincount(places, weights=marks.values).astype(float)
            )
        return folded

    def _folded(self, rows: Mapping[str, SparseColumn]) -> dict[str, SparseColumn]:
        folded = {}
        for name, marks in rows.items():
            cells, places = np.unique(self.of_row[marks.rows], return_inverse=True)
            has_value = np.isfinite(marks.values)
            counts = np.bincount(places, weights=has_value, minlength=len(cells))
            sums = np.bincount(places, weights=np.where(has_value, marks.values, 0.0))
            share = np.divide(sums, counts, out=np.full(len(cells), nan), where=counts > 0)
            folded[name] = SparseColumn(cells, share)
        return folded

    @cached_property
    def answer_marks(self) -> Integers | None:
        """A mark of each cell's answer, 0 unknown; of several repeats that of the most common.

        Of equally common ones the first that was given counts.
        """
        row_marks = self.table.answer_marks
        if row_marks is None:
            return None
        cell_marks = row_marks[self.first]
        for cell, rows in self._repeated():
            present = [mark for mark in row_marks[rows].tolist() if mark]
            cell_marks[cell] = max(present, key=present.count) if present else 0
        return cell_marks

    @cached_property
    def answers(self) -> NDArray[np.object_] | None:
        """What is kept of each cell's answer, of several repeats in their order; None unknown."""
        answers = self.table.answers
        if answers is None:
            return None
        by_cell = answers[self.first]
        for cell, rows in self._repeated():
            repeats = tuple(answers[rows])
            by_cell[cell] = None if None in repeats else repeats
        return by_cell

    def _repeated(self) -> Iterator[tuple[int, Places]]:
        """Yield each cell that was asked several times, and its rows in the order of repeats."""
        for cell in np.flatnonzero(self.times > 1).tolist():
            rows = self.rows[self.start[cell] : self.start[cell] + self.times[cell]]
            yield cell, rows[np.argsort(self.table.repeat[rows], kind="stable")]
