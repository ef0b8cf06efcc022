"""Fields of many records at a time, column by column: what the score table is filled from."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from pytest_tablebench.results.record import answer_mark, cuts_of
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

EQUAL = 1e-9
"""Scores and means closer than this are equal: the order of float sums decides nothing."""

Fields = dict[str, Sequence[Any]]
"""Values by the name of the field; without those that none of the records has."""

_OPTIONAL = (
    "passed", "threshold", "checks", "parts", "strategy", "modality", "benchmark", "reason",
    "tags", "preserves_meaning", "cluster",
)  # fmt: skip


def reader(record: Any, required: Sequence[str]) -> Callable[[Sequence[Any]], Fields]:
    """Return what reads the fields of records of this one's type.

    Raises `KeyError` or `AttributeError` for a record without a required one.
    """
    if isinstance(record, Mapping):
        return lambda records: _of_mappings(records, required)
    all_names = (*required, "repeat", *_OPTIONAL, "answer_mark", "cuts")
    names = [name for name in all_names if name in required or hasattr(record, name)]
    # Field by field: a tuple for each record would only keep the garbage collector busy.
    readers = [(name, attrgetter(name)) for name in names]
    return lambda records: {name: list(map(read, records)) for name, read in readers}


def _of_mappings(records: Sequence[Mapping[str, Any]], required: Sequence[str]) -> Fields:
    fields: Fields = dict(
        zip(required, zip(*map(itemgetter(*required), records), strict=True), strict=True)
    )
    if max(map(len, records)) == len(required):
        return fields
    for name in _OPTIONAL:
        fields[name] = [record.get(name) for record in records]
    # Records of other tools may have no verdict; they count as not right.
    fields["passed"] = [record.get("passed", False) for record in records]
    fields["repeat"] = [record.get("repeat", 1) for record in records]
    fields["cuts"] = [
        record.get("cuts")
        or cuts_of(record.get("reason"), record.get("flags"), record.get("reply_limit"))
        for record in records
    ]
    # As it stands in a file, a record has the answer itself, and no mark of it.
    fields["answer_mark"] = [
        answer_mark(record["prediction"])
        if "prediction" in record and "answer_mark" not in record
        else mark
        for record, mark in zip(
            records, [record.get("answer_mark") for record in records], strict=True
        )
    ]
    return fields


def check_scores(fields: Fields) -> None:
    """Raise `ValueError`, naming the first record, where one of the scores is none."""
    scores = [score for score in fields["score"] if score is not None]
    if not scores:
        return
    usable = all(issubclass(kind, float | int) for kind in set(map(type, scores)))
    # A sum with a NaN in it is one; the lowest and the highest may not be.
    if usable and not isnan(sum(scores)) and min(scores) >= -EQUAL and max(scores) <= 1 + EQUAL:
        return
    names = ("dataset", "example_id", "serializer", "perturbation")
    case = "/".join(str(fields[name][0]) for name in names)
    raise ValueError(f"{case} has the score {scores[0]!r}, not from 0 to 1")


def or_empty(values: Sequence[Any] | None, count: int) -> Iterable[Any]:
    """Return values with the empty name in place of None; None stands for all of them."""
    if values is None:
        return ("",) * count
    return [value or "" for value in values] if None in values else values


class Codes(dict[tuple[str, ...], int]):
    """Numbers names in the order in which they come."""

    def __missing__(self, names: tuple[str, ...]) -> int:
        place = self[names] = len(self)
        return place


class LazyColumn:
    """A column of numbers that takes no memory before one comes that is not the usual.

    Arguments:
        code: of its `array`.
        usual: the number that most rows have.
        blank: what stands in records for it.
    """

    def __init__(self, code: str, usual: float, blank: Any = None) -> None:
        self._usual = usual
        self._blank = blank
        self._values: array[Any] = array(code)

    def __bool__(self) -> bool:
        return bool(self._values)

    def read(self, values: Sequence[Any] | None) -> array[Any] | None:
        """Return a part of the column, None where all are as usual; so is what stands nowhere."""
        usual, blank = self._usual, self._blank
        if values is None or values.count(blank) == len(values):
            return None
        return array(
            self._values.typecode, [usual if value is blank else value for value in values]
        )

    def extend(self, values: array[Any] | None, rows: int, count: int) -> None:
        """Take what was read of so many records, behind so many rows."""
        if values is not None:
            self._fill(rows)
            self._values.extend(values)
        elif self._values:
            self._fill(rows + count)

    def _fill(self, rows: int) -> None:
        missing = rows - len(self._values)
        self._values.extend(array(self._values.typecode, [self._usual]) * missing)

    def column(self, rows: int, dtype: type[np.generic]) -> NDArray[Any]:
        """Return the column; one that has the same value in each row takes the memory of one."""
        if not self._values:
            return same(np.array(self._usual, dtype=dtype), rows)
        column = np.array(self._values)
        if np.array_equal(column, same(column[:1], rows), equal_nan=True):
            return same(column[:1].astype(dtype), rows)
        return column.astype(dtype, copy=False)


def same(value: Any, count: int) -> NDArray[Any]:
    """Return a column that has one value in each row, and takes the memory of one."""
    return np.broadcast_to(value, count)
