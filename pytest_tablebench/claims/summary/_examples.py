"""Figures of each example of a dataset, computed once for all scopes that contain it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_tablebench.results.figures import agreement, means, robustness
from pytest_tablebench.results.record import TALLIES
from pytest_tablebench.results.sheets import Configuration, ScoreSheet, grid_size
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_tablebench.results.score_columns import Flags, Floats, Integers


class ScorePart(NamedTuple):
    """A named part of the score, by example.

    `values` are means over the `cases` cases that have the part, NaN if none has it. `is_score`
    is whether the part equals the score in all answered cases.
    """

    values: Floats
    cases: Integers
    is_score: Flags


@dataclass(frozen=True)
class Examples:
    """Columns of a dataset; each row is an example.

    `cases`, `lost` and `tallies` describe all cases. All other columns describe the cases whose
    perturbation preserves the meaning of the table (`ScoreSheet.meant`).

    Args:
        cases: the number of cases asked; `lost` is the number without an answer.
        is_asked: by example and configuration.
        answered: the number of answered cases.
        performance: NaN without an answer, as are `robustness` and `pass_rate`.
        pass_rate_high: the pass rate if every unclear reply were right.
        parts: the parts of the score, by name.
        share: the share of the most common answer, NaN with too few answers.
        majority: the score of the most common answer, NaN with too few answers.
        single: the mean score of the same answers, NaN with too few answers.
        altered: whether every perturbation changes the meaning.
        tallies: the number of cases by tally (`TALLIES`).
        names: the clusters of the examples; None if unknown.
        one_table: whether the whole dataset has a single cluster.
    """

    cases: Integers
    lost: Integers
    axes: tuple[str, ...]
    configurations: tuple[Configuration, ...]
    is_asked: Flags
    answered: Integers
    performance: Floats
    robustness: Floats
    pass_rate: Floats
    pass_rate_high: Floats
    parts: Mapping[str, ScorePart]
    share: Floats
    majority: Floats
    single: Floats
    altered: bool
    tallies: Mapping[str, Integers]
    names: NDArray[np.object_] | None = None
    one_table: bool = False

    @classmethod
    def of(cls, whole: ScoreSheet, *, with_parts: bool = True) -> Examples:
        """Return the columns of a sheet; without `with_parts` parts and agreement stay empty."""
        cases, lost = (counts.sum(axis=1) for counts in whole.counts())
        sheet = whole.meant
        scores = sheet.scores
        is_answered = np.isfinite(scores)
        share = majority = single = np.full(len(scores), np.nan)
        parts = {}
        if with_parts and sheet.answer_marks is not None:
            share, majority = agreement(sheet.answer_marks, scores)
            read = np.isfinite(share)[:, None] & (sheet.answer_marks != 0)
            single = means(np.where(read, scores, np.nan))
        for name, part_values in sheet.parts.items() if with_parts else ():
            values = np.where(is_answered, part_values, np.nan)
            has_part = np.isfinite(values)
            same = (values == scores) | ~is_answered
            parts[name] = ScorePart(means(values), has_part.sum(axis=1), same.all(axis=1))
        return cls(
            cases,
            lost,
            sheet.axes,
            sheet.configurations,
            sheet.is_asked,
            is_answered.sum(axis=1),
            means(scores),
            robustness(scores),
            means(sheet.passed),
            means((sheet.unclear_as_right or sheet).passed),
            parts,
            share,
            majority,
            single,
            bool(sheet.is_altered.any()),
            {name: whole.tally(name).sum(axis=1) for name in TALLIES},
            sheet.cluster_names,
            sheet.one_table,
        )

    def __len__(self) -> int:
        return len(self.cases)

    def groups_of(self, values: Floats) -> list[Hashable] | None:
        """Return the clusters of the examples that have a value; None if each is its own."""
        if self.names is None or self.one_table:
            return None
        groups: list[Hashable] = self.names[np.isfinite(values)].tolist()
        return groups

    @property
    def size(self) -> int:
        """The number of cells in the complete grid of these examples."""
        columns = np.flatnonzero(self.is_asked.any(axis=0))
        cells = [self.configurations[column] for column in columns]
        return grid_size(len(self), self.axes, cells)

    def only(self, rows: Sequence[int]) -> Examples:
        """Return some of the examples."""
        places = np.array(rows, dtype=np.intp)
        columns: dict[str, Any] = {
            name: column[places]
            for name, column in vars(self).items()
            if isinstance(column, np.ndarray)
        }
        parts = {
            name: ScorePart(part.values[places], part.cases[places], part.is_score[places])
            for name, part in self.parts.items()
        }
        tallies = {name: counts[places] for name, counts in self.tallies.items()}
        return replace(self, parts=parts, tallies=tallies, **columns)


MOST = 200
"""The number of values per tag with separate figures; the most frequent ones have them."""

TAGS = 20
"""The number of tags with figures; the most frequent ones have them."""

Tags = Mapping[str, Sequence[str]]
"""The value of each example of a dataset, by tag; empty without one."""

Measures = Callable[[Sequence[Examples]], dict[str, Any]]


def by_tag(
    datasets: Sequence[Examples], tags: Sequence[Tags], measures: Measures
) -> dict[str, Any]:
    """Return a scope's entries by tag for `summary.json`; empty for a scope without tags.

    Each tag has `values` (the measures of each value's examples, sorted by value) and `without`
    (the measures of examples without the tag). With more than `MOST` values it also has `others`
    (the measures of the examples of the rarer values) and `n_others` (the number of these values),
    so that the counts of a tag add up to the scope's. With more than `TAGS` tags,
    `tags_left_out` is the number of the rarer tags, which are left out.
    """
    tables: dict[str, dict[str, Any]] = {}
    used = Counter(
        tag
        for dataset_tags in tags
        for tag, column in dataset_tags.items()
        for value in column
        if value
    )
    most = sorted(used, key=lambda tag: (-used[tag], tag))[:TAGS]
    for tag in sorted(most):
        columns = [
            dataset_tags.get(tag, ("",) * len(examples))
            for examples, dataset_tags in zip(datasets, tags, strict=True)
        ]
        counts = Counter(value for column in columns for value in column if value)
        ranked = sorted(counts, key=lambda value: (-counts[value], value))
        frequent, others = sorted(ranked[:MOST]), ranked[MOST:]
        row_of = {value: value for value in frequent} | dict.fromkeys(others)
        rows: dict[str | None, list[list[int]]] = {}
        for number, column in enumerate(columns):
            for row, value in enumerate(column):
                rows_of_value = rows.setdefault(row_of.get(value, ""), [[] for _ in columns])
                rows_of_value[number].append(row)

        def measures_of(key: str | None, rows: Any = rows) -> dict[str, Any]:
            pairs = zip(datasets, rows[key], strict=True)
            return measures([examples.only(places) for examples, places in pairs if places])

        tables[tag] = {"values": {value: measures_of(value) for value in frequent}}
        if "" in rows:
            tables[tag]["without"] = measures_of("")
        if others:
            tables[tag] |= {"others": measures_of(None), "n_others": len(others)}
    more = {"tags_left_out": len(used) - len(most)} if len(used) > len(most) else {}
    return {"tags": tables, **more} if tables else {}
