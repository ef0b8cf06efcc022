"""Arrange one model's scores of each dataset by example and configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.axes import GRID, MODES
from pytest_tablebench.results.figures import means
from pytest_tablebench.results.record import UNCLEAR
from pytest_tablebench.results.score_table import CELL, Cells
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_tablebench.results.score_columns import Flags, Floats, Integers

Configuration = tuple[str, ...]
"""A name on each of the axes of a sheet."""

GRID_AXES = tuple(axis.name for axis in GRID)

_GRIDS = (
    "scores", "passed", "is_asked", "answers", "times", "lost", "checks", "parts", "answer_marks",
    "tallies",
)  # fmt: skip
"""The fields of a sheet with a value per cell: arrays, or arrays by name."""

_NOTHING = {"f": float("nan"), "i": 0, "b": False, "O": None}
"""The value of a cell that was not asked, by the kind of its array."""


@dataclass(frozen=True)
class ScoreSheet:
    """The cells of one model and dataset, as arrays of the shape (examples, configurations).

    Args:
        examples: the ids of the examples, sorted by code point.
        configurations: the names of each column on `axes`, sorted by code point.
        scores: the mean score of a cell's answered repeats, NaN without an answer.
        passed: the share of the repeats with a verdict that passed, NaN without a verdict.
        is_asked: whether a cell has a record.
        answers: texts or digests of the answers, None if unknown.
        times: how often a cell was asked, None if each was asked once.
        lost: how often a cell had no answer, None if each was asked once.
        checks: by test, the share of repeats that passed it, NaN if unknown.
        parts: the named parts of the score, NaN if absent.
        answer_marks: marks that are equal for equal predictions, 0 if unknown.
        tags: by name, the value of each example, empty without one.
        altered: the perturbations that change the meaning of a table.
        clusters: the table of each example, empty if unknown; None if no record names one.
    """

    examples: tuple[str, ...]
    configurations: tuple[Configuration, ...]
    scores: Floats
    passed: Floats
    is_asked: Flags
    answers: NDArray[np.object_] | None = None
    times: Integers | None = None
    lost: Integers | None = None
    checks: Mapping[str, Floats] = field(default_factory=dict)
    axes: tuple[str, ...] = GRID_AXES
    """The axes of the grid, and if the dataset has several modes, further axes with a name."""
    mode: Mapping[str, str] = field(default_factory=dict)
    """The name of all cells on each further axis that `axes` lacks, if there is one."""
    parts: Mapping[str, Floats] = field(default_factory=dict)
    answer_marks: Integers | None = None
    tags: Mapping[str, Sequence[str]] = field(default_factory=dict)
    altered: frozenset[str] = frozenset()
    clusters: Sequence[str] | None = None
    one_table: bool = False
    """Whether all examples of the whole dataset use one table."""
    tallies: Mapping[str, Floats] = field(default_factory=dict)
    """By tally (`TALLIES`), how many cases of a cell it counts; NaN for none."""

    @property
    def has_case(self) -> Flags:
        """Which examples were asked."""
        return np.any(self.is_asked, axis=1)  # type: ignore[no-any-return]

    @property
    def marks(self) -> Integers:
        """The marks of answers; all 0 if they are unknown."""
        marks = self.answer_marks
        return np.zeros(self.is_asked.shape, dtype=np.int64) if marks is None else marks

    @property
    def cluster_names(self) -> NDArray[np.object_] | None:
        """The cluster of each example, or its own if unknown; None if no cluster is known."""
        if self.clusters is None:
            return None
        clusters = np.empty(len(self.examples), dtype=object)
        pairs = zip(self.clusters, self.examples, strict=True)
        clusters[:] = [name or f"\0{example}" for name, example in pairs]
        return clusters

    @property
    def groups(self) -> NDArray[np.object_] | None:
        """The clusters that an interval takes as independent; None if it takes examples.

        With a single table the figure is about questions on this table, which are independent.
        """
        return None if self.one_table else self.cluster_names

    def tally(self, name: str) -> Integers:
        """Return the number of cases of each cell that a tally counts (`TALLIES`)."""
        counts = self.tallies.get(name)
        if counts is None:
            return np.zeros(self.is_asked.shape, dtype=np.int64)
        return np.nan_to_num(counts).astype(np.int64)

    @property
    def unclear_as_right(self) -> ScoreSheet | None:
        """The sheet if every unclear reply were right; None without an unclear reply."""
        unclear = self.tally(UNCLEAR)
        if not unclear.any():
            return None
        cases, lost = self.counts()
        share = unclear / np.maximum(cases - lost, 1)
        return replace(
            self,
            scores=self.scores + share,
            passed=self.passed + share,
            parts={name: values + share for name, values in self.parts.items()},
            tallies={name: counts for name, counts in self.tallies.items() if name != UNCLEAR},
        )

    def missing_as(self, value: float) -> ScoreSheet | None:
        """Return the sheet if every missing answer had this score; None without a missing one.

        Each of them would differ from all other answers.
        """
        cases, lost = self.counts()
        if not lost.any():
            return None
        share = lost / np.maximum(cases, 1)

        def filled(values: Floats) -> Floats:
            return np.where(share == 1, value, values * (1 - share) + value * share)

        marks = self.answer_marks
        if marks is not None:
            marks = np.where(share == 1, -1 - np.arange(marks.size).reshape(marks.shape), marks)
        return replace(
            self,
            scores=filled(self.scores),
            passed=filled(self.passed),
            checks={name: filled(values) for name, values in self.checks.items()},
            parts={name: filled(values) for name, values in self.parts.items()},
            answer_marks=marks,
            times=cases,
            lost=np.zeros_like(lost),
        )

    def counts(self) -> tuple[Integers, Integers]:
        """Return the number of cases of each cell, and of those without an answer."""
        if self.times is not None and self.lost is not None:
            return self.times, self.lost
        lost = self.is_asked & np.isnan(self.scores)
        return self.is_asked.astype(np.int64), lost.astype(np.int64)

    def column(self, axis: str) -> list[str]:
        """Return the name of each configuration on an axis; `axes` must contain it."""
        index = self.axes.index(axis)
        return [cell[index] for cell in self.configurations]

    def names(self, axis: str) -> list[str]:
        """Return the names on an axis, sorted; empty if `axes` lacks it."""
        return sorted(set(self.column(axis))) if axis in self.axes else []

    def has(self, axis: str, *names: str) -> Flags:
        """Return which configurations have one of these names on an axis."""
        if axis not in self.axes:
            return np.full(len(self.configurations), self.mode.get(axis) in names)
        return np.array([name in names for name in self.column(axis)], dtype=bool)

    def cells(self, is_used: Flags) -> list[Configuration]:
        """Return the configurations with a flag."""
        return [self.configurations[index] for index in np.flatnonzero(is_used)]

    def part(self, axis: str, name: str) -> ScoreSheet:
        """Return the cells asked with one name on an axis."""
        has_name = self.has(axis, name)
        rows = np.flatnonzero(self.is_asked[:, has_name].any(axis=1))
        return align(self, [self.examples[row] for row in rows], self.cells(has_name))

    def over(self, axes: tuple[str, ...]) -> ScoreSheet:
        """Return the sheet over these axes; on those left out all cells must have one name."""
        if axes == self.axes:
            return self
        columns = {axis: [name] * len(self.configurations) for axis, name in self.mode.items()}
        columns |= {axis: self.column(axis) for axis in self.axes}
        none = [""] * len(self.configurations)
        cells = tuple(zip(*(columns.get(axis, none) for axis in axes), strict=True))
        return replace(self, axes=axes, configurations=cells)

    def slice(self, tags: Mapping[str, str]) -> ScoreSheet:
        """Return the examples that have all these tags."""
        untagged = ("",) * len(self.examples)
        columns = [self.tags.get(tag, untagged) for tag in tags]
        rows, chosen = enumerate(zip(*columns, strict=True)), tuple(tags.values())
        return self.only([row for row, values in rows if values == chosen])

    def only(self, rows: Sequence[int]) -> ScoreSheet:
        """Return the sheet that a run of only some examples would have."""
        cells = self.cells(np.any(self.is_asked[list(rows)], axis=0))
        return align(self, [self.examples[row] for row in rows], cells)

    @property
    def is_altered(self) -> Flags:
        """Which configurations have a perturbation that changes the meaning of a table."""
        return self.has("perturbation", *self.altered)

    @property
    def meant(self) -> ScoreSheet:
        """The cells whose perturbation preserves the meaning of a table; all cells without any."""
        cells = self.cells(~self.is_altered)
        if not cells or len(cells) == len(self.configurations):
            return self
        return align(self, self.examples, cells)

    @property
    def other(self) -> ScoreSheet | None:
        """The cells whose perturbation changes the meaning of a table; None without any."""
        cells = self.cells(self.is_altered)
        whole = align(self, self.examples, cells)
        rows = np.flatnonzero(whole.is_asked.any(axis=1)) if cells else ()
        return whole.only([int(row) for row in rows]) if cells else None

    @property
    def size(self) -> int:
        """The number of cells in the complete grid of these examples."""
        return grid_size(len(self.examples), self.axes, self.configurations)

    @property
    def varied(self) -> bool:
        """Whether an example has answers to several configurations."""
        return bool((np.isfinite(self.scores).sum(axis=1) > 1).any())

    def bands(self) -> list[tuple[float, float, float]]:
        """Return the lowest, the mean and the highest score of each example with an answer."""
        scores = self.scores[np.any(np.isfinite(self.scores), axis=1)]
        ends = np.nanmin(scores, axis=1), means(scores), np.nanmax(scores, axis=1)
        return list(zip(*(values.tolist() for values in ends), strict=True))


def grid_size(examples: int, axes: Sequence[str], configurations: Sequence[Configuration]) -> int:
    """Return the number of cells in the complete grid of so many examples."""
    columns = dict(zip(axes, zip(*configurations, strict=True), strict=True))
    size = examples
    for name in GRID_AXES:
        size *= len(set(columns.pop(name)))
    return size * max(1, len(set(zip(*columns.values(), strict=True))))


def sheets(cells: Cells) -> dict[str, ScoreSheet]:
    """Return the sheet of each dataset, by name; the cells are of one model."""
    table = cells.table
    dataset, example = cells.codes("dataset"), cells.codes("example")
    configuration = table.key(CELL)[cells.first]
    lost = cells.times - cells.answered
    target = np.full(len(cells), -1)
    by_dataset = {}
    for code, name in enumerate(table.names["dataset"]):
        members = np.flatnonzero(dataset == code)
        rows, row = np.unique(example[members], return_inverse=True)
        _, columns, column = np.unique(
            configuration[members], return_index=True, return_inverse=True
        )
        shape = (len(rows), len(columns))
        target[members] = row * shape[1] + column

        def laid(
            values: Any, cells: Any = members, members: Any = members, shape: Any = shape
        ) -> Any:
            result = np.full(shape, _NOTHING[values.dtype.kind], dtype=values.dtype)
            result.reshape(-1)[target[cells]] = values[members]
            return result

        def marked(field_name: str, code: int = code, laid: Any = laid) -> Any:
            columns = {}
            for name, marks in cells.sparse[field_name].items():
                in_dataset = dataset[marks.rows] == code
                if in_dataset.any():
                    columns[name] = laid(marks.values, marks.rows[in_dataset], in_dataset)
            return columns

        firsts = cells.first[members[np.unique(row, return_index=True)[1]]]
        at = cells.first[members[columns]]
        names = {axis: [table.names[axis][code] for code in table.codes[axis][at]] for axis in CELL}
        mode = {axis.name: names[axis.name][0] for axis in MODES}
        if all(set(names[axis]) == {name} for axis, name in mode.items()):
            axes = GRID_AXES
        else:
            axes, mode = tuple(axis for axis in CELL if any(names[axis])), {}
        by_dataset[name] = ScoreSheet(
            tuple(table.names["example"][at] for at in rows),
            tuple(zip(*(names[axis] for axis in axes), strict=True)),
            laid(cells.score),
            laid(cells.passed),
            laid(cells.times) > 0,
            None if cells.answers is None else laid(cells.answers),
            laid(cells.times),
            laid(lost),
            marked("checks"),
            axes,
            {axis: name for axis, name in mode.items() if name},
            marked("parts"),
            None if cells.answer_marks is None else laid(cells.answer_marks),
            {
                tag: own_tags
                for tag, column in table.tags.items()
                if any(own_tags := tuple(column.names[at] for at in column.codes[firsts]))
            },
            table.altered,
            tallies=marked("tallies"),
        )
        if table.cluster is not None:
            clusters = [table.cluster.names[at] for at in table.cluster.codes[firsts]]
            by_dataset[name] = with_clusters(by_dataset[name], clusters)
    return by_dataset


def with_clusters(sheet: ScoreSheet, names: Sequence[str]) -> ScoreSheet:
    """Return a dataset's sheet with the cluster of each example; None if all names are empty."""
    tables = {name for name in names if name}
    return replace(sheet, clusters=tuple(names) if tables else None, one_table=len(tables) == 1)


def aligned(first: ScoreSheet, second: ScoreSheet) -> tuple[ScoreSheet, ScoreSheet]:
    """Return two sheets over the axes, examples and configurations of both."""
    axes = tuple(axis for axis in CELL if axis in first.axes or axis in second.axes)
    first, second = first.over(axes), second.over(axes)
    examples = tuple(sorted({*first.examples, *second.examples}))
    cells = tuple(sorted({*first.configurations, *second.configurations}))
    return align(first, examples, cells), align(second, examples, cells)


def with_common_clusters(first: ScoreSheet, second: ScoreSheet | None) -> ScoreSheet:
    """Return the first of two aligned sheets, with clusters that it lacks taken from the second."""
    if second is None or second.clusters is None:
        return first
    if first.clusters is None:
        return replace(first, clusters=second.clusters, one_table=second.one_table)
    both = tuple(a or b for a, b in zip(first.clusters, second.clusters, strict=True))
    return replace(first, clusters=both, one_table=first.one_table and second.one_table)


def same_answers(sheet: ScoreSheet, other_sheet: ScoreSheet, cells: Flags) -> bool:
    """Return whether two aligned sheets have identical replies in all of some cells."""
    if sheet.answers is None or other_sheet.answers is None:
        return not cells.any()
    pairs = zip(sheet.answers[cells], other_sheet.answers[cells], strict=True)
    return all(first is not None and first == second for first, second in pairs)


def align(
    sheet: ScoreSheet, examples: Sequence[str], configurations: Sequence[Configuration]
) -> ScoreSheet:
    """Return the sheet with exactly these rows and columns; missing cells count as not asked."""
    if (sheet.examples, sheet.configurations) == (tuple(examples), tuple(configurations)):
        return sheet
    rows = {name: index for index, name in enumerate(sheet.examples)}
    columns = {name: index for index, name in enumerate(sheet.configurations)}
    common_rows = [(index, rows[name]) for index, name in enumerate(examples) if name in rows]
    common_columns = [
        (index, columns[name]) for index, name in enumerate(configurations) if name in columns
    ]
    target = np.ix_([index for index, _ in common_rows], [index for index, _ in common_columns])
    source = np.ix_([index for _, index in common_rows], [index for _, index in common_columns])

    def moved(values: Any) -> Any:
        if values is None:
            return None
        if isinstance(values, Mapping):
            return {name: moved(inner) for name, inner in values.items()}
        shape = (len(examples), len(configurations))
        result = np.full(shape, _NOTHING[values.dtype.kind], dtype=values.dtype)
        if common_rows and common_columns:
            result[target] = values[source]
        return result

    def relabel(values: Sequence[str]) -> tuple[str, ...]:
        return tuple(values[rows[name]] if name in rows else "" for name in examples)

    return replace(
        sheet,
        examples=tuple(examples),
        configurations=tuple(configurations),
        tags={tag: relabel(values) for tag, values in sheet.tags.items()},
        clusters=None if sheet.clusters is None else relabel(sheet.clusters),
        **{name: moved(getattr(sheet, name)) for name in _GRIDS},
    )
