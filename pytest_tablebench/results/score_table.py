"""The score table: the records of a run as columns, which all figures are taken from.

numpy is loaded where the table is made, not where it is filled: a run fills it as records come.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from itertools import groupby, islice
from math import nan
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import DataError
from pytest_tablebench.results._cells import Cells
from pytest_tablebench.results._columns import (
    EQUAL,
    Codes,
    Fields,
    LazyColumn,
    check_scores,
    or_empty,
    reader,
    same,
)
from pytest_tablebench.results.score_columns import (
    AXES,
    CASE,
    ScoreColumns,
    SparseColumn,
    tag_columns,
)
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import NameColumn

__all__ = [
    "AXES",
    "CASE",
    "EQUAL",
    "Cells",
    "ScoreTable",
    "ScoreTableBuilder",
    "SparseColumn",
    "field_of",
    "raw_digests",
]

_GROUPS = (CASE[:3], CASE[3:], AXES[len(CASE) :])
"""Axes whose names come together: a record is three places in three short lists of them."""

_NO_VERDICT = -1
"""Stands in the column of verdicts for a score that is neither right nor wrong."""

_REQUIRED = ("model", "dataset", "example_id", "serializer", "perturbation", "score")

TOGETHER = 2048
"""Records that are read at a time."""

Answers = Callable[[Sequence[Any]], Sequence[Hashable | None]]
"""What tells answers of records of one type apart: texts or marks of them, None without one."""


def field_of(record: Any, name: str) -> Any:
    """Return a field of an object or a mapping, None where there is none."""
    if _is_mapping(type(record)):  # type: ignore[arg-type]  # a type can be hashed
        return record.get(name)
    return getattr(record, name, None)


@cache
def _is_mapping(kind: type) -> bool:
    return issubclass(kind, Mapping)


def raw_digests(records: Sequence[Any]) -> list[bytes | None]:
    """Return digests of the raw replies of records of one type, 16 bytes; None without one."""
    if not (hasattr(records[0], "raw") or isinstance(records[0], Mapping)):
        return [None] * len(records)
    replies = (field_of(record, "raw") for record in records)
    return [
        blake2b(raw.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if isinstance(raw, str)
        else None
        for raw in replies
    ]


@dataclass(frozen=True)
class ScoreTable(ScoreColumns):
    """Records as columns, and what is worked out from them."""

    @classmethod
    def from_records(
        cls, records: Iterable[Any], *, models: bool = False, answers: Answers | None = None
    ) -> ScoreTable:
        """Read records in one pass, see `ScoreTableBuilder`."""
        builder = ScoreTableBuilder(models=models, answers=answers)
        builder.extend(records)
        return builder.table()

    @cached_property
    def cells(self) -> Cells:
        """The rows with the repeats of each cell folded into one."""
        return Cells.of(self)

    def doubled(self, axes: Sequence[str] = CASE) -> tuple[int, int] | None:
        """Return a row whose case occurs more than once with the same repeat, and how often.

        `axes` are what makes a case.
        """
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


def _width(names: int) -> type[np.signedinteger[Any]]:
    """Return the narrowest type that has room for the places of so many names."""
    return np.int8 if names < 1 << 7 else np.int16 if names < 1 << 15 else np.int32


class ScoreTableBuilder:
    """Takes records as they come, and keeps some 20 bytes of each.

    A record is an object or a mapping with `dataset`, `example_id`, `serializer`, `perturbation`
    and `score`, with `models` also `model`; otherwise all are of one model, whatever they say.
    What else a table holds is read where it is there; `repeat` is 1 where it is not. `answers`
    gives what is kept of an answer.
    """

    def __init__(self, *, models: bool = False, answers: Answers | None = None) -> None:
        self._required = _REQUIRED if models else _REQUIRED[1:]
        self._combinations = [Codes() for _ in _GROUPS]
        self._codes = [array("i") for _ in _GROUPS]
        self._score = array("d")
        self._lazy = {
            "repeat": LazyColumn("i", 1, blank=1),
            "passed": LazyColumn("b", 0, blank=False),
            "threshold": LazyColumn("d", nan),
            "answer_mark": LazyColumn("q", 0),
        }
        self._marks: dict[str, dict[str, dict[int, float]]] = {
            "checks": {},
            "parts": {},
            "cuts": {},
        }
        self._tags: dict[int, Mapping[str, str]] = {}
        self._clusters: dict[int, str] = {}
        self._altered: set[str] = set()
        self._answer = answers
        self._answers: list[Hashable | None] = []
        self._readers: dict[type, Callable[[Sequence[Any]], Fields]] = {}

    def __len__(self) -> int:
        return len(self._score)

    def append(self, record: Any) -> None:
        """Take a record. Raises `DataError`, with its number, for one that cannot be used."""
        self.extend((record,))

    def extend(self, records: Iterable[Any]) -> None:
        """Take records, as `append` does; what their source raises is its own."""
        # Column by column, many at a time: the paper's grids are half a million records.
        source = iter(records)
        while chunk := list(islice(source, TOGETHER)):
            for _, group in groupby(chunk, type):
                self._take(list(group))

    def _take(self, records: list[Any]) -> None:
        try:
            kind = type(records[0])
            if kind not in self._readers:
                self._readers[kind] = reader(records[0], self._required)
            self._add(self._readers[kind](records))
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            if len(records) > 1:  # one of them cannot be used: which, they tell one by one
                for record in records:
                    self._take([record])
                return
            raise DataError(
                f"record {len(self) + 1}: {printable(str(error), 200)}; a record has "
                f"{', '.join(self._required)}, the names as text and the score as a number "
                f"from 0 to 1, or null; where it has a repeat, that is a whole number"
            ) from None
        if self._answer is not None:
            self._answers.extend(self._answer(records))

    def _add(self, fields: Fields) -> None:
        """Take what was read, all of it or nothing."""
        check_scores(fields)
        scores, rows, count = fields["score"], len(self), len(fields["score"])
        reasons = fields.get("reason") or ("",) * count
        ends: Iterable[str] = ("",) * count
        if None in scores:
            ends = [
                reason or "unknown" if score is None else ""
                for score, reason in zip(scores, reasons, strict=True)
            ]
        names: tuple[tuple[Iterable[str], ...], ...] = (
            (fields.get("model") or ("",) * count, fields["dataset"], fields["example_id"]),
            (
                fields["serializer"],
                fields["perturbation"],
                or_empty(fields.get("strategy"), count),
                or_empty(fields.get("modality"), count),
            ),
            (or_empty(fields.get("benchmark"), count), ends),
        )
        if "passed" in fields:
            # Without an answer it does not matter.
            fields["passed"] = [
                _NO_VERDICT if verdict is None and score is not None else bool(verdict)
                for verdict, score in zip(fields["passed"], scores, strict=True)
            ]
        lazy = {name: column.read(fields.get(name)) for name, column in self._lazy.items()}
        places = [
            array("i", map(codes_of.__getitem__, zip(*columns, strict=True)))
            for codes_of, columns in zip(self._combinations, names, strict=True)
        ]
        self._add_rare(fields, rows, places[0])  # twice does no harm, where the next line fails
        self._score.extend(array("d", [nan if score is None else score for score in scores]))
        for codes, row_places in zip(self._codes, places, strict=True):
            codes.extend(row_places)
        for name, lazy_column in self._lazy.items():
            lazy_column.extend(lazy[name], rows, count)

    def _add_rare(self, fields: Fields, rows: int, examples: Sequence[int]) -> None:
        for name, marks in self._marks.items():
            column = fields.get(name)
            if column is None or not any(column):
                continue
            for row, row_marks in enumerate(column, start=rows):
                for mark, value in row_marks.items() if row_marks else ():
                    is_number = isinstance(value, int | float)
                    marks.setdefault(mark, {})[row] = float(value) if is_number else nan
        tagged, tags_of = self._tags, fields.get("tags") or ()
        for place, tags in zip(examples, tags_of, strict=True) if any(tags_of) else ():
            if tags and tagged.setdefault(place, tags) != tags:
                tagged[place] = min(tagged[place], tags, key=lambda entry: sorted(entry.items()))
        clusters = fields.get("cluster") or ()
        if any(clusters):
            for place, cluster in zip(examples, clusters, strict=True):
                if cluster:  # of two names the same one wins, whatever comes first
                    self._clusters[place] = min(cluster, self._clusters.get(place, cluster))
        keeps_meaning = fields.get("preserves_meaning") or ()
        if False in keeps_meaning:
            perturbations = zip(fields["perturbation"], keeps_meaning, strict=True)
            self._altered.update(name for name, preserves in perturbations if preserves is False)

    def table(self) -> ScoreTable:
        """Return what came so far, names sorted. Raises `DataError` for a name that is no text."""
        names, codes = {}, {}
        for group, combinations, places in zip(
            _GROUPS, self._combinations, self._codes, strict=True
        ):
            rows = np.frombuffer(places, dtype=np.intc)
            for axis, axis_names in zip(
                group, zip(*combinations, strict=True) if combinations else (), strict=False
            ):
                for name in axis_names:
                    if not isinstance(name, str):
                        raise DataError(
                            f"{name!r} stands where a record has a name; names are text"
                        )
                names[axis] = tuple(sorted(set(axis_names)))
                place = {name: number for number, name in enumerate(names[axis])}
                codes[axis] = (
                    same(np.int8(0), len(rows))
                    if len(place) == 1
                    else np.array([place[name] for name in axis_names], dtype=_width(len(place)))[
                        rows
                    ]
                )
        for axis in AXES:  # of no record
            names.setdefault(axis, ())
            codes.setdefault(axis, np.array([], dtype=np.int32))
        score, lazy, answers = np.array(self._score), self._lazy, None
        if any(answer is not None for answer in self._answers):
            answers = np.empty(len(self), dtype=object)
            answers[:] = self._answers
            answers[np.isnan(score)] = None
        checks, parts, cuts = (
            {
                name: SparseColumn(
                    np.array(list(by_row), dtype=np.int64), np.array(list(by_row.values()))
                )
                for name, by_row in sorted(marks.items())
            }
            for marks in self._marks.values()
        )
        passed = lazy["passed"].column(len(self), np.float64)
        return ScoreTable(
            names,
            codes,
            score=score,
            passed=np.where(np.isnan(score) | (passed == _NO_VERDICT), nan, passed),
            threshold=lazy["threshold"].column(len(self), np.float64),
            repeat=lazy["repeat"].column(len(self), np.int64),
            checks=checks,
            parts=parts,
            answers=answers,
            tags=tag_columns(self._tags, len(self._combinations[0]), self._codes[0]),
            answer_marks=lazy["answer_mark"].column(len(self), np.int64)
            if lazy["answer_mark"]
            else None,
            altered=frozenset(self._altered),
            cluster=self._cluster_column(),
            cuts=cuts,
        )

    def _cluster_column(self) -> NameColumn | None:
        if not self._clusters:
            return None
        named = {place: {"": name} for place, name in self._clusters.items()}
        return tag_columns(named, len(self._combinations[0]), self._codes[0])[""]
