"""The columns of a score table."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Places = NDArray[np.signedinteger[Any]]

CELL = tuple(axis.name for axis in NAMED)

CASE = ("model", "dataset", "example", *CELL)
"""The columns that identify a cell; rows that are equal on all of them are repeats."""

COLUMNS = (*CASE, "benchmark", "reason")
"""The columns of names."""

LARGEST = 1 << 62
"""The upper limit of row keys, which prevents overflow."""


class NameColumn(NamedTuple):
    """Names sorted by code point, and the index of each row's name."""

    names: tuple[str, ...]
    codes: Places


@dataclass(frozen=True)
class SparseColumn:
    """A column that only the records in `rows` have; NaN if a value is unknown."""

    rows: Places
    values: Floats


def tag_columns(
    tags: Mapping[int, Mapping[str, str]], examples: int, rows: array[int]
) -> dict[str, NameColumn]:
    """Return a column for each tag, given the tags of examples and the example of each row."""
    of_row, columns = np.array(rows, dtype=np.intc), {}
    for tag in sorted({name for example_tags in tags.values() for name in example_tags}):
        values = [str(tags.get(index, {}).get(tag, "")) for index in range(examples)]
        names = tuple(sorted(set(values)))
        codes = {name: number for number, name in enumerate(names)}
        of_example = np.array([codes[value] for value in values], dtype=np.int32)
        columns[tag] = NameColumn(names, of_example[of_row])
    return columns


@dataclass(frozen=True)
class ScoreColumns:
    """Records as columns; each row is a record, in the order of arrival.

    Args:
        names: the names in each of `COLUMNS`, sorted by code point. A missing value, and the reason
            of an answered case, is the empty name.
        codes: the index of each row's name, by column.
        score: NaN without an answer.
        passed: 0 or 1, NaN without a verdict.
        threshold: NaN if unknown.
        checks: by test; `parts` are by part of the score.
        answers: texts or digests of the answers; None if the table does not keep them.
        tags: by name, the value of each row, empty without one. Tags belong to the example, so
            that they do not depend on whether a row has an answer.
        answer_marks: marks that are equal for equal predictions, 0 if unknown.
        altered: the perturbations that change the meaning of a table.
        cluster: the table (document, paraphrase group) of each row's example, empty if unknown;
            None if no record names one.
        tallies: by tally (`TALLIES`), the rows that it counts.
        corrections: by row, the `corrected` of its record; only rows with a correction.
    """

    names: Mapping[str, tuple[str, ...]]
    codes: Mapping[str, Places]
    score: Floats
    passed: Floats
    threshold: Floats
    repeat: Integers
    checks: Mapping[str, SparseColumn]
    parts: Mapping[str, SparseColumn]
    answers: NDArray[np.object_] | None = None
    tags: Mapping[str, NameColumn] = field(default_factory=dict)
    answer_marks: Integers | None = None
    altered: frozenset[str] = frozenset()
    cluster: NameColumn | None = None
    tallies: Mapping[str, SparseColumn] = field(default_factory=dict)
    corrections: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.score)

    def key(self, axes: Sequence[str] = CASE) -> Integers:
        """Return a number for each row that sorts the rows by their names on these axes."""
        key, size = np.zeros(len(self), dtype=np.int64), 1
        for axis in axes:
            name_count = max(1, len(self.names[axis]))
            if size * name_count > LARGEST:  # renumber the keys from 0
                key = np.unique(key, return_inverse=True)[1].astype(np.int64)
                size = len(key)
            key *= name_count
            key += self.codes[axis]
            size *= name_count
        return key
