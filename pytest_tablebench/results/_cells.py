"""Merge the rows of a score table into cells, each with all repeats of a configuration."""

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

    from pytest_tablebench.results.score_columns import Floats, Integers, Places, ScoreColumns


@dataclass(frozen=True)
class Cells:
    """Configurations of examples, each with all its repeats, sorted by name.

    Args:
        table: the columns.
        first: a row of each cell.
        times: the number of repeats.
        answered: the number of repeats with an answer.
        right: the number of repeats that passed.
        score: the mean score of the answered repeats, NaN without an answer.
        passed: the share of the repeats with a verdict that passed, NaN without a verdict.
        rows: all rows, by cell, then by score, with unanswered rows last.
        start: the index in `rows` where each cell begins.
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
        """Return the cells of a table; they do not depend on the order of its rows."""
        # Indices of 32 bits save memory: a table has some hundred thousand rows.
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
        for cell in np.flatnonzero(times > 1):  # usually none
            span = slice(start[cell], start[cell] + times[cell])
            repeats = rows[span]
            scores = table.score[repeats][is_answered[span]].tolist()
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
        """Return the index of each cell's name on an axis."""
        return self.table.codes[axis][self.first]

    @cached_property
    def of_row(self) -> Integers:
        """The cell of each row."""
        cells = np.empty(len(self.rows), dtype=np.int64)
        cells[self.rows] = np.repeat(np.arange(len(self)), self.times)
        return cells

    def scores(self, cell: int) -> list[float]:
        """Return the scores of a cell's answered repeats in ascending order."""
        begin = int(self.start[cell])
        rows = self.rows[begin : begin + int(self.answered[cell])]
        scores: list[float] = self.table.score[rows].tolist()
        return scores

    @cached_property
    def sparse(self) -> dict[str, dict[str, SparseColumn]]:
        """By field and name: the cells that have it, and its value over their repeats.

        The value is the share that passed a test (`checks`), the mean of a part of the score
        (`parts`), or the number of repeats that a tally counts (`tallies`).
        """
        tallies = {name: marks for name, marks in self.table.tallies.items() if name != CUT_AT}
        return {
            "checks": self._merged(self.table.checks),
            "parts": self._merged(self.table.parts),
            "tallies": self._merged(tallies, as_sums=True),
        }

    def _merged(
        self, rows: Mapping[str, SparseColumn], *, as_sums: bool = False
    ) -> dict[str, SparseColumn]:
        """Merge the rows of each cell into their mean, or their sum."""
        merged = {}
        for name, marks in rows.items():
            cells, places = np.unique(self.of_row[marks.rows], return_inverse=True)
            has_value = np.isfinite(marks.values)
            counts = np.bincount(places, weights=has_value, minlength=len(cells))
            sums = np.bincount(places, weights=np.where(has_value, marks.values, 0.0))
            share = np.divide(sums, counts, out=np.full(len(cells), nan), where=counts > 0)
            merged[name] = SparseColumn(cells, sums.astype(float) if as_sums else share)
        return merged

    @cached_property
    def answer_marks(self) -> Integers | None:
        """The mark of each cell's answer, or of its repeats' most common answer; 0 if unknown.

        Of equally common answers the first counts.
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
        """The answer of each cell, a tuple for several repeats; None if unknown."""
        answers = self.table.answers
        if answers is None:
            return None
        by_cell = answers[self.first]
        for cell, rows in self._repeated():
            repeats = tuple(answers[rows])
            by_cell[cell] = None if None in repeats else repeats
        return by_cell

    def _repeated(self) -> Iterator[tuple[int, Places]]:
        """Yield each cell with several repeats, and its rows in the order of repeats."""
        for cell in np.flatnonzero(self.times > 1).tolist():
            rows = self.rows[self.start[cell] : self.start[cell] + self.times[cell]]
            yield cell, rows[np.argsort(self.table.repeat[rows], kind="stable")]
