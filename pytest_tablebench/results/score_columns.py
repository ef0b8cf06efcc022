"""The columns of a score table: what each of its rows says, by number."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Places = NDArray[np.signedinteger[Any]]

CASE = ("model", "dataset", "example", "serializer", "perturbation", "strategy", "modality")
"""What makes a configuration of an example one cell; only its repeats share all of it."""

AXES = (*CASE, "benchmark", "reason")

LARGEST = 1 << 62
"""No key of a row is as large."""


class NameColumn(NamedTuple):
    """Names by code point, and the place of each row's among them."""

    names: tuple[str, ...]
    codes: Places


@dataclass(frozen=True)
class SparseColumn:
    """A column that only the records in `rows` have; NaN where its value is unknown."""

    rows: Places
    values: Floats


def tag_columns(
    tags: Mapping[int, Mapping[str, str]], examples: int, rows: array[int]
) -> dict[str, NameColumn]:
    """Return the tags of each row, by name, from those of each example by its place."""
    of_row, columns = np.array(rows, dtype=np.intc), {}
    for tag in sorted({name for example_tags in tags.values() for name in example_tags}):
        values = [str(tags.get(place, {}).get(tag, "")) for place in range(examples)]
        names = tuple(sorted(set(values)))
        codes = {name: number for number, name in enumerate(names)}
        of_example = np.array([codes[value] for value in values], dtype=np.int32)
        columns[tag] = NameColumn(names, of_example[of_row])
    return columns


@dataclass(frozen=True)
class ScoreColumns:
    """Records as columns; a row is a record, in the order in which they came.

    `names` holds the names of each of `AXES` by code point, `codes` each row's place there; the
    reason of an answered case and what a record does not say are the empty name. `score` is NaN
    without an answer, `passed` 0 or 1 beside it and NaN without a verdict, `threshold` NaN where
    unknown. `checks` and `parts` are by name. `answers` is there where the table was asked to
    keep them. `tags` holds by name those of each row, empty without one; they belong to the
    example, so that a row without an answer has them where another one does. So does `cluster`,
    the table (document, paraphrase group) of each row's example, empty where unknown; None where
    no record names one. `answer_marks` marks what each answer was read as, 0 unknown. `altered`
    are the perturbations that change the meaning of a table. `cuts` marks the rows whose replies
    a token limit ended, by how.
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
    cuts: Mapping[str, SparseColumn] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.score)

    def key(self, axes: Sequence[str] = CASE) -> Integers:
        """Return a number for each row, in the order of these axes' names."""
        key, size = np.zeros(len(self), dtype=np.int64), 1
        for axis in axes:
            name_count = max(1, len(self.names[axis]))
            if size * name_count > LARGEST:  # at most a number for each row
                key = np.unique(key, return_inverse=True)[1].astype(np.int64)
                size = len(key)
            key *= name_count
            key += self.codes[axis]
            size *= name_count
        return key
