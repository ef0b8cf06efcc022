"""Read many records into columns, which fill the score table."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isnan, nan
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.axes import MODES
from pytest_tablebench.results.record import answer_mark, tallies_of
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

EQUAL = 1e-9
"""Scores and means closer than this are equal, so that rounding decides nothing."""

Fields = dict[str, Sequence[Any]]
"""Values by field, without fields that no record has."""

_OPTIONAL = (
    "passed", "threshold", "checks", "parts", *(axis.name for axis in MODES), "benchmark",
    "reason", "tags", "preserves_meaning", "cluster", "corrected",
)  # fmt: skip


def reader(record: Any, required: Sequence[str]) -> Callable[[Sequence[Any]], Fields]:
    """Return a function that reads the fields of many records of the same type.

    It raises `KeyError` or `AttributeError` for a record without a required field.
    """
    if isinstance(record, Mapping):
        return lambda records: _of_mappings(records, required)
    all_names = (*required, "repeat", *_OPTIONAL, "answer_mark", "tallies")
    names = [name for name in all_names if name in required or hasattr(record, name)]
    # Read field by field: a tuple per record would slow down the garbage collector.
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
    # Records of other tools without a verdict count as wrong.
    fields["passed"] = [record.get("passed", False) for record in records]
    fields["repeat"] = [record.get("repeat", 1) for record in records]
    fields["tallies"] = [record.get("tallies") or tallies_of(record) for record in records]
    corrected = [record.get("corrected") for record in records]
    fields["corrected"] = [entry if isinstance(entry, Mapping) else None for entry in corrected]
    # Records from a file contain the answer itself instead of its mark.
    fields["answer_mark"] = [
        record["answer_mark"] if "answer_mark" in record else answer_mark(record.get("prediction"))
        for record in records
    ]
    return fields


def check_scores(fields: Fields) -> None:
    """Raise `ValueError` with the first record if any score is not a number from 0 to 1."""
    scores = [score for score in fields["score"] if score is not None]
    if not scores:
        return
    usable = all(issubclass(kind, float | int) for kind in set(map(type, scores)))
    # `min` and `max` may miss a NaN; the sum does not.
    if usable and not isnan(sum(scores)) and min(scores) >= -EQUAL and max(scores) <= 1 + EQUAL:
        return
    names = ("dataset", "example_id", "serializer", "perturbation")
    case = "/".join(str(fields[name][0]) for name in names)
    raise ValueError(f"{case} has the score {scores[0]!r}, not from 0 to 1")


def or_empty(values: Sequence[Any] | None, count: int) -> Iterable[Any]:
    """Return the values with "" in place of None; `count` empty ones without values."""
    if values is None:
        return ("",) * count
    return [value or "" for value in values] if None in values else values


class Codes(dict[tuple[str, ...], int]):
    """Numbers names in the order of their first use."""

    def __missing__(self, names: tuple[str, ...]) -> int:
        code = self[names] = len(self)
        return code


NUMBERS = {"repeat": ("i", 1), "passed": ("b", 0), "threshold": ("d", nan), "answer_mark": ("q", 0)}
"""The columns of numbers that records may lack: type code of the array, and the usual number."""

_MAY_BE_NONE = ("threshold", "answer_mark")


def number_column(name: str, values: Sequence[Any] | None, count: int) -> array[Any]:
    """Return a column of `NUMBERS` for `count` records; without values all numbers are usual."""
    code, usual = NUMBERS[name]
    if values is None:
        return array(code, [usual]) * count
    if name in _MAY_BE_NONE:
        values = [usual if value is None else value for value in values]
    return array(code, values)


def compact(values: array[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """Return a column; a constant one uses the memory of one value."""
    column = np.array(values)
    if np.array_equal(column, same(column[:1], len(column)), equal_nan=True):
        return same(column[:1].astype(dtype), len(column))
    return column.astype(dtype, copy=False)


def same(value: Any, count: int) -> NDArray[Any]:
    """Return a constant column, which uses the memory of one value."""
    return np.broadcast_to(value, count)
