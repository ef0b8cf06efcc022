"""The score table: the records of a run as columns, from which all figures are computed.

Filling a table does not load numpy, because a run fills it while records arrive.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import groupby, islice
from math import nan
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.axes import GRID, MODES
from pytest_tablebench.errors import DataError
from pytest_tablebench.results._cells import Cells
from pytest_tablebench.results._columns import (
    EQUAL,
    NUMBERS,
    Codes,
    Fields,
    check_scores,
    compact,
    number_column,
    or_empty,
    reader,
    same,
)
from pytest_tablebench.results.corrected import corrected_columns
from pytest_tablebench.results.score_columns import (
    CASE,
    CELL,
    COLUMNS,
    ScoreColumns,
    SparseColumn,
    tag_columns,
)
from pytest_tablebench.util.arrays import np
from pytest_tablebench.util.names import shortened

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import NameColumn

__all__ = [
    "CASE",
    "CELL",
    "EQUAL",
    "Cells",
    "ScoreTable",
    "ScoreTableBuilder",
    "SparseColumn",
    "benchmarks_of",
    "check_once",
    "raw_digests",
]

_GROUPS = (("model", "dataset", "example"), CELL, ("benchmark", "reason"))
"""Groups of columns. A record stores one index per group into the list of its combinations."""

_NO_VERDICT = -1
"""The entry in the column of verdicts for a score without a verdict."""

_REQUIRED = ("model", "dataset", "example_id", "serializer", "perturbation", "score")

TOGETHER = 2048
"""The number of records that are read at a time."""

Answers = Callable[[Sequence[Any]], Sequence[Hashable | None]]
"""Returns the answers of records of one type, as texts or digests; None without an answer."""


def raw_digests(records: Sequence[Any]) -> list[bytes | None]:
    """Return 16-byte digests of the raw replies of records of one type; None without a reply."""
    if isinstance(records[0], Mapping):
        replies = [record.get("raw") for record in records]
    else:
        replies = [getattr(record, "raw", None) for record in records]
    return [
        blake2b(raw.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if isinstance(raw, str)
        else None
        for raw in replies
    ]


@dataclass(frozen=True)
class ScoreTable(ScoreColumns):
    """Records as columns."""

    @classmethod
    def from_records(
        cls, records: Iterable[Any], *, models: bool = False, answers: Answers | None = None
    ) -> ScoreTable:
        """Return the table of records, read in one pass; arguments as of `ScoreTableBuilder`."""
        builder = ScoreTableBuilder(models=models, answers=answers)
        builder.extend(records)
        return builder.table()

    @cached_property
    def cells(self) -> Cells:
        """The rows, with the repeats of each cell merged."""
        return Cells.of(self)

    @cached_property
    def corrected(self) -> ScoreTable:
        """The table by the corrected gold, without the cases left out (see `corrected_columns`)."""
        return ScoreTable(**corrected_columns(self)) if self.corrections else self

    def doubled(self, axes: Sequence[str] = CASE) -> tuple[int, int] | None:
        """Return a row whose case occurs several times with the same repeat, and how often.

        Rows with equal names on `axes` are the same case. None if every case occurs once.
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


def benchmarks_of(table: ScoreTable) -> dict[str, list[str]]:
    """Return the datasets of each benchmark, sorted."""
    _, rows = np.unique(table.key(("dataset", "benchmark")), return_index=True)
    benchmark_of_dataset: dict[str, str] = {}
    for row in rows.tolist():  # a dataset belongs to one benchmark
        benchmark_of_dataset.setdefault(table.case(row, "dataset"), table.case(row, "benchmark"))
    datasets: dict[str, list[str]] = {}
    for dataset, benchmark in benchmark_of_dataset.items():
        datasets.setdefault(benchmark, []).append(dataset)
    return {name: sorted(datasets[name]) for name in sorted(datasets)}


def check_once(table: ScoreTable) -> None:
    """Raise `DataError` for a case that occurs more than once with the same repeat."""
    doubled = table.doubled()
    if doubled is not None:
        row, times = doubled
        repeat = int(table.repeat[row])
        name = table.case(row, "dataset", "example", *(axis.name for axis in GRID)) + (
            f"/r{repeat}" if repeat > 1 else ""
        )
        raise DataError(
            f"case {name} occurs {times} times; pass the records of one model at a time"
        )


def _width(names: int) -> type[np.signedinteger[Any]]:
    return np.int8 if names < 1 << 7 else np.int16 if names < 1 << 15 else np.int32


class ScoreTableBuilder:
    """Collects records as they arrive, in about 40 bytes each.

    A record is an object or a mapping with `dataset`, `example_id`, `serializer`, `perturbation`
    and `score`. Other fields of a table are optional; the default of `repeat` is 1.

    Args:
        models: whether to read `model` too; otherwise all records count as one model's.
        answers: the function that returns the answers of records; None keeps no answers.
    """

    def __init__(self, *, models: bool = False, answers: Answers | None = None) -> None:
        self._required = _REQUIRED if models else _REQUIRED[1:]
        self._combinations = [Codes() for _ in _GROUPS]
        self._codes = [array("i") for _ in _GROUPS]
        self._score = array("d")
        self._numbers = {name: array(code) for name, (code, _) in NUMBERS.items()}
        self._marks: dict[str, dict[str, dict[int, float]]]
        self._marks = {"checks": {}, "parts": {}, "tallies": {}}
        self._tags: dict[int, Mapping[str, str]] = {}
        self._clusters: dict[int, str] = {}
        self._altered: set[str] = set()
        self._corrections: dict[int, Mapping[str, Any]] = {}
        self._answer = answers
        self._answers: list[Hashable | None] = []
        self._readers: dict[type, Callable[[Sequence[Any]], Fields]] = {}

    def __len__(self) -> int:
        return len(self._score)

    def append(self, record: Any) -> None:
        """Add a record. Raises `DataError` with its number if it cannot be used."""
        self.extend((record,))

    def extend(self, records: Iterable[Any]) -> None:
        """Add records, as `append` does. Errors of the iterable are not changed."""
        # Read many records at a time, column by column: a paper's grid is half a million records.
        source = iter(records)
        while chunk := list(islice(source, TOGETHER)):
            for _, group in groupby(chunk, type):
                self._read(list(group))

    def _read(self, records: list[Any]) -> None:
        try:
            kind = type(records[0])
            if kind not in self._readers:
                self._readers[kind] = reader(records[0], self._required)
            self._add(self._readers[kind](records))
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            if len(records) > 1:  # read one by one to find the unusable record
                for record in records:
                    self._read([record])
                return
            raise DataError(
                f"record {len(self) + 1}: {shortened(str(error), 200)}; a record needs "
                f"{', '.join(self._required)}: names as text, the score as a number from 0 to 1 "
                f"or null, and the repeat, if present, as a whole number"
            ) from None
        if self._answer is not None:
            self._answers.extend(self._answer(records))

    def _add(self, fields: Fields) -> None:
        """Add the fields of some records, or raise and add nothing."""
        check_scores(fields)
        scores, rows, count = fields["score"], len(self), len(fields["score"])
        reasons = fields.get("reason") or ("",) * count
        ends: Iterable[str] = ("",) * count
        if None in scores:
            ends = [
                reason or "unknown" if score is None else ""
                for score, reason in zip(scores, reasons, strict=True)
            ]
        modes = (or_empty(fields.get(axis.name), count) for axis in MODES)
        names: tuple[tuple[Iterable[str], ...], ...] = (
            (fields.get("model") or ("",) * count, fields["dataset"], fields["example_id"]),
            (*(fields[axis.name] for axis in GRID), *modes),
            (or_empty(fields.get("benchmark"), count), ends),
        )
        if "passed" in fields:
            # The verdict of a case without an answer does not matter.
            fields["passed"] = [
                _NO_VERDICT if verdict is None and score is not None else bool(verdict)
                for verdict, score in zip(fields["passed"], scores, strict=True)
            ]
        read = {name: number_column(name, fields.get(name), count) for name in NUMBERS}
        places = [
            array("i", map(codes_of.__getitem__, zip(*columns, strict=True)))
            for codes_of, columns in zip(self._combinations, names, strict=True)
        ]
        self._add_rare(fields, rows, places[0])  # harmless if repeated after an error below
        self._score.extend(array("d", [nan if score is None else score for score in scores]))
        for codes, row_places in zip(self._codes, places, strict=True):
            codes.extend(row_places)
        for name, column in self._numbers.items():
            column.extend(read[name])

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
        for example, tags in zip(examples, tags_of, strict=True) if any(tags_of) else ():
            if tags and tagged.setdefault(example, tags) != tags:
                tagged[example] = min(
                    tagged[example], tags, key=lambda entry: sorted(entry.items())
                )
        clusters = fields.get("cluster") or ()
        if any(clusters):
            for example, cluster in zip(examples, clusters, strict=True):
                if cluster:  # the choice between two names must not depend on their order
                    self._clusters[example] = min(cluster, self._clusters.get(example, cluster))
        corrections = fields.get("corrected") or ()
        if any(corrections):
            for row, entry in enumerate(corrections, start=rows):
                if entry:
                    self._corrections[row] = entry
        keeps_meaning = fields.get("preserves_meaning") or ()
        if False in keeps_meaning:
            perturbations = zip(fields["perturbation"], keeps_meaning, strict=True)
            self._altered.update(name for name, preserves in perturbations if preserves is False)

    def table(self) -> ScoreTable:
        """Return the table of the records so far. Raises `DataError` for a name that is no text."""
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
                        raise DataError(f"a record has {name!r} as its {axis}; names must be text")
                names[axis] = tuple(sorted(set(axis_names)))
                index = {name: number for number, name in enumerate(names[axis])}
                codes[axis] = same(np.int8(0), len(rows))
                if len(index) > 1:
                    numbers = [index[name] for name in axis_names]
                    codes[axis] = np.array(numbers, dtype=_width(len(index)))[rows]
        for column in COLUMNS:  # without records
            names.setdefault(column, ())
            codes.setdefault(column, np.array([], dtype=np.int32))
        score, answers = np.array(self._score), None
        if any(answer is not None for answer in self._answers):
            answers = np.empty(len(self), dtype=object)
            answers[:] = self._answers
            answers[np.isnan(score)] = None
        sparse = {
            field: {
                name: SparseColumn(
                    np.array([*by_row], dtype=np.int64), np.array([*by_row.values()])
                )
                for name, by_row in sorted(marks.items())
            }
            for field, marks in self._marks.items()
        }
        passed, threshold, repeat, marks = (
            compact(self._numbers[name], dtype)
            for name, dtype in (
                ("passed", np.float64),
                ("threshold", np.float64),
                ("repeat", np.int64),
                ("answer_mark", np.int64),
            )
        )
        return ScoreTable(
            names,
            codes,
            score=score,
            passed=np.where(np.isnan(score) | (passed == _NO_VERDICT), nan, passed),
            threshold=threshold,
            repeat=repeat,
            answers=answers,
            tags=tag_columns(self._tags, len(self._combinations[0]), self._codes[0]),
            answer_marks=marks if marks.any() else None,
            altered=frozenset(self._altered),
            cluster=self._cluster_column(),
            corrections=dict(self._corrections),
            **sparse,
        )

    def _cluster_column(self) -> NameColumn | None:
        if not self._clusters:
            return None
        named = {example: {"": name} for example, name in self._clusters.items()}
        return tag_columns(named, len(self._combinations[0]), self._codes[0])[""]
