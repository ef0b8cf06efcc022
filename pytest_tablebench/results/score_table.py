"""The score table: the records of a run as columns, which all figures are taken from.

numpy is loaded where the table is made, not where it is filled: a run fills it as records come.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from math import nan
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import DataError
from pytest_tablebench.results._cells import Cells, Column, Marks, tag_columns
from pytest_tablebench.results._record import answer_mark
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Codes = NDArray[np.int32]

__all__ = ["EQUAL", "Cells", "Marks", "ScoreTable", "ScoreTableBuilder", "field_of", "raw_digest"]

EQUAL = 1e-9
"""Scores and means closer than this are equal: the order of float sums decides nothing."""

CASE = ("model", "dataset", "example", "serializer", "perturbation", "strategy", "modality")
"""What makes a configuration of an example one cell; only its repeats share all of it."""

AXES = (*CASE, "benchmark", "reason")

_GROUPS = (CASE[:3], CASE[3:], AXES[len(CASE) :])
"""Axes whose names come together: a record is three places in three short lists of them."""

LARGEST = 1 << 62
"""No key of a row is as large."""

_REQUIRED = ("model", "dataset", "example_id", "serializer", "perturbation", "score")
_OPTIONAL = (
    "passed", "threshold", "checks", "parts", "strategy", "modality", "benchmark", "reason",
    "tags", "preserves_meaning",
)  # fmt: skip

Answer = Callable[[Any], Hashable | None]
"""What tells a record's answer from others: its text or a mark of it, None without one."""


def field_of(record: Any, name: str) -> Any:
    """Return a field of an object or a mapping, None where there is none."""
    return record.get(name) if isinstance(record, Mapping) else getattr(record, name, None)


def raw_digest(record: Any) -> bytes | None:
    """Return a digest of a record's raw reply, 16 bytes; None without one."""
    raw = field_of(record, "raw")
    if not isinstance(raw, str):
        return None
    return blake2b(raw.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass(frozen=True)
class ScoreTable:
    """Records as columns; a row is a record, in the order in which they came.

    `names` holds the names of each of `AXES` by code point, `codes` each row's place there; the
    reason of an answered case and what a record does not say are the empty name. `score` is NaN
    without an answer, `passed` 0 or 1 beside it, `threshold` NaN where unknown. `checks` and
    `parts` are by name. `answers` is there where the table was asked to keep them. `tags` holds
    by name those of each row, empty without one; they belong to the example, so that a row
    without an answer has them where another one does. `said` marks what each answer was read as,
    0 unknown. `altered` are the perturbations that change the meaning of a table.
    """

    names: Mapping[str, tuple[str, ...]]
    codes: Mapping[str, Codes]
    score: Floats
    passed: Floats
    threshold: Floats
    repeat: Integers
    checks: Mapping[str, Marks]
    parts: Mapping[str, Marks]
    answers: NDArray[np.object_] | None = None
    tags: Mapping[str, Column] = field(default_factory=dict)
    said: Integers | None = None
    altered: frozenset[str] = frozenset()

    @classmethod
    def from_records(
        cls, records: Iterable[Any], *, models: bool = False, answers: Answer | None = None
    ) -> ScoreTable:
        """Read records in one pass, see `ScoreTableBuilder`."""
        builder = ScoreTableBuilder(models=models, answers=answers)
        builder.extend(records)
        return builder.table()

    def __len__(self) -> int:
        return len(self.score)

    @cached_property
    def cells(self) -> Cells:
        """The rows with the repeats of each cell folded into one."""
        return Cells.of(self)

    def key(self, axes: Sequence[str] = CASE) -> Integers:
        """Return a number for each row, in the order of these axes' names."""
        import numpy as np

        key, size = np.zeros(len(self), dtype=np.int64), 1
        for axis in axes:
            many = max(1, len(self.names[axis]))
            if size * many > LARGEST:  # all names differ: no more numbers than rows are needed
                key = np.unique(key, return_inverse=True)[1].astype(np.int64)
                size = len(key)
            key *= many
            key += self.codes[axis]
            size *= many
        return key

    def doubled(self, axes: Sequence[str] = CASE) -> tuple[int, int] | None:
        """Return a row whose case occurs more than once with the same repeat, and how often.

        `axes` are what makes a case.
        """
        import numpy as np

        key = self.key(axes)
        fixed = all(len(self.names[axis]) < 2 for axis in CASE if axis not in axes)
        if fixed and len(self.cells) == len(self):
            return None
        order = np.lexsort((self.repeat, key))
        same = (np.diff(key[order]) == 0) & (np.diff(self.repeat[order]) == 0)
        if not same.any():
            return None
        row = int(order[int(same.argmax())])
        return row, int(((key == key[row]) & (self.repeat == self.repeat[row])).sum())

    def case(self, row: int, *axes: str) -> str:
        """Return the names of a row's axes for a message."""
        return "/".join(self.names[axis][self.codes[axis][row]] for axis in axes)


def _same(value: np.generic, many: int) -> NDArray[Any]:
    """Return a column that has one value in each row, and takes the memory of one."""
    import numpy as np

    return np.broadcast_to(value, many)


def _column(values: array[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """Return values as a column."""
    import numpy as np

    found = np.frombuffer(values, dtype=values.typecode) if values else np.array(values)
    first = found[:1]
    if len(found) and np.array_equal(found, _same(first[0], len(found)), equal_nan=True):
        return _same(first.astype(dtype)[0], len(found))
    return found.astype(dtype)


class ScoreTableBuilder:
    """Takes records as they come, and keeps some 60 bytes of each.

    A record is an object or a mapping with `dataset`, `example_id`, `serializer`, `perturbation`
    and `score`, with `models` also `model`; otherwise all are of one model, whatever they say.
    What else a table holds is read where it is there; `repeat` is 1 where it is not. `answers`
    gives what is kept of an answer.
    """

    def __init__(self, *, models: bool = False, answers: Answer | None = None) -> None:
        self._required = _REQUIRED if models else _REQUIRED[1:]
        self._models = () if models else ("",)
        self._known: list[dict[tuple[str, ...], int]] = [{} for _ in _GROUPS]
        self._codes = [array("i") for _ in _GROUPS]
        self._score, self._passed, self._threshold = array("d"), array("d"), array("d")
        self._repeat = array("i")
        self._marks: dict[str, dict[str, dict[int, float]]] = {"checks": {}, "parts": {}}
        self._tags: dict[int, Mapping[str, str]] = {}
        self._said = array("q")
        self._altered: set[str] = set()
        self._answer = answers
        self._answers: list[Hashable | None] = []
        self._readers: dict[type, Callable[[Any], tuple[Any, ...]]] = {}

    def __len__(self) -> int:
        return len(self._repeat)

    def append(self, record: Any) -> None:
        """Take a record. Raises `DataError`, with its number, for one that cannot be used."""
        self.extend((record,))

    def extend(self, records: Iterable[Any]) -> None:
        """Take records, as `append` does; what their source raises is its own."""
        # Written out and bound to names: the paper's grids are half a million records.
        readers, checks, parts = self._readers, self._marks["checks"], self._marks["parts"]
        tagged = self._tags
        examples, ways, ends = self._known
        example_is, way_is, end_is = (codes.append for codes in self._codes)
        score_is, passed_is, threshold_is = (
            column.append for column in (self._score, self._passed, self._threshold)
        )
        repeat_is = self._repeat.append
        for record in records:
            try:
                reader = readers.get(type(record))
                if reader is None:
                    reader = readers[type(record)] = self._reader(record)
                (
                    model, dataset, example, serializer, perturbation, score, repeat,
                    passed, threshold, checked, numbers, strategy, modality, benchmark, reason,
                    tags, preserves, said,
                ) = reader(record)  # fmt: skip
                if score is None:
                    score = passed = nan
                    reason = reason or "unknown"
                elif isinstance(score, (float, int)) and -EQUAL <= score <= 1 + EQUAL:
                    passed, reason = bool(passed), ""
                else:
                    case = f"{dataset}/{example}/{serializer}/{perturbation}"
                    raise ValueError(f"{case} has the score {score!r}, not from 0 to 1")
                repeat_is(repeat)
                score_is(score)
                passed_is(passed)
                threshold_is(nan if threshold is None else threshold)
                named = model, dataset, example
                way = serializer, perturbation, strategy or "", modality or ""
                end = benchmark or "", reason
                place = examples.setdefault(named, len(examples))
                example_is(place)
                way_is(ways.setdefault(way, len(ways)))
                end_is(ends.setdefault(end, len(ends)))
                if checked:
                    self._mark(checks, checked)
                if numbers:
                    self._mark(parts, numbers)
                if tags and tagged.setdefault(place, tags) != tags:
                    tagged[place] = min(tagged[place], tags, key=lambda one: sorted(one.items()))
                if said is not None:
                    self._said.extend([0] * (len(self) - 1 - len(self._said)))
                    self._said.append(said)
                if preserves is False:
                    self._altered.add(perturbation)
            except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
                number = len(self._codes[-1]) + 1
                raise DataError(
                    f"record {number}: {printable(str(error), 200)}; a record has "
                    f"{', '.join(self._required)}, the names as text and the score as a number "
                    f"from 0 to 1, or null; where it has a repeat, that is a whole number"
                ) from None
            if self._answer is not None:
                self._answers.append(None if reason else self._answer(record))

    def _mark(self, marks: dict[str, dict[int, float]], found: Mapping[str, Any]) -> None:
        row = len(self) - 1
        for name, value in found.items():
            told = isinstance(value, int | float)
            marks.setdefault(name, {})[row] = float(value) if told else nan

    def _reader(self, record: Any) -> Callable[[Any], tuple[Any, ...]]:
        """Return what reads the fields of records of this one's type."""
        if isinstance(record, Mapping):
            of_mapping = itemgetter(*self._required)
            # As it stands in a file: there the answer itself is, and no mark of it.
            whole = "prediction" in record and "said" not in record
            bare, nothing = len(self._required), (1, *(None for _ in _OPTIONAL), None)
            return lambda one: (
                (*self._models, *of_mapping(one), *nothing)
                if len(one) == bare
                else (
                    *self._models,
                    *of_mapping(one),
                    one.get("repeat", 1),
                    *map(one.get, _OPTIONAL),
                    answer_mark(one.get("prediction")) if whole else one.get("said"),
                )
            )
        every = (*self._required, "repeat", *_OPTIONAL, "said")
        there = [name for name in every if name in self._required or hasattr(record, name)]
        of_object = attrgetter(*there)
        # What is not there is None, the repeat 1; in one step, for there are many records.
        unset = {"repeat": 1}
        order = itemgetter(
            *(there.index(name) + 2 if name in there else unset.get(name, 0) for name in every)
        )
        return lambda one: (*self._models, *order((None, 1, *of_object(one))))

    def table(self) -> ScoreTable:
        """Return what came so far, names sorted. Raises `DataError` for a name that is no text."""
        import numpy as np

        names, codes = {}, {}
        for group, known, places in zip(_GROUPS, self._known, self._codes, strict=True):
            rows = np.array(places, dtype=np.intc)
            for axis, own in zip(group, zip(*known, strict=True) if known else (), strict=False):
                for name in own:
                    if not isinstance(name, str):
                        raise DataError(
                            f"{name!r} stands where a record has a name; names are text"
                        )
                names[axis] = tuple(sorted(set(own)))
                place = {name: number for number, name in enumerate(names[axis])}
                codes[axis] = (
                    _same(np.int32(0), len(rows))
                    if len(place) == 1
                    else np.array([place[name] for name in own], dtype=np.int32)[rows]
                )
        for axis in AXES:  # of no record
            names.setdefault(axis, ())
            codes.setdefault(axis, np.array([], dtype=np.int32))
        answers = None
        if any(answer is not None for answer in self._answers):
            answers = np.empty(len(self), dtype=object)
            answers[:] = self._answers
        checks, parts = (
            {
                name: Marks(np.array(list(own), dtype=np.int64), np.array(list(own.values())))
                for name, own in sorted(marks.items())
            }
            for marks in self._marks.values()
        )
        return ScoreTable(
            names,
            codes,
            score=np.array(self._score),
            passed=np.array(self._passed),
            threshold=_column(self._threshold, np.float64),
            repeat=_column(self._repeat, np.int64),
            checks=checks,
            parts=parts,
            answers=answers,
            tags=tag_columns(self._tags, len(self._known[0]), self._codes[0]),
            said=np.array(self._said + array("q", [0]) * (len(self) - len(self._said)))
            if self._said
            else None,
            altered=frozenset(self._altered),
        )
